//! A spin lock: first come, first served, and a core that waits burns its time.
//!
//! Waiters stand in a queue (Linux kernel/locking/qspinlock.c), so who gets it when follows from the order in which they came: a core that asks is
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
pub struct LockHold {
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

    /// Whether a core that asks at `now` has to wait.
    pub fn is_held(&self, now: Nanos) -> bool {
        self.free_at > now
    }

    /// The core takes it at `now` for `work`. Calls come in the order of time.
    #[inline]
    pub fn take(&mut self, core: usize, now: Nanos, work: Nanos) -> LockHold {
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
        LockHold { from, until }
    }
}
