//! deadline by hand: one rule a test.

use crate::common::{self, Harness};
use seekwise_sched::{Direction, Scheduler};

#[test]
fn a_batch_goes_on_in_sector_order_from_the_request_taken_last() {
    let mut harness = Harness::new("deadline", "4.4");
    for sector in [500, 900, 100, 700] {
        harness.read(1, sector);
    }
    // The oldest begins; at the end of the disk the oldest of what is left begins again.
    assert_eq!(harness.all(), [500, 700, 900, 100]);
}

#[test]
fn reads_are_preferred_twice_before_writes_get_a_batch() {
    let mut harness = Harness::with("deadline", common::setup("4.4"), &[("fifo_batch", 1)]);
    for n in 0..6 {
        harness.read(1, 1000 + n * 100);
    }
    harness.write(1, 10);
    harness.write(1, 20);
    assert_eq!(harness.all(), [1000, 1100, 10, 1200, 1300, 20, 1400, 1500]);
}

#[test]
fn a_batch_ends_after_fifo_batch_requests() {
    let mut harness = Harness::with(
        "deadline",
        common::setup("4.4"),
        &[("fifo_batch", 3), ("writes_starved", 0)],
    );
    for n in 0..5 {
        harness.read(1, 1000 + n * 100);
    }
    harness.write(1, 10);
    assert_eq!(harness.all(), [10, 1000, 1100, 1200, 1300, 1400]);
}

#[test]
fn an_expired_request_waits_for_the_end_of_the_batch() {
    let mut harness = Harness::with("deadline", common::setup("4.4"), &[("fifo_batch", 2)]);
    harness.read(1, 100);
    harness.at(1.0).read(1, 5000);
    for sector in [6000, 7000, 8000] {
        harness.read(1, sector);
    }
    harness.next(); // 100 begins the batch; 5000 is next in it.
    harness.at(600.0);
    assert_eq!(harness.next(), Some(5000));
    harness.read(1, 50);
    // A new batch: 6000 is both the sweep's next and the oldest.
    assert_eq!(harness.next(), Some(6000));
    assert_eq!(harness.next(), Some(7000));
    assert_eq!(harness.all(), [8000, 50]);
}

#[test]
fn the_oldest_is_taken_when_it_has_expired_and_the_sweep_goes_on_from_there() {
    let mut harness = Harness::with("deadline", common::setup("4.4"), &[("fifo_batch", 1)]);
    harness.read(1, 5000);
    harness.read(1, 100);
    assert_eq!(harness.next(), Some(5000));
    harness.at(200.0);
    for sector in [6000, 7000] {
        harness.read(1, sector);
    }
    // The sweep stands nowhere: it had reached the end of the disk.
    assert_eq!(harness.next(), Some(100));
    harness.read(1, 50);
    assert_eq!(harness.next(), Some(6000));
    harness.at(701.0);
    // 7000 would be next in the sweep and is the oldest as well; 50 comes after it.
    assert_eq!(harness.all(), [7000, 50]);
}

#[test]
fn a_request_expires_at_its_tick_and_before_3_16_one_tick_later() {
    for (kernel, at_500_ms) in [("2.6.32", 7000), ("4.4", 100)] {
        let mut harness = Harness::with("deadline", common::setup(kernel), &[("fifo_batch", 1)]);
        for sector in [5000, 100, 6000] {
            harness.read(1, sector);
        }
        assert_eq!(harness.next(), Some(5000));
        harness.at(1.0).read(1, 7000);
        assert_eq!(
            harness.next(),
            Some(6000),
            "100 is older but has not expired"
        );
        harness.at(500.0);
        assert_eq!(harness.next(), Some(at_500_ms), "{kernel}");
    }
}

#[test]
fn until_2_6_27_only_contiguous_requests_continue_a_batch() {
    // Reads far apart: every one is a new decision, so writes come after two reads in spite of fifo_batch 16.
    let mut harness = Harness::new("deadline", "2.6.24");
    for n in 0..4 {
        harness.read(1, 1000 + n * 100);
    }
    harness.write(1, 10);
    assert_eq!(harness.all(), [1000, 1100, 10, 1200, 1300]);
    // Contiguous ones stay together.
    let mut harness = Harness::new("deadline", "2.6.24");
    for n in 0..4 {
        harness.read(1, 1000 + n * 8);
    }
    harness.write(1, 10);
    assert_eq!(harness.all(), [1000, 1008, 1016, 1024, 10]);
    // From 2.6.28 on any request in sector order continues.
    let mut harness = Harness::new("deadline", "2.6.32");
    for n in 0..4 {
        harness.read(1, 1000 + n * 100);
    }
    harness.write(1, 10);
    assert_eq!(harness.all(), [1000, 1100, 1200, 1300, 10]);
}

#[test]
fn in_2_6_23_a_new_sweep_begins_at_the_lowest_sector() {
    for (kernel, order) in [("2.6.23", [100, 500, 900]), ("2.6.24", [500, 900, 100])] {
        let mut harness = Harness::new("deadline", kernel);
        for sector in [500, 900, 100] {
            harness.read(1, sector);
        }
        assert_eq!(harness.all(), order, "{kernel}");
    }
}

#[test]
fn before_3_3_the_older_of_two_at_one_sector_leaves_at_once() {
    let mut harness = Harness::new("deadline", "2.6.32");
    harness.read(1, 100);
    let older = harness.read(1, 700);
    let newer = harness.read(1, 700);
    assert_eq!(harness.policy.dispatch(harness.now), Some(older));
    assert!(harness
        .policy
        .may_merge(harness.request(newer), harness.request(older)));
    assert_eq!(harness.waiting(), 2);
    let mut harness = Harness::new("deadline", "4.4");
    harness.read(1, 100);
    harness.read(1, 700);
    harness.read(1, 700);
    assert_eq!(harness.all(), [100, 700, 700]);
}

#[test]
fn a_request_that_swallows_an_older_one_takes_its_place_in_arrival_and_its_expiry() {
    let mut harness = Harness::with("deadline", common::setup("4.4"), &[("fifo_batch", 1)]);
    let behind = harness.read(1, 5008);
    harness.at(400.0).read(1, 100);
    let front = harness.read(1, 5000);
    assert_eq!(harness.policy.neighbour_after(front), Some(behind));
    harness.grow(front, 5000, 16);
    harness.policy.joined(harness.now, front, behind);
    assert_eq!(harness.waiting(), 2);
    harness.at(450.0);
    // The oldest again, though 100 came before it.
    assert_eq!(harness.all(), [5000, 100]);
}

#[test]
fn a_front_merge_is_found_by_sector_unless_switched_off() {
    for (switch, found) in [(1, true), (0, false)] {
        let mut harness = Harness::with(
            "deadline",
            common::setup("4.4"),
            &[("front_merges", switch)],
        );
        let waiting = harness.read(1, 5000);
        let bio = seekwise_sched::Request {
            start: seekwise_units::Lba(4992),
            ..*harness.request(waiting)
        };
        assert_eq!(
            harness.policy.front_merge_candidate(&bio),
            found.then_some(waiting)
        );
        let write = seekwise_sched::Request {
            direction: Direction::Write,
            ..bio
        };
        assert_eq!(harness.policy.front_merge_candidate(&write), None);
    }
}

#[test]
fn a_front_merge_moves_the_request_in_sector_order_and_the_sweep_keeps_it() {
    let mut harness = Harness::new("deadline", "4.4");
    harness.read(1, 100);
    let second = harness.read(1, 300);
    harness.read(1, 200);
    assert_eq!(harness.next(), Some(100)); // Next is 200, then 300.
    assert_eq!(harness.next(), Some(200));
    harness.read(1, 296);
    harness.grow(second, 250, 58);
    assert_eq!(harness.all(), [250, 296]);
}
