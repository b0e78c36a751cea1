//! What the program knows of a scheduler beside its decisions: one [`About`] a scheduler, in its own file.
//!
//! Everything that depends on which scheduler it is comes from here: choices of the command line and kernels, tunables, processor time, how
//! its requests merge, the module that holds it, how charts draw it, how closely replay must agree with the kernel.

use crate::kernel::Version;
use crate::parameter::{between, Kernels, Parameter};

/// A scheduler as everybody else sees it.
pub struct About {
    /// Name in `queue/scheduler`.
    pub name: &'static str,
    pub kernels: Kernels,
    /// Its tunables, `queue/iosched/`.
    pub parameters: &'static [Parameter],
    /// One sentence.
    pub summary: &'static str,
    /// Processor time of its functions (insert, dispatch, complete) per request.
    pub cost_ns: u64,
    pub merge_rule: MergeRule,
    /// Where a kernel of today has it; none for those that went with the single queue in Linux 5.0.
    pub module: core::option::Option<Module>,
    /// What the kernel sets when it switches to the scheduler, as sysfs shows it (several forms where rounding depends on HZ). A tunable that
    /// does not stand here is always written back.
    pub reset_to: &'static [(&'static str, &'static [&'static str])],
    pub chart: Chart,
    /// Share of recorded decisions that replay must reproduce, in thousandths.
    pub required_per_mille: u64,
    /// Values of its tunables that are worth a trial beside the kernel's own.
    pub trials: &'static [(&'static str, &'static [u64])],
    /// Whether it orders what is queued and learns nothing of those who send it: then it is at its level as soon as it is chosen.
    pub settles_at_once: bool,
}

/// Which waiting requests a bio may join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeRule {
    /// The one-hit cache, the hash of end addresses, then the policy's own search for a front merge.
    Hash,
    /// The eight newest of the submitter's list, back or front, no coalescing. Linux v6.1 block/blk-merge.c: blk_bio_list_merge.
    Recent,
}

/// Where a scheduler is in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Module {
    /// Always there.
    BuiltIn,
    /// A module of this name elsewhere, built in by Debian's kernels, which the testbed boots.
    BuiltInByDebian(&'static str),
    /// A module of this name.
    Loaded(&'static str),
}

/// How charts draw it. Colours are of the Okabe-Ito palette, distinguishable with the common colour deficiencies (Okabe & Ito 2008).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chart {
    pub colour: &'static str,
    /// Dash pattern: on, off, … in pixels.
    pub dash: &'static [u8],
    /// A shape by its name.
    pub marker: &'static str,
}

/// Single-queue policies went with the single queue in Linux 5.0.
pub const fn single_queue(since: Version) -> Kernels {
    between(since, Version(5, 0, 0))
}
