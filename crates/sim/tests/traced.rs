//! Hand-made loads on a drive that takes 1 ms for anything, a request at a time or several, whose times are known by thought.

use seekwise_sim::spec::traced::ROW_BYTES;
use seekwise_sim::spec::TrialSpec;
use seekwise_sim::task::traced::rows::{NO_PROGRAM, OPEN};
use seekwise_sim::trial;
use serde_json::{json, Value};
use std::io::Write;

const MS: u64 = 1_000_000;

#[derive(Clone, Copy)]
struct TraceRow {
    sector: u64,
    at: u64,
    gap: u64,
    own: u32,
    other: (u32, u32),
    kind: u8,
    flags: u8,
}

const READ: TraceRow = TraceRow {
    sector: 0,
    at: 0,
    gap: 0,
    own: NO_PROGRAM,
    other: (NO_PROGRAM, 0),
    kind: 0,
    flags: 0,
};

fn bytes(row: &TraceRow) -> Vec<u8> {
    let mut out = Vec::new();
    for wide in [row.sector, row.at, row.gap] {
        out.extend(wide.to_le_bytes());
    }
    let sectors = if row.kind == 2 { 0u32 } else { 8 };
    for narrow in [sectors, row.own, row.other.0, row.other.1] {
        out.extend(narrow.to_le_bytes());
    }
    out.extend([row.kind, row.flags, 0, 0, 0, 0, 0, 0]);
    assert_eq!(out.len(), ROW_BYTES);
    out
}

/// Plays programs over `null` drives of 1 ms, without any cost of the host.
fn play(programs: &[Vec<TraceRow>], array: Value, flushes: bool, open: bool) -> Value {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let mut specs = vec![];
    let mut first = 0;
    for (group, rows) in programs.iter().enumerate() {
        for row in rows {
            file.write_all(&bytes(row)).unwrap();
        }
        specs.push(json!({"group": group, "first": first, "rows": rows.len()}));
        first += rows.len();
    }
    let groups: Vec<String> = (0..programs.len()).map(|n| n.to_string()).collect();
    let spec = json!({
        "seed": 1,
        "device": {"model": "null", "parameters": {"latency_us": 1000.0}, "array": array},
        "queue": {"scheduler": "none", "kernel": "6.1"},
        "host": {"user_ns": 0, "submit_ns": 0, "interrupt_ns": 0, "wake_ns": 0, "scheduler_ns": 0},
        "phases": [{"operation": "mixed", "traced": {
            "path": file.path(), "groups": groups, "programs": specs, "open": open, "flushes": flushes,
        }}],
    });
    let spec: TrialSpec = serde_json::from_value(spec).unwrap();
    trial::run(&spec).unwrap()["phases"][0].clone()
}

fn ended(phase: &Value, group: usize) -> u64 {
    phase["threads"][group]["ended_ns"].as_u64().unwrap()
}

#[test]
fn a_reply_comes_its_think_time_after_the_request_it_waited_for() {
    let row = |at| TraceRow {
        at,
        gap: 2 * MS,
        own: 0,
        ..READ
    };
    // Recorded on a drive of 3 ms: sent at 0, 5, 10; here 1 ms and 2 ms of thought each.
    let phase = play(
        &[vec![row(0), row(5 * MS), row(10 * MS)]],
        Value::Null,
        false,
        false,
    );
    assert_eq!(ended(&phase, 0), 3 * MS + 2 * 2 * MS);
    assert_eq!(phase["latency_mean_ns"], json!(1e6));
}

#[test]
fn open_arrivals_and_open_replay_come_at_their_times() {
    let closed = |at| TraceRow { at, own: 0, ..READ };
    let open = |at| TraceRow {
        flags: OPEN,
        ..closed(at)
    };
    let phase = play(
        &[vec![open(0), open(5 * MS), open(10 * MS)]],
        Value::Null,
        false,
        false,
    );
    assert_eq!(ended(&phase, 0), 11 * MS);
    let phase = play(
        &[vec![closed(0), closed(5 * MS), closed(10 * MS)]],
        Value::Null,
        false,
        true,
    );
    assert_eq!(ended(&phase, 0), 11 * MS);
}

#[test]
fn a_program_with_two_slots_keeps_two_requests_under_way() {
    let row = |_| TraceRow { own: 1, ..READ };
    let phase = play(&[(0..8).map(row).collect()], Value::Null, false, false);
    assert_eq!(ended(&phase, 0), 4 * MS);
}

#[test]
fn a_program_waits_for_so_many_requests_of_another() {
    let database = vec![
        TraceRow { own: 0, ..READ },
        // The commit of the other is done.
        TraceRow {
            own: 0,
            gap: MS,
            other: (1, 1),
            at: 9 * MS,
            ..READ
        },
    ];
    let journal = vec![TraceRow {
        kind: 1,
        other: (0, 1),
        gap: MS / 2,
        at: 4 * MS,
        ..READ
    }];
    let phase = play(&[database, journal], Value::Null, false, false);
    assert_eq!(ended(&phase, 1), 2 * MS + MS / 2);
    assert_eq!(ended(&phase, 0), 2 * MS + MS / 2 + MS + MS);
}

#[test]
fn every_request_is_done_once_over_every_array() {
    let rows = |program: u64| -> Vec<TraceRow> {
        (0..200)
            .map(|number| TraceRow {
                sector: (number * 7919 + program * 104_729) % 100_000 * 8,
                kind: (number % 3 == 0) as u8,
                flags: if number % 20 == 0 { 8 | 4 | 1 } else { 1 },
                own: if program == 0 { 15 } else { 0 },
                ..READ
            })
            .collect()
    };
    for (level, members) in [
        ("raid0", 2),
        ("raid1", 2),
        ("raid5", 4),
        ("raid6", 5),
        ("raid10", 4),
    ] {
        let array = json!({"level": level, "members": members});
        let phase = play(&[rows(0), rows(1), rows(2)], array, true, false);
        assert_eq!(phase["ios"], json!(600), "{level}");
        assert_eq!(phase["bytes"], json!(600 * 4096), "{level}");
        let again = play(
            &[rows(0), rows(1), rows(2)],
            json!({"level": level, "members": members}),
            true,
            false,
        );
        assert_eq!(phase, again, "{level}");
    }
}

#[test]
fn flushes_wait_for_the_drive_and_share_one_that_has_not_begun() {
    let flush = TraceRow { kind: 2, ..READ };
    let phase = play(
        &[vec![flush], vec![flush], vec![flush]],
        Value::Null,
        true,
        false,
    );
    // The first runs alone; the other two share the next one.
    let one = ended(&phase, 0);
    assert_eq!(ended(&phase, 1), 2 * one);
    assert_eq!(ended(&phase, 2), 2 * one);
    assert_eq!(phase["ios"], json!(0));
}

#[test]
fn what_the_file_does_not_hold_is_refused() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&bytes(&READ)).unwrap();
    let refuse = |programs: Value, groups: Value| {
        let spec = json!({
            "seed": 1, "device": {"model": "null"}, "queue": {"scheduler": "none", "kernel": "6.1"},
            "phases": [{"operation": "mixed", "traced": {"path": file.path(), "groups": groups, "programs": programs}}],
        });
        trial::run(&serde_json::from_value::<TrialSpec>(spec).unwrap()).unwrap_err()
    };
    let one = |first: u64, rows: u64| json!([{"group": 0, "first": first, "rows": rows}]);
    assert!(refuse(one(0, 2), json!(["all"])).contains("outside its file"));
    assert!(refuse(one(u64::MAX, 2), json!(["all"])).contains("outside its file"));
    assert!(refuse(one(0, 1), json!([])).contains("in no group"));
    assert!(refuse(json!([]), json!(["all"])).contains("1 to"));
}
