//! One machine: what a trial says of array, file system, cache and jobs works together, and its invariants hold.

use seekwise_sim::spec::TrialSpec;
use seekwise_sim::trial;
use serde_json::{json, Value};

const MIB: u64 = 1 << 20;

fn parsed(trial: &Value) -> TrialSpec {
    serde_json::from_value(trial.clone()).expect("a trial")
}

fn phase(trial: &Value) -> Value {
    trial::run(&parsed(trial)).unwrap_or_else(|error| panic!("{error}: {trial}"))["phases"][0]
        .clone()
}

/// A job of `threads` with files of 32 MiB each.
fn job(name: &str, threads: u64, changes: Value) -> Value {
    let mut job = json!({
        "name": name, "threads": threads, "pattern": "random", "block_bytes": 16_384,
        "own_regions": true, "region_bytes": threads * 32 * MIB,
    });
    for (key, value) in changes.as_object().unwrap() {
        job[key] = value.clone();
    }
    job
}

fn on_array(kernel: &str, scheduler: &str, filesystem: &str, array: Value, jobs: Value) -> Value {
    json!({
        "seed": 5,
        "device": {"model": "wd2500ys", "array": array},
        "queue": {"scheduler": scheduler, "kernel": kernel},
        "cache": {"limit_bytes": 96 * MIB},
        "files": {"filesystem": filesystem, "written": true},
        "phases": [{"operation": "all", "jobs": jobs}],
    })
}

/// No drive is busy for longer than the phase, and a member that is away does nothing.
fn members_are_possible(phase: &Value, missing: Option<usize>) {
    let elapsed = phase["elapsed_ns"].as_u64().unwrap();
    for (number, member) in phase["members"].as_array().unwrap().iter().enumerate() {
        let of = |name: &str| member[name].as_u64().unwrap();
        // A command that is under way when the phase begins is booked with its end.
        assert!(of("busy_ns") <= elapsed + elapsed / 50, "{member}");
        if missing == Some(number) {
            assert_eq!(of("bytes_read") + of("bytes_written"), 0, "{member}");
        }
    }
}

#[test]
fn files_lie_on_every_array_in_every_state() {
    let levels = [("raid1", 2), ("raid5", 4), ("raid6", 5), ("raid10", 4)];
    let hosts = [
        ("6.1", "mq-deadline", "ext4"),
        ("6.1", "bfq", "raw"),
        ("2.6.24", "cfq", "ext3"),
    ];
    for (level, members) in levels {
        for (missing, bitmap, resync) in [
            (true, "none", false),
            (false, "internal", false),
            (true, "internal", false),
            (false, "none", true),
            (true, "internal", true),
        ] {
            for (kernel, scheduler, filesystem) in hosts {
                let array = json!({
                    "level": level, "members": members, "bitmap": bitmap,
                    "missing": if missing { json!([1]) } else { json!([]) },
                    "resync": resync.then(|| json!({"min_kib_s": 4000})),
                });
                let buffered = job("reader", 2, json!({"direct": false, "ios": 60}));
                let writer = job(
                    "writer",
                    2,
                    json!({"direct": false, "read_percent": 0.0, "ios": 60, "fsync": true}),
                );
                let direct = job(
                    "direct",
                    2,
                    json!({"depth": 4, "read_percent": 50.0, "ios": 60}),
                );
                let jobs = json!([buffered, writer, direct]);
                let trial = on_array(kernel, scheduler, filesystem, array, jobs);
                let found = phase(&trial);
                assert_eq!(found["ios"], 3 * 2 * 60, "{trial}");
                assert_eq!(found["bytes"], 3 * 2 * 60 * 16_384);
                members_are_possible(&found, (missing && !resync).then_some(1));
                assert_eq!(found["resync"].is_object(), resync, "{trial}");
                let pages = found["bitmap"]["page_writes"].as_u64().unwrap_or(0);
                assert_eq!(pages > 0, bitmap == "internal", "{trial}");
            }
        }
    }
}

#[test]
fn a_missing_member_is_computed_from_the_others_when_files_are_read() {
    let read = |missing: bool| {
        let array = json!({"level": "raid5", "members": 4, "chunk_kib": 64,
            "missing": if missing { json!([2]) } else { json!([]) }});
        let reader = job("reader", 1, json!({"ios": 400, "block_bytes": 4096}));
        let found = phase(&on_array(
            "6.1",
            "mq-deadline",
            "ext4",
            array,
            json!([reader]),
        ));
        let members = found["members"].as_array().unwrap();
        let read = members
            .iter()
            .map(|member| member["bytes_read"].as_u64().unwrap());
        read.sum::<u64>()
    };
    let (whole, degraded) = (read(false), read(true));
    assert_eq!(whole, 400 * 4096);
    // A quarter of the reads become three.
    let more = degraded as f64 / whole as f64;
    assert!((1.4..1.6).contains(&more), "{more}");
}

#[test]
fn a_bitmap_makes_small_writes_of_files_slower() {
    for level in ["raid1", "raid5"] {
        let latency = |bitmap: &str| {
            let members = if level == "raid1" { 2 } else { 4 };
            let array = json!({"level": level, "members": members, "bitmap": bitmap,
                "bitmap_chunk_kib": (bitmap == "internal").then_some(64)});
            let writer = job("writer", 1, json!({"read_percent": 0.0, "ios": 200}));
            let found = phase(&on_array(
                "6.1",
                "mq-deadline",
                "ext4",
                array,
                json!([writer]),
            ));
            found["latency_mean_ns"].as_f64().unwrap()
        };
        let (without, with) = (latency("none"), latency("internal"));
        // The drives' caches take the pages of the bitmap, so it costs a few per cent: md's thread takes turns for them.
        assert!(with > 1.02 * without, "{level}: {without} and {with}");
    }
}

/// Programs on a drive alone, through the page cache and past it, on a region and on a file.
fn on_a_drive(direct: bool, filesystem: Option<&str>, changes: Value) -> Value {
    let mut job = job("program", 1, changes);
    job["direct"] = json!(direct);
    let mut trial = json!({
        "seed": 5,
        "device": {"model": "samsung_850_evo"},
        "queue": {"scheduler": "mq-deadline", "kernel": "6.1"},
        "phases": [{"operation": "all", "runtime_ns": 2_000_000_000u64, "jobs": [job]}],
    });
    if !direct {
        trial["cache"] = json!({"limit_bytes": 64 * MIB});
    }
    if let Some(filesystem) = filesystem {
        trial["files"] = json!({"filesystem": filesystem, "written": true});
    }
    trial
}

#[test]
fn a_program_pauses_and_keeps_its_rate_on_every_storage() {
    for filesystem in [None, Some("raw"), Some("ext4")] {
        for direct in [true, false] {
            for read_percent in [100.0, 0.0] {
                let count = |changes: Value| {
                    let mut changes = changes;
                    changes["read_percent"] = json!(read_percent);
                    phase(&on_a_drive(direct, filesystem, changes))["ios"]
                        .as_u64()
                        .unwrap()
                };
                let what = format!("{filesystem:?} direct {direct} reads {read_percent}");
                // Two seconds by 10 ms, and a little for each call.
                let paused = count(json!({"think_ns": 10_000_000}));
                assert!((180..=201).contains(&paused), "{what}: {paused}");
                let limited = count(json!({"rate_iops": 50.0}));
                assert!((99..=101).contains(&limited), "{what}: {limited}");
                let both = count(json!({"rate_iops": 50.0, "think_ns": 40_000_000}));
                assert!((48..=51).contains(&both), "{what}: {both}");
                let random = count(json!({"rate_iops": 500.0, "poisson": true}));
                assert!((900..=1_100).contains(&random), "{what}: {random}");
            }
        }
    }
}

#[test]
fn a_paced_program_on_a_file_takes_as_long_for_a_call_as_on_a_region() {
    for (direct, changes) in [
        (true, json!({"think_ns": 3_000_000, "depth": 4})),
        (true, json!({"rate_iops": 700.0, "poisson": true})),
    ] {
        let latency = |filesystem: Option<&str>| {
            phase(&on_a_drive(direct, filesystem, changes.clone()))["latency_mean_ns"]
                .as_f64()
                .unwrap()
        };
        let (region, file) = (latency(None), latency(Some("ext4")));
        assert!(
            (file / region - 1.0).abs() < 0.03,
            "{changes}: {file} {region}"
        );
    }
}

#[test]
fn calls_of_several_kinds_are_drawn_on_files_as_on_regions() {
    for direct in [true, false] {
        let changes = json!({
            "pattern": "random", "read_percent": 70.0, "block_bytes": 4096,
            "sizes": [[4096, 50.0], [16_384, 50.0]], "ios": 2_000,
        });
        let found = phase(&on_a_drive(direct, Some("ext4"), changes));
        let of = |name: &str| found[name].as_f64().unwrap();
        assert_eq!(of("ios"), 2_000.0);
        assert!((of("reads") / 2_000.0 - 0.7).abs() < 0.04, "{found}");
        let mean = of("bytes") / 2_000.0;
        assert!((mean / 10_240.0 - 1.0).abs() < 0.05, "{mean}");
        assert_eq!(of("bytes"), of("bytes_read") + of("bytes_written"));
    }
}

#[test]
fn an_idle_class_waits_for_others_on_files_too() {
    let bytes = |class: &str| {
        let reader = job("reader", 4, json!({"block_bytes": 4096}));
        let other = job("other", 1, json!({"class": class, "block_bytes": 4096}));
        let mut trial = on_array("6.1", "bfq", "ext4", Value::Null, json!([reader, other]));
        trial["phases"][0]["runtime_ns"] = json!(3_000_000_000u64);
        phase(&trial)["jobs"][1]["ios"].as_u64().unwrap()
    };
    assert!(4 * bytes("idle") < bytes("realtime"));
}

/// RAID 6 with a missing member and a bitmap under ext4: buffered readers that think, beside direct asynchronous writers with a rate limit.
fn everything() -> Value {
    let array = json!({"level": "raid6", "members": 6, "chunk_kib": 64, "missing": [2], "bitmap": "internal"});
    let readers = job(
        "readers",
        4,
        json!({"direct": false, "pattern": "sequential", "think_ns": 2_000_000, "block_bytes": 65_536}),
    );
    let writers = job(
        "writers",
        2,
        json!({"depth": 8, "read_percent": 0.0, "rate_iops": 40.0, "think_ns": 1_000_000}),
    );
    let mut trial = on_array(
        "6.1",
        "mq-deadline",
        "ext4",
        array,
        json!([readers, writers]),
    );
    trial["phases"][0]["runtime_ns"] = json!(5_000_000_000u64);
    trial
}

#[test]
fn everything_together_is_possible_and_the_same_each_time() {
    let trial = everything();
    let found = phase(&trial);
    let jobs = found["jobs"].as_array().unwrap();
    for (job, block) in jobs.iter().zip([65_536, 16_384]) {
        let of = |name: &str| job[name].as_u64().unwrap();
        assert!(of("ios") > 0);
        // Every call that was counted moved its block, once.
        assert_eq!(of("bytes"), of("ios") * block);
        let bins = job["latency_bins"].as_object().unwrap().values();
        assert_eq!(
            bins.map(|count| count.as_u64().unwrap()).sum::<u64>(),
            of("ios")
        );
    }
    // Two writers at 40 calls a second for five seconds.
    let written = jobs[1]["ios"].as_u64().unwrap();
    assert!((395..=402).contains(&written), "{written}");
    members_are_possible(&found, Some(2));
    assert!(found["bitmap"]["page_writes"].as_u64().unwrap() > 0);
    // What was written has two parities.
    let to_drives: u64 = found["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| member["bytes_written"].as_u64().unwrap())
        .sum();
    assert!(to_drives > 2 * jobs[1]["bytes"].as_u64().unwrap());
    let trials: Vec<TrialSpec> = (0..6)
        .map(|seed| {
            let mut trial = trial.clone();
            trial["seed"] = json!(seed / 2);
            parsed(&trial)
        })
        .collect();
    let [alone, two, four] = [1, 2, 4].map(|workers| trial::run_all(&trials, workers, |_, _| true));
    assert!(alone == two && two == four);
    for (first, second) in [(0, 1), (2, 3), (4, 5)] {
        assert_eq!(alone[first], alone[second]);
    }
    assert_ne!(alone[0], alone[2]);
}

#[test]
fn a_trace_shows_a_drive_below_files() {
    let mut trial = on_a_drive(true, Some("ext4"), json!({"ios": 50}));
    trial["trace_events_max"] = json!(1_000);
    let result = trial::run(&parsed(&trial)).unwrap();
    let rows = result["trace"]["rows"].as_array().unwrap();
    let done = rows.iter().filter(|row| row[1] == "complete").count();
    assert!(done >= 50, "{done}");
}

#[test]
fn what_means_nothing_is_refused_with_the_reason() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut trial = on_a_drive(false, Some("ext4"), json!({"ios": 10}));
        change(&mut trial);
        trial::run(&parsed(&trial)).unwrap_err()
    };
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 4] = [
        (
            |trial| trial["phases"][0]["jobs"][0]["depth"] = json!(4),
            "a call through the page cache returns when it is done",
        ),
        (
            |trial| trial["phases"][0]["jobs"][0]["region_start_bytes"] = json!(4096),
            "a file system decides where files lie",
        ),
        (
            |trial| trial["host"] = json!({"cores": 4}),
            "several cores are simulated over drives alone",
        ),
        (
            |trial| {
                trial["host"] = json!({"cores": 4});
                trial["cache"] = Value::Null;
                trial["files"] = Value::Null;
                trial["phases"][0]["jobs"][0]["direct"] = json!(true);
                trial["device"]["model"] = json!("wd2500ys");
            },
            "wd2500ys has one for all",
        ),
    ];
    for (change, says) in cases {
        let said = refused(&change);
        assert!(said.contains(says), "{said}");
    }
}

/// Mean latency of direct requests of the bare device, one at a time, in ns.
fn direct(kernel: &str, scheduler: &str, percent: u64, change: &dyn Fn(&mut Value)) -> u64 {
    let job = json!({"pattern": "random", "block_bytes": 4096, "read_percent": percent, "ios": 50});
    let mut trial = json!({
        "seed": 1,
        "device": {"model": "null", "parameters": {"latency_us": 50.0}},
        "queue": {"scheduler": scheduler, "kernel": kernel},
        "phases": [{"operation": "all", "jobs": [job]}],
    });
    change(&mut trial);
    phase(&trial)["jobs"][0]["latency_mean_ns"]
        .as_f64()
        .unwrap() as u64
}

#[test]
fn a_task_that_has_more_under_way_is_not_woken() {
    let at = |depth: u64| {
        let job = json!({"pattern": "random", "block_bytes": 4096, "depth": depth, "ios": 20_000});
        let done = phase(&json!({
            "seed": 1, "device": {"model": "null"}, "queue": {"scheduler": "none", "kernel": "6.12"},
            "phases": [{"operation": "all", "jobs": [job]}],
        }));
        let each = |of: &Value| of.as_f64().unwrap() / 20_000.0;
        (
            each(&done["elapsed_ns"]),
            each(&done["cpu"]["system_s"]) * 1e9,
        )
    };
    // Of one processor, in ns: 500 the program's, 1,000 to submit, 1,220 an interrupt, 3,300 to be woken. The program's and the interrupt are no system time.
    let ((alone, system), (many, less)) = (at(1), at(64));
    assert!((6_020.0..6_100.0).contains(&alone), "{alone}");
    assert!((2_720.0..2_760.0).contains(&many), "{many}");
    assert!((system - 4_300.0).abs() < 10.0, "{system}");
    assert!((1_000.0..1_050.0).contains(&less), "{less}");
}

#[test]
fn a_kernels_worker_dispatches_what_no_plug_holds_from_5_16_to_6_9() {
    let plain = |_: &mut Value| ();
    let submits = direct("5.15", "mq-deadline", 100, &plain);
    for (kernel, reads, writes) in [
        ("5.15", 0, 0),
        ("5.16", 1_600, 0),
        ("6.4", 1_600, 0),
        ("6.5", 1_600, 1_600),
        ("6.9", 1_600, 1_600),
        ("6.10", 0, 0),
    ] {
        assert_eq!(
            direct(kernel, "mq-deadline", 100, &plain),
            submits + reads,
            "{kernel}"
        );
        assert_eq!(
            direct(kernel, "mq-deadline", 0, &plain),
            submits + writes,
            "{kernel}"
        );
        let none = direct(kernel, "none", 100, &plain);
        assert_eq!(none, direct("5.15", "none", 100, &plain), "{kernel}");
    }
    let itself = |trial: &mut Value| trial["host"] = json!({"synchronous_dispatch": true});
    assert_eq!(direct("6.6", "mq-deadline", 100, &itself), submits);
    // What is larger than a bio has a plug.
    let large = |kernel| {
        direct(kernel, "mq-deadline", 100, &|trial| {
            trial["phases"][0]["jobs"][0]["block_bytes"] = json!(2 << 20);
        })
    };
    assert_eq!(large("6.6"), large("5.15"));
}

#[test]
fn a_guests_disk_is_its_store_and_the_hosts_work() {
    let guest = |trial: &mut Value| trial["device"]["model"] = json!("null/virtio");
    let more = direct("6.12", "none", 100, &guest) - direct("6.12", "none", 100, &|_| ());
    assert_eq!(more, 26_300);
    // Who asks by the model's id gets the same disk.
    let model = seekwise_device::Model::shipped("null/virtio").unwrap();
    assert_eq!((model.id.as_str(), model.guest), ("null/virtio", true));
    for (place, what) in [
        ("array", json!({"level": "raid1", "members": 2})),
        (
            "controller",
            json!({"model": "3ware-9550sxu-8lp", "level": "raid1", "drives": 2}),
        ),
    ] {
        let job = json!({"pattern": "random", "block_bytes": 4096, "ios": 5});
        let mut trial = json!({
            "seed": 1, "device": {"model": "wd2500ys/virtio"},
            "queue": {"scheduler": "none", "kernel": "6.1"},
            "phases": [{"operation": "all", "jobs": [job]}],
        });
        trial["device"][place] = what;
        let said = trial::run(&parsed(&trial)).unwrap_err();
        assert!(
            said.contains("over disks of a guest is not simulated"),
            "{said}"
        );
    }
}

/// Random reads a second of tasks of depth 1.
fn readers(model: &str, queue: Value, block_bytes: u64, threads: u64) -> f64 {
    let job =
        json!({"threads": threads, "pattern": "random", "block_bytes": block_bytes, "ios": 2_000});
    let done = phase(&json!({
        "seed": 1, "device": {"model": model}, "queue": queue,
        "phases": [{"operation": "all", "jobs": [job]}],
    }));
    done["ios"].as_f64().unwrap() / done["elapsed_ns"].as_f64().unwrap() * 1e9
}

/// A request does not hold up for 20 us what the drive has done meanwhile, so that all tasks go in step.
#[test]
fn a_guests_thread_on_its_way_is_woken_by_the_drive_too() {
    let none = json!({"scheduler": "none", "kernel": "5.13"});
    for block_bytes in [4096, 8192, 16_384] {
        let rate = |threads| readers("intel_p4800x/virtio", none.clone(), block_bytes, threads);
        let (one, two) = (rate(1), rate(2));
        assert!(two > 1.95 * one, "{block_bytes}: {two} against {one}");
    }
}

/// Every completion of a SCSI drive ran the queue before 5.10, and bfq then injects what it has of others while it waits for a reader. In the VM
/// testbed's 5.10 eight readers in a group are as fast as one.
#[test]
fn bfq_injects_nothing_on_sata_from_5_10_on_while_it_waits_for_a_reader_in_a_group() {
    let gain = |kernel: &str| {
        let queue = json!({"scheduler": "bfq", "kernel": kernel, "cgroup": true});
        let rate = |threads| readers("samsung_850_evo", queue.clone(), 4096, threads);
        rate(8) / rate(1)
    };
    let (old, new) = (gain("5.9"), gain("5.10"));
    assert!((0.95..1.05).contains(&new), "{new}");
    assert!(old > 2.0, "{old}");
}
