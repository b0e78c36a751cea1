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
mod dispatch;
mod idle;
mod service;

use super::common::Common;
use super::parameters::PARAMETERS;
use super::queue::{is_seeky, is_valid, plan_merge, scaled_slice, Class, Queue, CLOSE_SECTORS};
use super::service_tree::ServiceTree;
use crate::kernel::Kernel;
use crate::parameter::Setup;
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
pub(super) struct SingleTree {
    kernel: Kernel,
    /// 2.6.23/24: rounds; 2.6.32: one at a time and all that came with it.
    rounds: bool,
    pub common: Common,
    tunables: Tunables,
    /// 2 ms in ticks: idle time for a seeky process.
    idle_seeky: u64,

    service_tree: ServiceTree,
    in_driver: [u32; 2],
    /// Requests of sync queues on the dispatch list or with the driver.
    sync_in_flight: u32,

    /// Grace time before the idle class is served (rounds).
    class_timer: Option<u64>,
    last_completion: Option<u64>,
    last_sync_completion: i64,

    queueing_device: bool,

    /// Marked as one to be served once the queue run that its request asked for is over.
    must_after_run: Option<usize>,
}

const ASYNC: usize = 0;
const SYNC: usize = 1;

impl SingleTree {
    /// An empty scheduler; rounds of several requests before 2.6.30.
    pub fn new(setup: &Setup) -> Self {
        let kernel = setup.kernel;
        let get = |name| setup.get(PARAMETERS, name);
        let ticks = |name| kernel.ticks_from_millis(get(name));
        let rounds = !kernel.at_least(2, 6, 30);
        Self {
            kernel,
            rounds,
            common: Common::new(setup, false),
            tunables: Tunables {
                quantum: get("quantum"),
                fifo_expire: [ticks("fifo_expire_async"), ticks("fifo_expire_sync")],
                slice: [ticks("slice_async"), ticks("slice_sync")],
                slice_async_rq: get("slice_async_rq"),
                slice_idle: ticks("slice_idle"),
                low_latency: !rounds && get("low_latency") != 0,
            },
            idle_seeky: kernel.ticks_from_millis(2),
            service_tree: ServiceTree::default(),
            in_driver: [0; 2],
            sync_in_flight: 0,
            class_timer: None,
            last_completion: None,
            last_sync_completion: -(kernel.jiffies(setup.age) as i64),
            // 2.6.32 assumes a device that queues until it has seen otherwise; 2.6.24 the other way round.
            queueing_device: !rounds,
            must_after_run: None,
        }
    }

    #[inline]
    fn ticks(&self, now: Nanos) -> u64 {
        self.kernel.jiffies(now).max(self.common.floor)
    }

    /// A queue run asked for by an insertion is over once anything else happens.
    #[inline]
    fn end_run(&mut self) {
        if let Some(queue) = self.must_after_run.take() {
            self.common.queues[queue].must_dispatch = true;
        }
    }

    // --- Calls of the queue --------------------------------------------------------------------------------------

    /// The request joins its queue, which may then preempt the active one or end the idling for it.
    pub fn insert(&mut self, now: Nanos, request: &Request) {
        let now = self.ticks(now);
        self.end_run();
        let process = self.common.process_of(request, now);
        let index = self.queue_of(process, request, now);
        let expires = now + self.tunables.fifo_expire[usize::from(request.sync)];
        self.common
            .requests
            .set(request, index, process, now, expires);
        self.common.waiting += 1;
        self.sort_in(request.id, now);
        self.common
            .requests
            .arrive(&mut self.common.queues[index].waiting, request.id);
        self.note_request(index, process, request, now);
        self.react(index, request, now);
    }

    /// The next request for the driver. None: no queue has requests, or the policy holds back.
    pub fn dispatch(&mut self, now: Nanos) -> Option<RequestId> {
        if self.common.list.is_empty() {
            if self.common.busy == 0 {
                return None;
            }
            let now = self.ticks(now);
            if self.rounds {
                self.dispatch_round(now);
            } else {
                self.dispatch_single(now);
            }
        }
        let id = self.common.list.pop()?;
        self.pulled(id);
        Some(id)
    }

    /// Takes `id` as though just chosen: another active queue loses its slice to that of `id`.
    pub fn dispatch_forced(&mut self, now: Nanos, id: RequestId) {
        let now = self.ticks(now);
        if !self.common.list.remove(id) {
            let index = self.common.requests.slot(id).queue as usize;
            if self.common.active != Some(index) {
                self.expire(now, false);
                self.activate(Some(index));
            }
            self.common.queues[index].fifo_checked = true;
            self.common.idle_timer = None;
            self.move_one(id);
            self.common.queues[index].taken += 1;
            self.common.queues[index].must_dispatch = false;
            self.common.list.remove(id);
        }
        self.pulled(id);
    }

    /// The device is done with a request: a used slice ends, or idling begins if the active queue is empty.
    pub fn complete(&mut self, now: Nanos, request: &Request) {
        let now = self.ticks(now);
        self.end_run();
        let slot = *self.common.requests.slot(request.id);
        let index = slot.queue as usize;
        if !self.rounds {
            self.update_depth();
        }
        let class = usize::from(slot.sync);
        self.in_driver[class] = self.in_driver[class].saturating_sub(1);
        let queue = &mut self.common.queues[index];
        queue.in_flight = queue.in_flight.saturating_sub(1);
        if queue.sync {
            self.sync_in_flight = self.sync_in_flight.saturating_sub(1);
        }
        if queue.class != Class::Idle {
            self.last_completion = Some(now);
        }
        if slot.sync {
            self.common.processes[slot.process as usize].last_completion = now;
            self.last_sync_completion = now as i64;
        }
        if self.common.active == Some(index) {
            if self.common.queues[index].fresh {
                let slice = self.slice(&self.common.queues[index]).max(0) as u64;
                let queue = &mut self.common.queues[index];
                queue.slice_ends = now + slice;
                queue.fresh = false;
            }
            let queue = &self.common.queues[index];
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
            self.common.want_dispatch();
        }
    }

    /// The earlier of the idle timer and that of the idle class; None if neither runs.
    pub fn timer(&self) -> Option<Nanos> {
        let due = match (self.common.idle_timer, self.class_timer) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        due.map(|tick| self.kernel.tick_start(tick))
    }

    /// The timer that is due first fires. True: run the queue.
    pub fn fire(&mut self, now: Nanos) -> bool {
        self.end_run();
        let idle = match (self.common.idle_timer, self.class_timer) {
            (Some(a), Some(b)) => a <= b,
            (a, _) => a.is_some(),
        };
        let due = if idle {
            self.common.idle_timer.take()
        } else {
            self.class_timer.take()
        };
        let Some(due) = due else { return false };
        self.common.floor = self.common.floor.max(due);
        let now = self.ticks(now);
        if idle {
            self.idled(now)
        } else {
            self.common.busy > 0 && !self.others_may_come(now)
        }
    }

    /// The idle time is over. True: run the queue.
    fn idled(&mut self, now: u64) -> bool {
        if let Some(index) = self.common.active {
            let queue = &self.common.queues[index];
            if !self.rounds && queue.must_dispatch {
                return self.common.busy > 0;
            }
            if !queue.slice_used(now) {
                if self.common.busy == 0 {
                    return false;
                }
                if !queue.waiting.is_empty() {
                    return true;
                }
            }
            self.expire(now, false);
        }
        self.common.busy > 0
    }

    /// A request has a new place or length after a merge; a new start sorts it in again.
    pub fn grown(&mut self, now: Nanos, id: RequestId, start: Lba, sectors: Sectors) {
        self.common.requests.grow(id, sectors);
        let slot = *self.common.requests.slot(id);
        if slot.start != start {
            let now = self.ticks(now);
            self.common.move_start(id, start);
            self.sort_in(id, now);
        }
    }

    /// `gone` is part of `kept`, which takes the older place in order of arrival if both are of one queue.
    pub fn joined(&mut self, _now: Nanos, kept: RequestId, gone: RequestId) {
        let (slot, lost) = (
            *self.common.requests.slot(kept),
            *self.common.requests.slot(gone),
        );
        let index = lost.queue as usize;
        let waiting = &mut self.common.queues[index].waiting;
        if lost.since < slot.since && slot.queue == lost.queue {
            self.common.requests.inherit_place(waiting, kept, gone);
        }
        self.common.requests.remove(waiting, gone);
        self.common.waiting -= 1;
        if self.common.queues[index].waiting.is_empty() && self.common.queues[index].busy {
            self.become_idle(index);
        }
    }

    /// The process gives up its queues; an active one loses its slice.
    pub fn process_exits(&mut self, now: Nanos, process: ProcessId) {
        let now = self.ticks(now);
        self.end_run();
        for index in self.common.end_process(process) {
            if self.common.active == Some(index) {
                self.expire(now, false);
                self.common.want_dispatch();
            }
            if !self.common.queues[index].sync {
                continue;
            }
            let mut planned = self.common.queues[index].merge_into;
            while let Some(other) = planned {
                planned = self.common.queues[other]
                    .merge_into
                    .filter(|next| *next != index);
                self.drop_user(other, now);
            }
            self.drop_user(index, now);
        }
    }
}
