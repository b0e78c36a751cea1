//! Trials whose drives hang on a RAID controller.

use seekwise_sim::spec::TrialSpec;
use seekwise_sim::trial;
use serde_json::{json, Value};

fn run(model: &str, level: &str, drives: u32, write: bool, kernel: &str) -> Result<Value, String> {
    let spec: TrialSpec = serde_json::from_value(json!({
        "seed": 3,
        "device": {
            "model": "st3250620ns",
            "controller": { "model": model, "level": level, "drives": drives },
        },
        "queue": { "scheduler": if kernel.starts_with('2') { "deadline" } else { "mq-deadline" }, "kernel": kernel },
        "phases": [{ "operation": "load", "jobs": [{
            "threads": 2, "pattern": "sequential", "read_percent": if write { 0.0 } else { 100.0 },
            "block_bytes": 65536, "ios": 200,
        }] }],
    }))
    .map_err(|error| error.to_string())?;
    trial::run(&spec)
}

#[test]
fn a_trial_has_a_controller_under_both_block_layers() {
    for kernel in ["2.6.24", "6.1"] {
        for write in [false, true] {
            let result = run("9650-4LP", "raid5", 3, write, kernel).unwrap();
            let phase = &result["phases"][0];
            assert_eq!(phase["bytes"], 2 * 200 * 65536, "{kernel}");
            assert_eq!(result["settings"]["queue_depth"], 254);
            assert_eq!(result["settings"]["max_sectors_kb"], 128);
        }
    }
}

#[test]
fn only_fake_raid_costs_processor_time_beside_the_requests() {
    let thread = |model: &str| {
        let result = run(model, "raid5", 3, true, "6.1").unwrap();
        result["phases"][0]["cpu"]["thread_s"].as_f64().unwrap()
    };
    assert_eq!(thread("9650-4LP"), 0.0);
    assert!(thread("fake") > 0.0);
}

#[test]
fn what_cannot_be_is_a_sentence() {
    for (model, level, drives) in [
        ("9999", "raid5", 3),
        ("9650-2LP", "raid5", 3),
        ("9650-4LP", "raid5", 2),
        ("9650-4LP", "raid50", 4),
    ] {
        let error = run(model, level, drives, false, "6.1").unwrap_err();
        assert!(!error.contains('\n') && !error.ends_with('.'), "{error}");
    }
}
