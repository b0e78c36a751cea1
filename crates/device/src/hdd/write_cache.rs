//! Writes that the drive has accepted and not yet put on the platters.
//!
//! Modelled:      up to [`DIRTY_MAX`] extents, adjacent writes joined, overwritten data absorbed; a limit in bytes;
//!                flushes that wait for what was dirty when they came.
//! Not modelled:  contents.

use super::geometry::{Extent, Geometry};
use super::ncq::{Accesses, Head, ACCESSES_MOST, LANES};
use super::rotation::Spindle;
use super::seek::SeekCurve;
use multiversion::multiversion;
use seekwise_units::{Lba, Nanos, Sectors};
use std::ops::Range;

pub const DIRTY_MAX: usize = ACCESSES_MOST;
/// Adjacent writes are joined up to 1 MiB, so that one destaging does not hold up reads for long.
const JOINED_SECTORS_MAX: u64 = 2048;
const FLUSHES_MAX: usize = 32;

#[derive(Clone, Copy, Debug, Default)]
pub struct DirtyExtent {
    pub start: Lba,
    pub sectors: Sectors,
    pub extent: Extent,
    serial: u64,
}

impl DirtyExtent {
    fn holds(&self, start: Lba, end: Lba) -> bool {
        self.start <= start && end <= self.start + self.sectors
    }
}

/// A flush that waits for everything older than `serial`.
#[derive(Clone, Copy, Debug, Default)]
struct Flush {
    tag: u32,
    serial: u64,
    arrival: Nanos,
}

#[derive(Clone, Copy, Debug)]
pub struct WriteCache {
    accesses: Accesses<{ DIRTY_MAX / LANES }>,
    extents: [DirtyExtent; DIRTY_MAX],
    /// First sector of each extent, its low half, and its length: looked through side by side.
    firsts: Sides,
    lengths: Sides,
    extents_max: usize,
    sectors: u64,
    sectors_max: u64,
    serial: u64,
    /// Serial of the extent that is being written to the platter, if one is.
    in_flight: Option<u64>,
    flushes: [Flush; FLUSHES_MAX],
    flush_count: usize,
}

type Sides = [[u32; LANES]; DIRTY_MAX / LANES];

/// The first of `blocks` in which an extent holds, or ends at, the sector with the low half `low`.
#[multiversion(targets("x86_64+avx+avx2"))]
fn block_near(firsts: &Sides, lengths: &Sides, blocks: Range<usize>, low: u32) -> Option<usize> {
    let (firsts, lengths) = (&firsts[..blocks.end], &lengths[..blocks.end]);
    for block in blocks {
        let mut near = [0; LANES];
        for lane in 0..LANES {
            near[lane] = u32::from(low.wrapping_sub(firsts[block][lane]) <= lengths[block][lane]);
        }
        if near != [0; LANES] {
            return Some(block);
        }
    }
    None
}

impl WriteCache {
    /// An empty cache. `extents_max` 0 turns it off; [`DIRTY_MAX`] is the most.
    pub fn new(extents_max: usize, sectors_max: Sectors) -> Self {
        Self {
            accesses: Accesses::new(),
            extents: [DirtyExtent::default(); DIRTY_MAX],
            firsts: [[0; LANES]; DIRTY_MAX / LANES],
            lengths: [[0; LANES]; DIRTY_MAX / LANES],
            extents_max: extents_max.min(DIRTY_MAX),
            sectors: 0,
            sectors_max: sectors_max.0,
            serial: 0,
            in_flight: None,
            flushes: [Flush::default(); FLUSHES_MAX],
            flush_count: 0,
        }
    }

    /// Whether writes may be accepted before they are on the platters.
    pub fn enabled(&self) -> bool {
        self.extents_max > 0
    }

    /// Nothing waits to be written; an extent may still be on its way to the platter.
    pub fn is_empty(&self) -> bool {
        self.accesses.is_empty()
    }

    /// No further extent fits.
    pub fn is_full(&self) -> bool {
        // What is on its way to the platter keeps its place until it is there.
        self.accesses.len() + usize::from(self.in_flight.is_some()) >= self.extents_max
            || self.sectors >= self.sectors_max
    }

    /// Whether a write will be let in once what is on its way to the platter is there, wherever it lies.
    pub fn has_room_after_destaging(&self, sectors: Sectors) -> bool {
        self.accesses.len() < self.extents_max
            && self.sectors < self.sectors_max
            && self.sectors + sectors.0 <= self.sectors_max
    }

    /// Whether a flush waits for dirty data.
    pub fn flush_pending(&self) -> bool {
        self.flush_count > 0
    }

    /// When the flush that has waited longest came; never without one.
    pub fn flush_since(&self) -> Nanos {
        self.flushes[..self.flush_count]
            .first()
            .map_or(Nanos::NEVER, |flush| flush.arrival)
    }

    /// Nothing waits and nothing is on its way to the platter.
    pub fn clean(&self) -> bool {
        self.accesses.is_empty() && self.in_flight.is_none()
    }

    fn dirty(&self) -> &[DirtyExtent] {
        &self.extents[..self.accesses.len()]
    }

    /// Calls `look` with every extent in which, or right behind which, sector `at` may lie.
    #[inline]
    fn around(&self, at: Lba, mut look: impl FnMut(usize, &DirtyExtent)) {
        let low = at.0 as u32;
        let blocks = self.accesses.len().div_ceil(LANES);
        let mut block = 0;
        while let Some(near) = block_near(&self.firsts, &self.lengths, block..blocks, low) {
            // Addresses 2 TiB apart have the same low half, and what stands behind the last extent is left over: `look` sees which is meant.
            let found = self.dirty().iter().enumerate();
            for (slot, dirty) in found.skip(near * LANES).take(LANES) {
                look(slot, dirty);
            }
            block = near + 1;
        }
    }

    /// Whether the sectors are all dirty in one extent, and so can be read from the cache.
    pub fn holds(&self, start: Lba, end: Lba) -> bool {
        let mut held = false;
        self.around(start, |_, dirty| held |= dirty.holds(start, end));
        held
    }

    /// Takes a write in; `false` when there is no room.
    pub fn accept(
        &mut self,
        geometry: &Geometry,
        settle: u32,
        start: Lba,
        sectors: Sectors,
    ) -> bool {
        let end = start + sectors;
        let joins = |dirty: &DirtyExtent| {
            dirty.start + dirty.sectors == start
                && dirty.sectors.0 + sectors.0 <= JOINED_SECTORS_MAX
        };
        let (mut held, mut joined) = (false, None);
        self.around(start, |slot, dirty| {
            held |= dirty.holds(start, end);
            if joined.is_none() && joins(dirty) {
                joined = Some(slot);
            }
        });
        if held {
            return true;
        }
        // Joining would put off a flush that waits for the older part.
        if self.flush_count == 0 {
            if let Some(slot) = joined {
                if self.sectors + sectors.0 > self.sectors_max {
                    return false;
                }
                let dirty = &mut self.extents[slot];
                dirty.sectors.0 += sectors.0;
                dirty.extent = geometry.extent(dirty.start, dirty.sectors);
                self.lengths[slot / LANES][slot % LANES] = dirty.sectors.0 as u32;
                self.sectors += sectors.0;
                return true;
            }
        }
        if self.is_full() || (self.sectors > 0 && self.sectors + sectors.0 > self.sectors_max) {
            return false;
        }
        let slot = self.accesses.len();
        let extent = geometry.extent(start, sectors);
        self.accesses.push(&extent, settle);
        self.firsts[slot / LANES][slot % LANES] = start.0 as u32;
        self.lengths[slot / LANES][slot % LANES] = sectors.0 as u32;
        self.extents[slot] = DirtyExtent {
            start,
            sectors,
            extent,
            serial: self.serial,
        };
        self.serial += 1;
        self.sectors += sectors.0;
        true
    }

    /// The extent that can be reached soonest, and its cost in ticks; there is one.
    pub fn nearest(
        &self,
        now: Nanos,
        head: Head,
        spindle: &Spindle,
        curve: &SeekCurve,
    ) -> (usize, u32) {
        self.accesses.nearest(head, spindle.angle_at(now), curve)
    }

    /// Takes an extent out to be written.
    pub fn begin(&mut self, slot: usize) -> DirtyExtent {
        let taken = self.extents[slot];
        let last = self.accesses.len() - 1;
        self.extents[slot] = self.extents[last];
        self.firsts[slot / LANES][slot % LANES] = self.firsts[last / LANES][last % LANES];
        self.lengths[slot / LANES][slot % LANES] = self.lengths[last / LANES][last % LANES];
        self.accesses.swap_remove(slot);
        self.sectors -= taken.sectors.0;
        self.in_flight = Some(taken.serial);
        taken
    }

    /// The extent that [`WriteCache::begin`] took out is on the platter.
    pub fn end(&mut self) {
        self.in_flight = None;
    }

    /// Notes a flush; the caller has seen that something is dirty.
    pub fn flush(&mut self, tag: u32, arrival: Nanos) {
        assert!(
            self.flush_count < FLUSHES_MAX,
            "more flushes outstanding than the depth of the drive allows"
        );
        self.flushes[self.flush_count] = Flush {
            tag,
            serial: self.serial,
            arrival,
        };
        self.flush_count += 1;
    }

    /// Takes out a flush whose data are on the platters.
    pub fn flushed(&mut self) -> Option<u32> {
        if self.flush_count == 0 {
            return None;
        }
        let oldest = self
            .dirty()
            .iter()
            .map(|dirty| dirty.serial)
            .chain(self.in_flight)
            .min()
            .unwrap_or(u64::MAX);
        let Flush { tag, serial, .. } = self.flushes[0];
        if oldest < serial {
            return None;
        }
        self.flushes.copy_within(1..self.flush_count, 0);
        self.flush_count -= 1;
        Some(tag)
    }
}
