//! The single request queue of Linux up to 4.x: plug, merges, two pools of requests, the one in the dispatch list (Linux 2.6.23 to 4.20 block/ll_rw_blk.c, later
//! block/blk-core.c, and block/elevator.c).
//!
//! ```text
//!   bio ─▶ merge ─▶ allocate from a pool ─▶ scheduler ─▶ dispatch list ─▶ drive
//!                   (sleep, batch of 32)    plug holds    (peeked before room is sure: one ahead)
//! ```
//!
//! The pull: the driver's loop takes the next request *before* it looks whether the drive has room. So when the queue is run while
//! the drive is full one decision is made early, and nothing that arrives later can pass that request.
//!
//! Modelled:      queue plug (before 2.6.39) with its unplug rules, or per-task plug (later); batching, congestion marks; ticks.
//! Not modelled:  barriers, special commands, several moves per call (policies dispatch one; cfq of 2.6.23 keeps its round itself).

use super::base::{Base, Limits};
use super::merge::Gone;
use super::table::{State, NONE};
use super::{unplug_due, Access, Bio, BlockQueue, Done, Driver, Event, Observer, Submission};
use seekwise_sched::{Direction, ProcessId, Scheduler};
use seekwise_units::{Nanos, Sectors};
use std::collections::VecDeque;

/// Waiting requests at which a plugged queue is run. Linux v2.6.23 block/ll_rw_blk.c: q->unplug_thresh = 4.
const UNPLUG_REQUESTS: usize = 4;
/// Linux v2.6.23 include/linux/blkdev.h: BLK_BATCH_REQ = 32.
const BATCH_REQUESTS: u32 = 32;
/// Linux v2.6.23 include/linux/blkdev.h: BLK_BATCH_TIME = HZ/50.
const BATCH_TIME: Nanos = Nanos::from_millis(20);

/// What holds requests back so that they can be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegacyPlug {
    /// The queue itself (2.6.38 and before), until [`unplug_due`].
    Queue { hz: u32 },
    /// Each task's own list (2.6.39 and later).
    Task,
}

/// How requests are counted against `nr_requests`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pools {
    /// Read and write (2.6.23, 2.6.24).
    ByDirection,
    /// Sync and async (2.6.32 and later).
    BySync,
}

#[derive(Clone, Copy, Debug)]
pub struct LegacyLimits {
    pub requests: Limits,
    pub plug: LegacyPlug,
    pub pools: Pools,
}

#[derive(Clone, Debug, Default)]
struct Pool {
    count: u32,
    full: bool,
    sleepers: VecDeque<ProcessId>,
}

#[derive(Clone, Copy, Debug)]
struct Batcher {
    process: ProcessId,
    until: Nanos,
    left: u32,
}

#[derive(Clone, Debug)]
pub struct LegacyQueue<S> {
    pub policy: S,
    base: Base,
    plug: LegacyPlug,
    pool_kind: Pools,
    dispatched: u32,
    in_drive: u32,
    plugged: bool,
    unplug_at: Nanos,
    /// That time stands for a kernel thread's work, not for a timer.
    work: bool,
    pools: [Pool; 2],
    batchers: Vec<Batcher>,
}

impl<S: Scheduler> LegacyQueue<S> {
    /// An empty queue; the driver takes `depth` requests at once.
    pub fn new(policy: S, limits: LegacyLimits, depth: u32) -> Self {
        let requests = limits.requests.nr_requests as usize * 3;
        Self {
            policy,
            base: Base::new(limits.requests, depth, requests),
            plug: limits.plug,
            pool_kind: limits.pools,
            dispatched: NONE,
            in_drive: 0,
            plugged: false,
            unplug_at: Nanos::NEVER,
            work: false,
            pools: [Pool::default(), Pool::default()],
            batchers: Vec::new(),
        }
    }

    #[inline]
    fn pool_of(&self, direction: Direction, sync: bool) -> usize {
        match self.pool_kind {
            Pools::ByDirection => (direction == Direction::Write) as usize,
            Pools::BySync => !sync as usize,
        }
    }

    /// A request waits for the drive, here or in the scheduler.
    #[inline(always)]
    fn has_next(&self) -> bool {
        self.dispatched != NONE || self.policy.waiting() > 0
    }

    #[inline(always)]
    fn run<D: Driver, O: Observer>(&mut self, now: Nanos, driver: &mut D, observer: &mut O) {
        if !self.plugged && self.has_next() {
            self.pull(now, driver, observer);
        }
    }

    fn pull<D: Driver, O: Observer>(&mut self, now: Nanos, driver: &mut D, observer: &mut O) {
        while self.has_next() {
            if self.dispatched == NONE {
                let Some(slot) = self.base.take(now, &mut self.policy) else {
                    return;
                };
                self.dispatched = slot;
                observer.note(now, Event::Issued(&self.base.table.get(slot).request));
            }
            if self.base.free_tags.is_empty() {
                return;
            }
            let slot = std::mem::replace(&mut self.dispatched, NONE);
            let access = Access::from(&self.base.table.get(slot).request);
            self.start(now, slot, access, driver, observer);
        }
    }

    /// The drive has room and takes the request.
    #[inline(always)]
    fn start<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        slot: u32,
        access: Access,
        driver: &mut D,
        observer: &mut O,
    ) {
        self.in_drive += 1;
        let entry = self.base.table.get_mut(slot);
        entry.state = State::InDrive;
        observer.note(now, Event::Started(&entry.request));
        self.base.start(now, slot, access, driver);
    }

    /// The policy wants the queue run now; a run that has to wait is noted.
    #[inline]
    fn take_kick(&mut self, now: Nanos) -> bool {
        let kicked = self.policy.take_queue_kick();
        if kicked && self.policy.queue_kick_waits() {
            // A kernel thread runs the queue as soon as the submitter has done what it is at: the next event of this instant.
            self.unplug_at = self.unplug_at.min(now);
            self.work = true;
            return false;
        }
        kicked
    }

    /// After a run: does the policy want another one, at once or later?
    #[inline]
    fn run_if_kicked<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        driver: &mut D,
        observer: &mut O,
    ) {
        if self.take_kick(now) {
            self.unplug();
            self.run(now, driver, observer);
        }
    }

    #[inline]
    fn unplug(&mut self) {
        self.plugged = false;
        self.unplug_at = Nanos::NEVER;
        self.work = false;
    }

    /// A bio arrived in a queue that may be plugged. Removing the plug is what runs the queue: a queue that is not plugged, because
    /// requests waited already, is left to the next completion. Only the policy can insist (the awaited request came).
    fn after_arrival<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        opens: bool,
        driver: &mut D,
        observer: &mut O,
    ) {
        let insists = self.take_kick(now);
        if insists || (opens && self.plugged) {
            self.unplug();
            self.run(now, driver, observer);
        }
    }

    fn flush_task_plug<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        driver: &mut D,
        observer: &mut O,
    ) {
        if self.base.plug.is_empty() {
            return;
        }
        let mut plug = std::mem::take(&mut self.base.plug);
        // Linux 4.19 block/blk-core.c, blk_flush_plug_list: sorted by start address, stably, before insertion.
        plug.sort_by_key(|&slot| self.base.table.get(slot).request.start);
        for &slot in &plug {
            self.base.insert(now, slot, &mut self.policy, observer);
        }
        plug.clear();
        self.base.plug = plug;
        self.run(now, driver, observer);
    }

    /// May the process allocate a request now? Linux 2.6.23 block/ll_rw_blk.c, get_request: a full pool admits only batchers, and nobody past 3/2 of its size.
    #[inline(always)]
    fn admit(&mut self, now: Nanos, bio: &Bio) -> bool {
        let nr = self.base.limits.nr_requests;
        let pool = self.pool_of(bio.direction, bio.sync);
        let count = self.pools[pool].count;
        if count + 1 >= nr {
            let batcher = self.batchers.iter_mut().find(|b| b.process == bio.process);
            let batching = match batcher {
                // At least one even when late, otherwise within the batch's count and time.
                Some(b) => b.left == BATCH_REQUESTS || (b.left > 0 && now < b.until),
                None => false,
            };
            if !self.pools[pool].full {
                self.pools[pool].full = true;
                if !batching {
                    self.make_batcher(now, bio.process);
                }
            } else if !batching {
                return false;
            }
            if count >= nr * 3 / 2 {
                return false;
            }
        }
        self.pools[pool].count = count + 1;
        if !self.batchers.is_empty() {
            if let Some(b) = self.batchers.iter_mut().find(|b| b.process == bio.process) {
                b.left = b.left.saturating_sub(1);
            }
        }
        true
    }

    /// Makes `bio` part of a request that waits in the scheduler. False if it fits none.
    #[inline(always)]
    fn merge_into_waiting<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        bio: &Bio,
        driver: &mut D,
        observer: &mut O,
    ) -> bool {
        if self.policy.waiting() == 0 {
            return false;
        }
        self.base.merger.gone = None;
        let Base { table, merger, .. } = &mut self.base;
        let Some(merged) = merger.try_merge(now, table, &mut self.policy, bio) else {
            return false;
        };
        observer.note(now, Event::Merged(bio, merged.front));
        if let Some(Gone {
            direction, sync, ..
        }) = self.base.merger.gone.take()
        {
            // Two waiting requests became one. A bio that somebody waits for may have joined two of the other kind.
            let pool = self.pool_of(direction, sync);
            self.release(now, pool);
        }
        self.after_arrival(now, bio.unplug, driver, observer);
        true
    }

    /// The task sleeps until its pool has room.
    fn sleep<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        bio: &Bio,
        driver: &mut D,
        observer: &mut O,
    ) {
        let pool = self.pool_of(bio.direction, bio.sync);
        self.pools[pool].sleepers.push_back(bio.process);
        // Linux 2.6.23 block/ll_rw_blk.c, get_request_wait: a task that must sleep for a request unplugs first.
        self.flush_task_plug(now, driver, observer);
        if self.plugged {
            self.unplug();
            self.run(now, driver, observer);
        }
    }

    /// Starts a request that is alone and need not wait for others, if drive and policy let it through at once.
    #[inline(always)]
    fn pass<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        slot: u32,
        bio: &Bio,
        driver: &mut D,
        observer: &mut O,
    ) -> bool {
        let runs_now = self.plug == LegacyPlug::Task || bio.unplug;
        if !runs_now || self.base.plugging || self.base.free_tags.is_empty() {
            return false;
        }
        let request = self.base.table.get(slot).request;
        if !self.policy.pass(now, &request) {
            return false;
        }
        self.unplug();
        observer.note(now, Event::Inserted(&request));
        observer.note(now, Event::Issued(&request));
        self.start(now, slot, Access::from(bio), driver, observer);
        true
    }

    /// A new request goes to the task's plug, or to the scheduler, which may run the queue.
    #[inline(always)]
    fn queue_request<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        slot: u32,
        bio: &Bio,
        driver: &mut D,
        observer: &mut O,
    ) {
        if self.base.plugging {
            self.base.plug.push(slot);
            if self.base.plug.len() >= 32 {
                self.flush_task_plug(now, driver, observer);
            }
            return;
        }
        self.base.insert(now, slot, &mut self.policy, observer);
        match self.plug {
            LegacyPlug::Task => self.run(now, driver, observer),
            LegacyPlug::Queue { .. } => {
                let waiting = self.base.table.used() - self.in_drive as usize;
                let opens = bio.unplug || waiting >= UNPLUG_REQUESTS;
                self.after_arrival(now, opens, driver, observer);
            }
        }
    }

    fn make_batcher(&mut self, now: Nanos, process: ProcessId) {
        self.batchers.retain(|b| b.process != process);
        self.batchers.push(Batcher {
            process,
            until: now + BATCH_TIME,
            left: BATCH_REQUESTS,
        });
    }

    #[inline(always)]
    fn release(&mut self, now: Nanos, pool: usize) {
        let nr = self.base.limits.nr_requests;
        let pool = &mut self.pools[pool];
        pool.count -= 1;
        if pool.count < nr {
            pool.full = false;
            if let Some(process) = pool.sleepers.pop_front() {
                self.base.woken.push_back(process);
                self.make_batcher(now, process);
            }
        }
    }
}

impl<S: Scheduler> BlockQueue for LegacyQueue<S> {
    #[inline(always)]
    fn base(&self) -> &Base {
        &self.base
    }

    #[inline(always)]
    fn base_mut(&mut self) -> &mut Base {
        &mut self.base
    }

    #[inline]
    fn submit<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        bio: &Bio,
        driver: &mut D,
        observer: &mut O,
    ) -> Submission {
        if self.base.plugging && self.base.merge_into_plug(bio, usize::MAX) {
            observer.note(now, Event::Merged(bio, false));
            return Submission::Accepted;
        }
        if self.merge_into_waiting(now, bio, driver, observer) {
            return Submission::Accepted;
        }
        if !self.admit(now, bio) {
            self.sleep(now, bio, driver, observer);
            return Submission::Blocked;
        }
        let empty = !self.has_next();
        if let LegacyPlug::Queue { hz } = self.plug {
            if empty && !self.plugged {
                self.plugged = true;
                self.unplug_at = unplug_due(now, hz);
            }
        }
        let slot = self.base.table.allocate(now, bio);
        if empty && self.pass(now, slot, bio, driver, observer) {
            return Submission::Accepted;
        }
        self.queue_request(now, slot, bio, driver, observer);
        Submission::Accepted
    }

    #[inline]
    fn room_behind(&self, bio: &Bio) -> Sectors {
        if self.base.plugging || self.policy.waiting() == 0 {
            return Sectors(0);
        }
        self.base
            .merger
            .room_behind(&self.base.table, &self.policy, bio)
    }

    fn begin_plug(&mut self) {
        self.base.plugging = self.plug == LegacyPlug::Task;
    }

    fn end_plug<D: Driver, O: Observer>(&mut self, now: Nanos, driver: &mut D, observer: &mut O) {
        self.base.plugging = false;
        self.flush_task_plug(now, driver, observer);
    }

    #[inline]
    fn held_back(&self, now: Nanos) -> bool {
        self.plugged || self.unplug_at <= now
    }

    #[inline]
    fn process_waits<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        driver: &mut D,
        observer: &mut O,
    ) {
        if self.held_back(now) {
            self.unplug();
            self.run(now, driver, observer);
        }
    }

    fn process_exits<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        process: ProcessId,
        driver: &mut D,
        observer: &mut O,
    ) {
        self.policy.process_exits(now, process);
        self.run(now, driver, observer);
        self.run_if_kicked(now, driver, observer);
    }

    #[inline]
    fn complete<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        tag: u32,
        driver: &mut D,
        observer: &mut O,
        mut done: impl FnMut(Done),
    ) {
        let slot = self.base.slot_of(tag);
        self.base.free_tags.push(tag);
        self.in_drive -= 1;
        let request = self.base.table.get(slot).request;
        observer.note(now, Event::Completed(&request));
        self.policy.complete(now, &request);
        self.base
            .table
            .finish(slot, |token, sectors| done(Done { token, sectors }));
        self.release(now, self.pool_of(request.direction, request.sync));
        // Linux 2.6.23 drivers/scsi/scsi_lib.c, scsi_next_command: a completion runs the queue, which removes the plug first.
        self.unplug();
        self.run(now, driver, observer);
        self.run_if_kicked(now, driver, observer);
    }

    #[inline]
    fn timer(&self) -> Nanos {
        self.policy
            .timer()
            .unwrap_or(Nanos::NEVER)
            .min(self.unplug_at)
    }

    fn fire<D: Driver, O: Observer>(&mut self, now: Nanos, driver: &mut D, observer: &mut O) {
        if self.unplug_at <= now {
            self.unplug();
            self.run(now, driver, observer);
        }
        if self.policy.timer().is_some_and(|at| at <= now) && self.policy.fire(now) {
            self.unplug();
            self.run(now, driver, observer);
        }
        self.run_if_kicked(now, driver, observer);
    }

    /// Linux 2.6.23 block/ll_rw_blk.c, blk_queue_congestion_threshold: congestion is on from nr − nr/8 + 1 and off below nr − nr/8 − nr/16 − 1.
    fn congested(&self, direction: Direction, sync: bool) -> bool {
        let nr = self.base.limits.nr_requests;
        self.pools[self.pool_of(direction, sync)].count > nr - nr / 8
    }
}
