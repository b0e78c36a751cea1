//! The handshake, and what the server does with clients that do not keep to the protocol.

use crate::common::{error_number, Server};
use seekwise_drive::protocol::*;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

fn greeted(server: &Server, flags: u32) -> UnixStream {
    let mut stream = UnixStream::connect(&server.sockets[0]).unwrap();
    let mut hello = [0; 18];
    stream.read_exact(&mut hello).unwrap();
    assert_eq!(&hello[..16], b"NBDMAGICIHAVEOPT");
    assert_eq!(hello[16..], [0, 3]);
    stream.write_all(&flags.to_be_bytes()).unwrap();
    stream
}

fn option(stream: &mut UnixStream, option: u32, data: &[u8]) {
    stream.write_all(b"IHAVEOPT").unwrap();
    stream.write_all(&option.to_be_bytes()).unwrap();
    stream
        .write_all(&(data.len() as u32).to_be_bytes())
        .unwrap();
    stream.write_all(data).unwrap();
}

fn reply(stream: &mut UnixStream) -> (u32, u32, Vec<u8>) {
    let mut head = [0; 20];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(head[..8], OPTION_REPLY_MAGIC.to_be_bytes());
    let word = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
    let mut data = vec![0; word(16) as usize];
    stream.read_exact(&mut data).unwrap();
    (word(8), word(12), data)
}

fn closed(mut stream: UnixStream) -> bool {
    let mut rest = vec![];
    // Closed with bytes of ours unread is a reset: closed all the same.
    stream.read_to_end(&mut rest).map_or_else(
        |error| error.kind() == std::io::ErrorKind::ConnectionReset,
        |_| true,
    )
}

fn named(name: &str) -> Vec<u8> {
    let mut data = (name.len() as u32).to_be_bytes().to_vec();
    data.extend_from_slice(name.as_bytes());
    data.extend_from_slice(&[0, 0]);
    data
}

#[test]
fn a_hard_disk_says_what_it_is() {
    let server = Server::start("wd2500ys", 1, |_| {});
    let client = server.client(0);
    assert_eq!(client.bytes, 488_397_168 * 512);
    let expected = EXPORT_HAS_FLAGS
        | EXPORT_SEND_FLUSH
        | EXPORT_SEND_FUA
        | EXPORT_SEND_TRIM
        | EXPORT_ROTATIONAL
        | EXPORT_CAN_MULTI_CONN;
    assert_eq!(client.flags, expected);
}

#[test]
fn a_drive_without_a_volatile_cache_asks_for_no_flushes_but_answers_them() {
    let server = Server::start("null", 1, |_| {});
    let mut client = server.client(0);
    assert_eq!(client.flags & (EXPORT_SEND_FLUSH | EXPORT_ROTATIONAL), 0);
    client.flush().unwrap();
}

#[test]
fn the_oldest_way_to_ask_works_with_and_without_the_zeroes() {
    let server = Server::start("null", 1, |_| {});
    for (flags, length) in [(1, 134), (3, 10)] {
        let mut stream = greeted(&server, flags);
        option(&mut stream, OPT_EXPORT_NAME, b"");
        let mut export = vec![0xEE; length];
        stream.read_exact(&mut export).unwrap();
        assert_eq!(export[..8], (524_288_000u64 * 512).to_be_bytes());
        assert!(export[10..].iter().all(|&byte| byte == 0));
        stream
            .write_all(
                &Request {
                    flags: 0,
                    command: CMD_FLUSH,
                    cookie: 9,
                    offset: 0,
                    length: 0,
                }
                .bytes(),
            )
            .unwrap();
        let mut answer = [0; 16];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer, seekwise_drive::protocol::reply(0, 9));
    }
}

#[test]
fn options_are_answered_one_by_one_and_unknown_ones_are_unsupported() {
    let server = Server::start("null", 1, |_| {});
    let mut stream = greeted(&server, 3);
    // STARTTLS and structured replies: offered by neither side here.
    for unknown in [5, 8, 99] {
        option(&mut stream, unknown, b"");
        assert_eq!(reply(&mut stream), (unknown, REP_ERR_UNSUP, vec![]));
    }
    option(&mut stream, OPT_LIST, b"");
    assert_eq!(
        reply(&mut stream),
        (OPT_LIST, REP_SERVER, b"\0\0\0\x05drive".to_vec())
    );
    assert_eq!(reply(&mut stream).1, REP_ACK);
    option(&mut stream, OPT_INFO, &named("other"));
    assert_eq!(reply(&mut stream).1, REP_ERR_UNKNOWN);
    option(&mut stream, OPT_GO, &[0, 0, 0, 200, 1]);
    assert_eq!(reply(&mut stream).1, REP_ERR_INVALID);
    option(&mut stream, OPT_INFO, &named("drive"));
    assert_eq!(reply(&mut stream).1, REP_INFO);
    let (_, kind, sizes) = reply(&mut stream);
    assert_eq!((kind, &sizes[..6]), (REP_INFO, &[0, 3, 0, 0, 2, 0][..]));
    assert_eq!(reply(&mut stream).1, REP_ACK);
    option(&mut stream, OPT_ABORT, b"");
    assert_eq!(reply(&mut stream).1, REP_ACK);
    assert!(closed(stream));
}

#[test]
fn who_breaks_the_protocol_is_disconnected_and_the_drive_serves_on() {
    let server = Server::start("null", 1, |_| {});
    let stream = greeted(&server, 1 << 7);
    assert!(closed(stream), "unknown client flags");
    let mut stream = greeted(&server, 3);
    stream.write_all(&[0x55; 16]).unwrap();
    assert!(closed(stream), "wrong option magic");
    let mut stream = greeted(&server, 3);
    option(&mut stream, OPT_EXPORT_NAME, b"no such drive");
    assert!(closed(stream), "unknown export");
    let mut stream = greeted(&server, 3);
    stream
        .write_all(b"IHAVEOPT\0\0\0\x07\xff\xff\xff\xff")
        .unwrap();
    assert!(closed(stream), "an option of 4 GiB");
    let mut client = server.client(0);
    client.stream.write_all(&[0xAA; REQUEST_BYTES]).unwrap();
    assert!(client.reply().is_err(), "wrong request magic");
    drop(greeted(&server, 3));
    let mut half = server.client(0);
    half.send(CMD_WRITE, 0, 0, 4096, &[1; 100]).unwrap();
    drop(half);
    let mut client = server.client(0);
    let mut data = [7; 512];
    client.read(0, &mut data).unwrap();
    assert_eq!(data, [0; 512], "half a write changes nothing");
    let events = server.events.clone();
    server.stop();
    let broken = events
        .lock()
        .unwrap()
        .iter()
        .filter(|event| event.contains("broke the protocol"))
        .count();
    assert_eq!(broken, 5);
}

#[test]
fn senseless_requests_get_an_error_and_the_line_stays_usable() {
    let server = Server::start("null", 1, |_| {});
    let mut client = server.client(0);
    let end = client.bytes;
    let mut block = vec![0; 4096];
    assert_eq!(
        error_number(client.read(end - 512, &mut block)),
        EINVAL as i32
    );
    assert_eq!(error_number(client.write(end - 512, &block)), ENOSPC as i32);
    assert_eq!(
        error_number(client.read(u64::MAX - 511, &mut block)),
        EINVAL as i32
    );
    assert_eq!(error_number(client.read(100, &mut block)), EINVAL as i32);
    assert_eq!(
        error_number(client.read(0, &mut block[..100])),
        EINVAL as i32
    );
    assert_eq!(error_number(client.read(0, &mut [])), EINVAL as i32);
    assert_eq!(error_number(client.trim(end, 4096)), EINVAL as i32);
    let long = vec![0; (32 << 20) + 512];
    assert_eq!(error_number(client.write(0, &long)), EINVAL as i32);
    client.send(77, 0, 0, 512, &[]).unwrap();
    assert_eq!(client.reply().unwrap().1, EINVAL);
    client.send(CMD_READ, 1 << 9, 0, 512, &[]).unwrap();
    assert_eq!(client.reply().unwrap().1, EINVAL);
    client.write(end - 4096, &block).unwrap();
    client.read(end - 4096, &mut block).unwrap();
    assert_eq!(server.stop().drives[0].counts.invalid, 10);
}
