//! Peak rate: how fast the drive is, estimated from dispatches and completions.
//!
//! Sectors per microsecond with 16 bits of fraction. A window of observation closes after a second, or when the drive proves
//! to have been idle; its rate moves the estimate the more, the longer and the more sequential it was.
//! Source: behaviour of Linux 5.10 to 6.12 block/bfq-iosched.c.

use super::parameters::THINK_TIME_NONE;
use seekwise_units::Nanos;

const FRACTION_BITS: u32 = 16;
const SAMPLES_MIN: u64 = 32;
const WINDOW_MIN: Nanos = Nanos::from_millis(300);
const WINDOW: Nanos = Nanos::from_secs(1);
const IDLE_LONG: Nanos = Nanos::from_millis(100);
/// Above this a rate is not believed: 20 sectors per microsecond.
const RATE_MAX: u64 = 20 << FRACTION_BITS;

/// Rate of the reference drive. Linux 5.10 to 6.12: ref_rate.
const fn reference(rotational: bool) -> u64 {
    if rotational {
        14_000
    } else {
        33_000
    }
}

/// How long the reference drive needs to start a large application. Linux 5.10 to 6.12: ref_wr_duration.
const fn reference_millis(rotational: bool) -> u64 {
    if rotational {
        7_000
    } else {
        2_500
    }
}

#[derive(Clone, Debug)]
pub struct PeakRate {
    pub rate: u64,
    /// Reference rate times reference duration in ticks.
    product: u64,
    samples: u64,
    sequential: u64,
    sectors: u64,
    largest: u64,
    first: Nanos,
    last: Nanos,
    window: Nanos,
    /// `None` before the first completion.
    pub last_completion: Option<Nanos>,
}

impl PeakRate {
    /// Two thirds of the reference drive's rate; `ticks` converts from ms.
    pub fn new(rotational: bool, ticks: impl Fn(u64) -> u64) -> Self {
        Self {
            // Optimistic: two thirds of the reference.
            rate: reference(rotational) * 2 / 3,
            product: reference(rotational) * ticks(reference_millis(rotational)),
            samples: 0,
            sequential: 0,
            sectors: 0,
            largest: 0,
            first: Nanos::ZERO,
            last: Nanos::ZERO,
            window: Nanos::ZERO,
            last_completion: None,
        }
    }

    /// How long an interactive queue stays raised, in ticks, before limits.
    pub fn raise_ticks(&self) -> i64 {
        (self.product / self.rate) as i64
    }

    /// Sectors at this rate within `millis`.
    pub fn sectors_in(&self, millis: u64) -> i64 {
        (self.rate.saturating_mul(1_000).saturating_mul(millis) >> FRACTION_BITS)
            .clamp(1, i32::MAX as u64) as i64
    }

    fn restart(&mut self, now: Nanos, sectors: u64) {
        (self.first, self.samples, self.sequential) = (now, 1, 0);
        (self.sectors, self.largest) = (sectors, sectors);
    }

    /// Closes the window; true when the estimate changed.
    fn close(&mut self) -> bool {
        if self.samples < SAMPLES_MIN || self.window < WINDOW_MIN {
            return false;
        }
        let completed = self.last_completion.unwrap_or_default();
        let window = self.window.max(completed.saturating_sub(self.first));
        let rate = (self.sectors << FRACTION_BITS) / (window.0 / 1_000).max(1);
        let random = self.sequential < (3 * self.samples) >> 2;
        if (random && rate <= self.rate) || rate > RATE_MAX {
            return false;
        }
        let weight = 9 * self.sequential / self.samples;
        let weight = (weight * window.0 / WINDOW.0).min(8);
        let divisor = 10 - weight;
        self.rate = (self.rate * (divisor - 1) / divisor + rate / divisor).max(1);
        true
    }

    /// A request goes to the drive, which has `in_driver` others; `seeky` compared with the one before.
    /// True when the estimate changed.
    pub fn dispatched(&mut self, now: Nanos, sectors: u64, in_driver: u32, seeky: bool) -> bool {
        if self.samples == 0 {
            self.restart(now, sectors);
            self.last = now;
            return false;
        }
        let idle = in_driver == 0 && now.saturating_sub(self.last) > IDLE_LONG;
        self.last = now;
        if !idle {
            self.samples += 1;
            let busy = in_driver > 0
                || self
                    .last_completion
                    .is_some_and(|at| now.saturating_sub(at) < THINK_TIME_NONE);
            self.sequential += u64::from(busy && !seeky);
            self.sectors += sectors;
            self.largest = if self.samples % 32 == 0 {
                sectors
            } else {
                self.largest.max(sectors)
            };
            self.window = now.saturating_sub(self.first);
            if self.window < WINDOW {
                return false;
            }
        }
        let changed = self.close();
        self.restart(now, sectors);
        changed
    }

    /// The drive is done with a request. True when the estimate changed.
    pub fn completed(&mut self, now: Nanos) -> bool {
        // Longer than the largest recent request takes at 1/1024 sector per microsecond: the drive idled meanwhile.
        let gap_us = match self.last_completion {
            Some(at) => now.saturating_sub(at).0 / 1_000,
            None => u64::from(u32::MAX),
        };
        let slow = gap_us > THINK_TIME_NONE.0 / 1_000 && self.largest << 10 < gap_us;
        let mut changed = false;
        if slow {
            changed = self.close();
            self.samples = 0;
        }
        self.last_completion = Some(now);
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peak() -> PeakRate {
        PeakRate::new(true, |millis| millis / 4)
    }

    #[test]
    fn a_disk_begins_at_two_thirds_of_the_reference() {
        let peak = peak();
        assert_eq!(peak.rate, 9_333);
        assert_eq!(peak.sectors_in(124), 17_658);
        // 7 s times 14000 / 9333, in ticks of 4 ms.
        assert_eq!(peak.raise_ticks(), 2_625);
    }

    #[test]
    fn a_sequential_second_moves_the_estimate_half_way() {
        let mut peak = peak();
        let mut changed = false;
        // 256 sectors each millisecond: 0.256 sectors per microsecond.
        for step in 0..=1_001u64 {
            let now = Nanos::from_millis(step);
            changed |= peak.dispatched(now, 256, 1, false);
            peak.completed(now);
        }
        assert!(changed);
        let measured = (256 << 16) / 1_000;
        assert!(
            peak.rate.abs_diff((9_333 + measured) / 2) < 20,
            "{}",
            peak.rate
        );
    }

    #[test]
    fn slow_random_requests_leave_the_estimate_alone() {
        let mut peak = peak();
        for step in 0..500u64 {
            let now = Nanos::from_millis(step * 8);
            assert!(!peak.dispatched(now, 8, 1, true));
            assert!(!peak.completed(now));
        }
        assert_eq!(peak.rate, 9_333);
    }
}
