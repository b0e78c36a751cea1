//! bfq: a queue per process, served by weight in budgets of sectors; the drive is kept idle for a process where that pays.
//!
//!   request ─► queue of its process ─► B-WF2Q+ ([`service`]) ─► queue in service ─► nearest request ahead
//!                │                                                 │ budget, time-out ([`select`])
//!                │ raised if it just started ([`raising`],         │ empty: wait ([`idling`]) or inject ([`injection`])
//!                │ [`burst`]); merged if close ([`merging`])       ▼
//!                └──────────────────────────────────────────── next queue
//!
//! Modelled:      weights from I/O priorities, classes, budgets and their feedback, time charging, peak rate ([`rate`]), idling,
//!                injection and wakers, weight raising, bursts, close and stable merges, splits, tag limits by kind of request;
//!                kernels 5.10, 6.1 and 6.12 where they differ ([`parameters::BfqGeneration`]).
//! Not modelled:  groups (cgroups), several actuators, requests inserted at the
//!                head; the queue merge that a bio causes before it becomes a request is found at insertion.
//! Source:        behaviour of Linux 5.10 to 6.12 block/bfq-iosched.c and block/bfq-wf2q.c.

mod burst;
mod idling;
mod injection;
mod merging;
mod parameters;
mod queue;
mod rate;
mod select;
mod service;
mod tags;
mod tree;
mod waiting;
mod weight_raising;

#[cfg(test)]
mod tests;

use crate::about::{About, Chart, MergeRule, Module};
use crate::fifo::Links;
use crate::kernel::Kernel;
use crate::parameter::{since, Setup};
use crate::processes::Processes;
use crate::request::{ProcessId, Request, RequestId};
use crate::scheduler::Scheduler;
use crate::tag_words::{Asking, TagWords};
use burst::Burst;
pub use parameters::PARAMETERS;
use parameters::{BfqGeneration, Settings, BUDGET_MAX_DEFAULT};
use queue::{Process, Queue, Reason};
use rate::PeakRate;
use seekwise_units::{Lba, Nanos, Sectors};
use service::{Service, CLASSES};
use tree::QueueTree;
use waiting::Slot;

/// Row of the registry.
pub const ABOUT: About = About {
    name: "bfq",
    kernels: since(4, 12, 0),
    parameters: PARAMETERS,
    summary: "a queue per process, budgets by weight, waits for the process just served where it pays, prefers what just started",
    // Linux Documentation/block/bfq-iosched.rst (6.1), Intel i7-2760QM.
    cost_ns: 1900,
    merge_rule: MergeRule::Hash,
    module: Some(Module::Loaded("bfq")),
    // Linux v6.12 block/bfq-iosched.c; times as sysfs shows them at HZ=250 and HZ=1000.
    reset_to: &[("back_seek_max", &["16384"]), ("back_seek_penalty", &["2"]), ("fifo_expire_async", &["250"]), ("fifo_expire_sync", &["125", "124"]), ("low_latency", &["1"]), ("max_budget", &["0"]), ("slice_idle", &["8"]), ("slice_idle_us", &["8000"]), ("strict_guarantees", &["0"]), ("timeout_sync", &["124", "125"])],
    chart: Chart { colour: "#D55E00", dash: &[2, 2], marker: "triangle-up" },
    // Some near-ties of bfq fall either way in the kernel itself.
    required_per_mille: 950,
    // Linux v6.12 Documentation/block/bfq-iosched.rst.
    trials: &[("low_latency", &[0, 1]), ("slice_idle", &[0, 8])],
    // Budgets of up to 125 ms, weights raised for processes that look interactive (block/bfq-iosched.c).
    settles_at_once: false,
};

/// A jump of more sectors than this is a seek. Linux 5.10 to 6.12: BFQQ_SEEK_THR.
const SEEK_SECTORS: u64 = 8 * 100;
/// A request for a queue that is waited for and below this size may be joined by others. Linux 5.10 to 6.12: bfq_rq_enqueued.
const SMALL_SECTORS: u64 = 32;
/// Requests with the drive above which it is taken to queue, and samples to tell. Linux 5.10 to 6.12: BFQ_HW_QUEUE_*.
const QUEUEING_MORE_THAN: u32 = 3;
const QUEUEING_SAMPLES: u32 = 32;

#[derive(Clone, Debug)]
pub struct Bfq {
    kernel: Kernel,
    generation: BfqGeneration,
    settings: Settings,
    /// Of the call at hand.
    now: Nanos,
    tick: i64,
    service: Service,
    queues: Vec<Queue>,
    free_queues: Vec<u32>,
    processes: Processes<Process>,
    /// By class and level.
    asynchronous: [Option<u32>; CLASSES * 8],
    slots: Vec<Slot>,
    links: Links,
    waiting: usize,
    in_service: Option<u32>,
    /// Busy queues by class, and raised ones.
    busy: [u32; CLASSES],
    raised_busy: u32,
    max_budget: i64,
    /// Decaying count of slots.
    slots_served: u32,
    /// When the slot of the queue in service began.
    slot_since: Nanos,
    rate: PeakRate,
    in_driver: u32,
    in_driver_max: u32,
    /// Does the drive queue? `None` until known.
    queueing: Option<bool>,
    queueing_samples: u32,
    last_position: Lba,
    last_position_in_service: Lba,
    idle_timer: Option<Nanos>,
    idling_since: Nanos,
    idling_since_tick: i64,
    /// Injection: was something injected, is the next dispatch to be measured, since when, which request is.
    injected: bool,
    measure_next: bool,
    measured_since: Nanos,
    waited: Option<RequestId>,
    last_completed: Option<u32>,
    last_created: Option<u32>,
    /// Next requests of queues that may be merged, by sector.
    positions: QueueTree,
    burst: Burst,
    queue_kick: bool,
}

impl Bfq {
    pub fn new(setup: &Setup) -> Self {
        let settings = Settings::new(setup);
        let kernel = setup.kernel;
        let rate = PeakRate::new(settings.rotational, |millis| {
            kernel.ticks_from_millis(millis)
        });
        let mut bfq = Self {
            kernel,
            generation: BfqGeneration::of(&kernel),
            now: Nanos::ZERO,
            tick: 0,
            service: Service::new(settings.hz),
            queues: Vec::new(),
            free_queues: Vec::new(),
            processes: Processes::default(),
            asynchronous: [None; CLASSES * 8],
            slots: Vec::new(),
            links: Links::default(),
            waiting: 0,
            in_service: None,
            busy: [0; CLASSES],
            raised_busy: 0,
            max_budget: settings.max_budget.unwrap_or(BUDGET_MAX_DEFAULT),
            slots_served: 0,
            slot_since: Nanos::ZERO,
            rate,
            in_driver: 0,
            in_driver_max: 0,
            queueing: None,
            queueing_samples: 0,
            last_position: Lba(0),
            last_position_in_service: Lba(0),
            idle_timer: None,
            idling_since: Nanos::ZERO,
            idling_since_tick: 0,
            injected: false,
            measure_next: false,
            measured_since: Nanos::ZERO,
            waited: None,
            last_completed: None,
            last_created: None,
            positions: QueueTree::default(),
            burst: Burst::default(),
            queue_kick: false,
            settings,
        };
        if bfq.settings.max_budget.is_none()
            && bfq.settings.timeout_ticks != parameters::timeout_ticks(&kernel)
        {
            // Writing the time-out sets the largest budget anew.
            bfq.max_budget = bfq.max_budget_at_rate();
        }
        bfq
    }

    #[inline]
    fn enter(&mut self, now: Nanos) {
        if now == self.now {
            return;
        }
        self.now = now;
        self.tick = self.kernel.jiffies(now) as i64;
        self.service.tick = self.tick;
    }

    #[inline]
    fn busy_queues(&self) -> u32 {
        self.busy[0] + self.busy[1] + self.busy[2]
    }

    fn kick_queue(&mut self) {
        self.queue_kick |= self.waiting > 0;
    }

    /// The queue that a request of `process` goes to, if nothing is due but to count it: it is the process's own, known for long, and no other
    /// one to merge it with is near.
    #[inline]
    fn settled_queue(&mut self, request: &Request, process: u32) -> Option<u32> {
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
    fn route(&mut self, request: &Request, process: u32) -> u32 {
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
        self.bury_if_gone(index);
        target
    }

    /// A request comes: it is known from now on, and which queue and process are its own.
    #[inline(always)]
    fn admit(&mut self, now: Nanos, request: &Request) -> (u32, Slot) {
        self.enter(now);
        let priority = request.priority;
        let process = self.processes.index_or_insert(request.process, || Process {
            priority,
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
    fn learn(&mut self, index: u32, slot: &Slot) {
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
    fn sample_seek(&mut self, index: u32, slot: &Slot) {
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
    fn add(&mut self, index: u32, id: RequestId, slot: &Slot) {
        let changed = self.line_up(index, id, slot);
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
    fn line_up(&mut self, index: u32, id: RequestId, slot: &Slot) -> bool {
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
    fn wake(&mut self, index: u32, process: u32, charge: i64) {
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
    fn stop_waiting_for(&mut self, index: u32, sectors: u64) {
        if self.in_service != Some(index) {
            return;
        }
        let queue = &self.queues[index as usize];
        if !queue.awaited {
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
    fn remove(&mut self, id: RequestId) {
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
    fn release(&mut self, id: RequestId) {
        let Slot { process, queue, .. } = *self.slot(id);
        self.processes[process as usize].requests -= 1;
        self.queues[queue as usize].allocated -= 1;
        self.bury_if_gone(queue);
    }

    /// Does the drive take many requests at once?
    fn watch_queueing(&mut self) {
        self.in_driver_max = self.in_driver_max.max(self.in_driver);
        if self.queueing == Some(true)
            || self.in_driver as usize + self.waiting <= QUEUEING_MORE_THAN as usize
        {
            return;
        }
        if let Some(index) = self.in_service {
            let queue = &self.queues[index as usize];
            let own = queue.in_flight as usize + queue.waiting.sorted.len();
            if queue.habit.short_think
                && own < QUEUEING_MORE_THAN as usize
                && self.in_driver < QUEUEING_MORE_THAN
            {
                return;
            }
        }
        self.queueing_samples += 1;
        if self.queueing_samples <= QUEUEING_SAMPLES {
            return;
        }
        self.queueing = Some(self.in_driver_max > QUEUEING_MORE_THAN);
        self.in_driver_max = 0;
        self.queueing_samples = 0;
    }

    fn completed(&mut self, index: u32) {
        self.watch_queueing();
        self.in_driver -= 1;
        let now = self.now;
        if self.rate.completed(now) {
            self.rate_changed();
        }
        let queue = &mut self.queues[index as usize];
        queue.in_flight -= 1;
        queue.habit.last_completion = now;
        let shared = queue.shared && self.generation.since_5_12;
        self.last_completed = Some(index).filter(|_| !shared);
        if queue.in_flight == 0 {
            if !queue.busy {
                queue.timeout = self.tick;
                self.service.untally(index);
            }
            if queue.check_soft
                && queue.is_empty()
                && self.service.get(index).coefficient != weight_raising::RAISED
            {
                let next = self.soft_next(&self.queues[index as usize]);
                self.queues[index as usize].soft_next = next;
            }
        }
        if self.in_service == Some(index) {
            if self.must_idle(index) {
                if self.queues[index as usize].in_flight == 0 {
                    self.start_idling(index);
                }
                return;
            }
            let queue = &self.queues[index as usize];
            if self.timeout_counts(index) {
                self.expire(index, false, Reason::Timeout);
            } else if queue.is_empty() && (queue.in_flight == 0 || !self.better_to_idle(index)) {
                self.expire(index, false, Reason::NoMoreRequests);
            }
        }
        if self.in_driver == 0 {
            self.kick_queue();
        }
    }

    fn queue_of(&self, request: &Request) -> Option<u32> {
        let process = self.processes.index(request.process)?;
        let state = &self.processes[process];
        if request.sync {
            state.sync
        } else {
            state.asynchronous
        }
    }
}

impl Scheduler for Bfq {
    fn insert(&mut self, now: Nanos, request: &Request) {
        let (index, slot) = self.admit(now, request);
        self.learn(index, &slot);
        self.add(index, request.id, &slot);
        self.stop_waiting_for(index, slot.sectors);
    }

    fn insert_and_dispatch(&mut self, now: Nanos, request: &Request) -> bool {
        let (index, slot) = self.admit(now, request);
        self.learn(index, &slot);
        if request.sync && !self.queues[index as usize].busy {
            if self.pass(index, request.id, &slot) {
                return true;
            }
        } else {
            self.add(index, request.id, &slot);
            self.stop_waiting_for(index, slot.sectors);
        }
        self.dispatch(now).is_some()
    }

    fn dispatch(&mut self, now: Nanos) -> Option<RequestId> {
        if !self.has_work() || (self.settings.strict_guarantees && self.in_driver > 0) {
            return None;
        }
        self.enter(now);
        let index = self.select()?;
        self.hand_out(index)
    }

    fn dispatch_forced(&mut self, now: Nanos, id: RequestId) {
        self.enter(now);
        let wanted = self.slot(id).queue;
        // The queue in service goes on with its slot, whether or not it would have got another request.
        if self.in_service != Some(wanted) && self.select() != Some(wanted) {
            self.injected = false;
            let waits = self
                .in_service
                .is_some_and(|index| self.queues[index as usize].is_empty());
            if waits {
                self.injected = true;
            } else {
                if let Some(serving) = self.in_service {
                    self.expire(serving, false, Reason::Preempted);
                }
                self.serve_forced(wanted);
            }
        }
        self.queues[wanted as usize].waiting.next = Some(id);
        self.hand_out(wanted);
    }

    fn complete(&mut self, now: Nanos, request: &Request) {
        self.enter(now);
        let index = self.slot(request.id).queue;
        if self.waited == Some(request.id) {
            self.learn_tolerance(index);
        }
        self.completed(index);
        self.release(request.id);
    }

    fn waiting(&self) -> usize {
        self.waiting
    }

    /// Before 5.19 a queue that is busy without requests counts too: blk-mq asks, and bfq expires that queue unless waiting for it pays.
    #[inline]
    fn has_work(&self) -> bool {
        self.waiting > 0 || (!self.generation.since_5_19 && self.busy_queues() > 0)
    }

    fn timer(&self) -> Option<Nanos> {
        self.idle_timer
    }

    fn fire(&mut self, now: Nanos) -> bool {
        self.enter(now);
        self.idle_timer = None;
        if let Some(index) = self.in_service {
            let queue = &mut self.queues[index as usize];
            queue.awaited = false;
            let (out_of_time, empty) = (queue.timeout <= self.tick, queue.is_empty());
            if out_of_time {
                self.expire(index, true, Reason::Timeout);
            } else if empty {
                self.expire(index, true, Reason::TooIdle);
            }
        }
        self.waiting > 0
    }

    fn may_merge(&self, request: &Request, bio: &Request) -> bool {
        let sync_kept = request.sync || !bio.sync;
        sync_kept && self.queue_of(bio) == Some(self.slot(request.id).queue)
    }

    fn neighbour_after(&self, id: RequestId) -> Option<RequestId> {
        let slot = self.slot(id);
        self.queues[slot.queue as usize]
            .waiting
            .sorted
            .after(slot.start, id)
    }

    fn neighbour_before(&self, id: RequestId) -> Option<RequestId> {
        let slot = self.slot(id);
        self.queues[slot.queue as usize]
            .waiting
            .sorted
            .before(slot.start, id)
    }

    fn front_merge_candidate(&self, bio: &Request) -> Option<RequestId> {
        let index = self.queue_of(bio)?;
        self.queues[index as usize]
            .waiting
            .sorted
            .starting_at(bio.end())
    }

    fn grown(&mut self, now: Nanos, id: RequestId, start: Lba, sectors: Sectors) {
        self.enter(now);
        let slot = *self.slot(id);
        let index = slot.queue;
        let changed = &mut self.slots[id.0 as usize];
        (changed.start, changed.sectors) = (start, sectors.0);
        if start == slot.start {
            return;
        }
        let sorted = &mut self.queues[index as usize].waiting.sorted;
        let before = sorted.before(slot.start, id);
        sorted.remove(slot.start, id);
        sorted.insert(start, id);
        let passed = before.is_some_and(|before| start < self.slot(before).start);
        if passed && self.offer(index, id) {
            self.next_changed(index);
            self.move_position(index);
        }
    }

    fn joined(&mut self, now: Nanos, kept: RequestId, gone: RequestId) {
        self.enter(now);
        let (older, index) = (*self.slot(gone), self.slot(gone).queue);
        if self.slot(kept).queue == index {
            if older.deadline < self.slot(kept).deadline {
                self.slots[kept.0 as usize].deadline = older.deadline;
                let fifo = &mut self.queues[index as usize].waiting.fifo;
                // The earlier place is taken, the later one is left to the request that goes.
                fifo.remove(&mut self.links, kept);
                fifo.insert_after(&mut self.links, gone, kept);
            }
            let next = &mut self.queues[index as usize].waiting.next;
            if *next == Some(gone) {
                *next = Some(kept);
            }
        }
        self.remove(gone);
        self.release(gone);
    }

    fn tag_depth(&self, asking: Asking, words: TagWords) -> Option<u32> {
        self.depth(asking, words)
    }

    fn tag_depth_min(&self, words: TagWords) -> Option<u32> {
        Some(self.depth_min(words.all()))
    }

    fn take_queue_kick(&mut self) -> bool {
        core::mem::take(&mut self.queue_kick)
    }

    fn describe(&self, now: Nanos, out: &mut String) {
        *out += &format!(
            "budget at most {} sectors, drive {} sectors a second, queueing {:?}, {} with it; last position {}\n",
            self.max_budget_believed(),
            (self.rate.rate * 1_000_000) >> 16,
            self.queueing,
            self.in_driver,
            self.last_position.0,
        );
        for (index, queue) in self
            .queues
            .iter()
            .enumerate()
            .filter(|(_, queue)| queue.alive)
        {
            let index = index as u32;
            *out += &format!(
                "queue {index} of {} processes{}{}: {} waiting, {} in flight, {}\n",
                queue.processes,
                if queue.sync { "" } else { " (asynchronous)" },
                if self.in_service == Some(index) {
                    ", in service"
                } else {
                    ""
                },
                queue.waiting.sorted.len(),
                queue.in_flight,
                self.service.describe(index),
            );
            *out += &format!(
                "  raised {} for {} of {} ticks, {}, think time {} us (weight {}), I/O-bound {}, seeks {:032b}, inject {} base {} us\n",
                self.service.get(index).coefficient,
                self.kernel.jiffies(now) as i64 - queue.raise.since,
                queue.raise.span,
                if queue.habit.short_think { "short" } else { "long" },
                queue.habit.think_mean() / 1_000,
                queue.habit.think_weight,
                queue.habit.io_bound,
                queue.seeks.history(),
                queue.tolerance.limit,
                queue.tolerance.base.0 / 1_000,
            );
            *out += &format!(
                "  budget {}, slot ends in {} ticks{}{}{}{}\n",
                queue.budget_max,
                queue
                    .timeout
                    .saturating_sub(self.kernel.jiffies(now) as i64),
                if queue.awaited { ", waited for" } else { "" },
                if queue.busy { ", busy" } else { "" },
                if queue.in_large_burst {
                    ", large burst"
                } else {
                    ""
                },
                if queue.shared { ", shared" } else { "" },
            );
        }
    }

    fn process_exits(&mut self, now: Nanos, process: ProcessId) {
        self.enter(now);
        if let Some(index) = self.processes.index(process) {
            self.exit(index as u32);
        }
    }
}
