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
//! Not modelled:  a submitter on a raw device that sleeps for a stripe (it goes on, its rows wait; with files it sleeps: `files`), several threads (`group_thread_cnt`), write-behind, a resync that a bitmap shortens.

pub mod files;
mod intent;
pub(crate) mod order;
mod soonest;
mod steps;
pub(crate) mod thread;

use crate::cost::MdCosts;
use crate::storage::attached::AttachedDrive;
use crate::storage::{MemberTotals, Stack, Storage, Totals, FLUSHED};
use intent::Intent;
use order::{Order, Owner};
use seekwise_device::Device;
use seekwise_host::block::{unplug_due, Bio, BlockQueue, Done, Observer, Submission};
use seekwise_host::cpu::SharedProcessor;
use seekwise_raid::md::raid5::Raid5;
use seekwise_raid::md::volume::{Piece, Volume};
use seekwise_raid::md::MdGeneration;
use seekwise_sched::kernel::HZ_DEFAULT;
use seekwise_sched::{Direction, ProcessId};
use seekwise_units::{Lba, Nanos, Sectors};
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
    /// Of what was read and written, what a resync moved.
    pub resynced: Sectors,
    /// Given something since the plugs were removed last.
    given: bool,
}

/// A bio of the volume on its way, or a range of an operation with files that md has to know as one.
#[derive(Clone, Copy, Debug)]
struct Call {
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
    orders: Vec<Order>,
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
    /// Mirrored writes are handed to the md thread (up to 6.4).
    mirrors_by_thread: bool,
    calls: Slab<Call>,
    /// Bios under way that are one request and have no call.
    whole_bios: usize,
    /// For whom the stripe cache works, by its numbers.
    jobs: Slab<Owner>,
    under_way: Slab<Order>,
    stalled: Vec<Stalled>,
    plugging: bool,
    /// Mirrored writes held until the task's plug ends.
    plugged: Vec<Order>,
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
    orders: Vec<Order>,
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
        (generation, hz): (MdGeneration, u32),
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
                    given: false,
                })
                .collect(),
            volume,
            parity,
            generation,
            hz,
            degraded: !missing.is_empty(),
            clock: Nanos::ZERO,
            mirrors_by_thread: generation < MdGeneration::Linux6_12,
            calls: Slab::new(),
            whole_bios: 0,
            jobs: Slab::new(),
            under_way: Slab::new(),
            stalled: Vec::new(),
            plugging: false,
            plugged: Vec::new(),
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
        let kernel = (MdGeneration::Linux4_4, HZ_DEFAULT);
        let members = vec![(queue, drive)];
        Self::new(members, volume, None, kernel, &[], MdCosts::MODERN)
    }

    /// The md thread books this processor.
    pub fn share(&mut self, processor: SharedProcessor) {
        self.thread.sharing(processor);
    }

    /// Events of a member may have moved, and somebody who waits for a request of it may go on.
    #[inline]
    fn refresh(&mut self, now: Nanos, index: usize) {
        let member = &self.members[index];
        self.due.set(index, member.drive.next_at());
        self.timers.set(index, member.queue.timer());
        if member.queue.has_woken() || !self.stalled.is_empty() || self.thread.sleeps_for_request()
        {
            self.wake_waiting_for(now, index);
        }
    }

    #[cold]
    fn wake_waiting_for(&mut self, now: Nanos, index: usize) {
        let member = &mut self.members[index];
        if member.queue.has_woken() {
            while let Some(process) = member.queue.take_woken() {
                if process == MD_THREAD {
                    self.thread.request_free(now);
                    if self
                        .intent
                        .as_ref()
                        .is_some_and(|intent| intent.waits_for().is_some())
                    {
                        self.thread.bitmap_goes_on(now);
                    }
                } else if process == RESYNC_THREAD {
                    if let Some(background) = &mut self.resync {
                        background.retry(now);
                    }
                } else {
                    self.woken.push_back(process);
                }
            }
        }
        if member.queue.allocated() == 0
            && (!self.stalled.is_empty() || self.thread.sleeps_for_request())
        {
            self.wake_all_waiting_for(now, index);
        }
    }

    /// A member has nothing to do, so nothing of it would ever wake anybody: whoever still waits for it may try.
    fn wake_all_waiting_for(&mut self, now: Nanos, index: usize) {
        let waits =
            |first: Option<&Order>| first.is_some_and(|order| order.piece.member as usize == index);
        if waits(self.thread.out.front()) {
            self.thread.request_free(now);
        }
        if waits(self.intent.as_ref().and_then(|intent| intent.waits_for())) {
            self.thread.bitmap_goes_on(now);
        }
        for stalled in self
            .stalled
            .iter()
            .filter(|stalled| waits(stalled.orders.first()))
        {
            self.woken.push_back(stalled.process);
        }
    }

    /// Hands one request to its member; false when the member has no request free.
    pub(crate) fn send<O: Observer>(
        &mut self,
        now: Nanos,
        order: &Order,
        observer: &mut O,
    ) -> bool {
        let token = match order.owner {
            Owner::Stripe(stripe) => stripe | OF_STRIPE,
            _ => self.under_way.insert(*order) as u32,
        };
        let index = order.piece.member as usize;
        let bio = order.bio(token);
        let sent = self.hand(now, index, &bio, observer);
        match order.owner {
            Owner::Stripe(_) => {}
            _ if !sent => {
                self.under_way.remove(token as usize);
            }
            Owner::Resync(_) => self.members[index].resynced.0 += bio.sectors.0,
            _ => {}
        }
        if sent {
            self.note_given(index);
        }
        sent
    }

    /// A bio for a member goes into its queue, if there is a request free.
    #[inline]
    fn hand<O: Observer>(&mut self, now: Nanos, index: usize, bio: &Bio, observer: &mut O) -> bool {
        let member = &mut self.members[index];
        let sent = member.queue.submit(
            now,
            bio,
            &mut member.drive,
            &mut member_sink(index, observer),
        ) == Submission::Accepted;
        if sent {
            let moved = match bio.direction {
                Direction::Write => &mut member.done.written,
                Direction::Read => &mut member.done.read,
            };
            moved.0 += bio.sectors.0;
            member.done.taken.0 = member.done.taken.0.wrapping_sub(now.0);
        }
        self.refresh(now, index);
        sent
    }

    /// A read that is one request of a member goes there under its own number.
    #[inline]
    fn submit_whole<O: Observer>(
        &mut self,
        now: Nanos,
        bio: &Bio,
        piece: &Piece,
        observer: &mut O,
    ) -> Submission {
        debug_assert!(bio.token & WHOLE == 0);
        let index = piece.member as usize;
        let own = Bio {
            start: piece.start,
            token: bio.token | WHOLE,
            metadata: false,
            unplug: false,
            ..*bio
        };
        self.whole_bios += 1;
        let sent = self.hand(now, index, &own, observer);
        if bio.unplug && !self.plugging && self.given.is_empty() {
            // The one plug that may have to be removed is this member's.
            if sent {
                self.unplug_member(now, index, observer);
            }
        } else if sent {
            self.note_given(index);
        }
        if sent {
            return Submission::Accepted;
        }
        let order = Order::of_bio(bio, Owner::Bio(bio.token), *piece);
        self.stall(bio.process, bio.token, &[order])
    }

    /// A member's plug may have to be removed.
    #[inline]
    fn note_given(&mut self, index: usize) {
        if !self.members[index].given {
            self.members[index].given = true;
            self.given.push(index as u32);
        }
    }

    /// Removes the plugs of the members that were given something: of others there are none.
    #[inline]
    pub(crate) fn unplug_members<O: Observer>(&mut self, now: Nanos, observer: &mut O) {
        if !self.given.is_empty() {
            self.unplug_given(now, observer);
        }
    }

    fn unplug_given<O: Observer>(&mut self, now: Nanos, observer: &mut O) {
        let mut given = core::mem::take(&mut self.given);
        if given.len() > 1 {
            given.sort_unstable();
        }
        for index in given.drain(..).map(|index| index as usize) {
            self.members[index].given = false;
            self.unplug_member(now, index, observer);
        }
        self.given = given;
    }

    #[inline]
    fn unplug_member<O: Observer>(&mut self, now: Nanos, index: usize, observer: &mut O) {
        let member = &mut self.members[index];
        if member.queue.held_back(now) {
            member
                .queue
                .process_waits(now, &mut member.drive, &mut member_sink(index, observer));
            self.refresh(now, index);
        }
    }

    /// Cuts a bio into requests of members, or gives it to the stripe cache or the thread; what the task sends itself is in `orders`.
    fn split(&mut self, now: Nanos, bio: &Bio, orders: &mut Vec<Order>) {
        let write = bio.direction == Direction::Write;
        let call = self.calls.insert(Call {
            from: CallFrom::Bio,
            token: bio.token,
            sectors: bio.sectors,
            left: 0,
        }) as u32;
        if write {
            self.write_intended(now, call, bio.start, bio.sectors);
        }
        if write && self.parity.is_some() {
            self.calls[call as usize].left += 1;
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
            if self.degraded && !write && self.members[piece.member as usize].missing {
                let from = Lba(piece.volume_end.0 - piece.sectors.0);
                self.calls[call as usize].left += 1;
                self.stripe_job(Owner::Call(call), from, piece.sectors, None);
                self.thread.wake(now);
                continue;
            }
            self.calls[call as usize].left += 1;
            orders.push(Order::of_bio(bio, Owner::Call(call), piece));
        }
        self.pieces = pieces;
        if write && self.volume.mirrored() {
            for order in orders.iter() {
                self.volume.write_begins(&order.piece);
            }
            if self.mirrors_by_thread {
                if self.plugging && self.generation >= MdGeneration::Linux4_4 {
                    self.plugged.append(orders);
                } else {
                    self.thread.mirrored.extend(orders.drain(..));
                    self.hand_over(now, bio.sync || bio.unplug);
                }
            }
        }
    }

    /// The pieces of a write on the members that are there or being rebuilt.
    pub(crate) fn copies_of_write(&mut self, start: Lba, sectors: Sectors, pieces: &mut Vec<Piece>) {
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
            let Call { token, sectors, .. } = done;
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
    pub(crate) fn background_runs<O: Observer>(&mut self, now: Nanos, next: Nanos, observer: &mut O) {
        let daemon = self.intent.as_ref().map(|intent| intent.daemon_at);
        if daemon.is_some_and(|daemon_at| daemon_at <= next) {
            self.bitmap_daemon(now);
        } else {
            self.resync_runs(now, observer);
        }
    }

    /// `done` hears of what ended before anything is put into `ended`.
    #[inline]
    fn drive_done<O: Observer>(
        &mut self,
        now: Nanos,
        index: usize,
        observer: &mut O,
        done: &mut impl FnMut(Done),
    ) {
        let member = &mut self.members[index];
        let Some(tag) = member.drive.advance(now) else {
            self.refresh(now, index);
            return;
        };
        if tag == member.drive.flush_tag() {
            self.ended.push(Done {
                token: FLUSHED,
                sectors: Sectors(0),
            });
            self.refresh(now, index);
            return;
        }
        member.done.commands += 1;
        let (finished, taken) = (&mut self.finished, &mut member.done.taken.0);
        let (mut whole, mut first) = (0, None);
        member.queue.complete(
            now,
            tag,
            &mut member.drive,
            &mut member_sink(index, observer),
            |part| {
                *taken = taken.wrapping_add(now.0);
                // Told in order, so at once only while nobody is put off. Nearly always there is one part.
                if first.is_some() {
                    finished.push(part);
                } else if part.token & WHOLE != 0 {
                    done(Done {
                        token: part.token & !WHOLE,
                        ..part
                    });
                    whole += 1;
                } else {
                    first = Some(part);
                }
            },
        );
        self.whole_bios -= whole;
        if let Some(first) = first {
            self.request_done(now, index, first, observer);
            if !self.finished.is_empty() {
                self.further_done(now, index, observer);
            }
        }
        self.refresh(now, index);
    }

    /// The same of what was joined to it.
    #[cold]
    fn further_done<O: Observer>(&mut self, now: Nanos, member: usize, observer: &mut O) {
        for place in 0..self.finished.len() {
            self.request_done(now, member, self.finished[place], observer);
        }
        self.finished.clear();
    }

    /// A request is done that is not a whole bio of its own, or comes behind one that is not.
    #[inline]
    fn request_done<O: Observer>(
        &mut self,
        now: Nanos,
        member: usize,
        Done { token, sectors }: Done,
        observer: &mut O,
    ) {
        if token & WHOLE != 0 {
            let token = token & !WHOLE;
            self.ended.push(Done { token, sectors });
            self.whole_bios -= 1;
        } else if token & OF_STRIPE != 0 {
            let parity = self.parity.as_mut().expect("a volume with parity");
            let stripe = token & !OF_STRIPE;
            parity.complete_from(stripe, member as u32, sectors, &mut self.thread);
            self.thread.wake(now);
        } else {
            self.order_done(now, token, observer);
        }
    }

    #[inline(never)]
    fn order_done<O: Observer>(&mut self, now: Nanos, number: u32, observer: &mut O) {
        let order = self.under_way.remove(number as usize);
        match order.owner {
            Owner::Bio(token) => {
                self.volume.piece_done(&order.piece);
                self.ended.push(Done {
                    token,
                    sectors: order.piece.sectors,
                });
                self.whole_bios -= 1;
            }
            Owner::Call(call) => {
                self.volume.piece_done(&order.piece);
                self.part_done(call);
            }
            Owner::File(io) => {
                let read = (!order.write).then_some(order.piece);
                if let Some(piece) = &read {
                    self.volume.piece_done(piece);
                }
                self.pieces_done.push((io, read));
            }
            Owner::Stripe(_) => unreachable!("notified by its number"),
            Owner::Resync(step) => self.resync_part_done(now, step, observer),
            Owner::Bitmap => self.bitmap_page_done(now),
            Owner::BitmapLater => {}
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
            let mut work = None;
            if let Some(parity) = &mut self.parity {
                if parity.run_thread(&mut self.thread) {
                    work = Some(parity.take_work());
                }
            }
            self.thread.plan(now, work.as_ref());
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
        if self.thread.out.is_empty() && self.given.is_empty() {
            self.thread.rest(now);
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
        self.unplug_members(now, observer);
        self.thread.rest(now);
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
        orders: &[Order],
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

    pub(crate) fn take_stalled(&mut self, place: usize) -> Vec<Order> {
        self.stalled.swap_remove(place).orders
    }

    #[cold]
    pub(crate) fn stall(&mut self, process: ProcessId, token: u32, orders: &[Order]) -> Submission {
        self.stalled.push(Stalled {
            process,
            token,
            orders: orders.into(),
        });
        Submission::Blocked
    }
}

impl<Q: BlockQueue, D: Device> Storage for Md<Q, D> {
    #[inline(always)]
    fn next_at(&self) -> Nanos {
        let mut next = self.due.first().min(self.thread.due);
        if self.has_background() {
            next = next.min(self.background_at());
        }
        next.max(self.clock)
    }

    #[inline]
    fn timer(&self) -> Nanos {
        self.timers.first().min(self.unplug_at)
    }

    fn fire<O: Observer>(&mut self, now: Nanos, observer: &mut O) {
        self.clock = now;
        if self.unplug_at <= now {
            self.unplug_thread(now);
            return;
        }
        self.fire_queue(now, observer);
    }

    fn allocated(&self) -> usize {
        self.calls.len() + self.whole_bios
    }

    fn totals(&self) -> Totals {
        let sum = |of: fn(&MdMember<Q, D>) -> u64| self.members.iter().map(of).sum::<u64>();
        Totals {
            busy: Nanos(sum(|member| member.drive.busy.0)),
            sectors: sum(|member| member.drive.sectors),
            merges: sum(|member| member.queue.merges()),
            interrupts: Some(sum(|member| member.done.commands)),
            thread: self.thread.busy + Nanos(sum(|member| member.drive.host_work.0)),
            resynced: Sectors(self.resync.as_ref().map_or(0, Background::through)),
            bitmap_pages: self.intent.as_ref().map_or(0, |intent| intent.written),
        }
    }

    fn members(&self) -> Vec<MemberTotals> {
        let of = |member: &MdMember<Q, D>| MemberTotals {
            busy: member.drive.busy,
            ..member.done
        };
        self.members.iter().map(of).collect()
    }
}

impl<Q: BlockQueue, D: Device> Stack for Md<Q, D> {
    fn submit<O: Observer>(&mut self, now: Nanos, bio: &Bio, observer: &mut O) -> Submission {
        self.clock = now;
        let waited = self.place_stalled(bio.process, bio.token);
        let whole = match waited {
            None if bio.direction == Direction::Read && !self.degraded => {
                self.volume.read_whole(bio.start, bio.sectors)
            }
            _ => None,
        };
        let submission = if let Some(piece) = whole {
            self.submit_whole(now, bio, &piece, observer)
        } else {
            let mut orders = core::mem::take(&mut self.orders);
            orders.clear();
            match waited {
                Some(place) => orders = self.take_stalled(place),
                None => self.split(now, bio, &mut orders),
            }
            let submission = self.send_all(now, bio.process, bio.token, &orders, observer);
            self.orders = orders;
            submission
        };
        if bio.unplug && !self.plugging {
            self.unplug_members(now, observer);
        }
        submission
    }

    fn begin_plug(&mut self) {
        self.plugging = true;
        for member in &mut self.members {
            member.queue.begin_plug();
        }
    }

    fn end_plug<O: Observer>(&mut self, now: Nanos, observer: &mut O) {
        self.plugging = false;
        let bitmap_first = self.intent.as_ref().is_some_and(|intent| intent.holds_up());
        for order in core::mem::take(&mut self.plugged) {
            // The plug's callback sends in the task; what finds no request is left to the thread.
            if bitmap_first || !self.thread.mirrored.is_empty() || !self.send(now, &order, observer)
            {
                self.thread.mirrored.push_back(Order {
                    process: MD_THREAD,
                    ..order
                });
                self.thread.wake(now);
            }
        }
        self.end_plugs(now, observer);
        if self.parity.is_some() {
            self.unplug_thread(now);
        }
    }

    fn process_waits<O: Observer>(&mut self, now: Nanos, observer: &mut O) {
        if self.unplug_at < Nanos::NEVER {
            self.unplug_thread(now);
        }
        self.unplug_members(now, observer);
    }

    fn process_exits<O: Observer>(&mut self, now: Nanos, process: ProcessId, observer: &mut O) {
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            member.queue.process_exits(
                now,
                process,
                &mut member.drive,
                &mut member_sink(index, observer),
            );
            self.refresh(now, index);
        }
    }

    #[inline(always)]
    fn advance<O: Observer>(
        &mut self,
        now: Nanos,
        observer: &mut O,
        mut done: impl FnMut(Done),
    ) -> u64 {
        let next = self.next_at();
        self.clock = now;
        let mut steps = 1;
        if self.due.first() <= next {
            self.drive_done(now, self.due.place(), observer, &mut done);
        } else if self.thread.due <= next {
            while !self.thread_runs(now, observer) && self.thread_goes_on(now) {
                steps += 1;
            }
        } else {
            self.background_runs(now, next, observer);
        }
        if !self.ended.is_empty() {
            self.ended.drain(..).for_each(done);
        }
        steps
    }

    fn flush(&mut self, now: Nanos) -> u32 {
        let mut asked = 0;
        for index in 0..self.members.len() {
            if self.members[index].missing {
                continue;
            }
            self.members[index].drive.flush(now);
            self.refresh(now, index);
            asked += 1;
        }
        asked
    }

    #[inline]
    fn has_woken(&self) -> bool {
        !self.woken.is_empty()
    }

    fn take_woken(&mut self) -> Option<ProcessId> {
        self.woken.pop_front()
    }
}
