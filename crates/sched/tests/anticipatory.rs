//! anticipatory by hand: one rule a test. The tick is 1 ms, antic_expire 6 ms.

use crate::common::{self, Harness};
use seekwise_sched::Scheduler;

const FAR: u64 = 500_000_000;

/// A reader (process 1) that comes back at once, ten times; then its request is with the device and process 2 waits far away.
fn settled(kernel: &str) -> Harness {
    let mut harness = Harness::new("anticipatory", kernel);
    for n in 0..10u64 {
        let at = n * 5;
        harness.at(at as f64).read(1, 1000 + n * 8);
        assert_eq!(harness.next(), Some(1000 + n * 8));
        harness.at(at as f64 + 4.5).done(1000 + n * 8);
    }
    harness.at(50.0).read(1, 1080);
    assert_eq!(harness.next(), Some(1080));
    harness.read(2, FAR);
    harness
}

#[test]
fn the_device_is_left_idle_for_the_process_just_served() {
    let mut harness = settled("2.6.32");
    assert_eq!(harness.next(), None, "its request has not completed");
    harness.at(54.0).done(1080);
    assert_eq!(harness.next(), None, "its next one may come");
    harness.at(56.0).read(1, 1088);
    assert_eq!(
        harness.next(),
        Some(1088),
        "it came, and is served before the older one far away"
    );
}

#[test]
fn the_wait_ends_antic_expire_after_the_completion() {
    let mut harness = settled("2.6.32");
    assert_eq!(harness.next(), None);
    harness.at(54.0).done(1080);
    assert_eq!(
        harness.policy.timer(),
        Some(seekwise_units::Nanos::from_millis(60))
    );
    harness.at(59.9);
    assert_eq!(harness.next(), None);
    harness.at(60.0);
    assert_eq!(harness.next(), Some(FAR));
}

#[test]
fn a_tick_of_4_ms_leaves_a_wait_of_one_tick() {
    let mut harness = settled("2.6.24-hz250");
    assert_eq!(harness.next(), None);
    harness.at(53.0).done(1080);
    harness.next();
    assert_eq!(
        harness.policy.timer(),
        Some(seekwise_units::Nanos::from_millis(56))
    );
}

#[test]
fn a_request_close_to_the_last_one_need_not_wait() {
    let mut harness = settled("2.6.32");
    assert_eq!(harness.next(), None);
    harness.at(54.0).done(1080);
    assert_eq!(harness.next(), None);
    harness.read(3, 1088 + 8000); // Within 4 MiB ahead.
    assert_eq!(harness.next(), Some(9088));
}

#[test]
fn what_is_close_widens_with_the_wait() {
    let mut harness = settled("2.6.32");
    harness.next();
    harness.at(54.0).done(1080);
    harness.next();
    harness.at(56.0).read(3, 1088 + 30_000); // 8192 sectors, doubled for each of two ticks: 32,768.
    assert_eq!(harness.next(), Some(31_088));
    let mut harness = settled("2.6.32");
    harness.next();
    harness.at(54.0).done(1080);
    harness.next();
    harness.at(55.0).read(3, 1088 + 30_000); // One tick: 16,384.
    assert_eq!(harness.next(), None);
}

#[test]
fn a_process_that_thinks_longer_than_the_wait_is_not_waited_for() {
    let mut harness = Harness::new("anticipatory", "2.6.32");
    let mut at = 0.0;
    for n in 0..10 {
        harness.at(at).read(1, 1000 + n * 8);
        harness.next();
        harness.at(at + 4.5).done(1000 + n * 8);
        at += 20.0;
    }
    harness.at(at).read(1, 2000);
    assert_eq!(harness.next(), Some(2000));
    harness.read(2, FAR);
    assert_eq!(harness.next(), Some(FAR));
}

#[test]
fn a_process_with_more_requests_queued_is_not_waited_for() {
    let mut harness = settled("2.6.32");
    harness.read(1, FAR + 1000);
    // The best next request may be another process's: with one of its own queued there is nothing to wait for.
    assert!(harness.next().is_some());
}

#[test]
fn async_requests_drain_the_device_before_their_batch_begins() {
    let mut harness = settled("2.6.32");
    harness.next();
    harness.write(3, 77);
    // The sync batch ends half a second after its first completion.
    harness.at(54.0).done(1080);
    harness.at(600.0);
    assert_eq!(
        harness.next(),
        Some(77),
        "nothing outstanding: the batch of writes begins at once"
    );
    harness.read(1, 1088);
    harness.write(3, 177);
    assert_eq!(harness.next(), Some(177));
    assert_eq!(harness.waiting(), 2);
}

#[test]
fn a_batch_of_writes_ends_with_its_budget_and_adapts_it() {
    let mut harness = Harness::with(
        "anticipatory",
        common::setup("2.6.32"),
        &[("write_batch_expire", 125)],
    );
    for n in 0..40 {
        harness.write(1, 1000 + n * 100);
    }
    harness.read(2, FAR);
    let mut first = 0;
    // The kernel begins with an async batch without a budget, so reads come first.
    assert_eq!(harness.next(), Some(FAR));
    harness.at(4.0).done(FAR);
    harness.at(11.0); // The wait has ended.
    harness.at(600.0).read(2, FAR + 8);
    while let Some(sector) = harness.next() {
        if sector >= FAR {
            break;
        }
        first += 1;
        harness.at(harness.now.as_millis_f64() + 1.0).done(sector);
    }
    // 12 to begin with (125 ms at 1000 Hz over 10); halved, as the policy had stood idle long before the first read.
    assert_eq!(first, 6);
}

#[test]
fn a_front_merge_is_looked_up_in_the_class_that_bears_the_directions_number() {
    let mut harness = Harness::new("anticipatory", "2.6.32");
    let read = harness.read(1, 1000);
    let sync_write = harness.sync_write(1, 5000);
    let bio = |id| seekwise_sched::Request {
        start: seekwise_units::Lba(if id == read { 992 } else { 4992 }),
        ..*harness.request(id)
    };
    assert_eq!(
        harness.policy.front_merge_candidate(&bio(read)),
        None,
        "reads are sought among async requests"
    );
    assert_eq!(
        harness.policy.front_merge_candidate(&bio(sync_write)),
        Some(sync_write)
    );
}

#[test]
fn processes_that_end_alone_are_not_waited_for_in_the_end() {
    // Short-lived processes: each reads once and ends; nobody comes near.
    let mut harness = Harness::new("anticipatory", "2.6.32");
    let mut waits = 0;
    harness.read(1, 10_000_000);
    for process in 1..14u32 {
        let mine = process as u64 * 10_000_000;
        assert_eq!(harness.next(), Some(mine));
        harness.read(process + 1, mine + 10_000_000);
        let start = harness.now.as_millis_f64();
        harness.at(start + 2.0).done(mine);
        harness.exits(process);
        if harness.next().is_some() {
            break;
        }
        waits += 1;
        harness.at(start + 12.0);
    }
    assert!((4..8).contains(&waits), "waited {waits} times");
}
