//! Closed-loop replay of recorded runs by the simulator's own engine.

use serde_json::Value;
use std::path::PathBuf;

fn run(names: &[&str]) -> Value {
    let vectors = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../tests/vectors");
    let paths: Vec<PathBuf> = names.iter().map(|name| vectors.join(name)).collect();
    seekwise_validate::closed_loop::verify(&paths)
}

/// Recorded for single decisions, with settings turned to their ends: what of them a closed loop meets is on its page, and nothing is required.
const DECISIONS_ALONE: &str = "bfq-kinds";
/// What processes asked for: it lies next to the recordings.
const ASKED: [&str; 2] = ["lists", "requests"];

/// All recordings that were made to be replayed in a closed loop.
fn recordings() -> Value {
    let vectors = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../tests/vectors");
    let entries = std::fs::read_dir(vectors).expect("the recordings");
    let names: Vec<String> = entries
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().expect("a name in UTF-8"))
        .filter(|name| name != DECISIONS_ALONE && !ASKED.contains(&name.as_str()))
        .collect();
    run(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// (files, same order, ends within 5 %), over all kernels.
fn counts(scheduler: &str) -> (u64, u64, u64) {
    let outcome = recordings();
    let rows = outcome["groups"]
        .as_array()
        .expect("a row per scheduler and kernel");
    let sum = |key: &str| -> u64 {
        let of_scheduler = rows.iter().filter(|row| row["scheduler"] == scheduler);
        of_scheduler
            .map(|row| row[key].as_u64().expect("a count"))
            .sum()
    };
    (sum("files"), sum("order_same"), sum("ends_within"))
}

#[test]
fn every_process_ends_as_recorded_where_the_order_does_not_hang_on_microseconds() {
    for (scheduler, files, same_order) in [
        ("noop", 228, 195),
        ("deadline", 228, 180),
        ("mq-deadline", 18, 10),
        ("kyber", 21, 18),
    ] {
        let (found, same, within) = counts(scheduler);
        assert_eq!((found, within), (files, files), "{scheduler}");
        assert!(same >= same_order, "{scheduler}: same order in {same}");
    }
}

#[test]
fn all_recordings_meet_the_required_shares_and_the_total_time() {
    let outcome = recordings();
    assert_eq!(outcome["errors"], 0);
    for row in outcome["groups"].as_array().unwrap() {
        assert_eq!(row["met"], true, "{row}");
    }
    assert_eq!(outcome["met"], true);
}

#[test]
fn a_file_that_is_no_recording_is_an_error_and_nothing_is_met() {
    let outcome = run(&["README.md"]);
    assert_eq!(
        (&outcome["errors"], &outcome["met"]),
        (&1.into(), &false.into())
    );
    assert!(outcome["files"][0]["error"].is_string());
}
