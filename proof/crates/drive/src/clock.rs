//! Real time as the drive's time: nanoseconds since it was switched on, running slower for a slow drive.

use rustix::time::{clock_gettime, ClockId};
use seekwise_units::Nanos;

/// CLOCK_MONOTONIC in nanoseconds: the same in every process of the machine, so that clients can compare.
pub fn monotonic() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Maps the machine's clock to the model's; a factor of 2 makes everything the drive does take twice as long.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    factor: f64,
    real: u64,
    model: u64,
}

impl Clock {
    /// The model's time is 0 at `real`, in ns of [`monotonic`], and runs at full speed.
    pub fn new(real: u64) -> Self {
        Self {
            factor: 1.0,
            real,
            model: 0,
        }
    }

    /// From `real` on the drive is `factor` times as slow as its model.
    pub fn slow(&mut self, real: u64, factor: f64) {
        *self = Self {
            factor,
            real,
            model: self.model(real).0,
        };
    }

    /// How many times slower than its model the drive is now; 1 at first.
    pub fn factor(&self) -> f64 {
        self.factor
    }

    /// The model's time at `real`, in ns of [`monotonic`].
    pub fn model(&self, real: u64) -> Nanos {
        let passed = real.saturating_sub(self.real);
        let passed = if self.factor == 1.0 {
            passed
        } else {
            (passed as f64 / self.factor) as u64
        };
        Nanos(self.model + passed)
    }

    /// The first instant of the machine at which the drive's clock shows `model`.
    pub fn real(&self, model: Nanos) -> u64 {
        let span = model.0.saturating_sub(self.model);
        let span = if self.factor == 1.0 {
            span
        } else {
            (span as f64 * self.factor).ceil() as u64
        };
        self.real.saturating_add(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_drive_takes_longer_from_now_on_and_its_time_never_jumps() {
        let mut clock = Clock::new(1000);
        assert_eq!(clock.model(1500), Nanos(500));
        clock.slow(1500, 4.0);
        assert_eq!(clock.model(1500), Nanos(500));
        assert_eq!(clock.model(1900), Nanos(600));
        assert_eq!(clock.real(Nanos(600)), 1900);
        clock.slow(1900, 1.0);
        assert_eq!(clock.model(2000), Nanos(700));
    }
}
