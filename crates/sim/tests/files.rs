//! This test will run files through page cache, file system and journal.

use crate::short;
use serde_json::{json, Value};

/// tiotest's four phases over ext3 on a disk; `change` may alter the spec.
fn spec(change: impl Fn(&mut Value)) -> Value {
    let phase = |write: bool, random: bool| {
        json!({"write": write, "random": random, "fsync": write,
               "calls": if random { Some(200) } else { None }})
    };
    let mut spec = json!({
        "seed": 1, "device": {"model": "st3250620ns"}, "queue": {"scheduler": "cfq", "kernel": "2.6.24"},
        "host": {"model": "opteron_2212"},
        "load": {
            "buffered": true, "random": false, "write": false, "threads": 2, "block_bytes": 4096,
            "file_bytes": 100_000_000,
            "files": {
                "filesystem": "ext3", "memory_bytes": 100_000_000, "report": 0,
                "phases": [phase(true, false), phase(true, true), phase(false, false), phase(false, true)],
            },
        },
    });
    change(&mut spec);
    spec
}

fn run(phase: usize, change: impl Fn(&mut Value)) -> Value {
    let spec = spec(|value| {
        value["load"]["files"]["report"] = json!(phase);
        change(value);
    });
    short::run(&spec).expect("a result")
}

fn rate(result: &Value) -> f64 {
    result["bytes"].as_f64().unwrap() / result["elapsed_ns"].as_f64().unwrap() * 1e3
}

#[test]
fn every_call_is_done_once_and_a_run_is_its_spec() {
    for (phase, calls) in [(0, 2 * 24_414), (1, 400), (2, 2 * 24_414), (3, 400)] {
        let result = run(phase, |_| ());
        assert_eq!(result["ios"], calls, "phase {phase}");
        assert_eq!(result["bytes"], calls * 4096);
        assert_eq!(result, run(phase, |_| ()));
    }
}

#[test]
fn schedulers_generations_and_file_systems_all_end() {
    for kernel in ["2.6.23", "2.6.24", "2.6.32", "4.4"] {
        for scheduler in ["noop", "deadline", "anticipatory", "cfq"] {
            if kernel == "4.4" && scheduler == "anticipatory" {
                continue;
            }
            for filesystem in ["raw", "ext3", "ext4"] {
                let result = run(3, |value| {
                    value["queue"]["kernel"] = json!(kernel);
                    value["queue"]["scheduler"] = json!(scheduler);
                    value["load"]["threads"] = json!(3);
                    value["load"]["files"]["filesystem"] = json!(filesystem);
                });
                assert!(rate(&result) > 0.1, "{kernel} {scheduler} {filesystem}");
            }
        }
    }
}

#[test]
fn files_that_lie_there_already_are_read_from_the_disk() {
    for phase in [2, 3] {
        let result = run(0, |value| {
            let files = &mut value["load"]["files"];
            files["written"] = json!(true);
            files["phases"] = json!([files["phases"][phase]]);
        });
        // The disk reads 80 MB/s at its edge.
        assert!(rate(&result) < 100.0, "phase {phase}: {result}");
    }
}

#[test]
fn old_kernels_forget_addresses_while_other_data_pass_and_read_them_again() {
    let latency = |kernel: &str| {
        let result = run(3, |value| {
            value["queue"]["kernel"] = json!(kernel);
            value["load"]["file_bytes"] = json!(300_000_000);
            value["load"]["files"]["memory_bytes"] = json!(64_000_000);
        });
        result["latency_mean_ns"].as_f64().unwrap()
    };
    // 75 indirect blocks a file for 200 calls: about a third more disk accesses.
    let (old, new) = (latency("2.6.24"), latency("2.6.32"));
    assert!(old > 1.1 * new, "{old} {new}");
}

#[test]
fn a_command_to_a_port_costs_the_program_that_sends_it() {
    let system = |controller: Option<&str>| {
        let result = run(3, |value| {
            value["load"]["threads"] = json!(1);
            value["load"]["file_bytes"] = json!(300_000_000);
            value["load"]["files"]["memory_bytes"] = json!(64_000_000);
            value["device"]["controller"] =
                json!(controller.map(|model| json!({"model": model, "drives": 1})));
        });
        result["cpu"]["system_s"].as_f64().unwrap()
    };
    let (port, card) = (system(None), system(Some("9650-4LP")));
    // 200 random reads, a tenth of them from memory, and up to 75 indirect blocks, at 20 us each.
    assert!((0.0034..0.0056).contains(&(port - card)), "{port} {card}");
}

#[test]
fn more_memory_makes_random_reads_of_the_same_files_faster() {
    let rates: Vec<f64> = [64_000_000, 128_000_000, 512_000_000]
        .iter()
        .map(|memory| {
            rate(&run(3, |value| {
                value["load"]["files"]["memory_bytes"] = json!(memory)
            }))
        })
        .collect();
    assert!(rates[1] > 1.2 * rates[0], "{rates:?}");
    // All of it is in memory.
    assert!(rates[2] > 50.0 * rates[0], "{rates:?}");
}

#[test]
fn o_sync_waits_for_the_disk_at_each_call() {
    let sync = run(1, |value| {
        for phase in 0..2 {
            value["load"]["files"]["phases"][phase]["o_sync"] = json!(phase == 1);
        }
    });
    let latency = sync["latency_mean_ns"].as_f64().unwrap();
    assert!(latency > 3e6, "{latency}");
    let buffered = run(1, |_| ());
    assert!(buffered["latency_mean_ns"].as_f64().unwrap() < latency);
}

#[test]
fn processor_time_is_there_and_ticks_see_about_as_much() {
    let result = run(0, |_| ());
    let cpu = &result["cpu"];
    let exact = cpu["system_s"].as_f64().unwrap();
    let ticks = cpu["system_ticks"].as_f64().unwrap() / cpu["hz"].as_f64().unwrap();
    assert!(exact > 0.05, "{cpu}");
    assert!((ticks / exact - 1.0).abs() < 0.3, "{cpu}");
    let elapsed = result["elapsed_ns"].as_f64().unwrap() / 1e9;
    assert!(exact < elapsed, "two threads that wait for a disk");
}

#[test]
fn what_files_cannot_be_is_one_sentence() {
    let refuse = |change: &dyn Fn(&mut Value)| short::run(&spec(change)).unwrap_err();
    for error in [
        refuse(&|value| value["load"]["files"]["filesystem"] = json!("fat")),
        refuse(&|value| value["load"]["files"]["phases"] = json!([])),
        refuse(&|value| value["load"]["files"]["memory_bytes"] = json!(1000)),
        refuse(&|value| value["load"]["files"]["phases"][0]["depth"] = json!(2)),
        refuse(&|value| value["host"]["model"] = json!("abacus")),
    ] {
        assert!(!error.is_empty() && !error.contains('\n'), "{error}");
    }
}
