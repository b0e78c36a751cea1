//! The drive's buffer for reads: segments, and the read-ahead that fills one of them while the drive has nothing else
//! to do.
//!
//! ```text
//!   segment   ├── asked for ──┼── read ahead so far ──┤·· limit
//!             start                                   end = what has passed the head by now
//! ```
//!
//! Modelled:      segments in a ring, replaced oldest first; one stream at a time, stopped by any work of the arm;
//!                a read that lies in a segment, or runs into the stream, needs no positioning, whether it comes while
//!                the stream runs or has been waiting in the queue.
//! Not modelled:  reading the sectors before the first one while waiting for it, adaptive segment sizes.

use seekwise_units::{Lba, Nanos, Sectors};

pub const SEGMENTS_MAX: usize = 32;
const FILTER_SLOTS: usize = 1024;
/// Addresses that share a slot of the filter: 32 MiB.
const FILTER_SHIFT: u32 = 16;
/// Segments whose regions are looked at side by side.
const LANES: usize = 16;

/// What [`Segments::lookup`] finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    Nothing,
    /// Everything before this address, in this segment.
    UpTo(Lba, usize),
    All,
}

/// No segment.
pub const NO_SEGMENT: usize = usize::MAX;

#[derive(Clone, Copy, Debug)]
pub struct Segments {
    start: [u64; SEGMENTS_MAX],
    end: [u64; SEGMENTS_MAX],
    count: usize,
    next: usize,
    sectors_max: u64,
    /// How many segments begin in the addresses of each slot: most misses need no search.
    filter: [u8; FILTER_SLOTS],
    /// Region of 32 MiB in which each segment begins, its low half: one cache line to search in.
    regions: [u16; SEGMENTS_MAX],
}

impl Segments {
    /// `count` empty segments of at most `sectors_max` each; the arrays limit both.
    pub fn new(count: usize, sectors_max: Sectors) -> Self {
        Self {
            start: [0; SEGMENTS_MAX],
            end: [0; SEGMENTS_MAX],
            count: count.min(SEGMENTS_MAX),
            next: 0,
            // A segment spans at most two slots of the filter.
            sectors_max: sectors_max.0.min(1 << FILTER_SHIFT),
            filter: [0; FILTER_SLOTS],
            regions: [0; SEGMENTS_MAX],
        }
    }

    #[inline]
    fn region(lba: u64) -> u16 {
        (lba >> FILTER_SHIFT) as u16
    }

    #[inline]
    fn slot(lba: u64) -> usize {
        (lba >> FILTER_SHIFT) as usize % FILTER_SLOTS
    }

    /// Starts a segment in place of the oldest one; its number, or `None` without a cache.
    #[inline]
    pub fn open(&mut self, start: Lba, end: Lba) -> Option<usize> {
        if self.count == 0 {
            return None;
        }
        let segment = self.next;
        self.next = if segment + 1 == self.count {
            0
        } else {
            segment + 1
        };
        self.drop_segment(segment);
        let start = start.0.max(end.0.saturating_sub(self.sectors_max));
        self.fill(segment, start, end.0);
        Some(segment)
    }

    /// An empty segment holds these sectors from now on.
    #[inline]
    fn fill(&mut self, segment: usize, start: u64, end: u64) {
        self.start[segment] = start;
        self.end[segment] = end;
        self.regions[segment] = Self::region(start);
        self.filter[Self::slot(start)] += 1;
    }

    #[inline]
    fn drop_segment(&mut self, segment: usize) {
        if self.end[segment] != 0 {
            self.filter[Self::slot(self.start[segment])] -= 1;
            self.start[segment] = 0;
            self.end[segment] = 0;
        }
    }

    /// Moves the end of a segment on; what no longer fits is dropped at its start.
    pub fn extend(&mut self, segment: usize, end: Lba) {
        if end.0 <= self.end[segment] {
            return;
        }
        self.filter[Self::slot(self.start[segment])] -= 1;
        self.end[segment] = end.0;
        self.start[segment] = self.start[segment].max(end.0.saturating_sub(self.sectors_max));
        self.regions[segment] = Self::region(self.start[segment]);
        self.filter[Self::slot(self.start[segment])] += 1;
    }

    #[inline]
    fn near(&self, start: u64) -> bool {
        let slot = Self::slot(start);
        self.filter[slot] != 0 || self.filter[(slot + FILTER_SLOTS - 1) % FILTER_SLOTS] != 0
    }

    /// Segments that may begin in the regions from the one before that of `first` up to that of `last`, lowest first. Others may seem to, addresses
    /// 2 TiB apart being in the same region here, and those with nothing in them; who asks looks which is meant.
    #[inline]
    fn near_segments(&self, first: u64, last: u64) -> impl Iterator<Item = usize> {
        let low = Self::region(first).wrapping_sub(1);
        let span = Self::region(last).wrapping_sub(low);
        let mut near = 0;
        for (block, regions) in self.regions.chunks_exact(LANES).enumerate() {
            if block * LANES >= self.count {
                break;
            }
            // A bit each, found without a jump.
            let mut bits = 0u16;
            for (lane, region) in regions.iter().enumerate() {
                let bit = 1 << lane;
                bits |= if region.wrapping_sub(low) <= span {
                    bit
                } else {
                    0
                };
            }
            near |= u32::from(bits) << (block * LANES);
        }
        core::iter::from_fn(move || {
            if near == 0 {
                return None;
            }
            let segment = near.trailing_zeros() as usize;
            near &= near - 1;
            Some(segment)
        })
    }

    /// How much of an extent is in a segment.
    #[inline]
    pub fn lookup(&self, start: Lba, end: Lba) -> Held {
        if !self.near(start.0) {
            return Held::Nothing;
        }
        for segment in self.near_segments(start.0, start.0) {
            let (from, to) = (self.start[segment], self.end[segment]);
            // A segment that ends where the extent starts can be continued; an unused one has no sectors.
            if from <= start.0 && start.0 <= to && from < to {
                return if end.0 <= to {
                    Held::All
                } else {
                    Held::UpTo(Lba(to), segment)
                };
            }
        }
        Held::Nothing
    }

    /// The segment that ends at `start`, as a read that begins there goes on with it.
    #[inline]
    pub fn ending_at(&self, start: Lba) -> usize {
        match self.lookup(start, start + Sectors(1)) {
            Held::UpTo(address, segment) if address == start => segment,
            _ => NO_SEGMENT,
        }
    }

    /// The segment that takes what was read: the hinted or the latest one if it ends where the extent starts, else a
    /// new one. `None` without a cache.
    #[inline]
    pub fn store(&mut self, start: Lba, end: Lba, hint: usize) -> Option<usize> {
        let latest = if self.next == 0 {
            self.count
        } else {
            self.next
        }
        .wrapping_sub(1);
        for segment in [latest, hint] {
            if segment < self.count && self.end[segment] == start.0 && start.0 > 0 {
                self.extend(segment, end);
                return Some(segment);
            }
        }
        self.open(start, end)
    }

    /// Whether the segment still holds anything.
    pub fn in_use(&self, segment: usize) -> bool {
        self.end[segment] != 0
    }

    /// First sector that the segment holds; 0 if it is empty.
    pub fn start_of(&self, segment: usize) -> Lba {
        Lba(self.start[segment])
    }

    /// Forgets of every segment what is being written; of two parts that are left, the one that a reader goes on with stays ("that data block
    /// ceases to be an object of caching": Fujitsu MAT3300 and MAU3036 manuals, look-ahead cache).
    #[inline]
    pub fn invalidate(&mut self, start: Lba, end: Lba) {
        if end.0 - start.0 > 1 << FILTER_SHIFT {
            for segment in 0..self.count {
                self.drop_overlapped(segment, start, end);
            }
        } else if self.near(start.0) || self.near(end.0) {
            for segment in self.near_segments(start.0, end.0) {
                self.drop_overlapped(segment, start, end);
            }
        }
    }

    #[inline]
    fn drop_overlapped(&mut self, segment: usize, start: Lba, end: Lba) {
        // One decision instead of several that are hard to look_ahead; what is empty ends at zero.
        if (self.start[segment] < end.0) & (start.0 < self.end[segment]) {
            self.cut(segment, start, end);
        }
    }

    fn cut(&mut self, segment: usize, start: Lba, end: Lba) {
        let (from, to) = (self.start[segment], self.end[segment]);
        self.drop_segment(segment);
        let (from, to) = if end.0 < to {
            (end.0, to)
        } else {
            (from, start.0)
        };
        if from < to {
            self.fill(segment, from, to);
        }
    }
}

/// Reading on after the last read, until the limit or until the arm is needed.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// First sector not yet read at `since`.
    pub from: Lba,
    pub since: Nanos,
    pub limit: Lba,
    pub segment: usize,
}

impl Stream {
    /// Whether the head will pass this address if it goes on.
    #[inline]
    pub fn leads_to(&self, lba: Lba) -> bool {
        self.from <= lba && lba < self.limit
    }
}

/// Completions that need only the link: cache hits, accepted writes, flushes. In order of time, since the link is one.
#[derive(Clone, Copy, Debug)]
pub struct LinkQueue {
    tags: [u32; Self::SLOTS],
    done: [Nanos; Self::SLOTS],
    head: usize,
    len: usize,
    /// When the link has moved all it was given.
    pub free_at: Nanos,
}

impl LinkQueue {
    const SLOTS: usize = 64;

    /// An idle link.
    pub fn new() -> Self {
        Self {
            tags: [0; Self::SLOTS],
            done: [Nanos::ZERO; Self::SLOTS],
            head: 0,
            len: 0,
            free_at: Nanos::ZERO,
        }
    }

    /// Adds a command that can use the link from `earliest` on, for `span`.
    pub fn push(&mut self, tag: u32, earliest: Nanos, span: Nanos) {
        assert!(
            self.len < Self::SLOTS,
            "more commands outstanding than the depth of the drive allows"
        );
        let done = self.free_at.max(earliest) + span;
        let slot = (self.head + self.len) % Self::SLOTS;
        self.tags[slot] = tag;
        self.done[slot] = done;
        self.len += 1;
        self.free_at = done;
    }

    /// When the next command is done; never if none is under way.
    #[inline]
    pub fn next(&self) -> Nanos {
        if self.len == 0 {
            Nanos::NEVER
        } else {
            self.done[self.head]
        }
    }

    /// Removes the command that is done next and returns its tag; there must be one.
    pub fn pop(&mut self) -> u32 {
        let tag = self.tags[self.head];
        self.head = (self.head + 1) % Self::SLOTS;
        self.len -= 1;
        tag
    }
}

impl Default for LinkQueue {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_holds_what_was_read_until_it_is_the_oldest() {
        let mut segments = Segments::new(2, Sectors(1000));
        segments.open(Lba(100), Lba(200));
        assert_eq!(segments.lookup(Lba(150), Lba(200)), Held::All);
        assert_ne!(segments.lookup(Lba(150), Lba(201)), Held::All);
        segments.open(Lba(5000), Lba(5100));
        assert_eq!(segments.lookup(Lba(100), Lba(200)), Held::All);
        segments.open(Lba(9000), Lba(9100));
        assert_ne!(segments.lookup(Lba(100), Lba(200)), Held::All);
    }

    #[test]
    fn a_growing_segment_forgets_its_start() {
        let mut segments = Segments::new(1, Sectors(1000));
        let segment = segments.open(Lba(70_000), Lba(70_100)).unwrap();
        segments.extend(segment, Lba(71_100));
        assert_ne!(segments.lookup(Lba(70_000), Lba(70_100)), Held::All);
        assert_eq!(segments.lookup(Lba(70_100), Lba(71_100)), Held::All);
    }

    #[test]
    fn a_write_drops_what_it_overlaps_and_no_more() {
        let mut segments = Segments::new(4, Sectors(1000));
        segments.open(Lba(100), Lba(200));
        segments.open(Lba(300), Lba(400));
        segments.invalidate(Lba(190), Lba(210));
        assert_ne!(segments.lookup(Lba(185), Lba(195)), Held::All);
        assert_eq!(segments.lookup(Lba(100), Lba(190)), Held::All);
        assert_eq!(segments.lookup(Lba(300), Lba(400)), Held::All);
        // Of two parts the one that is read next.
        segments.invalidate(Lba(320), Lba(330));
        assert_ne!(segments.lookup(Lba(300), Lba(310)), Held::All);
        assert_eq!(segments.lookup(Lba(330), Lba(400)), Held::All);
        segments.invalidate(Lba(0), Lba(1000));
        assert_eq!(segments.lookup(Lba(100), Lba(101)), Held::Nothing);
    }

    #[test]
    fn the_filter_never_hides_a_segment() {
        let mut segments = Segments::new(8, Sectors(1 << 16));
        for round in 0..1000u64 {
            let start = round * 7919 % 1_000_003 * 64;
            let segment = segments.open(Lba(start), Lba(start + 512)).unwrap();
            segments.extend(segment, Lba(start + 60_000));
            assert_eq!(
                segments.lookup(Lba(start + 59_000), Lba(start + 59_008)),
                Held::All
            );
            let beyond = segments.lookup(Lba(start + 60_000), Lba(start + 60_008));
            assert_eq!(beyond, Held::UpTo(Lba(start + 60_000), segment));
        }
    }
}
