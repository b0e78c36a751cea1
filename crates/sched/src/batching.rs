//! What deadline and mq-deadline share: when a request has waited too long, and whose turn it is between batches.

use crate::kernel::Kernel;
use crate::parameter::{Parameter, Setup};
use crate::request::Direction;
use seekwise_units::Nanos;

pub const READ: usize = 0;
pub const WRITE: usize = 1;

/// Place of a direction in what is kept for both.
#[inline]
pub fn index(direction: Direction) -> usize {
    match direction {
        Direction::Read => READ,
        Direction::Write => WRITE,
    }
}

/// How long requests of each direction may wait, in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Expiry {
    kernel: Kernel,
    ticks: [u64; 2],
    /// A request younger than this cannot have expired, whatever the tick.
    at_least: [Nanos; 2],
    /// At the tick of expiry, or one tick later.
    on_tick: bool,
}

impl Expiry {
    /// Takes `read_expire` and `write_expire` from `parameters`. `on_tick`: a request expires at its tick, otherwise one tick later.
    pub fn new(setup: &Setup, parameters: &'static [Parameter], on_tick: bool) -> Self {
        let kernel = setup.kernel;
        let ticks = ["read_expire", "write_expire"]
            .map(|name| kernel.ticks_from_millis(setup.get(parameters, name)));
        Self {
            kernel,
            ticks,
            at_least: ticks.map(|ticks| kernel.tick_start(ticks.saturating_sub(1))),
            on_tick,
        }
    }

    /// Whether a request of `direction` that came at `since` has expired. Expiry is derived from the insertion, so that no tick is computed
    /// for a request that never gets old.
    #[inline(always)]
    pub fn has_expired(&self, now: Nanos, since: Nanos, direction: usize) -> bool {
        if now.saturating_sub(since) < self.at_least[direction] {
            return false;
        }
        let stamp = self.kernel.jiffies(since) + self.ticks[direction];
        let jiffies = self.kernel.jiffies(now);
        jiffies > stamp || self.on_tick && jiffies == stamp
    }
}

/// Batches in one direction, reads first, and writes when they have been passed over often enough.
#[derive(Clone, Copy, Debug)]
pub struct Batches {
    writes_starved: u64,
    pub fifo_batch: u64,
    /// Requests of the running batch.
    pub taken: u64,
    /// Batches of reads since writes wait.
    pub starved: u64,
}

impl Batches {
    /// Takes `writes_starved` and `fifo_batch` from `parameters`; no batch runs.
    pub fn new(setup: &Setup, parameters: &'static [Parameter]) -> Self {
        Self {
            writes_starved: setup.get(parameters, "writes_starved"),
            fifo_batch: setup.get(parameters, "fifo_batch"),
            taken: 0,
            starved: 0,
        }
    }

    /// A batch begins in `direction` without a choice. `writes`: some wait.
    pub fn begin_forced(&mut self, direction: usize, writes: bool) {
        self.taken = 0;
        if direction == WRITE {
            self.starved = 0;
        } else if writes {
            self.starved += 1;
        }
    }

    /// The direction of the next batch; None when nothing waits.
    #[inline(always)]
    pub fn direction(&mut self, reads: bool, writes: bool) -> Option<usize> {
        if reads {
            if !writes {
                return Some(READ);
            }
            self.starved += 1;
            if self.starved <= self.writes_starved {
                return Some(READ);
            }
        }
        if writes {
            self.starved = 0;
            return Some(WRITE);
        }
        None
    }
}
