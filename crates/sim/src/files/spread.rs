//! Calls at even distances over the whole volume, each a sequence of steps of which a part is timed.
//!
//! Call n of N works at n/N of the volume. Each step begins when the one before is done. The mean of the calls' own rates is kept beside their
//! latency: it is not all bytes over all time.

use crate::files::machine::FileEngine;
use crate::files::{Files, Wait};
use crate::spec::files::{StepCall, StepSpec};
use seekwise_device::Device;
use seekwise_host::block::{BlockQueue, Observer};
use seekwise_units::{Nanos, PAGE_BYTES};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub call: StepCall,
    pub pages: u64,
    /// The call's latency counts from here.
    pub starts_clock: bool,
}

impl Step {
    /// The step that a spec asks for, its length in whole pages.
    pub fn of(spec: &StepSpec) -> Self {
        Self {
            call: spec.call,
            pages: spec.bytes / PAGE_BYTES,
            starts_clock: spec.starts_clock,
        }
    }
}

/// Where a thread is within a call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spread {
    /// Calls that are over, and steps of the running one that were begun.
    over: u64,
    begun: usize,
    current: Option<Step>,
    began: Nanos,
}

impl<Q: BlockQueue, D: Device, O: Observer> FileEngine<Q, D, O> {
    /// Ends the step that was under way and begins the next one. False when the task's state says what comes next.
    pub(crate) fn spread_call(&mut self, files: &mut Files, index: usize) -> bool {
        if !self.step_is_over(files, index) {
            return false;
        }
        let begun = files.thread(index).spread.begun;
        match files.plan.steps.get(begun).copied() {
            Some(step) => self.begin_step(files, index, step),
            None => self.spread_call_done(files, index),
        }
        true
    }

    fn spread_call_done(&mut self, files: &mut Files, index: usize) {
        let thread = files.thread(index);
        let pages = thread.job.pages;
        (thread.spread.begun, thread.spread.over) = (0, thread.spread.over + 1);
        thread.calls_left -= 1;
        let latency = self.now - thread.spread.began;
        files.calls_done(index, (1, pages), self.now, latency);
        let outcome = files.outcome_of(index);
        let bytes = (pages * PAGE_BYTES) as f64;
        outcome.call_rates += bytes * 1e9 / latency.0.max(1) as f64;
    }

    fn begin_step(&mut self, files: &mut Files, index: usize, step: Step) {
        let now = self.now;
        let thread = files.thread(index);
        let volume_pages = thread.region.pages();
        thread.spread.begun += 1;
        thread.spread.current = Some(step);
        if step.starts_clock {
            thread.spread.began = now;
        }
        let calls = u128::from(thread.spread.over + thread.calls_left);
        let place = u128::from(thread.spread.over) * u128::from(volume_pages) / calls;
        let page = thread.region.from + place as u64;
        match step.call {
            StepCall::Read | StepCall::Write => {
                let transfer = self.transfer_now(step.pages, step.call == StepCall::Write);
                self.begin_transfer(files, index, page, transfer);
            }
            StepCall::Flush => {
                self.spend(self.host.costs.call);
                let number = self.ask_flush(files);
                files.thread(index).flush = Some(number);
            }
        }
    }

    /// False while the task has to wait for what it asked for.
    fn step_is_over(&mut self, files: &mut Files, index: usize) -> bool {
        let thread = files.thread(index);
        if thread.direct.sends() && !self.send_call(files, index) {
            return false;
        }
        let thread = files.thread(index);
        let wait = match thread.flush {
            Some(number) => Some(Wait::Flush(number)),
            None if thread.direct.is_idle() => None,
            None => Some(Wait::Direct(index as u32)),
        };
        if let Some(wait) = wait.filter(|&wait| !files.satisfied(wait)) {
            self.wait(files, index, wait);
            return false;
        }
        let thread = files.thread(index);
        thread.flush = None;
        thread.direct.take_completion();
        true
    }
}
