//! Which queue is served, how long, and what it is charged.
//!
//! Source: behaviour of Linux 5.10 to 6.12 block/bfq-iosched.c.

use super::parameters::{
    ASYNC_CHARGE, BUDGET_MAX_DEFAULT, BUDGET_MIN_PART, SLOTS_ENOUGH, THINK_TIME_NONE,
};
use super::queue::{Queue, Reason};
use super::service::{Entity, CLASS_IDLE};
use super::waiting::Slot;
use super::Bfq;
use crate::request::RequestId;
use seekwise_units::{Lba, Nanos};

/// A service slot longer than this says how fast a queue is.
const SLOT_TELLING: Nanos = Nanos::from_millis(20);
/// A slot shorter than this counts as one seek: slice_idle by default on a disk, 2 ms on flash.
const SLOT_TINY: Nanos = Nanos::from_millis(1);
const SEEK_MILLIS: i64 = 8;

impl Bfq {
    pub(super) fn max_budget_believed(&self) -> i64 {
        if self.slots_served < SLOTS_ENOUGH {
            BUDGET_MAX_DEFAULT
        } else {
            self.max_budget
        }
    }

    pub(super) fn min_budget(&self) -> i64 {
        self.max_budget_believed() / BUDGET_MIN_PART
    }

    pub(super) fn max_budget_at_rate(&self) -> i64 {
        let millis = self
            .kernel
            .millis_from_ticks(self.settings.timeout_ticks as u64);
        self.rate.sectors_in(millis)
    }

    /// What a request counts against the budget of its queue.
    #[inline]
    fn charge(&self, index: u32, queue: &Queue, id: RequestId) -> i64 {
        let sectors = self.slot(id).sectors as i64;
        if queue.sync || self.is_raised(index) || self.is_asymmetric_for(index) {
            sectors
        } else {
            sectors * ASYNC_CHARGE
        }
    }

    #[inline]
    pub(super) fn charge_of_next(&self, index: u32) -> Option<i64> {
        let queue = &self.queues[index as usize];
        let next = queue.waiting.next?;
        Some(self.charge(index, queue, next))
    }

    fn served(&mut self, index: u32, sectors: i64) {
        let queue = &mut self.queues[index as usize];
        if queue.busy_service == 0 {
            queue.first_dispatch = self.tick;
        }
        queue.busy_service += sectors;
        if self.service.served(index, sectors) {
            queue.raise.service += sectors;
        }
    }

    /// Another request is next in `index`: its budget must do for it, unless it is being served.
    pub(super) fn next_changed(&mut self, index: u32) {
        let Some(charge) = self.charge_of_next(index) else {
            return;
        };
        if self.in_service == Some(index) {
            return;
        }
        let queue = &self.queues[index as usize];
        let entity = self.service.get_mut(index);
        let budget = queue.budget_max.max(charge).max(entity.service);
        if entity.budget != budget {
            entity.budget = budget;
            self.requeue(index, false);
        }
    }

    fn requeue(&mut self, index: u32, expiring: bool) {
        let class = self.service.get(index).class;
        self.service.requeue(index, expiring);
        self.follow_class(index, class);
    }

    /// A change of class takes effect when a queue is enqueued, busy or not.
    fn follow_class(&mut self, index: u32, before: u8) {
        let class = self.service.get(index).class;
        if class != before && self.queues[index as usize].busy {
            self.busy[before as usize] -= 1;
            self.busy[class as usize] += 1;
        }
    }

    pub(super) fn becomes_busy(&mut self, index: u32) {
        let queue = &mut self.queues[index as usize];
        let in_time = core::mem::take(&mut queue.may_resume);
        queue.busy = true;
        let idle = queue.in_flight == 0;
        self.pending[usize::from(queue.grouped)] += u32::from(idle);
        self.service.activate(index, in_time);
        self.busy[self.service.get(index).class as usize] += 1;
        if self.is_raised(index) {
            self.raised_busy += 1;
        } else if idle {
            self.service.tally(index);
        }
    }

    #[inline]
    pub(super) fn no_longer_busy(&mut self, index: u32, expiring: bool) {
        let queue = &mut self.queues[index as usize];
        queue.busy = false;
        let idle = queue.in_flight == 0;
        self.busy[self.service.get(index).class as usize] -= 1;
        if self.is_raised(index) {
            self.raised_busy -= 1;
        }
        self.service.deactivate(index, expiring);
        if idle {
            self.pending[usize::from(self.queues[index as usize].grouped)] -= 1;
            self.service.untally(index);
        }
    }

    /// A third of the budget is not used.
    fn left_much(&self, index: u32) -> bool {
        let entity = self.service.get(index);
        entity.budget_left() >= entity.budget / 3
    }

    #[inline]
    pub(super) fn timeout_counts(&self, index: u32) -> bool {
        let queue = &self.queues[index as usize];
        queue.timeout <= self.tick && (!queue.awaited || self.left_much(index))
    }

    /// Is the process slow, and how many milliseconds was it served? `compensate`: the idling at the end does not count.
    fn slowness(&self, queue: &Queue, entity: &Entity, compensate: bool) -> (bool, i64) {
        if !queue.sync {
            return (false, 0);
        }
        let end = if compensate {
            self.idling_since
        } else {
            self.now
        };
        let slot = end.saturating_sub(self.slot_since);
        let seeky = queue.is_seeky();
        // The kernel counts whole microseconds here.
        let slot = Nanos::from_micros(slot.0 / 1_000);
        if slot < SLOT_TINY {
            let millis = if self.settings.rotational {
                SEEK_MILLIS
            } else {
                (THINK_TIME_NONE.0 / 1_000_000) as i64
            };
            return (seeky, millis);
        }
        let slow = if slot > SLOT_TELLING {
            entity.service < self.max_budget / 2
        } else {
            seeky
        };
        (slow, (slot.0 / 1_000_000) as i64)
    }

    /// Charges what the queue would have got in its time at the drive's rate.
    fn charge_time(&mut self, index: u32, millis: i64) {
        let entity = self.service.get_mut(index);
        let timeout = self.settings.slot_millis;
        let for_time = self.max_budget.saturating_mul(millis.min(timeout)) / timeout;
        let charge = for_time.max(entity.service);
        entity.budget = entity.budget.max(charge);
        let rest = charge - entity.service;
        self.served(index, rest);
    }

    /// The budget of the next slot, from how this one went.
    #[inline]
    fn adapt_budget(&mut self, index: u32, reason: Reason) {
        let queue = &self.queues[index as usize];
        let entity = self.service.get(index);
        let (raised, service) = (entity.coefficient > 1, entity.service);
        if reason == Reason::Preempted && queue.sync && !raised {
            // That tells nothing of it.
            return;
        }
        let min = self.min_budget();
        let mut budget = if raised { 2 * min } else { queue.budget_max };
        if !queue.sync {
            budget = self.max_budget;
        } else if !raised {
            budget = match reason {
                Reason::TooIdle if queue.in_flight > 0 => (budget * 2).min(self.max_budget),
                Reason::TooIdle if budget > 5 * min => budget - 4 * min,
                Reason::TooIdle => min,
                Reason::Timeout => (budget * 2).min(self.max_budget),
                Reason::Exhausted => (budget * 4).min(self.max_budget),
                Reason::NoMoreRequests => service.max(min),
                Reason::Preempted => budget,
            };
        }
        if self.slots_served >= SLOTS_ENOUGH && self.settings.max_budget.is_none() {
            budget = budget.min(self.max_budget);
        }
        self.queues[index as usize].budget_max = budget;
        if let Some(charge) = self.charge_of_next(index) {
            self.service.get_mut(index).budget = budget.max(charge);
        }
    }

    /// The queue in service gives way.
    pub(super) fn expire(&mut self, index: u32, compensate: bool, reason: Reason) {
        let (queue, entity) = (&self.queues[index as usize], self.service.get(index));
        let (slow, millis) = self.slowness(queue, entity, compensate);
        let raised = entity.coefficient > 1;
        if !raised && (slow || (reason == Reason::Timeout && self.left_much(index))) {
            self.charge_time(index, millis);
        }
        if !self.generation.since_5_12 && reason == Reason::TooIdle {
            let entity = self.service.get(index);
            if entity.service <= 2 * entity.budget / 10 {
                self.queues[index as usize].habit.io_bound = false;
            }
        }
        if self.settings.low_latency {
            let queue = &mut self.queues[index as usize];
            if !raised {
                queue.raise.since = self.tick;
            }
            if queue.is_empty() {
                if queue.in_flight > 0 {
                    queue.check_soft = true;
                } else if self.measures_softness(index) {
                    self.renew_soft_next(index);
                }
            }
        }
        (self.injected, self.measure_next, self.waited) = (false, false, None);
        self.adapt_budget(index, reason);
        self.leave_service(index, reason);
        let queue = &mut self.queues[index as usize];
        if !queue.alive {
            return;
        }
        if !queue.busy && !matches!(reason, Reason::Timeout | Reason::Exhausted) {
            // What it was served stays known: if it comes back in time, it goes on with this budget.
            queue.may_resume = true;
        } else {
            self.service.get_mut(index).service = 0;
        }
    }

    #[inline]
    pub(super) fn leave_service(&mut self, index: u32, reason: Reason) {
        let queue = &mut self.queues[index as usize];
        if queue.shared && queue.is_seeky() {
            queue.must_split = true;
        }
        let empty = queue.is_empty();
        if empty && !(reason == Reason::Preempted && self.idling_keeps_guarantees(index)) {
            let queue = &mut self.queues[index as usize];
            if queue.in_flight == 0 {
                queue.timeout = self.tick;
            }
            self.no_longer_busy(index, true);
        } else {
            self.requeue(index, true);
            if !empty {
                self.move_position(index);
            }
        }
        self.stop_idling(index);
        self.in_service = None;
        self.service.stop_serving();
        self.free_if_unused(index);
    }

    #[inline]
    fn serve_next(&mut self) -> Option<u32> {
        if self.busy_queues() == 0 {
            return None;
        }
        let index = self.service.serve_next()?;
        self.slots_served = (self.slots_served * 7 + 256) / 8;
        self.prolong_soft(index);
        let entity = self.service.get(index);
        // Equal weights, the usual case, need no division.
        let coefficient = if entity.weight == entity.weight_base || self.is_soft(index) {
            1
        } else {
            i64::from(entity.weight / entity.weight_base.max(1))
        };
        let queue = &mut self.queues[index as usize];
        queue.fifo_checked = false;
        queue.timeout = self.tick + self.settings.timeout_ticks * coefficient;
        self.slot_since = self.now;
        self.in_service = Some(index);
        self.last_position_in_service = Lba(0);
        Some(index)
    }

    /// The queue to take a request from, if any.
    pub(super) fn select(&mut self) -> Option<u32> {
        if let Some(index) = self.in_service {
            if self.timeout_counts(index) && !self.must_idle(index) {
                self.expire(index, false, Reason::Timeout);
            }
        }
        loop {
            let index = match self.in_service {
                Some(index) => index,
                None => self.serve_next()?,
            };
            let reason = if let Some(charge) = self.charge_of_next(index) {
                if charge <= self.service.get(index).budget_left() {
                    if self.queues[index as usize].awaited {
                        self.stop_idling(index);
                    }
                    return Some(index);
                }
                Reason::Exhausted
            } else {
                let queue = &self.queues[index as usize];
                if queue.awaited || (queue.in_flight > 0 && self.better_to_idle(index)) {
                    return self.queue_to_inject(index);
                }
                Reason::NoMoreRequests
            };
            self.expire(index, false, reason);
        }
    }

    /// Dispatches the next request of `index`.
    pub(super) fn dispatch_from(&mut self, index: u32) -> Option<RequestId> {
        let queue = &self.queues[index as usize];
        let id = queue.waiting.next?;
        let charge = self.charge(index, queue, id);
        self.served(index, charge);
        self.watch_dispatch(index, id);
        self.queues[index as usize].in_flight += 1;
        self.remove(id);
        self.dispatched_from(index);
        Some(id)
    }

    /// A synchronous request of a queue that was not busy while nothing else waits: the queue is next, it is put in service and the
    /// request is dispatched without a place in the service tree. False if the request needs its place; it has been inserted there.
    #[inline(always)]
    pub(super) fn pass(&mut self, index: u32, id: RequestId, slot: &Slot) -> bool {
        let charge = slot.sectors as i64;
        let may_be_partner = self.may_be_partner(index);
        self.wake(index, slot.process, charge);
        let blocked = self.settings.strict_guarantees && self.in_driver > 0;
        let first = self.in_service.is_none() && self.service.is_next(index);
        if blocked || !first || charge > self.service.get(index).budget_left() {
            self.enqueue_request(index, id, slot);
            if may_be_partner {
                self.add_position(index, slot.start);
            }
            return false;
        }
        self.serve_next();
        self.served(index, charge);
        self.watch_dispatch(index, id);
        let queue = &mut self.queues[index as usize];
        queue.in_flight += 1;
        queue.fifo_checked = true;
        if queue.awaited {
            self.stop_idling(index);
        }
        self.dispatched_from(index);
        true
    }

    /// The request `id` goes to the drive: whether it is one to measure, and how fast the drive is.
    #[inline(always)]
    fn watch_dispatch(&mut self, index: u32, id: RequestId) {
        let serving = self.in_service == Some(index);
        if serving && core::mem::take(&mut self.measure_next) {
            self.waited = Some(id);
        }
        self.watch_rate(index, id);
    }

    /// A request of `index` has left its queue for the drive.
    #[inline(always)]
    fn dispatched_from(&mut self, index: u32) {
        if self.in_service == Some(index) {
            self.review_raising(index);
            if self.busy_queues() > 1 && self.service.get(index).class == CLASS_IDLE {
                self.expire(index, false, Reason::Exhausted);
            }
        }
        self.in_driver += 1;
    }

    #[inline]
    fn watch_rate(&mut self, index: u32, id: RequestId) {
        let slot = *self.slot(id);
        let seeky = slot.is_seek(self.last_position, self.settings.rotational);
        if self
            .rate
            .dispatched(self.now, slot.sectors, self.in_driver, seeky)
        {
            self.rate_changed();
        }
        self.last_position = slot.end();
        if self.in_service == Some(index) {
            self.last_position_in_service = self.last_position;
        }
    }

    pub(super) fn rate_changed(&mut self) {
        if self.settings.max_budget.is_none() {
            self.max_budget = self.max_budget_at_rate();
        }
    }
}

impl Bfq {
    /// Replay: puts `wanted` in service whatever the stamps say.
    pub(super) fn serve_forced(&mut self, wanted: u32) {
        self.service.force_next(wanted);
        self.serve_next();
    }
}
