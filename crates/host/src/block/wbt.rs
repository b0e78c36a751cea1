//! Write-back throttling: buffered writes wait so that reads stay quick (Linux v6.1 block/blk-wbt.c).
//!
//! Modelled:      depth from device depth and step; window of 100 ms shrinking with the step; scaling by the smallest read latency.
//! Not modelled:  separate limits for kswapd and for a second after a writer slept (by the device's own group only; loads here have theirs).
//!                A flusher of `background` has the background limit; other plain writes when other I/O ran within 100 ms, else the normal one.

use super::Bio;
use seekwise_sched::{Direction, Request};
use seekwise_units::Nanos;

/// Linux v6.1 block/blk-wbt.c: RWB_WINDOW_NSEC.
const WINDOW: Nanos = Nanos::from_millis(100);
/// Linux v6.1 block/blk-wbt.c: RWB_MIN_WRITE_SAMPLES.
const WRITE_SAMPLES_MIN: u32 = 3;
/// Linux v6.1 block/blk-wbt.c: RWB_UNKNOWN_BUMP.
const UNKNOWN_WINDOWS: u32 = 5;
/// Linux v6.1 block/blk-rq-qos.c: base depth of a queue with more than one tag.
const DEPTH_BASE: u32 = 16;

#[derive(Clone, Debug)]
pub struct Throttle {
    latency_target: Nanos,
    device_depth: u32,
    /// Writes that nobody waits for are the flusher's, which says that they are background (REQ_BACKGROUND).
    pub background: bool,
    step: i32,
    in_flight: u32,
    window_end: Nanos,
    read_latency_min: Nanos,
    reads: u32,
    writes: u32,
    unknown: u32,
    last_other: Option<Nanos>,
    oldest_read: Option<Nanos>,
}

impl Throttle {
    /// No write is in flight. `device_depth`: the queue's depth as throttling sees it.
    pub fn new(latency_target: Nanos, device_depth: u32) -> Self {
        Self {
            latency_target,
            device_depth,
            background: false,
            step: 0,
            in_flight: 0,
            window_end: Nanos::NEVER,
            read_latency_min: Nanos::NEVER,
            reads: 0,
            writes: 0,
            unknown: 0,
            last_other: None,
            oldest_read: None,
        }
    }

    fn throttles(direction: Direction, sync: bool) -> bool {
        direction == Direction::Write && !sync
    }

    /// Depth at the present step.
    pub fn depth_max(&self) -> u32 {
        if self.device_depth == 1 {
            return if self.step > 0 { 1 } else { 2 };
        }
        let base = DEPTH_BASE.min(self.device_depth);
        if self.step > 0 {
            1 + ((base - 1) >> self.step.min(31))
        } else if self.step < 0 {
            let raised = 1 + ((base - 1) << (-self.step).min(16));
            raised.min(3 * self.device_depth / 4).max(1)
        } else {
            base
        }
    }

    fn limit(&self, now: Nanos) -> u32 {
        let max = self.depth_max();
        let recent_other = self
            .last_other
            .is_some_and(|at| now.saturating_sub(at) < Nanos::from_millis(100));
        if self.background || recent_other {
            max.div_ceil(4)
        } else {
            max.div_ceil(2)
        }
    }

    /// Nothing is watched until the first write that could be held back.
    #[inline(always)]
    pub fn armed(&self) -> bool {
        self.window_end != Nanos::NEVER
    }

    /// Whether a request for `bio` may be allocated now; reads and sync writes always may.
    pub fn admits(&mut self, now: Nanos, bio: &Bio) -> bool {
        !Self::throttles(bio.direction, bio.sync) || self.in_flight < self.limit(now)
    }

    /// A request was allocated for `bio`; the first throttled write starts the window.
    pub fn allocated(&mut self, now: Nanos, bio: &Bio) {
        if Self::throttles(bio.direction, bio.sync) {
            self.in_flight += 1;
            if self.window_end == Nanos::NEVER {
                self.window_end = now + self.window();
            }
        } else if self.armed() {
            self.last_other = Some(now);
        }
    }

    /// A request went to the drive; of reads the first since one completed is remembered.
    pub fn issued(&mut self, now: Nanos, request: &Request) {
        if request.direction == Direction::Read && self.oldest_read.is_none() {
            self.oldest_read = Some(now);
        }
    }

    /// A waiting request became part of another one.
    pub fn joined(&mut self, direction: Direction, sync: bool) {
        if Self::throttles(direction, sync) {
            self.in_flight -= 1;
        }
    }

    /// The drive is done with a request; a read's latency counts from its allocation.
    pub fn completed(&mut self, now: Nanos, request: &Request) {
        if Self::throttles(request.direction, request.sync) {
            self.in_flight -= 1;
        }
        if request.direction == Direction::Read {
            self.reads += 1;
            self.read_latency_min = self
                .read_latency_min
                .min(now.saturating_sub(request.allocated));
            self.oldest_read = None;
        } else {
            self.writes += 1;
        }
    }

    /// 100 ms divided by the root of step + 1.
    fn window(&self) -> Nanos {
        let divisor = libm::sqrt(f64::from(self.step.max(0) + 1));
        Nanos((WINDOW.0 as f64 / divisor) as u64)
    }

    /// When the running window ends; never before the first throttled write.
    pub fn timer(&self) -> Nanos {
        self.window_end
    }

    /// Judges the window that ends. True when the limit rose.
    pub fn fire(&mut self, now: Nanos) -> bool {
        let before = self.depth_max();
        let stuck = self
            .oldest_read
            .is_some_and(|at| now.saturating_sub(at) > self.window());
        if (self.reads >= 1
            && self.writes >= WRITE_SAMPLES_MIN
            && self.read_latency_min > self.latency_target)
            || stuck
        {
            self.unknown = 0;
            if before > 1 {
                self.step += 1;
            }
        } else if self.writes >= WRITE_SAMPLES_MIN {
            self.unknown = 0;
            if self.depth_max() < 3 * self.device_depth / 4 || self.step > 0 {
                self.step -= 1;
            }
        } else {
            self.unknown += 1;
            if self.unknown >= UNKNOWN_WINDOWS {
                self.unknown = 0;
                self.step -= self.step.signum();
            }
        }
        self.reads = 0;
        self.writes = 0;
        self.read_latency_min = Nanos::NEVER;
        let idle = self.in_flight == 0 && self.step == 0;
        self.window_end = if idle {
            Nanos::NEVER
        } else {
            now + self.window()
        };
        self.depth_max() > before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_follows_the_step() {
        let mut t = Throttle::new(Nanos::from_millis(75), 32);
        assert_eq!(t.depth_max(), 16);
        t.step = 1;
        assert_eq!(t.depth_max(), 8);
        t.step = 10;
        assert_eq!(t.depth_max(), 1);
        t.step = -3;
        assert_eq!(t.depth_max(), 24);
        assert_eq!(Throttle::new(Nanos::from_millis(75), 1).depth_max(), 2);
    }
}
