//! How gnome-disks measures: samples at even distances over the whole volume, one after the other.
//!
//! Facts (benchmark dialog of gnome-disk-utility 3.x, and the tests of udisks' OpenForBenchmark): the device is open with O_DIRECT and
//! O_SYNC. Sample n of N begins at n/N of the device. One page is read there, then the sample is read and timed. A test with writing then
//! reads the page again and writes the sample back; its time includes what O_SYNC and the fsync behind it ask of the drives' caches. What is
//! shown is the mean of the samples' rates, not all bytes over all time.

use crate::files::machine::FileEngine;
use crate::files::{Files, PhasePlan, Wait};
use seekwise_device::Device;
use seekwise_host::block::BlockQueue;
use seekwise_units::{Nanos, PAGE_BYTES};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Brings the arm there, outside the time taken.
    ReadPage,
    Read,
    Write,
    Flush,
}

const READING: &[Step] = &[Step::ReadPage, Step::Read];
const WRITING: &[Step] = &[
    Step::ReadPage,
    Step::Read,
    Step::ReadPage,
    Step::Write,
    // Of O_SYNC, and of fsync.
    Step::Flush,
    Step::Flush,
];

/// Where a thread stands within a sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Samples {
    /// Samples that are over, and steps of the running one that were begun.
    over: u64,
    begun: usize,
    current: Option<Step>,
    began: Nanos,
}

impl<Q: BlockQueue, D: Device> FileEngine<Q, D> {
    /// Ends the step that was under way and begins the next one. False when the task's state says what comes next.
    pub(crate) fn sample(&mut self, files: &mut Files, index: usize, plan: &PhasePlan) -> bool {
        if !self.step_is_over(files, index) {
            return false;
        }
        let (now, volume_pages) = (self.now, files.plan.file_pages);
        let steps = if plan.write { WRITING } else { READING };
        let thread = files.thread(index);
        if thread.samples.begun == steps.len() {
            (thread.samples.begun, thread.samples.over) = (0, thread.samples.over + 1);
            thread.calls_left -= 1;
            let latency = now - thread.samples.began;
            files.calls_done(index, 1, plan.pages, latency);
            let outcome = files.outcomes.last_mut().expect("a phase runs");
            let bytes = (plan.pages * PAGE_BYTES) as f64;
            outcome.sample_rates += bytes * 1e9 / latency.0.max(1) as f64;
            return true;
        }
        let step = steps[thread.samples.begun];
        thread.samples.begun += 1;
        thread.samples.current = Some(step);
        if matches!(step, Step::Read | Step::Write) {
            thread.samples.began = now;
        }
        let samples = u128::from(thread.samples.over + thread.calls_left);
        let page = (u128::from(thread.samples.over) * u128::from(volume_pages) / samples) as u64;
        match step {
            Step::ReadPage => self.begin_transfer(files, index, page, 1, false),
            Step::Read => self.begin_transfer(files, index, page, plan.pages, false),
            Step::Write => self.begin_transfer(files, index, page, plan.pages, true),
            Step::Flush => {
                self.spend(self.host.costs.call);
                let number = self.ask_flush(files);
                files.thread(index).flush = Some(number);
            }
        }
        true
    }

    /// False while the task has to wait for what it asked for.
    fn step_is_over(&mut self, files: &mut Files, index: usize) -> bool {
        let thread = files.thread(index);
        let write = thread.samples.current == Some(Step::Write);
        if thread.direct.sends() && !self.send_call(files, index, write) {
            return false;
        }
        let thread = files.thread(index);
        let wait = match thread.flush {
            Some(number) => Some(Wait::Flush(number)),
            None if thread.direct.quiet() => None,
            None => Some(Wait::Direct(index as u32)),
        };
        if let Some(wait) = wait.filter(|&wait| !files.satisfied(wait)) {
            self.wait(files, index, wait);
            return false;
        }
        let thread = files.thread(index);
        thread.flush = None;
        thread.direct.hear();
        true
    }
}
