//! A set of page or block numbers as bits, with operations on runs.
//!
//! Pages are read all over files of many gigabytes, and a run touches few of them: a set has memory for the blocks of
//! numbers that were ever set, and a table that finds them.

const WORDS: usize = 8;
/// Numbers of a block.
const NUMBERS: u64 = 64 * WORDS as u64;

/// Grows when a number beyond its end is set.
#[derive(Clone, Debug)]
pub struct Bits {
    /// The place in `blocks` of each block; 0 while nothing of it was ever set.
    places: Vec<u32>,
    /// The first is empty and stays so.
    blocks: Vec<[u64; WORDS]>,
}

impl Default for Bits {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

fn mask(from: u64, count: u64) -> u64 {
    let ones = if count >= 64 {
        u64::MAX
    } else {
        (1u64 << count) - 1
    };
    ones << from
}

impl Bits {
    /// An empty set that finds numbers below `numbers` without growing its table.
    pub fn with_capacity(numbers: u64) -> Self {
        Self {
            places: vec![0; numbers.div_ceil(NUMBERS) as usize],
            blocks: vec![[0; WORDS]],
        }
    }

    /// The block of a number; 0 where nothing was set.
    #[inline]
    fn place(&self, number: u64) -> usize {
        let place = self.places.get((number / NUMBERS) as usize);
        place.copied().unwrap_or(0) as usize
    }

    #[inline]
    fn word(&self, number: u64) -> u64 {
        self.blocks[self.place(number)][(number / 64) as usize % WORDS]
    }

    /// Whether `number` is in the set; false beyond its memory.
    #[inline]
    pub fn get(&self, number: u64) -> bool {
        self.word(number) >> (number % 64) & 1 == 1
    }

    /// Sets or clears a run; gives the number of bits that changed.
    #[inline]
    fn apply(&mut self, from: u64, count: u64, set: bool) -> u64 {
        // Most runs are one page: no loop, and nothing to count.
        match self.place(from) {
            place if count == 1 && place != 0 => {
                let word = &mut self.blocks[place][(from / 64) as usize % WORDS];
                let mask = 1 << (from % 64);
                let was = *word & mask != 0;
                *word = if set { *word | mask } else { *word & !mask };
                u64::from(was != set)
            }
            _ => self.apply_run(from, count, set),
        }
    }

    fn apply_run(&mut self, from: u64, count: u64, set: bool) -> u64 {
        let (mut at, end) = (from, from + count);
        let mut changed = 0u64;
        while at < end {
            let place = match self.place(at) {
                0 if !set && at / NUMBERS >= self.places.len() as u64 => break,
                0 if !set => {
                    at = (at / NUMBERS + 1) * NUMBERS;
                    continue;
                }
                0 => self.new_block(at),
                place => place,
            };
            let here = (64 - at % 64).min(end - at);
            let word = &mut self.blocks[place][(at / 64) as usize % WORDS];
            let mask = mask(at % 64, here);
            let different = if set { !*word & mask } else { *word & mask };
            // All of them, mostly; older processors count bits in a dozen instructions.
            changed += if different == mask {
                here
            } else {
                u64::from(different.count_ones())
            };
            *word = if set { *word | mask } else { *word & !mask };
            at += here;
        }
        changed
    }

    /// Memory for the block of a number.
    #[cold]
    fn new_block(&mut self, number: u64) -> usize {
        let (block, place) = ((number / NUMBERS) as usize, self.blocks.len());
        if self.places.len() <= block {
            self.places.resize(block + 1, 0);
        }
        self.places[block] = u32::try_from(place).expect("fewer than 2^32 blocks of 512 pages");
        self.blocks.push([0; WORDS]);
        place
    }

    /// Sets a run; how many of it were not set before.
    #[inline]
    pub fn set(&mut self, from: u64, count: u64) -> u64 {
        self.apply(from, count, true)
    }

    /// Clears a run; how many of it were set before.
    #[inline]
    pub fn clear(&mut self, from: u64, count: u64) -> u64 {
        self.apply(from, count, false)
    }

    /// Empties the set and keeps its memory.
    pub fn clear_all(&mut self) {
        self.blocks.fill([0; WORDS]);
    }

    /// The first number in `from..end` whose bit is `wanted`; `end` when there is none.
    fn next(&self, from: u64, end: u64, wanted: bool) -> u64 {
        let mut at = from;
        while at < end {
            let place = self.place(at);
            if place == 0 {
                let is_end = at / NUMBERS >= self.places.len() as u64;
                if !wanted || is_end {
                    return if wanted { end } else { at };
                }
                at = (at / NUMBERS + 1) * NUMBERS;
                continue;
            }
            let word = self.blocks[place][(at / 64) as usize % WORDS];
            let rest = if wanted { word } else { !word } >> (at % 64);
            if rest != 0 {
                return (at + u64::from(rest.trailing_zeros())).min(end);
            }
            at = (at / 64 + 1) * 64;
        }
        end
    }

    /// The first set number in `from..end`, or `end`.
    #[inline]
    pub fn next_set(&self, from: u64, end: u64) -> u64 {
        self.next(from, end, true)
    }

    /// The first clear number in `from..end`, or `end`.
    #[inline]
    pub fn next_clear(&self, from: u64, end: u64) -> u64 {
        self.next(from, end, false)
    }

    /// How many numbers in a row right before `number` are set, `most` at most.
    pub fn set_before(&self, number: u64, most: u64) -> u64 {
        let mut count = 0;
        while count < most && count < number && self.get(number - count - 1) {
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_across_words_count_what_changed() {
        let mut bits = Bits::default();
        assert_eq!(bits.set(60, 10), 10);
        assert_eq!(bits.set(50, 30), 20);
        assert_eq!(bits.clear(0, 1000), 30);
        assert_eq!(bits.clear(5000, 10), 0);
    }

    #[test]
    fn searches_find_borders_of_runs() {
        let mut bits = Bits::with_capacity(256);
        bits.set(100, 30);
        assert_eq!(bits.next_set(0, 256), 100);
        assert_eq!(bits.next_clear(100, 256), 130);
        assert_eq!(bits.next_set(130, 256), 256);
        assert_eq!(bits.next_clear(300, 400), 300);
        assert_eq!(bits.set_before(130, 64), 30);
        assert_eq!(bits.set_before(130, 7), 7);
        assert!(bits.get(129) && !bits.get(130));
    }

    #[test]
    fn a_page_far_away_costs_a_block_and_not_what_lies_before_it() {
        let mut bits = Bits::default();
        let far = 40_000_000;
        assert_eq!((bits.set(far, 3), bits.blocks.len()), (3, 2));
        assert_eq!((bits.clear(0, far + 1), bits.blocks.len()), (1, 2));
        assert_eq!(
            bits.next_set(0, u64::MAX),
            far + 1,
            "at once: nothing is looked for behind the last block"
        );
        assert_eq!(
            (
                bits.next_set(far + 2, u64::MAX),
                bits.clear(far + 3, u64::MAX / 2)
            ),
            (far + 2, 0)
        );
        bits.clear_all();
        assert_eq!((bits.next_set(0, far + 9), bits.set(far, 1)), (far + 9, 1));
    }
}
