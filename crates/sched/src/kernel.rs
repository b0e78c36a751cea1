//! Which kernel a policy is that of: its version, which picks the generation, and its tick.
//!
//! Kernels before 4.8 keep a scheduler's time in jiffies. A jiffy is a whole tick since boot: everything inside one tick
//! happens at the same time for them, and a span given in milliseconds is first divided down to ticks.

use core::fmt;
use seekwise_units::Nanos;
pub use seekwise_units::Version;

/// Version and tick of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kernel {
    pub version: Version,
    /// Ticks a second.
    pub hz: u32,
}

/// Tick of a kernel whose name does not tell. Linux 2.6.23 to 6.x kernel/Kconfig.hz: default HZ_250; Debian builds with 250 too.
pub const HZ_DEFAULT: u32 = 250;

const SECOND: u64 = 1_000_000_000;

impl Kernel {
    /// A kernel by its version; `hz` is ticks per second.
    pub const fn new(major: u16, minor: u16, patch: u16, hz: u32) -> Self {
        Self {
            version: Version(major, minor, patch),
            hz,
        }
    }

    /// Reads a version ([`Version::parse`]), followed or not by `-hzN`; without it the tick is `hz_default`.
    pub fn parse(text: &str, hz_default: u32) -> Result<Self, String> {
        let version = Version::parse(text)?;
        let suffix = text.split_once('-').map_or("", |(_, suffix)| suffix);
        let hz = match suffix.strip_prefix("hz") {
            Some(hz) => hz
                .parse()
                .map_err(|_| format!("the tick in \"{text}\" is not a number of Hz"))?,
            None => hz_default,
        };
        if !(24..=10_000).contains(&hz) {
            return Err(format!(
                "a tick of {hz} Hz in \"{text}\" is outside 24 to 10000 Hz"
            ));
        }
        Ok(Self { version, hz })
    }

    /// Is this kernel of the given version or later?
    pub fn at_least(&self, major: u16, minor: u16, patch: u16) -> bool {
        self.version >= Version(major, minor, patch)
    }

    /// Ticks that have begun by `now`; ticks fall on whole multiples of 1/HZ of simulated time.
    #[inline]
    pub fn jiffies(&self, now: Nanos) -> u64 {
        match self.hz {
            1000 => now.0 / 1_000_000,
            250 => now.0 / 4_000_000,
            hz => (now.0 as u128 * hz as u128 / SECOND as u128) as u64,
        }
    }

    /// The instant at which jiffies become `tick`.
    pub fn tick_start(&self, tick: u64) -> Nanos {
        Nanos((tick as u128 * SECOND as u128).div_ceil(self.hz as u128) as u64)
    }

    /// One tick as a span.
    pub fn tick(&self) -> Nanos {
        Nanos(SECOND / self.hz as u64)
    }

    /// Milliseconds, as written to a tunable, in ticks: rounded up, as msecs_to_jiffies does.
    pub fn ticks_from_millis(&self, millis: u64) -> u64 {
        (millis * self.hz as u64).div_ceil(1000)
    }

    /// Ticks in milliseconds, as a tunable reads back: rounded down.
    pub fn millis_from_ticks(&self, ticks: u64) -> u64 {
        ticks * 1000 / self.hz as u64
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} Hz", self.version, self.hz)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_recordings_are_read() {
        assert_eq!(
            Kernel::parse("2.6.32.69", 1000),
            Ok(Kernel::new(2, 6, 32, 1000))
        );
        assert_eq!(
            Kernel::parse("2.6.24-hz250", 1000),
            Ok(Kernel::new(2, 6, 24, 250))
        );
        assert_eq!(
            Kernel::parse("4.4.178", 1000),
            Ok(Kernel::new(4, 4, 178, 1000))
        );
        assert_eq!(Kernel::parse("6.1", 250), Ok(Kernel::new(6, 1, 0, 250)));
        for wrong in [
            "",
            "x",
            "6",
            "2.6.32-hz",
            "2.6.32-hz0",
            "2.6.24-hz99999",
            "1.2.3.4.5",
        ] {
            assert!(Kernel::parse(wrong, 250).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_jiffy_counts_whole_ticks_of_time() {
        let kernel = Kernel::new(2, 6, 24, 250);
        assert_eq!(kernel.jiffies(Nanos(3_999_999)), 0);
        assert_eq!(kernel.jiffies(Nanos(4_000_000)), 1);
        assert_eq!(kernel.tick_start(3), Nanos::from_millis(12));
        let odd = Kernel::new(2, 6, 24, 300);
        for tick in [1, 7, 299, 300, 301] {
            assert_eq!(odd.jiffies(odd.tick_start(tick)), tick);
            assert_eq!(odd.jiffies(Nanos(odd.tick_start(tick).0 - 1)), tick - 1);
        }
    }
}
