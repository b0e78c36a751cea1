//! How gnome-disks measures: samples at even distances over the whole volume, one after the other.
//!
//! Facts (benchmark dialog of gnome-disk-utility 3.x, and the tests of udisks' OpenForBenchmark): the device is open with O_DIRECT and
//! O_SYNC. Sample n of N begins at n/N of the device. One page is read there, then the sample is read and timed. A test with writing then
//! reads the page again and writes the sample back; its time includes what O_SYNC and the fsync behind it ask of the drives' caches. What is
//! shown is the mean of the samples' rates, not all bytes over all time.

use crate::files::machine::reader::State;
use crate::files::machine::{FileEngine, PAGE_SECTORS};
use seekwise_device::Device;
use seekwise_host::block::BlockQueue;
use seekwise_units::PAGE_BYTES;

#[derive(Clone, Copy, Debug)]
pub struct SamplesPlan {
    pub write: bool,
    /// Samples, and pages of each.
    pub count: u64,
    pub pages: u64,
}

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

/// Where a reader stands within a sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Samples {
    /// Steps of the running sample that were begun.
    begun: usize,
    current: Option<Step>,
    rates: f64,
}

impl Samples {
    pub fn writes(&self) -> bool {
        self.current == Some(Step::Write)
    }

    /// Bytes per second over `count` samples.
    pub fn mean_rate(&self, count: u64) -> f64 {
        self.rates / count.max(1) as f64
    }
}

impl<Q: BlockQueue, D: Device> FileEngine<Q, D> {
    /// Ends the step that was under way and begins the next one.
    pub(crate) fn step_samples(&mut self, index: usize, plan: SamplesPlan) {
        let steps = if plan.write { WRITING } else { READING };
        let reader = &mut self.host.readers[index];
        if reader.samples.begun == steps.len() {
            let latency = reader.call_done(self.now, plan.pages);
            reader.samples.rates +=
                (plan.pages * PAGE_BYTES) as f64 * 1e9 / latency.0.max(1) as f64;
            reader.samples.begun = 0;
        }
        if reader.done.count == plan.count {
            reader.state = State::Ended;
            return;
        }
        let step = steps[reader.samples.begun];
        reader.samples.begun += 1;
        reader.samples.current = Some(step);
        match step {
            Step::ReadPage => self.ask_for_sample(index, plan, 1),
            Step::Read | Step::Write => {
                self.host.readers[index].call_began = self.now;
                self.ask_for_sample(index, plan, plan.pages);
            }
            Step::Flush => self.flush_members(index),
        }
    }

    fn ask_for_sample(&mut self, index: usize, plan: SamplesPlan, pages: u64) {
        let volume_pages = self.storage.volume.capacity().0 / PAGE_SECTORS;
        let reader = &mut self.host.readers[index];
        let from = (u128::from(reader.done.count) * u128::from(volume_pages)
            / u128::from(plan.count)) as u64;
        let write = reader.samples.writes();
        reader.ask(from, from + pages, self.storage.bio_pages_max);
        self.spend_direct_call(pages, write);
        self.host.readers[index].state = State::Ready(self.host.processor_free);
    }

    /// The block layer lets a flush wait for nothing here: the reader's own writes are through, and nobody else writes.
    fn flush_members(&mut self, index: usize) {
        self.spend(self.host.costs.call);
        let drives = self.flush_drives();
        let reader = &mut self.host.readers[index];
        reader.outstanding += drives;
        reader.state = State::WaitsForAll;
    }

    /// Every member is to empty its cache; gives their number.
    pub(crate) fn flush_drives(&mut self) -> u32 {
        let now = self.now;
        for member in self.storage.members.iter_mut() {
            member.spindle.flush(now);
        }
        self.storage.members.len() as u32
    }

    /// A member's cache is empty.
    pub(crate) fn flush_done(&mut self) {
        self.spend(self.host.costs.interrupt);
        if let Some(mut files) = self.host.files.take() {
            self.drive_flushed(&mut files);
            self.host.files = Some(files);
            return;
        }
        let wake = self.now.max(self.host.processor_free) + self.host.costs.switch;
        // Only one reader takes samples (`storage::check`).
        let reader = &mut self.host.readers[0];
        reader.outstanding -= 1;
        reader.wake(wake);
    }
}
