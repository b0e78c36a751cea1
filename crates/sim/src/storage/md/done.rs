//! What members have done, and who hears of it.

use crate::storage::md::member_bio::Owner;
use crate::storage::md::{member_sink, Md, MD_THREAD, OF_STRIPE, WHOLE};
use crate::storage::FLUSHED;
use seekwise_device::Device;
use seekwise_host::block::{BlockQueue, Done, Observer};
use seekwise_units::{Nanos, Sectors};

impl<Q: BlockQueue, D: Device> Md<Q, D> {
    /// `done` hears of what ended before anything is put into `ended`.
    #[inline]
    pub(super) fn drive_done<O: Observer>(
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
            if self.member_flushed(now, index, observer) {
                self.ended.push(Done {
                    token: FLUSHED,
                    sectors: Sectors(0),
                });
            }
            self.refresh(now, index);
            return;
        }
        member.done.commands += 1;
        let (finished, taken) = (&mut self.finished, &mut member.done.taken.0);
        let completed = &mut member.completed.0;
        let (mut whole, mut first) = (0, None);
        member.queue.complete(
            now,
            tag,
            &mut member.drive,
            &mut member_sink(index, observer),
            |part| {
                *taken = taken.wrapping_add(now.0);
                *completed += part.sectors.0;
                // Reported in order, so at once only while no task is deferred. Nearly always there is one part.
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
            if self.parity.is_some() && self.sent_by_thread(first.token) {
                self.thread.sent_ends(now);
            }
            self.request_done(now, index, first, observer);
            if !self.finished.is_empty() {
                self.further_done(now, index, observer);
            }
        }
        self.refresh(now, index);
    }

    #[inline]
    fn sent_by_thread(&self, token: u32) -> bool {
        token & OF_STRIPE != 0 || self.under_way[token as usize].process == MD_THREAD
    }

    /// The same of what was joined to it.
    #[cold]
    pub(super) fn further_done<O: Observer>(
        &mut self,
        now: Nanos,
        member: usize,
        observer: &mut O,
    ) {
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
            parity.complete_from(stripe, member as u32, sectors);
            self.thread.wake(now);
            self.heads_for_resync(now);
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
            Owner::Bitmap | Owner::BitmapLater => self.page_sent(now, &order),
        }
    }
}
