//! Programs that read and write files: page cache, write-back, journal and processors above the volume.
//!
//! ```text
//!   program ──write──▶ page cache ──flusher, throttled writer, fsync──▶ volume        readers: reader.rs   writers: writer.rs
//!           ──read───▶     ▲   └──journal commit (ordered data, log)──▶   │           passes:  pass.rs     commits: commit.rs
//!                          └────────────── read-ahead ◀───────────────────┘           flusher: flusher.rs
//! ```
//!
//! Tasks run one step after the other on the processors; a step ends when its task has to wait, when a drive or a sleeping task is due,
//! or after a millisecond when others want the processor.
//!
//! Modelled:      what the files of `seekwise_host::cache` and `seekwise_host::file` say, for files of equal size, one to a thread.
//! Not modelled:  page locks (a page that is rewritten while it is written does not wait), writing by reclaim.

mod barrier;
mod commit;
mod direct;
mod flusher;
pub mod machine;
mod pass;
mod reader;
pub mod spec;
pub mod spread;
mod writer;

use crate::files::machine::{FileEngine, Sender};
use crate::result::histogram::Histogram;
use crate::result::Calls;
use barrier::Flushes;
use commit::Commit;
use direct::Direct;
use flusher::Flusher;
use pass::Pass;
use reader::Reading;
use seekwise_device::Device;
use seekwise_host::block::BlockQueue;
use seekwise_host::cache::metadata::MetadataCache;
use seekwise_host::cache::pacing::{Pacing, Seen, Writer};
use seekwise_host::cache::page_cache::{FileNumber, Found, Run};
use seekwise_host::cache::read_ahead::{Page, ReadAhead};
use seekwise_host::cache::write_back::{self, DirtyLoad, Limits, Pace, WriteBackGeneration};
use seekwise_host::cache::PageCache;
use seekwise_host::cpu::{Payer, Times};
use seekwise_host::file::journal::{Journal, Transaction, TransactionId};
use seekwise_host::file::{Block, FileSystem};
use seekwise_host::random::Random;
use seekwise_raid::md::volume::Piece;
use seekwise_sched::{Kernel, ProcessId};
use seekwise_units::{Lba, Nanos, PAGE_BYTES, PAGE_SECTORS};
use serde::Deserialize;
use slab::Slab;
use spread::{Spread, Step};
use std::collections::{BTreeSet, VecDeque};

/// A task gives the processor up after this long when others want it (sched_min_granularity: 0.75 to 4 ms).
const SLICE: Nanos = Nanos::from_millis(1);
/// Processors at work at once take turns in the event loop after this long; a step must get somewhere.
const GRAIN: Nanos = Nanos::from_micros(50);
/// Threads are started one after the other.
const FORK: Nanos = Nanos::from_micros(200);
/// A bio holds at most 256 pages (BIO_MAX_PAGES up to 5.0, later BIO_MAX_VECS).
pub const BIO_PAGES: u64 = 256;
/// read_ahead_kb of a drive, in pages: 128 KiB.
pub const READ_AHEAD_PAGES: u64 = 32;
/// Calls of a thread that only time ends.
const CALLS_MAX: u64 = 1 << 50;
/// Files that lie there already were written by threads that took the processor by turns of about this many pages (2.6: a check of the
/// dirty limits each 4 MiB at most; range 64 to 1024).
const TURN_PAGES: u64 = 256;
/// Memory to spare: 4 GiB.
const MEMORY_PAGES: u64 = 1 << 20;
/// The block device's own file: metadata on its way to its place.
const DEVICE_FILE: FileNumber = FileNumber::MAX;

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

/// What passes before a phase begins: so many times as long as an earlier phase took.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Idle {
    pub phase: usize,
    pub times: f64,
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

/// One operation on its way to the drives.
#[derive(Clone, Copy, Debug)]
struct Io {
    kind: IoKind,
    /// Pieces under way, and one while not all of it is sent.
    left: u32,
}

#[derive(Clone, Copy, Debug)]
enum IoKind {
    Read {
        run: Run,
        start: Lba,
    },
    Write {
        run: Run,
        sequence: u64,
        /// By the journal's task, past the pages.
        buffers: bool,
    },
    /// A block that a reader needs before it knows its own.
    PathRead {
        block: Block,
    },
    /// Metadata to its place.
    PlaceWrite,
    Log,
    /// A call past the page cache.
    Direct {
        task: u32,
        began: Nanos,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Request,
    Page {
        file: FileNumber,
        page: Page,
    },
    PathBlock(Block),
    Written(FileNumber),
    /// The journal's task holds what is in a page until the drive has it.
    Sent {
        file: FileNumber,
        page: Page,
    },
    Commit(TransactionId),
    /// Data of the committing transaction.
    Data,
    Log,
    /// One of the task's direct calls.
    Direct(u32),
    /// The flush of this number.
    Flush(u64),
    Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskState {
    Ready(Nanos),
    /// Until then, or earlier when the queue's congestion ends.
    Congested(Nanos),
    Waits(Wait),
    Ended,
}

enum Role {
    Thread(Box<FileThread>),
    Flusher(Flusher),
    Journal(Commit),
}

struct Task {
    state: TaskState,
    role: Role,
    /// The write-back that it is at, whatever its role.
    pass: Pass,
}

impl Task {
    fn new(role: Role) -> Self {
        Self {
            state: TaskState::Waits(Wait::Phase),
            role,
            pass: Pass::default(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Calls,
    /// In a call, at the read position.
    Reading,
    /// Looks at the dirty limits; how often it has slept, and whether it wrote since.
    Balancing {
        looks: u32,
        wrote: bool,
    },
    /// Writes back as a writer over its limit.
    Throttled {
        looks: u32,
    },
    /// fsync: own pages, then the wait for them, then the commit.
    SyncPages,
    SyncWait,
    SyncCommit,
    Done,
}

struct FileThread {
    file: FileNumber,
    doing: Doing,
    calls_left: u64,
    page: Page,
    call_end: Page,
    call_began: Nanos,
    /// Page of the call to come, when it has to wait for the blocks above it.
    chosen: Option<Page>,
    reading: Reading,
    read_ahead: ReadAhead,
    random: Random,
    /// Pages dirtied since the last look at the limits.
    dirtied: u64,
    writer: Writer,
    /// Length of the newest call, which waits for the dirty limits or fsync may still lengthen.
    newest: Option<Nanos>,
    /// The running fsync belongs to a call (O_SYNC).
    syncs_call: bool,
    /// What the running fsync waits for when there is nothing to commit.
    flush: Option<u64>,
    direct: Direct,
    spread: Spread,
}

impl FileThread {
    /// The page at which the next call begins.
    fn next_place(&mut self, plan: &PhasePlan, file_pages: Page) -> Page {
        if plan.random {
            self.random.below(file_pages / plan.pages) * plan.pages
        } else if self.page + plan.pages > file_pages {
            0
        } else {
            self.page
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct FileState {
    /// Where the next cyclic pass begins.
    cursor: Page,
    /// A pass is at it (I_SYNC).
    locked: bool,
    dirtied_when: Option<Nanos>,
    transaction: TransactionId,
    /// Tick of the file's times.
    stamped: Option<u64>,
}

pub(crate) struct Files {
    plan: FilesPlan,
    cache: PageCache,
    limits: Limits,
    check_every: u64,
    states: Vec<FileState>,
    tasks: Vec<Task>,
    /// Dirty files: those that the running pass takes, and those dirtied since.
    io: VecDeque<FileNumber>,
    dirty: VecDeque<FileNumber>,
    over: bool,
    pace: Pace,
    dirtied_total: u64,
    written_total: u64,
    /// Blocks of metadata that are cached, being read, or dirty without a transaction.
    path_known: MetadataCache,
    path_coming: BTreeSet<Block>,
    place_dirty: BTreeSet<Block>,
    journal: Option<Journal>,
    /// Metadata of the transaction being committed.
    committing: Transaction,
    data_left: u64,
    data_before: u64,
    log_left: u32,
    sequence: u64,
    ios: Slab<Io>,
    was_congested: bool,
    /// A step has to end here at the latest: a task wakes up, or the slice is over.
    horizon: Nanos,
    phase: usize,
    running: u32,
    outcomes: Vec<PhaseOutcome>,
    blocks_touched: Vec<Block>,
    flushes: Flushes,
    /// Where the inodes of the files are.
    inode_block: Option<Block>,
    /// No call begins then.
    deadline: Nanos,
    /// The task that keeps its processor.
    kept_by: Option<usize>,
}

impl Files {
    fn new(mut plan: FilesPlan) -> Self {
        let system = &mut plan.file_system;
        let threads = plan.starts.len() as u32;
        for thread in 0..threads {
            match system {
                FileSystem::Raw(_) | FileSystem::Xfs(_) => {}
                FileSystem::Ext3(ext3) => {
                    ext3.create(plan.process + thread);
                }
                FileSystem::Ext4(ext4) => {
                    ext4.create();
                }
            }
        }
        let thread = |index: u32| {
            Task::new(Role::Thread(Box::new(FileThread {
                file: index,
                doing: Doing::Done,
                calls_left: 0,
                page: 0,
                call_end: 0,
                call_began: Nanos::ZERO,
                chosen: None,
                reading: Reading::default(),
                read_ahead: plan.phases[0].read_ahead,
                random: Random::new(plan.seed, u64::from(index)),
                dirtied: 0,
                writer: Writer::default(),
                newest: None,
                syncs_call: false,
                flush: None,
                direct: Direct::default(),
                spread: Spread::default(),
            })))
        };
        let mut tasks: Vec<Task> = (0..threads).map(thread).collect();
        let mut flusher = Task::new(Role::Flusher(Flusher::default()));
        flusher.state = TaskState::Ready(write_back::PERIOD);
        tasks.push(flusher);
        let journal = system.journal().map(Journal::new);
        if journal.is_some() {
            tasks.push(Task::new(Role::Journal(Commit::default())));
        }
        let (generation, written) = (plan.generation, plan.written);
        let inode_block = system.inode_block().filter(|_| plan.barriers);
        let mut files = Self {
            cache: PageCache::new(threads as usize, plan.memory_pages),
            limits: generation.limits(plan.memory_pages),
            check_every: generation.check_every(
                plan.total_pages,
                u64::from(plan.processors),
                false,
            ),
            states: vec![FileState::default(); threads as usize],
            tasks,
            io: VecDeque::new(),
            dirty: VecDeque::new(),
            over: false,
            pace: Pace::default(),
            dirtied_total: 0,
            written_total: 0,
            path_known: MetadataCache::new(generation.sifts_active_pages()),
            path_coming: BTreeSet::new(),
            place_dirty: BTreeSet::new(),
            journal,
            committing: Transaction::default(),
            data_left: 0,
            data_before: 0,
            log_left: 0,
            sequence: 0,
            ios: Slab::new(),
            was_congested: false,
            horizon: Nanos::NEVER,
            phase: 0,
            running: 0,
            outcomes: Vec::new(),
            blocks_touched: Vec::new(),
            flushes: Flushes::default(),
            inode_block,
            deadline: Nanos::NEVER,
            kept_by: None,
            plan,
        };
        if written {
            files.complete_files();
        }
        files
    }

    /// Pages of the files that have no blocks yet get them, written by turns.
    fn complete_files(&mut self) {
        let mut page = 0;
        while page < self.plan.file_pages {
            let pages = self.plan.turn_pages.min(self.plan.file_pages - page);
            for file in 0..self.states.len() {
                self.plan
                    .file_system
                    .allocate(file as u32, page, pages, &mut self.blocks_touched);
                self.blocks_touched.clear();
            }
            page += pages;
        }
        self.plan.written = true;
    }

    fn load(&self) -> DirtyLoad {
        DirtyLoad {
            dirty: self.cache.dirty() + self.place_dirty.len() as u64,
            writing: self.cache.writing(),
            writers: u64::from(self.running),
        }
    }

    /// Pages of a file that a pass takes at a turn.
    fn turn(&self) -> u64 {
        match &self.plan.pacing {
            Some(pacing) => pacing.turn(),
            None => self
                .plan
                .generation
                .turn(&self.limits, self.pace.bandwidth()),
        }
    }

    fn background_due(&self, load: &DirtyLoad) -> bool {
        match &self.plan.pacing {
            Some(pacing) => pacing.over_background(load.dirty),
            None => self.plan.generation.background_due(&self.limits, load),
        }
    }

    /// What a task sees that looks at the limits of the group. The counters are taken for exact.
    fn seen(&self) -> Seen {
        let load = self.load();
        let dirty = load.dirty + load.writing;
        Seen::of_device(dirty, dirty, self.dirtied_total, self.written_total)
    }

    fn thread(&mut self, task: usize) -> &mut FileThread {
        match &mut self.tasks[task].role {
            Role::Thread(thread) => thread,
            _ => unreachable!("only threads make calls"),
        }
    }

    fn thread_of(&self, task: usize) -> Option<&FileThread> {
        match &self.tasks[task].role {
            Role::Thread(thread) => Some(thread),
            _ => None,
        }
    }

    /// The thread has calls left, and time.
    fn wants_calls(&self, task: usize, now: Nanos) -> bool {
        now < self.deadline
            && self
                .thread_of(task)
                .is_some_and(|thread| thread.calls_left > 0)
    }

    /// Nothing of the thread's calls is left, neither to be begun nor under way.
    fn has_no_calls_left(&self, task: usize, now: Nanos) -> bool {
        let begun = |thread: &FileThread| thread.chosen.is_some() || !thread.direct.is_idle();
        !self.wants_calls(task, now) && !self.thread_of(task).is_some_and(begun)
    }

    /// Equal calls of a thread are over that moved so many pages and took so long in all.
    fn calls_done(&mut self, task: usize, calls: u64, pages: u64, total: Nanos) {
        self.note_newest(task);
        let outcome = self.outcomes.last_mut().expect("a phase runs");
        outcome.done.record(calls, pages * PAGE_BYTES, total);
        let each = Nanos(total.0 / calls);
        if let Some(latency) = &mut outcome.latency {
            latency.record_many(each, calls - 1);
            self.thread(task).newest = Some(each);
        }
    }

    /// Nothing lengthens the newest call any more.
    fn note_newest(&mut self, task: usize) {
        let newest = self.thread(task).newest.take();
        let outcome = self.outcomes.last_mut().expect("a phase runs");
        if let (Some(latency), Some(newest)) = (&mut outcome.latency, newest) {
            latency.record(newest);
        }
    }

    fn idle_time(&self, idle: Idle) -> Nanos {
        let earlier = &self.outcomes[idle.phase];
        let seconds = (earlier.ended - earlier.began).as_secs_f64() * idle.times;
        Nanos((seconds * 1e9) as u64)
    }

    fn process(&self, task: usize) -> ProcessId {
        ProcessId(task as u32)
    }

    fn flusher_task(&self) -> usize {
        self.tasks
            .iter()
            .position(|task| matches!(task.role, Role::Flusher(_)))
            .expect("there is a flusher")
    }

    fn journal_task(&self) -> Option<usize> {
        self.tasks
            .iter()
            .position(|task| matches!(task.role, Role::Journal(_)))
    }

    fn new_io(&mut self, kind: IoKind) -> u32 {
        // One is held until all of it is sent.
        let io = Io { kind, left: 1 };
        self.ios.insert(io) as u32
    }

    /// Dirty pages go to the drives; `buffers`: what is in them, but the pages stay dirty.
    fn begin_write(&mut self, run: Run, buffers: bool) -> u32 {
        if buffers {
            self.cache.begin_send(run);
        } else {
            self.cache.begin_write(run);
        }
        let sequence = self.sequence;
        self.sequence += 1;
        self.new_io(IoKind::Write {
            run,
            sequence,
            buffers,
        })
    }

    /// The earliest event of a task, and which.
    pub(crate) fn next_task(&self, processor_free: Nanos) -> (Nanos, Nanos, usize) {
        let mut best = (Nanos::NEVER, Nanos::NEVER, 0);
        let keeps = |index: usize| self.kept_by.is_none_or(|by| by == index);
        for (index, task) in self.tasks.iter().enumerate() {
            if !keeps(index) {
                continue;
            }
            if let TaskState::Ready(at) | TaskState::Congested(at) = task.state {
                let due = at.max(processor_free);
                if due < best.0 || (due == best.0 && at < best.1) {
                    best = (due, at, index);
                }
            }
        }
        best
    }

    fn satisfied(&self, wait: Wait) -> bool {
        match wait {
            Wait::Page { file, page } => self.cache.find(file, page) != Found::Coming,
            Wait::PathBlock(block) => !self.path_coming.contains(&block),
            Wait::Written(file) => self.cache.writing_of(file) == 0,
            Wait::Sent { file, page } => !self.cache.is_sending(file, page),
            Wait::Data => self.data_left == 0,
            Wait::Log => self.log_left == 0,
            Wait::Direct(task) => self
                .thread_of(task as usize)
                .is_some_and(|thread| thread.direct.has_completion()),
            Wait::Flush(number) => self.flushes.done(number),
            Wait::Commit(id) => self
                .journal
                .as_ref()
                .is_none_or(|journal| journal.committed >= id),
            Wait::Request | Wait::Phase => false,
        }
    }

    /// Tasks whose wait is over run from `at` on.
    pub(crate) fn wake(&mut self, at: Nanos) {
        for index in 0..self.tasks.len() {
            if let TaskState::Waits(wait) = self.tasks[index].state {
                if self.satisfied(wait) {
                    self.tasks[index].state = TaskState::Ready(at);
                    self.horizon = self.horizon.min(at);
                }
            }
        }
    }

    pub(crate) fn wake_for_request(&mut self, process: ProcessId, at: Nanos) {
        let Some(task) = self.tasks.get_mut(process.0 as usize) else {
            return;
        };
        if task.state == TaskState::Waits(Wait::Request) {
            task.state = TaskState::Ready(at);
        }
    }

    /// A piece of operation `io` is back; `read`: which, if it was read.
    pub(crate) fn piece_done(&mut self, io: u32, read: Option<Piece>) {
        if let (IoKind::Read { run, start }, Some(piece)) = (self.ios[io as usize].kind, read) {
            let (end, sectors) = (piece.volume_end, piece.sectors.0);
            let first = (end.0 - sectors - start.0) / PAGE_SECTORS;
            self.cache.read_done(Run {
                file: run.file,
                start: run.start + first,
                pages: sectors / PAGE_SECTORS,
            });
        }
        self.put(io, 1);
    }

    /// `count` references to an operation go; with the last one it ends.
    fn put(&mut self, io: u32, count: u32) {
        let entry = &mut self.ios[io as usize];
        entry.left -= count;
        if entry.left > 0 {
            return;
        }
        match self.ios.remove(io as usize).kind {
            IoKind::Read { .. } => {}
            IoKind::Write {
                run,
                sequence,
                buffers,
            } => {
                if buffers {
                    self.cache.send_done(run);
                } else {
                    self.cache.write_done(run);
                }
                self.written_total += run.pages;
                if sequence < self.data_before {
                    self.data_left -= 1;
                }
            }
            IoKind::PathRead { block } => {
                self.path_coming.remove(&block);
                self.path_known.insert(block, &self.cache);
            }
            IoKind::PlaceWrite => self.written_total += 1,
            IoKind::Log => self.log_left -= 1,
            IoKind::Direct { task, began } => self.thread(task as usize).direct.call_done(began),
        }
    }

    /// A file has dirty pages now.
    fn note_dirty(&mut self, now: Nanos, file: FileNumber) {
        let state = &mut self.states[file as usize];
        if state.dirtied_when.is_none() {
            state.dirtied_when = Some(now);
            self.dirty.push_back(file);
        }
    }

    /// The flusher runs now unless it is at work already.
    fn kick_flusher(&mut self, now: Nanos) {
        let index = self.flusher_task();
        let task = &mut self.tasks[index];
        if let Role::Flusher(flusher) = &mut task.role {
            if flusher.kick() {
                task.state = TaskState::Ready(now);
                self.horizon = self.horizon.min(now);
            }
        }
    }
}

impl<Q: BlockQueue, D: Device> FileEngine<Q, D> {
    /// Puts files and their users on the volume; [`FileEngine::run_files`] runs them.
    pub fn set_files(&mut self, plan: FilesPlan) {
        self.host.other_processors = vec![Nanos::ZERO; plan.processors.max(1) as usize - 1];
        self.host.files = Some(Box::new(Files::new(plan)));
    }

    /// Runs all phases; None when they do not end before `end`.
    pub fn run_files(&mut self, end: Nanos) -> Option<Vec<PhaseOutcome>> {
        self.begin_file_phases();
        self.run_until(end);
        let files = self.host.files.as_mut()?;
        (files.phase >= files.plan.phases.len()).then(|| core::mem::take(&mut files.outcomes))
    }

    /// Runs a plan of one phase, starting at the next whole second, and returns the calls completed within `span`. Calls still in flight
    /// at that point complete but are not counted. The state of drives, queues and md carries over from the previous load.
    pub fn run_span(&mut self, mut plan: FilesPlan, span: Nanos) -> Calls {
        const SECOND: u64 = 1_000_000_000;
        let free = self.busy_until();
        self.now = Nanos(free.0.div_ceil(SECOND) * SECOND);
        let end = self.now + span;
        for phase in &mut plan.phases {
            phase.runtime = span;
        }
        self.set_files(plan);
        self.begin_file_phases();
        self.run_until(end);
        let outcome = |files: &Files| files.outcomes.first().map(|outcome| outcome.done);
        let done = self.host.files.as_deref().and_then(outcome);
        self.run_until(Nanos::NEVER);
        done.unwrap_or_default()
    }

    fn begin_file_phases(&mut self) {
        if let Some(mut files) = self.host.files.take() {
            self.begin_file_phase(&mut files);
            self.host.files = Some(files);
        }
    }

    fn begin_file_phase(&mut self, files: &mut Files) {
        let Some(&plan) = files.plan.phases.get(files.phase) else {
            for task in &mut files.tasks {
                task.state = TaskState::Ended;
            }
            return;
        };
        if plan.drop_caches {
            files.cache.drop_clean();
            files.path_known.clear();
            files.place_dirty.clear();
        }
        if !files.plan.written && (files.phase > 0 || plan.random || !plan.write) {
            files.complete_files();
        }
        let begin = self.now + plan.idle.map_or(Nanos::ZERO, |idle| files.idle_time(idle));
        self.host.times = Times::new(files.plan.kernel.hz);
        files.outcomes.push(PhaseOutcome {
            began: begin,
            ended: begin,
            held: -(self.held_bytes() as i64),
            latency: (files.plan.barriers || plan.direct.is_some()).then(Box::default),
            ..PhaseOutcome::default()
        });
        files.running = 0;
        files.deadline = Nanos(begin.0.saturating_add(plan.runtime.0));
        for index in 0..files.tasks.len() {
            let Role::Thread(thread) = &mut files.tasks[index].role else {
                continue;
            };
            thread.doing = Doing::Calls;
            thread.calls_left = plan.calls;
            let Start { after, page } = files.plan.starts[index];
            (thread.page, thread.call_end) = (page, page);
            thread.read_ahead = plan.read_ahead;
            files.tasks[index].state = TaskState::Ready(begin + after);
            files.running += 1;
        }
    }

    /// The task has a processor: it works until it waits or has to give it up.
    pub(crate) fn step_task(&mut self, index: usize) {
        let Some(mut files) = self.host.files.take() else {
            return;
        };
        self.take_processor();
        self.set_horizon(&mut files, index);
        self.host.payer = match files.tasks[index].role {
            Role::Thread(_) => Payer::System,
            _ => Payer::KernelThread,
        };
        match files.tasks[index].role {
            Role::Thread(_) => self.step_thread(&mut files, index),
            Role::Flusher(_) => self.step_flusher(&mut files, index),
            Role::Journal(_) => self.step_journal(&mut files, index),
        }
        self.spend_commands();
        // A task that sleeps has been switched away from and will be switched to.
        let sleeps =
            !matches!(files.tasks[index].state, TaskState::Ready(at) if at <= self.busy_until());
        files.kept_by = (files.plan.keeps_processor && !sleeps).then_some(index);
        if sleeps {
            let now = self.busy_until();
            self.host
                .times
                .book(self.host.payer, now, self.host.costs.switch);
        }
        if files.running == 0 && files.phase < files.plan.phases.len() {
            files.phase += 1;
            self.begin_file_phase(&mut files);
        }
        self.host.files = Some(files);
    }

    fn set_horizon(&self, files: &mut Files, running: usize) {
        let mut horizon = if files.deadline > self.now {
            files.deadline
        } else {
            Nanos::NEVER
        };
        let others = self.host.other_processors.iter().min().copied();
        for (index, task) in files.tasks.iter().enumerate() {
            let (TaskState::Ready(at) | TaskState::Congested(at)) = task.state else {
                continue;
            };
            if index == running || files.plan.keeps_processor {
                continue;
            }
            let wanted = match others {
                // Another processor takes it.
                Some(free) => at.max(free).max(self.now + GRAIN),
                None if at > self.now => at,
                None => self.now + SLICE,
            };
            horizon = horizon.min(wanted);
        }
        files.horizon = horizon;
    }

    /// The step may work on at the time to which its processor has come.
    fn goes_on(&mut self, files: &Files) -> bool {
        let time = self.busy_until();
        if time >= files.horizon || time >= self.next_drive_event() {
            return false;
        }
        self.now = time;
        true
    }

    /// The step ends; the task wants to go on.
    fn pause(&mut self, files: &mut Files, index: usize) {
        files.tasks[index].state = TaskState::Ready(self.busy_until());
    }

    fn wait(&mut self, files: &mut Files, index: usize, wait: Wait) {
        if files.satisfied(wait) {
            self.pause(files, index);
        } else {
            files.tasks[index].state = TaskState::Waits(wait);
        }
    }

    fn step_thread(&mut self, files: &mut Files, index: usize) {
        loop {
            let plan = files.plan.phases[files.phase];
            let doing = files.thread(index).doing;
            let goes_on = match doing {
                Doing::Calls if files.has_no_calls_left(index, self.now) => {
                    if plan.write && plan.fsync {
                        self.begin_fsync(files, index, false);
                    } else {
                        files.thread(index).doing = Doing::Done;
                    }
                    true
                }
                Doing::Calls if plan.spread => self.spread_call(files, index, &plan),
                Doing::Calls if plan.direct.is_some() => {
                    self.direct_calls(files, index, &plan, plan.direct.unwrap_or(1))
                }
                Doing::Calls if plan.write => self.write_calls(files, index, &plan),
                Doing::Calls | Doing::Reading => self.read_calls(files, index, &plan),
                Doing::Balancing { looks, wrote } => self.balance(files, index, looks, wrote),
                Doing::Throttled { looks } => self.throttled(files, index, looks),
                Doing::SyncPages => self.sync_pages(files, index),
                Doing::SyncWait => self.sync_wait(files, index),
                Doing::SyncCommit => self.sync_commit(files, index),
                Doing::Done => {
                    files.note_newest(index);
                    files.tasks[index].state = TaskState::Waits(Wait::Phase);
                    files.running -= 1;
                    let ended = self.busy_until();
                    let held = self.held_bytes();
                    let outcome = files.outcomes.last_mut().expect("a phase runs");
                    outcome.ended = outcome.ended.max(ended);
                    outcome.cpu = self.host.times;
                    if files.running == 0 {
                        outcome.held += held as i64;
                    }
                    // The phase's end is that of its last thread.
                    self.now = if files.running == 0 { ended } else { self.now };
                    return;
                }
            };
            if !goes_on {
                return;
            }
            if !self.goes_on(files) {
                return self.pause(files, index);
            }
        }
    }

    fn sender(&self, files: &Files, index: usize, io: u32, write: bool, sync: bool) -> Sender {
        Sender {
            io,
            process: files.process(index),
            write,
            sync,
            no_idle: write && sync,
            bio: self.host.costs.bio,
            md: self.md_bio(),
        }
    }

    /// A congested queue has room again: who waits for that is woken.
    pub(crate) fn end_congestion(&mut self, files: &mut Files) {
        let congested = self.congested();
        if files.was_congested && !congested {
            let wake = self.now + self.host.costs.switch;
            for task in &mut files.tasks {
                if let TaskState::Congested(until) = task.state {
                    task.state = TaskState::Ready(wake.min(until));
                }
            }
        }
        files.was_congested = congested;
    }
}
