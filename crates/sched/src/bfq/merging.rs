//! Merging queues: processes that read close to each other, or that were started together, share one queue.
//!
//!   close    within 4 MiB of the queue in service or of another queue's next request, neither seeky nor older than 100 ms
//!            since its first request: merged until the shared queue turns seeky
//!   stable   (5.13 on) created within 180 ms of each other with equal priority: merged for good, at once on flash that
//!            queues, otherwise after 600 ms if waiting for the queue does not pay
//!
//! A merge is planned first; it happens with the next request of each process. Only flash that queues goes without close merges.
//! Source: behaviour of Linux 5.10 to 6.12 block/bfq-iosched.c.

use super::queue::{Queue, Saved};
use super::service::CLASS_IDLE;
use super::weight_raising::RAISED;
use super::Bfq;
use seekwise_units::Lba;

/// Linux 5.10 to 6.12: BFQQ_CLOSE_THR.
const CLOSE_SECTORS: u64 = 8 * 1024;

impl Bfq {
    /// Queues of flash that queues are not merged for closeness.
    pub(super) fn flash_that_queues(&self) -> bool {
        !self.settings.rotational && self.queueing != Some(false)
    }

    fn is_too_old_to_merge(&self, index: u32) -> bool {
        self.is_too_old(&self.queues[index as usize])
    }

    #[inline]
    fn is_too_old(&self, queue: &Queue) -> bool {
        queue.busy_service > 0 && queue.first_dispatch + self.settings.merge_ticks < self.tick
    }

    /// Is there certainly no queue that a request of `index` at `start` should go to instead, if no merge is planned?
    #[inline]
    pub(super) fn is_far_from_partners(&self, queue: &Queue, index: u32, start: Lba) -> bool {
        let far_from_serving = || match self.in_service {
            Some(serving) if serving != index => {
                start.distance(self.last_position_in_service) > CLOSE_SECTORS
            }
            _ => true,
        };
        self.is_too_old(queue)
            || self.flash_that_queues()
            || (self.positions.is_empty() && far_from_serving())
    }

    pub(super) fn leave_positions(&mut self, index: u32) {
        if self.queues[index as usize].position.take().is_some() {
            self.positions.remove(index);
        }
    }

    /// The next request of a queue changed: it stands elsewhere among the possible partners.
    pub(super) fn move_position(&mut self, index: u32) {
        if self.flash_that_queues() {
            return;
        }
        // The kernel takes it out and puts it back even where it stands already; that may change the shape of the tree.
        self.leave_positions(index);
        if let Some(next) = self.queues[index as usize].waiting.next {
            if self.may_be_partner(index) {
                self.add_position(index, self.slot(next).start);
            }
        }
    }

    /// May the queue stand among the possible partners?
    #[inline]
    pub(super) fn may_be_partner(&self, index: u32) -> bool {
        !self.flash_that_queues()
            && !self.is_too_old_to_merge(index)
            && self.service.get(index).class != CLASS_IDLE
    }

    /// The queue, which stands nowhere, stands at `start` from now on. Of two at the same place the first one stays.
    pub(super) fn add_position(&mut self, index: u32, start: Lba) {
        if self.positions.find(start.0).is_none() {
            self.positions.insert(index, 0, start.0);
            self.queues[index as usize].position = Some(start.0);
        }
    }

    fn may_cooperate(&self, index: u32, other: u32) -> bool {
        let (queue, partner) = (&self.queues[index as usize], &self.queues[other as usize]);
        let class = self.service.get(index).class;
        !self.is_too_old_to_merge(other)
            && class == self.service.get(other).class
            && queue.grouped == partner.grouped
            && class != CLASS_IDLE
            && !queue.is_seeky()
            && !partner.is_seeky()
            && queue.sync
            && partner.sync
    }

    /// Plans that the processes of `index` go over to `target`, or to what that one merges into.
    fn plan_merge(&mut self, index: u32, mut target: u32) -> Option<u32> {
        if self.queues[target as usize].processes == 0 {
            return None;
        }
        while let Some(next) = self.queues[target as usize].merges_into {
            if next == index {
                return None;
            }
            target = next;
        }
        let processes = self.queues[index as usize].processes;
        if target == index || processes == 0 || self.queues[target as usize].processes == 0 {
            return None;
        }
        self.queues[index as usize].merges_into = Some(target);
        self.queues[target as usize].processes += processes;
        Some(target)
    }

    fn end_of_chain(&self, index: u32) -> Option<u32> {
        let mut target = self.queues[index as usize].merges_into?;
        while let Some(next) = self.queues[target as usize].merges_into {
            target = next;
        }
        Some(target)
    }

    /// The queue that a request of `index` at `start` should go to instead.
    pub(super) fn partner(&mut self, index: u32, process: u32, start: Lba) -> Option<u32> {
        if self.generation.since_5_13 {
            if let Some(target) = self.end_of_chain(index) {
                return Some(target);
            }
            let rest = self.settings.stable_merge_ticks;
            let queue = &self.queues[index as usize];
            if let Some(plan) = self.processes[process as usize].plan.filter(|_| {
                !self.flash_that_queues()
                    && queue.sync
                    && !queue.just_created
                    && queue.split_at + rest < self.tick
                    && queue.created + rest < self.tick
            }) {
                return self.carry_out_plan(index, process, plan);
            }
        }
        if self.flash_that_queues() || self.is_too_old_to_merge(index) {
            return None;
        }
        if !self.generation.since_5_13 {
            if let Some(target) = self.end_of_chain(index) {
                return Some(target);
            }
        }
        if self.busy_queues() == 1 {
            return None;
        }
        if let Some(serving) = self.in_service.filter(|serving| *serving != index) {
            if start.distance(self.last_position_in_service) <= CLOSE_SECTORS
                && self.may_cooperate(index, serving)
            {
                if let Some(target) = self.plan_merge(index, serving) {
                    return Some(target);
                }
            }
        }
        let close = self.positions.find_close(start.0, CLOSE_SECTORS);
        let close = close.filter(|close| *close != index)?;
        if self.may_cooperate(index, close) {
            self.plan_merge(index, close)
        } else {
            None
        }
    }

    fn carry_out_plan(&mut self, index: u32, process: u32, plan: u32) -> Option<u32> {
        self.processes[process as usize].plan = None;
        let possible = self.queues[index as usize].processes > 0
            && self.queues[plan as usize].processes > 0
            && !self.idling_boosts_throughput(index);
        let target = if possible {
            self.plan_merge(index, plan)
        } else {
            None
        };
        if let Some(target) = target {
            self.mark_stable(process, target);
        }
        self.drop_plan(plan);
        target
    }

    fn mark_stable(&mut self, process: u32, target: u32) {
        self.processes[process as usize].stably_merged = true;
        if let Some(owner) = self.queues[target as usize].owner {
            self.processes[owner as usize].stably_merged = true;
        }
    }

    pub(super) fn drop_plan(&mut self, plan: u32) {
        self.queues[plan as usize].plans -= 1;
        self.free_if_unused(plan);
    }

    /// A queue was created: merge it with the one created before it, now or later?
    pub(super) fn plan_stable_merge(&mut self, index: u32, process: u32) -> u32 {
        let tick = self.tick;
        let (entity, rest) = (*self.service.get(index), self.settings.stable_merge_ticks);
        let partner = self.last_created.filter(|last| {
            let other = self.service.get(*last);
            self.queues[*last as usize].created + rest >= tick
                && other.weight_base == entity.weight_base
                && other.class == entity.class
                && self.queues[*last as usize].grouped == self.queues[index as usize].grouped
        });
        let Some(partner) = partner else {
            self.last_created = Some(index);
            return index;
        };
        if self.queues[partner as usize].created + self.settings.burst_ticks < tick {
            return index;
        }
        if self.flash_that_queues() {
            let Some(target) = self.plan_merge(index, partner) else {
                return index;
            };
            self.mark_stable(process, target);
            self.queues[index as usize].owner = Some(process);
            self.point_to(process, index);
            return self.merge(process, index);
        }
        self.queues[partner as usize].plans += 1;
        self.processes[process as usize].plan = Some(partner);
        index
    }

    /// Makes `queue` the one for sync requests of `process`.
    pub(super) fn point_to(&mut self, process: u32, queue: u32) {
        let state = &mut self.processes[process as usize];
        let old = state.sync.replace(queue);
        let plan = state.plan.filter(|plan| *plan == queue);
        if let Some(old) = old {
            let old = &mut self.queues[old as usize];
            if old.owner == Some(process) {
                old.owner = None;
            }
        }
        if let Some(plan) = plan {
            // It would be merged with itself.
            self.processes[process as usize].plan = None;
            self.drop_plan(plan);
        }
    }

    /// What a queue was like before others joined it, for the day its processes part again.
    fn save(&mut self, index: u32) {
        let queue = &self.queues[index as usize];
        let Some(owner) = queue.owner else { return };
        let entity = self.service.get(index);
        let mut saved = Saved {
            habit: queue.habit,
            tolerance: queue.tolerance,
            weight: entity.weight_base,
            coefficient: entity.coefficient,
            raise: queue.raise,
            in_large_burst: queue.in_large_burst,
            in_burst_list: queue.in_burst_list,
        };
        if queue.just_created && !queue.in_large_burst && self.settings.low_latency {
            // Merged before it could be raised.
            saved.coefficient = RAISED;
            saved.raise.interactive_since = super::queue::LONG_AGO;
            saved.raise.span = self.raise_span();
            saved.raise.since = self.tick;
        }
        self.processes[owner as usize].saved = Some(saved);
    }

    /// Carries out the planned merge of `index` for `process`; the queue it leads to.
    pub(super) fn merge(&mut self, process: u32, index: u32) -> u32 {
        let Some(target) = self.queues[index as usize].merges_into else {
            return index;
        };
        self.save(index);
        self.save(target);
        let from = &mut self.queues[index as usize];
        let (io_bound, waker, raise) = (from.habit.io_bound, from.waker, from.raise);
        from.habit.io_bound = false;
        let (from_busy, coefficient) = (from.busy, self.service.get(index).coefficient);
        self.queues[target as usize].habit.io_bound |= io_bound;
        if let Some(waker) = waker.filter(|waker| {
            self.generation.since_5_12
                && *waker != target
                && self.queues[target as usize].waker.is_none()
        }) {
            self.queues[target as usize].waker_maybe = None;
            self.set_waker(target, waker);
        }
        if coefficient > 1 {
            if !self.is_raised(target) {
                let into = &mut self.queues[target as usize];
                into.raise = super::queue::Raise {
                    service: into.raise.service,
                    ..raise
                };
                self.raised_busy += u32::from(into.busy);
                let entity = self.service.get_mut(target);
                (entity.coefficient, entity.changed) = (coefficient, true);
            }
            let entity = self.service.get_mut(index);
            (entity.coefficient, entity.changed) = (1, true);
            self.raised_busy -= u32::from(from_busy);
        }
        self.point_to(process, target);
        self.queues[target as usize].shared = true;
        self.queues[target as usize].owner = None;
        self.queues[index as usize].owner = None;
        if self.last_created == Some(index) {
            self.last_created = Some(target);
        }
        self.release_process(index);
        target
    }

    /// A shared queue became seeky: `process` gets a queue of its own again. True if there is a state to resume.
    pub(super) fn split(&mut self, process: u32, index: u32) -> u32 {
        let queue = &self.queues[index as usize];
        let (large, waker) = (queue.in_large_burst, queue.waker);
        if let Some(saved) = self.processes[process as usize]
            .saved
            .as_mut()
            .filter(|_| large)
        {
            saved.in_large_burst = true;
        }
        let queue = &mut self.queues[index as usize];
        if queue.processes == 1 && queue.merges_into.is_none() {
            (queue.shared, queue.must_split) = (false, false);
            return index;
        }
        // Until it is released it can neither be freed nor take the place of the new one.
        self.processes[process as usize].sync = None;
        let own = self.queue_for(process, true, true);
        if let Some(saved) = self.processes[process as usize].saved {
            let burst = (saved.in_burst_list && self.burst.is_large()) || saved.in_large_burst;
            self.queues[own as usize].in_large_burst = burst;
            if !burst && saved.in_burst_list {
                self.join_burst_list(own);
            }
        }
        self.queues[own as usize].split_at = self.tick;
        self.release_planned_merges(index);
        self.release_process(index);
        if let Some(waker) = waker.filter(|waker| {
            self.generation.since_5_12 && *waker != own && self.queues[*waker as usize].alive
        }) {
            self.set_waker(own, waker);
        }
        own
    }

    /// Gives a queue that was split off the state it had before the merge.
    pub(super) fn resume(&mut self, index: u32, process: u32) {
        let Some(saved) = self.processes[process as usize].saved else {
            return;
        };
        let was_raised = self.is_raised(index);
        let queue = &mut self.queues[index as usize];
        if self.generation.since_5_12 {
            queue.habit = saved.habit;
            queue.tolerance = saved.tolerance;
            queue.raise = saved.raise;
        } else {
            queue.habit.short_think = saved.habit.short_think;
            queue.habit.io_bound = saved.habit.io_bound;
            queue.habit.think_weight = saved.habit.think_weight;
            queue.habit.think_total = saved.habit.think_total;
            queue.habit.last_completion = saved.habit.last_completion;
            let service = queue.raise.service;
            queue.raise = saved.raise;
            queue.raise.service = service;
        }
        let (busy, large) = (queue.busy, queue.in_large_burst);
        let entity = self.service.get_mut(index);
        entity.weight_wanted = saved.weight;
        entity.changed = true;
        if self.settings.low_latency {
            entity.coefficient = saved.coefficient;
        }
        // The count of raised queues follows at the end.
        let raise = self.queues[index as usize].raise;
        if self.is_raised(index) && (large || raise.since + raise.span < self.tick) {
            let interactive = raise.span == self.settings.raise_soft_ticks
                && !large
                && raise.interactive_since + self.raise_span() >= self.tick;
            if interactive {
                let span = self.raise_span();
                let raise = &mut self.queues[index as usize].raise;
                (raise.span, raise.since) = (span, raise.interactive_since);
                self.service.get_mut(index).coefficient = RAISED;
            } else {
                self.service.get_mut(index).coefficient = 1;
            }
        }
        if busy {
            match (was_raised, self.is_raised(index)) {
                (false, true) => self.raised_busy += 1,
                (true, false) => self.raised_busy -= 1,
                _ => {}
            }
        }
    }
}
