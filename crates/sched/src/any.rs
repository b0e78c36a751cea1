//! Any scheduler of the registry is one.

use crate::request::{ProcessId, Request, RequestId};
use crate::scheduler::Scheduler;
use crate::tag_words::{Asking, TagWords};
use crate::AnyScheduler;
use seekwise_units::{Lba, Nanos, Sectors};

impl Scheduler for AnyScheduler {
    #[inline]
    fn insert(&mut self, now: Nanos, request: &Request) {
        forward!(self, policy => policy.insert(now, request))
    }
    #[inline]
    fn dispatch(&mut self, now: Nanos) -> Option<RequestId> {
        forward!(self, policy => policy.dispatch(now))
    }
    #[inline]
    fn pass(&mut self, now: Nanos, request: &Request) -> bool {
        forward!(self, policy => policy.pass(now, request))
    }
    #[inline]
    fn insert_and_dispatch(&mut self, now: Nanos, request: &Request) -> bool {
        forward!(self, policy => policy.insert_and_dispatch(now, request))
    }
    fn dispatch_forced(&mut self, now: Nanos, id: RequestId) {
        forward!(self, policy => policy.dispatch_forced(now, id))
    }
    #[inline]
    fn issued(&mut self, now: Nanos, id: RequestId) {
        forward!(self, policy => policy.issued(now, id))
    }
    #[inline]
    fn complete(&mut self, now: Nanos, request: &Request) {
        forward!(self, policy => policy.complete(now, request))
    }
    #[inline]
    fn waiting(&self) -> usize {
        forward!(self, policy => policy.waiting())
    }
    #[inline]
    fn has_work(&self) -> bool {
        forward!(self, policy => policy.has_work())
    }
    #[inline]
    fn timer(&self) -> Option<Nanos> {
        forward!(self, policy => policy.timer())
    }
    fn fire(&mut self, now: Nanos) -> bool {
        forward!(self, policy => policy.fire(now))
    }
    fn may_merge(&self, request: &Request, bio: &Request) -> bool {
        forward!(self, policy => policy.may_merge(request, bio))
    }
    fn neighbour_after(&self, id: RequestId) -> Option<RequestId> {
        forward!(self, policy => policy.neighbour_after(id))
    }
    fn neighbour_before(&self, id: RequestId) -> Option<RequestId> {
        forward!(self, policy => policy.neighbour_before(id))
    }
    fn front_merge_candidate(&self, bio: &Request) -> Option<RequestId> {
        forward!(self, policy => policy.front_merge_candidate(bio))
    }
    fn grown(&mut self, now: Nanos, id: RequestId, start: Lba, sectors: Sectors) {
        forward!(self, policy => policy.grown(now, id, start, sectors))
    }
    fn joined(&mut self, now: Nanos, kept: RequestId, gone: RequestId) {
        forward!(self, policy => policy.joined(now, kept, gone))
    }
    fn tag_depth(&self, asking: Asking, words: TagWords) -> Option<u32> {
        forward!(self, policy => policy.tag_depth(asking, words))
    }
    fn tag_depth_min(&self, words: TagWords) -> Option<u32> {
        forward!(self, policy => policy.tag_depth_min(words))
    }
    #[inline]
    fn queue_kick_waits(&self) -> bool {
        forward!(self, policy => policy.queue_kick_waits())
    }

    fn open_queues(&mut self, hardware: usize) {
        forward!(self, policy => policy.open_queues(hardware))
    }
    #[inline]
    fn turn_to(&mut self, queue: usize) {
        forward!(self, policy => policy.turn_to(queue))
    }
    #[inline]
    fn take_woken(&mut self, queue: usize) -> bool {
        forward!(self, policy => policy.take_woken(queue))
    }
    fn take_queue_kick(&mut self) -> bool {
        forward!(self, policy => policy.take_queue_kick())
    }
    fn describe(&self, now: Nanos, out: &mut String) {
        forward!(self, policy => policy.describe(now, out))
    }
    fn process_exits(&mut self, now: Nanos, process: ProcessId) {
        forward!(self, policy => policy.process_exits(now, process))
    }
}
