//! cfq until 2.6.32: one order of service for all queues.
//!
//!   active queue ──slice used, empty and not waited for, preempted──► back into the order of service
//!        │ empty, its process alive and quick to come back
//!        └──► idle: the device waits `slice_idle` for its next request
//!
//! Modelled:      2.6.23/24 (rounds of up to `quantum` requests onto a sorted dispatch list, statistics by process, grace time
//!                of the idle class) and 2.6.32 (one request per pull, statistics by queue, slow start of async requests,
//!                cooperating queues, real-time preemption).
//! Not modelled:  changes of priority while running, the boost of a holder of file-system locks, memory shortage.
//! Source:        behaviour of Linux 2.6.24 and 2.6.32 block/cfq-iosched.c. Versions between: rounds until 2.6.29.

mod describe;
mod handing_out;
mod idle;
mod service;

use super::dispatch_list::DispatchList;
use super::parameters::PARAMETERS;
use super::queue::{
    effective, is_seeky, is_valid, plan_merge, scaled_slice, AsyncQueues, Class, Process, Queue,
    CLOSE_SECTORS,
};
use super::requests::Requests;
use super::turns::Turns;
use crate::kernel::Kernel;
use crate::parameter::Setup;
use crate::processes::Processes;
use crate::request::{ProcessId, Request, RequestId};
use seekwise_units::{Lba, Nanos, Sectors, PAGE_SECTORS};

#[derive(Clone, Copy, Debug)]
pub(super) struct Tunables {
    pub quantum: u64,
    pub fifo_expire: [u64; 2],
    pub slice: [u64; 2],
    pub slice_async_rq: u64,
    pub slice_idle: u64,
    pub low_latency: bool,
}

#[derive(Clone, Debug)]
pub struct OneTree {
    kernel: Kernel,
    /// 2.6.23/24: rounds; 2.6.32: one at a time and all that came with it.
    rounds: bool,
    rotational: bool,
    tunables: Tunables,
    /// 2 ms in ticks: idle time for a seeky process.
    idle_seeky: u64,
    /// A timer's tick has been seen: the clock does not go behind it.
    floor: u64,

    requests: Requests,
    processes: Processes<Process>,
    queues: Vec<Queue>,
    async_queues: AsyncQueues,
    turns: Turns,
    busy: u32,
    waiting: usize,

    active: Option<usize>,
    /// Process whose request began the slice.
    active_process: Option<usize>,
    list: DispatchList,
    in_driver: [u32; 2],
    /// Requests of sync queues on the dispatch list or with the driver.
    sync_in_flight: u32,

    idle_timer: Option<u64>,
    /// Grace time before the idle class is served (rounds).
    class_timer: Option<u64>,
    last_completion: Option<u64>,
    last_sync_completion: i64,

    queueing_device: bool,
    depth_samples: u32,
    depth_peak: u32,

    /// Marked as one to be served once the queue run that its request asked for is over.
    must_after_run: Option<usize>,
    run_wish: bool,
}

const ASYNC: usize = 0;
const SYNC: usize = 1;

impl OneTree {
    pub fn new(setup: &Setup) -> Self {
        let kernel = setup.kernel;
        let get = |name| setup.get(PARAMETERS, name);
        let ticks = |name| kernel.ticks_from_millis(get(name));
        let rounds = !kernel.at_least(2, 6, 30);
        Self {
            kernel,
            rounds,
            rotational: setup.rotational,
            tunables: Tunables {
                quantum: get("quantum"),
                fifo_expire: [ticks("fifo_expire_async"), ticks("fifo_expire_sync")],
                slice: [ticks("slice_async"), ticks("slice_sync")],
                slice_async_rq: get("slice_async_rq"),
                slice_idle: ticks("slice_idle"),
                low_latency: !rounds && get("low_latency") != 0,
            },
            idle_seeky: kernel.ticks_from_millis(2),
            floor: 0,
            requests: Requests::new(
                get("back_seek_max").saturating_mul(2),
                get("back_seek_penalty"),
                false,
            ),
            processes: Processes::default(),
            queues: Vec::new(),
            async_queues: AsyncQueues::default(),
            turns: Turns::default(),
            busy: 0,
            waiting: 0,
            active: None,
            active_process: None,
            list: DispatchList::default(),
            in_driver: [0; 2],
            sync_in_flight: 0,
            idle_timer: None,
            class_timer: None,
            last_completion: None,
            last_sync_completion: -(kernel.jiffies(setup.age) as i64),
            // 2.6.32 assumes a device that queues until it has seen otherwise; 2.6.24 the other way round.
            queueing_device: !rounds,
            depth_samples: 0,
            depth_peak: 0,
            must_after_run: None,
            run_wish: false,
        }
    }

    #[inline]
    fn ticks(&self, now: Nanos) -> u64 {
        self.kernel.jiffies(now).max(self.floor)
    }

    /// A queue run asked for by an insertion is over once anything else happens.
    #[inline]
    fn end_run(&mut self) {
        if let Some(queue) = self.must_after_run.take() {
            self.queues[queue].must_dispatch = true;
        }
    }

    fn want_dispatch(&mut self) {
        if self.busy > 0 {
            self.run_wish = true;
        }
    }

    // --- Calls of the queue --------------------------------------------------------------------------------------

    pub fn insert(&mut self, now: Nanos, request: &Request) {
        let now = self.ticks(now);
        self.end_run();
        let process = self
            .processes
            .index_or_insert(request.process, || Process::new(request.process, now));
        let index = self.queue_of(process, request, now);
        let expires = now + self.tunables.fifo_expire[usize::from(request.sync)];
        self.requests.set(request, index, process, now, expires);
        self.waiting += 1;
        self.sort_in(request.id, now);
        self.requests
            .arrive(&mut self.queues[index].waiting, request.id);
        self.note_request(index, process, request, now);
        self.react(index, request, now);
    }

    pub fn dispatch(&mut self, now: Nanos) -> Option<RequestId> {
        if self.list.is_empty() {
            if self.busy == 0 {
                return None;
            }
            let now = self.ticks(now);
            if self.rounds {
                self.dispatch_round(now);
            } else {
                self.dispatch_single(now);
            }
        }
        let id = self.list.pop()?;
        self.pulled(id);
        Some(id)
    }

    pub fn dispatch_forced(&mut self, now: Nanos, id: RequestId) {
        let now = self.ticks(now);
        if !self.list.remove(id) {
            let index = self.requests.slot(id).queue as usize;
            if self.active != Some(index) {
                self.expire(now, false);
                self.activate(Some(index));
            }
            self.queues[index].fifo_checked = true;
            self.idle_timer = None;
            self.move_one(id);
            self.queues[index].taken += 1;
            self.queues[index].must_dispatch = false;
            self.list.remove(id);
        }
        self.pulled(id);
    }

    pub fn complete(&mut self, now: Nanos, request: &Request) {
        let now = self.ticks(now);
        self.end_run();
        let slot = *self.requests.slot(request.id);
        let index = slot.queue as usize;
        if !self.rounds {
            self.update_depth();
        }
        let class = usize::from(slot.sync);
        self.in_driver[class] = self.in_driver[class].saturating_sub(1);
        let queue = &mut self.queues[index];
        queue.in_flight = queue.in_flight.saturating_sub(1);
        if queue.sync {
            self.sync_in_flight = self.sync_in_flight.saturating_sub(1);
        }
        if queue.class != Class::Idle {
            self.last_completion = Some(now);
        }
        if slot.sync {
            self.processes[slot.process as usize].last_completion = now;
            self.last_sync_completion = now as i64;
        }
        if self.active == Some(index) {
            if self.queues[index].fresh {
                let slice = self.slice(&self.queues[index]).max(0) as u64;
                let queue = &mut self.queues[index];
                queue.slice_ends = now + slice;
                queue.fresh = false;
            }
            let queue = &self.queues[index];
            if queue.slice_used(now) || (!self.rounds && queue.class == Class::Idle) {
                self.expire(now, true);
            } else if slot.sync && queue.waiting.is_empty() {
                let noidle = !self.rounds && request.no_idle;
                if !noidle && self.cooperator(index).is_none() {
                    self.begin_idling(index, now);
                }
            }
        }
        self.drop_unused(index, now);
        if self.in_driver == [0; 2] {
            self.want_dispatch();
        }
    }

    pub fn waiting(&self) -> usize {
        self.waiting
    }

    pub fn timer(&self) -> Option<Nanos> {
        let due = match (self.idle_timer, self.class_timer) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        due.map(|tick| self.kernel.tick_start(tick))
    }

    pub fn fire(&mut self, now: Nanos) -> bool {
        self.end_run();
        let idle = match (self.idle_timer, self.class_timer) {
            (Some(a), Some(b)) => a <= b,
            (a, _) => a.is_some(),
        };
        let due = if idle {
            self.idle_timer.take()
        } else {
            self.class_timer.take()
        };
        let Some(due) = due else { return false };
        self.floor = self.floor.max(due);
        let now = self.ticks(now);
        if idle {
            self.idled(now)
        } else {
            self.busy > 0 && !self.others_may_come(now)
        }
    }

    /// The idle time is over. True: run the queue.
    fn idled(&mut self, now: u64) -> bool {
        if let Some(index) = self.active {
            let queue = &self.queues[index];
            if !self.rounds && queue.must_dispatch {
                return self.busy > 0;
            }
            if !queue.slice_used(now) {
                if self.busy == 0 {
                    return false;
                }
                if !queue.waiting.is_empty() {
                    return true;
                }
            }
            self.expire(now, false);
        }
        self.busy > 0
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
            let now = self.ticks(now);
            self.requests
                .move_start(&mut self.queues[slot.queue as usize].waiting, id, start);
            self.sort_in(id, now);
        }
    }

    pub fn joined(&mut self, _now: Nanos, kept: RequestId, gone: RequestId) {
        let (slot, lost) = (*self.requests.slot(kept), *self.requests.slot(gone));
        let index = lost.queue as usize;
        let waiting = &mut self.queues[index].waiting;
        if lost.since < slot.since && slot.queue == lost.queue {
            self.requests.inherit_place(waiting, kept, gone);
        }
        self.requests.remove(waiting, gone);
        self.waiting -= 1;
        if self.queues[index].waiting.is_empty() && self.queues[index].busy {
            self.become_idle(index);
        }
    }

    pub fn take_run_wish(&mut self) -> bool {
        core::mem::take(&mut self.run_wish)
    }

    pub fn process_exits(&mut self, now: Nanos, process: ProcessId) {
        let now = self.ticks(now);
        self.end_run();
        let Some(person) = self.processes.index(process) else {
            return;
        };
        self.processes[person].exited = true;
        for index in [
            self.processes[person].async_queue.take(),
            self.processes[person].sync_queue.take(),
        ]
        .into_iter()
        .flatten()
        {
            if self.active == Some(index) {
                self.expire(now, false);
                self.want_dispatch();
            }
            if !self.queues[index].sync {
                continue;
            }
            let mut planned = self.queues[index].merge_into;
            while let Some(other) = planned {
                planned = self.queues[other].merge_into.filter(|next| *next != index);
                self.drop_user(other, now);
            }
            self.drop_user(index, now);
        }
    }
}
