//! Weight raising (low_latency): queues of processes that just started, or that need little but steadily, weigh 30 times as much.
//!
//!   interactive     new, or without any request for 2 s: for 3 to 25 s, the longer the slower the drive, at most 120,000 sectors
//!   soft real-time  batch after batch, each within 7000 sectors a second: for 300 ms at a time
//!
//! Source: behaviour of Linux 5.10 to 6.12 block/bfq-iosched.c.

use super::parameters::WEIGHT_DEFAULT;
use super::queue::LONG_AGO;
use super::Bfq;

/// Linux 5.10 to 6.12: bfq_wr_coeff.
pub const RAISED: u32 = 30;
/// Linux 5.10 to 6.12: BFQ_SOFTRT_WEIGHT_FACTOR.
const SOFT_FACTOR: u32 = 100;
/// Sectors a second up to which a steady reader is soft real-time. Linux 5.10 to 6.12: bfq_wr_max_softrt_rate.
const SOFT_RATE_MAX: i64 = 7_000;
/// Sectors after which interactive raising ends. Linux 5.10 to 6.12: max_service_from_wr.
const RAISED_SECTORS_MAX: i64 = 120_000;

/// What an arrival at an idle queue says about raising.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub interactive: bool,
    pub soft: bool,
    pub deserves: bool,
}

impl Bfq {
    #[inline]
    pub(super) fn is_raised(&self, index: u32) -> bool {
        self.service.get(index).coefficient > 1
    }

    pub(super) fn is_soft(&self, index: u32) -> bool {
        self.queues[index as usize].raise.span == self.settings.raise_soft_ticks
    }

    pub(super) fn raise_span(&self) -> i64 {
        self.rate
            .raise_ticks()
            .clamp(self.settings.raise_min_ticks, self.settings.raise_max_ticks)
    }

    /// Judges a request that arrives at a queue without any.
    pub(super) fn judge_arrival(&self, index: u32, process: u32) -> Arrival {
        let queue = &self.queues[index as usize];
        let entity = self.service.get(index);
        let usual_weight = !self.generation.since_5_12 || entity.weight_wanted == WEIGHT_DEFAULT;
        let burst = queue.in_large_burst;
        let soft = !queue.is_totally_seeky()
            && !burst
            && queue.soft_next < self.tick
            && queue.in_flight == 0
            && usual_weight;
        let interactive = !burst
            && queue.was_idle_long(self.tick, self.settings.raise_idle_ticks)
            && usual_weight;
        let alone = queue.owner.is_some()
            || (self.generation.since_5_13 && self.processes[process as usize].stably_merged);
        let deserves = self.settings.low_latency
            && (entity.coefficient > 1 || (queue.sync && alone && (interactive || soft)));
        Arrival {
            interactive,
            soft,
            deserves,
        }
    }

    /// Starts, prolongs or changes the raising of a queue that becomes busy.
    pub(super) fn raise_on_arrival(&mut self, index: u32, was_raised: bool, arrival: Arrival) {
        let tick = self.tick;
        let soft_span = self.settings.raise_soft_ticks;
        let burst = self.queues[index as usize].in_large_burst;
        if !was_raised {
            if !arrival.deserves {
                return;
            }
            let span = self.raise_span();
            let raise = &mut self.queues[index as usize].raise;
            if arrival.interactive {
                raise.service = 0;
                raise.span = span;
                self.service.get_mut(index).coefficient = RAISED;
            } else {
                raise.interactive_since = LONG_AGO;
                raise.span = soft_span;
                self.service.get_mut(index).coefficient = RAISED * SOFT_FACTOR;
            }
            let small = 2 * self.min_budget();
            let entity = self.service.get_mut(index);
            entity.budget = entity.budget.min(small);
        } else if arrival.interactive {
            self.queues[index as usize].raise.span = self.raise_span();
            self.service.get_mut(index).coefficient = RAISED;
        } else if burst {
            self.service.get_mut(index).coefficient = 1;
        } else if arrival.soft {
            let raise = &mut self.queues[index as usize].raise;
            if raise.span != soft_span {
                raise.interactive_since = raise.since;
                raise.span = soft_span;
                self.service.get_mut(index).coefficient = RAISED * SOFT_FACTOR;
            }
            raise.since = tick;
        }
    }

    /// An asynchronous queue that had nothing for long is raised too.
    pub(super) fn raise_asynchronous(&mut self, index: u32) {
        let queue = &mut self.queues[index as usize];
        if queue.sync || queue.raise.since + self.settings.raise_async_ticks >= self.tick {
            return;
        }
        let span = self.raise_span();
        self.queues[index as usize].raise.span = span;
        self.service.get_mut(index).coefficient = RAISED;
        self.service.get_mut(index).changed = true;
        self.raised_busy += 1;
    }

    pub(super) fn end_raising(&mut self, index: u32) {
        let soft_span = self.settings.raise_soft_ticks;
        let queue = &mut self.queues[index as usize];
        if self.generation.since_5_12 && queue.raise.span != soft_span {
            // What it read while it started says nothing about its rate later.
            queue.soft_next = self.tick;
        }
        queue.raise.span = 0;
        queue.raise.since = self.tick;
        if queue.busy {
            self.raised_busy -= 1;
        }
        let entity = self.service.get_mut(index);
        entity.coefficient = 1;
        entity.changed = true;
    }

    /// A soft real-time period is over: an interactive one may still be running.
    pub(super) fn end_soft(&mut self, index: u32) {
        let span = self.raise_span();
        let raise = &mut self.queues[index as usize].raise;
        if raise.interactive_since + span < self.tick {
            return self.end_raising(index);
        }
        (raise.span, raise.since) = (span, raise.interactive_since);
        let entity = self.service.get_mut(index);
        (entity.coefficient, entity.changed) = (RAISED, true);
    }

    /// After a dispatch from the queue in service: has its raising to end?
    pub(super) fn review_raising(&mut self, index: u32) {
        if self.is_raised(index) {
            let queue = &self.queues[index as usize];
            if queue.in_large_burst {
                self.end_raising(index);
            } else if queue.raise.since + queue.raise.span < self.tick {
                if self.is_soft(index) {
                    self.end_soft(index);
                } else {
                    self.end_raising(index);
                }
            }
            if self.is_raised(index)
                && !self.is_soft(index)
                && self.queues[index as usize].raise.service > RAISED_SECTORS_MAX
            {
                self.end_raising(index);
            }
        }
        let entity = self.service.get(index);
        if (entity.weight > entity.weight_base) != (entity.coefficient > 1) {
            self.service.update_weight(index, false);
        }
    }

    /// The tick before which a next request would make the queue's rate too high for soft real-time.
    #[inline]
    pub(super) fn renew_soft_next(&mut self, index: u32) {
        let queue = &mut self.queues[index as usize];
        let ticks = self.settings.hz.saturating_mul(queue.busy_service) / SOFT_RATE_MAX;
        let at_rate = queue.busy_since.saturating_add(ticks);
        let at_once = self.tick + self.settings.slice_idle_ticks + 4;
        queue.soft_next = queue.soft_next.max(at_rate).max(at_once);
    }

    /// Before 5.12 a queue that is raised as interactive is not measured.
    pub(super) fn measures_softness(&self, index: u32) -> bool {
        self.generation.since_5_12 || self.service.get(index).coefficient != RAISED
    }

    /// A soft real-time queue that gets its turn: the time without service does not count against its period.
    pub(super) fn prolong_soft(&mut self, index: u32) {
        if !self.is_raised(index) || !self.is_soft(index) {
            return;
        }
        let tick = self.tick;
        let queue = &mut self.queues[index as usize];
        if queue.raise.since >= tick || queue.timeout >= tick {
            return;
        }
        if queue.timeout > queue.raise.since {
            queue.raise.since += tick - queue.timeout;
        } else {
            queue.raise.since = tick;
        }
    }
}
