//! A spin lock: first come, first served, and whoever waits burns its processor.
//!
//! Waiters stand in a queue (Linux kernel/locking/qspinlock.c), so who gets it when follows from the order in which they came: whoever asks is
//! told at once when it will have the lock and when it will have left it again.

use seekwise_units::Nanos;

#[derive(Clone, Debug)]
pub struct SpinLock {
    free_at: Nanos,
    /// Core that held it last.
    holder: usize,
    transfer: Nanos,
    pub held: Nanos,
    pub spun: Nanos,
}

/// When a lock is got and when it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    pub from: Nanos,
    pub until: Nanos,
}

impl SpinLock {
    /// `transfer`: what a section costs besides when another core held the lock before.
    pub fn new(transfer: Nanos) -> Self {
        Self {
            free_at: Nanos::ZERO,
            holder: 0,
            transfer,
            held: Nanos::ZERO,
            spun: Nanos::ZERO,
        }
    }

    pub fn is_held(&self, now: Nanos) -> bool {
        self.free_at > now
    }

    /// The core takes it at `now` for `work`. Calls come in the order of time.
    #[inline]
    pub fn take(&mut self, core: usize, now: Nanos, work: Nanos) -> Stay {
        let from = now.max(self.free_at);
        let moved = if self.holder == core {
            Nanos::ZERO
        } else {
            self.transfer
        };
        let until = from + work + moved;
        self.spun += from - now;
        self.held += until - from;
        self.holder = core;
        self.free_at = until;
        Stay { from, until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiters_spin_in_turn_and_a_change_of_cores_costs() {
        let mut lock = SpinLock::new(Nanos(600));
        let mut take = |core, now| lock.take(core, Nanos(now), Nanos(100)).until.0;
        assert_eq!(take(0, 1_000), 1_100);
        assert_eq!(take(0, 1_100), 1_200);
        assert_eq!(take(1, 1_150), 1_900);
        assert_eq!(take(2, 1_160), 2_600);
        assert_eq!(lock.spun, Nanos(50 + 740));
        assert_eq!(lock.held, Nanos(100 + 100 + 700 + 700));
        assert!(lock.is_held(Nanos(2_599)) && !lock.is_held(Nanos(2_600)));
    }
}
