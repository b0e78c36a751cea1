//! md: which member gets which request, event by event.
//!
//! md owns no scheduler and no merging of its own; each member has its queue. What is here decides and remembers, and is told
//! of completions; clock and threads belong to `seekwise-sim`, which calls the RAID thread when it would run.

pub mod balance;
pub mod bitmap;
pub mod plug;
pub mod raid5;
pub mod resync;
pub mod volume;

use seekwise_units::Version;

/// Kernels whose md differs. A recording's or study's kernel maps to the newest generation not after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MdGeneration {
    /// 2.6.23 and 2.6.24: queue plug of md, writes by the md thread.
    Linux2_6_23,
    /// 2.6.32: hold list for stripes that read first.
    Linux2_6_32,
    /// 3.5 to 5.x: task plugs, read balance by pending requests, batches of eight stripes.
    Linux4_4,
    /// 6.0 to 6.11: a write visits each stripe of RAID 5 once, lowest row first.
    Linux6_1,
    /// 6.12: read balance split into steps, same policy but for long sequential runs.
    Linux6_12,
}

impl MdGeneration {
    /// The generation of a kernel; versions between two known ones belong to the earlier.
    pub fn of(version: Version) -> Self {
        match version {
            Version(2, 6, 0..=25) => Self::Linux2_6_23,
            Version(0..=2, ..) | Version(3, 0..=4, _) => Self::Linux2_6_32,
            version if version >= Version(6, 12, 0) => Self::Linux6_12,
            Version(6, ..) => Self::Linux6_1,
            _ => Self::Linux4_4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::MdGeneration::{self, *};
    use seekwise_units::Version;

    #[test]
    fn kernels_map_to_the_generation_not_after_them() {
        for (version, generation) in [
            (Version(2, 6, 24), Linux2_6_23),
            (Version(2, 6, 32), Linux2_6_32),
            (Version(3, 4, 0), Linux2_6_32),
            (Version(4, 4, 178), Linux4_4),
            (Version(5, 10, 0), Linux4_4),
            (Version(6, 1, 0), Linux6_1),
            (Version(6, 12, 107), Linux6_12),
            (Version(7, 0, 0), Linux6_12),
        ] {
            assert_eq!(MdGeneration::of(version), generation, "{version}");
        }
    }
}
