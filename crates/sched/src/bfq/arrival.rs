//! A request arrives: which queue it goes to, what its arrival says of the process, and whether it preempts the queue in service.
//!
//! Source: behaviour of Linux 5.10 to 6.12 block/bfq-iosched.c (bfq_init_rq, bfq_add_request, bfq_bfqq_handle_idle_busy_switch,
//! bfq_rq_enqueued, bfq_remove_request).

use super::queue::{Process, Reason};
use super::waiting::Slot;
use super::Bfq;
use crate::request::{ProcessId, Request, RequestId};
use seekwise_units::Nanos;

/// A request for a queue that is waited for and below this size may be joined by others. Linux 5.10 to 6.12: bfq_rq_enqueued.
const SMALL_SECTORS: u64 = 32;

impl Bfq {
    /// The queue that a request of `process` goes to, if nothing is due but to count it: it is the process's own, known for long, and no other
    /// one to merge it with is near.
    #[inline]
    pub(super) fn settled_queue(&mut self, request: &Request, process: u32) -> Option<u32> {
        let state = &self.processes[process as usize];
        if !request.sync || state.priority != request.priority || state.plan.is_some() {
            return None;
        }
        let index = state.sync?;
        let queue = &self.queues[index as usize];
        if queue.owner != Some(process)
            || queue.shared
            || queue.just_created
            || queue.merges_into.is_some()
            || !self.is_far_from_partners(queue, index, request.start)
        {
            return None;
        }
        self.processes[process as usize].requests += 1;
        self.queues[index as usize].allocated += 1;
        Some(index)
    }

    /// The queue that a request of `process` goes to; merges and splits that were due happen.
    #[inline(never)]
    pub(super) fn route(&mut self, request: &Request, process: u32) -> u32 {
        if self.processes[process as usize].priority != request.priority {
            self.change_priority(process, request.priority);
        }
        let state = &mut self.processes[process as usize];
        state.requests += 1;
        let known = if request.sync {
            state.sync
        } else {
            state.asynchronous
        };
        let mut split = false;
        let index = match known {
            None => self.queue_for(process, request.sync, false),
            Some(index) => {
                let queue = &self.queues[index as usize];
                split = queue.shared && queue.must_split && !state.stably_merged;
                if split {
                    self.split(process, index)
                } else {
                    index
                }
            }
        };
        let queue = &mut self.queues[index as usize];
        queue.allocated += 1;
        let just_created = queue.just_created;
        if queue.processes == 1 && queue.merges_into.is_none() {
            queue.owner = Some(process);
            if split {
                self.resume(index, process);
            }
        }
        if just_created {
            self.watch_burst(index);
        }
        let Some(target) = self.partner(index, process, request.start) else {
            return index;
        };
        self.queues[target as usize].allocated += 1;
        self.queues[index as usize].allocated -= 1;
        if self.processes[process as usize].sync == Some(index) {
            let mut at = index;
            while at != target {
                let next = self.merge(process, at);
                if next == at {
                    break;
                }
                at = next;
            }
        }
        self.queues[index as usize].just_created = false;
        self.free_if_unused(index);
        target
    }

    /// A request comes: it is known from now on, and which queue and process are its own.
    #[inline(always)]
    pub(super) fn admit(&mut self, now: Nanos, request: &Request) -> (u32, Slot) {
        self.enter(now);
        let priority = request.priority;
        let process = self.processes.index_or_insert(request.process, || Process {
            priority,
            grouped: self.settings.cgroup && request.process.0 < ProcessId::KERNEL,
            ..Process::default()
        }) as u32;
        let index = match self.settled_queue(request, process) {
            Some(index) => index,
            None => self.route(request, process),
        };
        let id = request.id;
        if self.slots.len() <= id.0 as usize {
            self.slots.resize(id.0 as usize + 1, Slot::default());
        }
        let expire = if request.sync {
            self.settings.fifo_expire_sync
        } else {
            self.settings.fifo_expire_async
        };
        let slot = Slot {
            start: request.start,
            sectors: request.sectors.0,
            queue: index,
            process,
            deadline: Nanos(now.0.saturating_add(expire.0)),
            metadata: request.metadata,
        };
        self.slots[id.0 as usize] = slot;
        (index, slot)
    }

    /// What an arrival tells of its process.
    #[inline(always)]
    pub(super) fn learn(&mut self, index: u32, slot: &Slot) {
        self.watch_think_time(index);
        self.sample_seek(index, slot);
        let queue = &mut self.queues[index as usize];
        if !queue.sync {
            return;
        }
        let first = if self.generation.since_5_19 {
            self.processes[slot.process as usize].requests <= 1
        } else {
            queue.is_empty()
        };
        if self.generation.since_5_12 {
            queue.watch_busy_time(self.now);
        }
        if first {
            self.watch_first_request(index);
        }
    }

    #[inline]
    pub(super) fn sample_seek(&mut self, index: u32, slot: &Slot) {
        let queue = &mut self.queues[index as usize];
        let seeky = slot.is_seek(queue.last_end, self.settings.rotational);
        queue.last_end = slot.end();
        queue.seeks.push(seeky);
        let soft = queue.raise.span == self.settings.raise_soft_ticks;
        if soft && queue.is_totally_seeky() && self.is_raised(index) {
            // Before 5.12 even if an interactive period was not over.
            if self.generation.since_5_12 {
                self.end_soft(index);
            } else {
                self.end_raising(index);
            }
        }
    }

    /// The request enters its queue.
    pub(super) fn add(&mut self, index: u32, id: RequestId, slot: &Slot) {
        let changed = self.enqueue_request(index, id, slot);
        if changed {
            self.move_position(index);
        }
        if !self.queues[index as usize].busy {
            let charge = self.charge_of_next(index).unwrap_or(0);
            return self.wake(index, slot.process, charge);
        }
        let raised = self.is_raised(index);
        if self.settings.low_latency && !raised {
            self.raise_asynchronous(index);
        }
        if changed {
            self.next_changed(index);
        }
        self.note_arrival(index, raised, false);
    }

    /// The request stands in its queue. True if it is the next one.
    pub(super) fn enqueue_request(&mut self, index: u32, id: RequestId, slot: &Slot) -> bool {
        self.waiting += 1;
        let waiting = &mut self.queues[index as usize].waiting;
        waiting.sorted.insert(slot.start, id);
        waiting.fifo.push_back(&mut self.links, id);
        self.offer(index, id)
    }

    /// A queue that is not raised, or whose raising begins anew, remembers when it last got a request.
    #[inline]
    fn note_arrival(&mut self, index: u32, was_raised: bool, interactive: bool) {
        if self.settings.low_latency && (!was_raised || !self.is_raised(index) || interactive) {
            self.queues[index as usize].raise.since = self.tick;
        }
    }

    /// A queue without requests has one again, which counts `charge` against its budget.
    #[inline(always)]
    pub(super) fn wake(&mut self, index: u32, process: u32, charge: i64) {
        let tick = self.tick;
        let arrival = self.judge_arrival(index, process);
        let entity = self.service.get_mut(index);
        let was_raised = entity.coefficient > 1;
        let queue = &mut self.queues[index as usize];
        let idle_long = queue.was_idle_long(tick, self.settings.raise_idle_ticks);
        let in_time = self.now.0
            <= queue
                .habit
                .last_completion
                .0
                .saturating_add(self.settings.slice_idle.0.saturating_mul(3));
        let left = entity.budget_left();
        let resumes = queue.may_resume && in_time && left > 0;
        entity.service = 0;
        entity.budget = if resumes {
            left.min(queue.budget_max)
        } else {
            queue.budget_max.max(charge)
        };
        queue.may_resume &= resumes;
        let just_created = core::mem::take(&mut queue.just_created);
        let split_lately = queue.split_at + self.settings.raise_idle_ticks >= tick;
        (queue.busy_since, queue.busy_service) = (tick, 0);
        queue.check_soft = false;
        if !just_created && idle_long && queue.timeout + self.settings.burst_forget_ticks < tick {
            queue.in_large_burst = false;
            let owner = queue.owner.take();
            // It still counts as one of the burst.
            self.leave_burst_list(index);
            self.queues[index as usize].owner = owner;
        }
        if !self.generation.since_5_12 {
            self.count_in_time(index, in_time);
        }
        if (was_raised || arrival.deserves) && self.settings.low_latency && !split_lately {
            let before = self.service.get(index).coefficient;
            self.raise_on_arrival(index, was_raised, arrival);
            if self.service.get(index).coefficient != before {
                self.service.get_mut(index).changed = true;
            }
        }
        self.becomes_busy(index);
        if let Some(serving) = self.in_service {
            let (new, old) = (self.service.get(index), self.service.get(serving));
            let preempts = (resumes && new.coefficient >= old.coefficient)
                || new.class < old.class
                || new.weight > old.weight
                || (self.generation.since_5_12 && !self.better_to_idle(serving));
            if preempts && self.service.someone_is_next() {
                self.expire(serving, false, Reason::Preempted);
            }
        }
        self.note_arrival(index, was_raised, arrival.interactive);
    }

    /// After an arrival at the queue that is waited for: stop waiting, unless the request may still grow.
    #[inline]
    pub(super) fn stop_waiting_for(&mut self, index: u32, sectors: u64) {
        let queue = &self.queues[index as usize];
        if self.in_service != Some(index) || !queue.awaited {
            return;
        }
        let small = queue.waiting.sorted.len() == 1 && sectors < SMALL_SECTORS;
        let out_of_time = queue.timeout <= self.tick;
        if small && !out_of_time && self.idling_boosts_throughput(index) {
            return;
        }
        self.stop_idling(index);
        if out_of_time {
            self.expire(index, false, Reason::Timeout);
        }
    }

    /// A request leaves its queue: dispatched, or part of another one.
    pub(super) fn remove(&mut self, id: RequestId) {
        let slot = self.slot(id);
        let (index, start) = (slot.queue, slot.start);
        let waiting = &self.queues[index as usize].waiting;
        if waiting.sorted.len() > 1 && waiting.next == Some(id) {
            let next = self.follower(index, id);
            self.queues[index as usize].waiting.next = next;
            self.next_changed(index);
        }
        self.waiting -= 1;
        let queue = &mut self.queues[index as usize];
        queue.waiting.fifo.remove(&mut self.links, id);
        queue.waiting.sorted.remove(start, id);
        if !queue.waiting.sorted.is_empty() {
            self.move_position(index);
            return;
        }
        if queue.waiting.next.take() == Some(id) {
            queue.fifo_checked = true;
        }
        if queue.busy && self.in_service != Some(index) {
            self.no_longer_busy(index, false);
            let entity = self.service.get_mut(index);
            (entity.budget, entity.service) = (0, 0);
        }
        self.leave_positions(index);
    }

    /// A request is over: done, or part of another one.
    #[inline]
    pub(super) fn release(&mut self, id: RequestId) {
        let Slot { process, queue, .. } = *self.slot(id);
        self.processes[process as usize].requests -= 1;
        self.queues[queue as usize].allocated -= 1;
        self.free_if_unused(queue);
    }
}
