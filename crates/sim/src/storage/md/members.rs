//! Members and their queues: what they are given, what moves with each of their events, whose plugs have to go.

use crate::storage::md::member_bio::{MemberBio, Owner};
use crate::storage::md::{member_sink, Md, MD_THREAD, OF_STRIPE, RESYNC_THREAD, WHOLE};
use seekwise_device::Device;
use seekwise_host::block::{Bio, BlockQueue, Observer, Submission};
use seekwise_raid::md::volume::Piece;
use seekwise_sched::Direction;
use seekwise_units::Nanos;

impl<Q: BlockQueue, D: Device> Md<Q, D> {
    /// Events of a member may have moved, and a task that waits for one of its requests may go on.
    #[inline]
    pub(super) fn refresh(&mut self, now: Nanos, index: usize) {
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

    /// A member has nothing to do, so none of its events would wake a task: a task that still waits for it may try.
    fn wake_all_waiting_for(&mut self, now: Nanos, index: usize) {
        let waits = |first: Option<&MemberBio>| {
            first.is_some_and(|order| order.piece.member as usize == index)
        };
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
        order: &MemberBio,
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
    pub(super) fn submit_whole<O: Observer>(
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
        let order = MemberBio::of_bio(bio, Owner::Bio(bio.token), *piece);
        self.stall(bio.process, bio.token, &[order])
    }

    /// A member's plug may have to be removed.
    #[inline]
    pub(super) fn note_given(&mut self, index: usize) {
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
    pub(super) fn unplug_member<O: Observer>(
        &mut self,
        now: Nanos,
        index: usize,
        observer: &mut O,
    ) {
        let member = &mut self.members[index];
        if member.queue.held_back(now) {
            member
                .queue
                .process_waits(now, &mut member.drive, &mut member_sink(index, observer));
            self.refresh(now, index);
        }
    }
}
