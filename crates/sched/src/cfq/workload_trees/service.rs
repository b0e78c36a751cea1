//! Order of service: which class, which kind of load, which queue, and for how long.

use super::*;
use crate::cfq::queue::{plan_merge, scaled_slice, CLOSE_SECTORS};

impl WorkloadTrees {
    /// Length of a slice by priority alone.
    fn nominal_slice(&self, queue: &Queue) -> i64 {
        scaled_slice(self.tunables.slice[usize::from(queue.sync)], queue.level)
    }

    fn busy_in_class(&self, class: Class) -> u64 {
        if class == Class::Idle {
            return self.trees[TREE_IDLE].queues.len() as u64;
        }
        let first = tree_at(class, 0);
        self.trees[first..first + KINDS]
            .iter()
            .map(|tree| tree.queues.len() as u64)
            .sum()
    }

    fn busy_async(&self) -> u64 {
        let count = |class| self.trees[tree_at(class, KIND_ASYNC)].queues.len() as u64;
        count(Class::RealTime) + count(Class::BestEffort)
    }

    /// Decaying number of busy queues of a class; it follows a rise quickly and a fall slowly.
    fn average_busy(&mut self, real_time: bool) -> u64 {
        let busy = self.busy_in_class(if real_time {
            Class::RealTime
        } else {
            Class::BestEffort
        });
        let average = &mut self.busy_average[usize::from(real_time)];
        let (less, more) = (busy.min(*average), busy.max(*average));
        *average = (3 * more + less + 2) / 4;
        *average
    }

    /// Length of a slice when all busy queues of the class are to have one within the target latency.
    pub(super) fn slice(&mut self, index: usize) -> u64 {
        let nominal = self.nominal_slice(&self.common.queues[index]).max(0) as u64;
        if !self.tunables.low_latency {
            return nominal;
        }
        let real_time = self.common.queues[index].class == Class::RealTime;
        let sync_slice = self.tunables.slice[SYNC];
        let expected = sync_slice * self.average_busy(real_time);
        let target = self.tunables.target_latency;
        if expected <= target {
            return nominal;
        }
        let low = scaled(2 * self.tunables.slice_idle, nominal, sync_slice.max(1)).min(nominal);
        scaled(nominal, target, expected).max(low)
    }

    /// Puts a queue into the order of service of its tree: at its place by key, or in front.
    pub(super) fn take_turn(&mut self, index: usize, now: u64, in_front: bool) {
        let queue = &self.common.queues[index];
        let to = tree_of(queue);
        let queues = &self.trees[to].queues;
        let second = self.clock.second() as i64;
        let key = if queue.class == Class::Idle {
            let last = queues.last().filter(|(last, _)| *last != index);
            last.map_or(now as i64, |(_, key)| key) + second / 5
        } else if in_front {
            queues.first_key().unwrap_or(now as i64) - second
        } else {
            let others = self.queues_in_group(index) as i64 - 1;
            let lead = scaled_slice(self.tunables.slice[SYNC], 0) - self.nominal_slice(queue);
            let residual = queue.residual;
            self.common.queues[index].residual = 0;
            now as i64 + others * lead - residual
        };
        let queue = &mut self.common.queues[index];
        if queue.busy {
            if queue.key == key && queue.tree == to {
                return;
            }
            self.trees[queue.tree].queues.remove(index);
        }
        (queue.tree, queue.key) = (to, key);
        self.trees[to].queues.insert(0, key, index);
    }

    /// Queues of the group; one that is about to join is not counted yet.
    fn queues_in_group(&self, index: usize) -> u32 {
        if self.common.queues[index].busy {
            self.common.busy
        } else {
            self.common.busy - 1
        }
    }

    pub(super) fn become_busy(&mut self, index: usize, now: u64) {
        self.common.busy += 1;
        self.busy_sync += u32::from(self.common.queues[index].sync);
        self.take_turn(index, now, false);
        self.common.queues[index].busy = true;
    }

    pub(super) fn become_idle(&mut self, index: usize) {
        let queue = &mut self.common.queues[index];
        queue.busy = false;
        self.common.busy -= 1;
        self.busy_sync -= u32::from(queue.sync);
        self.trees[queue.tree].queues.remove(index);
        if self.common.busy == 0 {
            self.saved = None;
        }
    }

    pub(super) fn activate(&mut self, index: Option<usize>) {
        if let Some(index) = index {
            self.common.queues[index].begin_slice();
            self.common.idle_timer = None;
        }
        self.common.active = index;
    }

    /// The active queue's slice is over; `timed_out` keeps what it left over.
    pub(super) fn expire(&mut self, now: u64, timed_out: bool) {
        let Some(index) = self.common.active else {
            return;
        };
        if self.common.queues[index].awaited {
            self.common.idle_timer = None;
        }
        let queue = &mut self.common.queues[index];
        (queue.awaited, queue.wait_busy) = (false, false);
        if queue.shared && queue.seeks() {
            queue.split = true;
        }
        if timed_out {
            let fresh = queue.fresh;
            let left = if fresh {
                self.slice(index) as i64
            } else {
                queue.slice_ends as i64 - now as i64
            };
            self.common.queues[index].residual = left;
        }
        let left = self.serving.ends - now as i64;
        self.saved = (left > 0).then_some((left as u64, self.serving.class, self.serving.kind));
        if self.common.queues[index].busy {
            if self.common.queues[index].waiting.is_empty() {
                self.become_idle(index);
            } else {
                self.take_turn(index, now, false);
            }
        }
        self.common.active = None;
        self.common.active_process = None;
    }

    /// Class and kind of load to serve: as left off, if there was time left, otherwise chosen anew.
    fn choose_workload(&mut self, now: u64) {
        match self.saved {
            Some((left, class, kind)) => {
                self.serving = Workload {
                    class,
                    kind,
                    ends: (now + left) as i64,
                }
            }
            None => self.serving.ends = now as i64 - 1,
        }
        let class = if self.busy_in_class(Class::RealTime) > 0 {
            Class::RealTime
        } else if self.busy_in_class(Class::BestEffort) > 0 {
            Class::BestEffort
        } else {
            self.serving.class = Class::Idle;
            self.serving.ends = (now + self.clock.ticks(1)) as i64;
            return;
        };
        let same = self.serving.class == class;
        self.serving.class = class;
        let tree = &self.trees[tree_at(class, self.serving.kind)];
        if same && !tree.queues.is_empty() && now as i64 <= self.serving.ends {
            return;
        }
        let mut best: Option<(i64, usize)> = None;
        for kind in 0..KINDS {
            let key = self.trees[tree_at(class, kind)].queues.first_key();
            if let Some(key) = key.filter(|key| best.is_none_or(|(lowest, _)| *key < lowest)) {
                best = Some((key, kind));
            }
        }
        self.begin_workload(best.map_or(KIND_SYNC_NO_IDLE, |(_, kind)| kind), now);
    }

    /// A share of the target latency for this kind of load, by its number of queues.
    fn begin_workload(&mut self, kind: usize, now: u64) {
        let class = self.serving.class;
        let count = self.trees[tree_at(class, kind)].queues.len() as u64;
        let average = self.busy_average[usize::from(class == Class::RealTime)];
        let queues = average.max(self.busy_in_class(class)).max(1);
        let target = self.tunables.target_latency;
        let mut slice = scaled(target, count, queues);
        if kind == KIND_ASYNC {
            slice = slice.min(scaled(
                target,
                self.busy_async(),
                (self.common.busy as u64).max(1),
            ));
            slice = scaled(
                slice,
                self.tunables.slice[ASYNC],
                self.tunables.slice[SYNC].max(1),
            );
        } else {
            slice = slice.max(2 * self.tunables.slice_idle);
        }
        slice = slice.max(self.clock.ticks(2));
        self.serving.kind = kind;
        self.serving.ends = (now + slice) as i64;
    }

    /// A queue is to be served out of turn: its kind of load is, then.
    pub(super) fn serve_workload_of(&mut self, index: usize, now: u64) {
        let (class, kind) = (
            self.common.queues[index].class,
            kind_of(&self.common.queues[index]),
        );
        if self.serving.class == class
            && self.serving.kind == kind
            && now as i64 <= self.serving.ends
        {
            return;
        }
        self.serving.class = class;
        self.begin_workload(kind, now);
    }

    fn first_in_turn(&self) -> Option<usize> {
        if self.queued() == 0 {
            return None;
        }
        self.trees[tree_at(self.serving.class, self.serving.kind)]
            .queues
            .first()
    }

    /// The queue to serve; `None`: nothing, or the device is left idle.
    pub(super) fn select(&mut self, now: u64) -> Option<usize> {
        let mut preferred = None;
        if let Some(index) = self.common.active {
            if self.queued() == 0 {
                return None;
            }
            match self.keep(index, now) {
                Keep::Serve => return Some(index),
                Keep::Wait => return None,
                Keep::Leave(cooperator) => preferred = cooperator,
            }
            self.expire(now, false);
        }
        if preferred.is_none() {
            self.choose_workload(now);
        }
        let chosen = preferred.or_else(|| self.first_in_turn());
        self.activate(chosen);
        chosen
    }

    /// What becomes of the active queue?
    fn keep(&mut self, index: usize, now: u64) -> Keep {
        let queue = &self.common.queues[index];
        let empty = queue.waiting.is_empty();
        if queue.wait_busy && !empty {
            return Keep::Leave(None);
        }
        if queue.slice_used(now) && !queue.must_dispatch {
            if self.common.busy == 1 && empty && queue.in_flight > 0 && self.should_idle(index) {
                return Keep::Wait;
            }
            return self.keep_for_group();
        }
        if !empty {
            return Keep::Serve;
        }
        if let Some(other) = self.cooperator(index) {
            plan_merge(&mut self.common.queues, index, other);
            return Keep::Leave(Some(other));
        }
        if self.common.idle_timer.is_some() {
            return Keep::Wait;
        }
        let queue = &mut self.common.queues[index];
        if queue.seeks() && queue.idle_window {
            // Deep and seeky, and emptied in less than half of its slice: the device is quicker than the process.
            let began = queue.slice_began.unwrap_or(now);
            if queue.fresh || queue.slice_ends.saturating_sub(now) > now - began {
                (queue.deep, queue.idle_window) = (false, false);
            }
        }
        if self.common.queues[index].in_flight > 0 && self.should_idle(index) {
            return Keep::Wait;
        }
        self.keep_for_group()
    }

    /// Nobody else is busy: wait for what the group has in flight.
    fn keep_for_group(&self) -> Keep {
        let in_flight = self.in_flight[SYNC] + self.in_flight[ASYNC];
        if self.tunables.group_idle > 0 && self.common.busy == 1 && in_flight > 0 {
            Keep::Wait
        } else {
            Keep::Leave(None)
        }
    }

    /// A busy queue at the same level whose next request lies where the active queue works.
    pub(super) fn cooperator(&self, index: usize) -> Option<usize> {
        let own = &self.common.queues[index];
        if own.class == Class::Idle || !own.sync || own.seeks() || self.common.busy == 1 {
            return None;
        }
        let here = self.common.requests.last_end;
        let start = |other: usize| {
            self.common.queues[other]
                .waiting
                .next
                .map(|id| self.common.requests.slot(id).start)
        };
        let all = self.trees[..TREE_IDLE]
            .iter()
            .flat_map(|tree| tree.queues.iter());
        let candidates = all
            .map(|(other, _)| other)
            .filter(|other| self.common.queues[*other].level == own.level);
        let (distance, nearest) = candidates
            .filter_map(|other| start(other).map(|start| (start.distance(here), other)))
            .min_by_key(|(distance, _)| *distance)?;
        let other = &self.common.queues[nearest];
        let fits = other.sync
            && !other.seeks()
            && (other.class == Class::RealTime) == (own.class == Class::RealTime);
        (distance <= CLOSE_SECTORS && fits).then_some(nearest)
    }
}

/// `value · by / of`, for spans in nanoseconds whose product does not fit.
fn scaled(value: u64, by: u64, of: u64) -> u64 {
    match value.checked_mul(by) {
        Some(product) => product / of,
        None => (value as u128 * by as u128 / of as u128) as u64,
    }
}

/// What becomes of the active queue when a request is wanted.
enum Keep {
    Serve,
    Wait,
    /// Its slice ends; a cooperating queue is next whatever the order.
    Leave(Option<usize>),
}
