//! Requests of all of cfq's queues: slots, sector order, arrival order, and the nearest next one of each queue.

use crate::distance::{rank, Rank};
use crate::fifo::{Fifo, Links};
use crate::request::{words, Direction, Request, RequestId};
use crate::sorted::Sorted;
use seekwise_units::{Lba, Sectors};

/// What is known of a request from insertion to completion.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    pub start: Lba,
    pub sectors: Sectors,
    /// From this time on it has expired.
    pub expires: u64,
    /// When it came in.
    pub since: u64,
    /// Index of its queue.
    pub queue: u32,
    /// Index of its process.
    pub process: u32,
    pub direction: Direction,
    pub sync: bool,
    pub metadata: bool,
    pub no_idle: bool,
    /// With the driver or on the way to it.
    pub gone: bool,
}

/// Waiting requests of one queue.
#[derive(Clone, Debug, Default)]
pub struct Waiting {
    sorted: Sorted,
    fifo: Fifo,
    /// The nearest one at the last change.
    pub next: Option<RequestId>,
    pub metadata: u32,
}

impl Waiting {
    /// No request waits in the queue.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Requests that wait in the queue.
    #[inline]
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// The request that has waited longest; None if none waits.
    pub fn oldest(&self) -> Option<RequestId> {
        self.fifo.head()
    }

    /// The oldest request that starts exactly at `start`; None if there is none.
    pub fn starting_at(&self, start: Lba) -> Option<RequestId> {
        self.sorted.starting_at(start)
    }
}

/// Slots, and where the device was sent last.
#[derive(Clone, Debug)]
pub struct Requests {
    slots: Vec<Slot>,
    links: Links,
    /// End of the request that the driver took last.
    pub last_end: Lba,
    back_sectors_max: u64,
    back_cost: u64,
    /// 2.6.33 on: the request to follow another is sought from that one's place, before from where the device was sent last.
    from_removed: bool,
}

impl Requests {
    /// No requests. `back_sectors_max`: farthest seek back, `back_cost`: how much more it costs than one ahead.
    pub fn new(back_sectors_max: u64, back_cost: u64, from_removed: bool) -> Self {
        Self {
            slots: Vec::new(),
            links: Links::default(),
            last_end: Lba(0),
            back_sectors_max,
            back_cost,
            from_removed,
        }
    }

    /// The request as it came last under this number; it may be complete.
    #[inline]
    pub fn slot(&self, id: RequestId) -> &Slot {
        &self.slots[id.0 as usize]
    }

    /// Notes a request of the given queue and process; `since` and `expires` in the design's own time.
    #[inline]
    pub fn set(
        &mut self,
        request: &Request,
        queue: usize,
        process: usize,
        since: u64,
        expires: u64,
    ) {
        let slot = Slot {
            start: request.start,
            sectors: request.sectors,
            expires,
            since,
            queue: queue as u32,
            process: process as u32,
            direction: request.direction,
            sync: request.sync,
            metadata: request.metadata,
            no_idle: request.no_idle,
            gone: false,
        };
        let index = request.id.0 as usize;
        if self.slots.len() <= index {
            self.slots.resize(index + 1, slot);
        }
        self.slots[index] = slot;
    }

    /// Sectors between the last position and a request.
    #[inline]
    pub fn distance(&self, start: Lba) -> u64 {
        self.last_end.distance(start)
    }

    /// Sync before async, metadata before data, near to `last` before far from it.
    #[inline]
    fn rank(&self, id: RequestId, last: Lba) -> (bool, bool, Rank) {
        let slot = self.slot(id);
        (
            !slot.sync,
            !slot.metadata,
            rank(slot.start, last, self.back_sectors_max, self.back_cost),
        )
    }

    #[inline]
    fn better(&self, a: Option<RequestId>, b: Option<RequestId>, last: Lba) -> Option<RequestId> {
        match (a, b) {
            (Some(x), Some(y)) if x != y && self.rank(y, last) < self.rank(x, last) => b,
            (Some(_), _) => a,
            (None, _) => b,
        }
    }

    /// The nearer of the two around a waiting request; at the end of the disk the lowest one stands in.
    pub fn following(&self, waiting: &Waiting, id: RequestId) -> Option<RequestId> {
        let start = self.slot(id).start;
        let last = if self.from_removed {
            start
        } else {
            self.last_end
        };
        let ahead = waiting
            .sorted
            .after(start, id)
            .or_else(|| waiting.sorted.first().filter(|first| *first != id));
        self.better(ahead, waiting.sorted.before(start, id), last)
    }

    /// Into sector order, and next if it is nearer. True when the next one changed.
    #[inline]
    pub fn sort_in(&self, waiting: &mut Waiting, id: RequestId) -> bool {
        waiting.sorted.insert(self.slot(id).start, id);
        let before = waiting.next;
        waiting.next = self.better(before, Some(id), self.last_end);
        waiting.next != before
    }

    /// Puts a noted request last in order of arrival; [`Requests::sort_in`] puts it into sector order.
    #[inline]
    pub fn arrive(&mut self, waiting: &mut Waiting, id: RequestId) {
        waiting.fifo.push_back(&mut self.links, id);
        waiting.metadata += u32::from(self.slot(id).metadata);
    }

    /// Out of its queue; the next one is found anew if it was this.
    pub fn remove(&mut self, waiting: &mut Waiting, id: RequestId) {
        if waiting.next == Some(id) {
            waiting.next = self.following(waiting, id);
        }
        waiting.sorted.remove(self.slot(id).start, id);
        waiting.fifo.remove(&mut self.links, id);
        waiting.metadata -= u32::from(self.slot(id).metadata);
    }

    /// Out of its queue to be dispatched: what follows it is next, whatever was.
    #[inline]
    pub fn take(&mut self, waiting: &mut Waiting, id: RequestId) {
        let start = self.slot(id).start;
        let last = if self.from_removed {
            start
        } else {
            self.last_end
        };
        let (before, after) = waiting.sorted.remove_with_neighbours(start, id);
        waiting.next = self.better(after.or_else(|| waiting.sorted.first()), before, last);
        waiting.fifo.remove(&mut self.links, id);
        let slot = &mut self.slots[id.0 as usize];
        slot.gone = true;
        waiting.metadata -= u32::from(slot.metadata);
    }

    /// The request is with the driver or on the way to it.
    pub fn leave(&mut self, id: RequestId) {
        self.slots[id.0 as usize].gone = true;
    }

    /// A front merge: out of sector order, to be sorted in again at its new place.
    pub fn move_start(&mut self, waiting: &mut Waiting, id: RequestId, start: Lba) {
        waiting.sorted.remove(self.slot(id).start, id);
        self.slots[id.0 as usize].start = start;
    }

    /// The request has a new length after a merge; its start is [`Requests::move_start`]'s business.
    pub fn grow(&mut self, id: RequestId, sectors: Sectors) {
        self.slots[id.0 as usize].sectors = sectors;
    }

    /// `kept` takes the place of `gone` in order of arrival, and its stamps.
    pub fn inherit_place(&mut self, waiting: &mut Waiting, kept: RequestId, gone: RequestId) {
        waiting.fifo.remove(&mut self.links, kept);
        waiting.fifo.insert_after(&mut self.links, gone, kept);
        let (since, expires) = (self.slot(gone).since, self.slot(gone).expires);
        let slot = &mut self.slots[kept.0 as usize];
        (slot.since, slot.expires) = (since, expires);
    }

    /// The next request in sector order; None at the end of the queue.
    pub fn after(&self, waiting: &Waiting, id: RequestId) -> Option<RequestId> {
        waiting.sorted.after(self.slot(id).start, id)
    }

    /// The previous request in sector order; None at the start of the queue.
    pub fn before(&self, waiting: &Waiting, id: RequestId) -> Option<RequestId> {
        waiting.sorted.before(self.slot(id).start, id)
    }

    /// The queue's requests in words for `--explain`.
    pub fn words(&self, waiting: &Waiting) -> String {
        let next = words(waiting.next);
        let oldest_first = waiting.fifo.words(&self.links);
        format!("next {next}, oldest first: {oldest_first}")
    }
}
