//! Statistics of processes, idling, and what a new request does to the active queue.

use super::*;

impl SingleTree {
    pub(super) fn note_request(
        &mut self,
        index: usize,
        process: usize,
        request: &Request,
        now: u64,
    ) {
        let slice_idle = self.tunables.slice_idle;
        let person = &mut self.common.processes[process];
        person
            .think
            .add((now - person.last_completion).min(2 * slice_idle));
        let queue = &mut self.common.queues[index];
        if self.rounds {
            person
                .seek
                .add_seek(person.last_end.distance(request.start));
            person.last_end = request.end();
        } else {
            // A queue that has seen nothing yet (or ended at sector 0) counts no seek.
            let distance = if queue.last_end == Lba(0) {
                0
            } else {
                queue.last_end.distance(request.start)
            };
            queue.seek.add_seek(distance);
            if queue.shared {
                queue.seeky_since = if is_seeky(&queue.seek) {
                    queue.seeky_since.or(Some(now))
                } else {
                    None
                };
            }
            queue.last_end = request.end();
        }
        self.update_idle_window(index, process);
    }

    pub(super) fn update_idle_window(&mut self, index: usize, process: usize) {
        let (person, queue) = (
            &self.common.processes[process],
            &mut self.common.queues[index],
        );
        if !queue.sync || (!self.rounds && queue.class == Class::Idle) {
            return;
        }
        let seek = if self.rounds {
            &person.seek
        } else {
            &queue.seek
        };
        let slice_idle = self.tunables.slice_idle;
        let given_up = self.queueing_device && is_seeky(seek) && !self.tunables.low_latency;
        if person.exited || slice_idle == 0 || given_up {
            queue.idle_window = false;
        } else if is_valid(&person.think) {
            let patience = if !self.rounds && is_valid(seek) && is_seeky(seek) {
                self.idle_seeky
            } else {
                slice_idle
            };
            queue.idle_window = person.think.mean <= patience;
        }
    }

    /// The active queue ran empty: wait for its process if that is worth it.
    pub(super) fn begin_idling(&mut self, index: usize, now: u64) {
        let slice_idle = self.tunables.slice_idle;
        let queue = &self.common.queues[index];
        if slice_idle == 0
            || !queue.idle_window
            || (!self.rounds && !self.common.rotational && self.queueing_device)
        {
            return;
        }
        if !self.rounds && self.in_driver != [0; 2] {
            return;
        }
        let Some(person) = self
            .common
            .active_process
            .map(|process| &self.common.processes[process])
            .filter(|person| !person.exited)
        else {
            return;
        };
        if !self.rounds
            && is_valid(&person.think)
            && queue.slice_ends.saturating_sub(now) < person.think.mean
        {
            return;
        }
        let seek = if self.rounds {
            &person.seek
        } else {
            &queue.seek
        };
        let wait = if is_valid(seek) && is_seeky(seek) {
            slice_idle.min(self.idle_seeky)
        } else {
            slice_idle
        };
        self.common.queues[index].awaited = true;
        self.common.idle_timer = Some(now + wait);
    }

    // --- Arrival -------------------------------------------------------------------------------------------------

    /// Into its queue's sector order; an older request at the same sector leaves at once.
    pub(super) fn sort_in(&mut self, id: RequestId, now: u64) {
        let slot = *self.common.requests.slot(id);
        let index = slot.queue as usize;
        while let Some(older) = self.common.queues[index].waiting.starting_at(slot.start) {
            self.move_to_list(older);
        }
        if !self.common.queues[index].busy {
            self.become_busy(index, now);
        }
        self.common
            .requests
            .sort_in(&mut self.common.queues[index].waiting, id);
    }

    pub(super) fn preempts(&self, index: usize, request: &Request, now: u64) -> bool {
        let Some(active) = self.common.active else {
            return false;
        };
        let (running, new) = (&self.common.queues[active], &self.common.queues[index]);
        if running.slice_used(now) {
            return true;
        }
        if new.class == Class::Idle {
            return false;
        }
        if running.class == Class::Idle || (request.sync && !running.sync) {
            return true;
        }
        if request.metadata && running.waiting.metadata == 0 {
            return true;
        }
        if !self.rounds && new.class == Class::RealTime && running.class != Class::RealTime {
            return true;
        }
        let Some(person) = self.common.active_process.filter(|_| running.awaited) else {
            return false;
        };
        if self.rounds {
            let seek = &self.common.processes[person].seek;
            is_valid(seek) && self.common.requests.distance(request.start) <= seek.mean
        } else {
            self.is_close(active, request.start)
        }
    }

    /// A request came: end the wait for it, or let it push the active queue aside.
    pub(super) fn react(&mut self, index: usize, request: &Request, now: u64) {
        if self.common.active == Some(index) {
            if !self.common.queues[index].awaited {
                return;
            }
            if self.rounds {
                self.common.idle_timer = None;
                self.common.queue_kick = true;
            } else if request.sectors.0 > PAGE_SECTORS || self.common.busy > 1 {
                // A longer request ends the wait at once: more than a page need not wait for merges.
                self.common.idle_timer = None;
                self.common.queue_kick = true;
                self.must_after_run = Some(index);
            } else {
                self.common.queues[index].must_dispatch = true;
            }
        } else if self.preempts(index, request, now) {
            self.expire(now, true);
            self.take_turn(index, now, true);
            let queue = &mut self.common.queues[index];
            queue.slice_ends = 0;
            queue.fresh = true;
            self.common.queue_kick = true;
        }
    }

    pub(super) fn update_depth(&mut self) {
        let in_driver = self.in_driver[SYNC] + self.in_driver[ASYNC];
        self.common.depth_peak = self.common.depth_peak.max(in_driver);
        let queued = self.common.waiting - self.common.list.len();
        if queued <= 5 && in_driver <= 5 {
            return;
        }
        self.common.depth_samples += 1;
        if self.common.depth_samples <= 50 {
            return;
        }
        self.queueing_device = self.common.depth_peak >= 5;
        (self.common.depth_samples, self.common.depth_peak) = (0, 0);
    }
}
