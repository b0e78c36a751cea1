//! Processor time by who pays, exact and as a tick counts it.
//!
//! A tick charges a whole tick to whatever runs on the processor when it comes; work between two ticks is invisible. So a
//! program's time is exact in the long run and off by whole ticks in the short run.
//!
//! Source: Linux 2.6.23 kernel/sched.c, account_user_time and account_system_time: times and getrusage return tick counts.

use seekwise_units::Nanos;

/// Whose work it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payer {
    /// The program's own.
    User,
    /// The kernel on behalf of the program.
    System,
    /// Flusher, journal, md.
    KernelThread,
    Interrupt,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    pub user: Nanos,
    pub system: Nanos,
    pub kernel_threads: Nanos,
    pub interrupts: Nanos,
    pub user_ticks: u64,
    pub system_ticks: u64,
    pub kernel_thread_ticks: u64,
    /// Ticks a second.
    pub hz: u32,
    /// The tick period looked at last: work within it is seen by no tick.
    untouched: (Nanos, Nanos),
}

impl Times {
    /// No time booked; `hz` is ticks per second.
    pub fn new(hz: u32) -> Self {
        Self {
            hz,
            ..Self::default()
        }
    }

    #[inline]
    fn ticks(&mut self, begin: Nanos, end: Nanos) -> u64 {
        if begin >= self.untouched.0 && end < self.untouched.1 {
            return 0;
        }
        let period = 1_000_000_000 / u64::from(self.hz.max(1));
        let (first, last) = (begin.0 / period, end.0 / period);
        self.untouched = (Nanos(last * period), Nanos((last + 1) * period));
        last - first
    }

    /// Work from `begin` on, `length` long, without a pause.
    #[inline]
    pub fn book(&mut self, payer: Payer, begin: Nanos, length: Nanos) {
        let ticks = self.ticks(begin, begin + length);
        match payer {
            Payer::User => {
                self.user += length;
                self.user_ticks += ticks;
            }
            Payer::System => {
                self.system += length;
                self.system_ticks += ticks;
            }
            Payer::KernelThread => {
                self.kernel_threads += length;
                self.kernel_thread_ticks += ticks;
            }
            // The time goes to the interrupt's own account (2.6: hard and soft irq), no program sees it.
            Payer::Interrupt => self.interrupts += length,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_see_nothing_or_too_much_of_short_work() {
        let mut times = Times::new(250);
        times.book(
            Payer::System,
            Nanos::from_micros(100),
            Nanos::from_micros(3_000),
        );
        assert_eq!(
            (times.system, times.system_ticks),
            (Nanos::from_millis(3), 0)
        );
        times.book(
            Payer::System,
            Nanos::from_micros(3_999),
            Nanos::from_micros(2),
        );
        assert_eq!(times.system_ticks, 1);
    }

    #[test]
    fn ticks_of_long_work_are_right_to_one() {
        let mut times = Times::new(1000);
        for step in 0..1000u64 {
            times.book(Payer::User, Nanos(step * 777_777), Nanos(777_777));
        }
        assert_eq!(times.user_ticks, 777);
        assert_eq!(times.user, Nanos(777_777_000));
    }
}
