//! Reads of drives that are under way.

use smallvec::SmallVec;

/// A read of drives into the memory, or past it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fetch {
    pub(crate) first: u64,
    pub(crate) pages: u64,
    /// Drive commands that it still waits for.
    pub(crate) waits: u32,
    /// Kept in the memory afterwards.
    pub(crate) kept: bool,
    pub(crate) readers: SmallVec<[u32; 4]>,
}

/// Fetches under way; places are used again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fetches {
    pub(crate) all: Vec<Fetch>,
    pub(crate) free: Vec<u32>,
}
