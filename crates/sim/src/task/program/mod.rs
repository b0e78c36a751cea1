//! Programs that make the calls which real ones were recorded to make, through the page cache, in a closed loop.
//!
//! ```text
//!   program ─computes─▶ call ─┬─ read, fault ──▶ page cache ──read-ahead, read-around──▶ queue ─▶ drive      calls.rs
//!      ▲                      ├─ write ────────▶ dirty pages ─▶ (pacing) ─▶ flusher ───▶                       write.rs
//!      └── returns ◀──────────┴─ fsync ────────▶ own pages, the journal's commit, the drive's flush ──▶        sync.rs
//! ```
//!
//! Calls between two marks are a unit of work: a start, a transaction, a file copied. How long each took is what comes out.
//!
//! Modelled:      computing between calls as recorded (copying included); read-ahead of reads, read-around of mapped pages; writers paced by the
//!                limits of group and machine; write-back over the background limit and of what is older than 30 s; fsync of own pages; commits
//!                that several share; flushes of the drive's cache, one at a time; locks that are asked for again as SQLite does.
//! Not modelled:  directories and inodes (cached), the journal's commits every 5 s and its checkpoints, blocks that are not side by side,
//!                time slices, writes of a part of a page that is not cached (the recording reads it first).
//! Source:        Linux v6.1 mm/filemap.c (do_sync_mmap_readahead), fs/jbd2/commit.c, block/blk-flush.c; SQLite 3.40 main.c
//!                (sqliteDefaultBusyCallback); otherwise as `files/`.

mod calls;
mod sync;
mod write;

use crate::cost::OperationCosts;
use crate::engine::{Engine, Tasks, Threads};
use crate::result::probe::Recorder;
use crate::result::{ThreadEnd, UnitOfWork};
use crate::spec::programs::{self, Call, Extent, ProgramsSpec, PROGRAMS_MAX};
use crate::storage::{Stack, FLUSHED};
use crate::task::cache_plan::{self, CachePlan};
use crate::task::flusher::{self, Flusher, FLUSHER};
use crate::task::flushes::Flushes;
use seekwise_host::block::{Bio, Done, Submission};
use seekwise_host::cache::group_counter::GroupCounter;
use seekwise_host::cache::pacing::{Pacing, Writer};
use seekwise_host::cache::page_cache::Run;
use seekwise_host::cache::read_ahead::{ReadAhead, ReadAheadGeneration};
use seekwise_host::cache::PageCache;
use seekwise_host::random::Random;
use seekwise_sched::{Direction, ProcessId};
use seekwise_units::{Lba, Nanos, Sectors, PAGE_SECTORS};
use slab::Slab;
use std::collections::{BTreeMap, VecDeque};
use sync::{Asks, Journal};

/// Entries of the agenda: who, and what of him.
const STEP: u32 = 0;
const PAGES_READ: u32 = 1;
const FLUSH: u32 = 2;
const CLOCK: u32 = 3;
/// The journal's thread among the processes that schedulers know.
const JOURNAL: ProcessId = ProcessId(FLUSHER.0 + 1);
/// The flusher looks for old pages (dirty_writeback_centisecs), and what old is (dirty_expire_centisecs).
const PERIOD: Nanos = Nanos::from_secs(5);
const EXPIRED: Nanos = Nanos::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Stands in the agenda.
    Ready,
    WaitsForPage(u64),
    WaitsForRequest,
    /// Pages of the file that it syncs are under way.
    WaitsForWritten,
    /// The commit or the flush that it waits for.
    WaitsForDevice,
    /// Its own direct requests.
    WaitsForDirect,
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProgramState {
    /// Looks for its next call, and computes.
    Next,
    /// Begins the call it has computed for.
    Begin,
    Reading,
    Faulting,
    Writing,
    SyncPages,
    SyncWait,
    Direct,
}

/// What a run of pages under way is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Io {
    Read,
    /// By the flusher, or by who syncs.
    Write,
    Direct(u32),
    Log,
}

#[derive(Clone, Copy, Debug)]
struct UnderWay {
    run: Run,
    io: Io,
    /// Where it was submitted, and its interrupt comes (rq_affinity 1).
    processor: usize,
}

#[derive(Clone, Copy, Debug)]
struct Queued {
    run: Run,
    io: Io,
    write: bool,
    sync: bool,
}

#[derive(Debug)]
struct Program {
    job: u32,
    recording: usize,
    files: Vec<Extent>,
    /// The file of the call that is made, and its number among them.
    file: (usize, Extent),
    foreground: bool,
    /// Its own number, and that of the process that makes its calls now.
    own: ProcessId,
    process: ProcessId,
    forks: u32,
    processor: usize,
    /// Of each file.
    ahead: Vec<ReadAhead>,
    misses: Vec<u32>,
    writer: Writer,
    state: State,
    doing: ProgramState,
    /// The call that is made, or made next.
    at: usize,
    /// On the device: the call's next page, and its end.
    page: u64,
    end: u64,
    /// On their way to the queue, and the token of the bio at their head that found no request.
    queue: VecDeque<Queued>,
    refused: Option<u32>,
    /// Direct bios under way.
    direct: u32,
    /// It slept for room and looks again.
    looks_again: bool,
    /// How often it has asked for a lock in vain.
    asked: usize,
    /// Processor time that is not booked yet.
    owed: Nanos,
    /// When its unit began.
    began: Option<Nanos>,
    ended: Option<Nanos>,
}

/// The programs of a phase.
pub struct Programs {
    plan: CachePlan,
    costs: OperationCosts,
    recordings: Vec<Vec<Call>>,
    cache: PageCache,
    pacing: Pacing,
    programs: Vec<Program>,
    flusher: Flusher,
    /// Where it runs: woken on the processor that is free first.
    flusher_processor: usize,
    /// It writes all that is dirty, and since when something was when it looked.
    all: bool,
    dirty_since: Option<Nanos>,
    journal: Journal,
    flushes: Flushes<Asks>,
    /// Who has each lock of each job; when those without ask again.
    locks: BTreeMap<(u32, u32), usize>,
    random: Random,
    under_way: Slab<UnderWay>,
    finished: Vec<(u32, bool)>,
    /// Dirty and written in all; what the group's counters say.
    dirtied: u64,
    written: u64,
    group: GroupCounter,
    /// The foreground begins no unit then, and nothing is waited for then.
    deadline: Nanos,
    stop: Nanos,
    foreground: usize,
    /// A program's step is under way that has asked nothing of the storage: nothing of that or its timers is due at this time.
    undisturbed: bool,
    /// The program whose step ended goes on at the same time, with nothing between.
    goes_on: bool,
}

impl Program {
    fn new(
        index: usize,
        given: &programs::ProgramSpec,
        ahead: ReadAhead,
        processor: usize,
    ) -> Self {
        Self {
            job: given.job,
            recording: given.recording as usize,
            files: given.files.clone(),
            file: (0, Extent(0, 0)),
            foreground: given.foreground,
            own: ProcessId(index as u32 + 1),
            process: ProcessId(index as u32 + 1),
            forks: 0,
            processor,
            ahead: vec![ahead; given.files.len()],
            misses: vec![0; given.files.len()],
            writer: Writer::default(),
            state: State::Ready,
            doing: ProgramState::Next,
            at: 0,
            page: 0,
            end: 0,
            queue: VecDeque::new(),
            refused: None,
            direct: 0,
            looks_again: false,
            asked: 0,
            owed: Nanos::ZERO,
            began: None,
            ended: None,
        }
    }
}

/// The engine below recorded programs.
type ProgramEngine<S> = Engine<S, Option<Recorder>>;

impl Programs {
    /// Begins a phase of `runtime` with an empty page cache: each program makes its first call at its own start time.
    pub fn new<S: Stack>(
        engine: &mut ProgramEngine<S>,
        spec: &ProgramsSpec,
        runtime: Nanos,
        costs: OperationCosts,
        plan: CachePlan,
    ) -> Self {
        engine.begin_phase(4096, spec.programs.len());
        let start = engine.now;
        let generation = ReadAheadGeneration::of(plan.kernel.version);
        // fio advises that it reads in order, which doubles the window of the plan; a recorded program gives no such advice.
        let ahead = ReadAhead::new(generation, plan.read_ahead / 2);
        let processors = engine.processors.count();
        let program = |(index, given): (usize, &programs::ProgramSpec)| {
            Program::new(index, given, ahead, index % processors)
        };
        let programs: Vec<Program> = spec.programs.iter().enumerate().map(program).collect();
        for (index, given) in spec.programs.iter().enumerate() {
            let entry = (index as u32) << 2 | STEP;
            engine.agenda.push(start + Nanos(given.start_ns), entry);
        }
        engine.agenda.push(start + PERIOD, CLOCK);
        let deadline = start + runtime;
        let stop = deadline + Nanos(spec.patience_ns);
        // The clock stands there even when nothing else happens.
        engine.agenda.push(stop, CLOCK);
        Self {
            plan,
            costs,
            recordings: spec.recordings.clone(),
            cache: PageCache::new(1, plan.pages),
            pacing: cache_plan::pacing(plan.kernel.hz, plan.pages),
            foreground: programs.iter().filter(|each| each.foreground).count(),
            programs,
            flusher: Flusher::default(),
            flusher_processor: 0,
            all: false,
            dirty_since: None,
            journal: Journal::new(spec.journal),
            flushes: Flushes::default(),
            locks: BTreeMap::new(),
            random: Random::new(spec.programs.len() as u64, 0),
            under_way: Slab::new(),
            finished: Vec::new(),
            dirtied: 0,
            written: 0,
            group: GroupCounter::of(plan.kernel.version),
            deadline,
            stop,
            undisturbed: false,
            goes_on: false,
        }
    }

    /// The program goes on when the processor has done `work` for it.
    fn resume<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, index: usize, work: Nanos) {
        let program = &mut self.programs[index];
        program.state = State::Ready;
        let work = work + core::mem::replace(&mut program.owed, Nanos::ZERO);
        let at = engine.processors.book(program.processor, engine.now, work);
        engine.agenda.push(at, (index as u32) << 2 | STEP);
    }

    /// What it waited for has come.
    fn wake<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, index: usize) {
        let wake = self.costs.usual().wake;
        self.resume(engine, index, wake);
    }

    fn wait<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, index: usize, state: State) {
        self.programs[index].state = state;
        self.undisturbed = false;
        let now = engine.now;
        engine.storage.process_waits(now, &mut engine.observer);
    }

    /// The call is through.
    fn done<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, index: usize) {
        let program = &mut self.programs[index];
        program.doing = ProgramState::Next;
        program.at += 1;
        if program.at == self.recordings[program.recording].len() {
            program.at = 0;
        }
        self.go_on(engine, index);
    }

    /// Resumes the program without further work.
    #[inline(always)]
    fn go_on<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, index: usize) {
        let program = &mut self.programs[index];
        program.state = State::Ready;
        let work = core::mem::replace(&mut program.owed, Nanos::ZERO);
        let at = engine.processors.book(program.processor, engine.now, work);
        // It would be taken off the agenda again at once.
        self.goes_on = self.undisturbed && at == engine.now && at < engine.agenda.next_at();
        if !self.goes_on {
            engine.agenda.push(at, (index as u32) << 2 | STEP);
        }
    }

    /// The program has the processor, and what it owed of it is done.
    fn step<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, index: usize) {
        let program = &self.programs[index];
        if program.state == State::Ended {
            return;
        }
        if !program.queue.is_empty() {
            self.undisturbed = false;
            if !self.submit_queued(engine, index) {
                return;
            }
        }
        match self.programs[index].doing {
            ProgramState::Next => self.next(engine, index),
            ProgramState::Begin => self.begin(engine, index),
            ProgramState::Reading => self.read(engine, index),
            ProgramState::Faulting => self.fault(engine, index),
            ProgramState::Writing => self.write(engine, index),
            ProgramState::SyncPages => self.sync_pages(engine, index),
            ProgramState::SyncWait => self.sync_wait(engine, index),
            ProgramState::Direct => self.direct_wait(engine, index),
        }
    }

    fn end<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, index: usize) {
        let now = engine.now;
        let program = &mut self.programs[index];
        program.state = State::Ended;
        program.ended = Some(now);
        engine.running -= 1;
        engine.last_return = engine.last_return.max(now);
        self.foreground -= usize::from(program.foreground);
        let process = program.process;
        engine
            .storage
            .process_exits(now, process, &mut engine.observer);
    }

    fn unit<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, index: usize, bytes: Option<u64>) {
        let now = engine.now;
        let program = &mut self.programs[index];
        let Some(began) = program.began.take() else {
            return;
        };
        let stats = &mut engine.jobs[program.job as usize];
        let length = now.saturating_sub(began);
        stats.units.push(UnitOfWork {
            process: program.own.0,
            ended: now - engine.phase_start,
            length,
            bytes,
        });
        if let Some(bytes) = bytes {
            let sectors = Sectors(bytes / 512);
            stats.record(Direction::Read, sectors, length);
            engine.windows.record(now, sectors.0, length);
            engine.last_return = engine.last_return.max(now);
        }
    }

    /// Hands down what a program has queued; false when it sleeps for a request.
    fn submit_queued<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, index: usize) -> bool {
        engine.storage.begin_plug();
        let mut all = true;
        while let Some(first) = self.programs[index].queue.pop_front() {
            let program = &mut self.programs[index];
            let (process, refused) = (program.process, program.refused.take());
            let (at, refused) = self.hand_down(engine, first, process, refused);
            if refused.is_some() {
                let program = &mut self.programs[index];
                program.refused = refused;
                program.queue.push_front(rest(first, at));
                program.state = State::WaitsForRequest;
                all = false;
                break;
            }
        }
        let now = engine.now;
        engine.storage.end_plug(now, &mut engine.observer);
        // A request may have come free while the plug was emptied.
        if engine.storage.has_woken() {
            self.wake_sleepers(engine);
        }
        all
    }

    /// Hands a run down in bios until one finds no request. What was `refused` is handed in again as it was; gives where the rest begins, and
    /// the token of what is refused now.
    fn hand_down<S: Stack>(
        &mut self,
        engine: &mut ProgramEngine<S>,
        what: Queued,
        process: ProcessId,
        mut refused: Option<u32>,
    ) -> (u64, Option<u32>) {
        let per_bio = (engine.max_sectors.0 / PAGE_SECTORS).max(1);
        let Queued {
            run,
            io,
            write,
            sync,
        } = what;
        let (mut at, end) = (run.start, run.start + run.pages);
        while at < end {
            let run = Run {
                file: 0,
                start: at,
                pages: per_bio.min(end - at),
            };
            let token = match refused.take() {
                Some(token) => token,
                None => {
                    if let Io::Direct(index) = io {
                        self.programs[index as usize].direct += 1;
                    }
                    let processor = self.processor_of(process);
                    self.under_way.insert(UnderWay { run, io, processor }) as u32
                }
            };
            let (start, sectors) = (Lba(at * PAGE_SECTORS), Sectors(run.pages * PAGE_SECTORS));
            let bio = Bio {
                sync,
                metadata: io == Io::Log,
                no_idle: write && sync && !matches!(io, Io::Direct(_)),
                ..Bio::new(token, Direction::of(write), start, sectors, process)
            };
            let now = engine.now;
            if engine.storage.submit(now, &bio, &mut engine.observer) == Submission::Blocked {
                return (at, Some(token));
            }
            at += run.pages;
        }
        (at, None)
    }

    /// Where a process submits.
    fn processor_of(&self, process: ProcessId) -> usize {
        if process == FLUSHER || process == JOURNAL {
            self.flusher_processor
        } else {
            self.programs[(process.0 as usize - 1) % PROGRAMS_MAX].processor
        }
    }

    fn wake_sleepers<S: Stack>(&mut self, engine: &mut ProgramEngine<S>) {
        while let Some(process) = engine.storage.take_woken() {
            if process == FLUSHER {
                if self.flusher.state == flusher::State::WaitsForRequest {
                    self.flusher.state = flusher::State::Working;
                    engine.agenda.push(engine.now, FLUSH);
                }
            } else if process == JOURNAL {
                self.submit_log(engine);
            } else {
                let index = (process.0 as usize - 1) % PROGRAMS_MAX;
                if self.programs[index].state == State::WaitsForRequest {
                    self.resume(engine, index, Nanos::ZERO);
                }
            }
        }
    }

    fn ended(&mut self, engine: &mut ProgramEngine<impl Stack>, token: u32) {
        let UnderWay { run, io, processor } = self.under_way[token as usize];
        let now = engine.now;
        let interrupt = |pages: u64| self.costs.request(io == Io::Read, pages as f64).interrupt;
        match io {
            Io::Read => {
                let work = interrupt(run.pages);
                let at = engine.processors.interrupt(processor, now, work);
                engine.agenda.push(at, token << 2 | PAGES_READ);
                return;
            }
            Io::Write => {
                let work = interrupt(0) + Nanos(self.plan.cost.clean_page * run.pages);
                engine.processors.interrupt(processor, now, work);
                self.cache.write_done(run);
                self.written += run.pages;
                self.group.cleaned(run.pages, self.cache.unwritten());
                self.wake_syncing(engine, run);
            }
            Io::Direct(index) => {
                let program = &mut self.programs[index as usize];
                program.direct -= 1;
                program.owed += interrupt(0);
                if program.direct == 0 && program.state == State::WaitsForDirect {
                    self.wake(engine, index as usize);
                }
            }
            Io::Log => self.log_written(engine),
        }
        self.under_way.remove(token as usize);
    }
}

fn rest(what: Queued, at: u64) -> Queued {
    let run = Run {
        file: 0,
        start: at,
        pages: what.run.start + what.run.pages - at,
    };
    Queued { run, ..what }
}

impl<S: Stack> Tasks<S, Option<Recorder>> for Programs {
    fn at_work(&mut self, engine: &mut ProgramEngine<S>) -> bool {
        if self.foreground > 0 && engine.now < self.stop {
            return true;
        }
        // What was not done in time counts with its length so far.
        for index in 0..self.programs.len() {
            self.unit(engine, index, None);
        }
        engine.last_return = engine.now;
        false
    }

    fn storage_due(&mut self, engine: &mut ProgramEngine<S>) {
        let finished = &mut self.finished;
        engine.events += engine.storage.advance(
            engine.now,
            &mut engine.observer,
            |Done { token, .. }| finished.push((token, token == FLUSHED)),
        );
        let mut finished = core::mem::take(&mut self.finished);
        for (token, flushed) in finished.drain(..) {
            if flushed {
                self.drive_flushed(engine);
            } else {
                self.ended(engine, token);
            }
        }
        self.finished = finished;
        if engine.storage.has_woken() {
            self.wake_sleepers(engine);
        }
    }

    fn timer_fired(&mut self, engine: &mut ProgramEngine<S>) {
        self.wake_sleepers(engine);
    }

    fn act(&mut self, engine: &mut ProgramEngine<S>) {
        // What was put off comes later than it stands there, and the storage's own events may be due by then.
        let is_due_now = engine.agenda.next_at() == engine.now && engine.now < self.stop;
        let Some(entry) = engine.agenda.pop() else {
            return;
        };
        match entry & 3 {
            STEP => {
                self.undisturbed = is_due_now;
                self.step(engine, (entry >> 2) as usize);
                while core::mem::take(&mut self.goes_on) {
                    engine.events += 1;
                    self.step(engine, (entry >> 2) as usize);
                }
                self.undisturbed = false;
            }
            PAGES_READ => self.pages_read(engine, entry >> 2),
            FLUSH => self.flush(engine),
            _ => self.look_for_old(engine),
        }
    }
}

impl<S: Stack> Threads<S, Option<Recorder>> for Programs {
    fn ends(&self, started: Nanos, now: Nanos) -> Vec<ThreadEnd> {
        let end = |program: &Program| ThreadEnd {
            job: program.job,
            process: program.own.0,
            ended: program.ended.unwrap_or(now) - started,
        };
        self.programs.iter().map(end).collect()
    }
}
