//! Files of a storage spec: what of it the engine needs, and what comes of it.

use crate::files::machine::FileEngine;
use crate::files::spread::{Step, StepCall};
use crate::files::{FilesPlan, Idle, PhaseOutcome, PhasePlan, CALLS_MAX};
use crate::spec::cache::{self, CachePlan};
use crate::spec::storage::LoadSpec;
use seekwise_device::Device;
use seekwise_host::block::BlockQueue;
use seekwise_host::cache::read_ahead::ReadAhead;
use seekwise_host::file::ext3::JournalPlace;
use seekwise_host::file::{Ext3, Ext4, FileSystem, Raw, Xfs};
use seekwise_sched::Kernel;
use seekwise_units::{Lba, Nanos, Sectors, PAGE_BYTES};
use serde::Deserialize;
use serde_json::{json, Value};

/// What kernel and programs take of a small machine's memory in single-user mode: range 20 to 60 MB.
const OTHER_BYTES: u64 = 35_000_000;
/// mke2fs: 128 MiB of journal on volumes above 32 GB, 64 MiB below (e2fsprogs figure_journal_size).
const JOURNAL_BLOCKS: u64 = 32_768;
/// Simulated time after which a run is given up.
const GIVE_UP: Nanos = Nanos::from_secs(24 * 3_600);
/// Of a file system's blocks, what tables and copies of the superblock take at most, and what they and the journal take of any.
const FIXED_SHARE: u64 = 40;
const FIXED_SHARE_IN_CHUNKS: u64 = 10;
const FIXED_BLOCKS: u64 = 2 * JOURNAL_BLOCKS;
const DEPTH_MAX: u32 = 65_536;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilesSpec {
    /// `raw` (regions one after the other), `ext3`, `ext4` or, for readers, `xfs`.
    pub filesystem: String,
    /// All memory of the machine; on blk-mq that of the program's cgroup.
    pub memory_bytes: u64,
    /// In the order in which they run over the same files; page cache and drives keep what the phase before left.
    pub phases: Vec<PhaseSpec>,
    /// The phase whose figures are wanted.
    pub report: usize,
    /// The files lie there already.
    #[serde(default)]
    pub written: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseSpec {
    pub write: bool,
    pub random: bool,
    /// Calls of each thread; once through the file when absent.
    pub calls: Option<u64>,
    #[serde(default)]
    pub fsync: bool,
    #[serde(default)]
    pub o_sync: bool,
    #[serde(default)]
    pub drop_caches: bool,
    /// The machine is idle for some time before the phase begins.
    pub idle: Option<Idle>,
    /// Direct I/O: calls that each thread keeps under way.
    #[serde(default = "one")]
    pub depth: u32,
    /// Threads begin no further call after this long; sequential ones begin again at the file's start until then.
    pub runtime_ns: Option<u64>,
    /// Calls of each thread at most, however long they may take.
    #[serde(skip)]
    pub calls_max: Option<u64>,
    /// Steps of each call, which go over the whole volume then.
    #[serde(skip)]
    pub steps: Vec<Step>,
}

/// Calls at even distances over the whole volume.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpreadSpec {
    pub calls: u64,
    /// Of each call, one after the other.
    pub steps: Vec<StepSpec>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepSpec {
    pub call: StepCall,
    /// Read or written from the call's place on.
    #[serde(default)]
    pub bytes: u64,
    /// The call's latency counts from this step on.
    #[serde(default)]
    pub starts_clock: bool,
}

const CALLS_SPREAD_MAX: u64 = 1_000_000;
const STEPS_MAX: usize = 64;
const STEP_BYTES_MAX: u64 = 1 << 30;

impl SpreadSpec {
    pub fn check(&self) -> Result<(), String> {
        let within = |name: &str, value: u64, most: u64| match value {
            0 => Err(format!("{name} is 0, outside 1 to {most}")),
            value if value > most => Err(format!("{name} is {value}, outside 1 to {most}")),
            _ => Ok(()),
        };
        within("calls of spread", self.calls, CALLS_SPREAD_MAX)?;
        within("steps of spread", self.steps.len() as u64, STEPS_MAX as u64)?;
        for step in &self.steps {
            if step.call != StepCall::Flush {
                within("bytes of a step", step.bytes, STEP_BYTES_MAX)?;
            }
            if step.bytes % PAGE_BYTES != 0 {
                return Err(format!(
                    "bytes of a step is {}, no multiple of {PAGE_BYTES}",
                    step.bytes
                ));
            }
        }
        if !self.steps.iter().any(|step| step.starts_clock) {
            return Err("no step of spread starts the clock".to_owned());
        }
        Ok(())
    }

    /// The longest step.
    pub fn bytes_max(&self) -> u64 {
        self.steps.iter().map(|step| step.bytes).max().unwrap_or(0)
    }

    pub fn steps(&self) -> Vec<Step> {
        let step = |step: &StepSpec| Step {
            call: step.call,
            pages: step.bytes / PAGE_BYTES,
            starts_clock: step.starts_clock,
        };
        self.steps.iter().map(step).collect()
    }
}

fn one() -> u32 {
    1
}

/// What the engine knows besides.
pub struct Surroundings<'a> {
    pub load: &'a LoadSpec,
    pub capacity: Sectors,
    pub kernel: Kernel,
    /// Otherwise blk-mq: memory is a cgroup's, the program is fio, and barriers reach the drives.
    pub single_queue: bool,
    pub file_bytes: u64,
    pub processors: u32,
    pub read_ahead: ReadAhead,
    /// What it reads ahead at most.
    pub read_ahead_pages: u64,
    /// Pages of the largest bio to a region.
    pub bio_pages: u64,
    pub seed: u64,
}

pub fn check(spec: &FilesSpec) -> Result<(), String> {
    if spec.phases.is_empty() || spec.report >= spec.phases.len() {
        return Err(format!(
            "phase {} of {} is asked for",
            spec.report,
            spec.phases.len()
        ));
    }
    if spec.memory_bytes < OTHER_BYTES + (8 << 20) {
        return Err(format!(
            "memory_bytes is {}, too little for a kernel and a page cache",
            spec.memory_bytes
        ));
    }
    for (number, phase) in spec.phases.iter().enumerate() {
        if !(1..=DEPTH_MAX).contains(&phase.depth) {
            return Err(format!(
                "phase {number}: depth is {} calls, outside 1 to {DEPTH_MAX}",
                phase.depth
            ));
        }
        if phase
            .idle
            .is_some_and(|idle| idle.phase >= number || !(0.0..=1e6).contains(&idle.times))
        {
            return Err(format!(
                "phase {number}: `idle` names an earlier phase and 0 to 1000000 times its length"
            ));
        }
        if phase.depth > 1 && phase.o_sync {
            return Err(format!(
                "phase {number}: O_SYNC with {} calls under way is not modelled",
                phase.depth
            ));
        }
    }
    if !matches!(spec.filesystem.as_str(), "raw" | "ext3" | "ext4" | "xfs") {
        return Err(format!("file system {} is not modelled", spec.filesystem));
    }
    if spec.filesystem == "xfs" && spec.phases.iter().any(|phase| phase.write) {
        return Err("writing on xfs is not modelled: its log is not".to_owned());
    }
    Ok(())
}

fn file_system(spec: &FilesSpec, around: &Surroundings) -> Result<FileSystem, String> {
    let blocks = (around.capacity.bytes().0 - around.load.start_bytes) / PAGE_BYTES;
    let file_pages = around.file_bytes / PAGE_BYTES;
    let threads = u64::from(around.load.threads);
    // Blocks of addresses, and windows and chunks begun at the ends of files.
    let used = threads * (file_pages + file_pages / 500 + 4_096);
    // ext4 leaves the end of each group that no whole chunk fits into.
    let share = if spec.filesystem == "ext4" {
        FIXED_SHARE_IN_CHUNKS
    } else {
        FIXED_SHARE
    };
    if spec.filesystem != "raw" && used + used / share + FIXED_BLOCKS > blocks {
        return Err(format!(
            "{threads} files of {} bytes do not fit into an {} of {blocks} blocks of 4 KiB beside its own tables and journal",
            around.file_bytes, spec.filesystem
        ));
    }
    Ok(match spec.filesystem.as_str() {
        "ext3" => {
            // e2fsprogs of 2009 on (1.41) puts the journal into the middle.
            let place = if around.kernel.at_least(2, 6, 32) {
                JournalPlace::Middle
            } else {
                JournalPlace::First
            };
            FileSystem::Ext3(Ext3::new(blocks, used, JOURNAL_BLOCKS, place))
        }
        "ext4" => FileSystem::Ext4(Ext4::new(blocks, used, JOURNAL_BLOCKS)),
        "xfs" => FileSystem::Xfs(Xfs::new(blocks, threads, file_pages)),
        _ => FileSystem::Raw(Raw {
            places: (0..threads).map(|thread| thread * file_pages).collect(),
            bio_pages: around.bio_pages,
        }),
    })
}

/// Runs the phases up to the one asked for.
pub fn run<Q: BlockQueue, D: Device>(
    machine: &mut FileEngine<Q, D>,
    around: &Surroundings,
) -> Result<Vec<Value>, String> {
    let (load, spec) = (around.load, around.load.files());
    let file_pages = around.file_bytes / PAGE_BYTES;
    let pages = load.block_bytes / PAGE_BYTES;
    if !load.buffered && spec.phases.iter().any(|phase| phase.drop_caches) {
        return Err("direct I/O has no cache that could be dropped".to_owned());
    }
    if load.buffered && spec.phases.iter().any(|phase| phase.depth > 1) {
        return Err(
            "several calls of a thread at once are not modelled behind the page cache".to_owned(),
        );
    }
    let read_ahead = |random: bool| match (around.single_queue, random) {
        (true, _) => around.read_ahead,
        // fio announces how it will read (posix_fadvise): in order doubles the read-ahead, at random there is none.
        (false, true) => around.read_ahead.of_pages(0),
        (false, false) => around.read_ahead.of_pages(2 * around.read_ahead_pages),
    };
    let phase = |phase: &PhaseSpec| PhasePlan {
        write: phase.write,
        calls: match phase.runtime_ns {
            Some(_) => phase.calls_max.unwrap_or(CALLS_MAX),
            None => phase.calls.unwrap_or((file_pages / pages).max(1)),
        },
        spread: !phase.steps.is_empty(),
        idle: phase.idle,
        runtime: phase.runtime_ns.map_or(Nanos::NEVER, Nanos),
        direct: (!load.buffered).then_some(phase.depth),
        fsync: phase.fsync,
        o_sync: phase.o_sync,
        drop_caches: phase.drop_caches,
        ..PhasePlan::reads(phase.random, pages, read_ahead(phase.random))
    };
    let memory_pages = if around.single_queue {
        (spec.memory_bytes - OTHER_BYTES) / PAGE_BYTES
    } else {
        CachePlan::file_pages(spec.memory_bytes)?
    };
    let phases: Vec<PhasePlan> = spec.phases.iter().map(phase).collect();
    let system = file_system(&spec, around)?;
    let plan = FilesPlan::of(around.kernel, system, file_pages, phases, around.seed);
    machine.set_files(FilesPlan {
        memory_pages,
        total_pages: spec.memory_bytes / PAGE_BYTES,
        offset: Lba(load.start_bytes / 512),
        starts: FilesPlan::forked(load.threads),
        // fio fills one file after the other before it measures.
        turn_pages: if around.single_queue {
            plan.turn_pages
        } else {
            file_pages
        },
        barriers: !around.single_queue,
        pacing: (!around.single_queue).then(|| cache::pacing(around.kernel.hz, memory_pages)),
        steps: spec.phases[0].steps.clone(),
        written: spec.written || !spec.phases[0].write,
        processors: around.processors,
        ..plan
    });
    let outcomes = machine
        .run_files(GIVE_UP)
        .ok_or_else(|| "the phases do not end".to_owned())?;
    Ok(outcomes.iter().map(value).collect())
}

fn value(outcome: &PhaseOutcome) -> Value {
    let mut value = json!({
        "bytes": outcome.done.bytes,
        "calls": outcome.done.count,
        "elapsed_ns": (outcome.ended - outcome.began).0,
        "latency_mean_ns": outcome.done.latency_total.0 as f64 / outcome.done.count.max(1) as f64,
        "latency_max_ns": outcome.done.latency_max.0,
        "cpu": {
            "user_s": outcome.cpu.user.as_secs_f64(),
            "system_s": outcome.cpu.system.as_secs_f64(),
            "kernel_threads_s": outcome.cpu.kernel_threads.as_secs_f64(),
            "irq_s": outcome.cpu.interrupts.as_secs_f64(),
            "user_ticks": outcome.cpu.user_ticks,
            "system_ticks": outcome.cpu.system_ticks,
            "hz": outcome.cpu.hz,
        },
    });
    if outcome.call_rates > 0.0 {
        value["call_rate_mean"] = json!(outcome.call_rates / outcome.done.count as f64);
    }
    if outcome.held > 0 {
        value["held_bytes"] = json!(outcome.held);
    }
    if let Some(latency) = &outcome.latency {
        value["latency_bins"] = latency.to_json();
    }
    value
}
