//! Order of service, the active queue, and queues that cooperate (2.6.32).

use super::*;

impl OneTree {
    pub(super) fn slice(&self, queue: &Queue) -> i64 {
        scaled_slice(self.tunables.slice[usize::from(queue.sync)], queue.level)
    }

    /// Puts a queue into the order of service: at its place by key, or in front of all of its class.
    pub(super) fn take_turn(&mut self, index: usize, now: u64, in_front: bool) {
        let queue = &self.queues[index];
        let key = if queue.class == Class::Idle && !self.rounds {
            // Behind everything, 200 ms after the last.
            let last = self.turns.last().filter(|(last, _)| *last != index);
            last.map_or(now as i64, |(_, key)| key) + self.kernel.hz as i64 / 5
        } else if in_front {
            match (self.rounds, self.turns.first_key()) {
                (true, _) => i64::MIN,
                (false, first) => first.unwrap_or(now as i64) - self.kernel.hz as i64,
            }
        } else {
            let others = self.busy as i64 - 1;
            let lead = scaled_slice(self.tunables.slice[SYNC], 0) - self.slice(queue);
            // The sign of the residual changed: 2.6.24 adds what a slice left over, 2.6.32 takes it off.
            let residual = if self.rounds {
                queue.residual
            } else {
                -queue.residual
            };
            now as i64 + others * lead + residual
        };
        let queue = &mut self.queues[index];
        if !in_front && (queue.class != Class::Idle || self.rounds) {
            queue.residual = 0;
        }
        if queue.busy && queue.key == key {
            return;
        }
        let class = queue.class as u8;
        queue.key = key;
        self.turns.remove(index);
        self.turns.insert(class, key, index);
    }

    pub(super) fn become_busy(&mut self, index: usize, now: u64) {
        self.busy += 1;
        self.take_turn(index, now, false);
        self.queues[index].busy = true;
    }

    pub(super) fn become_idle(&mut self, index: usize) {
        self.queues[index].busy = false;
        self.busy -= 1;
        self.turns.remove(index);
    }

    pub(super) fn activate(&mut self, index: Option<usize>) {
        if let Some(index) = index {
            if self.rounds {
                let queue = &mut self.queues[index];
                let (awaited, must) = (queue.awaited, queue.must_dispatch);
                queue.begin_slice();
                (queue.awaited, queue.must_dispatch) = (awaited, must);
                self.class_timer = None;
            } else {
                self.queues[index].begin_slice();
                self.idle_timer = None;
            }
        }
        self.active = index;
    }

    /// The active queue's turn is over; `timed_out` keeps what its slice left over.
    pub(super) fn expire(&mut self, now: u64, timed_out: bool) {
        let Some(index) = self.active.take() else {
            return;
        };
        self.active_process = None;
        let queue = &mut self.queues[index];
        if queue.awaited {
            self.idle_timer = None;
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
        if let Some(index) = self.active {
            let queue = &self.queues[index];
            if !queue.slice_used(now) || (!self.rounds && queue.must_dispatch) {
                if !queue.waiting.is_empty() {
                    return Some(index);
                }
                preferred = self.cooperator(index);
                if let Some(other) = preferred {
                    plan_merge(&mut self.queues, index, other);
                } else if self.idle_timer.is_some() || (queue.in_flight > 0 && queue.idle_window) {
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
        let first = self.turns.first()?;
        if self.rounds && self.queues[first].class == Class::Idle && self.others_may_come(now) {
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
        let seek = &self.queues[index].seek;
        let reach = if is_valid(seek) {
            seek.mean
        } else {
            CLOSE_SECTORS
        };
        self.requests.distance(start) <= reach
    }

    /// A busy queue at the same level whose next request lies where the active queue works.
    pub(super) fn cooperator(&self, index: usize) -> Option<usize> {
        let own = &self.queues[index];
        if self.rounds || !own.sync || is_seeky(&own.seek) {
            return None;
        }
        let here = self.requests.last_end;
        let start = |other: &usize| {
            self.queues[*other]
                .waiting
                .next
                .map(|id| self.requests.slot(id).start)
        };
        let candidates = self.turns.iter().map(|(other, _)| other).filter(|other| {
            let queue = &self.queues[*other];
            queue.level == own.level && queue.class != Class::Idle && queue.waiting.next.is_some()
        });
        let nearest = candidates
            .min_by_key(|other| start(other).map_or(u64::MAX, |start| start.distance(here)))?;
        let at = start(&nearest)?;
        if at != here && !self.is_close(index, at) {
            return None;
        }
        let other = &self.queues[nearest];
        (other.sync && !is_seeky(&other.seek)).then_some(nearest)
    }

    /// A process leaves a queue; the last one takes an empty queue with it.
    pub(super) fn drop_user(&mut self, index: usize, now: u64) {
        let queue = &mut self.queues[index];
        queue.users = queue.users.saturating_sub(1);
        self.drop_unused(index, now);
    }

    pub(super) fn drop_unused(&mut self, index: usize, now: u64) {
        let queue = &self.queues[index];
        if queue.users == 0
            && queue.in_flight == 0
            && queue.waiting.is_empty()
            && self.active == Some(index)
        {
            self.expire(now, false);
            self.want_dispatch();
        }
    }

    pub(super) fn new_queue(&mut self, request: &Request) -> usize {
        self.queues
            .push(Queue::new(request.process, request.sync, request.priority));
        self.queues.len() - 1
    }

    /// The queue for a request, after planned merges and splits.
    pub(super) fn queue_of(&mut self, process: usize, request: &Request, now: u64) -> usize {
        if !request.sync {
            let (class, level) = effective(request.priority);
            let index = match *self.async_queues.at(class, level) {
                Some(index) => index,
                None => self.new_queue(request),
            };
            *self.async_queues.at(class, level) = Some(index);
            self.processes[process].async_queue = Some(index);
            return index;
        }
        let Some(mut index) = self.processes[process].sync_queue else {
            let index = self.new_queue(request);
            self.processes[process].sync_queue = Some(index);
            return index;
        };
        let second = self.kernel.hz as u64;
        let queue = &mut self.queues[index];
        if queue.shared && queue.seeky_since.is_some_and(|since| now > since + second) {
            if queue.users > 1 {
                self.drop_user(index, now);
                let index = self.new_queue(request);
                self.processes[process].sync_queue = Some(index);
                return index;
            }
            queue.seeky_since = None;
            queue.process = request.process;
            queue.shared = false;
        }
        if let Some(into) = self.queues[index].merge_into {
            self.drop_user(index, now);
            self.queues[into].shared = true;
            self.processes[process].sync_queue = Some(into);
            index = into;
        }
        index
    }
}
