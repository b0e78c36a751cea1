//! Queues: one per process for its synchronous requests, shared ones per class and level for asynchronous writes.
//!
//! A queue lives in an array and is known by its index, which is used again after the queue has gone: when no process
//! refers to it, no request of it is left, it is on no tree and nobody plans to merge with it.

use super::parameters::WEIGHT_STEP;
use super::waiting::Waiting;
use super::Bfq;
use crate::request::{Priority, PriorityClass};
use crate::seeks::Seeks;
use seekwise_units::{Lba, Nanos};

/// Why a queue loses service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Waited for in vain.
    TooIdle,
    /// Its time is up.
    Timeout,
    /// Its budget is too small for the next request.
    Exhausted,
    /// Empty, and not worth waiting for.
    NoMoreRequests,
    /// Another queue goes first.
    Preempted,
}

/// A tick long before every run.
pub const LONG_AGO: i64 = i64::MIN / 4;

/// Weight raising of a queue.
#[derive(Clone, Copy, Debug)]
pub struct Raise {
    /// Ticks that the period may last; zero when not raised. The soft real-time span says which kind of weight-raising it is.
    pub span: i64,
    /// Tick at which the period began; of a queue that is not raised, when it last got a request or lost service.
    pub since: i64,
    /// Beginning of an interactive period that became a soft real-time one.
    pub interactive_since: i64,
    /// Sectors charged while raised.
    pub service: i64,
}

impl Raise {
    /// Not raised; the queue last got a request or lost service at `tick`.
    pub fn none(tick: i64) -> Self {
        Self {
            span: 0,
            since: tick,
            interactive_since: LONG_AGO,
            service: 0,
        }
    }
}

/// How a queue's process behaves between requests.
#[derive(Clone, Copy, Debug)]
pub struct Habit {
    pub last_completion: Nanos,
    pub think_weight: u64,
    pub think_total: u64,
    pub short_think: bool,
    pub io_bound: bool,
    /// Window in which time without any request is counted (5.12 on).
    pub watched_since: Nanos,
    /// Nanoseconds in that window. Wraps: on 6.9 and later it begins at one less than nothing.
    pub idle: u64,
    /// Requests in a row that came in time (before 5.12).
    pub in_time: u32,
}

impl Habit {
    fn new(now: Nanos) -> Self {
        Self {
            last_completion: now,
            think_weight: 0,
            think_total: 0,
            short_think: false,
            io_bound: true,
            watched_since: now,
            idle: 0,
            in_time: 0,
        }
    }

    /// Rounded mean in nanoseconds.
    pub fn think_mean(&self) -> u64 {
        self.think_total.saturating_add(128) / self.think_weight.max(1)
    }

    /// Is that mean above `limit`? Without a division: this is asked for every request.
    pub fn thinks_longer_than(&self, limit: u64) -> bool {
        let more = (limit + 1).saturating_mul(self.think_weight);
        self.think_total.saturating_add(128) >= more
    }
}

/// What injection has learnt about a queue.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// Foreign requests that may be in flight while the queue is waited for.
    pub limit: u32,
    /// From arrival to completion of a first request without injection; zero while unknown.
    pub base: Nanos,
    /// Tick of the last cut or reset.
    pub cut: i64,
}

/// What a process keeps while its queue is merged with another one.
#[derive(Clone, Copy, Debug)]
pub struct Saved {
    pub habit: Habit,
    pub tolerance: Tolerance,
    pub weight: u32,
    pub coefficient: u32,
    pub raise: Raise,
    pub in_large_burst: bool,
    pub in_burst_list: bool,
}

#[derive(Clone, Debug)]
pub struct Queue {
    pub alive: bool,
    pub sync: bool,
    /// Its process's group; one without a process to itself is that of the first.
    pub grouped: bool,
    pub busy: bool,
    /// The one process that submits to it.
    pub owner: Option<u32>,
    /// Processes that refer to it, those counted that will once a planned merge is carried out.
    pub processes: u32,
    /// Plans of stable merges that point to it.
    pub plans: u32,
    /// Requests, waiting or in flight.
    pub allocated: u32,
    pub in_flight: u32,
    pub waiting: Waiting,
    pub budget_max: i64,
    /// Tick at which its slot ends; of a queue without any request, when it had the last one.
    pub timeout: i64,
    pub created: i64,
    /// The last 32 requests, one bit each: far from the one before?
    pub seeks: Seeks,
    pub last_end: Lba,
    pub just_created: bool,
    pub fifo_checked: bool,
    /// The drive is kept idle for its next request.
    pub awaited: bool,
    /// It lost service for want of requests and goes on where it stopped if one comes soon.
    pub may_resume: bool,
    /// It was expired with requests in flight: whether its pattern is isochronous is seen at their completion.
    pub check_soft: bool,
    pub soft_next: i64,
    /// Since it last became busy: tick, sectors charged, tick of the first dispatch.
    pub busy_since: i64,
    pub busy_service: i64,
    pub first_dispatch: i64,
    pub raise: Raise,
    pub habit: Habit,
    pub tolerance: Tolerance,
    pub in_burst_list: bool,
    pub in_large_burst: bool,
    /// Several processes submit to it.
    pub shared: bool,
    /// Shared, and became seeky: its processes part again.
    pub must_split: bool,
    pub split_at: i64,
    /// Planned merge.
    pub merges_into: Option<u32>,
    /// The queue whose completions let this one continue.
    pub waker: Option<u32>,
    pub waker_maybe: Option<u32>,
    pub wakes_seen: u32,
    pub wakes_since: Nanos,
    /// Queues it wakes; the last one found is last.
    pub wakes: Vec<u32>,
    /// Under which position it stands in the list of possible partners.
    pub position: Option<u64>,
}

impl Queue {
    fn new(tick: i64, waiting: Waiting, habit: Habit) -> Self {
        Self {
            alive: true,
            sync: false,
            grouped: false,
            busy: false,
            owner: None,
            processes: 0,
            plans: 0,
            allocated: 0,
            in_flight: 0,
            waiting,
            budget_max: 0,
            timeout: LONG_AGO,
            created: tick,
            // The first request is almost certainly far from whatever was before.
            seeks: Seeks::of(1),
            last_end: Lba(0),
            just_created: false,
            fifo_checked: false,
            awaited: false,
            may_resume: false,
            check_soft: false,
            soft_next: tick,
            busy_since: 0,
            busy_service: 0,
            first_dispatch: 0,
            raise: Raise::none(tick),
            habit,
            tolerance: Tolerance {
                limit: 0,
                base: Nanos::ZERO,
                cut: tick,
            },
            in_burst_list: false,
            in_large_burst: false,
            shared: false,
            must_split: false,
            split_at: LONG_AGO,
            merges_into: None,
            waker: None,
            waker_maybe: None,
            wakes_seen: 0,
            wakes_since: Nanos::ZERO,
            wakes: Vec::new(),
            position: None,
        }
    }

    /// More than 19 of the last 32 requests were far from the one before.
    pub fn is_seeky(&self) -> bool {
        // Linux 5.10 to 6.12: BFQQ_SEEKY.
        self.seeks.count() > 19
    }

    /// All of the last 32 requests were far from the one before.
    pub fn is_totally_seeky(&self) -> bool {
        self.seeks.count() == 32
    }

    /// Nothing waiting or in flight for more than `span` ticks.
    #[inline]
    pub fn was_idle_long(&self, tick: i64, span: i64) -> bool {
        self.in_flight == 0 && self.timeout + span < tick
    }

    /// No request waits; some may be in flight.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.next.is_none()
    }
}

/// A process as far as it has submitted something.
#[derive(Clone, Debug, Default)]
pub struct Process {
    pub priority: Priority,
    /// In the group of programs, not in the root.
    pub grouped: bool,
    pub sync: Option<u32>,
    pub asynchronous: Option<u32>,
    /// Requests, waiting or in flight.
    pub requests: u32,
    pub saved: Option<Saved>,
    pub stably_merged: bool,
    /// Planned stable merge.
    pub plan: Option<u32>,
}

/// Class index and level of a priority. A process without one counts as best effort 4.
pub fn class_and_level(priority: Priority) -> (u8, u8) {
    match priority.class {
        PriorityClass::None => (1, 4),
        PriorityClass::RealTime => (0, priority.level.min(7)),
        PriorityClass::BestEffort => (1, priority.level.min(7)),
        PriorityClass::Idle => (2, 7),
    }
}

/// Weight of a priority level: 80 for level 0 down to 10 for level 7 and beyond.
pub fn weight_of(level: u8) -> u32 {
    (8 - u32::from(level.min(7))) * WEIGHT_STEP
}

impl Bfq {
    /// A new queue for requests of `process`.
    fn create(&mut self, process: u32, sync: bool) -> u32 {
        let (class, level) = class_and_level(self.processes[process as usize].priority);
        let index = self.free_queues.pop().unwrap_or(self.queues.len() as u32);
        // The arrays of a queue that has gone are used again.
        let waiting = match self.queues.get_mut(index as usize) {
            Some(old) => core::mem::take(&mut old.waiting),
            None => Waiting::default(),
        };
        let habit = Habit {
            // In the future by one nanosecond, so that it is infinitely long ago.
            last_completion: Nanos(self.now.0 + u64::from(self.generation.since_6_9)),
            // Of the idle class too: the class is set only after this (bfq_init_bfqq, bfq_init_entity), and never looked at again.
            short_think: sync,
            ..Habit::new(self.now)
        };
        let queue = Queue {
            sync,
            grouped: self.processes[process as usize].grouped,
            just_created: sync,
            budget_max: 2 * self.max_budget_believed() / 3,
            ..Queue::new(self.tick, waiting, habit)
        };
        if index as usize == self.queues.len() {
            self.queues.push(queue);
        } else {
            self.queues[index as usize] = queue;
        }
        self.service.begin(index, weight_of(level), class);
        index
    }

    /// The queue for requests of `process`, made if there is none. `again`: after a split, which plans no stable merge.
    pub(super) fn queue_for(&mut self, process: u32, sync: bool, again: bool) -> u32 {
        if !sync {
            let (class, level) = class_and_level(self.processes[process as usize].priority);
            let place = usize::from(class) * 8 + usize::from(level);
            let queue = match self.asynchronous[place] {
                Some(queue) => queue,
                None => {
                    let queue = self.create(process, false);
                    // It stays for as long as the policy.
                    self.queues[queue as usize].processes = 1;
                    self.asynchronous[place] = Some(queue);
                    queue
                }
            };
            self.queues[queue as usize].processes += 1;
            self.processes[process as usize].asynchronous = Some(queue);
            return queue;
        }
        let queue = self.create(process, true);
        self.queues[queue as usize].processes = 1;
        let queue = if self.generation.since_5_13 && !again {
            self.plan_stable_merge(queue, process)
        } else {
            queue
        };
        self.point_to(process, queue);
        queue
    }

    /// The process was given another priority since its last request.
    #[cold]
    pub(super) fn change_priority(&mut self, process: u32, priority: Priority) {
        self.processes[process as usize].priority = priority;
        if let Some(old) = self.processes[process as usize].asynchronous.take() {
            self.queue_for(process, false, true);
            self.release_process(old);
        }
        if let Some(queue) = self.processes[process as usize].sync {
            let (class, level) = class_and_level(priority);
            let entity = self.service.get_mut(queue);
            entity.weight_wanted = weight_of(level);
            entity.class_wanted = class;
            entity.changed = true;
        }
    }

    /// A process no longer refers to `queue`.
    pub(super) fn release_process(&mut self, queue: u32) {
        let state = &self.queues[queue as usize];
        if state.busy && state.is_empty() && self.in_service != Some(queue) {
            // Left busy for a request that will not come.
            self.no_longer_busy(queue, false);
        }
        if self.last_created == Some(queue) {
            self.last_created = None;
        }
        self.queues[queue as usize].processes -= 1;
        self.free_if_unused(queue);
    }

    /// Processes that were to follow `queue` into the queues it merges with will not.
    pub(super) fn release_planned_merges(&mut self, queue: u32) {
        let mut next = self.queues[queue as usize].merges_into;
        while let Some(target) = next {
            next = self.queues[target as usize].merges_into;
            self.queues[target as usize].processes -= 1;
            self.free_if_unused(target);
        }
    }

    #[inline]
    pub(super) fn free_if_unused(&mut self, index: u32) {
        let queue = &self.queues[index as usize];
        if queue.processes == 0 && queue.alive && queue.plans == 0 && queue.allocated == 0 {
            self.free(index);
        }
    }

    /// No process refers to the queue and no request is left.
    #[cold]
    fn free(&mut self, index: u32) {
        if self.service.get(index).is_counted() || self.in_service == Some(index) {
            return;
        }
        self.service.untally(index);
        self.leave_positions(index);
        self.leave_burst_list(index);
        let queue = &mut self.queues[index as usize];
        queue.alive = false;
        let wakes = core::mem::take(&mut queue.wakes);
        let waker = queue.waker.take();
        if let Some(waker) = waker {
            self.queues[waker as usize]
                .wakes
                .retain(|woken| *woken != index);
        }
        for woken in wakes {
            self.queues[woken as usize].waker = None;
        }
        for other in &mut self.queues {
            if other.waker_maybe == Some(index) {
                other.waker_maybe = None;
            }
        }
        if self.last_completed == Some(index) {
            self.last_completed = None;
        }
        self.free_queues.push(index);
    }

    pub(super) fn exit(&mut self, process: u32) {
        if let Some(plan) = self.processes[process as usize].plan.take() {
            self.drop_plan(plan);
        }
        let state = &mut self.processes[process as usize];
        let queues = [state.sync.take(), state.asynchronous.take()];
        for queue in queues.into_iter().flatten() {
            if self.queues[queue as usize].owner == Some(process) {
                self.queues[queue as usize].owner = None;
            }
            if self.in_service == Some(queue) && self.queues[queue as usize].sync {
                self.leave_service(queue, Reason::Timeout);
                self.kick_queue();
            }
            self.release_planned_merges(queue);
            self.release_process(queue);
        }
    }
}
