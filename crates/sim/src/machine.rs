//! One cell at work: threads, queue, drive and clock.
//!
//! Sources of events are few, so the next one is the smallest of three numbers instead of the head of a heap:
//!
//! ```text
//!   drive.next_at()   completion: interrupt, queue run again, then the waiting thread is told
//!   queue.timer()     plug timer, the policy's idling and expiry timers, write-back throttling
//!   agenda.next_at()  a thread becomes ready, or its bio reaches the queue
//! ```
//!
//! Equal times: the drive's interrupt before timers before threads, each in order of insertion. A closed-loop operation costs two
//! events: its completion, and the arrival of the thread's next bio, whose time follows from the processor's at once.

use crate::agenda::Agenda;
use crate::result::{JobStats, ThreadEnd, Windows};
use crate::stack::{MemberTotals, Stack, Totals};
use seekwise_host::block::{Bio, Done, Observer, Submission};
use seekwise_host::cpu::{CpuCost, Processors, SharedProcessor};
use seekwise_host::job::{Operation, Pace, Script, Start, Stream, Wait};
use seekwise_sched::{Direction, Priority, ProcessId};
use seekwise_units::{Lba, Nanos, Sectors};
use slab::Slab;

/// What a thread does.
#[derive(Clone, Debug)]
pub enum Load {
    Generated {
        stream: Stream,
        pace: Pace,
        sync: bool,
    },
    Scripted(Script),
}

/// A thread as a phase starts it.
#[derive(Clone, Debug)]
pub struct ThreadPlan {
    pub job: u32,
    pub process: ProcessId,
    pub priority: Priority,
    pub processor: usize,
    /// Of one of its operations.
    pub cost: CpuCost,
    pub starts: Nanos,
    pub load: Load,
    /// Operations to issue at most.
    pub operations_max: u64,
    /// Nothing is issued from this time of the phase on.
    pub deadline: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    operation: u32,
    at: Lba,
    left: Sectors,
}

#[derive(Clone, Debug)]
struct Thread {
    plan: ThreadPlan,
    left: u64,
    in_flight: u32,
    /// Rest of an operation whose next part found no free request.
    pending: Option<Pending>,
    /// Arrivals that came while the thread slept for a request.
    backlog: u32,
    due: Nanos,
    waits_for: WaitsFor,
    /// Processor time of a scripted thread.
    used: Nanos,
    ended: Option<Nanos>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitsFor {
    Nothing,
    Operation(u32),
    All,
}

#[derive(Clone, Copy, Debug)]
struct InFlight {
    thread: u32,
    direction: Direction,
    sync: bool,
    no_idle: bool,
    /// Bios not done yet, and sectors not submitted yet.
    bios: u32,
    unsubmitted: u64,
    sectors: u64,
    started: Nanos,
}

/// Entries of the agenda: thread number and what it does, in one word.
const READY: u32 = 0;
const ENTER: u32 = 1;
const RETRY: u32 = 2;
/// The processor takes the next scripted thread.
const PICK: u32 = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stalled {
    pub time: Nanos,
    pub waiting: usize,
}

/// What a phase did.
#[derive(Clone, Debug)]
pub struct PhaseOutcome {
    pub elapsed: Nanos,
    pub jobs: Vec<JobStats>,
    pub threads: Vec<ThreadEnd>,
    pub storage: Totals,
    /// Of each member of an array.
    pub members: Vec<MemberTotals>,
    pub windows: Windows,
    pub cpu_busy: Nanos,
    pub events: u64,
}

pub struct Machine<S, O> {
    pub now: Nanos,
    pub storage: S,
    pub observer: O,
    max_sectors: Sectors,
    processors: Processors,
    agenda: Agenda,
    threads: Vec<Thread>,
    thread_of_process: Vec<u32>,
    in_flight: Slab<InFlight>,
    finished: Vec<u32>,
    jobs: Vec<JobStats>,
    windows: Windows,
    running: usize,
    /// Scripted threads run on one processor without preemption: who runs until it sleeps, and who waits for that.
    on_processor: Option<u32>,
    /// Agenda entries of threads that want to run; the one that has used least processor time is next (CFS).
    run_queue: Vec<u32>,
    /// The thread on the processor has just got it.
    picked: bool,
    /// From a timer's tick until its work is done.
    pub timer_lag: Nanos,
    phase_start: Nanos,
    last_return: Nanos,
    events: u64,
}

impl<S: Stack, O: Observer> Machine<S, O> {
    pub fn new(storage: S, observer: O, processors: u32, max_sectors: Sectors) -> Self {
        Self {
            now: Nanos::ZERO,
            storage,
            observer,
            max_sectors,
            processors: Processors::new(processors),
            agenda: Agenda::default(),
            threads: Vec::new(),
            thread_of_process: Vec::new(),
            in_flight: Slab::new(),
            finished: Vec::with_capacity(64),
            jobs: Vec::new(),
            windows: Windows::new(Nanos::ZERO),
            running: 0,
            on_processor: None,
            run_queue: Vec::new(),
            picked: false,
            timer_lag: Nanos::ZERO,
            phase_start: Nanos::ZERO,
            last_return: Nanos::ZERO,
            events: 0,
        }
    }

    /// The same with a processor that others book, too.
    pub fn sharing(mut self, processor: SharedProcessor) -> Self {
        self.processors = Processors::shared(processor);
        self
    }

    /// As many, with nothing booked; a shared one as it is.
    pub fn idle_processors(&self) -> Processors {
        self.processors.idle()
    }

    pub fn processors(&self) -> usize {
        self.processors.count()
    }

    /// The longest bio.
    pub fn max_sectors(&self) -> Sectors {
        self.max_sectors
    }

    /// Runs one phase to its end: every thread is through and everything that it asked for is done.
    pub fn run_phase(
        &mut self,
        plans: Vec<ThreadPlan>,
        jobs: usize,
    ) -> Result<PhaseOutcome, Stalled> {
        let start = self.now;
        self.phase_start = start;
        self.last_return = start;
        self.events = 0;
        self.windows = Windows::new(start);
        self.jobs = (0..jobs).map(|_| JobStats::default()).collect();
        let entries: usize = plans
            .iter()
            .map(|p| match &p.load {
                Load::Generated {
                    pace: Pace::Closed { depth, .. },
                    ..
                } => *depth as usize + 2,
                _ => 3,
            })
            .sum();
        self.agenda = Agenda::new(entries);
        let processes = plans
            .iter()
            .map(|p| p.process.0 as usize + 1)
            .max()
            .unwrap_or(0);
        self.thread_of_process = vec![u32::MAX; processes];
        self.threads.clear();
        self.running = plans.len();
        self.on_processor = None;
        self.run_queue.clear();
        let before = self.storage.totals();
        let members_before = self.storage.members();
        let cpu = self.processors.busy;
        for mut plan in plans {
            let index = self.threads.len() as u32;
            plan.deadline = Nanos(plan.deadline.0.saturating_add(start.0));
            self.thread_of_process[plan.process.0 as usize] = index;
            let starts = start + plan.starts;
            let lanes = match &plan.load {
                Load::Generated {
                    pace: Pace::Closed { depth, .. },
                    ..
                } => *depth,
                _ => 1,
            };
            let left = plan.operations_max;
            self.threads.push(Thread {
                plan,
                left,
                in_flight: 0,
                pending: None,
                backlog: 0,
                due: starts,
                waits_for: WaitsFor::Nothing,
                used: Nanos::ZERO,
                ended: None,
            });
            for _ in 0..lanes {
                self.agenda.push(starts, index << 2 | READY);
            }
        }
        // Threads with nothing to do end where they start.
        for index in 0..self.threads.len() as u32 {
            self.end_if_through(start, index);
        }
        self.run()?;
        Ok(PhaseOutcome {
            elapsed: self.last_return - start,
            jobs: std::mem::take(&mut self.jobs),
            threads: self
                .threads
                .iter()
                .map(|t| ThreadEnd {
                    job: t.plan.job,
                    process: t.plan.process.0,
                    ended: t.ended.unwrap_or(self.now) - start,
                })
                .collect(),
            storage: self.storage.totals().since(&before),
            members: self
                .storage
                .members()
                .iter()
                .zip(&members_before)
                .map(|(now, before)| now.since(before))
                .collect(),
            windows: self.windows.clone(),
            cpu_busy: self.processors.busy - cpu,
            events: self.events,
        })
    }

    fn run(&mut self) -> Result<(), Stalled> {
        while self.running > 0 {
            let drive = self.storage.next_at();
            let thread = self.agenda.next_at();
            let timer = self.storage.timer();
            let timer = Nanos(timer.0.saturating_add(self.timer_lag.0));
            if drive <= thread && drive <= timer {
                if drive == Nanos::NEVER {
                    return Err(Stalled {
                        time: self.now,
                        waiting: self.storage.allocated(),
                    });
                }
                self.advance(drive);
                self.completion();
            } else if timer <= thread {
                self.advance(timer);
                self.events += 1;
                self.storage.fire(self.now, &mut self.observer);
                self.wake_sleepers();
            } else {
                self.advance(thread);
                self.events += 1;
                self.act();
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn advance(&mut self, to: Nanos) {
        debug_assert!(to >= self.now, "time never runs backwards");
        self.now = to;
    }

    #[inline(always)]
    fn completion(&mut self) {
        let now = self.now;
        let in_flight = &mut self.in_flight;
        // Merged requests end several operations at once; nearly always it is one.
        let mut first = None;
        let further = &mut self.finished;
        self.events += self
            .storage
            .advance(now, &mut self.observer, |Done { token, .. }| {
                let operation = &mut in_flight[token as usize];
                operation.bios -= 1;
                if operation.bios == 0 && operation.unsubmitted == 0 {
                    match first {
                        None => first = Some(token),
                        Some(_) => further.push(token),
                    }
                }
            });
        if self.storage.has_woken() {
            self.wake_sleepers();
        }
        if let Some(token) = first {
            self.finish(token);
        }
        if !self.finished.is_empty() {
            self.finish_further();
        }
    }

    fn finish_further(&mut self) {
        let mut finished = std::mem::take(&mut self.finished);
        for &token in &finished {
            self.finish(token);
        }
        finished.clear();
        self.finished = finished;
    }

    #[cold]
    fn wake_sleepers(&mut self) {
        while let Some(process) = self.storage.take_woken() {
            // A thread of a phase before this one may be told late; its process is nobody now.
            let thread = self.thread_of_process.get(process.0 as usize);
            let Some(&thread) = thread.filter(|&&thread| thread != u32::MAX) else {
                continue;
            };
            let plan = &self.threads[thread as usize].plan;
            let at = self
                .processors
                .book(plan.processor, self.now, plan.cost.wake);
            self.agenda.push(at, thread << 2 | RETRY);
        }
    }

    /// An operation is done: its access time is known, and the thread goes on.
    #[inline(always)]
    fn finish(&mut self, token: u32) {
        let now = self.now;
        let InFlight {
            thread: index,
            direction,
            sectors,
            started,
            ..
        } = self.in_flight.remove(token as usize);
        let thread = &mut self.threads[index as usize];
        thread.in_flight -= 1;
        let processor = thread.plan.processor;
        let cost = thread.plan.cost;
        let returned;
        match &mut thread.plan.load {
            Load::Generated {
                pace: Pace::Closed { think, .. },
                stream,
                ..
            } => {
                let goes_on = thread.left > 0 && now < thread.plan.deadline;
                if goes_on && *think == seekwise_host::job::Gap::ZERO {
                    let to_submit = cost.to_submit();
                    let enters = self
                        .processors
                        .book(processor, now, cost.to_return() + to_submit);
                    returned = enters - to_submit;
                    self.agenda.push(enters, index << 2 | ENTER);
                } else {
                    returned = self.processors.book(processor, now, cost.to_return());
                    if goes_on {
                        let at = returned + think.draw(&mut stream.random);
                        self.agenda.push(at, index << 2 | READY);
                    }
                }
            }
            Load::Generated {
                pace: Pace::Open { .. },
                ..
            } => {
                returned = self.processors.book(processor, now, cost.to_return());
            }
            Load::Scripted(_) => {
                // The interrupt delays whoever runs; waking up is paid when the thread gets the processor.
                returned = self.processors.book(processor, now, cost.interrupt);
                let told = match thread.waits_for {
                    WaitsFor::Operation(waited) => waited == token,
                    WaitsFor::All => thread.in_flight == 0,
                    WaitsFor::Nothing => false,
                };
                if told {
                    thread.waits_for = WaitsFor::Nothing;
                    self.next_line(index, returned);
                }
            }
        }
        let latency = returned - started;
        let thread = &self.threads[index as usize];
        let scripted = matches!(thread.plan.load, Load::Scripted(_));
        let may_end = scripted || thread.left == 0 || returned >= thread.plan.deadline;
        self.jobs[thread.plan.job as usize].record(direction, Sectors(sectors), latency);
        self.windows.record(now, sectors, latency);
        self.last_return = self.last_return.max(returned);
        if may_end {
            self.end_if_through(returned, index);
        }
    }

    /// Ends a thread that has nothing more to issue and nothing outstanding.
    #[inline]
    fn end_if_through(&mut self, at: Nanos, index: u32) {
        let thread = &self.threads[index as usize];
        if thread.in_flight > 0 || thread.pending.is_some() || thread.ended.is_some() {
            return;
        }
        let through = match &thread.plan.load {
            Load::Generated { .. } => {
                thread.left == 0 || self.now >= thread.plan.deadline || at >= thread.plan.deadline
            }
            Load::Scripted(script) => {
                script.next >= script.operations.len() && thread.waits_for == WaitsFor::Nothing
            }
        };
        if through {
            self.end(at, index);
        }
    }

    #[cold]
    fn end(&mut self, at: Nanos, index: u32) {
        let thread = &mut self.threads[index as usize];
        thread.ended = Some(at);
        thread.left = 0;
        let process = thread.plan.process;
        self.running -= 1;
        self.last_return = self.last_return.max(at);
        self.storage
            .process_exits(self.now, process, &mut self.observer);
    }

    /// The next entry of the agenda is due.
    #[inline(always)]
    fn act(&mut self) {
        let Some(entry) = self.agenda.pop() else {
            return;
        };
        let index = entry >> 2;
        match entry & 3 {
            ENTER => self.enter(index),
            READY => self.ready(index),
            RETRY => self.retry(index),
            _ => self.pick(),
        }
    }

    /// A thread may issue its next operation: it needs its processor first.
    fn ready(&mut self, index: u32) {
        let now = self.now;
        let thread = &mut self.threads[index as usize];
        if thread.ended.is_some() {
            return;
        }
        let mut woken = Nanos::ZERO;
        if let Load::Scripted(script) = &mut thread.plan.load {
            if self.on_processor != Some(index) {
                self.run_queue.push(index << 2 | READY);
                self.pick();
                return;
            }
            if self.picked {
                self.picked = false;
                woken = thread.plan.cost.wake;
            }
            match script.operations.get(script.next) {
                None => {
                    self.end_if_through(now, index);
                    self.leave_processor(index);
                    return;
                }
                Some(line) if line.wait == Wait::All => {
                    script.next += 1;
                    if thread.in_flight == 0 {
                        self.next_line(index, now);
                    } else {
                        thread.waits_for = WaitsFor::All;
                        self.leave_processor(index);
                    }
                    return;
                }
                Some(line) => woken += line.processor,
            }
        } else if now >= thread.plan.deadline {
            self.end_if_through(now, index);
            return;
        }
        let processor = thread.plan.processor;
        let to_submit = thread.plan.cost.to_submit();
        thread.used += woken + to_submit;
        let at = self.processors.book(processor, now, woken + to_submit);
        if at == now {
            self.enter(index);
        } else {
            self.agenda.push(at, index << 2 | ENTER);
        }
    }

    /// A thread's operation reaches the block layer.
    #[inline(always)]
    fn enter(&mut self, index: u32) {
        let now = self.now;
        let thread = &mut self.threads[index as usize];
        if thread.pending.is_some() {
            thread.backlog += 1;
            return;
        }
        let to_submit = thread.plan.cost.to_submit();
        let (processor, behind) = (thread.plan.processor, thread.plan.cost.behind);
        let (operation, started, sync, no_idle) = match &mut thread.plan.load {
            Load::Generated { stream, pace, sync } => {
                if thread.left == 0 {
                    return;
                }
                thread.left -= 1;
                let started = match pace {
                    Pace::Closed { .. } => now.saturating_sub(to_submit),
                    Pace::Open { .. } => thread.due,
                };
                let operation = stream.draw();
                (
                    operation,
                    started,
                    *sync || operation.direction == Direction::Read,
                    false,
                )
            }
            Load::Scripted(script) => {
                let line = script.operations[script.next];
                script.next += 1;
                let operation = Operation {
                    direction: line.direction,
                    start: line.lba,
                    sectors: line.sectors,
                };
                (
                    operation,
                    now.saturating_sub(to_submit),
                    line.sync,
                    line.no_idle,
                )
            }
        };
        thread.in_flight += 1;
        let record = InFlight {
            thread: index,
            direction: operation.direction,
            sync,
            no_idle,
            bios: 0,
            unsubmitted: operation.sectors.0,
            sectors: operation.sectors.0,
            started,
        };
        let token = self.in_flight.insert(record) as u32;
        self.submit(index, token, operation.start, operation.sectors);
        if behind > Nanos::ZERO {
            self.processors.book(processor, now, behind);
        }
    }

    #[inline(always)]
    fn bio(&self, index: u32, token: u32, start: Lba, sectors: Sectors) -> Bio {
        let plan = &self.threads[index as usize].plan;
        let operation = &self.in_flight[token as usize];
        Bio {
            sync: operation.sync,
            no_idle: operation.no_idle,
            priority: plan.priority,
            unplug: operation.sync,
            ..Bio::new(token, operation.direction, start, sectors, plan.process)
        }
    }

    /// Hands an operation (or its rest) down in bios of at most `max_sectors`.
    #[inline]
    fn submit(&mut self, index: u32, token: u32, mut at: Lba, mut left: Sectors) {
        let now = self.now;
        let several = left > self.max_sectors;
        if several {
            self.storage.begin_plug();
        }
        while left.0 > 0 {
            let sectors = left.min(self.max_sectors);
            let bio = self.bio(index, token, at, sectors);
            self.observer.submitted(now, &bio);
            match self.storage.submit(now, &bio, &mut self.observer) {
                Submission::Accepted => {
                    at = at + sectors;
                    left = Sectors(left.0 - sectors.0);
                    let operation = &mut self.in_flight[token as usize];
                    operation.bios += 1;
                    operation.unsubmitted -= sectors.0;
                }
                Submission::Blocked => {
                    self.threads[index as usize].pending = Some(Pending {
                        operation: token,
                        at,
                        left,
                    });
                    break;
                }
            }
        }
        if left.0 > 0 {
            self.leave_processor(index);
        }
        if several {
            self.storage.end_plug(now, &mut self.observer);
        }
        if left.0 == 0 {
            self.submitted(index, token);
        }
    }

    /// The call that submitted an operation is through: an asynchronous thread goes on, a synchronous one sleeps.
    #[inline(always)]
    fn submitted(&mut self, index: u32, token: u32) {
        let now = self.now;
        let thread = &mut self.threads[index as usize];
        match &mut thread.plan.load {
            Load::Generated {
                pace: Pace::Closed { .. },
                ..
            } => {}
            Load::Generated {
                pace: Pace::Open { gap },
                stream,
                ..
            } => {
                thread.due += gap.draw(&mut stream.random);
                if thread.left > 0 && thread.due < thread.plan.deadline {
                    let at = thread.due.max(now);
                    self.agenda.push(at, index << 2 | READY);
                } else {
                    thread.left = 0;
                }
            }
            Load::Scripted(script) => match script.operations[script.next - 1].wait {
                Wait::Own => {
                    thread.waits_for = WaitsFor::Operation(token);
                    self.leave_processor(index);
                }
                Wait::No | Wait::All => self.next_line(index, now),
            },
        }
    }

    /// A scripted thread's previous call returned at `returned`: when does the next line begin?
    fn next_line(&mut self, index: u32, returned: Nanos) {
        let thread = &mut self.threads[index as usize];
        let Load::Scripted(script) = &thread.plan.load else {
            return;
        };
        let at = match script.operations.get(script.next) {
            None => {
                self.end_if_through(returned, index);
                self.leave_processor(index);
                return;
            }
            Some(line) => match line.start {
                Start::After(pause) => returned + pause,
                Start::At(time) => (self.phase_start + time).max(returned),
            },
        };
        if at > returned {
            self.leave_processor(index);
        } else if self.on_processor != Some(index) {
            // Woken by an interrupt: it stands in the run queue from now on.
            self.run_queue.push(index << 2 | READY);
            self.pick();
            return;
        }
        self.agenda.push(at, index << 2 | READY);
    }

    /// A scripted thread sleeps or ends: the next one gets the processor.
    fn leave_processor(&mut self, index: u32) {
        if self.on_processor != Some(index) {
            return;
        }
        self.on_processor = None;
        self.pick();
    }

    /// Gives a free processor to the thread that has used least of it, once no interrupt is left to serve.
    fn pick(&mut self) {
        if self.on_processor.is_some() || self.run_queue.is_empty() {
            return;
        }
        let free = self.processors.book(0, Nanos::ZERO, Nanos::ZERO);
        if free > self.now {
            self.agenda.push(free, PICK);
            return;
        }
        let used = |entry: &u32| self.threads[(*entry >> 2) as usize].used;
        let next = (0..self.run_queue.len())
            .min_by_key(|&i| used(&self.run_queue[i]))
            .unwrap_or(0);
        let entry = self.run_queue.remove(next);
        self.on_processor = Some(entry >> 2);
        self.picked = true;
        match entry & 3 {
            READY => self.ready(entry >> 2),
            _ => self.retry(entry >> 2),
        }
    }

    /// A thread that slept for a request tries again.
    fn retry(&mut self, index: u32) {
        let thread = &mut self.threads[index as usize];
        if matches!(thread.plan.load, Load::Scripted(_)) && self.on_processor != Some(index) {
            self.run_queue.push(index << 2 | RETRY);
            self.pick();
            return;
        }
        let Some(Pending {
            operation,
            at,
            left,
        }) = thread.pending.take()
        else {
            return;
        };
        self.submit(index, operation, at, left);
        while self.threads[index as usize].pending.is_none()
            && self.threads[index as usize].backlog > 0
        {
            self.threads[index as usize].backlog -= 1;
            self.enter(index);
        }
    }
}
