//! How many requests of the chosen queue go, and which.

use super::*;

impl SingleTree {
    /// From its queue to the dispatch list.
    pub(super) fn move_to_list(&mut self, id: RequestId) {
        let slot = *self.common.requests.slot(id);
        let index = slot.queue as usize;
        let queue = &mut self.common.queues[index];
        if !self.rounds {
            queue.waiting.next = self.common.requests.following(&queue.waiting, id);
        }
        self.common.requests.remove(&mut queue.waiting, id);
        self.common.requests.leave(id);
        queue.in_flight += 1;
        self.sync_in_flight += u32::from(queue.sync);
        if queue.waiting.is_empty() && queue.busy {
            self.become_idle(index);
        }
        self.common.list.sort_in(
            id,
            slot.start,
            slot.direction,
            self.common.requests.last_end,
        );
    }

    /// The driver takes a request.
    pub(super) fn pulled(&mut self, id: RequestId) {
        let slot = self.common.requests.slot(id);
        self.in_driver[usize::from(slot.sync)] += 1;
        self.common.requests.last_end = slot.start + slot.sectors;
        self.common.waiting -= 1;
        if self.rounds && self.in_driver[SYNC] + self.in_driver[ASYNC] > 4 {
            self.queueing_device = true;
        }
    }

    /// The request of a queue that is to go: the oldest if it has expired (looked at once a slice), else the nearest.
    pub(super) fn pick(&mut self, index: usize, now: u64) -> Option<RequestId> {
        let queue = &mut self.common.queues[index];
        if !queue.fifo_checked {
            queue.fifo_checked = true;
            if let Some(oldest) = queue
                .waiting
                .oldest()
                .filter(|id| now >= self.common.requests.slot(*id).expires)
            {
                return Some(oldest);
            }
        }
        queue.waiting.next
    }

    pub(super) fn move_one(&mut self, id: RequestId) {
        self.move_to_list(id);
        if self.common.active_process.is_none() {
            self.common.active_process = Some(self.common.requests.slot(id).process as usize);
        }
    }

    /// Async requests that a slice may take.
    pub(super) fn async_requests_max(&self, queue: &Queue) -> u64 {
        2 * self.tunables.slice_async_rq * (8 - queue.level as u64)
    }

    /// An async queue that has taken its share, and the idle class after every round, give way to others.
    pub(super) fn give_way(&mut self, index: usize, taken: u64, now: u64) {
        let queue = &self.common.queues[index];
        let share_used = !queue.sync && taken >= self.async_requests_max(queue);
        if self.common.busy > 1 && (share_used || queue.class == Class::Idle) {
            self.common.queues[index].slice_ends = now + 1;
            self.expire_queue(index, now);
        }
    }

    pub(super) fn expire_queue(&mut self, index: usize, now: u64) {
        if self.common.active == Some(index) {
            self.expire(now, false);
        }
    }

    pub(super) fn dispatch_round(&mut self, now: u64) {
        while let Some(index) = self.select(now) {
            let queue = &self.common.queues[index];
            let limit = if queue.class == Class::Idle {
                1
            } else {
                self.tunables.quantum
            };
            let in_flight = queue.in_flight as u64;
            if in_flight >= limit && (self.common.busy > 1 || in_flight >= 4 * limit) {
                break;
            }
            if self.sync_in_flight > 0 && !queue.sync {
                break;
            }
            self.common.queues[index].awaited = false;
            self.common.queues[index].must_dispatch = false;
            self.common.idle_timer = None;
            let mut moved = 0;
            while moved < limit {
                let Some(id) = self.pick(index, now) else {
                    break;
                };
                self.move_one(id);
                moved += 1;
            }
            self.give_way(index, moved, now);
        }
    }

    pub(super) fn may_dispatch(&self, queue: &Queue, now: u64) -> bool {
        if (queue.idle_window && self.in_driver[ASYNC] > 0)
            || (!queue.sync && self.sync_in_flight > 0)
        {
            return false;
        }
        let in_flight = queue.in_flight as u64;
        let mut limit = if queue.class == Class::Idle {
            1
        } else {
            self.tunables.quantum
        };
        if in_flight >= limit {
            if queue.class == Class::Idle || self.common.busy > 1 {
                return false;
            }
            limit *= 4;
        }
        if !queue.sync && self.tunables.low_latency {
            let mut depth =
                (now as i64 - self.last_sync_completion) as u64 / self.tunables.slice[SYNC].max(1);
            if depth == 0 && in_flight == 0 {
                depth = 1;
            }
            limit = limit.min(depth);
        }
        in_flight < limit
    }

    pub(super) fn dispatch_single(&mut self, now: u64) {
        let Some(index) = self.select(now) else {
            return;
        };
        if !self.may_dispatch(&self.common.queues[index], now) {
            return;
        }
        let Some(id) = self.pick(index, now) else {
            return;
        };
        self.move_one(id);
        let queue = &mut self.common.queues[index];
        queue.taken += 1;
        queue.must_dispatch = false;
        let taken = queue.taken as u64;
        self.give_way(index, taken, now);
    }
}
