//! cfq from 2.6.33 on: an order of service per class and kind of load.
//!
//!   class   real-time, then best effort, then idle
//!   kind    async · sync without idling · sync with idling: each gets a share of `target_latency`, then its queues take turns
//!
//! A seeky process is not waited for by itself: all such queues are served together and only the last of them is idled on.
//!
//! Modelled:      one group of queues (no control groups); workload and queue slices scaled to `target_latency`, no-idle
//!                writes, depth limits, slow start of async requests, cooperating queues, detection of a queueing device.
//! Not modelled:  control groups and their charges, changes of priority while running.
//! Source:        behaviour of Linux 4.4 and 4.19 block/cfq-iosched.c (4.8 on: nanoseconds in place of ticks).

mod describe;
mod dispatch;
mod idle;
mod service;

use super::clock::Clock;
use super::common::Common;
use super::parameters::PARAMETERS;
use super::queue::{is_valid, Class, Queue};
use super::service_tree::ServiceTree;
use crate::decay::Mean;
use crate::parameter::Setup;
use crate::request::{ProcessId, Request, RequestId};
use seekwise_units::{Lba, Nanos, Sectors};

const ASYNC: usize = 0;
const SYNC: usize = 1;

/// Kinds of load, in the order in which equal keys are preferred.
const KIND_ASYNC: usize = 0;
const KIND_SYNC_NO_IDLE: usize = 1;
const KIND_SYNC: usize = 2;
const KINDS: usize = 3;
/// WorkloadTrees: kinds of best effort, kinds of real-time, and one for the idle class.
const TREE_IDLE: usize = 2 * KINDS;
const TREES: usize = TREE_IDLE + 1;

#[derive(Clone, Copy, Debug)]
struct Tunables {
    quantum: u64,
    fifo_expire: [u64; 2],
    slice: [u64; 2],
    slice_async_rq: u64,
    slice_idle: u64,
    group_idle: u64,
    target_latency: u64,
    low_latency: bool,
}

/// An order of service and how long its processes think.
#[derive(Clone, Debug)]
struct Tree {
    queues: ServiceTree,
    think: Mean,
    last_completion: i64,
}

/// What is left of the kind of load that was being served.
#[derive(Clone, Copy, Debug)]
struct Workload {
    class: Class,
    kind: usize,
    ends: i64,
}

#[derive(Clone, Debug)]
pub(super) struct WorkloadTrees {
    clock: Clock,
    pub common: Common,
    /// 3.3 on: requests at the same sector may wait together.
    equal_sectors_wait: bool,
    tunables: Tunables,

    /// The active queue stays in its tree when it is empty.
    trees: Vec<Tree>,
    busy_sync: u32,
    /// Decaying number of busy queues, best effort and real-time.
    busy_average: [u64; 2],
    serving: Workload,
    /// Time that was left to the workload when its queue's slice ended, and which it was.
    saved: Option<(u64, Class, usize)>,

    in_driver: u32,
    /// By kind of queue: on the dispatch list or with the driver.
    in_flight: [u32; 2],
    last_delayed_sync: i64,

    /// Not known yet counts as queueing.
    queueing_device: Option<bool>,
}

impl WorkloadTrees {
    /// An empty scheduler that has been running for `setup.age`.
    pub fn new(setup: &Setup) -> Self {
        let clock = Clock::new(setup.kernel);
        let get = |name| setup.get(PARAMETERS, name);
        let span = |name| clock.millis(get(name));
        let second = clock.second() as i64;
        let started = -(clock.read(setup.age) as i64);
        let tree = Tree {
            queues: ServiceTree::default(),
            think: Mean::of_think_times(),
            last_completion: started,
        };
        Self {
            clock,
            common: Common::new(setup, true),
            equal_sectors_wait: setup.kernel.at_least(3, 3, 0),
            tunables: Tunables {
                quantum: get("quantum"),
                fifo_expire: [span("fifo_expire_async"), span("fifo_expire_sync")],
                slice: [span("slice_async"), span("slice_sync")],
                slice_async_rq: get("slice_async_rq"),
                slice_idle: span("slice_idle"),
                group_idle: span("group_idle"),
                target_latency: span("target_latency"),
                low_latency: get("low_latency") != 0,
            },
            trees: vec![tree; TREES],
            busy_sync: 0,
            busy_average: [0; 2],
            serving: Workload {
                class: Class::BestEffort,
                kind: KIND_ASYNC,
                ends: 0,
            },
            saved: None,
            in_driver: 0,
            in_flight: [0; 2],
            // As though the last delayed request had been a second before the start.
            last_delayed_sync: started - second,
            queueing_device: None,
        }
    }

    #[inline]
    fn time(&self, now: Nanos) -> u64 {
        self.clock.read(now).max(self.common.floor)
    }

    /// Requests that wait in queues, those on the dispatch list not counted.
    fn queued(&self) -> usize {
        self.common.waiting - self.common.list.len()
    }

    // --- Queues and their processes ------------------------------------------------------------------------------

    /// The queue for a request, after planned merges and splits.
    fn queue_of(&mut self, process: usize, request: &Request, now: u64) -> usize {
        if !request.sync {
            return self.common.async_queue(process, request);
        }
        let Some(index) = self.common.processes[process].sync_queue else {
            return self.common.new_sync_queue(process, request);
        };
        if self.common.queues[index].shared && self.common.queues[index].split {
            if self.common.queues[index].users > 1 {
                self.drop_planned(index, now);
                self.drop_user(index, now);
                return self.common.new_sync_queue(process, request);
            }
            let queue = &mut self.common.queues[index];
            (queue.process, queue.shared, queue.split) = (request.process, false, false);
        }
        let Some(into) = self.common.queues[index].merge_into else {
            return index;
        };
        self.common.processes[process].sync_queue = Some(into);
        self.common.queues[into].shared = true;
        self.drop_user(index, now);
        into
    }

    /// A process leaves a queue; the last one takes an empty queue with it.
    fn drop_user(&mut self, index: usize, now: u64) {
        self.common.queues[index].users = self.common.queues[index].users.saturating_sub(1);
        self.drop_unused(index, now);
    }

    fn drop_unused(&mut self, index: usize, now: u64) {
        if self.common.is_unused(index) {
            self.expire(now, false);
            self.common.want_dispatch();
        }
    }

    /// A process that leaves does not go where its queue was to be merged either.
    fn drop_planned(&mut self, index: usize, now: u64) {
        let mut planned = self.common.queues[index].merge_into;
        while let Some(other) = planned.filter(|other| *other != index) {
            planned = self.common.queues[other].merge_into;
            self.drop_user(other, now);
        }
    }

    // --- Calls of the queue --------------------------------------------------------------------------------------

    /// The request joins its queue, which may then preempt the active one or end the idling for it.
    pub fn insert(&mut self, now: Nanos, request: &Request) {
        let now = self.time(now);
        let process = self.common.process_of(request, now);
        let index = self.queue_of(process, request, now);
        let expires = now + self.tunables.fifo_expire[usize::from(request.sync)];
        self.common
            .requests
            .set(request, index, process, now, expires);
        self.common.waiting += 1;
        self.common
            .requests
            .arrive(&mut self.common.queues[index].waiting, request.id);
        self.sort_in(request.id, now);
        self.note_request(index, process, request, now);
        self.react(index, request, now);
    }

    /// The next request for the driver. None: no queue has requests, or the policy holds back.
    pub fn dispatch(&mut self, now: Nanos) -> Option<RequestId> {
        let id = match self.common.list.pop() {
            Some(id) => id,
            None if self.common.busy == 0 => return None,
            None => {
                let now = self.time(now);
                self.dispatch_single(now)?
            }
        };
        self.pulled(id);
        Some(id)
    }

    /// Takes `id` as though just chosen: another active queue loses its slice to that of `id`, and its workload is served.
    pub fn dispatch_forced(&mut self, now: Nanos, id: RequestId) {
        let now = self.time(now);
        if !self.common.list.remove(id) {
            let index = self.common.requests.slot(id).queue as usize;
            if self.common.active != Some(index) {
                self.expire(now, false);
                self.serve_workload_of(index, now);
                self.activate(Some(index));
            }
            self.common.queues[index].fifo_checked = true;
            self.common.idle_timer = None;
            self.move_one(id, now);
        }
        self.pulled(id);
    }

    /// The device is done with a request: a used slice ends, or idling begins if the active queue is empty.
    pub fn complete(&mut self, now: Nanos, request: &Request) {
        let now = self.time(now);
        let slot = *self.common.requests.slot(request.id);
        let index = slot.queue as usize;
        self.update_depth();
        self.in_driver = self.in_driver.saturating_sub(1);
        let queue = &mut self.common.queues[index];
        queue.in_flight = queue.in_flight.saturating_sub(1);
        let kind = usize::from(queue.sync);
        self.in_flight[kind] = self.in_flight[kind].saturating_sub(1);
        if slot.sync {
            self.common.processes[slot.process as usize].last_completion = now;
            let queue = &self.common.queues[index];
            let tree = if queue.busy {
                queue.tree
            } else {
                tree_of(queue)
            };
            self.trees[tree].last_completion = now as i64;
            if now >= slot.since + self.tunables.fifo_expire[SYNC] {
                self.last_delayed_sync = now as i64;
            }
        }
        if self.common.active == Some(index) {
            self.completed_in_slice(index, slot.sync, now);
        }
        self.drop_unused(index, now);
        if self.in_driver == 0 {
            self.common.want_dispatch();
        }
    }

    /// When idling ends; None if the device does not idle.
    pub fn timer(&self) -> Option<Nanos> {
        self.common.idle_timer.map(|time| self.clock.instant(time))
    }

    /// The idle time is over. True: run the queue.
    pub fn fire(&mut self, now: Nanos) -> bool {
        let Some(due) = self.common.idle_timer.take() else {
            return false;
        };
        self.common.floor = self.common.floor.max(due);
        let now = self.time(now);
        self.idled(now)
    }

    /// A request has a new place or length after a merge; a new start sorts it in again.
    pub fn grown(&mut self, now: Nanos, id: RequestId, start: Lba, sectors: Sectors) {
        self.common.requests.grow(id, sectors);
        let slot = *self.common.requests.slot(id);
        if slot.start != start {
            let now = self.time(now);
            self.common.move_start(id, start);
            self.sort_in(id, now);
        }
    }

    /// `gone` is part of `kept`, which takes over the earlier expiry and the turn as next if both are of one queue.
    pub fn joined(&mut self, _now: Nanos, kept: RequestId, gone: RequestId) {
        let (slot, lost) = (
            *self.common.requests.slot(kept),
            *self.common.requests.slot(gone),
        );
        let index = lost.queue as usize;
        let waiting = &mut self.common.queues[index].waiting;
        if slot.queue == lost.queue {
            if lost.expires < slot.expires {
                self.common.requests.inherit_place(waiting, kept, gone);
            }
            if waiting.next == Some(gone) {
                waiting.next = Some(kept);
            }
        }
        self.common.requests.remove(waiting, gone);
        self.common.waiting -= 1;
        let queue = &self.common.queues[index];
        if queue.busy && queue.waiting.is_empty() && self.common.active != Some(index) {
            self.become_idle(index);
        }
    }

    /// The process gives up its queues; an active one loses its slice.
    pub fn process_exits(&mut self, now: Nanos, process: ProcessId) {
        let now = self.time(now);
        for index in self.common.end_process(process) {
            if self.common.active == Some(index) {
                self.expire(now, false);
                self.common.want_dispatch();
            }
            if self.common.queues[index].sync {
                self.drop_planned(index, now);
                self.drop_user(index, now);
            }
        }
    }
}

/// The kind of load that a queue is.
fn kind_of(queue: &Queue) -> usize {
    match (queue.sync, queue.idle_window) {
        (false, _) => KIND_ASYNC,
        (true, false) => KIND_SYNC_NO_IDLE,
        (true, true) => KIND_SYNC,
    }
}

/// The tree in which a queue belongs now.
fn tree_of(queue: &Queue) -> usize {
    tree_at(queue.class, kind_of(queue))
}

fn tree_at(class: Class, kind: usize) -> usize {
    match class {
        Class::BestEffort => kind,
        Class::RealTime => KINDS + kind,
        Class::Idle => TREE_IDLE,
    }
}
