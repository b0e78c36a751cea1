//! What does not change while a disk runs, and the times that follow from it alone.

use super::geometry::Geometry;
use super::ncq::Ordering;
use super::rotation::Spindle;
use super::seek::SeekCurve;
use seekwise_units::{Depth, Lba, Nanos, Sectors};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub(super) struct Mechanics {
    /// Disks of an array have one between them, so that it stays in the processor's cache.
    pub(super) geometry: Arc<Geometry>,
    pub(super) spindle: Spindle,
    pub(super) curve: SeekCurve,
    pub(super) ordering: Ordering,
    pub(super) command_overhead: Nanos,
    pub(super) cached_overhead: Nanos,
    pub(super) link_ns_per_sector: u64,
    pub(super) link_overhead: Nanos,
    pub(super) read_ahead: Sectors,
    pub(super) read_ahead_min: Sectors,
    pub(super) stay: Option<Sectors>,
    pub(super) destage_delay: Nanos,
    pub(super) logged_write: Nanos,
    pub(super) physical_sectors: u64,
    pub(super) depth: Depth,
}

impl Mechanics {
    pub(super) fn link_time(&self, sectors: Sectors) -> Nanos {
        Nanos((sectors.0 * self.link_ns_per_sector) >> 10) + self.link_overhead
    }

    /// What remains to be sent when the last sector has been read: a frame of at most 8 KiB, and the status.
    #[inline]
    pub(super) fn link_tail(&self, sectors: Sectors) -> Nanos {
        self.link_time(Sectors(sectors.0.min(16)))
    }

    /// Ticks of a transfer, where the drive orders by them.
    #[inline]
    pub(super) fn passing_ticks(&self, transfer: Nanos) -> u32 {
        if self.ordering.sorts_late() {
            self.spindle.ticks_of(transfer.0 as i64 as f64) as i64 as u32
        } else {
            0
        }
    }

    /// A write that does not cover whole physical sectors reads them first and comes back a turn later.
    pub(super) fn partial_write(&self, start: Lba, sectors: Sectors) -> Nanos {
        let mask = self.physical_sectors - 1;
        if (start.0 | (start.0 + sectors.0)) & mask == 0 {
            Nanos::ZERO
        } else {
            self.spindle.turn()
        }
    }
}
