//! Where files, tasks and operations on their way stand.

use crate::files::barrier::Flushes;
use crate::files::commit::Commit;
use crate::files::direct::DirectCall;
use crate::files::flusher::Flusher;
use crate::files::pass::Pass;
use crate::files::plan::{FilesPlan, PhaseOutcome};
use crate::files::thread::FileThread;
use crate::spec::files::Idle;
use crate::storage::{MemberTotals, Totals};
use seekwise_host::cache::group_counter::GroupCounter;
use seekwise_host::cache::metadata::MetadataCache;
use seekwise_host::cache::pacing::DirtyPages;
use seekwise_host::cache::page_cache::{CachedPage, FileNumber, Run};
use seekwise_host::cache::read_ahead::Page;
use seekwise_host::cache::write_back::{self, DirtyLoad, Limits, Pace};
use seekwise_host::cache::PageCache;
use seekwise_host::file::journal::{Journal, Transaction, TransactionId};
use seekwise_host::file::{Block, FileSystem};
use seekwise_host::random::Random;
use seekwise_raid::md::volume::Piece;
use seekwise_sched::{Priority, ProcessId};
use seekwise_units::{Lba, Nanos, PAGE_SECTORS};
use slab::Slab;
use std::collections::{BTreeSet, VecDeque};
/// A task that slept has so much more to come than the others. Linux v6.1 kernel/sched/fair.c, place_entity: half of sched_latency (6 ms).
const SLEEPERS_CREDIT: Nanos = Nanos::from_millis(3);

/// One operation on its way to the drives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Io {
    pub(super) kind: IoKind,
    /// Pieces under way, and one while not all of it is sent.
    pub(super) left: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum IoKind {
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
        call: DirectCall,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
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

/// The representation puts every time at one place, so that the soonest of all tasks is found without a jump for each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum TaskState {
    Ready(Nanos),
    /// Until then, or earlier when the queue's congestion ends.
    Congested(Nanos),
    /// Until then, or earlier when what it waits for comes.
    Until(Nanos, Wait),
    Waits(Wait),
    Ended,
}

impl TaskState {
    /// When it runs, if it does not wait for something first.
    pub(super) fn due(self) -> Option<Nanos> {
        match self {
            Self::Ready(at) | Self::Congested(at) | Self::Until(at, _) => Some(at),
            Self::Waits(_) | Self::Ended => None,
        }
    }
}

pub(super) enum Role {
    Thread(Box<FileThread>),
    Flusher(Flusher),
    Journal(Commit),
}

pub(super) struct Task {
    pub(super) state: TaskState,
    pub(super) role: Role,
    /// The write-back that it is at, whatever its role.
    pub(super) pass: Pass,
    /// Processor time that it has had, as the scheduler of processors counts it, and whether it slept since.
    pub(super) ran: Nanos,
    pub(super) slept: bool,
}

impl Task {
    pub(super) fn new(role: Role) -> Self {
        Self {
            state: TaskState::Waits(Wait::Phase),
            role,
            pass: Pass::default(),
            ran: Nanos::ZERO,
            slept: true,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FileState {
    /// Where the next cyclic pass begins.
    pub(super) cursor: Page,
    /// A pass is at it (I_SYNC).
    pub(super) locked: bool,
    pub(super) dirtied_when: Option<Nanos>,
    pub(super) transaction: TransactionId,
    /// Tick of the file's times.
    pub(super) stamped: Option<u64>,
}

pub(crate) struct Files {
    pub(super) plan: FilesPlan,
    pub(super) cache: PageCache,
    pub(super) limits: Limits,
    pub(super) check_every: u64,
    pub(super) states: Vec<FileState>,
    pub(super) tasks: Vec<Task>,
    /// Dirty files: those that the running pass takes, and those dirtied since.
    pub(super) io: VecDeque<FileNumber>,
    pub(super) dirty: VecDeque<FileNumber>,
    pub(super) over: bool,
    pub(super) pace: Pace,
    pub(super) dirtied_total: u64,
    /// What the counters of the group say.
    pub(super) group: GroupCounter,
    pub(super) written_total: u64,
    /// Blocks of metadata that are cached, being read, or dirty without a transaction.
    pub(super) path_known: MetadataCache,
    pub(super) path_coming: BTreeSet<Block>,
    pub(super) place_dirty: BTreeSet<Block>,
    pub(super) journal: Option<Journal>,
    /// Metadata of the transaction being committed.
    pub(super) committing: Transaction,
    pub(super) data_left: u64,
    pub(super) data_before: u64,
    pub(super) log_left: u32,
    pub(super) sequence: u64,
    pub(super) ios: Slab<Io>,
    pub(super) was_congested: bool,
    /// A step has to end here at the latest: a task wakes up, or the slice is over.
    pub(super) horizon: Nanos,
    /// Phases that have begun, and threads of the last one that have not ended.
    pub(super) phase: usize,
    pub(super) running: u32,
    /// How long each phase took that is over.
    pub(super) lengths: Vec<Nanos>,
    pub(super) outcomes: Vec<PhaseOutcome>,
    pub(super) blocks_touched: Vec<Block>,
    pub(super) flushes: Flushes,
    /// Where the inodes of the files are.
    pub(super) inode_block: Option<Block>,
    /// No call begins then.
    pub(super) deadline: Nanos,
    /// The task that keeps its processor.
    pub(super) kept_by: Option<usize>,
    /// How far the processor time of tasks has come that get a processor by the time that they have had.
    pub(super) ran: Nanos,
    /// What the drives had done when the phase began.
    pub(super) before: (Totals, Vec<MemberTotals>),
}

/// The threads, the flusher, and the journal's task where there is one.
fn tasks(plan: &FilesPlan, threads: u32, journal: bool) -> Vec<Task> {
    let thread = |index: u32| {
        let random = Random::new(plan.seed, u64::from(index));
        let thread = FileThread::new(plan.phases[0].jobs[0], random);
        Task::new(Role::Thread(Box::new(thread)))
    };
    let mut tasks: Vec<Task> = (0..threads).map(thread).collect();
    let mut flusher = Task::new(Role::Flusher(Flusher::default()));
    flusher.state = TaskState::Ready(write_back::PERIOD);
    tasks.push(flusher);
    if journal {
        tasks.push(Task::new(Role::Journal(Commit::default())));
    }
    tasks
}

/// The files come into being, each made by a process of its own.
fn create_files(plan: &mut FilesPlan) {
    for file in 0..plan.files.len() as u32 {
        match &mut plan.file_system {
            FileSystem::Raw(_) | FileSystem::Xfs(_) => {}
            FileSystem::Ext3(ext3) => {
                ext3.create(plan.process + file);
            }
            FileSystem::Ext4(ext4) => {
                ext4.create();
            }
        }
    }
}

impl Files {
    pub(super) fn new(mut plan: FilesPlan) -> Self {
        let phases = plan.phases.iter();
        let threads = phases.map(|phase| phase.threads.len()).max().unwrap_or(0) as u32;
        let count = plan.files.len();
        create_files(&mut plan);
        let journal = plan.file_system.journal().map(Journal::new);
        let tasks = tasks(&plan, threads, journal.is_some());
        let (generation, written) = (plan.generation, plan.written);
        let inode_block = plan.file_system.inode_block().filter(|_| plan.barriers);
        let mut files = Self {
            cache: PageCache::new(count, plan.memory_pages),
            limits: generation.limits(plan.memory_pages),
            check_every: generation.check_every(
                plan.total_pages,
                u64::from(plan.processors),
                false,
            ),
            states: vec![FileState::default(); count],
            tasks,
            io: VecDeque::new(),
            dirty: VecDeque::new(),
            over: false,
            pace: Pace::default(),
            dirtied_total: 0,
            group: GroupCounter::of(plan.kernel.version),
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
            lengths: Vec::new(),
            outcomes: Vec::new(),
            blocks_touched: Vec::new(),
            flushes: Flushes::default(),
            inode_block,
            deadline: Nanos::NEVER,
            kept_by: None,
            ran: Nanos::ZERO,
            before: Default::default(),
            plan,
        };
        if written {
            files.complete_files();
        }
        files
    }

    /// Pages of the files that have no blocks yet get them, written by turns.
    pub(super) fn complete_files(&mut self) {
        let longest = self.plan.files.iter().copied().max().unwrap_or(0);
        let mut page = 0;
        while page < longest {
            for file in 0..self.states.len() {
                let left = self.plan.files[file].saturating_sub(page);
                let pages = self.plan.turn_pages.min(left);
                if pages > 0 {
                    self.plan.file_system.allocate(
                        file as u32,
                        page,
                        pages,
                        &mut self.blocks_touched,
                    );
                    self.blocks_touched.clear();
                }
            }
            page += self.plan.turn_pages;
        }
        self.plan.written = true;
    }

    /// The phase that began last is over.
    pub(crate) fn over(&self) -> bool {
        self.running == 0 && !self.is_closing()
    }

    fn is_closing(&self) -> bool {
        self.plan.closes && self.running == 0 && self.cache.dirty() + self.cache.writing() > 0
    }

    pub(super) fn load(&self) -> DirtyLoad {
        DirtyLoad {
            dirty: self.cache.dirty() + self.place_dirty.len() as u64,
            writing: self.cache.writing(),
            writers: u64::from(self.running),
        }
    }

    /// Pages of a file that a pass takes at a turn.
    pub(super) fn turn(&self) -> u64 {
        match &self.plan.pacing {
            Some(pacing) => pacing.turn(),
            None => self
                .plan
                .generation
                .turn(&self.limits, self.pace.bandwidth()),
        }
    }

    pub(super) fn background_due(&self, load: &DirtyLoad) -> bool {
        if self.is_closing() {
            return load.dirty > 0;
        }
        match &self.plan.pacing {
            Some(pacing) => pacing.over_background(load.dirty),
            None => self.plan.generation.background_due(&self.limits, load),
        }
    }

    /// What a task sees that looks at the limits of the group.
    pub(super) fn seen(&self) -> DirtyPages {
        let load = self.load();
        let dirty = load.dirty + load.writing;
        let group = self.group.pages(dirty);
        DirtyPages::of_device(group, dirty, self.dirtied_total, self.written_total)
    }

    pub(super) fn thread(&mut self, task: usize) -> &mut FileThread {
        match &mut self.tasks[task].role {
            Role::Thread(thread) => thread,
            _ => unreachable!("only threads make calls"),
        }
    }

    pub(super) fn thread_of(&self, task: usize) -> Option<&FileThread> {
        match &self.tasks[task].role {
            Role::Thread(thread) => Some(thread),
            _ => None,
        }
    }

    /// The thread has calls left, and time.
    pub(super) fn wants_calls(&self, task: usize, now: Nanos) -> bool {
        now < self.deadline
            && self
                .thread_of(task)
                .is_some_and(|thread| thread.calls_left > 0)
    }

    /// Nothing of the thread's calls is left, neither to be begun nor under way.
    pub(super) fn has_no_calls_left(&self, task: usize, now: Nanos) -> bool {
        let begun = |thread: &FileThread| thread.chosen.is_some() || !thread.direct.is_idle();
        !self.wants_calls(task, now) && !self.thread_of(task).is_some_and(begun)
    }

    /// How long the machine is idle.
    pub(super) fn idle_time(&self, idle: Idle) -> Nanos {
        let seconds = self.lengths[idle.phase].as_secs_f64() * idle.times;
        Nanos((seconds * 1e9) as u64)
    }

    pub(super) fn priority(&self, task: usize) -> Priority {
        self.thread_of(task)
            .map_or_else(Priority::default, |thread| thread.job.priority)
    }

    pub(super) fn process(&self, task: usize) -> ProcessId {
        ProcessId(task as u32)
    }

    pub(super) fn flusher_task(&self) -> usize {
        self.tasks
            .iter()
            .position(|task| matches!(task.role, Role::Flusher(_)))
            .expect("there is a flusher")
    }

    pub(super) fn journal_task(&self) -> Option<usize> {
        self.tasks
            .iter()
            .position(|task| matches!(task.role, Role::Journal(_)))
    }

    pub(super) fn new_io(&mut self, kind: IoKind) -> u32 {
        // One is held until all of it is sent.
        let io = Io { kind, left: 1 };
        self.ios.insert(io) as u32
    }

    /// Dirty pages go to the drives; `buffers`: what is in them, but the pages stay dirty.
    pub(super) fn begin_write(&mut self, run: Run, buffers: bool) -> u32 {
        if buffers {
            self.cache.begin_send(run);
        } else {
            self.cache.begin_write(run);
        }
        self.group.writing(run.pages, self.cache.unwritten());
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
        let all = 0..self.tasks.len();
        for index in self.kept_by.map_or(all, |index| index..index + 1) {
            let task = &self.tasks[index];
            if let Some(at) = task.state.due() {
                let due = at.max(processor_free);
                let at = if self.plan.fair {
                    self.ran_of(task)
                } else {
                    at
                };
                if due < best.0 || (due == best.0 && at < best.1) {
                    best = (due, at, index);
                }
            }
        }
        best
    }

    /// Processor time of a task, without what it left unused for long.
    pub(super) fn ran_of(&self, task: &Task) -> Nanos {
        if task.slept {
            task.ran.max(self.ran.saturating_sub(SLEEPERS_CREDIT))
        } else {
            task.ran
        }
    }

    pub(super) fn satisfied(&self, wait: Wait) -> bool {
        match wait {
            Wait::Page { file, page } => self.cache.find(file, page) != CachedPage::Coming,
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
            if let TaskState::Waits(wait) | TaskState::Until(_, wait) = self.tasks[index].state {
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
            let run = Run {
                file: run.file,
                start: run.start + first,
                pages: sectors / PAGE_SECTORS,
            };
            self.cache.read_done(run);
            self.hold_page(run);
        }
        self.put(io, 1);
    }

    /// A reader that waits for a page holds it: it is copied even if reclaim takes it before the thread runs. Otherwise several large reads in
    /// little memory could take each other's pages for ever.
    fn hold_page(&mut self, run: Run) {
        for task in &mut self.tasks {
            let (TaskState::Waits(wait), Role::Thread(thread)) = (task.state, &mut task.role)
            else {
                continue;
            };
            if let Wait::Page { file, page } = wait {
                let comes = (run.start..run.start + run.pages).contains(&page);
                if file == run.file && comes {
                    thread.holds = Some(page);
                }
            }
        }
    }

    /// `count` references to an operation go; with the last one it ends.
    pub(super) fn put(&mut self, io: u32, count: u32) {
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
                self.group.cleaned(run.pages, self.cache.unwritten());
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
            IoKind::Direct { task, call } => self.thread(task as usize).direct.call_done(call),
        }
    }

    /// A file has dirty pages now.
    pub(super) fn note_dirty(&mut self, now: Nanos, file: FileNumber) {
        let state = &mut self.states[file as usize];
        if state.dirtied_when.is_none() {
            state.dirtied_when = Some(now);
            self.dirty.push_back(file);
        }
    }

    /// The flusher runs now unless it is at work already.
    pub(super) fn kick_flusher(&mut self, now: Nanos) {
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
