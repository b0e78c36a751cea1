//! bfq: a queue per process, served by weight in budgets of sectors; the drive is kept idle for a process where that pays.
//!
//!   request ─► queue of its process ─► B-WF2Q+ ([`service`]) ─► queue in service ─► nearest request ahead
//!                │                                                 │ budget, time-out ([`select`])
//!                │ raised if it just started ([`raising`],         │ empty: wait ([`idling`]) or inject ([`injection`])
//!                │ [`burst`]); merged if close ([`merging`])       ▼
//!                └──────────────────────────────────────────── next queue
//!
//! A request's way in is [`arrival`], queues stand in the kernel's trees ([`tree`]).
//!
//! Modelled:      weights from I/O priorities, classes, budgets and their feedback, time charging, peak rate ([`rate`]), idling,
//!                injection and wakers, weight raising, bursts, close and stable merges, splits, tag limits by kind of request;
//!                kernels 5.10, 6.1 and 6.12 where they differ ([`parameters::BfqGeneration`]); one group of programs next to the root's
//!                threads, as far as it decides who is waited for.
//! Not modelled:  weights and trees of groups, several actuators, requests inserted at the
//!                head; the queue merge that a bio causes before it becomes a request is found at insertion.
//! Source:        behaviour of Linux 5.10 to 6.12 block/bfq-iosched.c and block/bfq-wf2q.c.

mod arrival;
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
    /// Queues of the root and of the group that have requests, waiting or in flight.
    pending: [u32; 2],
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
    /// An empty scheduler that knows nothing of its drive's speed yet.
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
            pending: [0; 2],
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
                self.pending[usize::from(queue.grouped)] -= 1;
                self.service.untally(index);
            }
            if queue.check_soft
                && queue.is_empty()
                && self.service.get(index).coefficient != weight_raising::RAISED
            {
                self.renew_soft_next(index);
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
        self.dispatch_from(index)
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
        self.dispatch_from(wanted);
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
