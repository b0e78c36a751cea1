//! The time of cfq from 2.6.33 on: ticks until 4.7, nanoseconds from 4.8 on.

use super::counts_nanoseconds;
use crate::kernel::Kernel;
use seekwise_units::Nanos;

#[derive(Clone, Copy, Debug)]
pub struct Clock {
    kernel: Kernel,
    nanoseconds: bool,
}

impl Clock {
    /// The clock of a kernel: ticks until 4.7, nanoseconds from 4.8 on.
    pub fn new(kernel: Kernel) -> Self {
        Self {
            kernel,
            nanoseconds: counts_nanoseconds(&kernel),
        }
    }

    /// What the clock shows at `now`, in its own unit.
    #[inline]
    pub fn read(&self, now: Nanos) -> u64 {
        if self.nanoseconds {
            now.0
        } else {
            self.kernel.jiffies(now)
        }
    }

    /// The instant at which the clock shows `time`.
    pub fn instant(&self, time: u64) -> Nanos {
        if self.nanoseconds {
            Nanos(time)
        } else {
            self.kernel.tick_start(time)
        }
    }

    /// A span of milliseconds in the clock's unit; ticks round as the kernel does.
    pub fn millis(&self, millis: u64) -> u64 {
        if self.nanoseconds {
            millis * 1_000_000
        } else {
            self.kernel.ticks_from_millis(millis)
        }
    }

    /// One second in the clock's unit.
    pub fn second(&self) -> u64 {
        if self.nanoseconds {
            1_000_000_000
        } else {
            self.kernel.hz as u64
        }
    }

    /// A span of ticks in the clock's unit.
    pub fn ticks(&self, ticks: u64) -> u64 {
        if self.nanoseconds {
            ticks * self.kernel.tick().0
        } else {
            ticks
        }
    }

    /// The shortest span the clock can tell.
    pub fn unit(&self) -> u64 {
        1
    }
}
