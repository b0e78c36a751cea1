//! Power cuts, torn writes, bad sectors, slow and dropped drives; the store: restart, lock, no space.

use crate::common::refused;
use crate::common::{error_number, pattern, Server};
use seekwise_drive::client::Client;
use seekwise_drive::options::Why;
use seekwise_drive::protocol::{CMD_READ, CMD_WRITE};
use seekwise_drive::Options;
use std::path::Path;
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
    let server = Server::start("exact", 1, |_| {});
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

fn with_store(model: &str, store: &Path) -> Server {
    Server::start(model, 1, |options| options.store = Some(store.into()))
}

#[test]
fn a_store_survives_restarts_and_takes_no_more_space_than_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let data = pattern(3, 1 << 20);
    let server = with_store("wd2500ys", &store);
    server.client(0).write(200 << 30, &data).unwrap();
    server.stop();
    let server = with_store("wd2500ys", &store);
    assert_eq!(read(&mut server.client(0), 200 << 30, 1 << 20), data);
    server.stop();
    let file = std::fs::metadata(store.join("drive0.img")).unwrap();
    assert_eq!(file.len(), 488_397_168 * 512);
    assert!(std::os::unix::fs::MetadataExt::blocks(&file) * 512 < 4 << 20);
}

#[test]
fn zeros_written_where_nothing_was_take_no_space() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let server = with_store("wd2500ys", folder.path());
    let mut client = server.client(0);
    for at in 0..64 {
        client.write(at << 17, &[0; 1 << 17]).unwrap();
    }
    client.write(4096, &[7; 4096]).unwrap();
    client.write(4096, &[0; 512]).unwrap();
    client.flush().unwrap();
    assert_eq!(read(&mut client, 4096, 512), [0; 512]);
    assert_eq!(read(&mut client, 4608, 3584), [7; 3584]);
    let blocks = std::fs::metadata(folder.path().join("drive0.img"))
        .unwrap()
        .blocks();
    assert!(blocks * 512 <= 64 << 10, "{blocks} sectors for one page");
    server.stop();
}

#[test]
fn two_servers_cannot_share_a_store_or_a_socket() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let server = with_store("null", &store);
    let mut options = Options::new("null", 1);
    options.store = Some(store.clone());
    let (why, sentence) = refused(&options);
    assert_eq!(why, Why::Refused);
    assert!(
        sentence.ends_with("is in use by another server"),
        "{sentence}"
    );
    let mut options = Options::new("null", 1);
    options.sockets = server.sockets.clone();
    let (why, sentence) = refused(&options);
    assert_eq!(why, Why::Refused);
    assert!(
        sentence.starts_with("another server answers on"),
        "{sentence}"
    );
    // The first is none the worse for it.
    server.client(0).flush().unwrap();
}

#[test]
fn a_store_of_other_drives_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    with_store("null", folder.path()).stop();
    let mut options = Options::new("wd2500ys", 1);
    options.store = Some(folder.path().into());
    let (why, sentence) = refused(&options);
    assert_eq!(why, Why::Refused);
    assert!(
        sentence.contains("holds drives of model null"),
        "{sentence}"
    );
}

#[test]
fn a_dead_servers_socket_is_cleared_away_and_other_files_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("left.sock");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    assert!(socket.exists());
    let server = Server::start("null", 1, |options| options.sockets = vec![socket.clone()]);
    server.client(0).flush().unwrap();
    server.stop();
    assert!(!socket.exists());
    std::fs::write(&socket, "precious").unwrap();
    let mut options = Options::new("null", 1);
    options.sockets = vec![socket.clone()];
    let (why, sentence) = refused(&options);
    assert_eq!(why, Why::Refused);
    assert!(sentence.ends_with("exists and is no socket"), "{sentence}");
    assert_eq!(std::fs::read_to_string(&socket).unwrap(), "precious");
}

#[test]
fn a_wrong_model_names_the_one_that_was_meant() {
    let (why, sentence) = refused(&Options::new("wd2500sy", 1));
    assert_eq!(why, Why::Usage);
    assert!(sentence.ends_with("did you mean `wd2500ys`"), "{sentence}");
    assert_eq!(refused(&Options::new("null", 0)).0, Why::Usage);
}

/// A tmpfs of 1 MiB, unmounted at the end.
struct Small(tempfile::TempDir);

impl Small {
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "none"])
            .arg(folder.path())
            .stderr(std::process::Stdio::null())
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then_some(Self(folder))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount")
            .arg("-l")
            .arg(self.0.path())
            .status();
    }
}

#[test]
fn a_full_store_answers_enospc_and_keeps_every_acknowledged_write() {
    let Some(small) = Small::mount() else {
        println!("skipped: mounting a small tmpfs needs root");
        return;
    };
    for model in ["null", "wd2500ys"] {
        let store = small.0.path().join(model);
        let server = with_store(model, &store);
        let mut client = server.client(0);
        let mut acknowledged = vec![];
        let mut full = 0;
        for number in 0..40u64 {
            let place = number << 20;
            match client.write(place, &pattern(number, 65536)) {
                Ok(()) => acknowledged.push(number),
                Err(error) => {
                    assert_eq!(error.raw_os_error(), Some(28));
                    full += 1;
                }
            }
        }
        assert!(
            full > 0 && acknowledged.len() > 3,
            "{full} of 40 were refused"
        );
        client.flush().unwrap();
        for &number in &acknowledged {
            assert_eq!(
                read(&mut client, number << 20, 65536),
                pattern(number, 65536)
            );
        }
        let events = server.events.clone();
        assert_eq!(server.stop().drives[0].counts.no_space, full);
        assert!(events.lock().unwrap()[0].contains("out of space"));
        let server = with_store(model, &store);
        let mut client = server.client(0);
        for &number in &acknowledged {
            assert_eq!(
                read(&mut client, number << 20, 65536),
                pattern(number, 65536),
                "after a restart"
            );
        }
        // Space comes back with a trim.
        client.trim(acknowledged[0] << 20, 65536).unwrap();
        client.write(50 << 20, &[1; 32768]).unwrap();
        server.stop();
        std::fs::remove_dir_all(&store).unwrap();
    }
}

#[test]
fn the_log_tells_when_each_request_came_and_was_due() {
    log_of_two(0);
}

#[test]
fn what_the_way_to_the_client_takes_is_taken_off_and_nothing_else() {
    log_of_two(200);
}

fn log_of_two(transport_us: u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.csv");
    let server = Server::start("wd2500ys", 1, |options| {
        options.log = Some(path.clone());
        options.transport_us = Some(transport_us as f64);
    });
    let mut client = server.client(0);
    client.write_through(0, &[1; 512]).unwrap();
    read(&mut client, 1 << 30, 4096);
    server.stop();
    let text = std::fs::read_to_string(&path).unwrap();
    let rows: Vec<Vec<u64>> = text
        .lines()
        .skip(1)
        .map(|line| {
            line.split(',')
                .map(|field| field.parse().unwrap())
                .collect()
        })
        .collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0][..6], [0, 1, u64::from(CMD_WRITE), 1, 0, 512]);
    for row in rows {
        let (arrived, due, answered) = (row[6], row[7], row[8]);
        let leaves = due - transport_us * 1_000 / 2;
        assert!(arrived < due && leaves <= answered, "{row:?}");
    }
}
