//! The block layer around a scheduler: what turns a thread's bios into commands of a drive.
//!
//! ```text
//!   thread ──bio──▶ plug ──▶ merge ──▶ allocate ──▶ scheduler ──▶ dispatch list ──▶ driver tags ──▶ drive
//!                                      (sleep when full)              (one ahead)
//! ```
//!
//! `legacy`: the single queue up to 4.x. `mq`: blk-mq. Both own the table of requests and talk to a drive through [`Driver`].
//! Facts were checked against Linux 2.6.23 to 6.12; comments name file and version.

pub mod base;
pub mod either;
pub mod legacy;
pub mod merge;
pub mod mq;
pub mod table;
pub mod tags;
pub mod wbt;

use base::Base;
use seekwise_sched::tag_words::Asking;
use seekwise_sched::{Direction, Priority, ProcessId, Request, RequestId};
use seekwise_units::{Lba, Nanos, Sectors};

/// What a thread hands down at once; no longer than the queue's `max_sectors`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bio {
    /// The operation that this is a part of; comes back at completion.
    pub token: u32,
    pub start: Lba,
    pub sectors: Sectors,
    pub direction: Direction,
    pub sync: bool,
    pub no_idle: bool,
    pub metadata: bool,
    pub process: ProcessId,
    pub priority: Priority,
    /// The submitter asks for the queue to be run at once (flag of old kernels that unplugs).
    pub unplug: bool,
}

impl Bio {
    /// A request of this bio alone, as a policy sees it.
    #[inline(always)]
    pub fn request(&self, id: RequestId, allocated: Nanos) -> Request {
        Request {
            id,
            start: self.start,
            sectors: self.sectors,
            direction: self.direction,
            sync: self.sync,
            no_idle: self.no_idle,
            metadata: self.metadata,
            process: self.process,
            priority: self.priority,
            allocated,
        }
    }

    /// A plain one: reads are waited for, writes are not, and nothing else is marked. What differs is set by the caller.
    #[inline(always)]
    pub fn new(
        token: u32,
        direction: Direction,
        start: Lba,
        sectors: Sectors,
        process: ProcessId,
    ) -> Self {
        Self {
            token,
            start,
            sectors,
            direction,
            sync: direction == Direction::Read,
            no_idle: false,
            metadata: false,
            process,
            priority: Priority::default(),
            unplug: false,
        }
    }
}

impl From<&Bio> for Asking {
    #[inline(always)]
    fn from(bio: &Bio) -> Self {
        Self {
            process: bio.process,
            sync: bio.sync,
            direction: bio.direction,
        }
    }
}

/// What happened to a bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    Accepted,
    /// No request free: the process sleeps and submits this bio again when [`BlockQueue::take_woken`] names it.
    Blocked,
}

/// What a drive is asked for. Handed down by value: read back from a table into which it has just been written, it would have to wait
/// for the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub direction: Direction,
    pub start: Lba,
    pub sectors: Sectors,
}

impl From<&Bio> for Access {
    #[inline(always)]
    fn from(bio: &Bio) -> Self {
        Self {
            direction: bio.direction,
            start: bio.start,
            sectors: bio.sectors,
        }
    }
}

impl From<&Request> for Access {
    #[inline(always)]
    fn from(request: &Request) -> Self {
        Self {
            direction: request.direction,
            start: request.start,
            sectors: request.sectors,
        }
    }
}

/// The border towards a drive.
pub trait Driver {
    /// Commands that the drive holds at once.
    fn depth(&self) -> u32;
    fn start(&mut self, now: Nanos, tag: u32, access: Access);
}

/// What happens to a bio or a request on its way.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A thread hands a bio to the block layer (again, when it had to sleep).
    Submitted(&'a Bio),
    /// The request enters the scheduler.
    Inserted(&'a Request),
    /// The queue took the request from the scheduler.
    Issued(&'a Request),
    /// The drive accepted it.
    Started(&'a Request),
    Completed(&'a Request),
    /// A bio was joined to a waiting request, at its front or behind it.
    Merged(&'a Bio, bool),
}

/// Who watches. Nothing is noted unless a trace is kept.
pub trait Observer {
    /// Of an array, whether it hears of every member; of the first one alone otherwise.
    const EVERY_MEMBER: bool = false;

    #[inline(always)]
    fn note(&mut self, _now: Nanos, _event: Event) {}
}

impl<O: Observer> Observer for Option<O> {
    #[inline(always)]
    fn note(&mut self, now: Nanos, event: Event) {
        if let Some(observer) = self {
            observer.note(now, event);
        }
    }
}

impl<O: Observer> Observer for &mut O {
    #[inline(always)]
    fn note(&mut self, now: Nanos, event: Event) {
        (**self).note(now, event);
    }
}

/// Notes nothing, costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;
impl Observer for Unobserved {}

/// A part of an operation is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    pub token: u32,
    pub sectors: Sectors,
}

/// When a queue that is plugged now is run at the latest. Linux 2.6.24 block/ll_rw_blk.c: `q->unplug_delay`, 3 ms in whole ticks, at least
/// one; a timer of n ticks ends at the n-th following tick. md's own queue has it too.
pub fn unplug_due(now: Nanos, hz: u32) -> Nanos {
    let hz = u64::from(hz);
    let ticks = (3 * hz / 1000).max(1);
    let jiffies = now.0 * hz / 1_000_000_000;
    Nanos((jiffies + ticks) * 1_000_000_000 / hz)
}

/// A queue with its scheduler, as the event loop drives it.
pub trait BlockQueue {
    fn base(&self) -> &Base;
    fn base_mut(&mut self) -> &mut Base;

    fn submit<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        bio: &Bio,
        driver: &mut D,
        observer: &mut O,
    ) -> Submission;

    /// How much bios of this kind, one behind the other from `bio.start` on, may add to the request that waits there while nothing else comes of
    /// it: no other request is made, none is joined before the last of them. So one long bio of that length leaves the queue the same.
    /// Zero where that is not known.
    fn room_behind(&self, _bio: &Bio) -> Sectors {
        Sectors(0)
    }

    /// The longest request that it makes (max_sectors_kb).
    #[inline]
    fn max_sectors(&self) -> Sectors {
        self.base().limits.max_sectors
    }

    /// The task begins to submit several bios in a row (per-task plug).
    fn begin_plug(&mut self) {}

    /// The task's batch ends.
    fn end_plug<D: Driver, O: Observer>(
        &mut self,
        _now: Nanos,
        _driver: &mut D,
        _observer: &mut O,
    ) {
    }

    /// Something waits for a plug to be removed: [`BlockQueue::process_waits`] would do something.
    #[inline]
    fn held_back(&self, _now: Nanos) -> bool {
        false
    }

    /// The process goes to sleep until its I/O is done.
    fn process_waits<D: Driver, O: Observer>(
        &mut self,
        _now: Nanos,
        _driver: &mut D,
        _observer: &mut O,
    ) {
    }

    fn process_exits<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        process: ProcessId,
        driver: &mut D,
        observer: &mut O,
    );

    /// Whether the request that went to the drive as the command `tag` writes, and its length.
    #[inline]
    fn served(&self, tag: u32) -> (bool, Sectors) {
        let base = self.base();
        let request = &base.table.get(base.slot_of(tag)).request;
        (request.direction == Direction::Write, request.sectors)
    }

    /// The drive is done with the command `tag`. `done` hears of every bio of the request.
    fn complete<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        tag: u32,
        driver: &mut D,
        observer: &mut O,
        done: impl FnMut(Done),
    );

    /// When [`BlockQueue::fire`] is due next; `Nanos::NEVER` when no timer runs.
    fn timer(&self) -> Nanos;

    fn fire<D: Driver, O: Observer>(&mut self, now: Nanos, driver: &mut D, observer: &mut O);

    #[inline(always)]
    fn has_woken(&self) -> bool {
        !self.base().woken.is_empty()
    }

    /// A process that may try again, oldest sleeper first.
    #[inline]
    fn take_woken(&mut self) -> Option<ProcessId> {
        self.base_mut().woken.pop_front()
    }

    /// So many requests are allocated that work nobody waits for should stay away (single queue only).
    fn congested(&self, _direction: Direction, _sync: bool) -> bool {
        false
    }

    /// Requests allocated and not yet completed.
    fn allocated(&self) -> usize {
        self.base().table.used()
    }

    /// Bios that joined another request instead of getting their own.
    fn merges(&self) -> u64 {
        self.base().merger.merges
    }
}
