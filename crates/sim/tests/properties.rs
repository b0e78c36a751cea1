//! What holds in every run, whatever the scheduler, the drive and the load: counts, bytes, busy time, waiting, symmetry, no panic.

use proptest::prelude::*;
use seekwise_sim::spec::TrialSpec;
use serde_json::{json, Value};

const SCHEDULERS: [(&str, &str); 10] = [
    ("noop", "2.6.32"),
    ("deadline", "2.6.24"),
    ("deadline", "4.4"),
    ("anticipatory", "2.6.32"),
    ("cfq", "2.6.24"),
    ("cfq", "4.4"),
    ("none", "6.1"),
    ("mq-deadline", "6.12"),
    ("kyber", "6.1"),
    ("bfq", "6.1"),
];

fn run(spec: &Value) -> Result<Value, String> {
    let spec: TrialSpec = serde_json::from_value(spec.clone()).map_err(|e| e.to_string())?;
    seekwise_sim::trial::run(&spec)
}

fn drive(choice: u8) -> Value {
    match choice % 4 {
        0 => json!({"model": "null", "parameters": {"queue_depth": 4, "latency_us": 2000}}),
        1 => json!({"model": "samsung_850_evo"}),
        2 => json!({"model": "wd2500ys"}),
        _ => json!({"model": "null", "parameters": {"latency_us": 50}}),
    }
}

prop_compose! {
    fn jobs()(
        threads in 1u32..6,
        depth in 1u32..5,
        pattern in 0u8..2,
        read_percent in prop::sample::select(vec![0.0, 30.0, 100.0]),
        block in prop::sample::select(vec![512u64, 4096, 65_536, 1_048_576]),
        think in prop::sample::select(vec![0u64, 1_000, 9_000_000]),
        open in any::<bool>(),
        class in 0u8..4,
        level in 0u8..8,
        ios in 1u64..40,
    ) -> Value {
        let pattern_name = ["sequential", "random"][pattern as usize];
        let class_name = ["none", "realtime", "best_effort", "idle"][class as usize];
        let mut job = json!({
            "threads": threads, "depth": depth, "block_bytes": block, "ios": ios, "think_ns": think,
            "pattern": pattern_name, "read_percent": read_percent,
            "class": class_name, "level": level,
            "stagger_ns": 1_000,
        });
        if open {
            job["rate_iops"] = json!(300.0);
            job["poisson"] = json!(true);
        }
        job
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_operation_completes_once_and_its_bytes_move(
        scheduler in 0usize..SCHEDULERS.len(),
        choice in any::<u8>(),
        jobs in prop::collection::vec(jobs(), 1..4),
        seed in any::<u32>(),
    ) {
        let (name, kernel) = SCHEDULERS[scheduler];
        let asked: u64 = jobs.iter().map(|j| j["threads"].as_u64().unwrap() * j["ios"].as_u64().unwrap()).sum();
        let bytes: u64 = jobs
            .iter()
            .map(|j| j["threads"].as_u64().unwrap() * j["ios"].as_u64().unwrap() * j["block_bytes"].as_u64().unwrap())
            .sum();
        let spec = json!({
            "seed": seed, "device": drive(choice), "queue": {"scheduler": name, "kernel": kernel},
            "phases": [{"operation": "mixed", "jobs": jobs}],
        });
        let result = run(&spec).unwrap();
        let phase = &result["phases"][0];
        prop_assert_eq!(phase["ios"].as_u64().unwrap(), asked);
        prop_assert_eq!(phase["bytes"].as_u64().unwrap(), bytes);
        prop_assert_eq!(phase["device_bytes"].as_u64().unwrap(), bytes, "bytes in are bytes out");
        prop_assert!(phase["device_busy_ns"].as_u64() <= phase["elapsed_ns"].as_u64());
        let counted: u64 = phase["latency_bins"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
        prop_assert_eq!(counted, asked);
        prop_assert_eq!(run(&spec).unwrap().to_string(), result.to_string(), "same spec, same bytes");
    }

    #[test]
    fn absurd_numbers_are_refused_or_run_but_never_panic(
        scheduler in 0usize..SCHEDULERS.len(),
        numbers in prop::collection::vec(prop::sample::select(vec![0u64, 1, 511, 512, 4096, 1 << 31, 1 << 40, u64::MAX]), 6),
        percent in prop::sample::select(vec![-1.0, 0.0, 100.0, 1e300, f64::MAX]),
    ) {
        let (name, kernel) = SCHEDULERS[scheduler];
        let spec = json!({
            "seed": numbers[0],
            "device": {"model": "null", "depth": numbers[1] & 0xffff_ffff, "parameters": {"latency_us": 10}},
            "queue": {"scheduler": name, "kernel": kernel, "nr_requests": numbers[2] & 0xffff_ffff},
            "phases": [{"operation": "mixed", "runtime_ns": 20_000, "jobs": [{
                "pattern": "random", "block_bytes": numbers[3], "region_start_bytes": numbers[4], "think_ns": numbers[5],
                "read_percent": percent, "ios": 5,
            }]}],
        });
        if let Err(sentence) = run(&spec) {
            prop_assert!(!sentence.is_empty() && !sentence.ends_with('.'), "{sentence}");
        }
    }
}

#[test]
fn equal_threads_get_equal_shares_from_fair_schedulers() {
    for (name, kernel) in [
        ("noop", "4.4"),
        ("deadline", "4.4"),
        ("cfq", "4.4"),
        ("mq-deadline", "6.1"),
    ] {
        let spec = json!({
            "seed": 3, "device": {"model": "wd2500ys"}, "queue": {"scheduler": name, "kernel": kernel},
            "phases": [{"operation": "rand_read", "runtime_ns": 20_000_000_000u64, "jobs": [
                {"pattern": "random", "block_bytes": 4096}, {"pattern": "random", "block_bytes": 4096},
                {"pattern": "random", "block_bytes": 4096}]}],
        });
        let result = run(&spec).unwrap();
        let ios: Vec<f64> = result["phases"][0]["jobs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|j| j["ios"].as_f64().unwrap())
            .collect();
        let mean = ios.iter().sum::<f64>() / 3.0;
        assert!(
            ios.iter().all(|n| (n / mean - 1.0).abs() < 0.1),
            "{name}: {ios:?}"
        );
    }
}

#[test]
fn swapping_two_equal_jobs_swaps_their_results_and_changes_nothing_else() {
    // Without chance (sequential streams in their own regions) the order in which equal jobs are listed must not matter.
    let job = |region: u64| json!({"pattern": "sequential", "block_bytes": 65536, "ios": 50, "region_start_bytes": region, "region_bytes": 1 << 30});
    let spec = |jobs: Value| {
        json!({
            "seed": 3, "device": {"model": "null", "parameters": {"latency_us": 5000}}, "queue": {"scheduler": "noop", "kernel": "4.4"},
            "phases": [{"operation": "seq_read", "jobs": jobs}],
        })
    };
    let ab = run(&spec(json!([job(0), job(1 << 36)]))).unwrap();
    let ba = run(&spec(json!([job(1 << 36), job(0)]))).unwrap();
    assert_eq!(ab["phases"][0]["elapsed_ns"], ba["phases"][0]["elapsed_ns"]);
    assert_eq!(
        ab["phases"][0]["latency_bins"],
        ba["phases"][0]["latency_bins"]
    );
}

#[test]
fn no_read_waits_much_beyond_the_expiry_time_of_deadline() {
    // 64 readers and a writer that never stops: a read older than 500 ms is taken at the next choice between batches of 16.
    let spec = json!({
        "seed": 3, "device": {"model": "wd2500ys", "depth": 1}, "queue": {"scheduler": "deadline", "kernel": "4.4"},
        "phases": [{"operation": "mixed", "runtime_ns": 30_000_000_000u64, "jobs": [
            {"name": "near", "pattern": "sequential", "block_bytes": 4096, "threads": 8, "depth": 4,
             "region_bytes": 1 << 26, "think_ns": 0},
            {"name": "far", "pattern": "random", "block_bytes": 4096, "region_start_bytes": 200_000_000_000u64}]}],
    });
    let result = run(&spec).unwrap();
    let far = &result["phases"][0]["jobs"][1];
    assert!(far["ios"].as_u64().unwrap() > 10);
    // Expiry 500 ms, a batch of 16 at no more than 30 ms each, and the service of its own.
    assert!(
        far["latency_max_ns"].as_u64().unwrap() < 1_100_000_000,
        "{}",
        far["latency_max_ns"]
    );
}

#[test]
fn a_log_writer_of_the_realtime_class_is_served_before_a_web_server_by_cfq_but_not_by_deadline() {
    let mean = |scheduler: &str| {
        let spec = json!({
            "seed": 3, "device": {"model": "wd2500ys", "depth": 1}, "queue": {"scheduler": scheduler, "kernel": "4.4"},
            "phases": [{"operation": "mixed", "runtime_ns": 20_000_000_000u64, "jobs": [
                {"name": "log", "pattern": "random", "read_percent": 0.0, "block_bytes": 4096, "class": "realtime", "level": 0,
                 "think_ns": 20_000_000},
                {"name": "web", "pattern": "random", "block_bytes": 16384, "threads": 16}]}],
        });
        run(&spec).unwrap()["phases"][0]["jobs"][0]["latency_mean_ns"]
            .as_f64()
            .unwrap()
    };
    assert!(
        mean("cfq") * 2.0 < mean("deadline"),
        "cfq {} deadline {}",
        mean("cfq"),
        mean("deadline")
    );
}

#[test]
fn a_kept_trace_passes_every_stage_of_each_request_in_order() {
    let spec = json!({
        "seed": 3, "trace_events_max": 100_000,
        "device": {"model": "wd2500ys"}, "queue": {"scheduler": "cfq", "kernel": "2.6.32"},
        "phases": [{"operation": "rand_read", "jobs": [{"pattern": "random", "block_bytes": 4096, "threads": 4, "ios": 50}]}],
    });
    let result = run(&spec).unwrap();
    let mut stage = std::collections::BTreeMap::new();
    for row in result["trace"]["rows"].as_array().unwrap() {
        let at: &mut u32 = stage.entry(row[3].as_u64().unwrap()).or_default();
        let order = ["submit", "insert", "issue", "start", "complete"];
        let step = order.iter().position(|name| row[1] == *name).unwrap() as u32;
        assert_eq!(*at % 5, step, "{row}");
        *at += 1;
    }
    assert!(stage.values().all(|n| n % 5 == 0));
    assert_eq!(result["trace"]["head"].as_array().unwrap().len(), 200);
}
