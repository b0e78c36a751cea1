//! Injection: requests of other queues while the drive is kept idle for the queue in service, as far as that queue bears it.
//!
//! How far is measured: the time from arrival to completion of a first request (one that ends an empty spell) without and
//! with injected requests. And wakers: a queue whose completions let another one continue is served at once.
//! Source: behaviour of Linux 5.10 to 6.12 block/bfq-iosched.c.

use super::Bfq;
use seekwise_units::Nanos;

/// Wake-ups in a row that make a waker, 5.12 on.
const WAKES_ENOUGH: u32 = 3;
/// A wake-up follows a completion within this time: 5.12 on.
const WAKE_TIME: Nanos = Nanos::from_millis(4);
/// Detection starts anew after this many times slice_idle.
const WAKE_SPAN: u64 = 128;
/// A large request on flash, in sectors. Linux 5.10 to 6.12: BFQQ_SECT_THR_NONROT.
pub const LARGE_ON_FLASH: u64 = 64;

impl Bfq {
    pub(super) fn reset_tolerance(&mut self, index: u32) {
        self.waited = None;
        let queue = &mut self.queues[index as usize];
        queue.tolerance.base = Nanos::ZERO;
        queue.tolerance.limit = u32::from(!queue.habit.short_think);
        queue.tolerance.cut = self.tick;
    }

    /// A first request arrives at `index`: who let it come, and is it one to measure?
    pub(super) fn watch_first_request(&mut self, index: u32) {
        self.watch_waker(index);
        if self.queues[index as usize].tolerance.cut + self.settings.inject_reset_ticks <= self.tick
        {
            self.reset_tolerance(index);
        }
        let tolerance = self.queues[index as usize].tolerance;
        let drive_empty = self.in_driver == 0;
        if self.in_service == Some(index)
            && (drive_empty || (tolerance.base > Nanos::ZERO && self.injected))
            && tolerance.cut + self.settings.inject_pause_ticks <= self.tick
        {
            self.measured_since = self.now;
            self.measure_next = true;
            if drive_empty {
                self.injected = false;
            }
        }
    }

    fn watch_waker(&mut self, index: u32) {
        let Some(completed) = self.last_completed.filter(|queue| *queue != index) else {
            return;
        };
        let since = self
            .now
            .saturating_sub(self.rate.last_completion.unwrap_or_default());
        // Before 5.12 a waker is never injected: the kernel asks for a waiting request of the wrong queue, the one that is empty.
        if !self.generation.since_5_12
            || self.queues[index as usize].habit.short_think
            || since >= WAKE_TIME
        {
            return;
        }
        let span = self.settings.slice_idle.0.saturating_mul(WAKE_SPAN);
        let now = self.now;
        let queue = &mut self.queues[index as usize];
        if queue.waker_maybe != Some(completed) || now.0 > queue.wakes_since.0.saturating_add(span)
        {
            queue.waker_maybe = Some(completed);
            (queue.wakes_seen, queue.wakes_since) = (1, now);
        } else {
            queue.wakes_seen += 1;
        }
        if queue.wakes_seen == WAKES_ENOUGH {
            queue.waker_maybe = None;
            self.set_waker(index, completed);
        }
    }

    pub(super) fn set_waker(&mut self, index: u32, waker: u32) {
        if let Some(old) = self.queues[index as usize].waker.replace(waker) {
            self.queues[old as usize]
                .wakes
                .retain(|woken| *woken != index);
        }
        self.queues[waker as usize].wakes.push(index);
    }

    /// The first request that was measured is complete.
    pub(super) fn learn_tolerance(&mut self, index: u32) {
        let took = self.now.saturating_sub(self.measured_since);
        // Itself counts.
        let alone = self.in_driver == 1;
        let tolerance = &mut self.queues[index as usize].tolerance;
        let before = tolerance.limit;
        if tolerance.base > Nanos::ZERO && self.injected {
            let bearable = tolerance.base.0.saturating_mul(3) >> 1;
            if took.0 >= bearable {
                if before > 0 {
                    tolerance.limit -= 1;
                    tolerance.cut = self.tick;
                }
            } else if before <= self.in_driver_max {
                tolerance.limit += 1;
            }
        }
        if (tolerance.base == Nanos::ZERO && alone) || took < tolerance.base {
            if tolerance.base == Nanos::ZERO {
                tolerance.limit = before.max(1);
            }
            tolerance.base = took;
        } else if !self.injected && alone {
            tolerance.base = took;
        }
        self.waited = None;
        self.injected = false;
    }

    fn has_budget_for_next(&self, index: u32) -> bool {
        self.charge_of_next(index)
            .is_some_and(|charge| charge <= self.service.get(index).budget_left())
    }

    /// A queue to take a request from although `index` is in service and waited for.
    pub(super) fn queue_to_inject(&mut self, index: u32) -> Option<u32> {
        let queue = &self.queues[index as usize];
        let own = queue
            .owner
            .and_then(|process| {
                self.processes[process as usize]
                    .asynchronous
                    .map(|q| (process, q))
            })
            .filter(|(process, asynchronous)| {
                let state = &self.queues[*asynchronous as usize];
                let next = state.waiting.next.filter(|_| state.busy);
                next.is_some_and(|id| self.slot(id).process == *process)
                    && self.has_budget_for_next(*asynchronous)
            });
        if let Some((_, asynchronous)) = own {
            return Some(asynchronous);
        }
        if self.generation.since_5_12 {
            let partners = [queue.waker, queue.wakes.last().copied()];
            let ready =
                |other: &u32| self.queues[*other as usize].busy && self.has_budget_for_next(*other);
            if let Some(other) = partners.into_iter().flatten().find(ready) {
                return Some(other);
            }
        }
        let worth = !self.idling_boosts_throughput(index)
            && (!self.is_raised(index) || self.raised_busy > 1 || !queue.habit.short_think);
        let mut limit = queue.tolerance.limit;
        // The kernel adds nanoseconds to ticks here, so that this exception counts for tiny values of slice_idle only.
        let waited_long = self
            .idling_since_tick
            .saturating_add(self.settings.slice_idle.0 as i64)
            <= self.tick;
        if limit == 0 && queue.tolerance.base == Nanos::ZERO && queue.awaited && waited_long {
            limit = 1;
        }
        if !worth || self.in_driver >= limit {
            return None;
        }
        let any = !self.is_raised(index) || !queue.habit.short_think;
        let found = self.service.newest_active(|other| {
            let Some(next) = self.queues[other as usize].waiting.next else {
                return false;
            };
            let large = !self.settings.rotational
                && self.slot(next).sectors >= LARGE_ON_FLASH
                && self.in_driver >= 1;
            (any || self.is_raised(other)) && self.has_budget_for_next(other) && !large
        });
        self.injected |= found.is_some();
        found
    }
}
