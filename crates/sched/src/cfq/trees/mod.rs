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
mod handing_out;
mod idle;
mod service;

use super::clock::Clock;
use super::dispatch_list::DispatchList;
use super::parameters::PARAMETERS;
use super::queue::{effective, is_valid, AsyncQueues, Class, Process, Queue};
use super::requests::Requests;
use super::turns::Turns;
use crate::decay::Mean;
use crate::parameter::Setup;
use crate::processes::Processes;
use crate::request::{ProcessId, Request, RequestId};
use seekwise_units::{Lba, Nanos, Sectors};

const ASYNC: usize = 0;
const SYNC: usize = 1;

/// Kinds of load, in the order in which equal keys are preferred.
const KIND_ASYNC: usize = 0;
const KIND_SYNC_NO_IDLE: usize = 1;
const KIND_SYNC: usize = 2;
const KINDS: usize = 3;
/// Trees: kinds of best effort, kinds of real-time, and one for the idle class.
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
    turns: Turns,
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
pub struct Trees {
    clock: Clock,
    rotational: bool,
    /// 3.3 on: requests at the same sector may wait together.
    equal_sectors_wait: bool,
    tunables: Tunables,
    floor: u64,

    requests: Requests,
    processes: Processes<Process>,
    queues: Vec<Queue>,
    async_queues: AsyncQueues,
    trees: Vec<Tree>,
    /// Queues in a tree; the active one stays in its tree when it is empty.
    busy: u32,
    busy_sync: u32,
    /// Decaying number of busy queues, best effort and real-time.
    busy_average: [u64; 2],
    serving: Workload,
    /// Time that was left to the workload when its queue's slice ended, and which it was.
    saved: Option<(u64, Class, usize)>,
    waiting: usize,

    active: Option<usize>,
    active_process: Option<usize>,
    list: DispatchList,
    in_driver: u32,
    /// By kind of queue: on the dispatch list or with the driver.
    in_flight: [u32; 2],
    idle_timer: Option<u64>,
    last_delayed_sync: i64,

    /// Not known yet counts as queueing.
    queueing_device: Option<bool>,
    depth_samples: u32,
    depth_peak: u32,
    run_wish: bool,
}

impl Trees {
    pub fn new(setup: &Setup) -> Self {
        let clock = Clock::new(setup.kernel);
        let get = |name| setup.get(PARAMETERS, name);
        let span = |name| clock.millis(get(name));
        let second = clock.second() as i64;
        let started = -(clock.read(setup.age) as i64);
        let tree = Tree {
            turns: Turns::default(),
            think: Mean::of_think_times(),
            last_completion: started,
        };
        Self {
            clock,
            rotational: setup.rotational,
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
            floor: 0,
            requests: Requests::new(
                get("back_seek_max").saturating_mul(2),
                get("back_seek_penalty"),
                true,
            ),
            processes: Processes::default(),
            queues: Vec::new(),
            async_queues: AsyncQueues::default(),
            trees: vec![tree; TREES],
            busy: 0,
            busy_sync: 0,
            busy_average: [0; 2],
            serving: Workload {
                class: Class::BestEffort,
                kind: KIND_ASYNC,
                ends: 0,
            },
            saved: None,
            waiting: 0,
            active: None,
            active_process: None,
            list: DispatchList::default(),
            in_driver: 0,
            in_flight: [0; 2],
            idle_timer: None,
            // As though the last delayed request had been a second before the start.
            last_delayed_sync: started - second,
            queueing_device: None,
            depth_samples: 0,
            depth_peak: 0,
            run_wish: false,
        }
    }

    #[inline]
    fn time(&self, now: Nanos) -> u64 {
        self.clock.read(now).max(self.floor)
    }

    fn want_dispatch(&mut self) {
        if self.busy > 0 {
            self.run_wish = true;
        }
    }

    /// Requests that wait in queues, those on the dispatch list not counted.
    fn queued(&self) -> usize {
        self.waiting - self.list.len()
    }

    // --- Queues and their processes ------------------------------------------------------------------------------

    fn new_queue(&mut self, request: &Request) -> usize {
        self.queues
            .push(Queue::new(request.process, request.sync, request.priority));
        self.queues.len() - 1
    }

    /// The queue for a request, after planned merges and splits.
    fn queue_of(&mut self, process: usize, request: &Request, now: u64) -> usize {
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
        let Some(index) = self.processes[process].sync_queue else {
            let index = self.new_queue(request);
            self.processes[process].sync_queue = Some(index);
            return index;
        };
        if self.queues[index].shared && self.queues[index].split {
            if self.queues[index].users > 1 {
                self.drop_planned(index, now);
                self.drop_user(index, now);
                let index = self.new_queue(request);
                self.processes[process].sync_queue = Some(index);
                return index;
            }
            let queue = &mut self.queues[index];
            (queue.process, queue.shared, queue.split) = (request.process, false, false);
        }
        let Some(into) = self.queues[index].merge_into else {
            return index;
        };
        self.processes[process].sync_queue = Some(into);
        self.queues[into].shared = true;
        self.drop_user(index, now);
        into
    }

    /// A process leaves a queue; the last one takes an empty queue with it.
    fn drop_user(&mut self, index: usize, now: u64) {
        self.queues[index].users = self.queues[index].users.saturating_sub(1);
        self.drop_unused(index, now);
    }

    fn drop_unused(&mut self, index: usize, now: u64) {
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

    /// A process that leaves does not go where its queue was to be merged either.
    fn drop_planned(&mut self, index: usize, now: u64) {
        let mut planned = self.queues[index].merge_into;
        while let Some(other) = planned.filter(|other| *other != index) {
            planned = self.queues[other].merge_into;
            self.drop_user(other, now);
        }
    }

    // --- Calls of the queue --------------------------------------------------------------------------------------

    pub fn insert(&mut self, now: Nanos, request: &Request) {
        let now = self.time(now);
        let process = self
            .processes
            .index_or_insert(request.process, || Process::new(request.process, now));
        let index = self.queue_of(process, request, now);
        let expires = now + self.tunables.fifo_expire[usize::from(request.sync)];
        self.requests.set(request, index, process, now, expires);
        self.waiting += 1;
        self.requests
            .arrive(&mut self.queues[index].waiting, request.id);
        self.sort_in(request.id, now);
        self.note_request(index, process, request, now);
        self.react(index, request, now);
    }

    pub fn dispatch(&mut self, now: Nanos) -> Option<RequestId> {
        let id = match self.list.pop() {
            Some(id) => id,
            None if self.busy == 0 => return None,
            None => {
                let now = self.time(now);
                self.dispatch_single(now)?
            }
        };
        self.pulled(id);
        Some(id)
    }

    pub fn dispatch_forced(&mut self, now: Nanos, id: RequestId) {
        let now = self.time(now);
        if !self.list.remove(id) {
            let index = self.requests.slot(id).queue as usize;
            if self.active != Some(index) {
                self.expire(now, false);
                self.serve_workload_of(index, now);
                self.activate(Some(index));
            }
            self.queues[index].fifo_checked = true;
            self.idle_timer = None;
            self.move_one(id, now);
        }
        self.pulled(id);
    }

    pub fn complete(&mut self, now: Nanos, request: &Request) {
        let now = self.time(now);
        let slot = *self.requests.slot(request.id);
        let index = slot.queue as usize;
        self.update_depth();
        self.in_driver = self.in_driver.saturating_sub(1);
        let queue = &mut self.queues[index];
        queue.in_flight = queue.in_flight.saturating_sub(1);
        let kind = usize::from(queue.sync);
        self.in_flight[kind] = self.in_flight[kind].saturating_sub(1);
        if slot.sync {
            self.processes[slot.process as usize].last_completion = now;
            let queue = &self.queues[index];
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
        if self.active == Some(index) {
            self.completed_in_slice(index, slot.sync, now);
        }
        self.drop_unused(index, now);
        if self.in_driver == 0 {
            self.want_dispatch();
        }
    }

    pub fn waiting(&self) -> usize {
        self.waiting
    }

    pub fn timer(&self) -> Option<Nanos> {
        self.idle_timer.map(|time| self.clock.instant(time))
    }

    pub fn fire(&mut self, now: Nanos) -> bool {
        let Some(due) = self.idle_timer.take() else {
            return false;
        };
        self.floor = self.floor.max(due);
        let now = self.time(now);
        self.idled(now)
    }

    pub fn may_merge(&self, request: &Request, bio: &Request) -> bool {
        let slot = self.requests.slot(request.id);
        if slot.gone || (bio.sync && !slot.sync) {
            return false;
        }
        let Some(process) = self.processes.index(bio.process) else {
            return false;
        };
        let person = &self.processes[process];
        let queue = if bio.sync {
            person.sync_queue
        } else {
            person.async_queue
        };
        queue == Some(slot.queue as usize)
    }

    pub fn neighbour_after(&self, id: RequestId) -> Option<RequestId> {
        self.requests.after(
            &self.queues[self.requests.slot(id).queue as usize].waiting,
            id,
        )
    }

    pub fn neighbour_before(&self, id: RequestId) -> Option<RequestId> {
        self.requests.before(
            &self.queues[self.requests.slot(id).queue as usize].waiting,
            id,
        )
    }

    pub fn front_merge_candidate(&self, bio: &Request) -> Option<RequestId> {
        let person = &self.processes[self.processes.index(bio.process)?];
        let queue = if bio.sync {
            person.sync_queue
        } else {
            person.async_queue
        }?;
        self.queues[queue].waiting.starting_at(bio.end())
    }

    pub fn grown(&mut self, now: Nanos, id: RequestId, start: Lba, sectors: Sectors) {
        self.requests.grow(id, sectors);
        let slot = *self.requests.slot(id);
        if slot.start != start {
            let now = self.time(now);
            self.requests
                .move_start(&mut self.queues[slot.queue as usize].waiting, id, start);
            self.sort_in(id, now);
        }
    }

    pub fn joined(&mut self, _now: Nanos, kept: RequestId, gone: RequestId) {
        let (slot, lost) = (*self.requests.slot(kept), *self.requests.slot(gone));
        let index = lost.queue as usize;
        let waiting = &mut self.queues[index].waiting;
        if slot.queue == lost.queue {
            if lost.expires < slot.expires {
                self.requests.inherit_place(waiting, kept, gone);
            }
            if waiting.next == Some(gone) {
                waiting.next = Some(kept);
            }
        }
        self.requests.remove(waiting, gone);
        self.waiting -= 1;
        let queue = &self.queues[index];
        if queue.busy && queue.waiting.is_empty() && self.active != Some(index) {
            self.become_idle(index);
        }
    }

    pub fn take_run_wish(&mut self) -> bool {
        core::mem::take(&mut self.run_wish)
    }

    pub fn process_exits(&mut self, now: Nanos, process: ProcessId) {
        let now = self.time(now);
        let Some(person) = self.processes.index(process) else {
            return;
        };
        self.processes[person].exited = true;
        let queues = [
            self.processes[person].async_queue.take(),
            self.processes[person].sync_queue.take(),
        ];
        for index in queues.into_iter().flatten() {
            if self.active == Some(index) {
                self.expire(now, false);
                self.want_dispatch();
            }
            if self.queues[index].sync {
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
