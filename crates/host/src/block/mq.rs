//! blk-mq: scheduler tags, dispatch list, driver tags (Linux 4.12 to 6.12 block/blk-mq.c, block/blk-mq-sched.c).
//!
//! ```text
//!   bio ─▶ [task plug] ─▶ merge ─▶ scheduler tag ─▶ scheduler ─▶ dispatch list (one ahead) ─▶ driver tag ─▶ drive
//!                                  sleep if none                  no budget: taken before a driver tag is sure
//! ```
//!
//! When the queue is run: with each request that arrives; on timers of the policy; when the policy asks for it (bfq and kyber do so at
//! completions). A completion runs it if a run since the last one found a request that waited for a driver tag, or (SCSI) the drive full;
//! before 5.10 every completion of a SCSI drive does (drivers/scsi/scsi_lib.c: scsi_end_request). A policy that dispatches nothing although
//! something waits is asked again 3 ms later (Linux 5.8 on, block/blk-mq-sched.c: BLK_MQ_BUDGET_DELAY; in whole ticks and one more, which
//! recordings of bfq show).
//!
//! Modelled:      one hardware queue; `nr_requests` and a policy's own limits on tags ([`super::tags`]; a policy without limits wakes one
//!                sleeper per completion); task plug of 6.1 (flush at 32 requests or a
//!                request of 128 KiB); SCSI budget (nothing is taken ahead) or none (one request is); write-back throttling.
//! Not modelled:  several hardware queues, queue runs moved to a worker thread, requeues by the driver, flush machinery.

use super::base::{Base, Limits};
use super::merge::Gone;
use super::table::{State, NONE};
use super::tags::Tags;
use super::wbt::Throttle;
use super::{Access, Bio, BlockQueue, Done, Driver, Event, Observer, Submission};
use seekwise_sched::busyness::{takes_many, Busyness};
use seekwise_sched::{Kernel, ProcessId, Scheduler};
use seekwise_units::{Nanos, Sectors};
use std::collections::VecDeque;

/// Requests in a plug at which it is flushed. Linux v6.1 block/blk.h: BLK_MAX_REQUEST_COUNT = 32.
const PLUG_REQUESTS: usize = 32;
/// Size of the last plugged request at which it is flushed. Linux v6.1 block/blk.h: BLK_PLUG_FLUSH_SIZE = 128 KiB.
const PLUG_SECTORS: Sectors = Sectors::from_kib(128);

#[derive(Clone, Copy, Debug)]
pub struct MqLimits {
    pub requests: Limits,
    /// The driver reserves a slot before the scheduler is asked (SCSI); otherwise one request is taken ahead.
    pub budget: bool,
    /// No policy: a request for which a driver tag is free goes straight to the driver while nothing waits (Linux v6.1 block/blk-mq.c: blk_mq_try_issue_directly).
    pub direct: bool,
    pub kernel: Kernel,
}

/// Until a policy is asked again that dispatched nothing. Linux 5.8 to 6.12 block/blk-mq-sched.c: BLK_MQ_BUDGET_DELAY.
const ASK_AGAIN_MILLIS: u64 = 3;

#[derive(Clone, Debug)]
pub struct MqQueue<S> {
    pub policy: S,
    base: Base,
    limits: MqLimits,
    /// Taken from the scheduler, waiting for a driver tag; those behind it, where several are taken at once.
    next: u32,
    dispatch_list: VecDeque<u32>,
    busyness: Busyness,
    takes_many: bool,
    /// A request waited for a driver tag when the queue was run: the next completion runs it again.
    restart: bool,
    /// When the policy is asked again that dispatched nothing.
    ask_again: Nanos,
    /// Where the scheduler tags lie, when the policy limits how many of them some requests may hold.
    tags: Option<Tags>,
    sleepers: VecDeque<ProcessId>,
    pub throttle: Option<Throttle>,
}

impl<S: Scheduler> MqQueue<S> {
    /// An empty queue; the driver has `depth` tags. `throttle`: write-back throttling, None when it is off.
    pub fn new(policy: S, limits: MqLimits, depth: u32, throttle: Option<Throttle>) -> Self {
        let requests = limits.requests.nr_requests;
        let kernel = limits.kernel;
        let tags = Tags::new(&policy, &kernel, requests);
        Self {
            policy,
            base: Base::new(limits.requests, depth, requests as usize),
            limits,
            next: NONE,
            dispatch_list: VecDeque::new(),
            busyness: Busyness::default(),
            takes_many: !limits.budget && takes_many(&kernel),
            restart: false,
            ask_again: Nanos::NEVER,
            tags,
            sleepers: VecDeque::new(),
            throttle,
        }
    }

    /// Starts what the policy dispatched.
    #[inline]
    fn start_taken<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        slot: u32,
        driver: &mut D,
        observer: &mut O,
    ) {
        let request = &self.base.table.get(slot).request;
        self.policy.issued(now, request.id);
        let access = Access::from(request);
        self.start(now, slot, access, driver, observer);
    }

    #[inline(always)]
    fn start<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        slot: u32,
        access: Access,
        driver: &mut D,
        observer: &mut O,
    ) {
        let entry = self.base.table.get_mut(slot);
        entry.state = State::InDrive;
        let request = &entry.request;
        observer.note(now, Event::Issued(request));
        observer.note(now, Event::Started(request));
        if let Some(throttle) = &mut self.throttle {
            if throttle.armed() {
                throttle.issued(now, request);
            }
        }
        self.base.start(now, slot, access, driver);
    }

    /// Dispatch: what is in the dispatch list first, then the scheduler one by one until no tag or nothing (Linux v6.1 block/blk-mq-sched.c: __blk_mq_do_dispatch_sched).
    #[inline]
    fn run<D: Driver, O: Observer>(&mut self, now: Nanos, driver: &mut D, observer: &mut O) {
        // At most completions there is nothing to do.
        if self.next != NONE || self.policy.has_work() {
            self.run_on(now, driver, observer);
        }
    }

    fn run_on<D: Driver, O: Observer>(&mut self, now: Nanos, driver: &mut D, observer: &mut O) {
        loop {
            if self.next != NONE {
                self.restart = true;
                if self.base.free_tags.is_empty() {
                    self.busyness.update(true);
                    return;
                }
                let slot = std::mem::replace(&mut self.next, NONE);
                self.start_taken(now, slot, driver, observer);
                if self.takes_many && !self.start_listed(now, driver, observer) {
                    return;
                }
            }
            if self.limits.budget && self.base.free_tags.is_empty() {
                self.restart = true;
                return;
            }
            if !self.policy.has_work() {
                return;
            }
            if self.takes_many {
                if !self.take_many(now) {
                    self.ask_later(now);
                    return;
                }
                if !self.start_listed(now, driver, observer) {
                    self.restart = true;
                    return;
                }
                continue;
            }
            match self.base.take(now, &mut self.policy) {
                None => {
                    self.ask_later(now);
                    return;
                }
                Some(slot) if self.base.free_tags.is_empty() => {
                    self.restart = true;
                    self.next = slot;
                    return;
                }
                Some(slot) => self.start_taken(now, slot, driver, observer),
            }
        }
    }

    /// Linux 5.9 to 5.11: everything at once while the queue was not busy lately, otherwise one. False if there was nothing.
    fn take_many(&mut self, now: Nanos) -> bool {
        let most = self.busyness.most(self.base.limits.nr_requests);
        while self.dispatch_list.len() < most && self.policy.has_work() {
            match self.base.take(now, &mut self.policy) {
                Some(slot) => self.dispatch_list.push_back(slot),
                None => break,
            }
        }
        !self.dispatch_list.is_empty()
    }

    /// Starts what was taken while driver tags last. True if nothing is left.
    fn start_listed<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        driver: &mut D,
        observer: &mut O,
    ) -> bool {
        while !self.base.free_tags.is_empty() {
            let Some(slot) = self.dispatch_list.pop_front() else {
                break;
            };
            self.start_taken(now, slot, driver, observer);
        }
        self.next = self.dispatch_list.pop_front().unwrap_or(NONE);
        let all = self.next == NONE;
        self.busyness.update(!all);
        all
    }

    /// The policy dispatched nothing.
    #[cold]
    fn ask_later(&mut self, now: Nanos) {
        let kernel = self.limits.kernel;
        if self.every_completion_runs() || !kernel.at_least(5, 8, 0) {
            return;
        }
        // Since 5.19 a delay that runs already is not begun anew.
        if kernel.at_least(5, 19, 0) && self.ask_again != Nanos::NEVER {
            return;
        }
        // The timer wheel rounds up by a tick so as never to be early. Linux 4.8 on kernel/time/timer.c: calc_index.
        let ticks = kernel.ticks_from_millis(ASK_AGAIN_MILLIS) + 1;
        self.ask_again = kernel.tick_start(kernel.jiffies(now) + ticks);
    }

    #[inline]
    fn every_completion_runs(&self) -> bool {
        self.limits.budget && !self.limits.kernel.at_least(5, 10, 0)
    }

    /// A request that arrives now is alone, and the drive has room for it.
    #[inline]
    fn is_quiet(&self) -> bool {
        self.next == NONE
            && self.policy.waiting() == 0
            && !self.base.free_tags.is_empty()
            && !self.takes_many
    }

    /// [`Self::insert`] and [`Self::run`] of a request that is alone: if it is dispatched nothing could have been merged with it.
    #[inline]
    fn insert_and_run<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        slot: u32,
        access: Access,
        driver: &mut D,
        observer: &mut O,
    ) {
        let request = &self.base.table.get(slot).request;
        observer.note(now, Event::Inserted(request));
        if self.policy.insert_and_dispatch(now, request) {
            self.policy.issued(now, request.id);
            self.start(now, slot, access, driver, observer);
            return self.run(now, driver, observer);
        }
        self.base.table.get_mut(slot).state = State::Waiting;
        self.base.merger.inserted(&mut self.base.table, slot);
        self.ask_later(now);
    }

    fn flush_plug<O: Observer>(&mut self, now: Nanos, observer: &mut O) {
        let plug = std::mem::take(&mut self.base.plug);
        for &slot in &plug {
            self.base.insert(now, slot, &mut self.policy, observer);
        }
        self.base.plug = plug;
        self.base.plug.clear();
    }

    /// A scheduler tag for a request like `bio`; where nobody is limited only their number counts, and they are all the same.
    #[inline]
    fn take_tag(&mut self, bio: &Bio) -> Option<u32> {
        if self.base.table.used() as u32 >= self.base.limits.nr_requests {
            return None;
        }
        match &mut self.tags {
            None => Some(0),
            Some(tags) => tags.take(&self.policy, bio),
        }
    }

    #[inline(always)]
    fn allocate(&mut self, now: Nanos, bio: &Bio, tag: u32) -> u32 {
        let slot = self.base.table.allocate(now, bio);
        if let Some(tags) = &mut self.tags {
            tags.give(slot, tag);
        }
        slot
    }

    /// A request for `bio` passes the scheduler by if a scheduler tag is free too.
    #[inline(always)]
    fn goes_straight(&self, bio: &Bio) -> bool {
        self.limits.direct
            && !self.base.plugging
            && self.next == NONE
            && self.policy.waiting() == 0
            && !self.base.free_tags.is_empty()
            && (bio.sync || self.throttle.is_none())
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
        let Base { table, merger, .. } = &mut self.base;
        let Some(merged) = merger.try_merge(now, table, &mut self.policy, bio) else {
            return false;
        };
        if let Some(gone) = self.base.merger.gone.take() {
            self.joined(gone);
        }
        observer.note(now, Event::Merged(bio, merged.front));
        if self.next == NONE {
            self.run(now, driver, observer);
        }
        true
    }

    /// The task sleeps for a scheduler tag, or until write-back throttling admits it.
    fn sleep<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        bio: &Bio,
        throttled: bool,
        driver: &mut D,
        observer: &mut O,
    ) {
        // A sleeping task flushes its plug first.
        if !self.base.plug.is_empty() {
            self.flush_plug(now, observer);
            self.run(now, driver, observer);
        }
        match &mut self.tags {
            Some(tags) if !throttled => tags.sleep(&self.policy, bio),
            _ => self.sleepers.push_back(bio.process),
        }
    }

    /// A new request goes to the task's plug, or to the scheduler, which runs the queue.
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
            if self.base.plug.len() >= PLUG_REQUESTS || bio.sectors >= PLUG_SECTORS {
                self.flush_plug(now, observer);
                self.run(now, driver, observer);
            }
        } else if self.is_quiet() {
            self.insert_and_run(now, slot, Access::from(bio), driver, observer);
        } else {
            self.base.insert(now, slot, &mut self.policy, observer);
            self.run(now, driver, observer);
        }
    }

    /// A waiting request became part of another one: its tag is free, and write-back throttling counts it no longer
    /// (Linux v6.1 block/blk-merge.c: blk_mq_sched_try_merge; block/blk-mq.c: blk_mq_free_request; block/blk-wbt.c: wbt_done).
    #[cold]
    fn joined(&mut self, gone: Gone) {
        if let Some(throttle) = &mut self.throttle {
            throttle.joined(gone.direction, gone.sync);
        }
        self.free_tag(gone.slot);
        self.base.woken.extend(self.sleepers.pop_front());
    }

    /// The tag of a request that is over: done, or part of another one.
    #[inline]
    fn free_tag(&mut self, slot: u32) {
        if let Some(tags) = &mut self.tags {
            tags.free(slot, self.base.table.used() == 0, &mut self.base.woken);
        }
    }
}

impl<S: Scheduler> BlockQueue for MqQueue<S> {
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
        // Who slept for a tag goes on behind the merges.
        let again = match &self.tags {
            None => false,
            Some(tags) => tags.tries_again(bio.process),
        };
        // Only the newest plugged request is looked at (Linux v6.1 block/blk-merge.c: blk_attempt_plug_merge).
        if self.base.plugging && !again && self.base.merge_into_plug(bio, 1) {
            observer.note(now, Event::Merged(bio, false));
            return Submission::Accepted;
        }
        if self.goes_straight(bio) {
            if let Some(tag) = self.take_tag(bio) {
                let slot = self.allocate(now, bio, tag);
                observer.note(now, Event::Inserted(&self.base.table.get(slot).request));
                self.start(now, slot, Access::from(bio), driver, observer);
                return Submission::Accepted;
            }
        }
        if !again && self.merge_into_waiting(now, bio, driver, observer) {
            return Submission::Accepted;
        }
        let throttled = match &mut self.throttle {
            Some(throttle) => !throttle.admits(now, bio),
            None => false,
        };
        if again {
            // Whoever was woken runs the queue before it looks for a tag.
            self.run(now, driver, observer);
        }
        let mut tag = None;
        if !throttled {
            tag = self.take_tag(bio);
            if tag.is_none() && !again && self.tags.is_some() {
                self.run(now, driver, observer);
                tag = self.take_tag(bio);
            }
        }
        let Some(tag) = tag else {
            self.sleep(now, bio, throttled, driver, observer);
            return Submission::Blocked;
        };
        if let Some(throttle) = &mut self.throttle {
            throttle.allocated(now, bio);
        }
        let slot = self.allocate(now, bio, tag);
        self.queue_request(now, slot, bio, driver, observer);
        Submission::Accepted
    }

    fn begin_plug(&mut self) {
        self.base.plugging = true;
    }

    fn end_plug<D: Driver, O: Observer>(&mut self, now: Nanos, driver: &mut D, observer: &mut O) {
        self.base.plugging = false;
        if !self.base.plug.is_empty() {
            self.flush_plug(now, observer);
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
        if self.policy.take_queue_kick() {
            self.run(now, driver, observer);
        }
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
        let request = &self.base.table.get(slot).request;
        observer.note(now, Event::Completed(request));
        self.policy.complete(now, request);
        if let Some(throttle) = &mut self.throttle {
            if throttle.armed() {
                throttle.completed(now, request);
            }
        }
        self.base
            .table
            .finish(slot, |token, sectors| done(Done { token, sectors }));
        self.free_tag(slot);
        if let Some(process) = self.sleepers.pop_front() {
            self.base.woken.push_back(process);
        }
        let kicked = self.policy.take_queue_kick();
        if std::mem::take(&mut self.restart) || kicked || self.every_completion_runs() {
            self.run(now, driver, observer);
        }
    }

    #[inline]
    fn timer(&self) -> Nanos {
        let policy = self.policy.timer().unwrap_or(Nanos::NEVER);
        let policy = policy.min(self.ask_again);
        match &self.throttle {
            None => policy,
            Some(throttle) => policy.min(throttle.timer()),
        }
    }

    fn fire<D: Driver, O: Observer>(&mut self, now: Nanos, driver: &mut D, observer: &mut O) {
        if self.policy.timer().is_some_and(|at| at <= now) && self.policy.fire(now) {
            self.run(now, driver, observer);
        }
        if self.ask_again <= now {
            self.ask_again = Nanos::NEVER;
            self.run(now, driver, observer);
        }
        if let Some(throttle) = &mut self.throttle {
            if throttle.timer() <= now && throttle.fire(now) {
                // More room: everybody who sleeps may try again.
                self.base.woken.extend(self.sleepers.drain(..));
            }
        }
    }
}
