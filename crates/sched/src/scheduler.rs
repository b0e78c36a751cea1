//! The one trait behind which every policy stands.

use crate::request::{ProcessId, Request, RequestId};
use crate::tag_words::{Asking, TagWords};
use seekwise_units::{Lba, Nanos, Sectors};

/// A scheduling policy. Calls come in the order of simulated time; equal times in the order in which things happened.
///
/// A request is *waiting* from `insert` until `dispatch` hands it out, and *in the driver* from then until `complete`.
/// Cloning gives a policy that decides the same from the same calls: replay uses it to put a wrong choice back.
pub trait Scheduler: Clone {
    /// A request enters the scheduler.
    fn insert(&mut self, now: Nanos, request: &Request);

    /// The queue pulls one request. `None`: nothing waits, or the policy holds back (idling, draining).
    fn dispatch(&mut self, now: Nanos) -> Option<RequestId>;

    /// Nothing waits and the driver has room: may `request` pass at once? True: it did, and the policy is in the state that `insert` and
    /// `dispatch` would leave. A shortcut for quiet queues; false (always right) leaves the long way.
    #[inline]
    fn pass(&mut self, _now: Nanos, _request: &Request) -> bool {
        false
    }

    /// A request comes while nothing waits, and the queue pulls at once: [`Scheduler::insert`], then [`Scheduler::dispatch`]. True: it was
    /// dispatched. A policy can skip the bookkeeping that a request needs only while it waits.
    #[inline]
    fn insert_and_dispatch(&mut self, now: Nanos, request: &Request) -> bool {
        self.insert(now, request);
        self.dispatch(now).is_some()
    }

    /// Takes the waiting request `id` as though the policy had just chosen it (replay after a miss).
    fn dispatch_forced(&mut self, now: Nanos, id: RequestId);

    /// A request that was dispatched starts on the device. Between the two it may have waited for a tag.
    fn issued(&mut self, _now: Nanos, _id: RequestId) {}

    /// The device is done with a request that was dispatched.
    fn complete(&mut self, now: Nanos, request: &Request);

    /// Number of waiting requests.
    fn waiting(&self) -> usize;

    /// Does blk-mq ask for a request when it runs the hardware queue?
    #[inline]
    fn has_work(&self) -> bool {
        self.waiting() > 0
    }

    /// When the policy next wants [`Scheduler::fire`]; `None` when no timer runs.
    fn timer(&self) -> Option<Nanos> {
        None
    }

    /// The timer is due. True when the queue should be run now.
    fn fire(&mut self, _now: Nanos) -> bool {
        false
    }

    /// May `bio` be merged into the waiting `request`?
    fn may_merge(&self, _request: &Request, _bio: &Request) -> bool {
        true
    }

    /// The waiting request behind `id` in the policy's own order: the one that a back merge may make it touch.
    /// Sector order for most policies, arrival order for noop. `None`: there is none, or the policy does not coalesce.
    fn neighbour_after(&self, _id: RequestId) -> Option<RequestId> {
        None
    }

    /// The waiting request before `id` in the policy's own order: the one that a front merge may make it touch.
    fn neighbour_before(&self, _id: RequestId) -> Option<RequestId> {
        None
    }

    /// A waiting request that starts where `bio` ends, if the policy looks for front merges by sector.
    fn front_merge_candidate(&self, _bio: &Request) -> Option<RequestId> {
        None
    }

    /// A waiting request grew by a merge to the given place and length.
    fn grown(&mut self, now: Nanos, id: RequestId, start: Lba, sectors: Sectors);

    /// Two waiting requests became one: `gone` is now part of `kept`, which was already notified of its growth.
    fn joined(&mut self, now: Nanos, kept: RequestId, gone: RequestId);

    /// Bits of each word of the scheduler tags (or of all, see [`TagWords`]) that a request like this may occupy (blk-mq: shallow depth).
    /// `None`: all.
    fn tag_depth(&self, _asking: Asking, _words: TagWords) -> Option<u32> {
        None
    }

    /// The least that [`Scheduler::tag_depth`] may say. `None`: this policy limits nobody.
    fn tag_depth_min(&self, _words: TagWords) -> Option<u32> {
        None
    }

    /// True once after a call in which the policy wanted the queue run at once, plugged or not (the awaited request came,
    /// a running slice was preempted). The queue asks after `insert`, `complete` and merges; replay need not.
    fn take_queue_kick(&mut self) -> bool {
        false
    }

    /// So many hardware queues come to it, before the first request. A policy with one set of lists for all of them has nothing to do.
    fn open_queues(&mut self, _hardware: usize) {}

    /// The hardware queue that inserts and dispatches from now on.
    fn turn_to(&mut self, _queue: usize) {}

    /// True once after a kick that is meant for this hardware queue: a kernel thread on its processor runs it.
    fn take_woken(&mut self, _queue: usize) -> bool {
        false
    }

    /// Whether that run has to wait until the submitting task gives up the processor (work handed to a kernel thread).
    fn queue_kick_waits(&self) -> bool {
        false
    }

    /// Writes the inner state in words, one fact a line, for `--explain`.
    fn describe(&self, _now: Nanos, _out: &mut String) {}

    /// A process ended; it will submit nothing more.
    fn process_exits(&mut self, _now: Nanos, _process: ProcessId) {}
}
