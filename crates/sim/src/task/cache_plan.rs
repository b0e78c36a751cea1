//! The page cache of programs on a raw device or on files, in pages; how writers are held back.

use crate::cost::CacheCost;
use seekwise_host::cache::pacing::{Domain, Pacing};
use seekwise_units::PAGE_BYTES;

/// What a [`crate::spec::cache::CacheSpec`] comes to.
#[derive(Clone, Copy, Debug)]
pub struct CachePlan {
    /// Pages of the group that file data may have.
    pub pages: u64,
    /// Read-ahead of a reader that says that it reads in order.
    pub read_ahead: u64,
    /// Pages of one request of a drive, and drives that a batch is spread over.
    pub request_pages: u64,
    pub spread: u64,
    /// Requests of a plug.
    pub plug: usize,
    pub kernel: seekwise_sched::Kernel,
    pub cost: CacheCost,
}

/// Memory of the group that is not file data: fio, whose further threads add nothing that shows. From the limits that the kernel printed in
/// the laboratory (thresholds of 2981 pages in a group of 16384).
const PROGRAM_PAGES: u64 = 1_474;
/// Free and file memory of the machine: that of the testbed's guest, as its limit of 28820 pages tells.
const MACHINE_PAGES: u64 = 144_000;

/// How writers of a group with `pages` for file data are held back. The machine has room for its group: one with a larger limit than the
/// testbed's guest belongs to a larger machine, whose own limits are never the stricter ones.
pub(crate) fn pacing(hz: u32, pages: u64) -> Pacing {
    Pacing::new(
        hz,
        Domain::new(pages),
        Domain::new(MACHINE_PAGES.max(pages)),
    )
}

impl CachePlan {
    /// Pages that files can have in a group of `limit_bytes`. The error is a sentence: less than 4 MiB would be left for them.
    pub fn file_pages(limit_bytes: u64) -> Result<u64, String> {
        (limit_bytes / PAGE_BYTES)
            .checked_sub(PROGRAM_PAGES)
            .filter(|pages| *pages >= 1024)
            .ok_or_else(|| {
                format!(
                    "memory of {} KiB has no room for the program and 4 MiB of page cache",
                    limit_bytes / 1024
                )
            })
    }
}
