//! Is it better to leave the drive idle for the next request of the queue in service than to serve another one?
//!
//! Source: behaviour of Linux 5.10 to 6.12 block/bfq-iosched.c.

use super::parameters::THINK_TIME_NONE;
use super::queue::{Habit, Queue};
use super::service::CLASS_IDLE;
use super::Bfq;
use seekwise_units::Nanos;

/// Foreign requests in flight from which a raised queue is waited for. Linux 5.10 to 6.12.
const FOREIGN_MANY: u32 = 4;
/// Length of the wait for a raised queue, at least.
const RAISED_IDLE: Nanos = Nanos::from_millis(20);
/// Weight of think-time samples from which their mean is believed: bfq_sample_valid.
const SAMPLES_VALID: u64 = 80;
/// Requests in time after which a queue is I/O-bound, before 5.12: bfq_requests_within_timer.
const IN_TIME_ENOUGH: u32 = 120;
/// Window of observed busy time, 5.12 on.
const WATCH_WINDOW: Nanos = Nanos::from_millis(200);

impl Bfq {
    /// Several classes busy, weights that differ to the disadvantage of `index`, or groups with requests?
    pub(super) fn is_asymmetric_for(&self, index: u32) -> bool {
        let [root, group] = self.pending;
        let groups = group > 0 && (root > 0 || !self.generation.since_6_2);
        groups || self.service.weights_differ_for(index) || {
            let classes = self.busy.map(|count| u32::from(count > 0));
            classes[0] + classes[1] + classes[2] > 1
        }
    }

    pub(super) fn idling_boosts_throughput(&self, index: u32) -> bool {
        let queue = &self.queues[index as usize];
        if queue.processes == 0 || self.raised_busy > 0 {
            return false;
        }
        // While it is not known whether the drive queues, it is taken to do so.
        let queues_inside = self.queueing != Some(false);
        let rotational = self.settings.rotational;
        let greedy = !queue.is_seeky() && queue.habit.io_bound && queue.habit.short_think;
        (rotational && !queues_inside) || ((rotational || !queues_inside) && greedy)
    }

    #[inline]
    pub(super) fn idling_keeps_guarantees(&self, index: u32) -> bool {
        let queue = &self.queues[index as usize];
        if queue.processes == 0 {
            return false;
        }
        let busy = self.busy_queues();
        let raised = self.is_raised(index)
            && (self.raised_busy < busy || self.in_driver >= queue.in_flight + FOREIGN_MANY);
        raised || self.is_asymmetric_for(index) || (self.generation.since_5_12 && busy == 1)
    }

    pub(super) fn better_to_idle(&self, index: u32) -> bool {
        let queue = &self.queues[index as usize];
        if queue.processes == 0 {
            return false;
        }
        if self.settings.strict_guarantees {
            return true;
        }
        if self.settings.slice_idle == Nanos::ZERO
            || !queue.sync
            || self.service.get(index).class == CLASS_IDLE
        {
            return false;
        }
        self.idling_boosts_throughput(index) || self.idling_keeps_guarantees(index)
    }

    pub(super) fn must_idle(&self, index: u32) -> bool {
        self.queues[index as usize].is_empty() && self.better_to_idle(index)
    }

    /// Starts waiting for the queue in service.
    pub(super) fn start_idling(&mut self, index: u32) {
        let mut span = self.settings.slice_idle;
        let seeky = self.queues[index as usize].is_seeky();
        if self.is_raised(index) {
            span = span.max(RAISED_IDLE);
        } else if seeky && !self.is_asymmetric_for(index) {
            span = span.min(THINK_TIME_NONE);
        }
        self.queues[index as usize].awaited = true;
        (self.idling_since, self.idling_since_tick) = (self.now, self.tick);
        self.idle_timer = Some(Nanos(self.now.0.saturating_add(span.0)));
    }

    pub(super) fn stop_idling(&mut self, index: u32) {
        self.queues[index as usize].awaited = false;
        self.idle_timer = None;
    }

    /// A request comes to `index`: how long did the process think, and is that long?
    #[inline]
    pub(super) fn watch_think_time(&mut self, index: u32) {
        let settings = &self.settings;
        let queue = &mut self.queues[index as usize];
        if !self.generation.since_5_12 || (queue.in_flight == 0 && !queue.busy) {
            queue.habit.sample_think_time(self.now, settings.slice_idle);
        }
        if !queue.sync
            || self.service.get(index).class == CLASS_IDLE
            || settings.slice_idle == Nanos::ZERO
            || queue.split_at + settings.raise_idle_ticks >= self.tick
        {
            return;
        }
        let limit = if self.generation.since_5_12 {
            settings.slice_idle.0 >> 1
        } else {
            settings.slice_idle.0
        };
        let habit = &mut queue.habit;
        let long = habit.think_weight > SAMPLES_VALID && habit.thinks_longer_than(limit);
        let changed = habit.short_think == long;
        habit.short_think = !long;
        if changed
            && queue.tolerance.base == Nanos::ZERO
            && (long || queue.tolerance.cut + settings.inject_think_ticks <= self.tick)
        {
            self.reset_tolerance(index);
        }
    }
    /// Before 5.12: a queue becomes I/O-bound after 120 arrivals in time.
    pub(super) fn count_in_time(&mut self, index: u32, in_time: bool) {
        let habit = &mut self.queues[index as usize].habit;
        if habit.io_bound {
            return;
        }
        habit.in_time = if in_time { habit.in_time + 1 } else { 0 };
        habit.io_bound = habit.in_time >= IN_TIME_ENOUGH;
    }
}

impl Habit {
    #[inline]
    fn sample_think_time(&mut self, now: Nanos, slice_idle: Nanos) {
        let cap = slice_idle.0.saturating_mul(2);
        let thought = now.0.wrapping_sub(self.last_completion.0).min(cap);
        self.think_weight = (7 * self.think_weight + 256) / 8;
        self.think_total = (7 * self.think_total).saturating_add(thought.saturating_mul(256)) / 8;
    }
}

impl Queue {
    /// 5.12 on: a queue is I/O-bound if it had requests four fifths of the time lately.
    #[inline]
    pub(super) fn watch_busy_time(&mut self, now: Nanos) {
        let empty = self.is_empty() && self.in_flight == 0;
        let habit = &mut self.habit;
        let watched = now.saturating_sub(habit.watched_since);
        if empty {
            let idle = now.0.wrapping_sub(habit.last_completion.0);
            habit.idle = habit.idle.wrapping_add(idle);
        }
        if self.just_created {
            return;
        }
        habit.io_bound = habit.idle.wrapping_mul(5) <= watched.0;
        if watched > WATCH_WINDOW {
            habit.watched_since = Nanos(now.0 - (watched.0 >> 1));
            habit.idle >>= 1;
        }
    }
}
