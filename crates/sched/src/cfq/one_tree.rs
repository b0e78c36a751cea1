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
use seekwise_units::{Lba, Nanos, Sectors};

/// A request longer than this ends an idle wait at once (2.6.32): more than a page need not wait for merges.
const PAGE_SECTORS: u64 = 8;

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

    // --- Order of service ----------------------------------------------------------------------------------------

    fn slice(&self, queue: &Queue) -> i64 {
        scaled_slice(self.tunables.slice[usize::from(queue.sync)], queue.level)
    }

    /// Puts a queue into the order of service: at its place by key, or in front of all of its class.
    fn take_turn(&mut self, index: usize, now: u64, in_front: bool) {
        let queue = &self.queues[index];
        let key = if queue.class == Class::Idle && !self.rounds {
            // Behind everything, 200 ms after the last.
            let last = self.turns.last().filter(|(last, _)| *last != index);
            last.map_or(now as i64, |(_, key)| key) + self.kernel.hz as i64 / 5
        } else if in_front {
            match (self.rounds, self.turns.first_key()) {
                (true, _) => i64::MIN,
                (false, first) => first.unwrap_or(now as i64) - self.kernel.hz as i64,
            }
        } else {
            let others = self.busy as i64 - 1;
            let lead = scaled_slice(self.tunables.slice[SYNC], 0) - self.slice(queue);
            // The sign of the residual changed: 2.6.24 adds what a slice left over, 2.6.32 takes it off.
            let residual = if self.rounds {
                queue.residual
            } else {
                -queue.residual
            };
            now as i64 + others * lead + residual
        };
        let queue = &mut self.queues[index];
        if !in_front && !(queue.class == Class::Idle && !self.rounds) {
            queue.residual = 0;
        }
        if queue.busy && queue.key == key {
            return;
        }
        let class = queue.class as u8;
        queue.key = key;
        self.turns.remove(index);
        self.turns.insert(class, key, index);
    }

    fn become_busy(&mut self, index: usize, now: u64) {
        self.busy += 1;
        self.take_turn(index, now, false);
        self.queues[index].busy = true;
    }

    fn become_idle(&mut self, index: usize) {
        self.queues[index].busy = false;
        self.busy -= 1;
        self.turns.remove(index);
    }

    fn activate(&mut self, index: Option<usize>) {
        if let Some(index) = index {
            if self.rounds {
                let queue = &mut self.queues[index];
                let (awaited, must) = (queue.awaited, queue.must_dispatch);
                queue.begin_slice();
                (queue.awaited, queue.must_dispatch) = (awaited, must);
                self.class_timer = None;
            } else {
                self.queues[index].begin_slice();
                self.idle_timer = None;
            }
        }
        self.active = index;
    }

    /// The active queue's turn is over; `timed_out` keeps what its slice left over.
    fn expire(&mut self, now: u64, timed_out: bool) {
        let Some(index) = self.active.take() else {
            return;
        };
        self.active_process = None;
        let queue = &mut self.queues[index];
        if queue.awaited {
            self.idle_timer = None;
        }
        queue.awaited = false;
        if self.rounds {
            queue.must_dispatch = false;
        }
        if timed_out && !queue.fresh {
            queue.residual = queue.slice_ends as i64 - now as i64;
        }
        if queue.busy {
            self.take_turn(index, now, false);
        }
    }

    fn select(&mut self, now: u64) -> Option<usize> {
        let mut preferred = None;
        if let Some(index) = self.active {
            let queue = &self.queues[index];
            if !queue.slice_used(now) || (!self.rounds && queue.must_dispatch) {
                if !queue.waiting.is_empty() {
                    return Some(index);
                }
                preferred = self.cooperator(index);
                if let Some(other) = preferred {
                    plan_merge(&mut self.queues, index, other);
                } else if self.idle_timer.is_some() || (queue.in_flight > 0 && queue.idle_window) {
                    return None;
                }
            }
            self.expire(now, false);
        }
        let chosen = preferred.or_else(|| self.first_in_turn(now));
        self.activate(chosen);
        chosen
    }

    fn first_in_turn(&mut self, now: u64) -> Option<usize> {
        let first = self.turns.first()?;
        if self.rounds && self.queues[first].class == Class::Idle && self.others_may_come(now) {
            return None;
        }
        Some(first)
    }

    /// Rounds: the idle class waits 100 ms after the last completion of another class; the timer looks again.
    fn others_may_come(&mut self, now: u64) -> bool {
        let Some(last) = self.last_completion else {
            return false;
        };
        let until = last + self.kernel.hz as u64 / 10;
        if now >= until {
            return false;
        }
        self.class_timer = Some(until);
        true
    }

    // --- Cooperating queues (2.6.32) -----------------------------------------------------------------------------

    fn is_close(&self, index: usize, start: Lba) -> bool {
        let seek = &self.queues[index].seek;
        let reach = if is_valid(seek) {
            seek.mean
        } else {
            CLOSE_SECTORS
        };
        self.requests.distance(start) <= reach
    }

    /// A busy queue at the same level whose next request lies where the active queue works.
    fn cooperator(&self, index: usize) -> Option<usize> {
        let own = &self.queues[index];
        if self.rounds || !own.sync || is_seeky(&own.seek) {
            return None;
        }
        let here = self.requests.last_end;
        let start = |other: &usize| {
            self.queues[*other]
                .waiting
                .next
                .map(|id| self.requests.slot(id).start)
        };
        let candidates = self.turns.iter().map(|(other, _)| other).filter(|other| {
            let queue = &self.queues[*other];
            queue.level == own.level && queue.class != Class::Idle && queue.waiting.next.is_some()
        });
        let nearest = candidates
            .min_by_key(|other| start(other).map_or(u64::MAX, |start| start.distance(here)))?;
        let at = start(&nearest)?;
        if at != here && !self.is_close(index, at) {
            return None;
        }
        let other = &self.queues[nearest];
        (other.sync && !is_seeky(&other.seek)).then_some(nearest)
    }

    /// A process leaves a queue; the last one takes an empty queue with it.
    fn drop_user(&mut self, index: usize, now: u64) {
        let queue = &mut self.queues[index];
        queue.users = queue.users.saturating_sub(1);
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
        let Some(mut index) = self.processes[process].sync_queue else {
            let index = self.new_queue(request);
            self.processes[process].sync_queue = Some(index);
            return index;
        };
        let second = self.kernel.hz as u64;
        let queue = &mut self.queues[index];
        if queue.shared && queue.seeky_since.is_some_and(|since| now > since + second) {
            if queue.users > 1 {
                self.drop_user(index, now);
                let index = self.new_queue(request);
                self.processes[process].sync_queue = Some(index);
                return index;
            }
            queue.seeky_since = None;
            queue.process = request.process;
            queue.shared = false;
        }
        if let Some(into) = self.queues[index].merge_into {
            self.drop_user(index, now);
            self.queues[into].shared = true;
            self.processes[process].sync_queue = Some(into);
            index = into;
        }
        index
    }

    // --- Statistics and idling -----------------------------------------------------------------------------------

    fn note_request(&mut self, index: usize, process: usize, request: &Request, now: u64) {
        let slice_idle = self.tunables.slice_idle;
        let person = &mut self.processes[process];
        person
            .think
            .add((now - person.last_completion).min(2 * slice_idle));
        let queue = &mut self.queues[index];
        if self.rounds {
            person
                .seek
                .add_seek(person.last_end.distance(request.start));
            person.last_end = request.end();
        } else {
            // A queue that has seen nothing yet (or ended at sector 0) counts no seek.
            let distance = if queue.last_end == Lba(0) {
                0
            } else {
                queue.last_end.distance(request.start)
            };
            queue.seek.add_seek(distance);
            if queue.shared {
                queue.seeky_since = if is_seeky(&queue.seek) {
                    queue.seeky_since.or(Some(now))
                } else {
                    None
                };
            }
            queue.last_end = request.end();
        }
        self.update_idle_window(index, process);
    }

    fn update_idle_window(&mut self, index: usize, process: usize) {
        let (person, queue) = (&self.processes[process], &mut self.queues[index]);
        if !queue.sync || (!self.rounds && queue.class == Class::Idle) {
            return;
        }
        let seek = if self.rounds {
            &person.seek
        } else {
            &queue.seek
        };
        let slice_idle = self.tunables.slice_idle;
        let given_up = self.queueing_device && is_seeky(seek) && !self.tunables.low_latency;
        if person.exited || slice_idle == 0 || given_up {
            queue.idle_window = false;
        } else if is_valid(&person.think) {
            let patience = if !self.rounds && is_valid(seek) && is_seeky(seek) {
                self.idle_seeky
            } else {
                slice_idle
            };
            queue.idle_window = person.think.mean <= patience;
        }
    }

    /// The active queue ran empty: wait for its process if that is worth it.
    fn begin_idling(&mut self, index: usize, now: u64) {
        let slice_idle = self.tunables.slice_idle;
        let queue = &self.queues[index];
        if slice_idle == 0
            || !queue.idle_window
            || (!self.rounds && !self.rotational && self.queueing_device)
        {
            return;
        }
        if !self.rounds && self.in_driver != [0; 2] {
            return;
        }
        let Some(person) = self
            .active_process
            .map(|process| &self.processes[process])
            .filter(|person| !person.exited)
        else {
            return;
        };
        if !self.rounds
            && is_valid(&person.think)
            && queue.slice_ends.saturating_sub(now) < person.think.mean
        {
            return;
        }
        let seek = if self.rounds {
            &person.seek
        } else {
            &queue.seek
        };
        let wait = if is_valid(seek) && is_seeky(seek) {
            slice_idle.min(self.idle_seeky)
        } else {
            slice_idle
        };
        self.queues[index].awaited = true;
        self.idle_timer = Some(now + wait);
    }

    // --- Handing out ---------------------------------------------------------------------------------------------

    /// From its queue to the dispatch list.
    fn move_to_list(&mut self, id: RequestId) {
        let slot = *self.requests.slot(id);
        let index = slot.queue as usize;
        let queue = &mut self.queues[index];
        if !self.rounds {
            queue.waiting.next = self.requests.following(&queue.waiting, id);
        }
        self.requests.remove(&mut queue.waiting, id);
        self.requests.leave(id);
        queue.in_flight += 1;
        self.sync_in_flight += u32::from(queue.sync);
        if queue.waiting.is_empty() && queue.busy {
            self.become_idle(index);
        }
        self.list
            .sort_in(id, slot.start, slot.direction, self.requests.last_end);
    }

    /// The driver takes a request.
    fn to_driver(&mut self, id: RequestId) {
        let slot = self.requests.slot(id);
        self.in_driver[usize::from(slot.sync)] += 1;
        self.requests.last_end = slot.start + slot.sectors;
        self.waiting -= 1;
        if self.rounds && self.in_driver[SYNC] + self.in_driver[ASYNC] > 4 {
            self.queueing_device = true;
        }
    }

    /// The request of a queue that is to go: the oldest if it has expired (looked at once a slice), else the nearest.
    fn pick(&mut self, index: usize, now: u64) -> Option<RequestId> {
        let queue = &mut self.queues[index];
        if !queue.fifo_checked {
            queue.fifo_checked = true;
            if let Some(oldest) = queue
                .waiting
                .oldest()
                .filter(|id| now >= self.requests.slot(*id).expires)
            {
                return Some(oldest);
            }
        }
        queue.waiting.next
    }

    fn move_one(&mut self, id: RequestId) {
        self.move_to_list(id);
        if self.active_process.is_none() {
            self.active_process = Some(self.requests.slot(id).process as usize);
        }
    }

    /// Async requests that a slice may take.
    fn async_requests_max(&self, queue: &Queue) -> u64 {
        2 * self.tunables.slice_async_rq * (8 - queue.level as u64)
    }

    /// An async queue that has taken its share, and the idle class after every round, give way to others.
    fn give_way(&mut self, index: usize, taken: u64, now: u64) {
        let queue = &self.queues[index];
        let share_used = !queue.sync && taken >= self.async_requests_max(queue);
        if self.busy > 1 && (share_used || queue.class == Class::Idle) {
            self.queues[index].slice_ends = now + 1;
            self.expire_queue(index, now);
        }
    }

    fn expire_queue(&mut self, index: usize, now: u64) {
        if self.active == Some(index) {
            self.expire(now, false);
        }
    }

    fn dispatch_round(&mut self, now: u64) {
        while let Some(index) = self.select(now) {
            let queue = &self.queues[index];
            let limit = if queue.class == Class::Idle {
                1
            } else {
                self.tunables.quantum
            };
            let in_flight = queue.in_flight as u64;
            if in_flight >= limit && (self.busy > 1 || in_flight >= 4 * limit) {
                break;
            }
            if self.sync_in_flight > 0 && !queue.sync {
                break;
            }
            self.queues[index].awaited = false;
            self.queues[index].must_dispatch = false;
            self.idle_timer = None;
            let mut moved = 0;
            while moved < limit {
                let Some(id) = self.pick(index, now) else {
                    break;
                };
                self.move_one(id);
                moved += 1;
            }
            self.give_way(index, moved, now);
        }
    }

    fn may_dispatch(&self, queue: &Queue, now: u64) -> bool {
        if (queue.idle_window && self.in_driver[ASYNC] > 0)
            || (!queue.sync && self.sync_in_flight > 0)
        {
            return false;
        }
        let in_flight = queue.in_flight as u64;
        let mut limit = if queue.class == Class::Idle {
            1
        } else {
            self.tunables.quantum
        };
        if in_flight >= limit {
            if queue.class == Class::Idle || self.busy > 1 {
                return false;
            }
            limit *= 4;
        }
        if !queue.sync && self.tunables.low_latency {
            let mut depth =
                (now as i64 - self.last_sync_completion) as u64 / self.tunables.slice[SYNC].max(1);
            if depth == 0 && in_flight == 0 {
                depth = 1;
            }
            limit = limit.min(depth);
        }
        in_flight < limit
    }

    fn dispatch_single(&mut self, now: u64) {
        let Some(index) = self.select(now) else {
            return;
        };
        if !self.may_dispatch(&self.queues[index], now) {
            return;
        }
        let Some(id) = self.pick(index, now) else {
            return;
        };
        self.move_one(id);
        let queue = &mut self.queues[index];
        queue.taken += 1;
        queue.must_dispatch = false;
        let taken = queue.taken as u64;
        self.give_way(index, taken, now);
    }

    // --- Arrival -------------------------------------------------------------------------------------------------

    /// Into its queue's sector order; an older request at the same sector leaves at once.
    fn sort_in(&mut self, id: RequestId, now: u64) {
        let slot = *self.requests.slot(id);
        let index = slot.queue as usize;
        while let Some(older) = self.queues[index].waiting.starting_at(slot.start) {
            self.move_to_list(older);
        }
        if !self.queues[index].busy {
            self.become_busy(index, now);
        }
        self.requests.sort_in(&mut self.queues[index].waiting, id);
    }

    fn preempts(&self, index: usize, request: &Request, now: u64) -> bool {
        let Some(active) = self.active else {
            return false;
        };
        let (running, new) = (&self.queues[active], &self.queues[index]);
        if running.slice_used(now) {
            return true;
        }
        if new.class == Class::Idle {
            return false;
        }
        if running.class == Class::Idle || (request.sync && !running.sync) {
            return true;
        }
        if request.metadata && running.waiting.metadata == 0 {
            return true;
        }
        if !self.rounds && new.class == Class::RealTime && running.class != Class::RealTime {
            return true;
        }
        let Some(person) = self.active_process.filter(|_| running.awaited) else {
            return false;
        };
        if self.rounds {
            let seek = &self.processes[person].seek;
            is_valid(seek) && self.requests.distance(request.start) <= seek.mean
        } else {
            self.is_close(active, request.start)
        }
    }

    /// A request came: end the wait for it, or let it push the active queue aside.
    fn react(&mut self, index: usize, request: &Request, now: u64) {
        if self.active == Some(index) {
            if !self.queues[index].awaited {
                return;
            }
            if self.rounds {
                self.idle_timer = None;
                self.run_wish = true;
            } else if request.sectors.0 > PAGE_SECTORS || self.busy > 1 {
                self.idle_timer = None;
                self.run_wish = true;
                self.must_after_run = Some(index);
            } else {
                self.queues[index].must_dispatch = true;
            }
        } else if self.preempts(index, request, now) {
            self.expire(now, true);
            self.take_turn(index, now, true);
            let queue = &mut self.queues[index];
            queue.slice_ends = 0;
            queue.fresh = true;
            self.run_wish = true;
        }
    }

    fn update_depth(&mut self) {
        let in_driver = self.in_driver[SYNC] + self.in_driver[ASYNC];
        self.depth_peak = self.depth_peak.max(in_driver);
        let queued = self.waiting - self.list.len();
        if queued <= 5 && in_driver <= 5 {
            return;
        }
        self.depth_samples += 1;
        if self.depth_samples <= 50 {
            return;
        }
        self.queueing_device = self.depth_peak >= 5;
        (self.depth_samples, self.depth_peak) = (0, 0);
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
        self.to_driver(id);
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
        self.to_driver(id);
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

    pub fn describe(&self, now: Nanos, out: &mut String) {
        let now = self.ticks(now);
        let active = self
            .active
            .map_or("none".to_owned(), |index| self.queues[index].name());
        *out += &format!(
            "tick {now}; active queue {active}; idle timer {:?}; class timer {:?}; busy queues {}; in the driver {} sync {} async; \
             last end {}; device queues: {}; last sync completion {}\n",
            self.idle_timer,
            self.class_timer,
            self.busy,
            self.in_driver[SYNC],
            self.in_driver[ASYNC],
            self.requests.last_end.0,
            self.queueing_device,
            self.last_sync_completion,
        );
        let order: Vec<_> = self
            .turns
            .iter()
            .map(|(index, key)| format!("{} at {key}", self.queues[index].name()))
            .collect();
        *out += &format!("order of service: {}\n", order.join(", "));
        if !self.list.is_empty() {
            let ids: Vec<_> = self.list.iter().map(|id| format!("#{}", id.0)).collect();
            *out += &format!("dispatch list: {}\n", ids.join(" "));
        }
        for queue in &self.queues {
            *out += &format!(
                "{}: {:?} {}; {}; in flight {}; slice {}, {} taken; residual {}; idle window {}, awaited {}, must dispatch {}; \
                 mean seek {} ({}); users {}{}\n",
                queue.name(),
                queue.class,
                queue.level,
                self.requests.words(&queue.waiting),
                queue.in_flight,
                if queue.fresh { "fresh".to_owned() } else { format!("until {}", queue.slice_ends) },
                queue.taken,
                queue.residual,
                queue.idle_window,
                queue.awaited,
                queue.must_dispatch,
                queue.seek.mean,
                queue.seek.samples,
                queue.users,
                queue.merge_into.map_or(String::new(), |into| format!(", to be merged into {}", self.queues[into].name())),
            );
        }
        for person in self.processes.iter() {
            *out += &format!(
                "p{}: thinks {} ticks ({}), seeks {} ({}), last completion {}{}\n",
                person.id.0,
                person.think.mean,
                person.think.samples,
                person.seek.mean,
                person.seek.samples,
                person.last_completion,
                if person.exited { ", ended" } else { "" }
            );
        }
    }
}
