//! `pass` is a shortcut: a caller that takes it must be where `insert` and `dispatch` would have left it.

use seekwise_sched::{
    registry, Direction, Kernel, Priority, ProcessId, Request, RequestId, Scheduler, Setup,
};
use seekwise_units::{Lba, Nanos, Sectors};

fn request(id: u32, bits: u64, now: Nanos) -> Request {
    let direction = if bits & 3 == 0 {
        Direction::Write
    } else {
        Direction::Read
    };
    Request {
        id: RequestId(id),
        start: Lba((bits >> 8) % 5000 * 8),
        sectors: Sectors(8),
        direction,
        sync: true,
        no_idle: false,
        metadata: false,
        process: ProcessId(1 + (bits >> 4) as u32 % 3),
        priority: Priority::default(),
        allocated: now,
    }
}

/// Two copies of a policy get the same requests; one may pass them through. Every decision must be the same.
fn compare(name: &str, kernel: Kernel) -> u32 {
    let entry = registry::find(name).unwrap();
    let mut long = entry.build(&Setup::new(kernel)).unwrap();
    let mut short = long.clone();
    let (mut state, mut now, mut passed) = (7u64, Nanos::ZERO, 0);
    let mut free: Vec<u32> = (0..64).rev().collect();
    for _ in 0..20_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let bits = state >> 16;
        now += Nanos(bits % 40_000_000);
        if bits % 5 < 3 && !free.is_empty() {
            let new = request(free.pop().unwrap(), bits >> 3, now);
            if short.waiting() == 0 && short.pass(now, &new) {
                passed += 1;
                long.insert(now, &new);
                assert_eq!(
                    long.dispatch(now),
                    Some(new.id),
                    "{name} would not have let {new:?} pass"
                );
                free.push(new.id.0);
            } else {
                long.insert(now, &new);
                short.insert(now, &new);
            }
        } else {
            let (a, b) = (long.dispatch(now), short.dispatch(now));
            assert_eq!(a, b, "{name} at {} ns", now.0);
            free.extend(a.map(|id| id.0));
        }
    }
    passed
}

#[test]
fn a_request_that_passes_leaves_the_policy_as_insert_and_dispatch_do() {
    for (name, kernel) in [
        ("noop", Kernel::new(2, 6, 32, 1000)),
        ("deadline", Kernel::new(2, 6, 23, 250)),
        ("deadline", Kernel::new(2, 6, 24, 250)),
        ("deadline", Kernel::new(2, 6, 32, 1000)),
        ("deadline", Kernel::new(4, 4, 0, 1000)),
    ] {
        let passed = compare(name, kernel);
        assert!(
            passed > 500,
            "{name} {kernel} let only {passed} requests pass"
        );
    }
}
