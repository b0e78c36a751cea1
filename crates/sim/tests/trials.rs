//! Whole trials: hand-computed times, invariants, repeatability, refusals.

use seekwise_sim::spec::TrialSpec;
use serde_json::{json, Value};

fn run(spec: Value) -> Value {
    let spec: TrialSpec = serde_json::from_value(spec).unwrap();
    seekwise_sim::trial::run(&spec).unwrap()
}

fn refused(spec: Value) -> String {
    let spec: TrialSpec = serde_json::from_value(spec).unwrap();
    seekwise_sim::trial::run(&spec).unwrap_err()
}

/// A drive that takes 5 ms, a host that costs nothing, one job.
fn trial(scheduler: &str, job: Value) -> Value {
    json!({
        "seed": 1,
        "device": {"model": "null", "parameters": {"latency_us": 5000, "queue_depth": 1, "capacity_sectors": 1_953_525_168u64}},
        "queue": {"scheduler": scheduler, "kernel": "2.6.32"},
        "host": {"user_ns": 0, "submit_ns": 0, "interrupt_ns": 0, "wake_ns": 0, "scheduler_ns": 0},
        "phases": [{"operation": "rand_read", "jobs": [job]}],
    })
}

fn random_reads(threads: u32, ios: u64) -> Value {
    json!({"threads": threads, "pattern": "random", "block_bytes": 4096, "ios": ios})
}

#[test]
fn one_thread_on_a_drive_of_5_ms_does_200_a_second() {
    let result = run(trial("noop", random_reads(1, 200)));
    let phase = &result["phases"][0];
    assert_eq!(phase["elapsed_ns"], 1_000_000_000u64);
    assert_eq!(phase["device_busy_ns"], 1_000_000_000u64);
    assert_eq!(phase["bytes"], 200 * 4096);
    assert_eq!(phase["device_bytes"], 200 * 4096);
    assert_eq!(phase["latency_max_ns"], 5_000_000);
}

#[test]
fn four_threads_share_a_drive_of_one_command() {
    let result = run(trial("noop", random_reads(4, 50)));
    let phase = &result["phases"][0];
    assert_eq!(phase["elapsed_ns"], 1_000_000_000u64);
    assert_eq!(phase["latency_max_ns"], 20_000_000);
}

#[test]
fn think_time_adds_to_every_cycle() {
    let mut job = random_reads(1, 100);
    job["think_ns"] = json!(5_000_000);
    let result = run(trial("deadline", job));
    // 100 cycles of 5 + 5 ms; nothing is thought after the last.
    assert_eq!(result["phases"][0]["elapsed_ns"], 995_000_000u64);
}

#[test]
fn host_cost_delays_the_next_request() {
    let mut spec = trial("noop", random_reads(1, 10));
    spec["host"] = json!({"user_ns": 1000, "submit_ns": 2000, "interrupt_ns": 3000, "wake_ns": 4000, "scheduler_ns": 0});
    let result = run(spec);
    assert_eq!(result["phases"][0]["elapsed_ns"], 10 * 5_010_000);
    assert_eq!(result["phases"][0]["cpu"]["user_s"], 10e-6);
}

#[test]
fn open_loop_keeps_its_rate_and_counts_the_wait_from_the_timetable() {
    let mut job = random_reads(1, 10);
    job["rate_iops"] = json!(400.0);
    let result = run(trial("noop", job));
    // A request every 2.5 ms on a drive of 5 ms: the k-th waits k * 2.5 ms more.
    assert_eq!(result["phases"][0]["elapsed_ns"], 50_000_000);
    assert_eq!(
        result["phases"][0]["latency_max_ns"],
        5_000_000 + 9 * 2_500_000
    );
}

#[test]
fn large_operations_are_split_at_max_sectors() {
    let mut spec = trial(
        "noop",
        json!({"pattern": "sequential", "block_bytes": 1 << 20, "ios": 4}),
    );
    spec["queue"]["max_sectors_kb"] = json!(256);
    let result = run(spec);
    assert_eq!(result["phases"][0]["ios"], 4);
    assert_eq!(result["phases"][0]["bytes"], 4 << 20);
    assert_eq!(result["phases"][0]["elapsed_ns"], 4 * 4 * 5_000_000);
}

#[test]
fn the_same_spec_gives_the_same_bytes_and_another_seed_does_not() {
    let spec = |seed: u64| {
        let mut s = trial("deadline", random_reads(8, 500));
        s["device"] = json!({"model": "wd2500ys"});
        s["seed"] = json!(seed);
        s["trace_events_max"] = json!(1000);
        s
    };
    let text = |seed| run(spec(seed)).to_string();
    assert_eq!(text(5), text(5));
    assert_ne!(text(5), text(6));
}

#[test]
fn absurd_parameters_are_refused_by_name_and_unit() {
    let with = |path: &[&str], value: Value| {
        let mut spec = trial("deadline", random_reads(1, 1));
        let mut at = &mut spec;
        for key in &path[..path.len() - 1] {
            at = match key.parse::<usize>() {
                Ok(i) => &mut at[i],
                Err(_) => &mut at[*key],
            };
        }
        at[path[path.len() - 1]] = value;
        refused(spec)
    };
    assert_eq!(
        with(&["phases", "0", "jobs", "0", "block_bytes"], json!(1000)),
        "phase 0: job 0: block_bytes is 1000 bytes, not a multiple of 512 bytes"
    );
    assert_eq!(
        with(&["phases", "0", "jobs", "0", "read_percent"], json!(140.0)),
        "phase 0: job 0: read_percent is 140 %, outside 0 to 100 %"
    );
    assert_eq!(
        with(&["queue", "nr_requests"], json!(0)),
        "nr_requests is 0 requests, outside 4 to 65536 requests"
    );
    assert_eq!(
        with(&["device", "depth"], json!(99)),
        "device depth is 99 commands, outside 1 to 1 commands"
    );
    assert_eq!(
        with(&["queue", "tunables"], json!({"read_expire": -1})),
        "deadline read_expire is -1 ms, outside 0 to 3600000 ms"
    );
    assert!(with(&["queue", "scheduler"], json!("elevator"))
        .starts_with("there is no scheduler \"elevator\""));
    assert!(with(&["phases", "0", "jobs", "0", "direct"], json!(false)).contains("direct is false"));
}
