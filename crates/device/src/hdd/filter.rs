//! Counts of addresses by region: says in a few instructions that nothing starts in a range.
//!
//! Regions of 32 MiB share 1024 counters, so "something may" needs a search and "nothing does" is certain.

use seekwise_units::Lba;

const SLOTS: usize = 1024;
/// Addresses that share a slot: 32 MiB.
pub const SHIFT: u32 = 16;

#[derive(Clone, Copy, Debug)]
pub struct Filter([u8; SLOTS]);

impl Filter {
    /// Nothing starts anywhere.
    pub fn new() -> Self {
        Self([0; SLOTS])
    }

    #[inline]
    fn slot(lba: Lba) -> usize {
        (lba.0 >> SHIFT) as usize % SLOTS
    }

    /// Counts something that starts at `lba`.
    #[inline]
    pub fn add(&mut self, lba: Lba) {
        self.0[Self::slot(lba)] += 1;
    }

    /// Undoes one [`Filter::add`] of the same address.
    #[inline]
    pub fn remove(&mut self, lba: Lba) {
        self.0[Self::slot(lba)] -= 1;
    }

    /// Whether anything may start from `first` up to and with `last`.
    #[inline]
    pub fn may_hold(&self, first: Lba, last: Lba) -> bool {
        let (first, last) = (first.0 >> SHIFT, last.0 >> SHIFT);
        // Most ranges lie in one region or in two.
        self.held(first)
            || self.held(last)
            || last > first + 1 && self.may_hold_between(first, last)
    }

    #[inline]
    fn held(&self, region: u64) -> bool {
        self.0[region as usize % SLOTS] != 0
    }

    #[cold]
    fn may_hold_between(&self, first: u64, last: u64) -> bool {
        (first + 1..last)
            .take(SLOTS)
            .any(|region| self.held(region))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_never_hidden_and_what_was_removed_is_forgotten() {
        let mut filter = Filter::new();
        for address in [0, 65_535, 65_536, 9_999_999_999] {
            assert!(!filter.may_hold(Lba(0), Lba(20_000_000_000)));
            filter.add(Lba(address));
            assert!(filter.may_hold(Lba(address), Lba(address)));
            assert!(filter.may_hold(Lba(0), Lba(20_000_000_000)));
            filter.remove(Lba(address));
        }
        filter.add(Lba(0));
        assert!(!filter.may_hold(Lba(65_536), Lba(2 * 65_536)));
    }
}
