//! Time, addresses and sizes, each with its unit in the type.
//!
//! A simulated instant and a span of simulated time are both [`Nanos`]: integer nanoseconds, so that a run is the same
//! on every platform. Addresses and lengths on a block device are in sectors of 512 bytes, as everywhere in Linux.

pub mod hash;
mod version;

pub use version::Version;

use core::ops::{Add, AddAssign, Sub, SubAssign};

/// Bytes in a sector, the unit of every block address in Linux whatever the drive's physical sector.
pub const SECTOR_BYTES: u64 = 512;

/// Bytes in a page of memory: of the page cache, of a file system's block, of md's stripes and of flash, as modelled here.
pub const PAGE_BYTES: u64 = 4096;
pub const PAGE_SECTORS: u64 = PAGE_BYTES / SECTOR_BYTES;

/// Nanoseconds: an instant since the start of a run, or a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    pub const ZERO: Self = Self(0);
    /// Later than every instant of a run.
    pub const NEVER: Self = Self(u64::MAX);

    /// Microseconds as nanoseconds; up to 584 years fit.
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }
    /// Milliseconds as nanoseconds; up to 584 years fit.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }
    /// Seconds as nanoseconds; up to 584 years fit.
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }
    /// Time since `other`; zero if `other` is later.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// Seconds, for rates and output: the last digits of a long time are lost.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Milliseconds, for output: the last digits of a long time are lost.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}
impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}
impl SubAssign for Nanos {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

/// Logical block address in sectors of 512 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lba(pub u64);

impl Lba {
    /// Sectors between two addresses, whichever is larger.
    pub const fn distance(self, other: Self) -> u64 {
        self.0.abs_diff(other.0)
    }
}

/// A length in sectors of 512 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sectors(pub u64);

impl Sectors {
    /// Sectors of 512 bytes in `kib` KiB.
    pub const fn from_kib(kib: u64) -> Self {
        Self(kib * 2)
    }
    /// The same length in bytes: 512 for each sector.
    pub const fn bytes(self) -> Bytes {
        Bytes(self.0 * SECTOR_BYTES)
    }
}

impl Add<Sectors> for Lba {
    type Output = Self;
    fn add(self, length: Sectors) -> Self {
        Self(self.0 + length.0)
    }
}

/// A size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Bytes in `kib` KiB (1024 bytes each).
    pub const fn from_kib(kib: u64) -> Self {
        Self(kib << 10)
    }
    /// Bytes in `mib` MiB (2^20 bytes each).
    pub const fn from_mib(mib: u64) -> Self {
        Self(mib << 20)
    }
}

/// How many commands a queue or a device holds at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Depth(pub u32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_is_symmetric() {
        assert_eq!(Lba(8).distance(Lba(3)), 5);
        assert_eq!(Lba(3).distance(Lba(8)), 5);
    }

    #[test]
    fn sectors_are_512_bytes() {
        assert_eq!(Sectors::from_kib(4).bytes(), Bytes(4096));
    }
}
