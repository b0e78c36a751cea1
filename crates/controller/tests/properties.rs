//! What holds for every controller, level and load.

use proptest::prelude::*;
use seekwise_controller::{Choices, Controller, Level, Model};
use seekwise_device::{Command, CommandKind, Device, Model as DriveModel, Tag};
use seekwise_units::{Lba, Nanos, Sectors};

#[derive(Clone, Debug)]
struct Request {
    kind: CommandKind,
    place: u64,
    pages: u64,
    /// After the one before.
    pause_us: u64,
}

fn request() -> impl Strategy<Value = Request> {
    let kind = prop_oneof![
        4 => Just(CommandKind::Read),
        4 => Just(CommandKind::Write { force_unit_access: false }),
        1 => Just(CommandKind::Write { force_unit_access: true }),
        1 => Just(CommandKind::Flush),
    ];
    (kind, 0u64..2_000, 1u64..32, 0u64..3_000).prop_map(|(kind, place, pages, pause_us)| Request {
        kind,
        place,
        pages,
        pause_us,
    })
}

fn unit() -> impl Strategy<Value = (&'static str, Level, u32)> {
    prop::sample::select(vec![
        ("9650SE-2LP", Level::Raid1, 2),
        ("9650SE-2LP", Level::Single, 1),
        ("9650SE-4LPML", Level::Raid5, 3),
        ("9650SE-4LPML", Level::Raid10, 4),
        ("9550SXU-8LP", Level::Raid5, 5),
        ("megaraid", Level::Raid6, 6),
        ("fake", Level::Raid5, 3),
        ("fake", Level::Raid1, 2),
        ("fake", Level::Raid0, 2),
    ])
}

fn build(unit: (&str, Level, u32), choices: &Choices) -> Controller {
    let drive = DriveModel::shipped("st3250620ns").unwrap();
    let model = Model::shipped(unit.0).unwrap();
    model
        .build(unit.1, &drive, unit.2, Some(Sectors(1 << 20)), 3, choices)
        .unwrap()
}

/// Runs requests one after the other in time; the completions with their times.
fn run(controller: &mut Controller, requests: &[Request]) -> Vec<(Nanos, u32)> {
    let mut done = vec![];
    let mut now = Nanos::ZERO;
    let step = |controller: &mut Controller, until: Nanos, done: &mut Vec<(Nanos, u32)>| {
        while let Some(time) = controller.next_event().filter(|time| *time <= until) {
            if let Some(tag) = controller.advance(time) {
                done.push((time, tag.0));
            }
        }
    };
    for (tag, request) in (0u32..).zip(requests) {
        now += Nanos::from_micros(request.pause_us);
        step(controller, now, &mut done);
        controller.submit(
            now,
            Command {
                tag: Tag(tag),
                kind: request.kind,
                start: Lba(request.place * 8),
                sectors: Sectors(request.pages * 8),
            },
        );
    }
    step(controller, Nanos(u64::MAX - 1), &mut done);
    done
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_command_is_done_once_and_bytes_are_kept(
        unit in unit(), ncq in any::<bool>(), write_back in any::<bool>(), requests in prop::collection::vec(request(), 1..60),
    ) {
        let choices = Choices { ncq: Some(ncq), write_back: Some(write_back), ..Choices::default() };
        let mut controller = build(unit, &choices);
        let done = run(&mut controller, &requests);
        let mut tags: Vec<u32> = done.iter().map(|one| one.1).collect();
        tags.sort_unstable();
        prop_assert_eq!(tags, (0..requests.len() as u32).collect::<Vec<_>>());
        prop_assert!(done.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        let sectors = |write: bool| -> u64 {
            requests.iter()
                .filter(|one| match one.kind {
                    CommandKind::Read => !write,
                    CommandKind::Write { .. } => write,
                    _ => false,
                })
                .map(|one| one.pages * 8)
                .sum()
        };
        let counters = controller.counters();
        prop_assert_eq!(counters.sectors_to_host, sectors(false));
        prop_assert_eq!(counters.sectors_from_host, sectors(true));
        // All of it reaches the drives in the end, with its copy or its parity.
        prop_assert_eq!(controller.dirty().0, 0);
        let redundant = !matches!(unit.1, Level::Single | Level::Raid0);
        let distinct: std::collections::BTreeSet<u64> = requests.iter()
            .filter(|one| matches!(one.kind, CommandKind::Write { .. }))
            .flat_map(|one| one.place..one.place + one.pages)
            .collect();
        let written = distinct.len() as u64 * 8;
        let least = match unit.1 {
            Level::Raid1 | Level::Raid10 => 2 * written,
            // At least one sector of parity for a row's worth of data.
            _ => written + u64::from(redundant && written > 0),
        };
        prop_assert!(counters.sectors_written >= least, "{} of {least}", counters.sectors_written);
    }

    #[test]
    fn no_more_is_acknowledged_than_fits_into_the_memory(unit in unit(), requests in prop::collection::vec(request(), 1..60)) {
        let mut controller = build(unit, &Choices::default());
        run(&mut controller, &requests);
        prop_assert!(controller.counters().dirty_most <= controller.write_room().0);
    }

    #[test]
    fn what_is_foreseen_comes_true(unit in unit(), requests in prop::collection::vec(request(), 1..12)) {
        let mut controller = build(unit, &Choices::default());
        for (tag, request) in (0u32..).zip(&requests) {
            controller.submit(Nanos::ZERO, Command {
                tag: Tag(tag), kind: request.kind, start: Lba(request.place * 8), sectors: Sectors(request.pages * 8),
            });
        }
        while let Some(foreseen) = controller.next_completion() {
            controller.complete_next(foreseen);
        }
        prop_assert_eq!(controller.counters().host_reads as usize,
            requests.iter().filter(|one| one.kind == CommandKind::Read).count());
    }
}

/// Writes one after the other at once, `apart` pages from each other.
fn flood(count: u64, apart: u64, pages: u64) -> Vec<Request> {
    let write = |number| Request {
        kind: CommandKind::Write {
            force_unit_access: false,
        },
        place: number * apart,
        pages,
        pause_us: 1,
    };
    (0..count).map(write).collect()
}

/// A memory of 4 MiB in place of the model's, three quarters of it for writes.
fn with_little_memory() -> Model {
    let mut model = Model::shipped("9650SE-4LPML").unwrap();
    model.parameters.get_mut("cache_mib").unwrap().value = 4.0;
    model.parameters.get_mut("dirty_percent").unwrap().value = 75.0;
    model
}

#[test]
fn a_write_larger_than_the_room_for_writes_ends_all_the_same() {
    let drive = DriveModel::shipped("st3250620ns").unwrap();
    let mut model = with_little_memory();
    model.parameters.get_mut("dirty_percent").unwrap().value = 1.0;
    let mut controller = model
        .build(Level::Raid5, &drive, 3, None, 1, &Choices::default())
        .unwrap();
    let flood = flood(40, 32, 32);
    assert!(controller.write_room().0 < 32 << 12);
    assert_eq!(run(&mut controller, &flood).len(), 40);
}

#[test]
fn a_flood_of_writes_waits_for_room_and_the_memory_never_overflows() {
    let drive = DriveModel::shipped("st3250620ns").unwrap();
    let mut controller = with_little_memory()
        .build(Level::Raid5, &drive, 3, None, 1, &Choices::default())
        .unwrap();
    let flood = flood(250, 7_919, 16);
    let done = run(&mut controller, &flood);
    assert_eq!(done.len(), 250);
    assert_eq!(controller.write_room().0, 3 << 20);
    let most = controller.counters().dirty_most;
    assert!((2 << 20..=3 << 20).contains(&most), "{most}");
    // What found room was answered at the speed of bus and firmware, the last only once drives had made room.
    assert!(done[20].0 < Nanos::from_millis(20));
    assert!(done[249].0 > Nanos::from_millis(100));
}

#[test]
fn sequential_writes_to_raid5_fill_rows_and_read_nothing() {
    let mut controller = build(("9650SE-4LPML", Level::Raid5, 4), &Choices::default());
    let rows: Vec<Request> = (0..48)
        .map(|number| Request {
            kind: CommandKind::Write {
                force_unit_access: false,
            },
            place: number * 16,
            pages: 16,
            pause_us: 500,
        })
        .collect();
    run(&mut controller, &rows);
    let counters = controller.counters();
    assert_eq!(counters.drive_reads, 0);
    assert_eq!(counters.drive_writes, 16 * 4);
    assert_eq!(counters.sectors_written, 48 * 128 * 4 / 3);
}

#[test]
fn a_small_write_to_five_drives_reads_two_and_writes_two() {
    let choices = Choices {
        write_back: Some(false),
        ..Choices::default()
    };
    let mut controller = build(("9550SXU-8LP", Level::Raid5, 5), &choices);
    let small = Request {
        kind: CommandKind::Write {
            force_unit_access: false,
        },
        place: 5,
        pages: 1,
        pause_us: 0,
    };
    run(&mut controller, &[small]);
    let counters = controller.counters();
    assert_eq!((counters.drive_reads, counters.drive_writes), (2, 2));
    assert_eq!(counters.xor_bytes, 3 * 4096);
}

#[test]
fn a_stream_is_read_ahead_and_answered_from_memory() {
    let mut controller = build(("9650SE-4LPML", Level::Raid5, 3), &Choices::default());
    let stream: Vec<Request> = (0..40)
        .map(|number| Request {
            kind: CommandKind::Read,
            place: number * 8,
            pages: 8,
            pause_us: 20_000,
        })
        .collect();
    let mut began = Nanos::ZERO;
    let done = run(&mut controller, &stream);
    for (number, (end, _)) in done.iter().enumerate() {
        began += Nanos::from_millis(20);
        if number > 2 {
            assert!(*end - began < Nanos::from_micros(400), "read {number}");
        }
    }
}

#[test]
fn only_a_fake_controller_costs_the_host_work() {
    let writes: Vec<Request> = (0..50)
        .map(|number| Request {
            kind: CommandKind::Write {
                force_unit_access: false,
            },
            place: number * 37,
            pages: 3,
            pause_us: 100,
        })
        .collect();
    for (name, works) in [("9550SXU-8LP", false), ("fake", true)] {
        let mut controller = build((name, Level::Raid5, 3), &Choices::default());
        run(&mut controller, &writes);
        assert_eq!(controller.take_host_work() > Nanos::ZERO, works, "{name}");
    }
}

#[test]
fn without_ncq_drives_get_one_command_at_a_time_in_order() {
    // Two far places in turn: a drive that orders serves each place at once, one that does not travels every time.
    let far: Vec<Request> = (0..40)
        .map(|number| Request {
            kind: CommandKind::Read,
            place: (number % 2) * 60_000 + number * 3 % 17 * 40,
            pages: 1,
            pause_us: 0,
        })
        .collect();
    let end = |ncq: bool| {
        let choices = Choices {
            ncq: Some(ncq),
            ..Choices::default()
        };
        let mut controller = build(("9650SE-2LP", Level::Single, 1), &choices);
        run(&mut controller, &far).last().unwrap().0
    };
    assert!(end(true).0 * 10 < end(false).0 * 8);
}

/// A reader that asks for the next block of 128 KiB when it has the last, and a writer that keeps a queue full: MB/s of both.
fn rates(unit: (&str, Level, u32), random: bool, depth: u32, seconds: u64) -> (f64, f64) {
    let drive = DriveModel::shipped("st3250620ns").unwrap();
    let model = Model::shipped(unit.0).unwrap();
    let mut controller = model
        .build(
            unit.1,
            &drive,
            unit.2,
            Some(Sectors(100 << 21)),
            3,
            &Choices::default(),
        )
        .unwrap();
    const BLOCK: Sectors = Sectors(256);
    let end = Nanos(seconds * 1_000_000_000);
    let capacity = controller.capacity().0 / 2 / BLOCK.0;
    let (mut read, mut written, mut seed) = (0u64, 0u64, 1u64);
    let mut place = |count: u64, base: u64| {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let block = if random {
            (seed >> 33) % capacity
        } else {
            count % capacity
        };
        Lba((base + block) * BLOCK.0)
    };
    let submit = |controller: &mut Controller, now, tag: u32, kind, start| {
        controller.submit(
            now,
            Command {
                tag: Tag(tag),
                kind,
                start,
                sectors: BLOCK,
            },
        );
    };
    let write = CommandKind::Write {
        force_unit_access: false,
    };
    for tag in 1..=depth {
        let start = place(u64::from(tag), capacity);
        submit(&mut controller, Nanos::ZERO, tag, write, start);
    }
    let start = place(0, 0);
    submit(&mut controller, Nanos::ZERO, 0, CommandKind::Read, start);
    let mut writes = u64::from(depth);
    while let Some(time) = controller.next_event().filter(|time| *time < end) {
        let Some(Tag(tag)) = controller.advance(time) else {
            continue;
        };
        let now = time + Nanos::from_micros(50);
        if tag == 0 {
            read += 1;
            let start = place(read, 0);
            submit(&mut controller, now, 0, CommandKind::Read, start);
        } else {
            written += 1;
            writes += 1;
            let start = place(writes, capacity);
            submit(&mut controller, now, tag, write, start);
        }
    }
    let rate = |blocks: u64| (blocks * BLOCK.bytes().0) as f64 / 1e6 / seconds as f64;
    (rate(read), rate(written))
}

#[test]
fn reads_beside_a_flood_of_writes_get_their_share_of_the_drives() {
    for unit in [
        ("9650SE-2LP", Level::Raid1, 2),
        ("9650SE-4LPML", Level::Raid5, 3),
        ("megaraid", Level::Raid6, 6),
    ] {
        // Half the time, less a way there and back for each turn.
        let (alone, _) = rates(unit, true, 0, 4);
        let (beside, written) = rates(unit, true, 32, 4);
        assert!(
            beside > 0.25 * alone && beside < 0.75 * alone,
            "{unit:?}: random reads {beside} of {alone}"
        );
        assert!(written > 10.0, "{unit:?}: writes {written}");
        let (stream, written) = rates(unit, false, 32, 4);
        assert!(stream > 10.0, "{unit:?}: stream {stream}");
        assert!(written > 30.0, "{unit:?}: writes {written}");
    }
}

#[test]
fn with_room_in_the_memory_destaging_leaves_the_drives_to_a_reader() {
    let latency = |writes: bool| {
        let mut controller = build(("9650SE-4LPML", Level::Raid5, 3), &Choices::default());
        let mut requests = vec![];
        for number in 0..120u64 {
            requests.push(Request {
                kind: CommandKind::Read,
                place: number * 379 % 60_000,
                pages: 1,
                pause_us: 15_000,
            });
            if writes {
                requests.push(Request {
                    kind: CommandKind::Write {
                        force_unit_access: false,
                    },
                    place: 64_000 - number * 211 % 60_000,
                    pages: 1,
                    pause_us: 0,
                });
            }
        }
        let done = run(&mut controller, &requests);
        let mut began = Nanos::ZERO;
        let began: Vec<Nanos> = requests
            .iter()
            .map(|one| {
                began += Nanos::from_micros(one.pause_us);
                began
            })
            .collect();
        done.iter()
            .filter(|(_, tag)| requests[*tag as usize].kind == CommandKind::Read)
            .map(|(end, tag)| (*end - began[*tag as usize]).0)
            .sum::<u64>()
    };
    let (alone, beside) = (latency(false), latency(true));
    assert!(beside * 10 < alone * 11, "{beside} after {alone}");
}
