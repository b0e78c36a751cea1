//! Loads through the page cache of a raw device, on multi-queue kernels: threads, page cache, flusher, over any [`crate::storage::Stack`].
//!
//! ```text
//!   thread ──pages──▶ page cache ──read-ahead: bios──▶ queue(s), md ──▶ drives
//!      ▲                  │ dirty
//!      └─ sleeps ◀─ pacing └──▶ flusher ──batches: bios──▶ (write-back throttling, requests)
//! ```
//!
//! Modelled:      a cgroup with limited memory; on-demand read-ahead as fio asks for it (twice the device's where it announces that it reads in
//!                order, none where it announces that it does not); writers paced by the limits of group and machine; one flusher that goes round
//!                by address, in plugs of 16 (up to 5.15) or 32 requests; counters of the group that lag behind (5.16 on); reclaim of clean pages.
//! Not modelled:  files (`crate::files` has them), fsync, writers of a part of a page, reclaim that has to wait, several flushers, preemption between programs
//!                (who has the processor keeps it until its call ends or it waits).
//! Source:        Linux v5.10, v6.1, v6.12: mm/filemap.c, mm/readahead.c, mm/page-writeback.c, fs/fs-writeback.c, block/blk-mq.c; fio 3.33.
//!                docs/engineering/ladder-buffered.md has what the laboratory's tracepoints showed.

use crate::cost::OperationCosts;
use crate::engine::{Engine, Tasks, Threads};
use crate::result::probe::Recorder;
use crate::result::ThreadEnd;
use crate::storage::Stack;
use crate::task::cache_plan::{self, CachePlan};
use crate::task::flusher::{self, Flusher, FLUSHER};
use crate::task::thread::{CachedThread, State};
use crate::task::{ThreadLoad, ThreadPlan};
use seekwise_host::block::{Bio, Done, Event, Observer, Submission};
use seekwise_host::cache::pacing::{Pacing, Seen, Verdict};
use seekwise_host::cache::page_cache::{Found, Run};
use seekwise_host::cache::read_ahead::{ReadAhead, ReadAheadGeneration, Window};
use seekwise_host::cache::PageCache;
use seekwise_sched::{Direction, Priority, ProcessId, Request};
use seekwise_units::{Lba, Nanos, Sectors, PAGE_SECTORS};
use slab::Slab;

/// Entries of the agenda: who, and what of him.
const STEP: u32 = 0;
const PAGES_READ: u32 = 1;
const FLUSH: u32 = 2;
/// The flusher's turn on the processor, about as long as a program's call: both get their half of it in the long run.
const FLUSHER_TURN: Nanos = Nanos::from_micros(100);
/// Changes of the group's counters by a page that becomes dirty, that goes to the drive, that is clean again. Dirtying charges the page,
/// puts it on a list and counts it as dirty and as dirtied; which of that one batch takes together was not traced. Estimate from when writers
/// were stopped in the laboratory, confidence low.
const CHANGES_DIRTY: u64 = 8;
const CHANGES_WRITING: u64 = 2;
const CHANGES_CLEAN: u64 = 1;

/// Requests that drives began and ended since it was looked at last: they cost the processor. Of a single drive, a trace of them if asked for.
#[derive(Debug, Default)]
pub struct Watch {
    counts: Counts,
    pub trace: Option<Recorder>,
}

#[derive(Debug, Default)]
struct Counts {
    writes_begun: u64,
    pages_begun: u64,
    writes_ended: u64,
}

impl Watch {
    /// With a trace of at most so many events; without one for zero. Members of an array cannot be told apart in it.
    pub fn tracing(events_max: usize) -> Self {
        Self {
            counts: Counts::default(),
            trace: (events_max > 0).then(|| Recorder::new(events_max)),
        }
    }
}

impl Observer for Watch {
    const EVERY_MEMBER: bool = true;

    fn note(&mut self, now: Nanos, event: Event) {
        let write = |request: &Request| request.direction == Direction::Write;
        match event {
            Event::Started(request) if write(request) => {
                self.counts.writes_begun += 1;
                self.counts.pages_begun += request.sectors.0 / PAGE_SECTORS;
            }
            Event::Completed(request) if write(request) => self.counts.writes_ended += 1,
            _ => {}
        }
        self.trace.note(now, event);
    }
}

#[derive(Clone, Copy, Debug)]
struct UnderWay {
    run: Run,
    write: bool,
}

/// The threads of a phase whose calls go through the page cache.
pub struct CachedThreads {
    plan: CachePlan,
    costs: OperationCosts,
    cache: PageCache,
    pacing: Pacing,
    threads: Vec<CachedThread>,
    flusher: Flusher,
    /// The programs are through, and everything dirty is to be written.
    closing: bool,
    under_way: Slab<UnderWay>,
    finished: Vec<u32>,
    /// Dirty and written in all; what the group's counters say, and changes since.
    dirtied: u64,
    written: u64,
    group_seen: u64,
    changes: u64,
}

impl CachedThreads {
    /// `in_order`: of each job, whether it announces that it reads in order.
    pub fn new<S: Stack>(
        engine: &mut Engine<S, Watch>,
        plans: Vec<ThreadPlan>,
        in_order: &[bool],
        costs: OperationCosts,
        plan: CachePlan,
    ) -> Self {
        let start = engine.now;
        engine.begin_phase(4096, plans.len());
        let version = plan.kernel.version;
        let mut threads = Vec::with_capacity(plans.len());
        for (index, mut given) in plans.into_iter().enumerate() {
            given.deadline = Nanos(given.deadline.0.saturating_add(start.0));
            let ThreadLoad::Generated { stream, .. } = &given.load else {
                unreachable!("a list is direct")
            };
            // fio announces how it will read (posix_fadvise): in order doubles the read-ahead, at random there is none.
            let pages = if in_order[given.job as usize] {
                plan.read_ahead
            } else {
                0
            };
            engine
                .agenda
                .push(start + given.starts, (index as u32) << 2 | STEP);
            threads.push(CachedThread {
                stream: stream.clone(),
                read_ahead: ReadAhead::new(ReadAheadGeneration::of(version), pages)
                    .with_requests(plan.request_pages),
                writer: Default::default(),
                state: State::Ready,
                left: given.operations_max,
                direction: Direction::Read,
                page: 0,
                end: 0,
                sectors: Sectors(0),
                began: start,
                in_call: false,
                window: None,
                rest: None,
                refused: None,
                looks_again: false,
                owed: Nanos::ZERO,
                ended: None,
                plan: given,
            });
        }
        Self {
            plan,
            costs,
            cache: PageCache::new(1, plan.pages),
            pacing: cache_plan::pacing(plan.kernel.hz, plan.pages),
            threads,
            flusher: Flusher::default(),
            closing: false,
            under_way: Slab::new(),
            finished: Vec::new(),
            dirtied: 0,
            written: 0,
            group_seen: 0,
            changes: 0,
        }
    }

    /// The last one closes the device: what is under way ends, what is dirty is written, nothing stays in memory (Linux 5.10 to 6.12
    /// block/bdev.c: the last `blkdev_put` syncs and drops the device's pages). No program waits for that within its time.
    fn close<S: Stack>(&mut self, engine: &mut Engine<S, Watch>) {
        self.closing = true;
        if self.cache.dirty() > 0 && self.flusher.state == flusher::State::Idle {
            self.flusher.state = flusher::State::Working;
            engine.agenda.push(engine.now, FLUSH);
        }
    }

    /// Books what the drives' requests cost since the last look.
    fn book_drive_requests<S: Stack>(&mut self, engine: &mut Engine<S, Watch>) {
        let work = self.cost_of_drive_requests(engine);
        engine.processors.book(0, engine.now, work);
    }

    /// What the drives' requests cost since the last look.
    fn cost_of_drive_requests<S: Stack>(&mut self, engine: &mut Engine<S, Watch>) -> Nanos {
        let watch = std::mem::take(&mut engine.observer.counts);
        if watch.writes_begun + watch.writes_ended == 0 {
            return Nanos::ZERO;
        }
        let bare = self.costs.request(false, 0.0);
        let page = self.costs.request(false, 1.0);
        // One run of the queue dispatches all that it finds: what a scheduler costs a request alone is mostly the waking for it.
        let runs = u64::from(watch.writes_begun > 0);
        let begun = bare.submit.0 * watch.writes_begun
            + bare.scheduler.0 * runs
            + (page.submit - bare.submit).0 * watch.pages_begun;
        Nanos(begun + bare.interrupt.0 * watch.writes_ended)
    }

    fn wake_sleepers<S: Stack>(&mut self, engine: &mut Engine<S, Watch>) {
        while let Some(process) = engine.storage.take_woken() {
            if process == FLUSHER {
                if self.flusher.state == flusher::State::WaitsForRequest {
                    self.flusher.state = flusher::State::Working;
                    let at = engine.processors.book(0, engine.now, Nanos::ZERO);
                    engine.agenda.push(at, FLUSH);
                }
            } else {
                let index = process.0 as usize - 1;
                if self.threads[index].state == State::WaitsForRequest {
                    self.resume(engine, index, Nanos::ZERO);
                }
            }
        }
    }

    /// The thread goes on when the processor has done `work` for it.
    fn resume<S: Stack>(&mut self, engine: &mut Engine<S, Watch>, index: usize, work: Nanos) {
        let thread = &mut self.threads[index];
        thread.state = State::Ready;
        let at = engine
            .processors
            .book(thread.plan.processor, engine.now, work + thread.owed);
        thread.owed = Nanos::ZERO;
        engine.agenda.push(at, (index as u32) << 2 | STEP);
    }

    fn pages_read<S: Stack>(&mut self, engine: &mut Engine<S, Watch>, token: u32) {
        let UnderWay { run, .. } = self.under_way.remove(token as usize);
        self.cache.read_done(run);
        for index in 0..self.threads.len() {
            let thread = &mut self.threads[index];
            if let State::WaitsForPage(page) = thread.state {
                if (run.start..run.start + run.pages).contains(&page) {
                    if thread.direction == Direction::Read {
                        // Who waits for a page holds it: it is copied even if reclaim takes it before the thread runs. Otherwise
                        // several large reads in little memory could take each other's pages for ever.
                        thread.page = page + 1;
                        thread.read_ahead.took(page);
                        thread.owed += Nanos(self.plan.cost.read_page);
                    }
                    let wake = thread.plan.cost.wake;
                    self.resume(engine, index, wake);
                }
            }
        }
    }

    fn bio(run: Run, token: u32, write: bool, process: ProcessId, priority: Priority) -> Bio {
        let (start, sectors) = (
            Lba(run.start * PAGE_SECTORS),
            Sectors(run.pages * PAGE_SECTORS),
        );
        Bio {
            priority,
            ..Bio::new(token, Direction::of(write), start, sectors, process)
        }
    }

    /// The thread has the processor, and what it owed of it is done.
    fn step<S: Stack>(&mut self, engine: &mut Engine<S, Watch>, index: usize) {
        if self.threads[index].state == State::Ended {
            return;
        }
        if let Some(rest) = self.threads[index].rest.take() {
            if !self.submit_pages(engine, index, rest) {
                return;
            }
        }
        if let Some(window) = self.threads[index].window.take() {
            if !self.submit_pages(engine, index, (window.start, window.pages)) {
                return;
            }
        }
        let thread = &self.threads[index];
        if thread.in_call && thread.page == thread.end && !thread.looks_again {
            self.end_call(engine, index);
        }
        if !self.threads[index].in_call && !self.begin_call(engine, index) {
            return;
        }
        match self.threads[index].direction {
            Direction::Read => self.read(engine, index),
            Direction::Write => self.write(engine, index),
        }
    }

    fn begin_call<S: Stack>(&mut self, engine: &mut Engine<S, Watch>, index: usize) -> bool {
        let now = engine.now;
        let thread = &mut self.threads[index];
        if thread.left == 0 || now >= thread.plan.deadline {
            thread.state = State::Ended;
            thread.ended = Some(now);
            engine.running -= 1;
            engine.last_return = engine.last_return.max(now);
            let process = thread.plan.process;
            engine
                .storage
                .process_exits(now, process, &mut engine.observer);
            return false;
        }
        thread.left -= 1;
        let operation = thread.stream.draw();
        thread.direction = operation.direction;
        thread.page = operation.start.0 / PAGE_SECTORS;
        thread.end = thread.page + operation.sectors.0 / PAGE_SECTORS;
        thread.sectors = operation.sectors;
        thread.began = now + thread.plan.cost.user;
        thread.in_call = true;
        thread.owed = thread.owed + thread.plan.cost.user + Nanos(self.plan.cost.call);
        true
    }

    fn end_call<S: Stack>(&mut self, engine: &mut Engine<S, Watch>, index: usize) {
        let now = engine.now;
        let thread = &mut self.threads[index];
        thread.in_call = false;
        let latency = now.saturating_sub(thread.began);
        let sectors = thread.sectors;
        let (job, direction) = (thread.plan.job as usize, thread.direction);
        engine.jobs[job].record(direction, sectors, latency);
        engine.windows.record(now, sectors.0, latency);
        engine.last_return = engine.last_return.max(now);
    }

    fn read<S: Stack>(&mut self, engine: &mut Engine<S, Watch>, index: usize) {
        loop {
            let thread = &mut self.threads[index];
            let (page, end) = (thread.page, thread.end);
            if page == end {
                self.resume(engine, index, Nanos::ZERO);
                return;
            }
            let plain = self.cache.plain_run(0, page, end - page);
            if plain > 0 {
                thread.page += plain;
                thread.read_ahead.took(page + plain - 1);
                thread.owed += Nanos(self.plan.cost.read_page * plain);
                self.cache.touch(Run {
                    file: 0,
                    start: page,
                    pages: plain,
                });
                continue;
            }
            // Something other than copying comes: at the time at which it comes.
            if thread.owed > Nanos::ZERO {
                self.resume(engine, index, Nanos::ZERO);
                return;
            }
            let wanted = end - page;
            if self.cache.find(0, page) == Found::Absent {
                // As far back as the read-ahead goes (Linux v6.1 mm/readahead.c, try_context_readahead).
                let history = self.plan.read_ahead;
                let before = self.cache.cached_before(0, page, history);
                let window = thread.read_ahead.on_miss(page, wanted, before);
                self.make_window(engine, index, window);
                return;
            }
            if self.cache.take_mark(0, page) {
                let most = page + 1 + self.plan.read_ahead;
                let uncached = self.cache.next_absent(0, page + 1, most);
                let uncached = (uncached < most).then_some(uncached);
                if let Some(window) = thread.read_ahead.on_mark(page, wanted, uncached) {
                    self.make_window(engine, index, window);
                    return;
                }
                continue;
            }
            thread.state = State::WaitsForPage(page);
            let now = engine.now;
            engine.storage.process_waits(now, &mut engine.observer);
            return;
        }
    }

    /// The pages of a window are made first, then handed down.
    fn make_window<S: Stack>(
        &mut self,
        engine: &mut Engine<S, Watch>,
        index: usize,
        window: Window,
    ) {
        let mut window = window;
        let have = self
            .cache
            .next_absent(0, window.start, window.start + window.pages);
        window.pages -= have - window.start;
        window.start = have;
        if window.pages == 0 {
            self.resume(engine, index, Nanos::ZERO);
            return;
        }
        let run = Run {
            file: 0,
            start: window.start,
            pages: window.pages,
        };
        let reclaimed = self.cache.add(run, true);
        if let Some(mark) = window.mark.filter(|mark| *mark >= window.start) {
            self.cache.mark(0, mark);
        }
        let cost = self.plan.cost;
        let request = self.costs.request(true, 0.0);
        let work = Nanos(cost.new_page * window.pages + cost.reclaim_page * reclaimed)
            + request.submit
            + request.scheduler;
        self.threads[index].window = Some(window);
        self.resume(engine, index, work);
    }

    /// False when the thread sleeps for a request.
    fn submit_pages<S: Stack>(
        &mut self,
        engine: &mut Engine<S, Watch>,
        index: usize,
        (first, pages): (u64, u64),
    ) -> bool {
        let now = engine.now;
        let plan = &self.threads[index].plan;
        let (process, priority) = (plan.process, plan.priority);
        engine.storage.begin_plug();
        let refused = self.threads[index].refused.take();
        let run = Run {
            file: 0,
            start: first,
            pages,
        };
        let (at, refused) = self.hand_down(engine, run, false, (process, priority), refused);
        if refused.is_some() {
            let thread = &mut self.threads[index];
            thread.refused = refused;
            thread.rest = Some((at, first + pages - at));
            thread.state = State::WaitsForRequest;
        }
        engine.storage.end_plug(now, &mut engine.observer);
        let behind = self.costs.request(true, (at - first) as f64).behind;
        engine
            .processors
            .book(self.threads[index].plan.processor, now, behind);
        self.book_drive_requests(engine);
        refused.is_none()
    }

    /// Hands a run down in bios until one finds no request. What was `refused` is handed in again as it was; gives where the rest begins, and
    /// the token of what is refused now.
    fn hand_down<S: Stack>(
        &mut self,
        engine: &mut Engine<S, Watch>,
        run: Run,
        write: bool,
        (process, priority): (ProcessId, Priority),
        mut refused: Option<u32>,
    ) -> (u64, Option<u32>) {
        let per_bio = (engine.max_sectors.0 / PAGE_SECTORS).max(1);
        let (mut at, end) = (run.start, run.start + run.pages);
        while at < end {
            let run = Run {
                file: 0,
                start: at,
                pages: per_bio.min(end - at),
            };
            let token = match refused.take() {
                Some(token) => token,
                None => self.under_way.insert(UnderWay { run, write }) as u32,
            };
            let bio = Self::bio(run, token, write, process, priority);
            if engine
                .storage
                .submit(engine.now, &bio, &mut engine.observer)
                == Submission::Blocked
            {
                return (at, Some(token));
            }
            at += run.pages;
        }
        (at, None)
    }

    fn seen(&self) -> Seen {
        let dirty = self.cache.dirty() + self.cache.writing();
        let exact = self.plan.lag == 0;
        let group = if exact { dirty } else { self.group_seen };
        Seen::of_device(group, dirty, self.dirtied, self.written)
    }

    fn changed(&mut self, count: u64) {
        self.changes += count;
        if self.changes >= self.plan.lag {
            self.changes = 0;
            self.group_seen = self.cache.dirty() + self.cache.writing();
        }
    }

    fn write<S: Stack>(&mut self, engine: &mut Engine<S, Watch>, index: usize) {
        loop {
            let thread = &mut self.threads[index];
            let due = self.pacing.pages_to_look(&thread.writer);
            if thread.looks_again || due == 0 && thread.writer.dirtied > 0 {
                if thread.owed > Nanos::ZERO {
                    self.resume(engine, index, Nanos::ZERO);
                    return;
                }
                thread.looks_again = false;
                if self.look(engine, index) {
                    return;
                }
                continue;
            }
            let (page, end) = (thread.page, thread.end);
            if page == end {
                self.resume(engine, index, Nanos::ZERO);
                return;
            }
            if self.cache.find(0, page) == Found::Coming {
                if thread.owed > Nanos::ZERO {
                    self.resume(engine, index, Nanos::ZERO);
                    return;
                }
                thread.state = State::WaitsForPage(page);
                let now = engine.now;
                engine.storage.process_waits(now, &mut engine.observer);
                return;
            }
            let pages = (end - page).min(due.max(1));
            let run = Run {
                file: 0,
                start: page,
                pages,
            };
            thread.page += pages;
            let (_, reclaimed) = self.cache.add_absent(run);
            let new = self.cache.make_dirty(run);
            let cost = self.plan.cost;
            let thread = &mut self.threads[index];
            thread.owed += Nanos(cost.write_page * pages + cost.reclaim_page * reclaimed);
            thread.writer.dirtied += new;
            self.dirtied += new;
            self.changed(CHANGES_DIRTY * new);
        }
    }

    /// A writer looks at the limits; true when it sleeps.
    fn look<S: Stack>(&mut self, engine: &mut Engine<S, Watch>, index: usize) -> bool {
        let seen = self.seen();
        let kernel = self.plan.kernel;
        let tick = kernel.jiffies(engine.now);
        let verdict = self
            .pacing
            .writer_looks(tick, &mut self.threads[index].writer, &seen);
        if verdict != Verdict::Free && self.flusher.state == flusher::State::Idle {
            self.flusher.state = flusher::State::Working;
            engine.agenda.push(engine.now, FLUSH);
        }
        match verdict {
            Verdict::Free | Verdict::GoOn => false,
            Verdict::Sleep { ticks, again } => {
                // Linux kernel/time/timer.c: a timer never fires early, so one tick later than asked for at most.
                let at = kernel.tick_start(tick + ticks + 1);
                self.threads[index].looks_again = again;
                engine.agenda.push(at, (index as u32) << 2 | STEP);
                true
            }
        }
    }

    /// The flusher's step: what it has gathered goes to the queue, then it gathers on.
    fn flush<S: Stack>(&mut self, engine: &mut Engine<S, Watch>) {
        let now = engine.now;
        if self.flusher.owed > Nanos::ZERO {
            // It shares the processor with the programs.
            let turn = self.flusher.owed.min(FLUSHER_TURN);
            self.flusher.owed = self.flusher.owed.saturating_sub(turn);
            let at = engine.processors.book(0, now, turn);
            engine.agenda.push(at, FLUSH);
            return;
        }
        if !self.flusher.batch.is_empty() {
            if self.submit_batch(engine) {
                engine.agenda.push(now, FLUSH);
            }
            return;
        }
        if self.flusher.left == 0 {
            let seen = self.seen();
            let dirty = self.cache.dirty();
            if dirty == 0 || !self.closing && !self.pacing.over_background(dirty) {
                self.flusher.state = flusher::State::Idle;
                return;
            }
            self.pacing
                .flusher_looks(self.plan.kernel.jiffies(now), &seen);
            self.flusher.left = self.pacing.turn();
        }
        let pages = self.flusher.gather(&mut self.cache, &self.plan);
        self.changed(CHANGES_WRITING * pages);
        self.flusher.owed = Nanos(self.plan.cost.flush_page * pages.max(1));
        engine.agenda.push(now, FLUSH);
    }

    /// False when the flusher sleeps for a request.
    fn submit_batch<S: Stack>(&mut self, engine: &mut Engine<S, Watch>) -> bool {
        let now = engine.now;
        engine.storage.begin_plug();
        let mut all = true;
        let flusher = (FLUSHER, Priority::default());
        while let Some(run) = self.flusher.batch.pop_front() {
            let refused = self.flusher.refused.take();
            let (at, refused) = self.hand_down(engine, run, true, flusher, refused);
            if refused.is_some() {
                self.flusher.refused = refused;
                self.flusher.batch.push_front(Run {
                    file: 0,
                    start: at,
                    pages: run.start + run.pages - at,
                });
                self.flusher.state = flusher::State::WaitsForRequest;
                all = false;
                break;
            }
        }
        engine.storage.end_plug(now, &mut engine.observer);
        self.flusher.owed = self.cost_of_drive_requests(engine);
        // A request may have come free while the plug was emptied.
        if engine.storage.has_woken() {
            self.wake_sleepers(engine);
        }
        all
    }
}

impl<S: Stack> Tasks<S, Watch> for CachedThreads {
    fn at_work(&mut self, engine: &mut Engine<S, Watch>) -> bool {
        if engine.running > 0 {
            return true;
        }
        if !self.closing {
            self.close(engine);
        }
        self.flusher.state != flusher::State::Idle || !self.under_way.is_empty()
    }

    fn storage_due(&mut self, engine: &mut Engine<S, Watch>) {
        let finished = &mut self.finished;
        engine.events += engine.storage.advance(
            engine.now,
            &mut engine.observer,
            |Done { token, .. }| {
                finished.push(token);
            },
        );
        self.book_drive_requests(engine);
        let mut finished = std::mem::take(&mut self.finished);
        for &token in &finished {
            let UnderWay { run, write } = self.under_way[token as usize];
            if write {
                self.cache.write_done(run);
                self.written += run.pages;
                self.changed(CHANGES_CLEAN * run.pages);
                let work = Nanos(self.plan.cost.clean_page * run.pages);
                engine.processors.book(0, engine.now, work);
                self.under_way.remove(token as usize);
            } else {
                let cost = self.costs.request(true, run.pages as f64);
                let at = engine.processors.book(0, engine.now, cost.interrupt);
                engine.agenda.push(at, token << 2 | PAGES_READ);
            }
        }
        finished.clear();
        self.finished = finished;
        if engine.storage.has_woken() {
            self.wake_sleepers(engine);
        }
    }

    fn timer_fired(&mut self, engine: &mut Engine<S, Watch>) {
        self.book_drive_requests(engine);
        self.wake_sleepers(engine);
    }

    fn act(&mut self, engine: &mut Engine<S, Watch>) {
        let Some(entry) = engine.agenda.pop() else {
            return;
        };
        match entry & 3 {
            STEP => self.step(engine, (entry >> 2) as usize),
            PAGES_READ => self.pages_read(engine, entry >> 2),
            _ => self.flush(engine),
        }
    }
}

impl<S: Stack> Threads<S, Watch> for CachedThreads {
    fn ends(&self, started: Nanos, now: Nanos) -> Vec<ThreadEnd> {
        self.threads
            .iter()
            .map(|thread| thread.plan.end(thread.ended.unwrap_or(now) - started))
            .collect()
    }
}
