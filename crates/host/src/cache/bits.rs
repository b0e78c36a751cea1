//! A set of page or block numbers as bits, with operations on runs.

/// Grows when a number beyond its end is set.
#[derive(Clone, Debug, Default)]
pub struct Bits {
    words: Vec<u64>,
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
    /// An empty set; memory for numbers below `numbers`, more is taken when needed.
    pub fn with_capacity(numbers: u64) -> Self {
        Self {
            words: vec![0; numbers.div_ceil(64) as usize],
        }
    }

    /// Whether `number` is in the set; false beyond its memory.
    #[inline]
    pub fn get(&self, number: u64) -> bool {
        self.words
            .get((number / 64) as usize)
            .is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Sets or clears a run; gives the number of bits that changed.
    #[inline]
    fn apply(&mut self, from: u64, count: u64, set: bool) -> u64 {
        // Most runs are one page: no loop, and nothing to count.
        match self.words.get_mut((from / 64) as usize) {
            Some(word) if count == 1 => {
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
        let needed = end.div_ceil(64) as usize;
        if self.words.len() < needed {
            if !set {
                return self.clear_within(from, end);
            }
            self.words.resize(needed, 0);
        }
        let mut changed = 0u64;
        while at < end {
            let bit = at % 64;
            let here = (64 - bit).min(end - at);
            let word = &mut self.words[(at / 64) as usize];
            let mask = mask(bit, here);
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

    fn clear_within(&mut self, from: u64, end: u64) -> u64 {
        let end = end.min(self.words.len() as u64 * 64);
        if from >= end {
            0
        } else {
            self.apply_run(from, end - from, false)
        }
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
        self.words.fill(0);
    }

    /// The first number in `from..end` whose bit is `wanted`; `end` when there is none.
    fn next(&self, from: u64, end: u64, wanted: bool) -> u64 {
        let mut at = from;
        while at < end {
            let Some(word) = self.words.get((at / 64) as usize) else {
                return if wanted { end } else { at };
            };
            let word = if wanted { *word } else { !*word };
            let rest = word >> (at % 64);
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
}
