//! Loads through the page cache of a raw device, on multi-queue kernels: threads, page cache, flusher, over any [`crate::storage::Stack`].
//!
//! ```text
//!   thread ──pages──▶ page cache ──read-ahead: bios──▶ queue(s), md ──▶ drives
//!      ▲                  │ dirty
//!      └─ sleeps ◀─ pacing └──▶ flusher ──batches: bios──▶ (write-back throttling, requests)
//! ```
//!
//! Modelled:      a cgroup with limited memory; on-demand read-ahead as fio asks for it (twice the device's where it announces that it reads in
//!                order, none where it announces that it does not); writers paced by the limits of group and machine; one flusher that goes round
//!                by address, in plugs of 16 (up to 5.15) or 32 requests; counters of the group that lag behind (5.16 on); reclaim of clean pages.
//! Not modelled:  files (`crate::files` has them), fsync, writers of a part of a page, reclaim that has to wait, several flushers, preemption between programs
//!                (who has the processor keeps it until its call ends or it waits).
//! Source:        Linux v5.10, v6.1, v6.12: mm/filemap.c, mm/readahead.c, mm/page-writeback.c, fs/fs-writeback.c, block/blk-mq.c; fio 3.33.
//!                docs/concepts/ladder-buffered.md has what the laboratory's tracepoints showed.

use crate::cost::CacheCost;
use seekwise_host::cache::pacing::{Domain, Pacing};
use seekwise_units::PAGE_BYTES;
use serde::Deserialize;

/// The page cache of a cell.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheSpec {
    /// memory.max of the load's cgroup.
    pub limit_bytes: u64,
    /// `read_ahead_kb` of the device; the kernel's own when absent.
    pub read_ahead_kib: Option<u64>,
}

/// What [`CacheSpec`] comes to, in pages.
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
    /// Counters of the group lag until so many changes have come together.
    pub lag: u64,
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
