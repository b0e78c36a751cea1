//! The write-intent bitmap: which parts of the array may differ between members after a crash.
//!
//! ```text
//!   write to a clean part ─▶ bit set ─▶ its page written on every member ─▶ the data may go
//!   last write done ─▶ one turn of the daemon later idle ─▶ the next clears the bit ─▶ the one after writes the page
//! ```
//!
//! Facts: bit before data, batched at unplug, cleared lazily by a daemon of 5 s: drivers/md/bitmap.c as
//! described there; the steps of the clearing are those of `bitmap_daemon_work` (counter 2, 1, 0; page pending, then due), the same from 2.6.23
//! to 6.12. Not modelled: a bitmap in a file or in a cluster, `write-behind`, the superblock's event counter.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Bits on a page of 4 KiB; the first page begins with a superblock of 256 bytes.
const PAGE_BITS: u64 = seekwise_units::PAGE_BYTES * 8;
const SUPERBLOCK_BITS: u64 = 256 * 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bit {
    /// Writes under way.
    Written(u32),
    /// No write since; the daemon has not been here.
    Done,
    /// The daemon was here once without a write.
    Idle,
}

/// Pages, by their state; a page is in one of them at most by what is done with it next.
#[derive(Clone, Debug, Default)]
struct Pages {
    /// A bit was set: to be written before data.
    dirty: BTreeSet<u32>,
    /// A bit was cleared: the daemon's next turn makes the page due.
    pending: BTreeSet<u32>,
    /// Written by the daemon, or along with dirty ones.
    due: BTreeSet<u32>,
}

#[derive(Clone, Debug)]
pub struct Bitmap {
    chunk: u64,
    bits: BTreeMap<u64, Bit>,
    pages: Pages,
    /// Bits stay set while a member is missing, for its return.
    kept: bool,
}

impl Bitmap {
    /// `chunk` sectors a bit.
    pub fn new(chunk: u64, degraded: bool) -> Self {
        Self {
            chunk,
            bits: BTreeMap::new(),
            pages: Pages::default(),
            kept: degraded,
        }
    }

    fn page(bit: u64) -> u32 {
        ((bit + SUPERBLOCK_BITS) / PAGE_BITS) as u32
    }

    /// Bits of a range of sectors.
    pub fn bits(&self, from: u64, sectors: u64) -> RangeInclusive<u64> {
        from / self.chunk..=(from + sectors.max(1) - 1) / self.chunk
    }

    /// A write begins. True when it sets a bit, so that a page has to go first.
    pub fn begin(&mut self, bits: RangeInclusive<u64>) -> bool {
        let mut sets = false;
        for bit in bits {
            match self.bits.get_mut(&bit) {
                Some(Bit::Written(writes)) => *writes += 1,
                Some(state) => *state = Bit::Written(1),
                None => {
                    self.bits.insert(bit, Bit::Written(1));
                    self.pages.dirty.insert(Self::page(bit));
                    sets = true;
                }
            }
        }
        sets
    }

    /// A write is done.
    pub fn end(&mut self, bits: RangeInclusive<u64>) {
        for bit in bits {
            if let Some(Bit::Written(writes)) = self.bits.get_mut(&bit) {
                *writes -= 1;
                if *writes == 0 {
                    self.bits.insert(bit, Bit::Done);
                }
            }
        }
    }

    /// Data have to wait for pages.
    pub fn holds_up(&self) -> bool {
        !self.pages.dirty.is_empty()
    }

    /// Pages to write before data.
    pub fn take_dirty(&mut self) -> Vec<u32> {
        let mut pages = core::mem::take(&mut self.pages.dirty);
        pages.append(&mut self.pages.due);
        pages.into_iter().collect()
    }

    /// A turn of the daemon: bits without writes come nearer to being cleared. Pages to write, which nothing waits for.
    pub fn daemon(&mut self) -> Vec<u32> {
        let mut pending = core::mem::take(&mut self.pages.pending);
        self.pages.due.append(&mut pending);
        if !self.kept {
            let pages = &mut self.pages;
            self.bits.retain(|&bit, state| match state {
                Bit::Written(_) => true,
                Bit::Done => {
                    *state = Bit::Idle;
                    true
                }
                Bit::Idle => {
                    pages.pending.insert(Self::page(bit));
                    false
                }
            });
        }
        if self.holds_up() {
            // The write to come takes them along.
            return Vec::new();
        }
        core::mem::take(&mut self.pages.due).into_iter().collect()
    }

    /// Nothing is left for the daemon.
    pub fn clean(&self) -> bool {
        let waits = self
            .bits
            .values()
            .any(|bit| !self.kept || matches!(bit, Bit::Written(_)));
        !waits && self.pages.pending.is_empty() && self.pages.due.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_write_to_a_part_waits_for_a_page_and_those_that_follow_do_not() {
        let mut bitmap = Bitmap::new(1000, false);
        bitmap.begin(bitmap.bits(0, 8));
        assert_eq!(bitmap.take_dirty(), [0]);
        bitmap.end(bitmap.bits(0, 8));
        for _ in 0..20 {
            bitmap.begin(bitmap.bits(900, 8));
            assert!(!bitmap.holds_up());
            bitmap.end(bitmap.bits(900, 8));
            // A part that is written on stays set, whatever the daemon does between.
            assert!(bitmap.daemon().is_empty());
        }
        bitmap.begin(bitmap.bits(996, 8));
        assert_eq!(bitmap.take_dirty(), [0], "the next part is another bit");
    }

    #[test]
    fn a_bit_is_cleared_in_the_daemons_second_turn_and_its_page_written_in_the_third() {
        let mut bitmap = Bitmap::new(1000, false);
        bitmap.begin(0..=0);
        bitmap.take_dirty();
        bitmap.end(0..=0);
        assert!(bitmap.daemon().is_empty());
        assert!(bitmap.daemon().is_empty() && !bitmap.clean());
        assert_eq!(bitmap.daemon(), [0]);
        assert!(bitmap.clean());
        bitmap.begin(0..=0);
        assert!(bitmap.holds_up());
    }

    #[test]
    fn a_degraded_array_keeps_its_bits() {
        let mut bitmap = Bitmap::new(1000, true);
        bitmap.begin(7..=7);
        bitmap.take_dirty();
        bitmap.end(7..=7);
        for _ in 0..5 {
            assert!(bitmap.daemon().is_empty());
        }
        bitmap.begin(7..=7);
        assert!(!bitmap.holds_up());
    }

    proptest! {
        #[test]
        fn data_never_go_to_a_part_whose_bit_is_not_on_the_members(
            steps in prop::collection::vec((0u64..200_000, any::<bool>()), 1..200),
        ) {
            // What the members hold: the pages as they were when last written.
            let mut bitmap = Bitmap::new(1, false);
            let mut on_members: BTreeSet<u64> = BTreeSet::new();
            let store = |bitmap: &Bitmap, on_members: &mut BTreeSet<u64>, pages: Vec<u32>| {
                on_members.retain(|&bit| !pages.contains(&Bitmap::page(bit)));
                on_members.extend(bitmap.bits.keys().filter(|&&bit| pages.contains(&Bitmap::page(bit))));
            };
            for (bit, daemon) in steps {
                if daemon {
                    let pages = bitmap.daemon();
                    store(&bitmap, &mut on_members, pages);
                }
                bitmap.begin(bit..=bit);
                if bitmap.holds_up() {
                    let pages = bitmap.take_dirty();
                    store(&bitmap, &mut on_members, pages);
                }
                prop_assert!(on_members.contains(&bit));
                bitmap.end(bit..=bit);
            }
        }
    }
}
