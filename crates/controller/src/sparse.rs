//! Values by number over a wide range of which little is in use: leaves of 64 numbers, found by a hash.
//!
//! Whole runs are looked at and changed leaf by leaf, so a run costs one search for 64 numbers. Nothing depends on the order of the hash.

use core::ops::Range;
use seekwise_units::hash::ByNumber;

const LEAF: u64 = 64;

#[derive(Clone, Debug)]
struct Leaf<T> {
    items: [T; LEAF as usize],
    filled: u32,
}

/// A number that was never set, or set to the default, takes no room.
#[derive(Clone, Debug, Default)]
pub struct Sparse<T> {
    index: ByNumber<u64, u32>,
    leaves: Vec<Leaf<T>>,
    /// Leaves in which nothing is set.
    free: Vec<u32>,
    filled: usize,
}

impl<T: Copy + Default + PartialEq> Sparse<T> {
    /// Numbers with another value than the default.
    pub fn filled(&self) -> usize {
        self.filled
    }

    /// The value of `number`; the default if it was never set.
    #[inline]
    pub fn get(&self, number: u64) -> T {
        match self.index.get(&(number / LEAF)) {
            Some(&leaf) => self.leaves[leaf as usize].items[(number % LEAF) as usize],
            None => T::default(),
        }
    }

    /// How many numbers of `range` hold from its start on until the first that does not.
    pub fn holding(&self, range: Range<u64>, holds: impl Fn(T) -> bool) -> u64 {
        let mut at = range.start;
        while at < range.end {
            let stop = range.end.min((at / LEAF + 1) * LEAF);
            match self.index.get(&(at / LEAF)) {
                None if holds(T::default()) => at = stop,
                None => break,
                Some(&leaf) => {
                    let items = &self.leaves[leaf as usize].items;
                    let within = &items[(at % LEAF) as usize..][..(stop - at) as usize];
                    match within.iter().position(|&item| !holds(item)) {
                        Some(place) => return at + place as u64 - range.start,
                        None => at = stop,
                    }
                }
            }
        }
        at - range.start
    }

    /// Sets the value of `number`; the default frees its room.
    #[inline]
    pub fn set(&mut self, number: u64, value: T) {
        self.change(number..number + 1, |_, item| *item = value);
    }

    /// Calls `change` for each number of the range, in order.
    pub fn change(&mut self, range: Range<u64>, mut change: impl FnMut(u64, &mut T)) {
        let mut at = range.start;
        while at < range.end {
            let number = at / LEAF;
            let stop = range.end.min((number + 1) * LEAF);
            let place = *self.index.entry(number).or_insert_with(|| {
                self.free.pop().unwrap_or_else(|| {
                    self.leaves.push(Leaf {
                        items: [T::default(); LEAF as usize],
                        filled: 0,
                    });
                    (self.leaves.len() - 1) as u32
                })
            });
            let leaf = &mut self.leaves[place as usize];
            let within = (at % LEAF) as usize..(at % LEAF + stop - at) as usize;
            let (mut gone, mut come) = (0, 0);
            for item in &mut leaf.items[within] {
                gone += u32::from(*item != T::default());
                change(at, item);
                come += u32::from(*item != T::default());
                at += 1;
            }
            leaf.filled = leaf.filled + come - gone;
            self.filled = self.filled + come as usize - gone as usize;
            if leaf.filled == 0 {
                self.index.remove(&number);
                self.free.push(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_holds_what_a_map_holds(
            steps in prop::collection::vec((0u64..300, 1u64..150, 0u8..3), 1..60),
            from in 0u64..400,
        ) {
            let mut sparse = Sparse::<u8>::default();
            let mut map = BTreeMap::new();
            for (start, count, value) in steps {
                sparse.change(start..start + count, |_, item| *item = value);
                for number in start..start + count {
                    map.insert(number, value);
                }
            }
            let of = |number: u64| map.get(&number).copied().unwrap_or(0);
            prop_assert_eq!(sparse.filled(), map.values().filter(|&&value| value != 0).count());
            for number in 0..500 {
                prop_assert_eq!(sparse.get(number), of(number));
            }
            let holding = (from..500).take_while(|&number| of(number) == of(from)).count() as u64;
            prop_assert_eq!(sparse.holding(from..500, |value| value == of(from)), holding);
        }
    }

    #[test]
    fn what_is_emptied_leaves_no_leaf_behind() {
        let mut sparse = Sparse::<u32>::default();
        for round in 0..1_000u64 {
            sparse.set(round * 1_000, 7);
            sparse.set(round * 1_000, 0);
        }
        assert_eq!((sparse.leaves.len(), sparse.index.len()), (1, 0));
    }
}
