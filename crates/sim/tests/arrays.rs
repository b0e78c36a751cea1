//! Arrays as trials: what reaches the members, and what an array costs and gains.

use seekwise_sim::{spec::TrialSpec, trial};
use serde_json::{json, Value};

const MIB: u64 = 1 << 20;

struct Case {
    level: &'static str,
    members: u32,
    kernel: &'static str,
    scheduler: &'static str,
    extra: Value,
}

impl Case {
    fn new(level: &'static str, members: u32) -> Self {
        Self {
            level,
            members,
            kernel: "6.1",
            scheduler: "mq-deadline",
            extra: json!({}),
        }
    }

    fn on(mut self, kernel: &'static str, scheduler: &'static str) -> Self {
        (self.kernel, self.scheduler) = (kernel, scheduler);
        self
    }

    fn with(mut self, key: &str, value: Value) -> Self {
        self.extra[key] = value;
        self
    }

    fn spec(&self, job: Value) -> Value {
        let mut array = json!({"level": self.level, "members": self.members});
        if self.level != "raid1" {
            array["chunk_kib"] = json!(64);
        }
        for (key, value) in self.extra.as_object().unwrap() {
            array[key] = value.clone();
        }
        json!({
            "seed": 3,
            "device": {"model": "generic_1tb_sata", "array": array},
            "queue": {"scheduler": self.scheduler, "kernel": self.kernel},
            "phases": [{"operation": "test", "jobs": [job]}],
        })
    }

    fn run(&self, job: Value) -> Value {
        let spec: TrialSpec = serde_json::from_value(self.spec(job)).unwrap();
        trial::run(&spec).unwrap_or_else(|error| panic!("{}: {error}", self.level))
    }

    fn refuse(&self) -> String {
        let spec: TrialSpec = serde_json::from_value(self.spec(random(4096, 100.0, 10))).unwrap();
        trial::run(&spec).unwrap_err()
    }
}

fn random(block: u64, reads: f64, ios: u64) -> Value {
    json!({"threads": 4, "pattern": "random", "block_bytes": block, "read_percent": reads, "ios": ios})
}

fn sequential(block: u64, reads: f64, ios: u64) -> Value {
    json!({"threads": 1, "pattern": "sequential", "block_bytes": block, "read_percent": reads, "ios": ios, "region_bytes": 4096 * MIB})
}

fn phase(result: &Value) -> &Value {
    &result["phases"][0]
}

fn moved(result: &Value) -> (u64, u64) {
    let sum = |key: &str| {
        let members = phase(result)["members"].as_array().unwrap();
        members
            .iter()
            .map(|member| member[key].as_u64().unwrap())
            .sum()
    };
    (sum("bytes_read"), sum("bytes_written"))
}

fn mb_per_s(result: &Value) -> f64 {
    phase(result)["bytes"].as_f64().unwrap() / phase(result)["elapsed_ns"].as_f64().unwrap() * 1e3
}

const KERNELS: [(&str, &str); 6] = [
    ("2.6.24", "cfq"),
    ("2.6.32", "deadline"),
    ("4.4", "cfq"),
    ("4.19", "bfq"),
    ("6.1", "mq-deadline"),
    ("6.12", "none"),
];

#[test]
fn every_byte_read_is_read_once_from_one_member() {
    for (kernel, scheduler) in KERNELS {
        for (level, members) in [
            ("raid0", 2),
            ("raid1", 3),
            ("raid5", 4),
            ("raid6", 5),
            ("raid10", 4),
        ] {
            let result =
                Case::new(level, members)
                    .on(kernel, scheduler)
                    .run(random(96 << 10, 100.0, 50));
            assert_eq!(
                moved(&result),
                (4 * 50 * (96 << 10), 0),
                "{level} on {kernel}"
            );
            assert_eq!(phase(&result)["ios"], 200);
        }
    }
}

#[test]
fn a_mirrored_write_reaches_every_copy_once() {
    for (kernel, scheduler) in KERNELS {
        for (level, members, copies) in [("raid0", 3, 1), ("raid1", 3, 3), ("raid10", 4, 2)] {
            let result =
                Case::new(level, members)
                    .on(kernel, scheduler)
                    .run(random(96 << 10, 0.0, 50));
            assert_eq!(
                moved(&result),
                (0, copies * 4 * 50 * (96 << 10)),
                "{level} on {kernel}"
            );
        }
    }
}

#[test]
fn a_small_write_to_raid5_of_five_reads_old_data_and_parity_and_writes_both() {
    for (kernel, scheduler) in KERNELS {
        let result = Case::new("raid5", 5)
            .on(kernel, scheduler)
            .run(random(4096, 0.0, 50));
        assert_eq!(moved(&result), (2 * 200 * 4096, 2 * 200 * 4096), "{kernel}");
    }
}

#[test]
fn a_small_write_to_raid5_of_three_reads_the_other_data_instead() {
    let result = Case::new("raid5", 3).run(random(4096, 0.0, 50));
    assert_eq!(moved(&result), (200 * 4096, 2 * 200 * 4096));
}

#[test]
fn a_small_write_to_raid6_writes_data_and_two_parities() {
    let result = Case::new("raid6", 6).run(random(4096, 0.0, 50));
    // Both ways read three pages with six members; a tie reconstructs.
    assert_eq!(moved(&result), (3 * 200 * 4096, 3 * 200 * 4096));
}

#[test]
fn a_full_stripe_write_reads_nothing() {
    for (kernel, scheduler) in KERNELS {
        let result =
            Case::new("raid5", 4)
                .on(kernel, scheduler)
                .run(sequential(192 << 10, 0.0, 100));
        let written = 100 * (192 << 10);
        let (read, wrote) = moved(&result);
        assert_eq!(wrote, written / 3 * 4, "{kernel}");
        // Old kernels take bios of 124 KiB, so a row may be visited before all of it is there.
        if kernel >= "4" {
            assert_eq!(read, 0, "{kernel}");
        }
    }
}

#[test]
fn small_random_writes_cost_raid5_more_than_raid10_and_raid6_more_than_raid5() {
    let rate = |level, members| mb_per_s(&Case::new(level, members).run(random(4096, 0.0, 200)));
    let (ten, five, six) = (rate("raid10", 6), rate("raid5", 6), rate("raid6", 6));
    assert!(ten > 1.3 * five && five > 1.1 * six, "{ten} {five} {six}");
}

#[test]
fn a_degraded_array_serves_every_byte_and_reads_more() {
    for (level, members) in [("raid1", 2), ("raid5", 4), ("raid6", 5), ("raid10", 4)] {
        for reads in [100.0, 0.0] {
            let case = Case::new(level, members).with("missing", json!([1]));
            let result = case.run(random(16 << 10, reads, 100));
            assert_eq!(phase(&result)["bytes"], 400 * (16 << 10), "{level}");
            let lost = &phase(&result)["members"][1];
            assert_eq!(
                (&lost["bytes_read"], &lost["bytes_written"]),
                (&json!(0), &json!(0))
            );
        }
    }
    let whole = Case::new("raid5", 4).run(random(16 << 10, 100.0, 200));
    let lost = Case::new("raid5", 4)
        .with("missing", json!([0]))
        .run(random(16 << 10, 100.0, 200));
    let ratio = moved(&lost).0 as f64 / moved(&whole).0 as f64;
    // A quarter of the reads becomes three.
    assert!((1.4..1.6).contains(&ratio), "{ratio}");
    assert!(mb_per_s(&lost) < mb_per_s(&whole));
}

#[test]
fn sequential_reads_and_writes_use_the_width_of_the_array() {
    let rate = |level, members, reads| {
        let mut job = sequential(MIB, reads, 200);
        job["depth"] = json!(4);
        mb_per_s(&Case::new(level, members).run(job))
    };
    let (two, four) = (rate("raid0", 2, 100.0), rate("raid0", 4, 100.0));
    assert!(four > 1.5 * two, "{four} {two}");
    assert!(rate("raid5", 4, 100.0) > 1.5 * rate("raid1", 2, 100.0));
}

#[test]
fn md_charges_its_thread_and_parity_costs_most() {
    let thread = |level, members| {
        let result = Case::new(level, members).run(sequential(MIB, 0.0, 50));
        phase(&result)["cpu"]["thread_s"].as_f64().unwrap()
    };
    assert_eq!(thread("raid0", 4), 0.0);
    // Full stripes: none reads.
    let raid5 = thread("raid5", 3);
    assert!(thread("raid6", 4) > raid5 && raid5 > thread("raid10", 4));
}

/// Interrupts come to the processor that submitted: what a thread sends ends on its own.
#[test]
fn the_thread_of_raid5_takes_the_interrupts_of_its_requests() {
    let thread = |scheduler, interrupt_ns: u64| {
        let mut spec = Case::new("raid5", 4)
            .on("6.1", scheduler)
            .spec(random(4096, 0.0, 300));
        spec["host"] = json!({ "interrupt_ns": interrupt_ns });
        let result = trial::run(&serde_json::from_value::<TrialSpec>(spec).unwrap()).unwrap();
        phase(&result)["cpu"]["thread_s"].as_f64().unwrap()
    };
    let (none, one) = (thread("none", 0), thread("none", 1_000));
    // Two reads and two writes, of four tasks with 300 each.
    let each = (one - none) / 1200.0;
    assert!((3.8e-6..4.1e-6).contains(&each), "{each}");
    assert!(thread("mq-deadline", 0) > none);
}

/// As `issue … p0` in `tests/vectors/md/raid1-2-ssd/wr1.csv` says of 6.1.
#[test]
fn copies_of_a_direct_write_are_sent_by_its_task_or_by_the_thread() {
    let by_thread = |kernel, scheduler, bitmap: &str| {
        let case = Case::new("raid1", 2).on(kernel, scheduler);
        let mut job = random(4096, 0.0, 300);
        job["region_bytes"] = json!(MIB);
        let found = case.with("bitmap", json!(bitmap)).run(job);
        // Pages of a bitmap are few: each is one turn of the thread.
        phase(&found)["cpu"]["thread_s"].as_f64().unwrap() > 1e-3
    };
    assert!(by_thread("2.6.32", "deadline", "none"));
    assert!(!by_thread("4.18", "none", "internal") && !by_thread("6.1", "none", "none"));
    assert!(!by_thread("6.8", "none", "none") && by_thread("6.8", "none", "internal"));
}

#[test]
fn a_member_without_a_free_request_holds_the_task_and_nothing_is_lost() {
    for level in ["raid0", "raid1", "raid5", "raid10"] {
        let mut spec = Case::new(level, 4).spec(
            json!({"threads": 40, "depth": 4, "pattern": "random", "block_bytes": 8192,
            "read_percent": 50.0, "ios": 20}),
        );
        spec["queue"]["nr_requests"] = json!(4);
        let spec: TrialSpec = serde_json::from_value(spec).unwrap();
        let result = trial::run(&spec).unwrap();
        assert_eq!(phase(&result)["ios"], 800, "{level}");
    }
}

#[test]
fn the_same_trial_gives_the_same_result() {
    let case = Case::new("raid5", 4);
    assert_eq!(
        case.run(random(4096, 50.0, 50)),
        case.run(random(4096, 50.0, 50))
    );
}

#[test]
fn a_resync_beside_a_load_gets_at_least_its_minimum_and_costs_the_load() {
    for (kernel, scheduler) in KERNELS {
        for (level, members) in [("raid1", 2), ("raid5", 4), ("raid6", 5), ("raid10", 4)] {
            let job = json!({"threads": 4, "pattern": "random", "block_bytes": 4096, "read_percent": 70.0, "ios": 1000});
            let alone = Case::new(level, members)
                .on(kernel, scheduler)
                .run(job.clone());
            let least = 2000;
            let beside = Case::new(level, members)
                .on(kernel, scheduler)
                .with("resync", json!({"min_kib_s": least}))
                .run(job);
            let speed = phase(&beside)["resync"]["kib_per_s"].as_f64().unwrap();
            assert!(
                speed > 0.8 * f64::from(least),
                "{level} on {kernel}: {speed}"
            );
            // Before 4.2 a resync rests half a second after each 128 KiB once it is at its minimum: a cost within the noise of a short run.
            if !kernel.starts_with('2') {
                assert!(mb_per_s(&beside) < mb_per_s(&alone), "{level} on {kernel}");
            }
        }
    }
}

/// The stripe cache grows for a rebuild from Linux 4.1 on, so that reads wait behind many of its requests: ten large disks left 4 of 80 random reads a second
/// and kept their pace (linux-raid, Linux 6.14).
#[test]
fn random_reads_beside_a_rebuild_of_a_new_kernel_wait_behind_a_cache_full_of_it() {
    let read =
        json!({"threads": 1, "pattern": "random", "block_bytes": 4096, "read_percent": 100.0});
    let beside = |kernel, scheduler| {
        let mut spec = Case::new("raid5", 6)
            .on(kernel, scheduler)
            .with("missing", json!([2]))
            .with("resync", json!({"min_kib_s": 200_000}))
            .spec(read.clone());
        spec["phases"][0]["runtime_ns"] = json!(20_000_000_000u64);
        let found = trial::run(&serde_json::from_value(spec).unwrap()).unwrap();
        let seen = phase(&found);
        let rate = seen["ios"].as_f64().unwrap() / (seen["elapsed_ns"].as_f64().unwrap() / 1e9);
        (rate, seen["resync"]["kib_per_s"].as_f64().unwrap())
    };
    let (reads, rebuild) = beside("6.12", "none");
    let (before, held_up) = beside("2.6.32", "deadline");
    assert!(reads < 0.5 * before, "{reads} a second, {before} before");
    assert!(rebuild > 1.5 * held_up, "{rebuild} KiB/s, {held_up} before");
}

fn rebuilding(case: &Case, model: &str, job: &Value) -> Value {
    let mut spec = case.spec(job.clone());
    spec["device"]["model"] = json!(model);
    spec["queue"]["hz"] = json!(1000);
    spec["phases"][0]["runtime_ns"] = json!(10_000_000_000u64);
    trial::run(&serde_json::from_value(spec).unwrap()).unwrap()
}

/// Drives of 2 GB/s and more, 3 + 1 of them: 1,027,434 KiB/s each (linux-raid 2025-01-27, A. Gavriliuk, Linux 6.12; at 250 Hz it waits longer for heads).
#[test]
fn one_thread_bounds_a_rebuild_of_fast_drives() {
    let case = Case::new("raid5", 4)
        .on("6.12", "none")
        .with("missing", json!([2]))
        .with("resync", json!({"max_kib_s": 20_000_000}));
    let idle = json!({"pattern": "random", "block_bytes": 4096, "rate_iops": 1.0});
    let found = rebuilding(&case, "intel_p5510", &idle);
    let pace = phase(&found)["resync"]["kib_per_s"].as_f64().unwrap();
    assert!((0.8..1.2).contains(&(pace / 1_027_434.0)), "{pace}");
    let alone = found["array"]["member_bytes"].as_f64().unwrap()
        / found["array"]["rebuild_s"].as_f64().unwrap()
        / 1024.0;
    assert!((0.8..1.25).contains(&(alone / pace)), "{alone}, {pace}");
}

/// The thread sends the rebuild's requests and the program's in their order; neither takes all that become free.
#[test]
fn a_program_gets_its_turn_beside_a_rebuild_without_limit() {
    let case = Case::new("raid5", 4)
        .on("6.12", "none")
        .with("missing", json!([2]))
        .with("resync", json!({"max_kib_s": 10_000_000}));
    let write = json!({"pattern": "random", "block_bytes": 4096, "read_percent": 0.0});
    let found = rebuilding(&case, "generic_1tb_sata", &write);
    let (ios, elapsed) = (&phase(&found)["ios"], &phase(&found)["elapsed_ns"]);
    assert!(ios.as_u64().unwrap() >= 4, "{ios}");
    assert!(elapsed.as_u64().unwrap() < 15_000_000_000, "{elapsed}");
}

#[test]
fn a_rebuild_of_raid_10_goes_at_its_limit_on_the_new_member() {
    let case = Case::new("raid10", 4)
        .with("missing", json!([1]))
        .with("resync", json!({"max_kib_s": 20_000}));
    let idle =
        json!({"pattern": "random", "block_bytes": 4096, "read_percent": 100.0, "rate_iops": 1.0});
    let found = rebuilding(&case, "generic_1tb_sata", &idle);
    let written = phase(&found)["members"][1]["bytes_written"]
        .as_f64()
        .unwrap()
        / 1024.0;
    let seconds = phase(&found)["elapsed_ns"].as_f64().unwrap() / 1e9;
    assert!(
        (0.85..1.15).contains(&(written / seconds / 20_000.0)),
        "{written}"
    );
}

#[test]
fn a_rebuild_writes_the_new_member_only() {
    let case = Case::new("raid5", 4)
        .with("missing", json!([2]))
        .with("resync", json!({}));
    let result = case.run(random(4096, 100.0, 100));
    let members = phase(&result)["members"].as_array().unwrap();
    assert!(members[2]["bytes_written"].as_u64().unwrap() > 0);
    assert_eq!(members[2]["bytes_read"], 0);
    assert_eq!(members[0]["bytes_written"], 0);
    assert_eq!(result["array"]["state"], "rebuild");
}

#[test]
fn capacity_failures_and_rebuild_time_come_with_the_result() {
    let array =
        |level, members| Case::new(level, members).run(random(4096, 100.0, 10))["array"].clone();
    let five = array("raid5", 4);
    assert_eq!(five["survives_failures"], 1);
    let member = five["member_bytes"].as_u64().unwrap();
    assert_eq!(five["capacity_bytes"], 3 * member);
    // A terabyte at the mean rate of a disk of its time: hours, not minutes or days.
    let hours = five["rebuild_s"].as_f64().unwrap() / 3600.0;
    assert!((1.5..6.0).contains(&hours), "{hours}");
    assert_eq!(array("raid0", 4)["rebuild_s"], Value::Null);
    assert_eq!(array("raid6", 5)["survives_failures"], 2);
}

/// What is gone already cannot fail again, and until a first resync is through there is no parity to compute from.
#[test]
fn failures_left_are_those_of_the_state() {
    let left = |level, members, states: &[(&str, Value)]| {
        let case = Case::new(level, members);
        let case = states
            .iter()
            .fold(case, |case, (key, value)| case.with(key, value.clone()));
        case.run(random(4096, 100.0, 10))["array"]["survives_failures"].clone()
    };
    let one = [("missing", json!([1]))];
    let resync = [("resync", json!({}))];
    let rebuild = [("missing", json!([1])), ("resync", json!({}))];
    assert_eq!(left("raid5", 4, &one), 0);
    assert_eq!(left("raid6", 5, &one), 1);
    assert_eq!(left("raid6", 5, &rebuild), 1);
    assert_eq!(left("raid10", 4, &one), 0);
    assert_eq!(left("raid5", 4, &resync), 0);
}

#[test]
fn impossible_arrays_are_refused_in_a_sentence() {
    let cases = [
        (
            Case::new("raid5", 2),
            "RAID 5 needs at least 3 members, not 2",
        ),
        (
            Case::new("raid5", 3).with("chunk_kib", json!(48)),
            "a RAID 5 chunk is a power of two, not 48 KiB",
        ),
        (
            Case::new("raid5", 3).with("member_bytes", json!(10_000)),
            "a member of 9728 bytes is smaller than one chunk of 65536 bytes",
        ),
        (
            Case::new("raid10", 4).with("layout", json!("x2")),
            "layout x2 of RAID 10 is not n, f or o with a number of copies",
        ),
        (
            Case::new("raid10", 4).with("layout", json!("n5")),
            "RAID 10 with 5 copies needs as many members, not 4",
        ),
        (
            Case::new("raid1", 2).with("chunk_kib", json!(64)),
            "RAID 1 has no chunks, so a chunk size means nothing to it",
        ),
        (
            Case::new("raid0", 2).with("missing", json!([0])),
            "RAID 0 of 2 members does not survive the loss of 0",
        ),
        (
            Case::new("raid10", 4).with("missing", json!([0, 1])),
            "RAID 10 of 4 members does not survive the loss of 0 and 1",
        ),
        (
            Case::new("raid7", 4),
            "there is no RAID level raid7 (known: raid0, raid1, raid5, raid6, raid10)",
        ),
        (
            Case::new("raid5", 4).with("stripe_cache_size", json!(16)),
            "stripe_cache_size is 16 stripes, outside 17 to 32768 stripes",
        ),
    ];
    for (case, sentence) in cases {
        assert_eq!(case.refuse(), sentence);
    }
}

fn bitmap_pages(result: &Value) -> u64 {
    phase(result)["bitmap"]["page_writes"].as_u64().unwrap_or(0)
}

#[test]
fn scattered_writes_wait_for_the_bitmap_and_those_to_one_part_do_not() {
    for (level, members, kernel, scheduler) in [
        ("raid1", 2, "2.6.24", "deadline"),
        ("raid1", 2, "6.1", "mq-deadline"),
        ("raid1", 2, "6.12", "mq-deadline"),
        ("raid5", 4, "2.6.32", "noop"),
        ("raid6", 6, "6.1", "mq-deadline"),
        ("raid10", 4, "4.4", "cfq"),
    ] {
        let case = |bitmap: &str| {
            Case::new(level, members)
                .on(kernel, scheduler)
                .with("bitmap", json!(bitmap))
                .with(
                    "bitmap_chunk_kib",
                    if bitmap == "none" {
                        Value::Null
                    } else {
                        json!(1024)
                    },
                )
        };
        let scattered = random(4096, 0.0, 100);
        let (with, without) = (
            case("internal").run(scattered.clone()),
            case("none").run(scattered),
        );
        assert!(mb_per_s(&with) < mb_per_s(&without), "{level} {kernel}");
        // Nearly every write meets a part of its own: a page on every member, fewer where writes share one.
        let pages = bitmap_pages(&with);
        assert!(
            pages >= 100 * u64::from(members),
            "{level} {kernel}: {pages}"
        );
        assert!(
            pages <= 4 * 100 * 2 * u64::from(members),
            "{level} {kernel}: {pages}"
        );
        assert_eq!(bitmap_pages(&without), 0);

        let mut near = random(4096, 0.0, 100);
        near["region_bytes"] = json!(MIB);
        let pages = bitmap_pages(&case("internal").run(near));
        assert!(
            (1..=4 * u64::from(members)).contains(&pages),
            "{level} {kernel}: {pages}"
        );
        assert_eq!(
            bitmap_pages(&case("internal").run(random(4096, 100.0, 50))),
            0,
            "reads"
        );
    }
}

#[test]
fn a_part_that_is_left_alone_is_cleared_and_has_to_be_set_again() {
    let pages = |think_ms: u64| {
        let mut job = random(4096, 0.0, 8);
        job["threads"] = json!(1);
        job["region_bytes"] = json!(MIB);
        job["think_ns"] = json!(think_ms * 1_000_000);
        bitmap_pages(
            &Case::new("raid1", 2)
                .with("bitmap", json!("internal"))
                .run(job),
        )
    };
    assert_eq!(
        pages(3_000),
        2,
        "written on every three seconds, the bit stays"
    );
    // Set and cleared each time: 8 settings, 7 clearings, on two members.
    assert_eq!(pages(20_000), 2 * 15);
}

#[test]
fn a_bitmap_where_it_means_nothing_is_refused() {
    for case in [
        Case::new("raid0", 2).with("bitmap", json!("internal")),
        Case::new("raid1", 2).with("bitmap", json!("external")),
        Case::new("raid1", 2).with("bitmap_chunk_kib", json!(64)),
        Case::new("raid1", 2)
            .with("bitmap", json!("internal"))
            .with("bitmap_chunk_kib", json!(3)),
    ] {
        let error = case.refuse();
        assert!(error.contains("bitmap") && !error.contains('\n'), "{error}");
    }
}

#[test]
fn reads_of_a_missing_member_beside_writes_to_the_same_rows_end() {
    // 64 threads in 8 MiB: rows are read while their pages are on the way to the members.
    let job = json!({"threads": 64, "pattern": "random", "block_bytes": 12288, "read_percent": 30, "ios": 50, "region_bytes": 8 * MIB});
    for (kernel, scheduler) in KERNELS {
        for (level, members, missing) in [("raid5", 4, json!([1])), ("raid6", 5, json!([0, 3]))] {
            let array = Case::new(level, members).on(kernel, scheduler);
            let result = array.with("missing", missing).run(job.clone());
            assert_eq!(phase(&result)["ios"], 64 * 50, "{level} on {kernel}");
        }
    }
}

#[test]
fn buffered_random_writes_with_much_memory_end() {
    // Tens of thousands of dirty pages wait for stripes; tried all of them after each request of a member, that took minutes.
    for (level, members) in [("raid5", 4), ("raid6", 6)] {
        for (kernel, scheduler) in [("6.1", "mq-deadline"), ("6.12", "none")] {
            let job = json!({"threads": 4, "pattern": "random", "block_bytes": 4096, "read_percent": 0, "direct": false, "region_bytes": 8192 * MIB});
            let mut spec = Case::new(level, members).on(kernel, scheduler).spec(job);
            spec["cache"] = json!({"limit_bytes": 1024 * MIB});
            spec["phases"][0]["runtime_ns"] = json!(20_000_000_000u64);
            let spec: TrialSpec = serde_json::from_value(spec).unwrap();
            let result = trial::run(&spec).unwrap();
            assert!(
                phase(&result)["ios"].as_u64().unwrap() > 10_000,
                "{level} on {kernel}"
            );
        }
    }
}

/// Readers of a missing member that wait for requests may be told after their phase is over, when there are fewer processes.
#[test]
fn who_is_told_after_his_phase_is_nobody() {
    let mut case = Case::new("raid5", 8).on("6.12", "none");
    case = case.with("missing", json!([2])).with("chunk_kib", json!(4));
    let job = |threads: u32, depth: u32, ios: u32, sequential: bool| {
        let pattern = if sequential { "sequential" } else { "random" };
        let read = if sequential { 100.0 } else { 50.0 };
        json!({"threads": threads, "depth": depth, "pattern": pattern, "block_bytes": 4096, "ios": ios,
            "read_percent": read})
    };
    let mut spec = case.spec(job(8, 8, 500, true));
    spec["seed"] = json!(526);
    spec["device"]["depth"] = json!(1);
    spec["phases"] = json!([
        {"operation": "first", "jobs": [job(8, 8, 500, true)]},
        {"operation": "second", "jobs": [job(1, 1, 4000, false)]},
    ]);
    let spec: TrialSpec = serde_json::from_value(spec).unwrap();
    let result = trial::run(&spec).unwrap();
    assert_eq!(result["phases"][1]["ios"], 4000);
}

/// A request that md cuts costs its task a bio for each piece: of small chunks on fast drives that is more than the drives take.
#[test]
fn chunks_of_4_kib_make_an_array_of_fast_drives_slower_than_one() {
    let rate = |array: Value, read_percent: u32| {
        let job = json!({"threads": 1, "pattern": "sequential", "block_bytes": 512 * 1024, "read_percent": read_percent, "ios": 200,
            "region_bytes": 4096 * MIB});
        let spec: TrialSpec = serde_json::from_value(json!({
            "seed": 3,
            "device": {"model": "samsung_980_pro_1tb", "array": array},
            "queue": {"scheduler": "none", "kernel": "6.1"},
            "phases": [{"operation": "test", "jobs": [job]}],
        }))
        .unwrap();
        mb_per_s(&trial::run(&spec).unwrap())
    };
    for read_percent in [100, 0] {
        let chunk = |kib: u64| {
            let array = json!({"level": "raid0", "members": 4, "chunk_kib": kib});
            rate(array, read_percent)
        };
        let one = rate(Value::Null, read_percent);
        let (small, usual) = (chunk(4), chunk(64));
        assert!(small < 0.6 * one, "{small} of {one} MB/s");
        assert!(usual > 1.2 * one, "{usual} of {one} MB/s");
    }
}

/// On a disk a page of the bitmap is on the platter before data go, a barrier on old kernels, a flush before and behind it on later ones: it costs more
/// than a cached write.
#[test]
fn pages_of_the_bitmap_are_forced_to_the_platter() {
    let slower = |kernel: &'static str| {
        let rate = |bitmap: &str| {
            let mut job = random(4096, 0.0, 60);
            job["threads"] = json!(1);
            let case = Case::new("raid1", 2)
                .on(kernel, "noop")
                .with("bitmap", json!(bitmap));
            mb_per_s(&case.run(job))
        };
        rate("none") / rate("internal")
    };
    for kernel in ["2.6.24", "2.6.32", "4.4"] {
        let ratio = slower(kernel);
        assert!(ratio > 1.3, "{kernel}: {ratio}");
    }
}

/// What a write to a clean bit takes, in ms, by what the members report of their caches: a flush and one forced write on NVMe, a flush, a write and a
/// flush on SATA, a plain write where the cache survives. The members' caches are empty, so the first flush takes no time.
#[test]
fn a_page_of_the_bitmap_goes_as_its_member_keeps_it() {
    let ms = |model: &str| {
        let job = json!({"threads": 1, "depth": 1, "pattern": "random", "block_bytes": 4096, "read_percent": 0, "ios": 1});
        let spec: TrialSpec = serde_json::from_value(json!({
            "seed": 3,
            "device": {"model": model, "array": {"level": "raid1", "members": 2, "bitmap": "internal", "bitmap_chunk_kib": 64}},
            "queue": {"scheduler": "mq-deadline", "kernel": "6.1"},
            "phases": [{"operation": "test", "jobs": [job]}],
        }))
        .unwrap();
        let result = trial::run(&spec).unwrap();
        assert_eq!(bitmap_pages(&result), 2);
        phase(&result)["latency_mean_ns"].as_f64().unwrap() / 1e6
    };
    let (forced, flushed, safe) = (
        ms("samsung_980_pro_1tb"),
        ms("samsung_850_evo"),
        ms("kioxia_cm6_r"),
    );
    assert!((4.15..4.5).contains(&forced), "{forced}");
    assert!((2.5..3.0).contains(&flushed), "{flushed}");
    assert!(safe < 0.1, "{safe}");
}

/// Requests a second of eight `intel_p5800x` as an array: `threads` readers or writers of 4 KiB, each with `depth` under way.
fn per_second(
    level: &str,
    kernel: &str,
    bitmap: &str,
    processors: u32,
    (threads, depth): (u32, u32),
    reads: u32,
) -> f64 {
    let job = json!({"threads": threads, "depth": depth, "pattern": "random", "block_bytes": 4096, "read_percent": reads,
        "ios": 20_000 / threads, "region_bytes": 1024 * MIB});
    let spec: TrialSpec = serde_json::from_value(json!({
        "seed": 3,
        "device": {"model": "intel_p5800x", "array": {"level": level, "members": 8, "chunk_kib": 64, "bitmap": bitmap}},
        "queue": {"scheduler": "none", "kernel": kernel},
        "host": {"processors": processors},
        "phases": [{"operation": "test", "jobs": [job]}],
    }))
    .unwrap();
    let result = trial::run(&spec).unwrap();
    let phase = phase(&result);
    phase["ios"].as_f64().unwrap() / phase["elapsed_ns"].as_f64().unwrap() * 1e9
}

/// In the one thread of RAID 5 a bitmap costs a list, and tasks that write by turns meet at its lock; a lockless one has no lock.
#[test]
fn a_bitmap_costs_the_thread_of_raid5_and_more_where_several_tasks_write() {
    let share = |bitmap: &str, load: (u32, u32)| {
        per_second("raid5", "6.17", bitmap, 8, load, 0)
            / per_second("raid5", "6.17", "none", 8, load, 0)
    };
    let (one, many) = (share("internal", (1, 64)), share("internal", (8, 16)));
    assert!((0.92..0.99).contains(&one), "{one}");
    assert!((0.75..one - 0.04).contains(&many), "{many} and {one}");
    let (alone, lockless) = (share("lockless", (1, 64)), share("lockless", (8, 16)));
    // The thread flushes its pages in each of its rounds, so several tasks lose no more than one.
    assert!(lockless > alone - 0.01, "{lockless} and {alone}");
    assert!(lockless > many + 0.02, "{lockless} and {many}");
}

/// Up to 5.13 healthy reads of RAID 5 take one lock, whatever drives and processors there are (published: 1.07 to 1.26 million a second).
#[test]
fn reads_of_raid5_meet_at_one_lock_before_5_14() {
    let rate = |kernel| per_second("raid5", kernel, "none", 32, (32, 16), 100);
    let (old, new) = (rate("5.13"), rate("5.14"));
    assert!((1.0e6..1.3e6).contains(&old), "{old}");
    assert!(new > 1.5 * old, "{new} against {old}");
}

/// Up to 6.0 RAID 10 has one lock for all that it is asked for (published of four drives: 1.84 million reads a second, 2.44 without it).
#[test]
fn raid10_takes_one_lock_before_6_1() {
    let rate = |kernel, tasks, reads| per_second("raid10", kernel, "none", 32, tasks, reads);
    let (old, new) = (rate("6.0", (32, 16), 100), rate("6.1", (32, 16), 100));
    assert!((1.7e6..1.9e6).contains(&old), "{old}");
    assert!(new > 1.5 * old, "{new} against {old}");
    // One task never waits for the lock.
    let (old, new) = (rate("6.0", (1, 64), 100), rate("6.1", (1, 64), 100));
    assert!((0.99..1.01).contains(&(new / old)), "{new} against {old}");
}
