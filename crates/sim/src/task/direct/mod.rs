//! Programs that go past the page cache: closed loops, open loops and lists of requests.
//!
//! A closed-loop operation costs two events: its completion, and the arrival of the thread's next bio, whose time follows from the
//! processor's at once.

mod finish;
mod script;

use crate::engine::{Engine, Tasks, Threads};
use crate::result::ThreadEnd;
use crate::storage::{Stack, FLUSHED};
use crate::task::flushes::Flushes;
use crate::task::{ThreadLoad, ThreadPlan};
use seekwise_host::block::{Bio, Done, Observer};
use seekwise_host::job::{Operation, Pace, Wait};
use seekwise_sched::Direction;
use seekwise_units::{Lba, Nanos, Sectors};
use slab::Slab;

#[derive(Clone, Copy, Debug)]
struct Pending {
    operation: u32,
    at: Lba,
    left: Sectors,
}

#[derive(Clone, Debug)]
struct DirectThread {
    plan: ThreadPlan,
    left: u64,
    in_flight: u32,
    /// Rest of an operation whose next part found no free request.
    pending: Option<Pending>,
    /// Arrivals that came while the thread slept for a request.
    backlog: u32,
    due: Nanos,
    waits_for: WaitsFor,
    /// Writes since it asked for a flush.
    writes: u32,
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

/// An operation whose data are there and that waits for a flush.
#[derive(Clone, Copy, Debug)]
struct AwaitsFlush {
    token: u32,
    /// When its data were there, where the flush is a call of its own.
    written: Option<Nanos>,
}

/// Entries of the agenda: thread number and what it does, in one word.
const READY: u32 = 0;
const ENTER: u32 = 1;
const RETRY: u32 = 2;
/// The processor takes the next scripted thread.
const PICK: u32 = 3;

/// The threads of a phase whose calls are all direct.
#[derive(Debug, Default)]
pub struct DirectThreads {
    threads: Vec<DirectThread>,
    thread_of_process: Vec<u32>,
    in_flight: Slab<InFlight>,
    finished: Vec<u32>,
    /// Scripted threads run on one processor without preemption: who runs until it sleeps, and who waits for that.
    on_processor: Option<u32>,
    /// Agenda entries of threads that want to run; the one that has used least processor time is next (CFS).
    run_queue: Vec<u32>,
    /// The thread on the processor has just got it.
    picked: bool,
    /// Some thread asks for flushes, and operations that wait for one.
    syncs: bool,
    flushes: Flushes<AwaitsFlush>,
}

impl DirectThread {
    /// What the thread asks for next, since when, and whether it waits for it and no idling follows; None: it has asked for all.
    #[inline(always)]
    fn next_operation(
        &mut self,
        now: Nanos,
        to_submit: Nanos,
    ) -> Option<(Operation, Nanos, bool, bool)> {
        Some(match &mut self.plan.load {
            ThreadLoad::Generated { stream, pace, sync } => {
                if self.left == 0 {
                    return None;
                }
                self.left -= 1;
                let started = match pace {
                    Pace::Closed { .. } => now.saturating_sub(to_submit),
                    Pace::Open { .. } => self.due,
                };
                let operation = stream.draw();
                (
                    operation,
                    started,
                    *sync || operation.direction == Direction::Read,
                    false,
                )
            }
            ThreadLoad::Scripted(script) => {
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
        })
    }
}

impl DirectThreads {
    /// Begins a phase: puts the threads' first operations into the agenda. Deadlines count from now.
    pub fn new<S: Stack, O: Observer>(engine: &mut Engine<S, O>, plans: Vec<ThreadPlan>) -> Self {
        let start = engine.now;
        let lanes = |plan: &ThreadPlan| match &plan.load {
            ThreadLoad::Generated {
                pace: Pace::Closed { depth, .. },
                ..
            } => *depth,
            _ => 1,
        };
        let entries = plans.iter().map(|plan| lanes(plan) as usize + 2).sum();
        engine.begin_phase(entries, plans.len());
        let processes = plans
            .iter()
            .map(|p| p.process.0 as usize + 1)
            .max()
            .unwrap_or(0);
        let mut all = Self {
            thread_of_process: vec![u32::MAX; processes],
            finished: Vec::with_capacity(64),
            syncs: plans.iter().any(|plan| plan.sync_every > 0),
            ..Self::default()
        };
        for mut plan in plans {
            let index = all.threads.len() as u32;
            plan.deadline = Nanos(plan.deadline.0.saturating_add(start.0));
            all.thread_of_process[plan.process.0 as usize] = index;
            let starts = start + plan.starts;
            for _ in 0..lanes(&plan) {
                engine.agenda.push(starts, index << 2 | READY);
            }
            all.threads.push(DirectThread {
                left: plan.operations_max,
                plan,
                in_flight: 0,
                pending: None,
                backlog: 0,
                due: starts,
                waits_for: WaitsFor::Nothing,
                writes: 0,
                used: Nanos::ZERO,
                ended: None,
            });
        }
        // Threads with nothing to do end where they start.
        for index in 0..all.threads.len() as u32 {
            all.end_if_done(engine, start, index);
        }
        all
    }

    /// A thread may issue its next operation: it needs its processor first.
    fn ready<S: Stack, O: Observer>(&mut self, engine: &mut Engine<S, O>, index: u32) {
        let now = engine.now;
        let thread = &mut self.threads[index as usize];
        if thread.ended.is_some() {
            return;
        }
        let mut woken = Nanos::ZERO;
        if let ThreadLoad::Scripted(script) = &mut thread.plan.load {
            if self.on_processor != Some(index) {
                self.run_queue.push(index << 2 | READY);
                self.pick(engine);
                return;
            }
            if self.picked {
                self.picked = false;
                woken = thread.plan.cost.wake;
            }
            match script.operations.get(script.next) {
                None => {
                    self.end_if_done(engine, now, index);
                    self.leave_processor(engine, index);
                    return;
                }
                Some(line) if line.wait == Wait::All => {
                    script.next += 1;
                    if thread.in_flight == 0 {
                        self.next_line(engine, index, now);
                    } else {
                        thread.waits_for = WaitsFor::All;
                        self.leave_processor(engine, index);
                    }
                    return;
                }
                Some(line) => woken += line.processor,
            }
        } else if now >= thread.plan.deadline {
            self.end_if_done(engine, now, index);
            return;
        }
        let processor = thread.plan.processor;
        let to_submit = thread.plan.cost.to_submit();
        thread.used += woken + to_submit;
        let at = engine.processors.book(processor, now, woken + to_submit);
        if at == now {
            self.enter(engine, index);
        } else {
            engine.agenda.push(at, index << 2 | ENTER);
        }
    }

    /// A thread's operation reaches the block layer.
    #[inline(always)]
    fn enter<S: Stack, O: Observer>(&mut self, engine: &mut Engine<S, O>, index: u32) {
        let now = engine.now;
        let thread = &mut self.threads[index as usize];
        if thread.pending.is_some() {
            thread.backlog += 1;
            return;
        }
        let to_submit = thread.plan.cost.to_submit();
        let (processor, behind) = (thread.plan.processor, thread.plan.cost.behind);
        let Some((operation, started, sync, no_idle)) = thread.next_operation(now, to_submit)
        else {
            return;
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
        let Operation {
            direction,
            start,
            sectors,
        } = operation;
        let work = engine.storage.task_work(direction, sectors);
        if work > Nanos::ZERO {
            // The last piece leaves when all are cut. That the members are at work on the first by then is left out: published times add up.
            let thread = &mut self.threads[index as usize];
            thread.used += work;
            thread.pending = Some(Pending {
                operation: token,
                at: start,
                left: sectors,
            });
            let cut = engine.processors.book(processor, now, work);
            engine.agenda.push(cut, index << 2 | RETRY);
            return;
        }
        self.submit(engine, index, token, start, sectors);
        if behind > Nanos::ZERO {
            engine.processors.book(processor, now, behind);
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
    fn submit<S: Stack, O: Observer>(
        &mut self,
        engine: &mut Engine<S, O>,
        index: u32,
        token: u32,
        at: Lba,
        left: Sectors,
    ) {
        let several = left > engine.max_sectors;
        if several {
            engine.storage.begin_plug();
        }
        let (bios, at, left) = engine.hand_down(self.bio(index, token, at, left));
        let operation = &mut self.in_flight[token as usize];
        operation.bios += bios;
        operation.unsubmitted = left.0;
        if left.0 > 0 {
            self.threads[index as usize].pending = Some(Pending {
                operation: token,
                at,
                left,
            });
            self.leave_processor(engine, index);
        }
        if several {
            engine.storage.end_plug(engine.now, &mut engine.observer);
        }
        if left.0 == 0 {
            self.submitted(engine, index, token);
        }
    }

    /// The call that submitted an operation is through: an asynchronous thread goes on, a synchronous one sleeps.
    #[inline(always)]
    fn submitted<S: Stack, O: Observer>(
        &mut self,
        engine: &mut Engine<S, O>,
        index: u32,
        token: u32,
    ) {
        let now = engine.now;
        let thread = &mut self.threads[index as usize];
        match &mut thread.plan.load {
            ThreadLoad::Generated {
                pace: Pace::Closed { .. },
                ..
            } => {}
            ThreadLoad::Generated {
                pace: Pace::Open { gap, think },
                stream,
                ..
            } => {
                thread.due += gap.draw(&mut stream.random);
                if thread.left > 0 && thread.due < thread.plan.deadline {
                    let at = thread.due.max(now + think.draw(&mut stream.random));
                    engine.agenda.push(at, index << 2 | READY);
                } else {
                    thread.left = 0;
                }
            }
            ThreadLoad::Scripted(script) => match script.operations[script.next - 1].wait {
                Wait::Own => {
                    thread.waits_for = WaitsFor::Operation(token);
                    self.leave_processor(engine, index);
                }
                Wait::No | Wait::All => self.next_line(engine, index, now),
            },
        }
    }

    /// A thread that slept for a request tries again.
    fn retry<S: Stack, O: Observer>(&mut self, engine: &mut Engine<S, O>, index: u32) {
        let thread = &mut self.threads[index as usize];
        if matches!(thread.plan.load, ThreadLoad::Scripted(_)) && self.on_processor != Some(index) {
            self.run_queue.push(index << 2 | RETRY);
            self.pick(engine);
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
        self.submit(engine, index, operation, at, left);
        while self.threads[index as usize].pending.is_none()
            && self.threads[index as usize].backlog > 0
        {
            self.threads[index as usize].backlog -= 1;
            self.enter(engine, index);
        }
    }
}

impl<S: Stack, O: Observer> Tasks<S, O> for DirectThreads {
    #[inline(always)]
    fn at_work(&mut self, engine: &mut Engine<S, O>) -> bool {
        engine.running > 0
    }

    #[inline(always)]
    fn storage_due(&mut self, engine: &mut Engine<S, O>) {
        let now = engine.now;
        let in_flight = &mut self.in_flight;
        // Merged requests end several operations at once; nearly always it is one.
        let mut first = None;
        let further = &mut self.finished;
        let mut drives_flushed = 0;
        engine.events +=
            engine
                .storage
                .advance(now, &mut engine.observer, |Done { token, .. }| {
                    if token == FLUSHED {
                        drives_flushed += 1;
                        return;
                    }
                    let operation = &mut in_flight[token as usize];
                    operation.bios -= 1;
                    if operation.bios == 0 && operation.unsubmitted == 0 {
                        match first {
                            None => first = Some(token),
                            Some(_) => further.push(token),
                        }
                    }
                });
        if engine.storage.has_woken() {
            self.wake_sleepers(engine);
        }
        if let Some(token) = first {
            self.data_done(engine, token);
        }
        if !self.finished.is_empty() {
            self.finish_further(engine);
        }
        if drives_flushed > 0 {
            self.drives_flushed(engine, drives_flushed);
        }
    }

    #[inline]
    fn timer_fired(&mut self, engine: &mut Engine<S, O>) {
        self.wake_sleepers(engine);
    }

    #[inline(always)]
    fn act(&mut self, engine: &mut Engine<S, O>) {
        let Some(entry) = engine.agenda.pop() else {
            return;
        };
        let index = entry >> 2;
        match entry & 3 {
            ENTER => self.enter(engine, index),
            READY => self.ready(engine, index),
            RETRY => self.retry(engine, index),
            _ => self.pick(engine),
        }
    }
}

impl<S: Stack, O: Observer> Threads<S, O> for DirectThreads {
    fn ends(&self, started: Nanos, now: Nanos) -> Vec<ThreadEnd> {
        self.threads
            .iter()
            .map(|thread| thread.plan.end(thread.ended.unwrap_or(now) - started))
            .collect()
    }
}
