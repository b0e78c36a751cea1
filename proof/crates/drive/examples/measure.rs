//! How well the server keeps the model's time, and how many requests it answers, measured by clients on its sockets.
//!
//! `cargo run --release -p seekwise-drive --features examples --example measure [latency|rate] [AWAKE_US]`
//!
//! Latency: random reads of 4 KiB on drives of wd2500ys; the error of a request is how far what the client waited is from what the
//! model says (`due - arrived` of the server's log). Rate: 8 null drives, 64 reads of 4 KiB outstanding on each, for 5 s. Server and
//! clients share the machine.

use rustix::time::{clock_gettime, ClockId};
use seekwise_drive::client::Client;
use seekwise_drive::protocol::{reply, Request, CMD_READ, REPLY_BYTES};
use seekwise_drive::{serve, Notice, Options};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Runs `body` with the sockets of a server; prints what the server reports.
fn with_server<T>(options: Options, body: impl FnOnce(&[PathBuf]) -> T) -> T {
    let ended = Arc::new(AtomicBool::new(false));
    let (ready_to, ready) = channel();
    let server = std::thread::spawn({
        let ended = ended.clone();
        move || {
            serve(&options, |notice| {
                if let Notice::Ready { sockets, .. } = notice {
                    ready_to.send(sockets.clone()).expect("somebody waits");
                }
                !ended.load(Ordering::Relaxed)
            })
        }
    });
    let sockets = ready.recv().expect("the server starts");
    let result = body(&sockets);
    ended.store(true, Ordering::Relaxed);
    let report = server
        .join()
        .expect("the server ends")
        .expect("the server served");
    let worst = report
        .drives
        .iter()
        .map(|drive| drive.late_us_p99)
        .fold(0.0, f64::max);
    let reads: u64 = report.drives.iter().map(|drive| drive.counts.reads).sum();
    println!("  server: {reads} reads in {:.1} s", report.seconds);
    println!(
        "  server: p99 of lateness {worst:.0} us on its worst drive, {} overruns of 100 us",
        report.overruns
    );
    result
}

/// Random reads: of each its cookie, when it was sent and when its answer was there.
fn reads(socket: &Path, count: usize, depth: usize, seed: u64) -> Vec<(u64, u64, u64)> {
    let mut client = Client::connect(socket).expect("the drive answers");
    let mut random = seed | 1;
    let mut sent = HashMap::new();
    let mut waited = vec![];
    let mut data = [0; 4096];
    while waited.len() < count {
        while sent.len() < depth && waited.len() + sent.len() < count {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let place = (random >> 20) % (client.bytes / 4096) * 4096;
            let start = now();
            sent.insert(
                client.send(CMD_READ, 0, place, 4096, &[]).expect("sent"),
                start,
            );
        }
        let (cookie, error) = client.reply().expect("answered");
        assert_eq!(error, 0);
        client.stream.read_exact(&mut data).expect("data");
        let start = sent.remove(&cookie).expect("asked once");
        waited.push((cookie, start, now()));
    }
    waited
}

fn latency(drives: usize, depth: usize) {
    let log = std::env::temp_dir().join(format!("seekwise-measure-{}.csv", std::process::id()));
    let mut options = Options::new("wd2500ys", drives);
    options.log = Some(log.clone());
    if let Some(us) = std::env::args().nth(2).and_then(|word| word.parse().ok()) {
        options.awake_us = us;
    }
    println!("wd2500ys, {drives} drives, {depth} outstanding on each, random reads of 4 KiB:");
    let waited: Vec<Vec<(u64, u64, u64)>> = with_server(options, |sockets| {
        let threads: Vec<_> = sockets
            .iter()
            .enumerate()
            .map(|(index, socket)| {
                let socket = socket.clone();
                std::thread::spawn(move || reads(&socket, 500, depth, 77 + index as u64))
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("the client ends"))
            .collect()
    });
    let text = std::fs::read_to_string(&log).expect("the log is there");
    let _ = std::fs::remove_file(&log);
    let mut model = HashMap::new();
    for line in text.lines().skip(1) {
        let fields: Vec<u64> = line
            .split(',')
            .map(|field| field.parse().expect("a number"))
            .collect();
        let key = (fields[0] as usize, fields[1]);
        model.insert(key, (fields[6], fields[7], fields[8]));
    }
    let (mut errors, mut seen, mut late, mut back) = (vec![], vec![], vec![], vec![]);
    for (drive, waited) in waited.iter().enumerate() {
        for (cookie, sent, there) in waited {
            let (arrived, due, answered) = model[&(drive, *cookie)];
            // Arrivals and answers that the server moves by what they need on their way may lie before their cause.
            let us = |from: u64, to: u64| to.wrapping_sub(from) as i64 as f64 / 1e3;
            errors.push((us(*sent, *there) - us(arrived, due)).abs());
            seen.push(us(*sent, arrived));
            late.push(us(due, answered));
            back.push(us(answered, *there));
        }
    }
    for (name, parts) in [
        ("error against the model", &mut errors),
        ("  until the drive saw it", &mut seen),
        ("  answered too late by", &mut late),
        ("  until the client had it", &mut back),
    ] {
        parts.sort_by(f64::total_cmp);
        let at = |part: f64| parts[((parts.len() - 1) as f64 * part) as usize];
        println!(
            "  {name:26} p50 {:5.0} us, p90 {:5.0}, p99 {:5.0}, max {:6.0} ({} requests)",
            at(0.5),
            at(0.9),
            at(0.99),
            at(1.0),
            parts.len()
        );
    }
}

fn rate() {
    const DEPTH: usize = 64;
    println!("null, 8 drives, {DEPTH} outstanding on each, reads of 4 KiB:");
    let time = Duration::from_secs(5);
    let answered: u64 = with_server(Options::new("null", 8), |sockets| {
        let started = Instant::now();
        let threads: Vec<_> = sockets
            .iter()
            .map(|socket| {
                let socket = socket.clone();
                std::thread::spawn(move || {
                    let mut client = Client::connect(&socket).expect("the drive answers");
                    let batch: Vec<u8> = (0..DEPTH as u64)
                        .flat_map(|n| {
                            Request {
                                flags: 0,
                                command: CMD_READ,
                                cookie: n,
                                offset: n * 4096,
                                length: 4096,
                            }
                            .bytes()
                        })
                        .collect();
                    let mut answers = vec![0; DEPTH * (REPLY_BYTES + 4096)];
                    let mut answered = 0;
                    while started.elapsed() < time {
                        client.stream.write_all(&batch).expect("sent");
                        client.stream.read_exact(&mut answers).expect("answered");
                        for (n, answer) in answers.chunks(REPLY_BYTES + 4096).enumerate() {
                            assert_eq!(
                                answer[..REPLY_BYTES],
                                reply(0, n as u64),
                                "equal latencies are answered in order"
                            );
                        }
                        answered += DEPTH as u64;
                    }
                    answered
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("the client ends"))
            .sum()
    });
    println!(
        "  client: {:.0} requests/s",
        answered as f64 / time.as_secs_f64()
    );
}

fn main() {
    let what = std::env::args().nth(1).unwrap_or_default();
    if what != "rate" {
        for (drives, depth) in [(1, 1), (1, 32), (8, 1), (8, 32)] {
            latency(drives, depth);
        }
    }
    if what != "latency" {
        rate();
    }
}
