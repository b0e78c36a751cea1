//! Phases over files from their spec to their figures.

use crate::files::machine::FileEngine;
use crate::files::spread::Step;
use crate::files::{FilesPlan, PhaseOutcome, PhasePlan, CALLS_MAX};
use crate::spec::files::{FilesSpec, PhaseSpec, OTHER_BYTES};
use crate::spec::storage::LoadSpec;
use crate::task::cache_plan::{self, CachePlan};
use seekwise_device::Device;
use seekwise_host::block::BlockQueue;
use seekwise_host::cache::read_ahead::ReadAhead;
use seekwise_host::file::ext3::JournalPlace;
use seekwise_host::file::{Ext3, Ext4, FileSystem, Raw, Xfs};
use seekwise_sched::Kernel;
use seekwise_units::{Lba, Nanos, Sectors, PAGE_BYTES};
use serde_json::{json, Value};

/// mke2fs: 128 MiB of journal on volumes above 32 GB, 64 MiB below (e2fsprogs figure_journal_size).
const JOURNAL_BLOCKS: u64 = 32_768;
/// Simulated time after which a run is given up.
const GIVE_UP: Nanos = Nanos::from_secs(24 * 3_600);
/// Of a file system's blocks, what tables and copies of the superblock take at most, and what they and the journal take of any.
const FIXED_SHARE: u64 = 40;
const FIXED_SHARE_IN_CHUNKS: u64 = 10;
const FIXED_BLOCKS: u64 = 2 * JOURNAL_BLOCKS;

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
        pacing: (!around.single_queue).then(|| cache_plan::pacing(around.kernel.hz, memory_pages)),
        steps: spec.phases[0].steps.iter().map(Step::of).collect(),
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
