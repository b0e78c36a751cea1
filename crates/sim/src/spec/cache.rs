//! The page cache of a trial.

use serde::Deserialize;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheSpec {
    /// memory.max of the load's cgroup.
    pub limit_bytes: u64,
    /// `read_ahead_kb` of the device; the kernel's own when absent.
    pub read_ahead_kib: Option<u64>,
}
