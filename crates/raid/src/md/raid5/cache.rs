//! Stripe heads between rows: which head a row gets, which list it stands in, and which rows follow another as one batch.

use super::stripe::{bit, Pages, Stripe, StripeList, NONE, NO_ROW};
use super::{Raid5, PAGE, STRIPES_MOST};
use crate::md::MdGeneration;

/// Stripes by row: a list for each value of a hash, through the stripes themselves (as md has it).
pub(super) struct Rows {
    first: Vec<u32>,
    shift: u32,
}

impl Rows {
    /// An empty index for a cache of `stripes` stripe heads: two to four lists for each.
    pub fn new(stripes: usize) -> Self {
        let lists = (2 * stripes.max(1)).next_power_of_two();
        Self {
            first: vec![NONE; lists],
            shift: u64::BITS - lists.trailing_zeros(),
        }
    }

    /// Multiplicative hash (Knuth, TAOCP 3, 6.4).
    #[inline]
    fn list(&self, row: u64) -> usize {
        (row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }
}

impl Raid5 {
    /// The stripe that stands for a row.
    #[inline]
    pub(super) fn stripe_of(&self, row: u64) -> Option<u32> {
        let mut stripe = self.rows.first[self.rows.list(row)];
        while stripe != NONE {
            let head = &self.stripes[stripe as usize];
            if head.row == row {
                return Some(stripe);
            }
            stripe = head.next_of_rows;
        }
        None
    }

    /// The stripe stands for no row from now on; the row that it stood for.
    fn unassign(&mut self, stripe: u32) -> u64 {
        let head = &mut self.stripes[stripe as usize];
        let (old, after) = (core::mem::replace(&mut head.row, NO_ROW), head.next_of_rows);
        if old != NO_ROW {
            let list = self.rows.list(old);
            if self.rows.first[list] == stripe {
                self.rows.first[list] = after;
            } else {
                let mut at = self.rows.first[list];
                while self.stripes[at as usize].next_of_rows != stripe {
                    at = self.stripes[at as usize].next_of_rows;
                }
                self.stripes[at as usize].next_of_rows = after;
            }
        }
        old
    }

    /// The stripe stands for another row from now on, which none stands for.
    fn assign(&mut self, stripe: u32, row: u64) {
        self.unassign(stripe);
        let list = self.rows.list(row);
        let head = &mut self.stripes[stripe as usize];
        head.row = row;
        head.next_of_rows = core::mem::replace(&mut self.rows.first[list], stripe);
    }

    fn full(&self, stripe: u32) -> bool {
        let mut words = self.pages(stripe).iter().zip(&self.all);
        words.all(|(page, &all)| page.parity | page.overwritten == all)
    }

    /// Full-stripe writes of neighbouring rows in one chunk follow the first of them (4.1 and later).
    pub(super) fn joins_batch(&mut self, stripe: u32) -> bool {
        if self.config.generation < MdGeneration::Linux4_4
            || self.missing.iter().any(|&members| members != 0)
            || !self.full(stripe)
        {
            return false;
        }
        let row = self.stripes[stripe as usize].row;
        if row % self.map().chunk.0 == 0 || self.stripes[stripe as usize].place != StripeList::Free
        {
            return false;
        }
        let Some(before) = self.stripe_of(row - PAGE) else {
            return false;
        };
        let head = match &self.stripes[before as usize] {
            Stripe {
                place: StripeList::Batched,
                batch,
                ..
            } => *batch,
            _ => before,
        };
        let state = &self.stripes[head as usize];
        let open = state.plugged && !state.computed && state.io_left == 0;
        if !open || !self.full(before) {
            return false;
        }
        let last = match core::mem::replace(&mut self.stripes[head as usize].batch, stripe) {
            NONE => head,
            last => last,
        };
        self.stripes[last as usize].next_of_batch = stripe;
        let joined = &mut self.stripes[stripe as usize];
        joined.place = StripeList::Batched;
        joined.batch = head;
        if joined.preread_active {
            joined.preread_active = false;
            self.preread_active -= 1;
        }
        let row = joined.row;
        self.row_changed(row);
        let row = self.stripes[head as usize].row;
        self.row_changed(row);
        true
    }

    /// Somebody found no stripe and is the first since the last one was added.
    fn want_stripe(&mut self) {
        self.wants_stripe |= !self.has_grown && !self.blocked;
    }

    /// The thread adds a stripe where somebody found none (Linux 4.1, commit edbe83ab4c27: raid5d, grow_one_stripe).
    pub(super) fn grow(&mut self) {
        if !core::mem::take(&mut self.wants_stripe)
            || self.config.generation < MdGeneration::Linux4_4
            || self.stripes.len() >= STRIPES_MOST
        {
            return;
        }
        self.has_grown = true;
        self.add_stripe();
    }

    /// The cache has so many stripes at least, as after a while in which tasks found none; before 4.1 it does not grow.
    pub fn grow_to(&mut self, stripes: usize) {
        while self.config.generation >= MdGeneration::Linux4_4 && self.stripes.len() < stripes {
            self.add_stripe();
        }
    }

    fn add_stripe(&mut self) {
        let stripe = self.stripes.len();
        let list = stripe % self.free.len();
        self.stripes.push(Stripe::new(list as u8));
        self.pages
            .resize(self.stripes.len() * self.all.len(), Pages::default());
        self.free[list].push_back((stripe as u32, 0));
        if self.rows.first.len() < self.stripes.len() {
            self.rows = Rows::new(self.stripes.len());
            for stripe in 0..self.stripes.len() {
                let row = self.stripes[stripe].row;
                if row != NO_ROW {
                    let list = self.rows.list(row);
                    let first = core::mem::replace(&mut self.rows.first[list], stripe as u32);
                    self.stripes[stripe].next_of_rows = first;
                }
            }
        }
    }

    fn begin_use(&mut self, stripe: u32) {
        let in_use = &mut self.stripes[stripe as usize].in_use;
        self.active += usize::from(!core::mem::replace(in_use, true));
    }

    /// The stripe head of a row: the cached one, or the least recently freed one. None while all are busy.
    pub(super) fn take_stripe(&mut self, row: u64) -> Option<u32> {
        if let Some(stripe) = self.stripe_of(row) {
            self.begin_use(stripe);
            return Some(stripe);
        }
        let list = self.list_of(row);
        if !self.has_free(list) {
            self.want_stripe();
            return None;
        }
        let (stripe, _) = self.free[list].pop_front()?;
        let roles = self.map().roles_at(row);
        let old = self.stripes[stripe as usize].row;
        self.assign(stripe, row);
        self.begin_use(stripe);
        self.blocked = false;
        let pages = self.pages_of(stripe);
        pages.fill(Pages::default());
        for member in core::iter::once(roles.p).chain(roles.q) {
            let (word, bit) = bit(member);
            pages[word].parity |= bit;
        }
        self.row_changed(old);
        self.row_changed(row);
        Some(stripe)
    }

    /// The list of free stripes that a row is served from.
    pub(super) fn list_of(&self, row: u64) -> usize {
        (row / PAGE % self.free.len() as u64) as usize
    }

    /// A resync takes the heads of so many neighbouring rows; false where they are not free, and it has to wait like a request.
    pub fn hold(&mut self, rows: usize, held: &mut Vec<u32>) -> bool {
        let lists = self.free.len();
        let of_list = |list: usize| (rows + lists - 1 - list) / lists;
        if (0..lists).any(|list| !self.has_free(list)) || self.resting() < rows {
            self.want_stripe();
            self.blocked = true;
            return false;
        }
        for list in 0..lists {
            for _ in 0..of_list(list) {
                // Lists differ by a few heads: what one lacks is not waited for.
                if !self.has_free(list) {
                    break;
                }
                let (stripe, _) = self.free[list].pop_front().expect("it has one");
                let old = self.unassign(stripe);
                self.begin_use(stripe);
                held.push(stripe);
                self.row_changed(old);
            }
        }
        self.blocked = false;
        true
    }

    /// A resync gives its stripe heads back. Returns whether the md thread has work now.
    pub fn let_go(&mut self, held: &[u32]) -> bool {
        self.has_grown = false;
        self.grow();
        for &stripe in held {
            self.set_free(stripe);
        }
        self.retry_waiting();
        !self.handle.is_empty()
    }

    /// Stripes that are not in use.
    fn resting(&self) -> usize {
        self.stripes.len() - self.active
    }

    /// Whether a resync may have heads: a request that found none waits until a quarter is free (R5_INACTIVE_BLOCKED, drivers/md/raid5.c).
    pub fn has_room(&self) -> bool {
        !self.blocked || self.active < self.stripes.len() * 3 / 4
    }

    /// Whether the list has a stripe; stale entries before it leave. A quarter has to be free once a request found none.
    pub(super) fn has_free(&mut self, list: usize) -> bool {
        if !self.has_room() {
            return false;
        }
        while let Some(&(stripe, freed)) = self.free[list].front() {
            let head = &self.stripes[stripe as usize];
            if !head.in_use && head.freed == freed {
                return true;
            }
            self.free[list].pop_front();
        }
        false
    }

    /// Nobody needs the stripe now; its pages stay until another row takes it.
    pub(super) fn set_free(&mut self, stripe: u32) {
        self.clock += 1;
        let head = &mut self.stripes[stripe as usize];
        if !head.in_use {
            return;
        }
        head.in_use = false;
        head.freed = self.clock;
        self.active -= 1;
        let list = &mut self.free[head.free_list as usize];
        // Taken again from the cache, a stripe leaves its old entry behind.
        if list.len() >= 2 * self.stripes.len() {
            let stripes = &self.stripes;
            list.retain(|(stripe, freed)| {
                let head = &stripes[*stripe as usize];
                !head.in_use && head.freed == *freed
            });
        }
        list.push_back((stripe, self.clock));
    }

    pub(super) fn queue_for_thread(&mut self, stripe: u32) {
        let head = &mut self.stripes[stripe as usize];
        if matches!(head.place, StripeList::Free | StripeList::Io) {
            head.place = StripeList::Handle;
            self.handle.push_back(stripe);
        }
    }

    /// After a turn: to which list the stripe goes.
    pub(super) fn release(&mut self, stripe: u32) {
        let head = &mut self.stripes[stripe as usize];
        if head.place != StripeList::Handle && head.place != StripeList::Hold {
            return;
        }
        let wants_more = head.computed || !head.writers.is_empty() || !head.readers.is_empty();
        if head.io_left > 0 {
            head.place = StripeList::Io;
        } else if head.computed {
            head.place = StripeList::Handle;
            self.handle.push_back(stripe);
        } else if wants_more {
            head.place = StripeList::Delayed;
            self.delayed.push_back(stripe);
        } else if head.plugged {
            // Its submitter's plug holds it.
            head.place = StripeList::Free;
        } else {
            head.place = StripeList::Free;
            if head.preread_active {
                head.preread_active = false;
                self.preread_active -= 1;
            }
            self.set_free(stripe);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Raid5Config, RmwLevel};
    use super::*;
    use crate::layout::parity::{Parity, ParityLayout};
    use seekwise_units::{Lba, Sectors};

    fn array(generation: MdGeneration) -> Raid5 {
        Raid5::new(Raid5Config {
            generation,
            parity: Parity {
                members: 4,
                parities: 1,
                layout: ParityLayout::LeftSymmetric,
                chunk: Sectors(128),
            },
            stripe_cache_size: 32,
            rmw_level: RmwLevel::Enabled,
            member_sectors_max: Sectors(2560),
            in_sync_until: Lba(u64::MAX),
        })
    }

    #[test]
    fn the_cache_grows_by_a_stripe_for_each_turn_in_which_somebody_found_none() {
        for (generation, grows) in [
            (MdGeneration::Linux4_4, true),
            (MdGeneration::Linux2_6_32, false),
        ] {
            let mut array = array(generation);
            for round in 0..100 {
                let mut held = Vec::new();
                while array.hold(8, &mut held) {}
                assert!(held.len() + 8 > array.stripes.len());
                // One is added when the first come back; another only after more of them have.
                for some in held.chunks(held.len().div_ceil(2)) {
                    array.let_go(some);
                }
                let stripes = if grows { 33 + round } else { 32 };
                assert_eq!(array.stripes.len(), stripes);
            }
            // Heads are found by their rows, whatever the index has become.
            let rows: Vec<u64> = (0..32).map(|row| row * PAGE).collect();
            let taken: Vec<Option<u32>> = rows.iter().map(|&row| array.take_stripe(row)).collect();
            for (row, stripe) in rows.into_iter().zip(taken) {
                assert!(stripe.is_some() && array.stripe_of(row) == stripe);
            }
        }
    }

    #[test]
    fn a_stripe_that_is_added_leaves_rows_where_they_are_found() {
        let mut array = array(MdGeneration::Linux4_4);
        for row in 0..2_000 {
            if array.take_stripe(row * PAGE).is_none() {
                array.has_grown = false;
                array.want_stripe();
                array.grow();
            }
        }
        assert!(array.stripes.len() > 900, "{}", array.stripes.len());
        let rows: Vec<u64> = array.stripes.iter().map(|head| head.row).collect();
        for (stripe, row) in rows
            .into_iter()
            .enumerate()
            .filter(|&(_, row)| row != NO_ROW)
        {
            assert_eq!(array.stripe_of(row), Some(stripe as u32));
        }
    }
}
