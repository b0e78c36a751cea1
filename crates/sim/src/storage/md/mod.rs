//! md at work: a volume over members, each with its own queue and scheduler, and the md thread beside the tasks.
//!
//! ```text
//!   bio ─▶ volume: split, choose members ─┬─ reads, RAID 0 ─────────────▶ member queues    in the task
//!                                         ├─ mirrored writes ─▶ thread ─▶ member queues    (with a plug, or from 6.5 on: in the task)
//!                                         └─ parity: stripe cache ─▶ thread ─▶ member queues
//! ```
//!
//! Modelled:      reads around the stripe cache, reads and writes of a degraded array, a resync or rebuild beside the load (`resync`),
//!                processor time of the thread, its wake-ups, a task or the thread asleep for a request of a member.
//! Not modelled:  processor time that a submitter on a raw device saves while it sleeps for a stripe (its later writes wait in order; with files it sleeps: `files`), several threads (`group_thread_cnt`), write-behind, a resync that a bitmap shortens.

mod done;
pub mod files;
mod forced;
mod intent;
pub(crate) mod member_bio;
mod members;
pub mod soonest;
mod stack;
mod steps;
pub(crate) mod thread;

use crate::cost::MdCosts;
use crate::storage::attached::AttachedDrive;
use crate::storage::{MemberTotals, Storage};
use forced::MemberFlushes;
use intent::Intent;
use member_bio::{MemberBio, Owner};
use seekwise_device::Device;
use seekwise_host::block::{unplug_due, Bio, BlockQueue, Done, Observer, Submission};
use seekwise_host::cpu::SharedProcessor;
use seekwise_raid::md::raid5::Raid5;
use seekwise_raid::md::volume::{Piece, Volume};
use seekwise_raid::md::MdGeneration;
use seekwise_sched::kernel::HZ_DEFAULT;
use seekwise_sched::{Direction, ProcessId};
use seekwise_units::{Lba, Nanos, Sectors, Version};
use slab::Slab;
use soonest::Soonest;
use std::collections::VecDeque;
use steps::Background;
use thread::MdThread;

/// The md thread among the processes that schedulers know.
pub const MD_THREAD: ProcessId = ProcessId(1 << 20);
/// The thread of a resync or rebuild.
pub const RESYNC_THREAD: ProcessId = ProcessId((1 << 20) + 1);

/// Mark in the number of a request of a member that is a bio of the volume, whole: the rest of the number is the bio's, and nothing else needs to be
/// known when it comes back. Only levels that keep no account of what is under way have such requests.
const WHOLE: u32 = 1 << 31;
/// Mark in the number of a request of the stripe cache; the rest is the stripe head of its first row.
const OF_STRIPE: u32 = 1 << 30;

/// A drive of the array behind its queue.
pub struct MdMember<Q, D> {
    pub queue: Q,
    pub drive: AttachedDrive<D>,
    /// Not read; not written either, unless it is being rebuilt.
    pub missing: bool,
    pub rebuilt: bool,
    /// But for the drive's busy time. What its requests took are their ends less their beginnings, which wraps while any is under way.
    pub done: MemberTotals,
    /// Of what was read and written, what a resync has issued.
    pub resynced: Sectors,
    /// Sectors of requests that are done.
    pub completed: Sectors,
    /// Given something since the plugs were removed last.
    given: bool,
    flushes: MemberFlushes,
}

/// A bio of the volume on its way, or a range of an operation with files that md has to know as one.
#[derive(Clone, Copy, Debug)]
struct MdCall {
    from: CallFrom,
    token: u32,
    sectors: Sectors,
    /// Pieces and jobs of the stripe cache not done yet.
    left: u32,
}

#[derive(Clone, Copy, Debug)]
enum CallFrom {
    Bio,
    /// Which piece it is, if it is read.
    File(Option<Piece>),
}

/// What a task could not send, because a member had no request free.
struct Stalled {
    process: ProcessId,
    token: u32,
    orders: Vec<MemberBio>,
}

/// Who hears what a member does: a trace shows one drive.
fn member_sink<O: Observer>(member: usize, observer: &mut O) -> Option<&mut O> {
    (O::EVERY_MEMBER || member == 0).then_some(observer)
}

pub struct Md<Q, D> {
    pub members: Vec<MdMember<Q, D>>,
    pub(crate) volume: Volume,
    parity: Option<Box<Raid5>>,
    generation: MdGeneration,
    hz: u32,
    degraded: bool,
    /// Time of the newest event: what was due before it is due then.
    clock: Nanos,
    /// Mirrored writes wait for the end of their task's plug, or go to the md thread where there is none: up to 6.4, and with an internal bitmap later, too.
    mirrors_wait: bool,
    /// Each direct write has such a plug, so its task sends it: Linux 3.6 to 6.4 (block/fops.c: blkdev_write_iter; drivers/md/raid1-10.c: raid1_unplug).
    direct_plugged: bool,
    calls: Slab<MdCall>,
    /// Bios under way that are one request and have no call.
    whole_bios: usize,
    /// For whom the stripe cache works, by its numbers.
    jobs: Slab<Owner>,
    under_way: Slab<MemberBio>,
    stalled: Vec<Stalled>,
    plugging: bool,
    /// Mirrored writes held until the task's plug ends.
    plugged: Vec<MemberBio>,
    /// Reads of a healthy array with parity, and what RAID 10 is asked for, pass one lock: when it is free for the next.
    lock_free: Nanos,
    /// When rows and mirrored writes that wait for an unplug go to the thread.
    unplug_at: Nanos,
    pub(crate) thread: MdThread,
    resync: Option<Background>,
    intent: Option<Box<Intent>>,
    /// Per member: next completion, and next timer of the queue.
    due: Soonest,
    timers: Soonest,
    /// Members whose plugs may have to be removed.
    given: Vec<u32>,
    /// What the running bio became, used again.
    orders: Vec<MemberBio>,
    woken: VecDeque<ProcessId>,
    ended: Vec<Done>,
    /// Operations with files of which something has ended, and the piece if it was read.
    pub(crate) pieces_done: Vec<(u32, Option<Piece>)>,
    pub(crate) pieces: Vec<Piece>,
    finished: Vec<Done>,
}

impl<Q: BlockQueue, D: Device> Md<Q, D> {
    /// `parity` is the stripe cache of RAID 5 and 6. `missing` members are neither read nor written.
    pub fn new(
        members: Vec<(Q, AttachedDrive<D>)>,
        mut volume: Volume,
        mut parity: Option<Box<Raid5>>,
        (kernel, hz): (Version, u32),
        missing: &[u32],
        costs: MdCosts,
    ) -> Self {
        for &member in missing {
            volume.lose(member);
            if let Some(parity) = &mut parity {
                parity.set_missing(member, true);
            }
        }
        let count = members.len();
        let generation = MdGeneration::of(kernel);
        let plugs = kernel < Version(6, 5, 0);
        Self {
            members: members
                .into_iter()
                .enumerate()
                .map(|(index, (queue, drive))| MdMember {
                    queue,
                    drive,
                    missing: missing.contains(&(index as u32)),
                    rebuilt: false,
                    done: MemberTotals::default(),
                    resynced: Sectors(0),
                    completed: Sectors(0),
                    given: false,
                    flushes: MemberFlushes::default(),
                })
                .collect(),
            volume,
            parity,
            generation,
            hz,
            degraded: !missing.is_empty(),
            clock: Nanos::ZERO,
            mirrors_wait: plugs,
            direct_plugged: plugs && generation >= MdGeneration::Linux4_4,
            calls: Slab::new(),
            whole_bios: 0,
            jobs: Slab::new(),
            under_way: Slab::new(),
            stalled: Vec::new(),
            plugging: false,
            plugged: Vec::new(),
            lock_free: Nanos::ZERO,
            unplug_at: Nanos::NEVER,
            thread: MdThread::new(costs),
            resync: None,
            intent: None,
            due: Soonest::new(count),
            timers: Soonest::new(count),
            given: Vec::with_capacity(count),
            orders: Vec::new(),
            woken: VecDeque::new(),
            ended: Vec::new(),
            pieces_done: Vec::new(),
            pieces: Vec::new(),
            finished: Vec::new(),
        }
    }

    /// A drive alone: one member, and nothing for a thread to do.
    pub fn alone(queue: Q, drive: AttachedDrive<D>, capacity: Sectors) -> Self {
        let volume = Volume::Single { capacity };
        let kernel = (Version(4, 4, 0), HZ_DEFAULT);
        let members = vec![(queue, drive)];
        Self::new(members, volume, None, kernel, &[], MdCosts::MODERN)
    }

    /// The md thread books this processor.
    pub fn share(&mut self, processor: SharedProcessor) {
        self.thread.sharing(processor);
    }

    /// Cuts a bio into requests of members, or gives it to the stripe cache or the thread; what the task sends itself is in `orders`.
    fn split(&mut self, now: Nanos, bio: &Bio, orders: &mut Vec<MemberBio>) {
        let write = bio.direction == Direction::Write;
        let call = self.calls.insert(MdCall {
            from: CallFrom::Bio,
            token: bio.token,
            sectors: bio.sectors,
            left: 0,
        }) as u32;
        let mut sets_bit = false;
        if write {
            sets_bit = self.write_intended(now, call, bio.start, bio.sectors);
            if let Some(intent) = &mut self.intent {
                intent.write_comes_from(bio.process);
            }
        }
        if write && self.parity.is_some() {
            self.calls[call as usize].left += 1;
            if let Some(parity) = &mut self.parity {
                parity.submits(Some(bio.process.0));
            }
            self.write_stripes(Owner::Call(call), bio.start, bio.sectors, bio.sync);
            self.hand_over(now, bio.sync || bio.unplug);
            return;
        }
        let mut pieces = core::mem::take(&mut self.pieces);
        pieces.clear();
        if write {
            self.copies_of_write(bio.start, bio.sectors, &mut pieces);
        } else {
            self.volume.read(bio.start, bio.sectors, &mut pieces);
        }
        for &piece in &pieces {
            if !write && self.reads_stripes(&piece) {
                let from = Lba(piece.volume_end.0 - piece.sectors.0);
                self.calls[call as usize].left += 1;
                self.stripe_job(Owner::Call(call), from, piece.sectors, None);
                self.thread.wake(now);
                continue;
            }
            self.calls[call as usize].left += 1;
            orders.push(MemberBio::of_bio(bio, Owner::Call(call), piece));
        }
        self.pieces = pieces;
        if write && self.volume.mirrored() {
            for order in orders.iter() {
                self.volume.write_begins(&order.piece);
            }
            // A task in a plug of its own writes the pages that it finds dirty, and waits for no other's (md_bitmap_unplug).
            let pages_first = sets_bit
                || !self.direct_plugged
                    && self.intent.as_ref().is_some_and(|intent| intent.holds_up());
            if self.mirrors_wait || pages_first {
                if self.plugging && self.generation >= MdGeneration::Linux4_4 {
                    self.plugged.append(orders);
                } else if pages_first || !self.direct_plugged {
                    self.thread.mirrored.extend(orders.drain(..));
                    self.hand_over(now, bio.sync || bio.unplug);
                }
            }
        }
    }

    /// Whether the stripe cache serves a read: of a degraded array of RAID 5 or 6.
    pub(crate) fn reads_stripes(&self, piece: &Piece) -> bool {
        let served = |parity: &Raid5| parity.reads_stripes(piece.member);
        self.degraded && self.parity.as_deref().is_some_and(served)
    }

    /// The pieces of a write on the members that are there or being rebuilt.
    pub(crate) fn copies_of_write(
        &mut self,
        start: Lba,
        sectors: Sectors,
        pieces: &mut Vec<Piece>,
    ) {
        self.volume.write(start, sectors, pieces);
        if self.degraded {
            pieces.retain(|piece| {
                let member = &self.members[piece.member as usize];
                !member.missing || member.rebuilt
            });
        }
    }

    /// The thread gets to work: at once, or when the plug of its queue goes.
    fn hand_over(&mut self, now: Nanos, at_once: bool) {
        if self.plugging && self.generation >= MdGeneration::Linux4_4 {
            return;
        }
        if at_once || self.generation >= MdGeneration::Linux4_4 {
            self.unplug_thread(now);
        } else {
            self.unplug_at = self.unplug_at.min(unplug_due(now, self.hz));
        }
    }

    fn unplug_thread(&mut self, now: Nanos) {
        self.unplug_at = Nanos::NEVER;
        if let Some(parity) = &mut self.parity {
            parity.unplug();
        }
        self.thread.wake(now);
    }

    /// A write goes into the stripe cache; nothing is done about it until the thread is handed the rows.
    fn write_stripes(&mut self, owner: Owner, start: Lba, sectors: Sectors, sync: bool) {
        self.thread.stripe_writes_sync = sync && self.generation >= MdGeneration::Linux4_4;
        self.stripe_job(owner, start, sectors, Some(sync));
    }

    /// `write`: whether it is a synchronous one; None for a read of a missing member.
    fn stripe_job(&mut self, owner: Owner, start: Lba, sectors: Sectors, write: Option<bool>) {
        let job = self.jobs.insert(owner) as u32;
        let parity = self.parity.as_mut().expect("a volume with parity");
        parity.submit(
            job,
            start,
            sectors,
            write.is_some(),
            write.unwrap_or(true),
            &mut self.thread,
        );
    }

    fn part_done(&mut self, call: u32) {
        let state = &mut self.calls[call as usize];
        state.left -= 1;
        if state.left == 0 {
            let done = self.calls.remove(call as usize);
            if let Some(intent) = &mut self.intent {
                intent.write_done(call);
            }
            let MdCall { token, sectors, .. } = done;
            match done.from {
                CallFrom::Bio => self.ended.push(Done { token, sectors }),
                CallFrom::File(piece) => self.pieces_done.push((token, piece)),
            }
        }
    }

    /// There is something at work beside the load.
    #[inline(always)]
    fn has_background(&self) -> bool {
        self.resync.is_some() || self.intent.is_some()
    }

    fn background_at(&self) -> Nanos {
        let resync = self.resync.as_ref().map_or(Nanos::NEVER, Background::due);
        let daemon = self.intent.as_ref().map(|intent| intent.daemon_at);
        resync.min(daemon.unwrap_or(Nanos::NEVER))
    }

    #[inline(never)]
    pub(crate) fn background_runs<O: Observer>(
        &mut self,
        now: Nanos,
        next: Nanos,
        observer: &mut O,
    ) {
        let daemon = self.intent.as_ref().map(|intent| intent.daemon_at);
        if daemon.is_some_and(|daemon_at| daemon_at <= next) {
            self.bitmap_daemon(now);
        } else {
            self.resync_runs(now, observer);
        }
    }

    /// After a step that nobody heard of the md thread takes the next one at the same instant, and before anything else: many of its turns find
    /// nothing to do.
    #[inline]
    fn thread_goes_on(&self, now: Nanos) -> bool {
        self.thread.due <= now
            && self.due.first() > now
            && self.timer() >= now
            && self.ended.is_empty()
            && !self.has_background()
    }

    /// The md thread has the processor: it works out what to send, or, when that work is done, sends it. True if it sent something.
    #[inline]
    pub(crate) fn thread_runs<O: Observer>(&mut self, now: Nanos, observer: &mut O) -> bool {
        if self.thread.begins(now) {
            if self.flush_bitmap(now, observer) {
                return true;
            }
            let (mut work, mut bitmap) = (None, Nanos::ZERO);
            if let Some(parity) = &mut self.parity {
                if parity.run_round(&mut self.thread) {
                    let done = parity.take_work();
                    if let Some(intent) = &mut self.intent {
                        bitmap = intent.costs_of(&done, &self.thread, self.generation);
                    }
                    work = Some(done);
                }
                self.heads_for_resync(now);
            }
            self.thread.plan(now, work.as_ref(), bitmap);
            return false;
        }
        if !self.thread.finishing_now.is_empty() {
            let finishing = core::mem::take(&mut self.thread.finishing_now);
            for &job in &finishing {
                match self.jobs.remove(job as usize) {
                    Owner::File(io) => self.pieces_done.push((io, None)),
                    Owner::Call(call) => self.part_done(call),
                    _ => unreachable!("jobs are of calls and operations with files"),
                }
            }
            self.thread.recycle(finishing);
        }
        if !self.thread.resync_ends_now.is_empty() {
            self.resync_steps_end(now);
        }
        if self.thread.out.is_empty() && (self.given.is_empty() || self.finds_stripes()) {
            self.thread.rest(now, self.finds_stripes());
            return false;
        }
        self.thread_sends(now, observer);
        true
    }

    fn thread_sends<O: Observer>(&mut self, now: Nanos, observer: &mut O) {
        let mut orders = core::mem::take(&mut self.thread.out);
        let refused = orders
            .iter()
            .position(|order| !self.send(now, order, observer));
        orders.drain(..refused.unwrap_or(orders.len()));
        self.thread.out = orders;
        if refused.is_some() {
            self.thread.sleep_for_request();
            return;
        }
        if !self.finds_stripes() {
            self.unplug_members(now, observer);
        }
        self.thread.rest(now, self.finds_stripes());
    }

    /// What came up while the thread worked is part of the same turn.
    fn finds_stripes(&self) -> bool {
        self.parity.as_ref().is_some_and(|parity| parity.has_work())
    }

    /// The timer of a queue that is due first.
    pub(crate) fn fire_queue<O: Observer>(&mut self, now: Nanos, observer: &mut O) {
        let index = self.timers.place();
        let member = &mut self.members[index];
        member
            .queue
            .fire(now, &mut member.drive, &mut member_sink(index, observer));
        self.refresh(now, index);
    }

    pub(crate) fn end_plugs<O: Observer>(&mut self, now: Nanos, observer: &mut O) {
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            member
                .queue
                .end_plug(now, &mut member.drive, &mut member_sink(index, observer));
            self.refresh(now, index);
        }
    }

    #[inline]
    fn send_all<O: Observer>(
        &mut self,
        now: Nanos,
        process: ProcessId,
        token: u32,
        orders: &[MemberBio],
        observer: &mut O,
    ) -> Submission {
        for (place, order) in orders.iter().enumerate() {
            if !self.send(now, order, observer) {
                return self.stall(process, token, &orders[place..]);
            }
        }
        Submission::Accepted
    }

    /// Where that stands which was put aside of a bio for want of a request.
    #[inline]
    pub(crate) fn place_stalled(&self, process: ProcessId, token: u32) -> Option<usize> {
        if self.stalled.is_empty() {
            return None;
        }
        let of_bio = |stalled: &Stalled| stalled.process == process && stalled.token == token;
        self.stalled.iter().position(of_bio)
    }

    pub(crate) fn take_stalled(&mut self, place: usize) -> Vec<MemberBio> {
        self.stalled.swap_remove(place).orders
    }

    #[cold]
    pub(crate) fn stall(
        &mut self,
        process: ProcessId,
        token: u32,
        orders: &[MemberBio],
    ) -> Submission {
        self.stalled.push(Stalled {
            process,
            token,
            orders: orders.into(),
        });
        Submission::Blocked
    }
}
