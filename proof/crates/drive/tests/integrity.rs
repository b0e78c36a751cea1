//! Data through the socket equal a plain array in memory, whatever the order of operations.

use crate::common::{self, Server};
use proptest::prelude::*;
use seekwise_drive::protocol::{CMD_READ, CMD_WRITE};
use std::collections::HashMap;
use std::io::Read;

const SECTOR: usize = 512;
const SPAN: usize = 256;

#[derive(Clone, Debug)]
enum Step {
    Read(usize, usize),
    Write(usize, usize, u8, bool),
    Trim(usize, usize),
    Flush,
    Power,
}

fn range() -> impl Strategy<Value = (usize, usize)> {
    (0..SPAN).prop_flat_map(|start| (Just(start), 1..=(SPAN - start).min(40)))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => range().prop_map(|(start, count)| Step::Read(start, count)),
        // Zeros are not stored where nothing is: as good a reason for a mistake as any.
        6 => (range(), prop_oneof![Just(0u8), 1..=255u8], prop::bool::weighted(0.2))
            .prop_map(|((start, count), fill, through)| Step::Write(start, count, fill, through)),
        1 => range().prop_map(|(start, count)| Step::Trim(start, count)),
        1 => Just(Step::Flush),
        1 => Just(Step::Power),
    ]
}

/// What each sector may hold: after a power cut anything written since it last was safe, until it is read or written.
struct Reference {
    now: Vec<u8>,
    safe: Vec<u8>,
}

fn carry_out(server: &Server, steps: &[Step], volatile: bool) -> Result<(), TestCaseError> {
    let mut client = server.client(0);
    client.trim(0, (SPAN * SECTOR) as u32).unwrap();
    let mut reference = Reference {
        now: vec![0; SPAN],
        safe: vec![0; SPAN],
    };
    for step in steps {
        match *step {
            Step::Read(start, count) => {
                let mut data = vec![0xEE; count * SECTOR];
                client.read((start * SECTOR) as u64, &mut data).unwrap();
                for (at, sector) in data.chunks(SECTOR).enumerate() {
                    let expected = reference.now[start + at];
                    prop_assert!(
                        sector.iter().all(|&byte| byte == expected),
                        "sector {} after {steps:?}",
                        start + at
                    );
                }
            }
            Step::Write(start, count, fill, through) => {
                let data = vec![fill; count * SECTOR];
                if through {
                    client
                        .write_through((start * SECTOR) as u64, &data)
                        .unwrap();
                    reference.safe[start..start + count].fill(fill);
                } else {
                    client.write((start * SECTOR) as u64, &data).unwrap();
                }
                reference.now[start..start + count].fill(fill);
            }
            Step::Trim(start, count) => {
                client
                    .trim((start * SECTOR) as u64, (count * SECTOR) as u32)
                    .unwrap();
                reference.now[start..start + count].fill(0);
                reference.safe[start..start + count].fill(0);
            }
            Step::Flush => {
                client.flush().unwrap();
                reference.safe.clone_from(&reference.now);
            }
            Step::Power => {
                server.fault("0:power-cut");
                server.fault("0:power-on");
                client = server.client(0);
                // The cache holds all of this test's sectors: everything that was not made safe is lost.
                if volatile {
                    reference.now.clone_from(&reference.safe);
                } else {
                    reference.safe.clone_from(&reference.now);
                }
            }
        }
    }
    Ok(())
}

#[test]
fn random_operations_and_power_cuts_leave_what_a_volatile_write_cache_promises() {
    let server = Server::start("samsung_850_evo", 1, |_| {});
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(60)
    });
    runner
        .run(&prop::collection::vec(step(), 1..60), |steps| {
            carry_out(&server, &steps, true)
        })
        .unwrap();
}

#[test]
fn a_drive_without_a_write_cache_loses_nothing() {
    let server = Server::start("null", 1, |_| {});
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(60)
    });
    runner
        .run(&prop::collection::vec(step(), 1..60), |steps| {
            carry_out(&server, &steps, false)
        })
        .unwrap();
}

#[test]
fn a_small_cache_destages_and_still_reads_what_was_written() {
    // 16 KiB of cache: most writes push others onto the medium.
    let server = Server::start("samsung_850_evo", 1, |options| {
        options.parameters.insert("write_buffer_kib".into(), 16.0);
    });
    let steps = prop::collection::vec(
        step().prop_filter("no power cut", |step| !matches!(step, Step::Power)),
        1..80,
    );
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(40)
    });
    runner
        .run(&steps, |steps| carry_out(&server, &steps, true))
        .unwrap();
}

#[test]
fn many_outstanding_requests_are_each_answered_once_with_their_own_data() {
    let server = Server::start("wd2500ys", 2, |_| {});
    for drive in 0..2 {
        let mut client = server.client(drive);
        let places: Vec<u64> = (0..100u64).map(|n| n * 7919 % 400 * 4096).collect();
        let mut writes: HashMap<u64, u64> = HashMap::new();
        for &place in &places {
            let data = common::pattern(place + drive as u64, 4096);
            writes.insert(
                client.send(CMD_WRITE, 0, place, 4096, &data).unwrap(),
                place,
            );
        }
        for _ in &places {
            let (cookie, error) = client.reply().unwrap();
            assert_eq!(error, 0);
            assert!(
                writes.remove(&cookie).is_some(),
                "answered twice or never asked"
            );
        }
        let mut reads = HashMap::new();
        for &place in &places {
            reads.insert(client.send(CMD_READ, 0, place, 4096, &[]).unwrap(), place);
        }
        for _ in &places {
            let (cookie, error) = client.reply().unwrap();
            assert_eq!(error, 0);
            let mut data = vec![0; 4096];
            client.stream.read_exact(&mut data).unwrap();
            let place = reads.remove(&cookie).expect("answered once");
            assert_eq!(data, common::pattern(place + drive as u64, 4096));
        }
    }
    let report = server.stop();
    assert_eq!(report.drives[1].counts.reads, 100);
    assert_eq!(report.drives[1].counts.bytes_written, 100 * 4096);
}

#[test]
fn a_request_as_long_as_the_protocol_allows_is_whole() {
    let server = Server::start("wd2500ys", 1, |_| {});
    let mut client = server.client(0);
    let data = common::pattern(77, 32 << 20);
    client.write(1 << 30, &data).unwrap();
    let mut back = vec![0; data.len()];
    client.read(1 << 30, &mut back).unwrap();
    assert!(back == data);
}
