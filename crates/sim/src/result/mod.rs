//! What a run reports: per phase and job, in plain numbers.

pub mod histogram;
pub mod probe;

use crate::result::histogram::Histogram;
use seekwise_sched::Direction;
use seekwise_units::{Nanos, Sectors};

/// Processor time of several cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreTimes {
    pub busy: Nanos,
    /// Waiting for a scheduler's lock, and holding it.
    pub spun: Nanos,
    pub locked: Nanos,
}

/// A unit of work of a recorded program, times counted from the phase's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitOfWork {
    pub process: u32,
    pub ended: Nanos,
    pub length: Nanos,
    /// None of one that was not done in time; its length is then that so far.
    pub bytes: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub struct JobStats {
    pub latency: Histogram,
    pub sectors_read: u64,
    pub sectors_written: u64,
    pub reads: u64,
    /// Operations that ended while their task was at work, so that nobody was woken.
    pub unwoken: u64,
    pub units: Vec<UnitOfWork>,
    /// Of calls made of steps: their own rates in bytes per second, summed.
    pub call_rates: f64,
}

impl JobStats {
    /// Counts an operation of `sectors` that took `latency`.
    #[inline]
    pub fn record(&mut self, direction: Direction, sectors: Sectors, latency: Nanos) {
        self.latency.record(latency);
        match direction {
            Direction::Read => {
                self.reads += 1;
                self.sectors_read += sectors.0;
            }
            Direction::Write => self.sectors_written += sectors.0,
        }
    }

    /// Operations done, reads and writes.
    pub fn ios(&self) -> u64 {
        self.latency.count
    }

    /// Bytes moved, reads and writes.
    pub fn bytes(&self) -> u64 {
        Sectors(self.sectors_read + self.sectors_written).bytes().0
    }

    /// Adds the operations of another job.
    pub fn merge(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        self.sectors_read += other.sectors_read;
        self.sectors_written += other.sectors_written;
        self.reads += other.reads;
        self.unwoken += other.unwoken;
        self.call_rates += other.call_rates;
    }
}

/// Calls that returned, where no histogram is kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calls {
    pub count: u64,
    pub bytes: u64,
    pub latency_total: Nanos,
    pub latency_max: Nanos,
}

impl Calls {
    /// `count` equal calls returned that moved so many bytes and took so long in all.
    pub fn record(&mut self, count: u64, bytes: u64, total: Nanos) {
        self.count += count;
        self.bytes += bytes;
        self.latency_total += total;
        self.latency_max = self.latency_max.max(Nanos(total.0 / count));
    }

    /// The newest call takes longer.
    pub fn lengthen(&mut self, by: Nanos) {
        self.latency_total += by;
        self.latency_max = self.latency_max.max(by);
    }

    /// Adds the calls of another record.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.latency_total += other.latency_total;
        self.latency_max = self.latency_max.max(other.latency_max);
    }

    /// Mean latency in ns; 0 without calls.
    pub fn latency_mean_ns(&self) -> f64 {
        self.latency_total.0 as f64 / self.count.max(1) as f64
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadEnd {
    pub job: u32,
    pub process: u32,
    pub ended: Nanos,
}

/// Rate and mean access time over equal windows of the phase. The width doubles whenever [`WINDOWS_MAX`] are full, so memory is flat.
#[derive(Clone, Debug)]
pub struct Windows {
    start: Nanos,
    width: Nanos,
    current_end: Nanos,
    current: Window,
    done: Vec<Window>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    sectors: u64,
    ios: u64,
    latency_sum: u64,
}

/// How many windows a phase has at most.
pub const WINDOWS_MAX: usize = 64;
const WIDTH_FIRST: Nanos = Nanos::from_millis(10);

impl Default for Windows {
    fn default() -> Self {
        Self::new(Nanos::ZERO)
    }
}

impl Windows {
    /// Windows from `start` on, 10 ms wide at first.
    pub fn new(start: Nanos) -> Self {
        Self {
            start,
            width: WIDTH_FIRST,
            current_end: start + WIDTH_FIRST,
            current: Window::default(),
            done: Vec::with_capacity(WINDOWS_MAX),
        }
    }

    /// Counts an operation that was done at `now`; times must not decrease.
    #[inline]
    pub fn record(&mut self, now: Nanos, sectors: u64, latency: Nanos) {
        if now >= self.current_end {
            self.roll(now);
        }
        self.current.sectors += sectors;
        self.current.ios += 1;
        self.current.latency_sum += latency.0;
    }

    /// `calls` calls that moved so many sectors and took so long in all; none: what lengthened one that was recorded.
    pub fn record_many(&mut self, now: Nanos, calls: u64, sectors: u64, total: Nanos) {
        if now >= self.current_end {
            self.roll(now);
        }
        self.current.sectors += sectors;
        self.current.ios += calls;
        self.current.latency_sum += total.0;
    }

    #[cold]
    fn roll(&mut self, now: Nanos) {
        while now >= self.current_end {
            self.done.push(std::mem::take(&mut self.current));
            if self.done.len() == WINDOWS_MAX {
                for i in 0..WINDOWS_MAX / 2 {
                    let (a, b) = (self.done[2 * i], self.done[2 * i + 1]);
                    self.done[i] = Window {
                        sectors: a.sectors + b.sectors,
                        ios: a.ios + b.ios,
                        latency_sum: a.latency_sum + b.latency_sum,
                    };
                }
                self.done.truncate(WINDOWS_MAX / 2);
                self.width = Nanos(self.width.0 * 2);
            }
            self.current_end = Nanos(self.start.0 + (self.done.len() as u64 + 1) * self.width.0);
        }
    }

    /// Width of each window now: 10 ms times a power of two.
    pub fn width(&self) -> Nanos {
        self.width
    }

    /// (bytes per second, mean access time in ns) of each full window.
    pub fn rows(&self) -> Vec<(f64, f64)> {
        let seconds = self.width.as_secs_f64();
        self.done
            .iter()
            .map(|w| {
                let mean = if w.ios == 0 {
                    0.0
                } else {
                    w.latency_sum as f64 / w.ios as f64
                };
                (Sectors(w.sectors).bytes().0 as f64 / seconds, mean)
            })
            .collect()
    }
}
