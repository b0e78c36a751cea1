//! Rows on their way from the memory to the drives, and those that are to go.

use crate::row::Transfers;
use crate::sparse::Sparse;
use core::ops::Range;
use seekwise_units::Nanos;
use smallvec::SmallVec;
use std::collections::{BTreeSet, VecDeque};

/// Runs of pages in one row: mostly one.
pub(crate) type PageRuns = SmallVec<[Range<u64>; 4]>;

/// A row on its way to the drives.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowWrite {
    /// Pages of the memory that it writes, in runs; none for a write past the memory.
    pub(crate) pages: PageRuns,
    /// The command that waits for it, when the write goes through.
    pub(crate) command: Option<u32>,
    pub(crate) reading: bool,
    pub(crate) waits: u32,
    pub(crate) xor_bytes: u64,
    pub(crate) writes: Transfers,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Destage {
    pub(crate) rows: Vec<RowWrite>,
    pub(crate) free: Vec<u32>,
    pub(crate) under_way: u32,
    /// Dirty pages of each row that is not on its way.
    pub(crate) dirty: Sparse<u32>,
    /// Rows to be written, and where the sweep over them stands.
    pub(crate) ready: BTreeSet<u64>,
    pub(crate) cursor: u64,
    /// Incomplete rows by the time they became dirty.
    pub(crate) young: VecDeque<(Nanos, u64)>,
    /// Rows of the write in hand, and how many of their pages became dirty by it; kept for its room.
    pub(crate) became_dirty: Vec<(u64, u32)>,
}
