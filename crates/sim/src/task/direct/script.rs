//! Threads with a list of requests, which share one processor without preemption.

use super::{DirectThreads, PICK, READY};
use crate::engine::Engine;
use crate::storage::Stack;
use crate::task::ThreadLoad;
use seekwise_host::block::Observer;
use seekwise_host::job::Start;
use seekwise_units::Nanos;

impl DirectThreads {
    /// A scripted thread's previous call returned at `returned`: when does the next line begin?
    pub(super) fn next_line<S: Stack, O: Observer>(
        &mut self,
        engine: &mut Engine<S, O>,
        index: u32,
        returned: Nanos,
    ) {
        let thread = &mut self.threads[index as usize];
        let ThreadLoad::Scripted(script) = &thread.plan.load else {
            return;
        };
        let at = match script.operations.get(script.next) {
            None => {
                self.end_if_done(engine, returned, index);
                self.leave_processor(engine, index);
                return;
            }
            Some(line) => match line.start {
                Start::After(pause) => returned + pause,
                Start::At(time) => (engine.phase_start + time).max(returned),
            },
        };
        if at > returned {
            self.leave_processor(engine, index);
        } else if self.on_processor != Some(index) {
            // Woken by an interrupt: it stands in the run queue from now on.
            self.run_queue.push(index << 2 | READY);
            self.pick(engine);
            return;
        }
        engine.agenda.push(at, index << 2 | READY);
    }

    /// A scripted thread sleeps or ends: the next one gets the processor.
    pub(super) fn leave_processor<S: Stack, O: Observer>(
        &mut self,
        engine: &mut Engine<S, O>,
        index: u32,
    ) {
        if self.on_processor != Some(index) {
            return;
        }
        self.on_processor = None;
        self.pick(engine);
    }

    /// Gives a free processor to the thread that has used least of it, once no interrupt is left to serve.
    pub(super) fn pick<S: Stack, O: Observer>(&mut self, engine: &mut Engine<S, O>) {
        if self.on_processor.is_some() || self.run_queue.is_empty() {
            return;
        }
        let free = engine.processors.book(0, Nanos::ZERO, Nanos::ZERO);
        if free > engine.now {
            engine.agenda.push(free, PICK);
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
            READY => self.ready(engine, entry >> 2),
            _ => self.retry(engine, entry >> 2),
        }
    }
}
