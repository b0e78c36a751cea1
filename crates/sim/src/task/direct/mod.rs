//! Programs that go past the page cache: closed loops and open loops.
//!
//! A closed-loop operation costs two events: its completion, and the arrival of the thread's next bio, whose time follows from the
//! processor's at once.

mod finish;

use crate::engine::{Engine, Tasks, Threads};
use crate::result::ThreadEnd;
use crate::storage::{Stack, FLUSHED};
use crate::task::flushes::Flushes;
use crate::task::ThreadPlan;
use seekwise_host::block::{Bio, Done, Observer};
use seekwise_host::job::{Operation, Pace};
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
    /// Writes since it asked for a flush.
    writes: u32,
    ended: Option<Nanos>,
}

#[derive(Clone, Copy, Debug)]
struct InFlight {
    thread: u32,
    direction: Direction,
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

/// The threads of a phase whose calls are all direct.
#[derive(Debug, Default)]
pub struct DirectThreads {
    threads: Vec<DirectThread>,
    thread_of_process: Vec<u32>,
    in_flight: Slab<InFlight>,
    finished: Vec<u32>,
    /// Some thread asks for flushes, and operations that wait for one.
    syncs: bool,
    flushes: Flushes<AwaitsFlush>,
}

impl DirectThread {
    /// What the thread asks for next, and since when; None: it has asked for all.
    #[inline(always)]
    fn next_operation(&mut self, now: Nanos, to_submit: Nanos) -> Option<(Operation, Nanos)> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let started = match self.plan.pace {
            Pace::Closed { .. } => now.saturating_sub(to_submit),
            Pace::Open { .. } => self.due,
        };
        Some((self.plan.stream.draw(), started))
    }
}

impl DirectThreads {
    /// Begins a phase: puts the threads' first operations into the agenda. Deadlines count from now.
    pub fn new<S: Stack, O: Observer>(engine: &mut Engine<S, O>, plans: Vec<ThreadPlan>) -> Self {
        let start = engine.now;
        let lanes = |plan: &ThreadPlan| match plan.pace {
            Pace::Closed { depth, .. } => depth,
            Pace::Open { .. } => 1,
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
                writes: 0,
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
        if now >= thread.plan.deadline {
            self.end_if_done(engine, now, index);
            return;
        }
        let processor = thread.plan.processor;
        let to_submit = thread.plan.cost.to_submit();
        let at = engine.processors.book(processor, now, to_submit);
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
        let Some((operation, started)) = thread.next_operation(now, to_submit) else {
            return;
        };
        thread.in_flight += 1;
        let record = InFlight {
            thread: index,
            direction: operation.direction,
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
        let work = engine.storage.task_work(now, direction, sectors);
        if work > Nanos::ZERO {
            // The last piece leaves when all are cut. That the members are at work on the first by then is left out: published times add up.
            let thread = &mut self.threads[index as usize];
            thread.pending = Some(Pending {
                operation: token,
                at: start,
                left: sectors,
            });
            let cut = engine.processors.book(processor, now, work);
            engine.agenda.push(cut, index << 2 | RETRY);
            return;
        }
        self.submit(engine, index, token, direction, (start, sectors));
        if behind > Nanos::ZERO {
            engine.processors.book(processor, now, behind);
        }
    }

    /// Hands an operation (or its rest) down in bios of at most `max_sectors`.
    #[inline]
    fn submit<S: Stack, O: Observer>(
        &mut self,
        engine: &mut Engine<S, O>,
        index: u32,
        token: u32,
        direction: Direction,
        (at, left): (Lba, Sectors),
    ) {
        let several = left > engine.max_sectors;
        if several {
            engine.storage.begin_plug();
        }
        let plan = &self.threads[index as usize].plan;
        let bio = Bio {
            sync: true,
            priority: plan.priority,
            unplug: true,
            ..Bio::new(token, direction, at, left, plan.process)
        };
        let (bios, at, left) = engine.hand_down(bio);
        let operation = &mut self.in_flight[token as usize];
        operation.bios += bios;
        operation.unsubmitted = left.0;
        if left.0 > 0 {
            self.threads[index as usize].pending = Some(Pending {
                operation: token,
                at,
                left,
            });
        }
        if several {
            engine.storage.end_plug(engine.now, &mut engine.observer);
        }
        if left.0 == 0 {
            self.submitted(engine, index);
        }
    }

    /// The call that submitted an operation has returned: a thread with a timetable has its next arrival.
    #[inline(always)]
    fn submitted<S: Stack, O: Observer>(&mut self, engine: &mut Engine<S, O>, index: u32) {
        let now = engine.now;
        let thread = &mut self.threads[index as usize];
        if let Pace::Open { gap, think } = thread.plan.pace {
            thread.due += gap.draw(&mut thread.plan.stream.random);
            if thread.left > 0 && thread.due < thread.plan.deadline {
                let at = thread.due.max(now + think);
                engine.agenda.push(at, index << 2 | READY);
            } else {
                thread.left = 0;
            }
        }
    }

    /// A thread that slept for a request tries again.
    fn retry<S: Stack, O: Observer>(&mut self, engine: &mut Engine<S, O>, index: u32) {
        let thread = &mut self.threads[index as usize];
        let Some(Pending {
            operation,
            at,
            left,
        }) = thread.pending.take()
        else {
            return;
        };
        let direction = self.in_flight[operation as usize].direction;
        self.submit(engine, index, operation, direction, (at, left));
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
            _ => self.retry(engine, index),
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
