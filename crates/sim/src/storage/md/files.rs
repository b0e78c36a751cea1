//! md below files: the files' side charges processor time step by step, and is notified of each piece.
//!
//! What differs from bios of raw devices:
//! - the md thread takes a processor like any task, and the files' side sets when its work is done;
//! - an interrupt is served before its queue is notified of the completion;
//! - each piece of an operation is notified by itself ([`Md::pieces_done`]), since a page can be read as soon as it is there;
//! - a submitter sleeps while the stripe cache is full; rows wait there for an unplug on every kernel;
//! - mirrored writes go to the members in the task, none of them counted as pending by the read balance; with a write-intent bitmap the thread
//!   sends them, once the pages of the bitmap are written.

use crate::storage::md::member_bio::{MemberBio, Owner};
use crate::storage::md::{member_sink, CallFrom, Md, MdCall, MdMember, MD_THREAD};
use crate::storage::{MemberTotals, Storage, Totals};
use seekwise_device::Device;
use seekwise_host::block::{unplug_due, BlockQueue, Observer};
use seekwise_raid::md::volume::{Piece, Volume};
use seekwise_sched::Direction;
use seekwise_units::{Lba, Nanos, Sectors};
use std::collections::VecDeque;

/// md whose drives' interrupts and whose thread are the host's to serve.
pub struct Hosted<Q, D> {
    pub(crate) md: Md<Q, D>,
    /// Commands that drives have done and of which their queues are told once the interrupt has been served: then, member and tag.
    notified: VecDeque<(Nanos, usize, u32)>,
}

/// What comes of a drive.
pub(crate) enum DriveEvent {
    /// The interrupt of a command has been served.
    Served { member: usize, tag: u32 },
    /// A drive's next step is due.
    Step { member: usize },
    /// md's own work beside the load: a resync, or the daemon of the bitmap.
    Background,
}

impl<Q: BlockQueue, D: Device> Hosted<Q, D> {
    /// Around an array or a drive that nothing has been submitted to.
    pub fn new(md: Md<Q, D>) -> Self {
        Self {
            md,
            notified: VecDeque::new(),
        }
    }

    /// Where the bios of the volume go.
    pub fn volume(&self) -> &Volume {
        &self.md.volume
    }

    /// The interrupt of a command is served by `at`, behind those before it.
    pub(crate) fn notify(&mut self, at: Nanos, member: usize, tag: u32) {
        self.notified.push_back((at, member, tag));
    }

    /// When a drive or its interrupt is due next.
    fn drives_at(&self) -> Nanos {
        let notified = self.notified.front().map_or(Nanos::NEVER, |first| first.0);
        self.md.due.first().min(notified)
    }

    /// What is due at [`Storage::next_at`]; of members at the same time, the first one's.
    pub(crate) fn take_drive_event(&mut self) -> DriveEvent {
        if self.md.has_background() && self.md.background_at() < self.drives_at() {
            return DriveEvent::Background;
        }
        let step = (self.md.due.first(), self.md.due.place());
        match self.notified.front() {
            Some(&(at, member, tag)) if (at, member) <= step => {
                self.notified.pop_front();
                DriveEvent::Served { member, tag }
            }
            _ => DriveEvent::Step { member: step.1 },
        }
    }
}

impl<Q: BlockQueue, D: Device> Storage for Hosted<Q, D> {
    fn next_at(&self) -> Nanos {
        let drives = self.drives_at();
        if self.md.has_background() {
            return drives.min(self.md.background_at());
        }
        drives
    }

    fn timer(&self) -> Nanos {
        self.md.timers.first()
    }

    fn fire<O: Observer>(&mut self, now: Nanos, observer: &mut O) {
        self.md.fire_queue(now, observer);
    }

    fn allocated(&self) -> usize {
        self.md
            .members
            .iter()
            .map(|member| member.queue.allocated())
            .sum()
    }

    fn totals(&self) -> Totals {
        self.md.totals()
    }

    fn members(&self) -> Vec<MemberTotals> {
        match self.md.volume {
            Volume::Single { .. } => Vec::new(),
            _ => self.md.members(),
        }
    }
}

impl<Q: BlockQueue, D: Device> Md<Q, D> {
    /// A drive's next step is taken: the tag of the command that is done by it, if any, and processor time of the host for the drive's own work.
    pub(crate) fn drive_steps(&mut self, now: Nanos, index: usize) -> (Option<u32>, Nanos) {
        let drive = &mut self.members[index].drive;
        let tag = drive.advance(now);
        let work = core::mem::take(&mut drive.host_work);
        self.refresh(now, index);
        (tag, work)
    }

    /// The interrupt of a command has been served: its queue hears of it.
    pub(crate) fn command_done<O: Observer>(
        &mut self,
        now: Nanos,
        index: usize,
        tag: u32,
        observer: &mut O,
    ) {
        let (member, finished) = (&mut self.members[index], &mut self.finished);
        let MdMember {
            queue,
            drive,
            done,
            completed,
            ..
        } = member;
        done.commands += 1;
        queue.complete(now, tag, drive, &mut member_sink(index, observer), |part| {
            done.taken.0 = done.taken.0.wrapping_add(now.0);
            completed.0 += part.sectors.0;
            finished.push(part);
        });
        self.further_done(now, index, observer);
        self.refresh(now, index);
    }

    /// Writes go through the stripe cache.
    pub(crate) fn has_stripes(&self) -> bool {
        self.parity.is_some()
    }

    /// No stripe is free: a writer has to sleep until one is.
    pub(crate) fn stripes_full(&self) -> bool {
        self.parity
            .as_ref()
            .is_some_and(|parity| parity.waits_for_stripe())
    }

    /// A write arrives at the stripe cache.
    pub(crate) fn write_file_stripes(
        &mut self,
        now: Nanos,
        io: u32,
        (start, sectors): (Lba, Sectors),
        sync: bool,
    ) {
        let owner = if self.intent.is_some() {
            let call = self.file_call(io, sectors, None);
            self.write_intended(now, call, start, sectors);
            Owner::Call(call)
        } else {
            Owner::File(io)
        };
        self.write_stripes(owner, start, sectors, sync);
        if self.stripes_full() {
            // A writer that waits for a stripe unplugs.
            self.unplug_thread(now);
        } else {
            self.unplug_at = self.unplug_at.min(unplug_due(now, self.hz));
        }
    }

    /// md knows a range of an operation with files as one.
    fn file_call(&mut self, io: u32, sectors: Sectors, read: Option<Piece>) -> u32 {
        self.calls.insert(MdCall {
            from: CallFrom::File(read),
            token: io,
            sectors,
            left: 1,
        }) as u32
    }

    /// Writes to mirrors wait for pages of the bitmap, and go out by the thread.
    pub(crate) fn mirrors_wait_for_bitmap(&self) -> bool {
        self.intent.is_some() && self.volume.mirrored()
    }

    /// A mirrored write is left to the thread.
    pub(crate) fn write_file_mirrors(
        &mut self,
        now: Nanos,
        (start, sectors): (Lba, Sectors),
        order: impl Fn(Piece) -> MemberBio,
        io: u32,
    ) {
        let call = self.file_call(io, sectors, None);
        self.write_intended(now, call, start, sectors);
        let mut pieces = core::mem::take(&mut self.pieces);
        pieces.clear();
        self.copies_of_write(start, sectors, &mut pieces);
        self.calls[call as usize].left = pieces.len() as u32;
        for &piece in &pieces {
            // As md counts them from raw devices, too: the call's end takes them off again.
            self.volume.write_begins(&piece);
            self.thread.mirrored.push_back(MemberBio {
                owner: Owner::Call(call),
                process: MD_THREAD,
                ..order(piece)
            });
        }
        self.pieces = pieces;
        self.unplug_at = self.unplug_at.min(unplug_due(now, self.hz));
    }

    /// The stripe cache serves a read of a degraded array; true when it does.
    pub(crate) fn reads_missing(&mut self, now: Nanos, io: u32, piece: &Piece) -> bool {
        if !self.reads_stripes(piece) {
            return false;
        }
        let call = self.file_call(io, piece.sectors, Some(*piece));
        let from = Lba(piece.volume_end.0 - piece.sectors.0);
        self.stripe_job(Owner::Call(call), from, piece.sectors, None);
        self.thread.wake(now);
        true
    }

    /// The submitter's plug ends, or somebody waits.
    pub(crate) fn unplug_stripes(&mut self, now: Nanos) {
        if self.unplug_at < Nanos::NEVER || self.stripes_full() {
            self.unplug_thread(now);
        }
    }

    /// When the thread wants a processor, or its plug's timer is due.
    pub(crate) fn thread_at(&self) -> Nanos {
        self.thread.due.min(self.unplug_at)
    }

    pub(crate) fn plug_is_due(&self, now: Nanos) -> bool {
        self.unplug_at <= now
    }

    pub(crate) fn congested(&self, direction: Direction, sync: bool) -> bool {
        let of_queue = |queue: &Q| queue.congested(direction, sync);
        self.stripes_full() || self.members.iter().any(|member| of_queue(&member.queue))
    }
}
