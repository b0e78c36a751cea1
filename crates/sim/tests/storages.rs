//! Programs on regions of a whole storage: drives alone, under md, behind a controller.

use crate::short::run;
use serde_json::{json, Value};

fn spec(level: Option<&str>, drives: u32, write: bool) -> Value {
    let array = level.map(|level| {
        let chunk_kib = (level != "raid1").then_some(32);
        json!({"level": level, "members": drives, "chunk_kib": chunk_kib})
    });
    json!({
        "seed": 1,
        "device": {"model": "samsung_850_evo", "array": array},
        "queue": {"scheduler": "deadline", "kernel": "4.1"},
        "load": {
            "buffered": false, "random": true, "write": write, "threads": 1,
            "block_bytes": 128 << 10, "file_bytes": 64 << 20, "span_ns": 60_000_000_000u64,
        },
    })
}

/// A page, then a megabyte that is timed; written back with two flushes behind it.
fn spread(write: bool) -> Value {
    let read = |bytes: u64| json!({"call": "read", "bytes": bytes, "starts_clock": bytes > 4096});
    let mut steps = vec![read(4096), read(1 << 20)];
    if write {
        let flush = json!({"call": "flush"});
        let written = json!({"call": "write", "bytes": 1 << 20, "starts_clock": true});
        steps.extend([read(4096), written, flush.clone(), flush]);
    }
    json!(steps)
}

fn array(spec: &mut Value) -> &mut Value {
    &mut spec["device"]["array"]
}

fn latency_ns(spec: &Value) -> f64 {
    run(spec).unwrap()["latency_mean_ns"].as_f64().unwrap()
}

#[test]
fn a_run_is_its_spec_and_moves_each_byte_once() {
    let spec = spec(Some("raid10"), 4, true);
    let result = run(&spec).unwrap();
    assert_eq!(result, run(&spec).unwrap());
    assert_eq!(result["bytes"], 64 << 20);
    assert_eq!(result["ios"], 512);
}

#[test]
fn a_wider_read_ahead_reads_more_drives_of_a_stripe_at_once() {
    let rate = |kib: Option<u32>| {
        let mut spec = spec(Some("raid0"), 4, false);
        spec["device"]["model"] = json!("st3250620ns");
        array(&mut spec)["chunk_kib"] = json!(64);
        spec["load"]["buffered"] = json!(true);
        spec["load"]["random"] = json!(false);
        spec["load"]["files"] = json!({"filesystem": "raw", "memory_bytes": 128 << 20, "written": true,
            "phases": [{"write": false, "random": false}]});
        spec["load"]["block_bytes"] = json!(4096);
        spec["read_ahead_kib"] = json!(kib);
        let result = run(&spec).unwrap();
        result["bytes"].as_f64().unwrap() / result["elapsed_ns"].as_f64().unwrap()
    };
    let (none, one, stripes) = (rate(Some(0)), rate(Some(32)), rate(None));
    // Drives whose turn it is not read on as their buffers empty, so that even one at a time comes near what they give together.
    assert!(none < one && 1.2 * one < stripes, "{none} {one} {stripes}");
    // md's own choice: two stripes.
    assert_eq!(stripes, rate(Some(2 * 4 * 64)));
}

#[test]
fn a_call_with_flushes_waits_for_the_drives_caches_and_one_of_reads_does_not() {
    let sampled = |write: bool, flush_us: f64| {
        let mut spec = spec(Some("raid10"), 4, write);
        spec["load"]["block_bytes"] = json!(1 << 20);
        spec["load"]["steps"] = spread(write);
        spec["load"]["calls"] = json!(20);
        spec["device"]["parameters"] = json!({"flush_us": flush_us});
        run(&spec).unwrap()
    };
    let (short, long) = (sampled(true, 1_000.0), sampled(true, 3_000.0));
    assert_eq!(short["ios"], 20);
    let mean = |result: &Value| result["latency_mean_ns"].as_f64().unwrap();
    // Only the first of the two flushes finds something to do.
    let difference = mean(&long) - mean(&short);
    assert!((difference - 2e6).abs() < 2e4, "{difference}");
    assert_eq!(
        mean(&sampled(false, 1_000.0)),
        mean(&sampled(false, 3_000.0))
    );
    // The mean of the rates, which is never below all bytes over all time.
    let rate = short["call_rate_mean"].as_f64().unwrap();
    let together = f64::from(1 << 20) * 1e9 / mean(&short);
    assert!(
        rate > 0.999_999 * together && rate < 1.05 * together,
        "{rate} {together}"
    );
}

#[test]
fn spread_calls_that_cannot_be_made_are_refused() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut spec = spec(None, 1, true);
        spec["load"]["steps"] = spread(true);
        spec["load"]["calls"] = json!(20);
        change(&mut spec);
        run(&spec).unwrap_err()
    };
    let steps = |change: fn(&mut Value)| refused(&|spec| change(&mut spec["load"]["steps"]));
    assert!(refused(&|spec| spec["load"]["calls"] = json!(0)).contains("ios"));
    assert!(steps(|steps| steps[0]["bytes"] = json!(100)).contains("multiple"));
    assert!(steps(|steps| *steps = json!([steps[0]])).contains("clock"));
    assert!(refused(&|spec| spec["load"]["threads"] = json!(2)).contains("one thread"));
    assert!(refused(&|spec| spec["device"]["depth"] = json!(32)).contains("flush"));
    assert!(refused(&|spec| spec["load"]["calls"] = json!(1_000_000)).contains("larger than"));
}

#[test]
fn a_mirrored_write_goes_to_both_copies_and_ends_with_the_slower() {
    let alone = latency_ns(&spec(None, 1, true));
    let mirrored = latency_ns(&spec(Some("raid1"), 2, true));
    assert!(mirrored >= alone, "{mirrored} against {alone}");
    assert!(mirrored < 1.2 * alone, "{mirrored} against {alone}");
}

#[test]
fn parity_is_written_through_the_stripe_cache_and_small_writes_cost_most() {
    let mut five = spec(Some("raid5"), 4, true);
    five["load"]["file_bytes"] = json!(8 << 20);
    five["load"]["block_bytes"] = json!(4 << 10);
    let result = run(&five).unwrap();
    assert_eq!(result["bytes"], 8 << 20);
    assert_eq!(result, run(&five).unwrap());
    let mut ten = spec(Some("raid10"), 4, true);
    ten["load"]["file_bytes"] = json!(8 << 20);
    ten["load"]["block_bytes"] = json!(4 << 10);
    assert!(latency_ns(&five) > 1.5 * latency_ns(&ten));
}

#[test]
fn a_read_of_four_chunks_uses_all_four_drives_and_one_of_a_chunk_only_one() {
    let mut array = spec(Some("raid10"), 4, false);
    assert!(latency_ns(&array) < 0.6 * latency_ns(&spec(None, 1, false)));
    array["load"]["block_bytes"] = json!(32 << 10);
    let mut alone = spec(None, 1, false);
    alone["load"]["block_bytes"] = json!(32 << 10);
    let (array, alone) = (latency_ns(&array), latency_ns(&alone));
    assert!((array / alone - 1.0).abs() < 0.1, "{array} against {alone}");
}

fn behind(controller: &str, level: &str, drives: u32, write: bool) -> Value {
    let mut spec = spec(None, 1, write);
    spec["queue"]["kernel"] = json!("2.6.24");
    spec["device"]["model"] = json!("st3250620ns");
    let unit = json!({"model": controller, "level": level, "drives": drives});
    spec["device"]["controller"] = unit;
    spec
}

fn unit(spec: &mut Value) -> &mut Value {
    &mut spec["device"]["controller"]
}

#[test]
fn a_controller_is_one_disk_that_moves_each_byte_once() {
    for (controller, level, drives) in [
        ("9650-2LP", "raid1", 2),
        ("9650-4LP", "raid5", 3),
        ("9550SXU-8LP", "raid10", 4),
        ("megaraid", "raid6", 6),
        ("fake", "raid0", 2),
    ] {
        for write in [false, true] {
            let mut spec = behind(controller, level, drives, write);
            spec["load"]["threads"] = json!(3);
            spec["load"]["file_bytes"] = json!(4 << 20);
            let result = run(&spec).unwrap();
            assert_eq!(result, run(&spec).unwrap());
            assert_eq!(result["bytes"], 3 * (4 << 20), "{controller} {level}");
        }
    }
}

#[test]
fn a_write_back_cache_answers_before_the_drives_do() {
    let mut spec = behind("9650-4LP", "raid5", 3, true);
    spec["load"]["block_bytes"] = json!(4096);
    spec["load"]["file_bytes"] = json!(1 << 20);
    let back = latency_ns(&spec);
    unit(&mut spec)["choices"] = json!({"write_back": false});
    let through = latency_ns(&spec);
    assert!(back < 0.5e6 && through > 2e6, "{back} and {through}");
}

#[test]
fn without_ncq_a_deep_queue_of_random_reads_is_slower() {
    let mut spec = behind("9650-4LP", "raid1", 2, false);
    spec["load"]["block_bytes"] = json!(4096);
    spec["load"]["threads"] = json!(16);
    spec["load"]["file_bytes"] = json!(64 << 20);
    spec["load"]["span_ns"] = json!(4_000_000_000u64);
    let rate = |spec: &Value| {
        let result = run(spec).unwrap();
        result["bytes"].as_f64().unwrap() / result["elapsed_ns"].as_f64().unwrap()
    };
    let with = rate(&spec);
    unit(&mut spec)["choices"] = json!({"ncq": false});
    let without = rate(&spec);
    assert!(with > 1.2 * without, "{with} against {without}");
}

#[test]
fn a_parameter_of_the_drive_or_the_controller_can_be_another_one() {
    let mut slower = spec(None, 1, false);
    let usual = latency_ns(&slower);
    slower["device"]["parameters"] = json!({"link_mb_s": 100.0});
    assert!(latency_ns(&slower) > 1.5 * usual);
    let mut card = behind("9650-4LP", "raid5", 3, false);
    let usual = latency_ns(&card);
    let mut set = |name: &str, value: f64| {
        unit(&mut card)["parameters"] = json!({(name): value});
        card.clone()
    };
    let slow = latency_ns(&set("command_us", 5000.0));
    assert!(slow > usual + 3e6, "{slow} after {usual}");
    assert!(run(&set("speed", 1.0)).unwrap_err().contains("speed"));
}

#[test]
fn what_is_not_modelled_or_does_not_fit_is_one_sentence() {
    let refuse = |change: &dyn Fn(&mut Value)| {
        let mut spec = spec(Some("raid10"), 4, true);
        change(&mut spec);
        run(&spec).unwrap_err()
    };
    for error in [
        refuse(&|s| array(s)["level"] = json!("raid7")),
        refuse(&|s| array(s)["members"] = json!(0)),
        refuse(&|s| array(s)["missing"] = json!([0, 1])),
        refuse(&|s| array(s)["chunk_kib"] = json!(0)),
        refuse(&|s| s["load"]["buffered"] = json!(true)),
        refuse(&|s| s["load"]["block_bytes"] = json!(1000)),
        refuse(&|s| s["load"]["threads"] = json!(0)),
        refuse(&|s| s["load"]["file_bytes"] = json!(1u64 << 60)),
        refuse(&|s| s["device"]["depth"] = json!(99)),
        refuse(&|s| s["queue"]["kernel"] = json!("new")),
        refuse(&|s| s["queue"]["scheduler"] = json!("bfq")),
        refuse(&|s| s["device"]["model"] = json!("floppy")),
        refuse(&|s| *s = behind("9999", "raid10", 4, true)),
        refuse(&|s| *s = behind("9650-2LP", "raid10", 4, true)),
        refuse(&|s| *s = behind("megaraid", "raid50", 4, true)),
        refuse(&|s| {
            s["device"]["controller"] =
                behind("megaraid", "raid10", 4, true)["device"]["controller"].clone();
        }),
    ] {
        assert!(!error.is_empty() && !error.contains('\n'), "{error}");
    }
}
