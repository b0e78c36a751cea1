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
    /// From a version such as `2.6.24-hz250`, `4.4.178` or `6.12`; None where no number can be read.
    pub fn of_kernel(version: &str) -> Option<Self> {
        let mut numbers = version
            .split(|c: char| !c.is_ascii_digit())
            .filter(|part| !part.is_empty())
            .map(|part| part.parse::<u32>().ok());
        let version = (
            numbers.next()??,
            numbers.next()??,
            numbers.next().flatten().unwrap_or(0),
        );
        Some(match version {
            (2, 6, 0..=25) => Self::Linux2_6_23,
            (0..=2, ..) => Self::Linux2_6_32,
            (3, 0..=4, _) => Self::Linux2_6_32,
            (major, minor, _) if (major, minor) >= (6, 12) => Self::Linux6_12,
            (6, ..) => Self::Linux6_1,
            _ => Self::Linux4_4,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::MdGeneration::{self, *};

    #[test]
    fn kernels_map_to_the_generation_not_after_them() {
        let cases = [
            ("2.6.24-hz250", Linux2_6_23),
            ("2.6.32.69", Linux2_6_32),
            ("4.4.178", Linux4_4),
            ("5.10", Linux4_4),
            ("6.1", Linux6_1),
            ("6.12.107+deb13", Linux6_12),
            ("6.18", Linux6_12),
        ];
        for (version, generation) in cases {
            assert_eq!(
                MdGeneration::of_kernel(version),
                Some(generation),
                "{version}"
            );
        }
        assert_eq!(MdGeneration::of_kernel("unknown"), None);
    }
}
