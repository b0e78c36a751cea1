//! How scheduler tags lie in memory, as far as a policy's limits on them depend on it.

use crate::kernel::Kernel;
use crate::request::{Direction, ProcessId};

/// How the scheduler tags of a blk-mq queue lie in the words of a bitmap, and what a limit on them counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagWords {
    pub tags: u32,
    /// Bits of a word.
    pub word: u32,
    /// A limit counts bits of the whole map, of which each word gets its part; otherwise bits of each word.
    pub whole: bool,
}

/// How many words a map has at least.
const WORDS_MIN: u32 = 4;

impl TagWords {
    /// Of a map of `tags` bits. Linux 5.10 to 6.12 lib/sbitmap.c: sbitmap_calculate_shift. A limit counts bits of the whole map from 6.18
    /// on, and in the recordings of 6.12.107: there a queue of bfq over its share gets one tag of the map, in those of 6.1 one of each
    /// word. Which stable release of 6.12 brought that, and whether those of 6.13 to 6.17 have it, is not known: all from 6.12 on are taken to.
    pub fn of(kernel: &Kernel, tags: u32) -> Self {
        let word = if tags >= WORDS_MIN {
            1 << (tags / WORDS_MIN).ilog2().min(u64::BITS.ilog2())
        } else {
            u64::BITS
        };
        Self {
            tags,
            word,
            whole: kernel.at_least(6, 12, 0),
        }
    }

    /// Where the first search begins. The kernel draws a random tag. Where a limit counts bits of each word the map looks the same from
    /// every word; where it counts bits of the whole map a limit of one leaves the first word's first bit only, and three draws of four
    /// begin in a word that is not the first, so that unlimited requests do not take it.
    pub fn first_hint(&self) -> u32 {
        if self.whole && self.tags > self.word {
            self.word
        } else {
            0
        }
    }

    /// The largest limit: none.
    pub fn all(&self) -> u32 {
        if self.whole {
            self.tags
        } else {
            self.word
        }
    }
}

/// Who asks for a tag, and for what kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asking {
    pub process: ProcessId,
    pub sync: bool,
    pub direction: Direction,
}

impl Asking {
    /// Reads that somebody waits for are limited by no policy's share for writers.
    pub fn is_sync_read(&self) -> bool {
        self.sync && self.direction == Direction::Read
    }
}
