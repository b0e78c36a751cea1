//! Hand-made programs on a drive that takes 1 ms for anything, whose times are known by thought. Pages cost the processor some µs besides.

use seekwise_sim::spec::TrialSpec;
use seekwise_sim::trial;
use serde_json::{json, Value};

const MS: u64 = 1_000_000;
const READ: u64 = 0;
const FAULT: u64 = 1;
const WRITE: u64 = 2;
const SYNC: u64 = 3;
const FORGET: u64 = 4;
const DIRECT_READ: u64 = 6;
const LOCK: u64 = 8;
const UNLOCK: u64 = 9;
const SLEEP: u64 = 10;
const BEGIN: [u64; 5] = [11, 0, 0, 0, 0];
const END: [u64; 5] = [12, 0, 4096, 0, 0];

/// Calls of file 0, on a drive of 1 ms; each recording is a program of job 0, the first `foreground` of them in the foreground.
fn play_several(
    recordings: &[Vec<[u64; 5]>],
    foreground: usize,
    runtime: u64,
    patience: u64,
) -> Result<Value, String> {
    play_under("none", recordings, foreground, runtime, patience)
}

fn play_under(
    scheduler: &str,
    recordings: &[Vec<[u64; 5]>],
    foreground: usize,
    runtime: u64,
    patience: u64,
) -> Result<Value, String> {
    let programs: Vec<Value> = (0..recordings.len())
        .map(|number| {
            let place = 10_000 * (number as u64 + 1);
            json!({"job": 0, "recording": number, "files": [[place, 4096]], "foreground": number < foreground})
        })
        .collect();
    let spec = json!({
        "seed": 1,
        "device": {"model": "null", "parameters": {"latency_us": 1000.0}},
        "queue": {"scheduler": scheduler, "kernel": "6.1"},
        "cache": {"limit_bytes": 64 << 20},
        "host": {"processors": 2},
        "phases": [{"operation": "mixed", "runtime_ns": runtime, "programs": {
            "jobs": ["job"], "recordings": recordings, "programs": programs, "journal": [0, 1024], "patience_ns": patience,
        }}],
    });
    let spec: TrialSpec = serde_json::from_value(spec).unwrap();
    Ok(trial::run(&spec)?["phases"][0].clone())
}

/// Lengths of the units in tenths of a ms; None of one that was not done.
fn units(phase: &Value) -> Vec<Option<u64>> {
    let packed = phase["jobs"][0]["units"].as_str().unwrap();
    // Sixteen digits a number, lowest byte first.
    let number = |at: usize| u64::from_str_radix(&packed[at..at + 16], 16).map(u64::swap_bytes);
    let unit = |at| (number(at + 32).unwrap(), number(at + 48).unwrap());
    let units = (0..packed.len()).step_by(64).map(unit);
    units
        .map(|(length, bytes)| (bytes != u64::MAX).then_some((length + MS / 20) / (MS / 10)))
        .collect()
}

fn play(calls: &[[u64; 5]], runtime_ms: u64) -> Vec<Option<u64>> {
    units(&play_several(&[calls.to_vec()], 1, runtime_ms * MS, 100 * MS).unwrap())
}

#[test]
fn a_unit_takes_its_reads_and_its_computing_and_the_second_finds_the_pages() {
    let unit = [
        BEGIN,
        [READ, 0, 0, 4, 2 * MS],
        [READ, 0, 2000, 1, 3 * MS],
        END,
    ];
    assert_eq!(play(&unit, 8), [Some(70), Some(50)]);
    let cold = [&[[FORGET, 0, 0, 0, 0]][..], &unit[..]].concat();
    assert_eq!(play(&cold, 8), [Some(70), Some(70)]);
}

#[test]
fn pages_around_a_fault_come_with_it() {
    // 32 pages from 84 on: 90 and 115 lie among them, 116 does not.
    let unit = |page| [BEGIN, [FAULT, 0, 100, 1, 0], [FAULT, 0, page, 1, 0], END];
    assert_eq!(play(&unit(115), 1), [Some(10)]);
    assert_eq!(play(&unit(90), 1), [Some(10)]);
    assert_eq!(play(&unit(116), 1), [Some(20)]);
}

#[test]
fn fsync_waits_for_the_pages_the_commit_and_the_flushes() {
    let unit = |blocks| [BEGIN, [WRITE, 0, 0, 2, 0], [SYNC, 0, 0, blocks, 0], END];
    // The pages and a flush; the pages, the log's blocks, a flush, the commit block, a flush.
    assert_eq!(play(&unit(0), 1), [Some(20)]);
    assert_eq!(play(&unit(8), 1), [Some(50)]);
    let written = [BEGIN, [WRITE, 0, 0, 2, MS], END];
    assert_eq!(play(&written, 1), [Some(10)]);
}

#[test]
fn what_was_begun_to_be_written_is_not_waited_for_again() {
    let unit = |pages| {
        let begun = [FORGET, 0, 0, pages, 0];
        [
            BEGIN,
            [WRITE, 0, 0, 2, 0],
            begun,
            [SYNC, 0, 0, 0, 5 * MS],
            END,
        ]
    };
    // A file that leaves the cache keeps what is dirty, so it is written and flushed later; what was begun is only flushed.
    assert_eq!(play(&unit(0), 1), [Some(70)]);
    assert_eq!(play(&unit(2), 1), [Some(60)]);
}

#[test]
fn commits_that_come_while_one_runs_share_the_next() {
    let unit = |wait| {
        vec![
            [SLEEP, 0, 0, 0, wait],
            BEGIN,
            [WRITE, 0, 0, 1, 0],
            [SYNC, 0, 0, 8, 0],
            END,
        ]
    };
    let phase = play_several(&[unit(1), unit(MS / 2), unit(MS)], 3, 2 * MS, 100 * MS).unwrap();
    // The first commits from 1 to 5 ms; the others from then on, together, to 9 ms.
    assert_eq!(units(&phase)[..3], [Some(50), Some(85), Some(80)]);
}

#[test]
fn who_does_not_get_a_lock_asks_again_after_a_pause() {
    let waits = |pause| {
        let unit = vec![
            BEGIN,
            [LOCK, 7, 0, pause, 0],
            [DIRECT_READ, 0, 0, 8, 3 * MS],
            [UNLOCK, 7, 0, 0, 0],
            END,
        ];
        let late = [&[[SLEEP, 0, 0, 0, MS]][..], &unit[..]].concat();
        units(&play_several(&[unit, late], 2, 2 * MS, 100 * MS).unwrap())
    };
    // In vain at 1, 2, 4: pauses of 1, 2 and 5 ms. Got at 9 ms, done 4 ms later.
    assert_eq!(waits(0), [Some(40), Some(120)]);
    // Free from 4 ms on, and asked for again within 1.5 ms.
    let found = waits(MS);
    assert_eq!(found[0], Some(40));
    assert!((70..=86).contains(&found[1].unwrap()), "{found:?}");
}

#[test]
fn a_process_that_is_started_does_the_calls_until_it_ends() {
    let (fork, exit) = ([13, 0, 0, 0, 0], [14, 0, 0, 0, 0]);
    let unit = vec![
        BEGIN,
        fork,
        [READ, 0, 0, 4, MS],
        fork,
        [READ, 0, 2000, 1, MS],
        exit,
        [WRITE, 0, 0, 1, MS],
        [SYNC, 0, 0, 0, 0],
        END,
    ];
    let unit_under = |scheduler| {
        let phase = play_under(scheduler, std::slice::from_ref(&unit), 1, MS, 100 * MS).unwrap();
        assert_eq!(phase["threads"][0]["process"], json!(1));
        units(&phase)[0].unwrap()
    };
    assert_eq!(unit_under("none"), 70);
    // bfq waits a while for the next request of the process that it served last.
    assert!((70..400).contains(&unit_under("bfq")));
}

#[test]
fn the_foreground_ends_with_a_unit_and_what_outlasts_patience_is_told() {
    let unit = vec![BEGIN, [READ, 0, 0, 1, 7 * MS], END];
    let found = units(&play_several(std::slice::from_ref(&unit), 1, 10 * MS, 100 * MS).unwrap());
    assert_eq!(found, [Some(80), Some(70)]);
    let found = units(&play_several(&[unit], 1, 10 * MS, 2 * MS).unwrap());
    assert_eq!(found, [Some(80), None]);
}

#[test]
fn dirty_pages_reach_the_drive_without_fsync() {
    let writer = vec![BEGIN, [WRITE, 0, 0, 4096, MS], END];
    let phase = play_several(&[writer], 1, 40_000 * MS, 0).unwrap();
    assert!(phase["device_bytes"].as_u64().unwrap() >= 4096 * 4096);
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |calls: &[[u64; 5]]| play_several(&[calls.to_vec()], 1, MS, 0).unwrap_err();
    assert!(refused(&[BEGIN]).contains("no whole unit"));
    assert!(refused(&[BEGIN, BEGIN, END]).contains("within another"));
    assert!(refused(&[BEGIN, [READ, 0, 4096, 1, 0], END]).contains("beyond its files"));
    assert!(refused(&[BEGIN, [READ, 1, 0, 1, 0], END]).contains("beyond its files"));
    assert!(refused(&[BEGIN, [99, 0, 0, 0, 0], END]).contains("which is none"));
    let none = play_several(&[vec![BEGIN, END]], 0, MS, 0).unwrap_err();
    assert!(none.contains("foreground"));
}
