//! A client that asks for much, does not take its answers, or dies takes neither the drive's time nor the machine's memory from others.

mod common;

use common::Server;
use seekwise_drive::protocol::{CMD_READ, CMD_WRITE};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

const LARGE: u32 = 32 << 20;
const BUSY: &str = "wd2500ys";

#[test]
fn what_a_dead_client_has_asked_for_is_not_carried_out() {
    let server = Server::start(BUSY, 1, |_| {});
    for _ in 0..4 {
        let mut client = server.client(0);
        // At 60 MB/s these alone take half a minute.
        for number in 0..64u64 {
            client
                .send(CMD_READ, 0, number * u64::from(LARGE), LARGE, &[])
                .unwrap();
        }
        drop(client);
    }
    let started = Instant::now();
    let mut next = server.client(0);
    let mut data = [0; 4096];
    next.read(0, &mut data).unwrap();
    let waited = started.elapsed();
    assert!(waited < Duration::from_secs(5), "{waited:?}");
    let report = server.stop();
    assert!(report.drives[0].counts.bytes_read < 512 << 20, "{report:?}");
}

#[test]
fn a_dead_clients_writes_that_the_drive_had_not_begun_are_dropped() {
    let server = Server::start(BUSY, 1, |_| {});
    let mut client = server.client(0);
    for number in 0..16u64 {
        let data = vec![7; 1 << 20];
        client
            .send(CMD_WRITE, 0, number << 30, 1 << 20, &data)
            .unwrap();
    }
    drop(client);
    let mut next = server.client(0);
    next.write(512, &[9; 512]).unwrap();
    let mut data = [0; 512];
    next.read(512, &mut data).unwrap();
    assert_eq!(data, [9; 512]);
    server.stop();
}

#[test]
fn forty_greedy_clients_leave_room_for_one_more() {
    let server = Server::start(BUSY, 1, |_| {});
    let mut greedy: Vec<_> = (0..40).map(|_| server.client(0)).collect();
    for client in &mut greedy {
        for number in 0..64u64 {
            client
                .send(CMD_READ, 0, number * u64::from(LARGE), LARGE, &[])
                .unwrap();
        }
    }
    // Data in this process: what the server keeps for them.
    std::thread::sleep(Duration::from_secs(1));
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kib < 3 << 20, "{line}");
    drop(greedy);
    let started = Instant::now();
    server.client(0).read(0, &mut [0; 4096]).unwrap();
    assert!(
        started.elapsed() < Duration::from_secs(5),
        "{:?}",
        started.elapsed()
    );
    server.stop();
}

#[test]
fn requests_that_had_to_wait_are_answered_once_the_client_takes_its_answers() {
    let server = Server::start("null", 1, |_| {});
    let mut client = server.client(0);
    for number in 0..10_000u64 {
        client
            .send(CMD_READ, 0, number % 100 * 65536, 65536, &[])
            .unwrap_or_else(|error| panic!("{number}: {error}"));
        if number >= 1100 {
            take(&mut client);
        }
    }
    for _ in 0..1100 {
        take(&mut client);
    }
    server.stop();
}

fn take(client: &mut seekwise_drive::client::Client) {
    use std::io::Read;
    let (_, error) = client.reply().unwrap();
    assert_eq!(error, 0);
    let mut data = vec![0; 65536];
    client.stream.read_exact(&mut data).unwrap();
}

#[test]
fn sockets_are_their_users_alone_whatever_the_umask() {
    let old = rustix::process::umask(rustix::fs::Mode::empty());
    let server = Server::start("null", 2, |_| {});
    rustix::process::umask(old);
    for socket in &server.sockets {
        let mode = std::fs::metadata(socket).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    server.stop();
}
