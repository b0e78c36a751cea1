//! Whole runs of recorded lists: queue, policy, drive and processes on their own give the order that the kernel gave.

use std::path::PathBuf;

fn run(names: &[&str]) -> serde_json::Value {
    let vectors = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors");
    let paths: Vec<PathBuf> = names.iter().map(|name| vectors.join(name)).collect();
    seekwise_validate::whole::verify(&paths)
}

fn groups(outcome: &serde_json::Value) -> &Vec<serde_json::Value> {
    outcome["groups"]
        .as_array()
        .expect("a row per policy and kernel")
}

/// Each of these files is counted, and right by this measure.
#[track_caller]
fn every_file_is(measure: &str, names: &[&str]) {
    let outcome = run(names);
    let count = |key: &str| -> u64 {
        let rows = groups(&outcome).iter();
        rows.map(|row| row[key].as_u64().expect("a count")).sum()
    };
    let files = names.len() as u64;
    assert_eq!(
        (count("files"), count(measure)),
        (files, files),
        "{outcome}"
    );
}

/// One request is taken ahead by a kernel thread that a completion wakes: who inserts before that thread runs is seen by the choice.
#[test]
fn mq_deadline_gives_every_recorded_order_on_three_kernels() {
    let outcome = run(&[
        "mq-deadline",
        "mq-deadline-qd16",
        "other-kernels/5.10/mq-deadline",
        "other-kernels/5.10/mq-deadline-qd16",
        "other-kernels/6.12/mq-deadline",
        "other-kernels/6.12/mq-deadline-qd16",
    ]);
    let rows = groups(&outcome);
    assert_eq!(rows.len(), 3);
    for row in rows {
        assert_eq!(row["files"], 6, "{row}");
        assert_eq!(row["order_same"], 6, "{row}");
    }
}

/// Two processes that are ready together run in the order of the fair scheduler, not in the order of their completions.
#[test]
fn two_readers_whose_requests_end_together_go_on_in_the_recorded_order() {
    every_file_is(
        "order_same",
        &[
            "noop/2.6.32.69__longthink_a__fixed32.csv",
            "noop/4.4.178__seq2_awburst_a__fixed32.csv",
            "deadline/2.6.32.69-hz250__seqthink_rand_a__fixed32.csv",
        ],
    );
}

/// null_blk on the single queue restarts a stopped queue in a kernel thread, which takes the processor from a burst of calls.
#[test]
fn a_completion_amid_a_burst_starts_the_next_request_before_the_burst_is_over() {
    every_file_is(
        "order_same",
        &[
            "deadline/4.4.178__seq2_awburst_a__nullblk1rot0.csv",
            "deadline/4.4.178__wstarve_a__nullblk1rot1.csv",
        ],
    );
}

/// Interrupts wait for the switch of threads, and who is woken takes the processor from a program that has had a millisecond more.
#[test]
fn completions_and_sleepers_within_microseconds_go_on_in_the_recorded_order() {
    every_file_is(
        "order_same",
        &[
            "noop/2.6.32.69-hz250__seqthink_rand_a__fixed32.csv",
            "noop/2.6.32.69__seqthink_rand_a__fixed32.csv",
            "noop/2.6.32.69-hz250__wstarve_a__fixed32.csv",
            "deadline/2.6.32.69__rand4_a__fixed32.csv",
            "deadline/2.6.32.69-hz250__wstarve_a__fixed32.csv",
        ],
    );
}

/// Whom a completion wakes, the ticks it slept over and the end of a slot are paid before the next command starts: without them a run of bfq
/// is off by some microseconds where two events stand nearer than that.
#[test]
fn bfq_gives_the_recorded_order_of_random_reads() {
    every_file_is(
        "order_same",
        &[
            "bfq/rand4.csv",
            "bfq-qd16/rand4.csv",
            "other-kernels/5.10/bfq/rand4.csv",
            "other-kernels/6.12/bfq/rand4.csv",
            "other-kernels/6.12/bfq-qd16/rand4.csv",
        ],
    );
}

/// Two writers that are both behind take turns: each goes through a sleep that is over already.
#[test]
fn late_writers_take_turns() {
    every_file_is(
        "ends_within",
        &["bfq-qd16/mixed.csv", "6.1-second-sample/bfq-qd16/mixed.csv"],
    );
}
