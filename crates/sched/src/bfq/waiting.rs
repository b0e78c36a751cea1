//! The waiting requests of one queue, and which of them is next.

use super::{Bfq, SEEK_SECTORS};
use crate::distance::rank;
use crate::fifo::Fifo;
use crate::request::RequestId;
use crate::sorted::Sorted;
use seekwise_units::{Lba, Nanos};

/// Requests of a queue in sector order and in order of arrival.
#[derive(Clone, Debug, Default)]
pub struct Waiting {
    pub sorted: Sorted,
    pub fifo: Fifo,
    pub next: Option<RequestId>,
}

/// What bfq keeps of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slot {
    pub start: Lba,
    pub sectors: u64,
    pub queue: u32,
    /// Index of the submitting process.
    pub process: u32,
    pub deadline: Nanos,
    pub metadata: bool,
}

impl Slot {
    /// The sector after its last one; the largest address if it lies beyond.
    #[inline]
    pub fn end(&self) -> Lba {
        Lba(self.start.0.saturating_add(self.sectors))
    }

    /// Is it far from `last`? Position zero is none.
    #[inline]
    pub fn is_seek(&self, last: Lba, rotational: bool) -> bool {
        last != Lba(0)
            && self.start.distance(last) > SEEK_SECTORS
            && (rotational || self.sectors < super::injection::LARGE_ON_FLASH)
    }
}

impl Bfq {
    #[inline]
    pub(super) fn slot(&self, id: RequestId) -> &Slot {
        &self.slots[id.0 as usize]
    }

    /// The better of two after a request that ended (or began) at `last`; the first one when they are equal.
    fn better(
        &self,
        first: Option<RequestId>,
        second: Option<RequestId>,
        last: Lba,
    ) -> Option<RequestId> {
        let (Some(a), Some(b)) = (first, second) else {
            return first.or(second);
        };
        let (slot_a, slot_b) = (self.slot(a), self.slot(b));
        if slot_a.metadata != slot_b.metadata {
            return if slot_a.metadata { first } else { second };
        }
        let rank = |start| {
            rank(
                start,
                last,
                self.settings.back_sectors_max,
                self.settings.back_cost,
            )
        };
        if rank(slot_b.start) < rank(slot_a.start) {
            second
        } else {
            first
        }
    }

    /// A request came or moved: is it better than the one that is next?
    pub(super) fn offer(&mut self, queue: u32, id: RequestId) -> bool {
        let before = self.queues[queue as usize].waiting.next;
        let next = match before {
            None => Some(id),
            Some(_) => self.better(before, Some(id), self.last_position),
        };
        self.queues[queue as usize].waiting.next = next;
        next != before
    }

    /// Who follows `last`, which is about to leave: once per slot the oldest if it is overdue, otherwise the nearer neighbour.
    pub(super) fn follower(&mut self, queue: u32, last: RequestId) -> Option<RequestId> {
        let now = self.now;
        let start = self.slot(last).start;
        let state = &mut self.queues[queue as usize];
        if !state.fifo_checked {
            state.fifo_checked = true;
            let oldest = state.waiting.fifo.head();
            let overdue =
                oldest.filter(|id| *id != last && now >= self.slots[id.0 as usize].deadline);
            if overdue.is_some() {
                return overdue;
            }
        }
        let sorted = &self.queues[queue as usize].waiting.sorted;
        let ahead = sorted
            .after(start, last)
            .or_else(|| sorted.first().filter(|first| *first != last));
        let behind = sorted.before(start, last);
        self.better(ahead, behind, start)
    }
}
