//! Power cuts, torn writes, bad sectors, slow and dropped drives; what the server refuses.

use crate::common::client::Client;
use crate::common::{error_number, options, refused, Server};
use seekwise_drive::protocol::CMD_READ;
use std::time::Instant;

fn read(client: &mut Client, offset: u64, bytes: usize) -> Vec<u8> {
    let mut data = vec![0xEE; bytes];
    client.read(offset, &mut data).unwrap();
    data
}

#[test]
fn a_power_cut_loses_what_was_not_flushed_and_keeps_what_was() {
    let server = Server::start("wd2500ys", 1, |_| {});
    let mut client = server.client(0);
    client.write(0, &[1; 4096]).unwrap();
    client.flush().unwrap();
    client.write(0, &[2; 2048]).unwrap();
    client.write_through(8192, &[3; 4096]).unwrap();
    assert_eq!(
        read(&mut client, 0, 2048),
        [2; 2048],
        "the drive itself knows its cache"
    );
    server.fault("0:power-cut");
    assert!(client.flush().is_err(), "the line is closed");
    assert!(
        Client::connect(&server.sockets[0]).is_err(),
        "nobody answers without power"
    );
    server.fault("0:power-on");
    let mut client = server.client(0);
    assert_eq!(read(&mut client, 0, 4096), [1; 4096]);
    assert_eq!(read(&mut client, 8192, 4096), [3; 4096]);
    let lost = server.events.clone();
    assert_eq!(server.stop().drives[0].counts.power_cuts, 1);
    assert!(
        lost.lock()
            .unwrap()
            .iter()
            .any(|event| event.contains("2048 bytes")),
        "{lost:?}"
    );
}

#[test]
fn a_power_cut_may_keep_part_of_the_cache_and_each_page_is_old_or_new() {
    let server = Server::start("wd2500ys", 1, |_| {});
    let mut client = server.client(0);
    for page in 0..200 {
        client.write(page * 4096, &[9; 4096]).unwrap();
    }
    server.fault("0:power-cut=0.5");
    server.fault("0:power-on");
    let mut client = server.client(0);
    let kept = (0..200).filter(|page| {
        let data = read(&mut client, page * 4096, 4096);
        assert!(data == [9; 4096] || data == [0; 4096]);
        data[0] == 9
    });
    // Less likely than 1e-9 for a fair coin, and the coin has a fixed seed.
    assert!((50..150).contains(&kept.count()));
}

#[test]
fn a_torn_write_leaves_new_sectors_then_old_ones() {
    let server = Server::start("wd2500ys", 1, |options| {
        options.parameters.insert("write_cache".into(), 0.0);
    });
    let mut client = server.client(0);
    client.write(0, &[1; 65536]).unwrap();
    server.fault("0:torn");
    assert!(
        client.write(0, &[2; 65536]).is_err(),
        "the power went before the answer"
    );
    server.fault("0:power-on");
    let mut client = server.client(0);
    let data = read(&mut client, 0, 65536);
    let new = data.iter().take_while(|&&byte| byte == 2).count();
    assert!((512..65536).contains(&new) && new % 512 == 0, "{new}");
    assert!(data[new..].iter().all(|&byte| byte == 1));
}

#[test]
fn a_bad_sector_fails_until_it_is_written() {
    let server = Server::start("null", 2, |options| {
        options.faults = vec!["1:bad=1000+8".into()]
    });
    let mut client = server.client(1);
    let mut block = vec![0; 4096];
    server.fault("1:bad=5000");
    assert_eq!(error_number(client.read(1004 * 512, &mut block[..512])), 5);
    assert_eq!(
        error_number(client.read(996 * 512, &mut block)),
        5,
        "partly bad is bad"
    );
    client.read(1008 * 512, &mut block[..512]).unwrap();
    server.client(0).read(1000 * 512, &mut block).unwrap();
    client.write(1000 * 512, &[4; 2048]).unwrap();
    assert_eq!(read(&mut client, 1000 * 512, 2048), [4; 2048]);
    assert_eq!(
        error_number(client.read(1004 * 512, &mut block[..512])),
        5,
        "its neighbour is still bad"
    );
    server.fault("1:heal");
    client.read(5000 * 512, &mut block[..512]).unwrap();
    assert_eq!(server.stop().drives[1].counts.medium_errors, 3);
}

#[test]
fn a_slow_drive_takes_its_factor_longer() {
    let server = Server::start("null", 1, |options| {
        options.parameters.insert("latency_us".into(), 2000.0);
    });
    let mut client = server.client(0);
    let mut time = || {
        let started = Instant::now();
        read(&mut client, 0, 512);
        started.elapsed().as_micros()
    };
    assert!(time() >= 2000);
    server.fault("0:slow=10");
    // Never early; how late is a matter of the machine and is measured elsewhere.
    assert!(time() >= 20_000);
}

#[test]
fn a_dropped_drive_is_gone_until_it_returns_and_keeps_its_data() {
    let server = Server::start("wd2500ys", 2, |_| {});
    let mut client = server.client(0);
    client.write(0, &[5; 4096]).unwrap();
    client.send(CMD_READ, 0, 1 << 36, 4096, &[]).unwrap();
    server.fault("0:drop");
    assert!(client.reply().is_err());
    assert!(Client::connect(&server.sockets[0]).is_err());
    assert!(server.say("status").contains("\"state\":\"dropped\""));
    server.client(1).write(0, &[6; 512]).unwrap();
    server.fault("0:return");
    assert_eq!(read(&mut server.client(0), 0, 4096), [5; 4096]);
}

#[test]
fn the_control_socket_says_what_is_wrong_with_a_line() {
    let server = Server::start("null", 2, |_| {});
    assert!(server
        .say("7:drop")
        .starts_with("error: the fault `7:drop` names drive `7`"));
    assert!(server.say("nonsense").starts_with("error: "));
    assert!(server.say("help").contains("power-cut"));
}

#[test]
fn a_socket_goes_with_its_server_and_other_files_stay() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("0.sock");
    let server = Server::start("null", 1, |options| options.sockets = vec![socket.clone()]);
    server.client(0).flush().unwrap();
    server.stop();
    assert!(!socket.exists());
    std::fs::write(&socket, "precious").unwrap();
    let sentence = refused(&options(folder.path(), "null", 1));
    assert!(sentence.contains("cannot be made"), "{sentence}");
    assert_eq!(std::fs::read_to_string(&socket).unwrap(), "precious");
}

#[test]
fn what_cannot_be_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let sentence = refused(&options(folder.path(), "wd2500sy", 1));
    assert!(sentence.ends_with("did you mean `wd2500ys`"), "{sentence}");
    let sentence = refused(&options(folder.path(), "null", 0));
    assert!(sentence.contains("1 to 256 drives"), "{sentence}");
    let mut wrong = options(folder.path(), "null", 1);
    wrong.faults = vec!["0:explode".into()];
    assert!(refused(&wrong).contains("has no such kind"));
}
