//! Files on multi-queue kernels, through the page cache and past it: held against regions of the raw device, whose trials are proven
//! elsewhere, and against times worked out by hand.

use crate::short;
use seekwise_sim::spec::TrialSpec;
use serde_json::{json, Value};

const MIB: u64 = 1 << 20;
const HDD: &str = "wd2500ys";
const SATA_SSD: &str = "samsung_850_evo";
const NVME: &str = "samsung_970_evo_plus";

/// One phase over files of ext4 that lie there already; `change` may alter the spec.
fn spec(phase: Value, change: impl Fn(&mut Value)) -> Value {
    let mut spec = json!({
        "seed": 1, "device": {"model": HDD}, "queue": {"scheduler": "mq-deadline", "kernel": "6.1"},
        "load": {
            "buffered": false, "random": false, "write": false, "threads": 1, "block_bytes": 4096,
            "file_bytes": 256 * MIB,
            "files": {
                "filesystem": "ext4", "memory_bytes": 64 * MIB, "report": 0, "written": true, "phases": [phase],
            },
        },
    });
    change(&mut spec);
    spec
}

fn phase(write: bool, random: bool, calls: u64) -> Value {
    json!({"write": write, "random": random, "calls": calls})
}

fn run(phase: Value, change: impl Fn(&mut Value)) -> Value {
    short::run(&spec(phase, change)).expect("a result")
}

/// The same load on a region of the raw device that begins `start` behind its first sector.
fn raw(drive: &str, scheduler: &str, job: Value, cached: Option<u64>) -> Value {
    let mut job = job;
    job["region_start_bytes"] = json!(START);
    job["own_regions"] = json!(true);
    job["direct"] = json!(cached.is_none());
    let mut trial = json!({
        "seed": 1, "device": {"model": drive},
        "queue": {"scheduler": scheduler, "kernel": "6.1"},
        // As the requests of files.
        "host": {"synchronous_dispatch": true},
        "phases": [{"operation": "any", "jobs": [job]}],
    });
    if let Some(limit) = cached {
        trial["cache"] = json!({"limit_bytes": limit});
    }
    let trial: TrialSpec = serde_json::from_value(trial).expect("a trial");
    seekwise_sim::trial::run(&trial).expect("a result")["phases"][0].clone()
}

/// Where ext4 puts the first file: the second group of 128 MiB, behind a copy of the superblock and the descriptors.
const START: u64 = 133 * MIB;

fn rate(result: &Value) -> f64 {
    result["bytes"].as_f64().unwrap() / result["elapsed_ns"].as_f64().unwrap() * 1e3
}

fn mean_us(result: &Value) -> f64 {
    result["latency_mean_ns"].as_f64().unwrap() / 1e3
}

fn near(what: &str, file: f64, region: f64, within: f64) {
    let off = file / region - 1.0;
    println!(
        "{what}: file {file:.3}, region {region:.3}, {:+.2} %",
        100.0 * off
    );
    assert!(off.abs() <= within, "{what}: {file} against {region}");
}

#[test]
fn direct_io_on_a_file_costs_what_a_region_of_the_raw_device_does() {
    for (drive, scheduler, calls) in [
        (HDD, "mq-deadline", 3_000),
        (SATA_SSD, "none", 4_000),
        (SATA_SSD, "bfq", 4_000),
        (NVME, "none", 4_000),
        (NVME, "kyber", 4_000),
    ] {
        for (write, random) in [(false, true), (false, false), (true, true), (true, false)] {
            let file = run(phase(write, random, calls), |spec| {
                spec["device"]["model"] = json!(drive);
                spec["queue"]["scheduler"] = json!(scheduler);
            });
            let job = json!({
                "pattern": if random { "random" } else { "sequential" },
                "read_percent": if write { 0.0 } else { 100.0 },
                "block_bytes": 4096, "region_bytes": 256 * MIB, "ios": calls,
            });
            let region = raw(drive, scheduler, job, None);
            assert_eq!(file["ios"], calls);
            // Addresses are drawn elsewhere, so a disk's random calls scatter.
            let within = if drive == HDD && random { 0.02 } else { 0.015 };
            let what = format!("{drive} {scheduler} write {write} random {random}");
            near(&what, rate(&file), rate(&region), within);
        }
    }
}

#[test]
fn calls_under_way_at_once_fill_the_queue_as_they_do_on_the_raw_device() {
    for (drive, scheduler, depth, within) in [
        (HDD, "none", 16, 0.04),
        (SATA_SSD, "mq-deadline", 32, 0.02),
        (NVME, "none", 8, 0.04),
    ] {
        let calls = if drive == HDD { 2_000 } else { 20_000 };
        let mut load = phase(false, true, calls);
        load["depth"] = json!(depth);
        let file = run(load, |spec| {
            spec["device"]["model"] = json!(drive);
            spec["queue"]["scheduler"] = json!(scheduler);
        });
        let job = json!({
            "pattern": "random", "depth": depth, "block_bytes": 4096, "region_bytes": 256 * MIB, "ios": calls,
        });
        let region = raw(drive, scheduler, job, None);
        near(
            &format!("{drive} depth {depth}"),
            rate(&file),
            rate(&region),
            within,
        );
        near("latency", mean_us(&file), mean_us(&region), within);
    }
}

#[test]
fn a_buffered_reader_of_a_file_streams_as_one_of_the_raw_device_does() {
    for (drive, block) in [
        (HDD, 4096),
        (HDD, 65_536),
        (SATA_SSD, 65_536),
        (NVME, 65_536),
    ] {
        let calls = 192 * MIB / block;
        let file = run(phase(false, false, calls), |spec| {
            spec["device"]["model"] = json!(drive);
            spec["load"]["buffered"] = json!(true);
            spec["load"]["block_bytes"] = json!(block);
        });
        let job = json!({
            "pattern": "sequential", "block_bytes": block, "region_bytes": 256 * MIB, "ios": calls,
        });
        let region = raw(drive, "mq-deadline", job, Some(64 * MIB));
        near(
            &format!("{drive} blocks of {block}"),
            rate(&file),
            rate(&region),
            0.1,
        );
    }
}

#[test]
fn buffered_random_reads_fetch_their_own_pages_only() {
    for drive in [HDD, SATA_SSD, NVME] {
        let file = run(phase(false, true, 2_000), |spec| {
            spec["device"]["model"] = json!(drive);
            spec["load"]["buffered"] = json!(true);
            spec["load"]["file_bytes"] = json!(1024 * MIB);
        });
        let job = json!({
            "pattern": "random", "block_bytes": 4096, "region_bytes": 1024 * MIB, "ios": 2_000,
        });
        let region = raw(drive, "mq-deadline", job, Some(64 * MIB));
        near(drive, mean_us(&file), mean_us(&region), 0.05);
    }
}

#[test]
fn buffered_writes_go_on_at_the_drives_pace() {
    for (drive, random, within) in [
        (HDD, false, 0.1),
        (SATA_SSD, false, 0.15),
        (SATA_SSD, true, 0.25),
    ] {
        let runtime = 4_000_000_000u64;
        let mut load = phase(true, random, 1);
        load["runtime_ns"] = json!(runtime);
        let file = run(load, |spec| {
            spec["device"]["model"] = json!(drive);
            spec["load"]["buffered"] = json!(true);
            spec["load"]["file_bytes"] = json!(2048 * MIB);
        });
        let mut trial = json!({
            "pattern": if random { "random" } else { "sequential" }, "read_percent": 0.0,
            "block_bytes": 4096, "region_bytes": 2048 * MIB,
        });
        trial["ios"] = json!(null);
        let region = {
            let mut job = trial;
            job.as_object_mut().unwrap().remove("ios");
            job["region_start_bytes"] = json!(START);
            job["direct"] = json!(false);
            let trial: TrialSpec = serde_json::from_value(json!({
                "seed": 1, "device": {"model": drive}, "cache": {"limit_bytes": 64 * MIB},
                "queue": {"scheduler": "mq-deadline", "kernel": "6.1"},
                "phases": [{"operation": "any", "runtime_ns": runtime, "jobs": [job]}],
            }))
            .expect("a trial");
            seekwise_sim::trial::run(&trial).expect("a result")["phases"][0].clone()
        };
        near(
            &format!("{drive} random {random}"),
            rate(&file),
            rate(&region),
            within,
        );
    }
}

#[test]
fn every_scheduler_kernel_array_and_file_system_ends_and_a_run_is_its_spec() {
    for (kernel, schedulers) in [
        ("6.1", ["none", "mq-deadline", "bfq", "kyber"].as_slice()),
        ("5.10", &["bfq"]),
        ("4.4", &["noop", "cfq"]),
        ("2.6.24", &["anticipatory"]),
    ] {
        for scheduler in schedulers {
            for (level, drives) in [
                (None, 1),
                (Some("raid1"), 2),
                (Some("raid5"), 3),
                (Some("raid10"), 4),
            ] {
                for filesystem in ["ext4", "ext3", "raw"] {
                    for buffered in [true, false] {
                        for write in [true, false] {
                            let once = || {
                                let mut load = phase(write, true, 40);
                                load["fsync"] = json!(write);
                                load["depth"] = json!(if buffered { 1 } else { 4 });
                                run(load, |spec| {
                                    spec["queue"]["kernel"] = json!(kernel);
                                    spec["queue"]["scheduler"] = json!(scheduler);
                                    let chunk = |level| (level != "raid1").then_some(64);
                                    spec["device"]["array"] = json!(level.map(|level| json!({
                                        "level": level, "members": drives, "chunk_kib": chunk(level),
                                    })));
                                    let load = &mut spec["load"];
                                    load["buffered"] = json!(buffered);
                                    load["threads"] = json!(3);
                                    load["block_bytes"] = json!(16_384);
                                    load["file_bytes"] = json!(64 * MIB);
                                    load["files"]["filesystem"] = json!(filesystem);
                                    load["files"]["memory_bytes"] = json!(96 * MIB);
                                })
                            };
                            let result = once();
                            assert_eq!(
                                result["ios"], 120,
                                "{kernel} {scheduler} {level:?} {filesystem}"
                            );
                            assert_eq!(result, once());
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn o_sync_past_the_cache_waits_for_flushes_and_for_the_journal_when_the_clock_ticks() {
    let latency = |flush_us: f64, o_sync: bool| {
        let mut load = phase(true, true, 200);
        load["o_sync"] = json!(o_sync);
        mean_us(&run(load, |spec| {
            spec["device"]["model"] = json!(SATA_SSD);
            spec["device"]["parameters"] = json!({"flush_us": flush_us});
        }))
    };
    // With a flush of 20 ms each write meets another tick: its data, the log, a flush, the commit block, a flush.
    let (slow, slower) = (latency(20_000.0, true), latency(30_000.0, true));
    let flushes = (slower - slow) / 10_000.0;
    assert!((1.99..=2.01).contains(&flushes), "{flushes}");
    assert!(slow > 40_000.0 && slow < 44_000.0, "{slow}");
    // Without it nobody waits for the drive's cache.
    assert_eq!(latency(20_000.0, false), latency(30_000.0, false));
}

#[test]
fn flushes_reach_a_card_whose_commands_are_all_in_use() {
    for (controller, level) in [
        ("9650-4LP", "raid5"),
        ("megaraid", "raid10"),
        ("fake", "raid1"),
    ] {
        let mut load = phase(true, true, 3_000);
        (load["depth"], load["fsync"]) = (json!(512), json!(true));
        let result = run(load, |spec| {
            spec["device"]["model"] = json!("st3250620ns");
            let drives = if controller == "fake" { 2 } else { 4 };
            spec["device"]["controller"] =
                json!({"model": controller, "level": level, "drives": drives});
            spec["load"]["threads"] = json!(2);
        });
        assert_eq!(result["ios"], 6_000, "{controller}");
    }
}

#[test]
fn a_direct_writer_that_makes_its_file_longer_writes_where_blocks_are_chosen_for_it() {
    let mut load = phase(true, false, 1);
    load["calls"] = json!(null);
    let result = run(load, |spec| {
        spec["device"]["model"] = json!(SATA_SSD);
        spec["load"]["files"]["written"] = json!(false);
        spec["load"]["block_bytes"] = json!(MIB);
    });
    assert_eq!(result["bytes"], 256 * MIB);
    assert!(rate(&result) > 300.0, "{result}");
}

#[test]
fn a_phase_of_given_length_ends_with_the_call_that_is_under_way() {
    for buffered in [false, true] {
        let mut load = phase(false, true, 1);
        load["runtime_ns"] = json!(2_000_000_000u64);
        let result = run(load, |spec| spec["load"]["buffered"] = json!(buffered));
        let elapsed = result["elapsed_ns"].as_f64().unwrap() / 1e9;
        assert!((2.0..2.03).contains(&elapsed), "{elapsed}");
    }
}

#[test]
fn every_call_has_its_time_in_the_bins() {
    for (buffered, write, o_sync, fsync) in [
        (false, false, false, false),
        (false, true, true, false),
        (true, false, false, false),
        (true, true, false, true),
        (true, true, true, false),
    ] {
        let mut load = phase(write, true, 300);
        (load["o_sync"], load["fsync"]) = (json!(o_sync), json!(fsync));
        let result = run(load, |spec| {
            spec["device"]["model"] = json!(SATA_SSD);
            spec["load"]["buffered"] = json!(buffered);
        });
        let bins = result["latency_bins"].as_object().unwrap();
        let counts: u64 = bins.values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(counts, 300);
        let total: f64 = bins
            .iter()
            .map(|(upper, count)| upper.parse::<f64>().unwrap() * count.as_f64().unwrap())
            .sum();
        // A bin is at most 1/128 of its value wide.
        let mean = total / 300.0 / 1e3;
        assert!(
            (mean / mean_us(&result) - 1.0).abs() < 0.01,
            "{mean} {result}"
        );
    }
}

#[test]
fn a_smaller_limit_of_requests_cuts_calls_and_windows() {
    let merged = |kib: Option<u32>| {
        run(phase(false, false, 64), |spec| {
            spec["load"]["block_bytes"] = json!(MIB);
            spec["queue"]["max_sectors_kb"] = json!(kib);
        })
    };
    let (whole, cut) = (merged(None), merged(Some(64)));
    assert_eq!(whole["bytes"], cut["bytes"]);
    assert_ne!(mean_us(&cut), mean_us(&whole));
}

#[test]
fn what_files_cannot_be_is_one_sentence() {
    let refuse =
        |load: Value, change: &dyn Fn(&mut Value)| short::run(&spec(load, change)).unwrap_err();
    let deep = |depth: u32, o_sync: bool| {
        let mut load = phase(o_sync, true, 10);
        (load["depth"], load["o_sync"]) = (json!(depth), json!(o_sync));
        load
    };
    for (error, word) in [
        (refuse(deep(0, false), &|_| ()), "depth"),
        (refuse(deep(8, true), &|_| ()), "O_SYNC"),
        (
            refuse(deep(8, false), &|s| s["load"]["buffered"] = json!(true)),
            "page cache",
        ),
        (
            refuse(deep(1, false), &|s| s["queue"]["scheduler"] = json!("cfq")),
            "cfq",
        ),
        (
            refuse(deep(1, false), &|s| s["queue"]["kernel"] = json!("2.6.24")),
            "mq-deadline",
        ),
        (
            refuse(deep(1, false), &|s| {
                s["load"]["file_bytes"] = json!(250_000_000_000u64)
            }),
            "fit",
        ),
        (
            refuse(deep(1, false), &|s| s["queue"]["nr_requests"] = json!(0)),
            "nr_requests",
        ),
        (
            refuse(deep(1, false), &|s| {
                s["load"]["files"]["memory_bytes"] = json!(1 << 20)
            }),
            "limit_bytes",
        ),
    ] {
        assert!(
            error.contains(word) && !error.contains('\n'),
            "{word}: {error}"
        );
    }
}

/// Issue 17: with the limits of a machine smaller than its group writers slept for room that nobody made, at 0.9 MB/s or for ever.
#[test]
fn more_memory_than_the_testbeds_machine_has_never_makes_buffered_writing_slower() {
    const LOAD: u64 = 640 * MIB;
    for drive in [HDD, NVME] {
        let file = |limit_mib: u64| {
            let mut written = phase(true, false, LOAD / 65_536);
            written["fsync"] = json!(true);
            let result = run(written, |spec| {
                spec["device"]["model"] = json!(drive);
                spec["load"]["buffered"] = json!(true);
                spec["load"]["block_bytes"] = json!(65_536);
                spec["load"]["file_bytes"] = json!(LOAD);
                spec["load"]["files"]["memory_bytes"] = json!(limit_mib * MIB);
            });
            rate(&result)
        };
        let region = |limit_mib: u64| {
            let job = json!({"pattern": "sequential", "read_percent": 0, "block_bytes": 65_536, "ios": LOAD / 65_536, "region_bytes": LOAD});
            rate(&raw(drive, "mq-deadline", job, Some(limit_mib * MIB)))
        };
        let usual = (file(512), region(512));
        for limit_mib in [1024, 1200, 4096] {
            let (file, region) = (file(limit_mib), region(limit_mib));
            println!("{drive} {limit_mib} MiB: file {file:.0}, region {region:.0} MB/s");
            // Where all of it stays in memory, fsync writes at the end what the flusher would have written meanwhile.
            assert!(file > 0.8 * usual.0, "{drive} {limit_mib}: {file}");
            assert!(region > 0.95 * usual.1, "{drive} {limit_mib}: {region}");
        }
    }
}
