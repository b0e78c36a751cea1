//! What lies below the threads of a machine: a drive behind its queue, or an array over several of them.

pub mod attached;
pub mod md;
pub mod served;
pub mod unit;

use crate::storage::attached::AttachedDrive;
use seekwise_device::Device;
use seekwise_host::block::{Bio, BlockQueue, Done, Observer, Submission};
use seekwise_sched::{Direction, ProcessId};
use seekwise_units::{Nanos, Sectors};

/// Token of a drive's flush that is done: no bio has it.
pub const FLUSHED: u32 = u32::MAX >> 4;

/// Storage as the event loop sees it.
pub trait Storage {
    /// When a drive or a thread of the storage's own is due next; `Nanos::NEVER` when none is.
    fn next_at(&self) -> Nanos;
    /// When [`Storage::fire`] is due next.
    fn timer(&self) -> Nanos;
    fn fire<O: Observer>(&mut self, now: Nanos, observer: &mut O);

    /// Requests that wait for service or are being served.
    fn allocated(&self) -> usize;
    fn totals(&self) -> Totals;
    /// Bytes read from and written to each member of an array since the start; empty for a drive alone.
    fn members(&self) -> Vec<MemberTotals> {
        Vec::new()
    }
}

/// Storage as the threads above see it. A bio that is blocked is handed in again, unchanged, when its process is woken.
pub trait Stack: Storage {
    fn submit<O: Observer>(&mut self, now: Nanos, bio: &Bio, observer: &mut O) -> Submission;

    /// Processor time that a request costs its task beside the call, before all of it is on its way: what md cuts and copies.
    #[inline(always)]
    fn task_work(&mut self, _now: Nanos, _direction: Direction, _sectors: Sectors) -> Nanos {
        Nanos::ZERO
    }

    /// The task begins to submit several bios in a row.
    fn begin_plug(&mut self);
    fn end_plug<O: Observer>(&mut self, now: Nanos, observer: &mut O);

    /// The process goes to sleep until its I/O is done.
    fn process_waits<O: Observer>(&mut self, now: Nanos, observer: &mut O);
    fn process_exits<O: Observer>(&mut self, now: Nanos, process: ProcessId, observer: &mut O);

    /// What is due at [`Storage::next_at`] happens. `done` hears of every bio that ends with it. How many steps that were: one, or more of which
    /// nobody outside heard but of the last.
    fn advance<O: Observer>(&mut self, now: Nanos, observer: &mut O, done: impl FnMut(Done))
        -> u64;

    /// Every drive empties its cache: how many were asked. The end of each comes as a [`Done`] of [`FLUSHED`]; until the last one has come no
    /// further flush is asked for.
    fn flush(&mut self, now: Nanos) -> u32;

    fn has_woken(&self) -> bool;
    /// A process that may try again, oldest sleeper first.
    fn take_woken(&mut self) -> Option<ProcessId>;
}

/// What one member of an array has done since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberTotals {
    pub read: Sectors,
    pub written: Sectors,
    pub commands: u64,
    pub busy: Nanos,
    /// What its requests took from its queue to their end, summed: over the elapsed time, how many were under way on average.
    pub taken: Nanos,
}

/// What the drives and the storage's own threads have done since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Time during which each drive had a command, summed.
    pub busy: Nanos,
    pub sectors: u64,
    pub merges: u64,
    /// Commands that drives completed, each with its interrupt; None where they are as many as the operations above.
    pub interrupts: Option<u64>,
    /// Processor time of the storage's own threads (md).
    pub thread: Nanos,
    /// What a resync or rebuild has gone through.
    pub resynced: Sectors,
    /// Pages of a write-intent bitmap written to members.
    pub bitmap_pages: u64,
}

impl MemberTotals {
    /// What was added after `earlier`, an older value of the same member.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            read: Sectors(self.read.0 - earlier.read.0),
            written: Sectors(self.written.0 - earlier.written.0),
            commands: self.commands - earlier.commands,
            busy: self.busy - earlier.busy,
            taken: Nanos(self.taken.0.wrapping_sub(earlier.taken.0)),
        }
    }
}

impl Totals {
    /// What was added after `earlier`, an older value of the same storage.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            busy: self.busy - earlier.busy,
            sectors: self.sectors - earlier.sectors,
            merges: self.merges - earlier.merges,
            interrupts: self
                .interrupts
                .map(|count| count - earlier.interrupts.unwrap_or(0)),
            thread: self.thread - earlier.thread,
            resynced: Sectors(self.resynced.0 - earlier.resynced.0),
            bitmap_pages: self.bitmap_pages - earlier.bitmap_pages,
        }
    }
}

/// One drive behind its queue.
pub struct Single<Q, D> {
    pub queue: Q,
    pub drive: AttachedDrive<D>,
}

impl<Q: BlockQueue, D: Device> Storage for Single<Q, D> {
    #[inline(always)]
    fn next_at(&self) -> Nanos {
        self.drive.next_at()
    }

    #[inline(always)]
    fn timer(&self) -> Nanos {
        self.queue.timer()
    }

    #[inline]
    fn fire<O: Observer>(&mut self, now: Nanos, observer: &mut O) {
        self.queue.fire(now, &mut self.drive, observer);
    }

    fn allocated(&self) -> usize {
        self.queue.allocated()
    }

    fn totals(&self) -> Totals {
        Totals {
            busy: self.drive.busy,
            sectors: self.drive.sectors,
            merges: self.queue.merges(),
            interrupts: None,
            thread: self.drive.host_work,
            resynced: Sectors(0),
            bitmap_pages: 0,
        }
    }
}

impl<Q: BlockQueue, D: Device> Stack for Single<Q, D> {
    #[inline(always)]
    fn submit<O: Observer>(&mut self, now: Nanos, bio: &Bio, observer: &mut O) -> Submission {
        self.queue.submit(now, bio, &mut self.drive, observer)
    }

    #[inline]
    fn begin_plug(&mut self) {
        self.queue.begin_plug();
    }

    #[inline]
    fn end_plug<O: Observer>(&mut self, now: Nanos, observer: &mut O) {
        self.queue.end_plug(now, &mut self.drive, observer);
    }

    fn process_waits<O: Observer>(&mut self, now: Nanos, observer: &mut O) {
        self.queue.process_waits(now, &mut self.drive, observer);
    }

    fn process_exits<O: Observer>(&mut self, now: Nanos, process: ProcessId, observer: &mut O) {
        self.queue
            .process_exits(now, process, &mut self.drive, observer);
    }

    #[inline(always)]
    fn advance<O: Observer>(
        &mut self,
        now: Nanos,
        observer: &mut O,
        mut done: impl FnMut(Done),
    ) -> u64 {
        if let Some(tag) = self.drive.advance(now) {
            if tag == self.drive.flush_tag() {
                done(Done {
                    token: FLUSHED,
                    sectors: Sectors(0),
                });
                return 1;
            }
            self.queue
                .complete(now, tag, &mut self.drive, observer, done);
        }
        1
    }

    fn flush(&mut self, now: Nanos) -> u32 {
        self.drive.flush(now);
        1
    }

    #[inline(always)]
    fn has_woken(&self) -> bool {
        self.queue.has_woken()
    }

    #[inline]
    fn take_woken(&mut self) -> Option<ProcessId> {
        self.queue.take_woken()
    }
}
