//! Addresses of a thread's operations: sequential or random, within a region, in whole blocks.

use super::Operation;
use crate::random::Random;
use seekwise_sched::Direction;
use seekwise_units::{Lba, Sectors};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One block after the other; starts over at the end of the region.
    Sequential,
    /// Uniform over the region's blocks.
    Random,
}

#[derive(Clone, Debug)]
pub struct Stream {
    pub random: Random,
    pattern: Pattern,
    first: Lba,
    blocks: u64,
    block: Sectors,
    cursor: u64,
    /// Probability of a read, of 2^32.
    read_chance: u64,
    /// Of several sizes: how often one of this or an earlier row comes (of 2^32), and its blocks. Empty: every operation is one block.
    sizes: Vec<(u64, u64)>,
}

/// Certainty for [`Random::chance`].
pub const ALWAYS: u64 = 1 << 32;

impl Stream {
    /// The region must hold at least one block.
    pub fn new(
        random: Random,
        pattern: Pattern,
        first: Lba,
        region: Sectors,
        block: Sectors,
        read_chance: u64,
    ) -> Self {
        let blocks = (region.0 / block.0).max(1);
        Self {
            random,
            pattern,
            first,
            blocks,
            block,
            cursor: 0,
            read_chance,
            sizes: Vec::new(),
        }
    }

    /// Operations of several sizes, each a number of blocks with its share in per cent; none is longer than the region.
    pub fn of_sizes(mut self, shares: &[(u64, f64)]) -> Self {
        let mut until = 0.0;
        let row = |&(blocks, percent): &(u64, f64)| {
            until += percent;
            (((until / 100.0) * ALWAYS as f64) as u64, blocks)
        };
        self.sizes = shares.iter().map(row).collect();
        self
    }

    /// The next operation; sequential addresses begin again at the region's start when they reach its end.
    #[inline(always)]
    pub fn draw(&mut self) -> Operation {
        if !self.sizes.is_empty() {
            return self.draw_sized();
        }
        let index = match self.pattern {
            Pattern::Random => self.random.below(self.blocks),
            Pattern::Sequential => self.advance(),
        };
        self.operation(index, 1)
    }

    #[inline]
    fn operation(&mut self, index: u64, blocks: u64) -> Operation {
        let read = match self.read_chance {
            ALWAYS => true,
            0 => false,
            chance => self.random.chance(chance),
        };
        Operation {
            direction: if read {
                Direction::Read
            } else {
                Direction::Write
            },
            start: Lba(self.first.0 + index * self.block.0),
            sectors: Sectors(self.block.0 * blocks),
        }
    }

    #[cold]
    fn draw_sized(&mut self) -> Operation {
        let point = self.random.below(ALWAYS);
        let row = self.sizes.iter().find(|(until, _)| point < *until);
        let blocks = row.or(self.sizes.last()).map_or(1, |row| row.1);
        let places = self.blocks - blocks.min(self.blocks) + 1;
        let index = if self.pattern == Pattern::Random {
            self.random.below(places)
        } else if self.cursor < places {
            self.cursor
        } else {
            0
        };
        self.cursor = index + blocks;
        self.operation(index, blocks)
    }

    #[inline]
    fn advance(&mut self) -> u64 {
        let index = self.cursor;
        self.cursor = if index + 1 == self.blocks {
            0
        } else {
            index + 1
        };
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequential_starts_over_at_the_end_of_the_region() {
        let mut s = Stream::new(
            Random::new(1, 0),
            Pattern::Sequential,
            Lba(100),
            Sectors(20),
            Sectors(8),
            ALWAYS,
        );
        let starts: Vec<u64> = (0..3).map(|_| s.draw().start.0).collect();
        assert_eq!(starts, [100, 108, 100]);
    }

    #[test]
    fn sizes_come_by_their_shares_and_stay_inside_the_region() {
        for pattern in [Pattern::Random, Pattern::Sequential] {
            let mut s = Stream::new(
                Random::new(3, 0),
                pattern,
                Lba(1000),
                Sectors(8 * 50),
                Sectors(8),
                ALWAYS,
            )
            .of_sizes(&[(1, 60.0), (4, 30.0), (16, 10.0)]);
            let mut counts = [0; 17];
            let mut end = None;
            for _ in 0..10_000 {
                let op = s.draw();
                assert!(op.start.0 >= 1000 && op.start.0 + op.sectors.0 <= 1400);
                if pattern == Pattern::Sequential && op.start.0 != 1000 {
                    assert_eq!(Some(op.start.0), end);
                }
                end = Some(op.start.0 + op.sectors.0);
                counts[op.sectors.0 as usize / 8] += 1;
            }
            for (blocks, expected) in [(1, 6000), (4, 3000), (16, 1000)] {
                let found: i32 = counts[blocks];
                assert!((found - expected).abs() < 200, "{found} of {blocks} blocks");
            }
        }
    }

    #[test]
    fn random_addresses_are_whole_blocks_inside_the_region() {
        let mut s = Stream::new(
            Random::new(1, 0),
            Pattern::Random,
            Lba(1000),
            Sectors(8 * 50),
            Sectors(8),
            ALWAYS / 2,
        );
        let mut reads = 0;
        for _ in 0..10_000 {
            let op = s.draw();
            assert!(
                op.start.0 >= 1000
                    && op.start.0 + op.sectors.0 <= 1400
                    && (op.start.0 - 1000) % 8 == 0
            );
            reads += u32::from(op.direction == Direction::Read);
        }
        assert!(
            (4_700..5_300).contains(&reads),
            "{reads} of 10000 are reads"
        );
    }
}
