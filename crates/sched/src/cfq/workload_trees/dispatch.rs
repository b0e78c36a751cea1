//! How many requests of the chosen queue go, and which.

use super::*;

impl WorkloadTrees {
    /// Out of its queue. An emptied queue keeps its turn until its slice ends.
    #[inline]
    fn leave(&mut self, id: RequestId) {
        let queue = &mut self.common.queues[self.common.requests.slot(id).queue as usize];
        self.common.requests.take(&mut queue.waiting, id);
        queue.in_flight += 1;
        self.in_flight[usize::from(queue.sync)] += 1;
    }

    /// From its queue to the dispatch list.
    fn move_to_list(&mut self, id: RequestId) {
        self.leave(id);
        let slot = *self.common.requests.slot(id);
        self.common.list.sort_in(
            id,
            slot.start,
            slot.direction,
            self.common.requests.last_end,
        );
    }

    pub(super) fn pulled(&mut self, id: RequestId) {
        let slot = self.common.requests.slot(id);
        self.in_driver += 1;
        self.common.requests.last_end = slot.start + slot.sectors;
        self.common.waiting -= 1;
    }

    /// The oldest request of a queue if it has expired; looked at once a slice.
    pub(super) fn expired(&mut self, index: usize, now: u64) -> Option<RequestId> {
        let queue = &mut self.common.queues[index];
        if core::mem::replace(&mut queue.fifo_checked, true) {
            return None;
        }
        queue
            .waiting
            .oldest()
            .filter(|id| now >= self.common.requests.slot(*id).expires)
    }

    /// Will the slice be over before what is in flight has come back?
    pub(super) fn slice_used_soon(&self, queue: &Queue, now: u64) -> bool {
        queue.fresh || now + self.tunables.slice_idle * queue.in_flight as u64 > queue.slice_ends
    }

    pub(super) fn may_dispatch(&self, index: usize, now: u64) -> bool {
        let queue = &self.common.queues[index];
        if queue.must_dispatch {
            return true;
        }
        if self.in_flight[ASYNC] > 0 && self.should_idle(index) {
            return false;
        }
        if self.in_flight[SYNC] > 0 && !queue.sync {
            return false;
        }
        let idle_class = queue.class == Class::Idle;
        let in_flight = queue.in_flight as u64;
        let mut limit = if idle_class {
            1
        } else {
            (self.tunables.quantum / 2).max(1)
        };
        if in_flight >= limit {
            let sole_sync = queue.sync && self.busy_sync == 1;
            if idle_class
                || (self.common.busy > 1 && self.slice_used_soon(queue, now) && !sole_sync)
            {
                return false;
            }
            limit = if self.common.busy == 1 || sole_sync {
                u64::MAX
            } else {
                self.tunables.quantum
            };
        }
        if !queue.sync && self.tunables.low_latency {
            let since = (now as i64 - self.last_delayed_sync).max(0) as u64;
            let mut depth = since / self.tunables.slice[SYNC].max(1);
            if depth == 0 && in_flight == 0 {
                depth = 1;
            }
            limit = limit.min(depth);
        }
        in_flight < limit
    }

    pub(super) fn move_one(&mut self, id: RequestId, now: u64) {
        let slot = *self.common.requests.slot(id);
        let index = slot.queue as usize;
        self.leave(id);
        if self.common.active_process.is_none() {
            self.common.active_process = Some(slot.process as usize);
        }
        let queue = &mut self.common.queues[index];
        queue.taken += 1;
        queue.must_dispatch = false;
        let share = 2 * self.tunables.slice_async_rq * (8 - queue.level as u64);
        let share_used = !queue.sync && queue.taken as u64 >= share;
        if self.common.busy > 1 && (share_used || queue.class == Class::Idle) {
            self.common.queues[index].slice_ends = now + self.clock.unit();
            self.expire(now, false);
        }
    }

    pub(super) fn dispatch_single(&mut self, now: u64) -> Option<RequestId> {
        let index = self.select(now)?;
        let expired = self.expired(index, now);
        if expired.is_some() {
            self.common.queues[index].must_dispatch = true;
        }
        if !self.may_dispatch(index, now) {
            return None;
        }
        let id = expired.or(self.common.queues[index].waiting.next)?;
        self.move_one(id, now);
        Some(id)
    }

    pub(super) fn sort_in(&mut self, id: RequestId, now: u64) {
        let slot = *self.common.requests.slot(id);
        let index = slot.queue as usize;
        if !self.equal_sectors_wait {
            while let Some(older) = self.common.queues[index].waiting.starting_at(slot.start) {
                self.move_to_list(older);
            }
        }
        if !self.common.queues[index].busy {
            self.become_busy(index, now);
        }
        self.common
            .requests
            .sort_in(&mut self.common.queues[index].waiting, id);
    }
}
