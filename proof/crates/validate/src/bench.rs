//! The simulator's own speed: simulated operations per second of one core's CPU time.
//!
//! Each case is a trial like any other, built from its JSON spec, with histograms and windows on; start-up is inside the time. The case
//! `article` is programs on files: page cache, file system and two drives, its operations are calls of the program.

use cpu_time::ThreadTime;
use seekwise_sim::spec::TrialSpec;
use seekwise_sim::storage::MemberTotals;
use seekwise_sim::{assemble, trial};
use seekwise_units::PAGE_BYTES;
use serde_json::{json, Value};

pub struct BenchFigures {
    pub name: String,
    pub ios: u64,
    pub cpu_seconds: f64,
    /// Build of the trial alone; of `article`, reading the specs.
    pub start_seconds: f64,
    /// Of an array.
    pub members: Option<MemberCost>,
}

/// What an array costs per command of its drives, against one of them alone under the load that each of them had.
#[derive(Clone, Copy, Debug)]
pub struct MemberCost {
    pub commands: u64,
    pub alone_ios: u64,
    pub alone_cpu_seconds: f64,
}

impl MemberCost {
    /// CPU time of a command of the array, `cpu_seconds` for all, over that of a command of one drive alone.
    pub fn ratio(&self, cpu_seconds: f64) -> f64 {
        (cpu_seconds / self.commands as f64) / (self.alone_cpu_seconds / self.alone_ios as f64)
    }
}

pub const CASES: &[&str] = &[
    "hdd-deadline",
    "hdd-noop",
    "hdd-cfq",
    "hdd-bfq",
    "hdd-kyber",
    "ssd-mq-deadline",
    "nvme-none",
    "null-none",
    "cores-none",
    "cores-mq-deadline",
    "raid5-read",
    "raid5-write",
    "raid5-mixed",
    ARTICLE,
];

/// The case that is a whole run of both of the article's systems.
pub const ARTICLE: &str = "article";

/// Two systems of the 2008 article, the whole of tiotest with four threads: md's RAID 1 (S1), the same drives behind a 3ware 9650SE (B).
fn article_spec((below, unit): (&str, Value), seed: u64) -> Value {
    const THREADS: u64 = 4;
    const MEMORY_BYTES: u64 = 256 << 20;
    const FILE_BYTES: u64 = 1200 << 20;
    const PART_BYTES: u64 = 3 * MEMORY_BYTES / THREADS;
    let phase = |write: bool, random: bool| {
        // What the writing pass left behind a controller has gone to the drives before the reading one begins.
        let idle = (!write && !random)
            .then(|| json!({"phase": 0, "times": FILE_BYTES as f64 / PART_BYTES as f64 - 1.0}));
        json!({"operation": "pass", "idle": idle, "jobs": [{
            "threads": THREADS,
            "pattern": if random { "random" } else { "sequential" },
            "read_percent": if write { 0 } else { 100 },
            "block_bytes": 4096,
            "direct": false,
            "own_regions": true,
            "region_bytes": THREADS * FILE_BYTES,
            "ios": if random { 1000 } else { PART_BYTES / PAGE_BYTES },
            "fsync": write,
        }]})
    };
    json!({
        "seed": seed,
        "device": {"model": "st3250620ns", (below): unit},
        "queue": {"scheduler": "cfq", "kernel": "2.6.24", "hz": 250},
        "host": {"model": "opteron_2212"},
        "cache": {"limit_bytes": MEMORY_BYTES},
        "files": {"filesystem": "ext3"},
        "phases": [phase(true, false), phase(true, true), phase(false, false), phase(false, true)],
    })
}

/// Whole runs of both systems, further ones with further seeds, until there are as many calls.
fn article(ios: u64, seed: u64) -> Result<BenchFigures, String> {
    let (mut done, mut start_seconds) = (0, 0.0);
    let start = ThreadTime::now();
    for seed in seed.. {
        let array = json!({"level": "raid1", "members": 2});
        let card = json!({"model": "9650-4LP", "level": "raid1", "drives": 2});
        for below in [("array", array), ("controller", card)] {
            let built = ThreadTime::now();
            let spec: TrialSpec = serde_json::from_value(article_spec(below, seed))
                .map_err(|error| error.to_string())?;
            start_seconds += built.elapsed().as_secs_f64();
            let result = trial::run(&spec)?;
            let phases = result["phases"].as_array().into_iter().flatten();
            done += phases
                .filter_map(|phase| phase["ios"].as_u64())
                .sum::<u64>();
        }
        if done >= ios {
            break;
        }
    }
    Ok(BenchFigures {
        name: ARTICLE.to_owned(),
        ios: done,
        cpu_seconds: start.elapsed().as_secs_f64(),
        start_seconds,
        members: None,
    })
}

/// Drives of the `raid5` cases.
const MEMBERS: u64 = 8;

/// The trial of a case: 8 threads, closed loop, 4 KiB random reads over the whole drive, unless the name says otherwise. `raid5`: eight
/// drives, 64 threads, so that each drive has as much to do as alone; mixed is 70 % reads.
pub fn spec(name: &str, ios: u64, seed: u64) -> Result<Value, String> {
    let mut threads = 8;
    let mut operation = "rand_read";
    let mut write_percent = 0;
    let mut array = None;
    if let Some(load) = name.strip_prefix("raid5-") {
        threads *= MEMBERS;
        array = Some(json!({"level": "raid5", "members": MEMBERS, "chunk_kib": 64}));
        (operation, write_percent) = match load {
            "write" => ("rand_write", 100),
            "mixed" => ("mixed", 30),
            _ => (operation, 0),
        };
    }
    let (model, scheduler, kernel) = match name {
        "hdd-deadline" => ("generic_1tb_sata", "deadline", "4.4"),
        "hdd-noop" => ("generic_1tb_sata", "noop", "4.4"),
        "hdd-cfq" => ("generic_1tb_sata", "cfq", "4.4"),
        "hdd-bfq" => ("generic_1tb_sata", "bfq", "6.1"),
        "hdd-kyber" => ("generic_1tb_sata", "kyber", "6.1"),
        "ssd-mq-deadline" => ("samsung_850_evo", "mq-deadline", "6.1"),
        "nvme-none" => ("samsung_990_pro_2tb", "none", "6.1"),
        "null-none" => ("null", "none", "6.1"),
        "raid5-read" | "raid5-write" | "raid5-mixed" => ("generic_1tb_sata", "deadline", "4.4"),
        other => {
            return Err(format!(
                "there is no case \"{other}\" (known: {})",
                CASES.join(", ")
            ))
        }
    };
    let phase = json!({"operation": operation, "jobs": [
        {"threads": threads, "pattern": "random", "block_bytes": 4096, "ios": ios.div_ceil(threads),
         "read_percent": 100 - write_percent}]});
    Ok(json!({
        "name": name,
        "seed": seed,
        "device": {"model": model, "array": array},
        "queue": {"scheduler": scheduler, "kernel": kernel},
        "phases": [phase],
    }))
}

/// Operations by which the load of a member is found.
const LOAD_IOS: u64 = 20_000;

/// One drive of an array's case under the load of a member: as many requests under way as a member has on average, and its share of reads. A small
/// write is two reads and two writes of members, two of them at once, so neither is the program's.
pub fn alone(name: &str, ios: u64, seed: u64) -> Result<Value, String> {
    let mut trial = spec(name, ios.min(LOAD_IOS), seed)?;
    let array: TrialSpec = serde_json::from_value(trial.clone()).map_err(|e| e.to_string())?;
    let (_, outcome) = assemble::build(&array)?.machine.run_phase(0)?;
    let sum = |of: fn(&MemberTotals) -> u64| outcome.members.iter().map(of).sum::<u64>() as f64;
    let read = sum(|member| member.read.0);
    let depth = sum(|member| member.taken.0) / outcome.elapsed.0 as f64 / MEMBERS as f64;
    let threads = (depth.round() as u64).max(1);
    let job = &mut trial["phases"][0]["jobs"][0];
    job["threads"] = json!(threads);
    job["ios"] = json!(ios.div_ceil(threads));
    job["read_percent"] = json!(100.0 * read / (read + sum(|member| member.written.0)));
    trial["phases"][0]["operation"] = json!("mixed");
    trial["device"]["array"] = Value::Null;
    Ok(trial)
}

/// Ten cores, 256 processes that keep one 4 KiB read outstanding each: drive and locks are both at their limits.
fn cores_spec(scheduler: &str, ios: u64, seed: u64) -> Value {
    // Between what the two reach: there are about as many operations as were asked for.
    const RATE: u64 = 600_000;
    json!({
        "name": "cores",
        "seed": seed,
        "device": {"model": "samsung_980_pro_1tb/preconditioned"},
        "queue": {"scheduler": scheduler, "kernel": "6.1"},
        "host": {"cores": 10, "synchronous_dispatch": true},
        "phases": [{"operation": "rand_read", "runtime_ns": (ios * 1_000_000_000 / RATE).max(1), "jobs": [
            {"threads": 256, "pattern": "random", "block_bytes": 4096}]}],
    })
}

/// Runs the case `name` of [`CASES`] with about `ios` operations. The error is one sentence, such as an unknown name.
pub fn run(name: &str, ios: u64, seed: u64) -> Result<BenchFigures, String> {
    if name == ARTICLE {
        return article(ios, seed);
    }
    let spec = match name.strip_prefix("cores-") {
        Some(scheduler) => cores_spec(scheduler, ios, seed),
        None => spec(name, ios, seed)?,
    };
    let (spec, result, cpu_seconds) = timed(spec)?;
    let start = ThreadTime::now();
    drop(assemble::build(&spec)?);
    let start_seconds = start.elapsed().as_secs_f64();
    let ios = |result: &Value| result["phases"][0]["ios"].as_u64().unwrap_or(0);
    let members = match result["phases"][0]["members"].as_array() {
        None => None,
        Some(members) => {
            let (_, drive, alone_cpu_seconds) = timed(alone(name, ios(&result), seed)?)?;
            Some(MemberCost {
                commands: members
                    .iter()
                    .filter_map(|member| member["commands"].as_u64())
                    .sum(),
                alone_ios: ios(&drive),
                alone_cpu_seconds,
            })
        }
    };
    Ok(BenchFigures {
        name: name.to_owned(),
        ios: ios(&result),
        cpu_seconds,
        start_seconds,
        members,
    })
}

/// A trial's spec and result, and the processor time that it took.
fn timed(trial: Value) -> Result<(TrialSpec, Value, f64), String> {
    let spec: TrialSpec = serde_json::from_value(trial).map_err(|e| e.to_string())?;
    let start = ThreadTime::now();
    let result = trial::run(&spec)?;
    Ok((spec, result, start.elapsed().as_secs_f64()))
}
