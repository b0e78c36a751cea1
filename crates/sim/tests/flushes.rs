//! Writes that ask the drive to flush.

use seekwise_sim::spec::TrialSpec;
use seekwise_sim::trial;
use serde_json::{json, Value};

/// Ten writes of a job on a drive that takes 1 ms for anything, whose host costs nothing.
fn phase(job: &Value, threads: u32) -> Value {
    let mut job = job.clone();
    job["pattern"] = json!("sequential");
    job["read_percent"] = json!(0);
    job["block_bytes"] = json!(4096);
    job["threads"] = json!(threads);
    job["ios"] = json!(10);
    let spec = json!({
        "seed": 1,
        "device": {"model": "null", "parameters": {"latency_us": 1000.0}},
        "queue": {"scheduler": "none", "kernel": "6.1"},
        "host": {"user_ns": 0, "submit_ns": 0, "interrupt_ns": 0, "wake_ns": 0, "scheduler_ns": 0},
        "phases": [{"operation": "mixed", "jobs": [job]}],
    });
    trial::run(&serde_json::from_value::<TrialSpec>(spec).unwrap()).unwrap()["phases"][0].clone()
}

#[test]
fn a_flush_is_part_of_a_write_or_a_call_behind_so_many() {
    let found = |every: u32, threads| {
        let phase = phase(&json!({"sync_every": every}), threads);
        let ms = |name: &str| phase[name].as_f64().unwrap() / 1e6;
        (ms("elapsed_ns"), ms("latency_mean_ns"))
    };
    assert_eq!(found(0, 1), (10.0, 1.0));
    assert_eq!(found(1, 1), (20.0, 2.0));
    assert_eq!(found(5, 1), (12.0, 1.0));
    // Those who ask at once: the first's flush runs, the others share the next.
    let (elapsed, latency) = found(1, 4);
    assert!(elapsed > 25.0 && latency > 2.5, "{elapsed} {latency}");
}

#[test]
fn sizes_add_up_to_what_was_asked_for() {
    let phase = phase(&json!({"sizes": [[4096, 50.0], [12288, 50.0]]}), 40);
    let mean = phase["bytes"].as_f64().unwrap() / phase["ios"].as_f64().unwrap();
    assert!((mean - 8192.0).abs() < 1000.0, "{mean}");
}
