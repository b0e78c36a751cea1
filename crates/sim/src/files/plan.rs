//! Files and their users before the first phase, and what each phase comes to.

use crate::files::pace::JobPace;
use crate::files::spread::Step;
use crate::files::CALLS_MAX;
use crate::result::histogram::Histogram;
use crate::result::{Calls, Windows};
use crate::spec::files::Idle;
use crate::storage::{MemberTotals, Totals};
use seekwise_host::cache::pacing::Pacing;
use seekwise_host::cache::page_cache::FileNumber;
use seekwise_host::cache::read_ahead::{Page, ReadAhead};
use seekwise_host::cache::write_back::WriteBackGeneration;
use seekwise_host::cpu::Times;
use seekwise_host::file::FileSystem;
use seekwise_host::job::Stream;
use seekwise_sched::{Kernel, Priority};
use seekwise_units::{Lba, Nanos};
/// Threads are started one after the other.
const FORK: Nanos = Nanos::from_micros(200);
/// Files that lie there already were written by threads that took the processor by turns of about this many pages (2.6: a check of the
/// dirty limits each 4 MiB at most; range 64 to 1024).
const TURN_PAGES: u64 = 256;
/// Memory to spare: 4 GiB.
const MEMORY_PAGES: u64 = 1 << 20;
/// What the threads of a job do in a phase, or where they differ from call to call the running call of one of them.
#[derive(Clone, Copy, Debug)]
pub struct JobPlan {
    pub write: bool,
    pub random: bool,
    /// Pages a call.
    pub pages: u64,
    /// Calls of each thread.
    pub calls: u64,
    /// Past the page cache, with so many calls of a thread under way.
    pub direct: Option<u32>,
    /// The calls go over the whole volume, each in the steps of [`FilesPlan::steps`].
    pub spread: bool,
    /// State of a file that is opened.
    pub read_ahead: ReadAhead,
    /// At the end of the thread's calls.
    pub fsync: bool,
    /// After each call.
    pub o_sync: bool,
    /// After so many writes of a thread; 0: never.
    pub sync_every: u32,
    pub priority: Priority,
    pub pace: Option<JobPace>,
}

impl JobPlan {
    /// Reads through the page cache, each thread's file over and over, `pages` a call.
    pub fn reads(random: bool, pages: u64, read_ahead: ReadAhead) -> Self {
        Self {
            write: false,
            random,
            pages,
            calls: CALLS_MAX,
            direct: None,
            spread: false,
            read_ahead,
            fsync: false,
            o_sync: false,
            sync_every: 0,
            priority: Priority::default(),
            pace: None,
        }
    }

    /// Several calls of a thread may be simulated in one go.
    pub(super) fn goes_in_runs(&self) -> bool {
        !self.random && self.pace.is_none() && self.sync_every == 0
    }
}

/// A phase begins when all threads have ended the one before.
#[derive(Clone, Debug)]
pub struct PhasePlan {
    pub jobs: Vec<JobPlan>,
    pub threads: Vec<Start>,
    /// No call begins after this long.
    pub runtime: Nanos,
    pub idle: Option<Idle>,
    /// Clean pages are forgotten before the phase.
    pub drop_caches: bool,
}

impl PhasePlan {
    /// Threads that all do the same, as long as it takes.
    pub fn of(job: JobPlan, threads: Vec<Start>) -> Self {
        Self {
            jobs: vec![job],
            threads,
            runtime: Nanos::NEVER,
            idle: None,
            drop_caches: false,
        }
    }
}

/// Files and their users before the first phase.
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
    /// Pages of each file.
    pub files: Vec<Page>,
    pub phases: Vec<PhasePlan>,
    /// Of each call of a job with [`JobPlan::spread`].
    pub steps: Vec<Step>,
    /// The files lie there already: all their pages have blocks.
    pub written: bool,
    /// Whatever lies there unwritten by the threads was written by turns of this many pages.
    pub turn_pages: u64,
    /// A device that the last one closes at a phase's end: what is dirty is written then, and nothing stays in memory (Linux 5.10 to 6.12
    /// block/bdev.c: the last `blkdev_put` syncs and drops the device's pages). No program waits for that within its time.
    pub closes: bool,
    /// Commits and fsync empty the drives' caches.
    pub barriers: bool,
    /// How writers of a cgroup are held back; None: by the limits of the whole machine.
    pub pacing: Option<Pacing>,
    /// A task keeps the processor until it waits: those woken meanwhile have no credit that would push it aside (wake-up granularity of 1 to
    /// 10 ms up to 2.6.32). Otherwise who is woken has it next.
    pub keeps_processor: bool,
    /// The processor goes to the waiting task that has had the least of it (CFS); otherwise to the task that has waited longest.
    pub fair: bool,
    /// Schedulers are told that a thread has ended.
    pub exits: bool,
    pub processors: u32,
    pub seed: u64,
}

/// Pages of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    pub from: Page,
    pub end: Page,
}

impl Region {
    /// Length in pages of 4 KiB.
    pub fn pages(self) -> u64 {
        self.end - self.from
    }
}

/// Of which job a thread is and which file it uses; where in it and when it begins, counted from the phase's start.
#[derive(Clone, Debug, Default)]
pub struct Start {
    pub job: usize,
    pub file: FileNumber,
    pub after: Nanos,
    pub page: Page,
    /// Part of the file that it uses; all of it when None.
    pub region: Option<Region>,
    /// Draws its calls where they differ in size, direction or order.
    pub stream: Option<Box<Stream>>,
}

impl Start {
    /// Of the only job, with the whole of a file.
    pub fn of(file: FileNumber, after: Nanos, page: Page) -> Self {
        Self {
            file,
            after,
            page,
            ..Self::default()
        }
    }
}

impl FilesPlan {
    /// Files of a machine with one processor, the single queue, enough memory and no program that uses them yet.
    pub fn of(
        kernel: Kernel,
        file_system: FileSystem,
        files: Vec<Page>,
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
            files,
            phases,
            steps: Vec::new(),
            written: false,
            turn_pages: TURN_PAGES,
            closes: false,
            barriers: false,
            pacing: None,
            keeps_processor: false,
            fair: false,
            exits: false,
            processors: 1,
            seed,
        }
    }

    /// When a parent starts its thread of this number.
    pub fn fork(thread: u32) -> Nanos {
        Nanos(FORK.0 * u64::from(thread))
    }

    /// Threads that one parent starts one after the other, each with a file of its own.
    pub fn forked(threads: u32) -> Vec<Start> {
        let start = |thread| Start::of(thread, Self::fork(thread), 0);
        (0..threads).map(start).collect()
    }
}

/// What the threads of a job have done in a phase.
#[derive(Clone, Debug, Default)]
pub struct JobOutcome {
    pub done: Calls,
    /// Calls that read, and their pages.
    pub reads: u64,
    pub pages_read: u64,
    /// Of each call; kept on blk-mq and for direct calls.
    pub latency: Option<Box<Histogram>>,
    /// Of calls over the whole volume: their own rates in bytes per second, summed.
    pub call_rates: f64,
}

#[derive(Clone, Debug, Default)]
pub struct PhaseOutcome {
    pub began: Nanos,
    pub ended: Nanos,
    pub jobs: Vec<JobOutcome>,
    /// When each thread ended.
    pub threads: Vec<Nanos>,
    pub cpu: Times,
    pub windows: Windows,
    /// Bytes more than before the phase whose completion was notified and that are not yet on the drives at its end.
    pub held: i64,
    pub storage: Totals,
    pub members: Vec<MemberTotals>,
}

impl PhaseOutcome {
    /// Of all jobs.
    pub fn done(&self) -> Calls {
        let mut all = Calls::default();
        self.jobs.iter().for_each(|job| all.merge(&job.done));
        all
    }
}
