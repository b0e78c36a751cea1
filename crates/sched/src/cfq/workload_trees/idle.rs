//! Idling: for whom the device waits, how long, and what ends the wait.

use super::*;
use crate::cfq::queue::CLOSE_SECTORS;
use seekwise_units::PAGE_SECTORS;

/// A request farther than this from the one before it is a seek (on a drive that rotates).
const SEEK_SECTORS: u64 = 800;
/// A request shorter than this counts as a seek where there is none to speak of.
const SMALL_SECTORS: u64 = 64;
impl WorkloadTrees {
    fn device_queues(&self) -> bool {
        self.queueing_device.unwrap_or(true)
    }

    /// Should the device wait for the next request of this queue once it is empty?
    pub(super) fn should_idle(&self, index: usize) -> bool {
        let queue = &self.common.queues[index];
        if self.tunables.slice_idle == 0 || queue.class == Class::Idle {
            return false;
        }
        if queue.idle_window && (self.common.rotational || !self.device_queues()) {
            return true;
        }
        // The last of those that are not waited for one by one.
        let tree = &self.trees[queue.tree];
        let thinks_long = is_valid(&tree.think) && tree.think.mean > self.tunables.slice_idle;
        tree.queues.len() == 1 && queue.sync && !thinks_long
    }

    pub(super) fn note_request(
        &mut self,
        index: usize,
        process: usize,
        request: &Request,
        now: u64,
    ) {
        let idle = self.tunables.slice_idle;
        let queue = &self.common.queues[index];
        if queue.sync {
            let person = &mut self.common.processes[process];
            person
                .think
                .add((now - person.last_completion).min(2 * idle));
            let tree = &mut self.trees[queue.tree];
            let elapsed = (now as i64 - tree.last_completion).max(0) as u64;
            tree.think.add(elapsed.min(2 * idle));
        }
        let queue = &mut self.common.queues[index];
        let seek = if self.common.rotational {
            queue.last_end != Lba(0) && queue.last_end.distance(request.start) > SEEK_SECTORS
        } else {
            request.sectors.0 < SMALL_SECTORS
        };
        queue.seek_history.push(seek);
        self.update_idle_window(index, process);
        self.common.queues[index].last_end = request.end();
    }

    fn update_idle_window(&mut self, index: usize, process: usize) {
        let next_no_idle = self.common.queues[index]
            .waiting
            .next
            .is_some_and(|id| self.common.requests.slot(id).no_idle);
        let (person, queue) = (
            &self.common.processes[process],
            &mut self.common.queues[index],
        );
        if !queue.sync || queue.class == Class::Idle {
            return;
        }
        if queue.waiting.len() >= 4 {
            queue.deep = true;
        }
        let given_up =
            person.exited || self.tunables.slice_idle == 0 || (!queue.deep && queue.seeks());
        if next_no_idle || given_up {
            queue.idle_window = false;
        } else if is_valid(&person.think) {
            queue.idle_window = person.think.mean <= self.tunables.slice_idle;
        }
    }

    /// The active queue's request is done: its slice begins, ends, is prolonged, or the device waits.
    pub(super) fn completed_in_slice(&mut self, index: usize, sync: bool, now: u64) {
        if self.common.queues[index].fresh {
            let slice = self.slice(index);
            let queue = &mut self.common.queues[index];
            queue.slice_began = Some(now);
            queue.slice_ends = now + slice;
            queue.fresh = false;
        }
        if self.should_wait_busy(index, now) {
            let Tunables {
                slice_idle,
                group_idle,
                ..
            } = self.tunables;
            let queue = &mut self.common.queues[index];
            queue.slice_ends = now
                + if slice_idle > 0 {
                    slice_idle
                } else {
                    group_idle
                };
            queue.wait_busy = true;
        }
        let queue = &self.common.queues[index];
        if queue.slice_used(now) || queue.class == Class::Idle {
            self.expire(now, true);
        } else if sync && queue.waiting.is_empty() && self.cooperator(index).is_none() {
            self.begin_idling(index, now);
        }
    }

    /// The only busy queue, empty, at the end of its slice: rather wait for it than end the slice.
    fn should_wait_busy(&self, index: usize, now: u64) -> bool {
        let queue = &self.common.queues[index];
        if !queue.waiting.is_empty() || self.common.busy > 1 {
            return false;
        }
        if queue.slice_used(now) {
            return true;
        }
        let left = queue.slice_ends - now;
        let thinks_longer = self.common.active_process.is_some_and(|process| {
            let think = &self.common.processes[process].think;
            is_valid(think) && left < think.mean
        });
        thinks_longer || left <= self.clock.ticks(1)
    }

    fn begin_idling(&mut self, index: usize, now: u64) {
        let Tunables {
            slice_idle,
            group_idle,
            ..
        } = self.tunables;
        if !self.common.rotational && self.device_queues() && group_idle == 0 {
            return;
        }
        let for_group = !self.should_idle(index);
        let queue = &self.common.queues[index];
        if (for_group && (group_idle == 0 || self.common.busy > 1)) || queue.in_flight > 0 {
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
        if is_valid(&person.think) && queue.slice_ends.saturating_sub(now) < person.think.mean {
            return;
        }
        let think = &self.trees[queue.tree].think;
        if for_group && is_valid(think) && think.mean > group_idle {
            return;
        }
        self.common.queues[index].awaited = true;
        self.common.idle_timer = Some(now + if for_group { group_idle } else { slice_idle });
    }

    /// The idle time is over. True: run the queue.
    pub(super) fn idled(&mut self, now: u64) -> bool {
        if let Some(index) = self.common.active {
            let queue = &mut self.common.queues[index];
            if queue.must_dispatch {
                return self.common.busy > 0;
            }
            if !queue.slice_used(now) {
                if self.common.busy == 0 {
                    return false;
                }
                if !queue.waiting.is_empty() {
                    return true;
                }
                queue.deep = false;
            }
            self.expire(now, false);
        }
        self.common.busy > 0
    }

    fn preempts(&self, index: usize, request: &Request, now: u64) -> bool {
        let Some(active) = self.common.active else {
            return false;
        };
        let (running, new) = (&self.common.queues[active], &self.common.queues[index]);
        if new.class == Class::Idle {
            return false;
        }
        if running.class == Class::Idle {
            return true;
        }
        if running.class == Class::RealTime && new.class != Class::RealTime {
            return false;
        }
        if request.sync && !running.sync && !running.must_dispatch {
            return true;
        }
        if running.slice_used(now)
            || (new.class == Class::RealTime && running.class != Class::RealTime)
        {
            return true;
        }
        let empty = running.waiting.is_empty();
        if self.serving.kind == KIND_SYNC_NO_IDLE && kind_of(new) == KIND_SYNC_NO_IDLE && empty {
            return true;
        }
        if request.metadata && running.waiting.metadata == 0 {
            return true;
        }
        if empty && !self.should_idle(active) {
            return true;
        }
        self.common.active_process.is_some()
            && running.awaited
            && self.common.requests.distance(request.start) <= CLOSE_SECTORS
    }

    /// A request came: end the wait for it, or let it push the active queue aside.
    pub(super) fn react(&mut self, index: usize, request: &Request, now: u64) {
        if self.common.active == Some(index) {
            let queue = &mut self.common.queues[index];
            if !queue.awaited {
                return;
            }
            // A longer request ends the wait at once: more than a page need not wait for merges.
            if request.sectors.0 > PAGE_SECTORS || self.common.busy > 1 {
                queue.awaited = false;
                self.common.idle_timer = None;
                self.common.queue_kick = true;
            } else {
                queue.must_dispatch = true;
            }
        } else if self.preempts(index, request, now) {
            let kind = self
                .common
                .active
                .map(|active| kind_of(&self.common.queues[active]));
            self.expire(now, true);
            if kind != Some(kind_of(&self.common.queues[index])) {
                self.saved = None;
            }
            self.take_turn(index, now, true);
            let queue = &mut self.common.queues[index];
            queue.slice_ends = 0;
            queue.fresh = true;
            self.common.queue_kick = true;
        }
    }

    /// Does the device queue? Found out by its peak depth over 50 completions under load; once yes, for good.
    pub(super) fn update_depth(&mut self) {
        self.common.depth_peak = self.common.depth_peak.max(self.in_driver);
        if self.queueing_device == Some(true) || (self.queued() <= 5 && self.in_driver <= 5) {
            return;
        }
        if let Some(queue) = self.common.active.map(|index| &self.common.queues[index]) {
            let depth = queue.in_flight as usize + queue.waiting.len();
            if queue.idle_window && depth < 5 && self.in_driver < 5 {
                return;
            }
        }
        self.common.depth_samples += 1;
        if self.common.depth_samples > 50 {
            self.queueing_device = Some(self.common.depth_peak >= 5);
        }
    }
}
