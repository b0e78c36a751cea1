//! Order of service, the active queue, and queues that cooperate (2.6.32).

use super::*;

impl SingleTree {
    pub(super) fn slice(&self, queue: &Queue) -> i64 {
        scaled_slice(self.tunables.slice[usize::from(queue.sync)], queue.level)
    }

    /// Puts a queue into the order of service: at its place by key, or in front of all of its class.
    pub(super) fn take_turn(&mut self, index: usize, now: u64, in_front: bool) {
        let queue = &self.common.queues[index];
        let key = if queue.class == Class::Idle && !self.rounds {
            // Behind everything, 200 ms after the last.
            let last = self.service_tree.last().filter(|(last, _)| *last != index);
            last.map_or(now as i64, |(_, key)| key) + self.kernel.hz as i64 / 5
        } else if in_front {
            match (self.rounds, self.service_tree.first_key()) {
                (true, _) => i64::MIN,
                (false, first) => first.unwrap_or(now as i64) - self.kernel.hz as i64,
            }
        } else {
            let others = self.common.busy as i64 - 1;
            let lead = scaled_slice(self.tunables.slice[SYNC], 0) - self.slice(queue);
            // The sign of the residual changed: 2.6.24 adds what a slice left over, 2.6.32 takes it off.
            let residual = if self.rounds {
                queue.residual
            } else {
                -queue.residual
            };
            now as i64 + others * lead + residual
        };
        let queue = &mut self.common.queues[index];
        if !in_front && (queue.class != Class::Idle || self.rounds) {
            queue.residual = 0;
        }
        if queue.busy && queue.key == key {
            return;
        }
        let class = queue.class as u8;
        queue.key = key;
        self.service_tree.remove(index);
        self.service_tree.insert(class, key, index);
    }

    pub(super) fn become_busy(&mut self, index: usize, now: u64) {
        self.common.busy += 1;
        self.take_turn(index, now, false);
        self.common.queues[index].busy = true;
    }

    pub(super) fn become_idle(&mut self, index: usize) {
        self.common.queues[index].busy = false;
        self.common.busy -= 1;
        self.service_tree.remove(index);
    }

    pub(super) fn activate(&mut self, index: Option<usize>) {
        if let Some(index) = index {
            if self.rounds {
                let queue = &mut self.common.queues[index];
                let (awaited, must) = (queue.awaited, queue.must_dispatch);
                queue.begin_slice();
                (queue.awaited, queue.must_dispatch) = (awaited, must);
                self.class_timer = None;
            } else {
                self.common.queues[index].begin_slice();
                self.common.idle_timer = None;
            }
        }
        self.common.active = index;
    }

    /// The active queue's turn is over; `timed_out` keeps what its slice left over.
    pub(super) fn expire(&mut self, now: u64, timed_out: bool) {
        let Some(index) = self.common.active.take() else {
            return;
        };
        self.common.active_process = None;
        let queue = &mut self.common.queues[index];
        if queue.awaited {
            self.common.idle_timer = None;
        }
        queue.awaited = false;
        if self.rounds {
            queue.must_dispatch = false;
        }
        if timed_out && !queue.fresh {
            queue.residual = queue.slice_ends as i64 - now as i64;
        }
        if queue.busy {
            self.take_turn(index, now, false);
        }
    }

    pub(super) fn select(&mut self, now: u64) -> Option<usize> {
        let mut preferred = None;
        if let Some(index) = self.common.active {
            let queue = &self.common.queues[index];
            if !queue.slice_used(now) || (!self.rounds && queue.must_dispatch) {
                if !queue.waiting.is_empty() {
                    return Some(index);
                }
                preferred = self.cooperator(index);
                if let Some(other) = preferred {
                    plan_merge(&mut self.common.queues, index, other);
                } else if self.common.idle_timer.is_some()
                    || (queue.in_flight > 0 && queue.idle_window)
                {
                    return None;
                }
            }
            self.expire(now, false);
        }
        let chosen = preferred.or_else(|| self.first_in_turn(now));
        self.activate(chosen);
        chosen
    }

    pub(super) fn first_in_turn(&mut self, now: u64) -> Option<usize> {
        let first = self.service_tree.first()?;
        if self.rounds
            && self.common.queues[first].class == Class::Idle
            && self.others_may_come(now)
        {
            return None;
        }
        Some(first)
    }

    /// Rounds: the idle class waits 100 ms after the last completion of another class; the timer looks again.
    pub(super) fn others_may_come(&mut self, now: u64) -> bool {
        let Some(last) = self.last_completion else {
            return false;
        };
        let until = last + self.kernel.hz as u64 / 10;
        if now >= until {
            return false;
        }
        self.class_timer = Some(until);
        true
    }

    // --- Cooperating queues (2.6.32) -----------------------------------------------------------------------------

    pub(super) fn is_close(&self, index: usize, start: Lba) -> bool {
        let seek = &self.common.queues[index].seek;
        let reach = if is_valid(seek) {
            seek.mean
        } else {
            CLOSE_SECTORS
        };
        self.common.requests.distance(start) <= reach
    }

    /// A busy queue at the same level whose next request lies where the active queue works.
    pub(super) fn cooperator(&self, index: usize) -> Option<usize> {
        let own = &self.common.queues[index];
        if self.rounds || !own.sync || is_seeky(&own.seek) {
            return None;
        }
        let here = self.common.requests.last_end;
        let start = |other: &usize| {
            self.common.queues[*other]
                .waiting
                .next
                .map(|id| self.common.requests.slot(id).start)
        };
        let candidates = self
            .service_tree
            .iter()
            .map(|(other, _)| other)
            .filter(|other| {
                let queue = &self.common.queues[*other];
                queue.level == own.level
                    && queue.class != Class::Idle
                    && queue.waiting.next.is_some()
            });
        let nearest = candidates
            .min_by_key(|other| start(other).map_or(u64::MAX, |start| start.distance(here)))?;
        let at = start(&nearest)?;
        if at != here && !self.is_close(index, at) {
            return None;
        }
        let other = &self.common.queues[nearest];
        (other.sync && !is_seeky(&other.seek)).then_some(nearest)
    }

    /// A process leaves a queue; the last one takes an empty queue with it.
    pub(super) fn drop_user(&mut self, index: usize, now: u64) {
        let queue = &mut self.common.queues[index];
        queue.users = queue.users.saturating_sub(1);
        self.drop_unused(index, now);
    }

    pub(super) fn drop_unused(&mut self, index: usize, now: u64) {
        if self.common.is_unused(index) {
            self.expire(now, false);
            self.common.want_dispatch();
        }
    }

    /// The queue for a request, after planned merges and splits.
    pub(super) fn queue_of(&mut self, process: usize, request: &Request, now: u64) -> usize {
        if !request.sync {
            return self.common.async_queue(process, request);
        }
        let Some(mut index) = self.common.processes[process].sync_queue else {
            return self.common.new_sync_queue(process, request);
        };
        let second = self.kernel.hz as u64;
        let queue = &mut self.common.queues[index];
        if queue.shared && queue.seeky_since.is_some_and(|since| now > since + second) {
            if queue.users > 1 {
                self.drop_user(index, now);
                return self.common.new_sync_queue(process, request);
            }
            queue.seeky_since = None;
            queue.process = request.process;
            queue.shared = false;
        }
        if let Some(into) = self.common.queues[index].merge_into {
            self.drop_user(index, now);
            self.common.queues[into].shared = true;
            self.common.processes[process].sync_queue = Some(into);
            index = into;
        }
        index
    }
}
