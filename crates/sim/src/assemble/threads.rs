//! From a phase's jobs to the threads that run it, each number checked.

use crate::cost::OperationCosts;
use crate::spec::check::{check, check_each};
use crate::spec::{ClassSpec, JobSpec, PatternSpec, PhaseSpec, TrialSpec};
use crate::task::ThreadPlan;
use seekwise_host::job::stream::ALWAYS;
use seekwise_host::job::{Gap, Pace, Pattern, Stream};
use seekwise_host::random::Random;
use seekwise_sched::{Priority, PriorityClass, ProcessId};
use seekwise_units::{Lba, Nanos, Sectors, PAGE_BYTES, SECTOR_BYTES};

/// A thread without a bound of its own stops here: more than any run finishes.
const IOS_MAX: u64 = 1 << 50;
/// A year of simulated time, in ns.
const YEAR_NS: f64 = 3.2e16;
const GIB: f64 = (1u64 << 30) as f64;
/// Why depth is for direct jobs.
pub(super) const ONE_CALL: &str = "a call through the page cache returns when it is done, so that a thread has no second one under way: depth is for direct jobs";

/// What the jobs of a trial read and write, and who carries that out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uses {
    /// Regions of the device, past the page cache.
    Regions,
    /// Regions of the device, through its page cache: as a file in one piece.
    Device,
    Files,
}

impl Uses {
    /// Files if the trial has any; the page cache if any job of any phase is buffered; otherwise regions.
    pub fn of(spec: &TrialSpec) -> Self {
        let buffered = |phase: &PhaseSpec| phase.jobs.iter().any(|job| !job.direct);
        if spec.files.is_some() {
            Self::Files
        } else if spec.phases.iter().any(buffered) {
            Self::Device
        } else {
            Self::Regions
        }
    }
}

/// Refuses what no phase can be, before anything runs.
pub fn check_phases(spec: &TrialSpec, capacity: Sectors) -> Result<(), String> {
    let uses = Uses::of(spec);
    for (index, phase) in spec.phases.iter().enumerate() {
        check_phase(phase, capacity, uses).map_err(|e| format!("phase {index}: {e}"))?;
    }
    Ok(())
}

fn check_phase(phase: &PhaseSpec, capacity: Sectors, uses: Uses) -> Result<(), String> {
    if let Some(traced) = &phase.traced {
        return if phase.jobs.is_empty() {
            traced.check()
        } else {
            Err("a phase has either jobs or a recorded load, not both".to_owned())
        };
    }
    if let Some(programs) = &phase.programs {
        let runtime = phase.runtime_ns.unwrap_or(0) as f64;
        check("runtime_ns", runtime, "ns", 1.0, YEAR_NS)?;
        check(
            "patience_ns",
            programs.patience_ns as f64,
            "ns",
            0.0,
            YEAR_NS,
        )?;
        return if phase.jobs.is_empty() {
            programs.check(capacity)
        } else {
            Err("a phase has either jobs or recorded programs, not both".to_owned())
        };
    }
    if phase.jobs.is_empty() {
        return Err("there is no job".to_owned());
    }
    let runtime = phase.runtime_ns.unwrap_or(1) as f64;
    check("runtime_ns", runtime, "ns", 1.0, YEAR_NS)?;
    let threads: u64 = phase.jobs.iter().map(|j| u64::from(j.threads)).sum();
    check("threads of all jobs", threads as f64, "threads", 1.0, 1e6)?;
    for (index, job) in phase.jobs.iter().enumerate() {
        check_job(phase, job, capacity, uses).map_err(|e| format!("job {index}: {e}"))?;
    }
    Ok(())
}

fn check_job(
    phase: &PhaseSpec,
    job: &JobSpec,
    capacity: Sectors,
    uses: Uses,
) -> Result<(), String> {
    check_each(&[
        ("threads", f64::from(job.threads), "threads", 1.0, 1e5),
        ("depth", f64::from(job.depth), "operations", 1.0, 65_536.0),
        ("block_bytes", job.block_bytes as f64, "bytes", 512.0, GIB),
    ])?;
    if job.block_bytes % SECTOR_BYTES != 0 {
        return Err(format!(
            "block_bytes is {} bytes, not a multiple of 512 bytes",
            job.block_bytes
        ));
    }
    check_sizes(job)?;
    if uses != Uses::Files {
        check_raw(job)?;
    }
    let reads = job.read_percent.unwrap_or(100.0);
    check("read_percent", reads, "%", 0.0, 100.0)?;
    let level = f64::from(job.level.unwrap_or(4));
    check_each(&[
        ("think_ns", job.think_ns as f64, "ns", 0.0, YEAR_NS),
        ("start_ns", job.start_ns as f64, "ns", 0.0, YEAR_NS),
        ("stagger_ns", job.stagger_ns as f64, "ns", 0.0, YEAR_NS),
        ("level", level, "(0 highest to 7 lowest)", 0.0, 7.0),
    ])?;
    if let Some(rate) = job.rate_iops {
        check("rate_iops", rate, "operations/s", 1e-3, 1e9)?;
    }
    if job.ios.is_none() && phase.runtime_ns.is_none() {
        return Err(
            "neither ios nor the phase's runtime_ns is given: the job would never end".to_owned(),
        );
    }
    let ios = job.ios.unwrap_or(1) as f64;
    check("ios", ios, "operations", 1.0, IOS_MAX as f64)?;
    if uses == Uses::Files {
        return Ok(());
    }
    region(job, capacity).map(|_| ())
}

/// What jobs on a raw device cannot ask for.
fn check_raw(job: &JobSpec) -> Result<(), String> {
    let whole = |bytes: u64| bytes % PAGE_BYTES == 0;
    if !job.direct && (!whole(job.block_bytes) || !whole(job.region_start_bytes)) {
        return Err("a buffered job reads and writes whole pages of 4096 bytes".to_owned());
    }
    if !job.direct && job.depth > 1 {
        return Err(ONE_CALL.to_owned());
    }
    if job.sync_every > 0 && job.rate_iops.is_some() {
        return Err("sync_every is for jobs in a closed loop".to_owned());
    }
    let wrong = [
        (job.fsync, "fsync"),
        (job.o_sync, "o_sync"),
        (!job.steps.is_empty(), "steps"),
    ];
    if let Some((_, what)) = wrong.iter().find(|(is, _)| *is) {
        return Err(format!("{what} is for jobs of a trial with files"));
    }
    Ok(())
}

fn check_sizes(job: &JobSpec) -> Result<(), String> {
    let total: f64 = job.sizes.iter().map(|(_, percent)| percent).sum();
    for (bytes, percent) in &job.sizes {
        check("share of a size", *percent, "%", 0.0, 100.0)?;
        check("size", *bytes as f64, "bytes", job.block_bytes as f64, GIB)?;
        if bytes % job.block_bytes != 0 {
            return Err(format!(
                "a size is {bytes} bytes, not a multiple of block_bytes, {} bytes",
                job.block_bytes
            ));
        }
    }
    if job.sizes.is_empty() || (total - 100.0).abs() < 1e-6 {
        Ok(())
    } else {
        Err(format!(
            "shares of sizes add up to {total} % instead of 100"
        ))
    }
}

/// Start and length of the job's region.
pub(super) fn region(job: &JobSpec, capacity: Sectors) -> Result<(Lba, Sectors), String> {
    let device_bytes = capacity.bytes().0;
    let first = job.region_start_bytes as f64;
    check(
        "region_start_bytes",
        first,
        "bytes",
        0.0,
        device_bytes as f64,
    )?;
    let rest = device_bytes - job.region_start_bytes;
    let length = job.region_bytes.unwrap_or(rest);
    check("region_bytes", length as f64, "bytes", 512.0, rest as f64)?;
    let parts = if job.own_regions {
        u64::from(job.threads)
    } else {
        1
    };
    let largest = job.sizes.iter().map(|(bytes, _)| *bytes).max();
    let largest = largest.unwrap_or(0).max(job.block_bytes);
    if length / parts < largest {
        return Err(format!(
            "region_bytes of each thread is {} bytes, less than block_bytes, {largest} bytes",
            length / parts
        ));
    }
    Ok((
        Lba(job.region_start_bytes / SECTOR_BYTES),
        Sectors(length / SECTOR_BYTES),
    ))
}

/// Probability in units of 2^-32.
pub(super) fn chance(percent: f64) -> u64 {
    ((percent / 100.0) * ALWAYS as f64) as u64
}

pub(super) fn gap(mean: Nanos, random: bool) -> Gap {
    if random {
        Gap::Exponential(mean)
    } else {
        Gap::Constant(mean)
    }
}

pub(super) fn priority(job: &JobSpec) -> Priority {
    let class = match job.class {
        None | Some(ClassSpec::None) => PriorityClass::None,
        Some(ClassSpec::Realtime) => PriorityClass::RealTime,
        Some(ClassSpec::BestEffort) => PriorityClass::BestEffort,
        Some(ClassSpec::Idle) => PriorityClass::Idle,
    };
    Priority {
        class,
        level: job.level.unwrap_or(4),
    }
}

/// The requests of one thread of a job, within a region.
pub(super) fn stream(job: &JobSpec, random: Random, first: Lba, length: Sectors) -> Stream {
    let pattern = match job.pattern {
        PatternSpec::Sequential => Pattern::Sequential,
        PatternSpec::Random => Pattern::Random,
    };
    let size = |(bytes, percent): &(u64, f64)| (bytes / job.block_bytes, *percent);
    let sizes: Vec<(u64, f64)> = job.sizes.iter().map(size).collect();
    let block = Sectors(job.block_bytes / SECTOR_BYTES);
    let reads = chance(job.read_percent.unwrap_or(100.0));
    Stream::new(random, pattern, first, length, block, reads).of_sizes(&sizes)
}

/// When the operations of each of its threads begin.
fn pace(job: &JobSpec) -> Pace {
    let think = Nanos(job.think_ns);
    match job.rate_iops {
        Some(rate) => Pace::Open {
            gap: gap(Nanos((1e9 / rate) as u64), job.poisson),
            think,
        },
        None => Pace::Closed {
            depth: job.depth,
            think,
        },
    }
}

/// The threads of phase `index`.
pub fn threads(
    spec: &TrialSpec,
    index: usize,
    capacity: Sectors,
    processors: usize,
    costs: &OperationCosts,
) -> Result<Vec<ThreadPlan>, String> {
    let phase = &spec.phases[index];
    let deadline = phase.runtime_ns.map_or(Nanos::NEVER, Nanos);
    let mut plans = Vec::new();
    for (number, job) in phase.jobs.iter().enumerate() {
        let (first, length) = region(job, capacity)?;
        let block = Sectors(job.block_bytes / SECTOR_BYTES);
        let pace = pace(job);
        for thread in 0..job.threads {
            let process = plans.len() as u32 + 1;
            // A stream per phase and thread, so that no phase repeats the addresses of the one before.
            let random = Random::new(spec.seed, (index as u64) << 32 | u64::from(process));
            let (at, len) = if job.own_regions {
                let share = length.0 / u64::from(job.threads) / block.0 * block.0;
                (Lba(first.0 + u64::from(thread) * share), Sectors(share))
            } else {
                (first, length)
            };
            let stream = stream(job, random, at, len);
            plans.push(ThreadPlan {
                job: number as u32,
                process: ProcessId(process),
                priority: priority(job),
                processor: (process as usize - 1) % processors,
                cost: costs.of_job(job),
                starts: Nanos(job.start_ns + u64::from(thread) * job.stagger_ns),
                stream,
                pace,
                operations_max: job.ios.unwrap_or(IOS_MAX),
                sync_every: job.sync_every,
                deadline,
            });
        }
    }
    Ok(plans)
}
