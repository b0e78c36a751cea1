//! cfq by hand: one rule a test. The tick is 1 ms: slices 100 ms, idle 8 ms.

use crate::common::{self, Harness};
use seekwise_sched::{Direction, PriorityClass, ProcessId, Request, RequestId, Scheduler};
use seekwise_units::{Lba, Nanos};

const KERNELS: [&str; 4] = ["2.6.24", "2.6.32", "4.4", "4.19"];

/// Process 1 reads in sequence and is being served; its request is done at `harness.now`, process 2 waits far away.
fn sequential_reader(kernel: &str) -> Harness {
    let mut harness = Harness::new("cfq", kernel);
    harness.read(1, 1000);
    assert_eq!(harness.next(), Some(1000));
    harness.read(2, 500_000_000);
    harness.at(5.0).done(1000);
    harness
}

#[test]
fn the_device_is_left_idle_for_the_process_whose_slice_it_is() {
    for kernel in KERNELS {
        let mut harness = sequential_reader(kernel);
        assert_eq!(harness.next(), None, "{kernel}");
        harness.at(6.0).read(1, 1008);
        assert_eq!(harness.next(), Some(1008), "{kernel}");
    }
}

#[test]
fn idling_ends_after_slice_idle() {
    for kernel in KERNELS {
        let mut harness = sequential_reader(kernel);
        assert_eq!(harness.next(), None);
        assert_eq!(
            harness.policy.timer(),
            Some(Nanos::from_millis(13)),
            "{kernel}"
        );
        harness.at(12.9);
        assert_eq!(harness.next(), None);
        harness.at(13.0);
        assert_eq!(harness.next(), Some(500_000_000), "{kernel}");
    }
}

#[test]
fn a_process_that_ends_is_not_waited_for() {
    for kernel in KERNELS {
        let mut harness = sequential_reader(kernel);
        harness.next();
        harness.exits(1);
        assert_eq!(harness.next(), Some(500_000_000), "{kernel}");
    }
}

#[test]
fn slice_idle_zero_never_idles() {
    for kernel in KERNELS {
        let mut harness = Harness::with("cfq", common::setup(kernel), &[("slice_idle", 0)]);
        if kernel.starts_with('4') {
            harness = Harness::with(
                "cfq",
                common::setup(kernel),
                &[("slice_idle", 0), ("group_idle", 0)],
            );
        }
        harness.read(1, 1000);
        assert_eq!(harness.next(), Some(1000));
        harness.read(2, 500_000_000);
        assert_eq!(harness.next(), Some(500_000_000), "{kernel}");
    }
}

#[test]
fn a_drive_without_seek_penalty_is_not_idled_on_from_4_2() {
    let mut setup = common::setup("4.4");
    setup.rotational = false;
    let mut harness = Harness::with("cfq", setup, &[]);
    harness.read(1, 1000);
    assert_eq!(harness.next(), Some(1000));
    harness.read(2, 500_000_000);
    assert_eq!(harness.next(), Some(500_000_000));
}

#[test]
fn a_sync_request_pushes_async_ones_aside() {
    for kernel in KERNELS {
        let mut harness = Harness::new("cfq", kernel);
        for n in 0..4 {
            harness.write(1, 1000 + n * 100);
        }
        let first = harness.next().unwrap();
        harness.read(2, 500_000_000);
        harness.at(5.0).done(first);
        let order = harness.serve(5.0);
        // In 2.6.24 the round that was on the dispatch list goes first.
        let place = order
            .iter()
            .position(|sector| *sector == 500_000_000)
            .unwrap();
        assert_eq!(
            place,
            if kernel == "2.6.24" { 3 } else { 0 },
            "{kernel}: {order:?}"
        );
    }
}

#[test]
fn async_requests_wait_until_no_sync_one_is_with_the_device() {
    for kernel in KERNELS {
        let mut harness = Harness::new("cfq", kernel);
        harness.read(1, 1000);
        assert_eq!(harness.next(), Some(1000));
        harness.write(2, 9000);
        harness.exits(1);
        assert_eq!(harness.next(), None, "{kernel}");
        harness.at(5.0).done(1000);
        assert_eq!(harness.next(), Some(9000), "{kernel}");
    }
}

#[test]
fn real_time_is_served_before_best_effort_and_that_before_idle() {
    for kernel in KERNELS {
        let mut harness = Harness::new("cfq", kernel);
        harness.priority(1, PriorityClass::Idle, 7);
        harness.priority(2, PriorityClass::BestEffort, 7);
        harness.priority(3, PriorityClass::RealTime, 4);
        for process in 1..=3u32 {
            harness.read(process, process as u64 * 1_000_000);
        }
        let mut order = Vec::new();
        for _ in 0..400 {
            if let Some(sector) = harness.next() {
                order.push(sector / 1_000_000);
                let at = harness.now.as_millis_f64();
                harness.at(at + 1.0).done(sector);
                harness.exits((sector / 1_000_000) as u32);
            } else {
                let at = harness.now.as_millis_f64();
                harness.at(at + 1.0);
            }
        }
        assert_eq!(order, [3, 2, 1], "{kernel}");
    }
}

#[test]
fn a_real_time_request_preempts_from_2_6_32_on() {
    for (kernel, preempts) in [("2.6.24", false), ("2.6.32", true), ("4.4", true)] {
        let mut harness = sequential_reader(kernel);
        harness.next();
        harness.priority(3, PriorityClass::RealTime, 4);
        harness.at(7.0).read(3, 700_000_000);
        assert_eq!(harness.next(), preempts.then_some(700_000_000), "{kernel}");
    }
}

#[test]
fn one_pull_of_2_6_24_moves_a_round_of_quantum_requests_sorted() {
    let mut harness = Harness::new("cfq", "2.6.24");
    let mut ids = Vec::new();
    for sector in [400, 100, 300, 200, 500] {
        ids.push(harness.read(1, sector));
    }
    harness.read(2, 9000);
    assert_eq!(harness.next(), Some(100));
    // Three more are on the dispatch list and out of reach of merges; 500 still waits in its queue.
    let bio = Request {
        start: Lba(508),
        ..*harness.request(ids[4])
    };
    assert!(harness.policy.may_merge(harness.request(ids[4]), &bio));
    assert!(!harness.policy.may_merge(
        harness.request(ids[0]),
        &Request {
            start: Lba(408),
            ..bio
        }
    ));
    assert_eq!(
        [harness.next(), harness.next(), harness.next()],
        [Some(200), Some(300), Some(400)]
    );
    // Four of the queue are with the device and another queue is busy.
    assert_eq!(harness.next(), None);
}

#[test]
fn a_queue_may_keep_quantum_requests_in_flight_while_others_wait() {
    for (kernel, at_once) in [("2.6.32", 4), ("4.4", 4)] {
        let mut harness = Harness::new("cfq", kernel);
        for n in 0..20 {
            harness.read(1, 1000 + n * 8);
        }
        harness.read(2, 500_000_000);
        assert_eq!(harness.all().len(), at_once, "{kernel}");
    }
    // Alone: 16 in 2.6.32, no limit in 4.4.
    for (kernel, at_once) in [("2.6.32", 16), ("4.4", 20)] {
        let mut harness = Harness::new("cfq", kernel);
        for n in 0..20 {
            harness.read(1, 1000 + n * 8);
        }
        assert_eq!(harness.all().len(), at_once, "{kernel}");
    }
}

#[test]
fn the_nearest_request_of_the_queue_is_next_and_an_expired_one_first_in_the_slice() {
    for kernel in ["2.6.32", "4.4"] {
        let mut harness = Harness::new("cfq", kernel);
        for sector in [5000, 100, 7000] {
            harness.read(1, sector);
        }
        assert_eq!(harness.all(), [100, 5000, 7000], "{kernel}");
        let mut harness = Harness::new("cfq", kernel);
        for sector in [5000, 100, 7000] {
            harness.read(1, sector);
        }
        harness.at(130.0);
        assert_eq!(harness.next(), Some(5000), "{kernel}: 125 ms old");
    }
}

#[test]
fn seeky_processes_are_idled_on_one_by_one_until_2_6_32_and_together_from_then_on() {
    for (kernel, next) in [("2.6.32", None), ("4.4", Some(2))] {
        // Two random readers without think time.
        let mut harness = Harness::new("cfq", kernel);
        let place = |process: u64, n: u64| process * 1_000_000_000 + n * 7_919 % 1000 * 100_000;
        harness.read(1, place(1, 0));
        harness.read(2, place(2, 0));
        let mut n = 0;
        let last = loop {
            let Some(sector) = harness.next() else {
                let at = harness.now.as_millis_f64();
                harness.at(at + 1.0);
                continue;
            };
            let process = sector / 1_000_000_000;
            let at = harness.now.as_millis_f64();
            harness.at(at + 5.0).done(sector);
            n += 1;
            if n > 60 && process == 1 {
                break process;
            }
            harness.read(process as u32, place(process, n));
        };
        // Process 1 keeps the device waiting; 2 has a request.
        assert_eq!(last, 1);
        assert_eq!(
            harness.next().map(|sector| sector / 1_000_000_000),
            next,
            "{kernel}"
        );
    }
}

#[test]
fn a_bio_merges_only_into_a_request_of_its_own_queue() {
    for kernel in KERNELS {
        let mut harness = Harness::new("cfq", kernel);
        let mine = harness.read(1, 1000);
        let async_write = harness.write(1, 5000);
        harness.write(2, 9000);
        let request = *harness.request(mine);
        let bio = |process, template: &Request| Request {
            id: RequestId(u32::MAX),
            start: template.end(),
            process: ProcessId(process),
            ..*template
        };
        assert!(
            harness.policy.may_merge(&request, &bio(1, &request)),
            "{kernel}"
        );
        assert!(
            !harness.policy.may_merge(&request, &bio(2, &request)),
            "{kernel}: another process"
        );
        let write = *harness.request(async_write);
        assert!(
            harness.policy.may_merge(&write, &bio(2, &write)),
            "{kernel}: async writes share a queue"
        );
        let sync = Request {
            sync: true,
            ..bio(1, &write)
        };
        assert!(
            !harness.policy.may_merge(&write, &sync),
            "{kernel}: a sync bio into an async request"
        );
    }
}

#[test]
fn cooperating_processes_share_a_queue() {
    // Two processes read one region in turns, each behind the other: nobody is waited for once they share.
    for kernel in ["2.6.32", "4.4"] {
        let mut harness = Harness::new("cfq", kernel);
        let mut at = 0.0;
        let mut waited = Vec::new();
        harness.read(1, 10_000);
        harness.read(2, 10_008);
        let mut next_sector = 10_016;
        for _ in 0..60 {
            let mut polls = 0;
            let sector = loop {
                match harness.at(at).next() {
                    Some(sector) => break sector,
                    None => (at, polls) = (at + 1.0, polls + 1),
                }
            };
            waited.push(polls);
            at += 2.0;
            harness.at(at).done(sector);
            harness.read(1 + ((next_sector / 8) % 2) as u32, next_sector);
            next_sector += 8;
        }
        let late: u32 = waited[20..].iter().sum();
        assert_eq!(late, 0, "{kernel}: {waited:?}");
    }
}

#[test]
fn a_write_marked_no_idle_is_not_idled_on() {
    for (kernel, waits) in [("2.6.24", true), ("2.6.32", false)] {
        let mut harness = Harness::new("cfq", kernel);
        let template = Request {
            id: RequestId(0),
            start: Lba(1000),
            sectors: seekwise_units::Sectors(8),
            direction: Direction::Write,
            sync: true,
            no_idle: true,
            metadata: false,
            process: ProcessId(1),
            priority: Default::default(),
            allocated: Nanos(0),
        };
        // A first one, so that the queue is known; then another queue waits.
        harness.insert(template);
        assert_eq!(harness.next(), Some(1000));
        harness.read(2, 500_000_000);
        harness.at(5.0).done(1000);
        assert_eq!(harness.next().is_none(), waits, "{kernel}");
    }
}

#[test]
fn the_idle_class_waits_100_ms_after_others_in_2_6_24() {
    let mut harness = Harness::new("cfq", "2.6.24");
    harness.priority(2, PriorityClass::Idle, 7);
    harness.read(1, 1000);
    assert_eq!(harness.next(), Some(1000));
    harness.read(2, 9000);
    harness.at(5.0).done(1000);
    harness.exits(1);
    assert_eq!(harness.next(), None);
    assert_eq!(harness.policy.timer(), Some(Nanos::from_millis(105)));
    harness.at(105.0);
    assert_eq!(harness.next(), Some(9000));
}

#[test]
fn slices_follow_the_priority() {
    // Two readers without think time share the device by the length of their slices: 180 ms to 40 ms.
    for kernel in ["2.6.24", "2.6.32"] {
        let mut harness = Harness::new("cfq", kernel);
        harness.priority(1, PriorityClass::BestEffort, 0);
        harness.priority(2, PriorityClass::BestEffort, 7);
        let mut served = [0u32; 2];
        let mut next = [1000u64, 500_000_000];
        harness.read(1, next[0]);
        harness.read(2, next[1]);
        while harness.now < Nanos::from_secs(20) {
            let Some(sector) = harness.next() else {
                let at = harness.now.as_millis_f64();
                harness.at(at + 0.5);
                continue;
            };
            let who = usize::from(sector >= 500_000_000);
            let at = harness.now.as_millis_f64();
            harness.at(at + 5.0).done(sector);
            served[who] += 1;
            next[who] += 8;
            harness.read(who as u32 + 1, next[who]);
        }
        let ratio = served[0] as f64 / served[1] as f64;
        assert!((3.0..6.5).contains(&ratio), "{kernel}: {served:?}");
    }
}
