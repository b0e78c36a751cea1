//! A stripe head: one row of 4 KiB, a page of each member. Two cache lines, whatever is attached to it.

use super::{BioId, PAGE_SET};

pub(super) const NONE: u32 = u32::MAX;
/// Row of a stripe that has not been used yet.
pub(super) const NO_ROW: u64 = u64::MAX;

/// What is known of the pages of up to [`PAGE_SET`] members, a bit each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pages {
    /// P or Q of the row.
    pub parity: u64,
    /// The cache holds what the member should hold.
    pub uptodate: u64,
    /// Under way to or from the member, or being computed.
    pub locked: u64,
    pub to_write: u64,
    pub overwritten: u64,
    /// Written by the computation that is now on its way out.
    pub written: u64,
    /// Read on behalf of a reader (degraded array), not of a write.
    pub wanted: u64,
}

/// Where the bit of a member stands: which word, and which bit of it.
#[inline]
pub(super) fn bit(member: u32) -> (usize, u64) {
    ((member / PAGE_SET) as usize, 1 << (member % PAGE_SET))
}

/// Members whose bits are set in a word, highest first.
#[inline]
pub(super) fn highest_first(word: usize, mut bits: u64) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let place = bits.checked_ilog2()?;
        bits &= !(1 << place);
        Some(word as u32 * PAGE_SET + place)
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StripeList {
    Free,
    /// On the list of stripes to handle, held back, or activated after being held back.
    Handle,
    Delayed,
    Hold,
    /// Waits for members; comes back on completion.
    Io,
    /// Follows the head of its batch.
    Batched,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Stripe {
    pub row: u64,
    /// When it was freed last; an entry of a free list with another stamp is stale.
    pub freed: u64,
    pub io_left: u32,
    /// Writes attached and not yet computed; those that come while the row is busy are too.
    pub writers: Chain,
    pub writing: Chain,
    pub readers: Chain,
    /// The next of the stripes whose rows have the same hash.
    pub next_of_rows: u32,
    /// The next of the stripes of a chunk that are written together (full-stripe writes).
    pub next_of_batch: u32,
    /// Of the first of them the last; of the others, which are [`StripeList::Batched`], the first.
    pub batch: u32,
    pub place: StripeList,
    pub in_use: bool,
    pub preread_active: bool,
    pub computed: bool,
    /// Waits for the submitter's plug to end.
    pub plugged: bool,
    pub free_list: u8,
}

impl Stripe {
    /// A free stripe head without a row, from the free list number `free_list`.
    pub fn new(free_list: u8) -> Self {
        Self {
            row: NO_ROW,
            freed: 0,
            io_left: 0,
            writers: Chain::EMPTY,
            writing: Chain::EMPTY,
            readers: Chain::EMPTY,
            next_of_rows: NONE,
            next_of_batch: NONE,
            batch: NONE,
            place: StripeList::Free,
            in_use: false,
            preread_active: false,
            computed: false,
            plugged: false,
            free_list,
        }
    }

    /// One of several rows that are written together: md lets requests that come wait for their end (stripe_bio_overlaps), and for nothing else.
    #[inline]
    pub fn in_batch(&self) -> bool {
        self.place == StripeList::Batched || self.next_of_batch != NONE
    }
}

/// Requests attached to a stripe, in the order of their coming: links of [`Links`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    first: u32,
    last: u32,
}

impl Chain {
    pub const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };

    /// No request is attached.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == NONE
    }
}

/// The links of all chains, used again, latest freed first.
#[derive(Clone, Debug)]
pub(super) struct Links {
    links: Vec<(BioId, u32)>,
    free: u32,
}

impl Links {
    /// No links; memory is taken as chains grow.
    pub fn new() -> Self {
        Self {
            links: Vec::new(),
            free: NONE,
        }
    }

    /// Appends a request to the end of `chain`.
    #[inline]
    pub fn push(&mut self, chain: &mut Chain, id: BioId) {
        let link = self.free;
        let link = if link == NONE {
            self.links.push((id, NONE));
            self.links.len() as u32 - 1
        } else {
            let place = &mut self.links[link as usize];
            self.free = place.1;
            *place = (id, NONE);
            link
        };
        if chain.first == NONE {
            chain.first = link;
        } else {
            self.links[chain.last as usize].1 = link;
        }
        chain.last = link;
    }

    /// Takes the first request off `chain`; None if it is empty.
    #[inline]
    pub fn pop(&mut self, chain: &mut Chain) -> Option<BioId> {
        let link = chain.first;
        if link == NONE {
            return None;
        }
        let place = &mut self.links[link as usize];
        let (id, next) = *place;
        place.1 = self.free;
        self.free = link;
        chain.first = next;
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_keep_their_order_and_share_their_links() {
        let mut links = Links::new();
        let mut chains = [Chain::EMPTY; 2];
        for round in 0..3 {
            for id in 0..6 {
                links.push(&mut chains[id as usize % 2], round + id);
            }
            for (place, chain) in chains.iter_mut().enumerate() {
                let ids: Vec<BioId> = core::iter::from_fn(|| links.pop(chain)).collect();
                assert_eq!(ids, [0, 2, 4].map(|id| round + id + place as u32));
                assert!(chain.is_empty());
            }
            assert_eq!(links.links.len(), 6);
        }
    }

    #[test]
    fn bits_are_members_highest_first() {
        let members: Vec<u32> = highest_first(1, 0b1000_0101).collect();
        assert_eq!(members, [64 + 7, 64 + 2, 64]);
        assert_eq!(bit(71), (1, 1 << 7));
    }

    #[test]
    fn a_stripe_is_one_cache_line_beside_its_pages() {
        assert_eq!(core::mem::size_of::<Stripe>(), 64);
        assert!(core::mem::size_of::<Pages>() <= 64);
    }
}
