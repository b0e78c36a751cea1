//! Operations that are done: the flush that may follow, when the call returns, and what its thread does then.

use super::{AwaitsFlush, DirectThreads, InFlight, ENTER, READY, RETRY};
use crate::engine::Engine;
use crate::storage::Stack;
use seekwise_host::block::Observer;
use seekwise_host::job::Pace;
use seekwise_sched::Direction;
use seekwise_units::{Nanos, Sectors};

impl DirectThreads {
    pub(super) fn finish_further<S: Stack, O: Observer>(&mut self, engine: &mut Engine<S, O>) {
        let mut finished = std::mem::take(&mut self.finished);
        for &token in &finished {
            self.data_done(engine, token);
        }
        finished.clear();
        self.finished = finished;
    }

    /// All of an operation's data are there.
    #[inline(always)]
    pub(super) fn data_done<S: Stack, O: Observer>(
        &mut self,
        engine: &mut Engine<S, O>,
        token: u32,
    ) {
        if !self.syncs || !self.asks_for_flush(engine, token) {
            self.finish(engine, token, Nanos::ZERO);
        }
    }

    /// After a write, as often as its thread does: fdatasync, or the flush that is part of a write with O_DSYNC.
    #[cold]
    fn asks_for_flush<S: Stack, O: Observer>(
        &mut self,
        engine: &mut Engine<S, O>,
        token: u32,
    ) -> bool {
        let operation = &self.in_flight[token as usize];
        let thread = &mut self.threads[operation.thread as usize];
        let every = thread.plan.sync_every;
        thread.writes += u32::from(operation.direction == Direction::Write && every > 0);
        if every == 0 || thread.writes < every || operation.direction == Direction::Read {
            return false;
        }
        thread.writes = 0;
        let written = (every > 1).then_some(engine.now);
        self.flushes.ask(engine, AwaitsFlush { token, written });
        true
    }

    #[cold]
    pub(super) fn drives_flushed<S: Stack, O: Observer>(
        &mut self,
        engine: &mut Engine<S, O>,
        drives: u32,
    ) {
        for _ in 0..drives {
            for AwaitsFlush { token, written } in self.flushes.drive_flushed(engine) {
                let flushed = written.map_or(Nanos::ZERO, |at| engine.now - at);
                self.finish(engine, token, flushed);
            }
        }
    }

    #[cold]
    pub(super) fn wake_sleepers<S: Stack, O: Observer>(&mut self, engine: &mut Engine<S, O>) {
        while let Some(process) = engine.storage.take_woken() {
            // A notification may arrive for a thread of an earlier phase; that process no longer exists.
            let thread = self.thread_of_process.get(process.0 as usize);
            let Some(&thread) = thread.filter(|&&thread| thread != u32::MAX) else {
                continue;
            };
            let plan = &self.threads[thread as usize].plan;
            let at = engine
                .processors
                .book(plan.processor, engine.now, plan.cost.wake);
            engine.agenda.push(at, thread << 2 | RETRY);
        }
    }

    /// An operation is done: its latency is known, and the thread goes on. `flushed`: time in a flush that is a call of its own, which fio
    /// times apart.
    #[inline(always)]
    fn finish<S: Stack, O: Observer>(
        &mut self,
        engine: &mut Engine<S, O>,
        token: u32,
        flushed: Nanos,
    ) {
        let now = engine.now;
        let InFlight {
            thread: index,
            direction,
            sectors,
            started,
            ..
        } = self.in_flight.remove(token as usize);
        self.threads[index as usize].in_flight -= 1;
        let returned = self.thread_goes_on(engine, index);
        let latency = returned - started - flushed;
        let thread = &self.threads[index as usize];
        let may_end = thread.left == 0 || returned >= thread.plan.deadline;
        engine.jobs[thread.plan.job as usize].record(direction, Sectors(sectors), latency);
        engine.windows.record(now, sectors, latency);
        engine.last_return = engine.last_return.max(returned);
        if may_end {
            self.end_if_done(engine, returned, index);
        }
    }

    /// When the call returns; the thread is told then, and goes on.
    #[inline(always)]
    fn thread_goes_on<S: Stack, O: Observer>(
        &mut self,
        engine: &mut Engine<S, O>,
        index: u32,
    ) -> Nanos {
        let now = engine.now;
        let thread = &self.threads[index as usize];
        let processor = thread.plan.processor;
        let mut cost = thread.plan.cost;
        // A task that does more than one thing at once sleeps only where its processor has nothing to do (Linux fs/aio.c: read_events looks for ends
        // before it waits).
        let one_at_once = matches!(thread.plan.pace, Pace::Closed { depth: 1, .. });
        if !one_at_once && engine.processors.is_busy(processor, now) {
            engine.jobs[thread.plan.job as usize].unwoken += 1;
            cost.wake = Nanos::ZERO;
        }
        let Pace::Closed { think, .. } = thread.plan.pace else {
            return engine.processors.book(processor, now, cost.to_return());
        };
        let goes_on = thread.left > 0 && now < thread.plan.deadline;
        if goes_on && think == Nanos::ZERO {
            let to_submit = cost.to_submit();
            let enters = engine
                .processors
                .book(processor, now, cost.to_return() + to_submit);
            engine.agenda.push(enters, index << 2 | ENTER);
            return enters - to_submit;
        }
        let returned = engine.processors.book(processor, now, cost.to_return());
        if goes_on {
            engine.agenda.push(returned + think, index << 2 | READY);
        }
        returned
    }

    /// Ends a thread that has nothing more to issue and nothing outstanding.
    #[inline]
    pub(super) fn end_if_done<S: Stack, O: Observer>(
        &mut self,
        engine: &mut Engine<S, O>,
        at: Nanos,
        index: u32,
    ) {
        let thread = &self.threads[index as usize];
        if thread.in_flight > 0 || thread.pending.is_some() || thread.ended.is_some() {
            return;
        }
        let deadline = thread.plan.deadline;
        if thread.left == 0 || engine.now >= deadline || at >= deadline {
            self.end(engine, at, index);
        }
    }

    #[cold]
    fn end<S: Stack, O: Observer>(&mut self, engine: &mut Engine<S, O>, at: Nanos, index: u32) {
        let thread = &mut self.threads[index as usize];
        thread.ended = Some(at);
        thread.left = 0;
        let process = thread.plan.process;
        engine.running -= 1;
        engine.last_return = engine.last_return.max(at);
        engine
            .storage
            .process_exits(engine.now, process, &mut engine.observer);
    }
}
