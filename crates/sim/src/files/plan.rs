//! Files and their users before the first phase, and what each phase comes to.

use crate::files::spread::Step;
use crate::files::CALLS_MAX;
use crate::result::histogram::Histogram;
use crate::result::Calls;
use crate::spec::files::Idle;
use seekwise_host::cache::pacing::Pacing;
use seekwise_host::cache::read_ahead::{Page, ReadAhead};
use seekwise_host::cache::write_back::WriteBackGeneration;
use seekwise_host::cpu::Times;
use seekwise_host::file::FileSystem;
use seekwise_sched::Kernel;
use seekwise_units::{Lba, Nanos};
/// Threads are started one after the other.
const FORK: Nanos = Nanos::from_micros(200);
/// Files that lie there already were written by threads that took the processor by turns of about this many pages (2.6: a check of the
/// dirty limits each 4 MiB at most; range 64 to 1024).
const TURN_PAGES: u64 = 256;
/// Memory to spare: 4 GiB.
const MEMORY_PAGES: u64 = 1 << 20;
/// What the threads do, one phase after the other; a phase begins when all threads have ended the one before.
#[derive(Clone, Copy, Debug)]
pub struct PhasePlan {
    pub write: bool,
    pub random: bool,
    /// Pages a call.
    pub pages: u64,
    /// Calls of each thread.
    pub calls: u64,
    /// No call begins after this long.
    pub runtime: Nanos,
    /// Past the page cache, with so many calls of a thread under way.
    pub direct: Option<u32>,
    /// The calls go over the whole volume, each in the steps of [`FilesPlan::steps`].
    pub spread: bool,
    pub idle: Option<Idle>,
    /// State of a file that is opened.
    pub read_ahead: ReadAhead,
    /// At the end of the thread's calls.
    pub fsync: bool,
    /// After each call.
    pub o_sync: bool,
    /// Clean pages are forgotten before the phase.
    pub drop_caches: bool,
}

impl PhasePlan {
    /// Reads through the page cache, each thread's file over and over, `pages` a call.
    pub fn reads(random: bool, pages: u64, read_ahead: ReadAhead) -> Self {
        Self {
            write: false,
            random,
            pages,
            calls: CALLS_MAX,
            runtime: Nanos::NEVER,
            direct: None,
            spread: false,
            idle: None,
            read_ahead,
            fsync: false,
            o_sync: false,
            drop_caches: false,
        }
    }
}

/// Files and their users before the first phase, a thread for each of `starts`.
pub struct FilesPlan {
    pub file_system: FileSystem,
    pub generation: WriteBackGeneration,
    /// Memory for files, and all memory of the machine.
    pub memory_pages: u64,
    pub total_pages: u64,
    pub kernel: Kernel,
    /// Process number of the first thread.
    pub process: u32,
    /// Where the file system begins on the volume.
    pub offset: Lba,
    pub file_pages: u64,
    pub starts: Vec<Start>,
    pub phases: Vec<PhasePlan>,
    /// Of each call of a phase with [`PhasePlan::spread`].
    pub steps: Vec<Step>,
    /// The files lie there already: all their pages have blocks.
    pub written: bool,
    /// Whatever lies there unwritten by the threads was written by turns of this many pages.
    pub turn_pages: u64,
    /// Commits and fsync empty the drives' caches.
    pub barriers: bool,
    /// How writers of a cgroup are held back; None: by the limits of the whole machine.
    pub pacing: Option<Pacing>,
    /// A task keeps the processor until it waits: those woken meanwhile have no credit that would push it aside (wake-up granularity of 1 to
    /// 10 ms up to 2.6.32). Otherwise who is woken has it next.
    pub keeps_processor: bool,
    pub processors: u32,
    pub seed: u64,
}

/// Where in its file a thread begins, and when, counted from a phase's start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Start {
    pub after: Nanos,
    pub page: Page,
}

impl FilesPlan {
    /// Files of a machine with one processor, the single queue, enough memory and no program that uses them yet.
    pub fn of(
        kernel: Kernel,
        file_system: FileSystem,
        file_pages: u64,
        phases: Vec<PhasePlan>,
        seed: u64,
    ) -> Self {
        Self {
            file_system,
            generation: WriteBackGeneration::of(kernel.version),
            memory_pages: MEMORY_PAGES,
            total_pages: MEMORY_PAGES,
            kernel,
            // Which colour the first process has is chance.
            process: (seed % 16) as u32,
            offset: Lba(0),
            file_pages,
            starts: Vec::new(),
            phases,
            steps: Vec::new(),
            written: false,
            turn_pages: TURN_PAGES,
            barriers: false,
            pacing: None,
            keeps_processor: false,
            processors: 1,
            seed,
        }
    }

    /// Threads that one parent starts one after the other.
    pub fn forked(threads: u32) -> Vec<Start> {
        let start = |thread| Start {
            after: Nanos(FORK.0 * u64::from(thread)),
            page: 0,
        };
        (0..threads).map(start).collect()
    }
}

#[derive(Clone, Debug, Default)]
pub struct PhaseOutcome {
    pub began: Nanos,
    pub ended: Nanos,
    pub done: Calls,
    /// Of each call; kept on blk-mq and for direct calls.
    pub latency: Option<Box<Histogram>>,
    pub cpu: Times,
    /// Bytes more than before the phase whose completion was notified and that are not yet on the drives at its end.
    pub held: i64,
    /// Of calls over the whole volume: their own rates in bytes per second, summed.
    pub call_rates: f64,
}
