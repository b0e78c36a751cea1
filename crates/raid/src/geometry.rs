//! What an array is made of, checked as mdadm checks it, and what follows from it: capacity, survivable losses.

use crate::layout::parity::ParityLayout;
use crate::layout::raid10::{Raid10, Raid10Layout};
use core::fmt;
use seekwise_units::{Lba, Sectors};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Raid0,
    Raid1,
    Raid5(ParityLayout),
    Raid6(ParityLayout),
    Raid10(Raid10Layout),
}

impl Level {
    /// The name for messages, such as "RAID 5".
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Raid0 => "RAID 0",
            Self::Raid1 => "RAID 1",
            Self::Raid5(_) => "RAID 5",
            Self::Raid6(_) => "RAID 6",
            Self::Raid10(_) => "RAID 10",
        }
    }

    fn check_members(&self, members: u32) -> Result<(), GeometryError> {
        let least = match self {
            Self::Raid0 => 1,
            Self::Raid1 | Self::Raid10(_) => 2,
            Self::Raid5(_) => 3,
            Self::Raid6(_) => 4,
        };
        if members < least {
            return refuse(format!(
                "{} needs at least {least} members, not {members}",
                self.name()
            ));
        }
        if members > 384 {
            return refuse(format!(
                "an array of {members} members is beyond md's limit of 384"
            ));
        }
        if let Self::Raid10(layout) = self {
            if layout.near == 0 || layout.far == 0 {
                return refuse("RAID 10 needs at least one near and one far copy".into());
            }
            if layout.copies() > members {
                return refuse(format!(
                    "RAID 10 with {} copies needs as many members, not {members}",
                    layout.copies()
                ));
            }
            if layout.copies() < 2 {
                return refuse(
                    "RAID 10 with a single copy is RAID 0: give at least two copies (n2, f2 or o2)"
                        .into(),
                );
            }
        }
        Ok(())
    }

    fn check_chunk(&self, chunk: Sectors) -> Result<Sectors, GeometryError> {
        if chunk < CHUNK_MIN || chunk > CHUNK_MAX {
            return refuse(format!(
                "a chunk is 4 KiB to 1 GiB, not {} bytes",
                chunk.bytes().0
            ));
        }
        // RAID 0 alone takes any multiple of a page; the others shift and mask.
        if matches!(self, Self::Raid0) {
            if chunk.0 % CHUNK_MIN.0 != 0 {
                return refuse(format!(
                    "a RAID 0 chunk is a multiple of 4 KiB, not {} bytes",
                    chunk.bytes().0
                ));
            }
        } else if !chunk.0.is_power_of_two() {
            return refuse(format!(
                "a {} chunk is a power of two, not {} KiB",
                self.name(),
                chunk.0 / 2
            ));
        }
        Ok(chunk)
    }
}

/// An array that can exist. Made by [`Geometry::new`] only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    pub level: Level,
    pub members: u32,
    /// Zero for RAID 1, which has no chunks.
    pub chunk: Sectors,
    /// Data area of each member, a whole number of chunks.
    pub member: Sectors,
}

/// Why an array cannot be, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeometryError(pub String);

impl fmt::Display for GeometryError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for GeometryError {}

/// Chunks smaller than a page cannot be (md works in pages of 4 KiB).
const CHUNK_MIN: Sectors = Sectors::from_kib(4);
/// Beyond this md's integer of bytes would overflow; nobody uses more.
const CHUNK_MAX: Sectors = Sectors::from_kib(1 << 20);

fn refuse<T>(sentence: String) -> Result<T, GeometryError> {
    Err(GeometryError(sentence))
}

impl Geometry {
    /// Checks as `mdadm --create` does. `member` is the usable size of the smallest member; it is rounded down to chunks.
    pub fn new(
        level: Level,
        members: u32,
        chunk: Sectors,
        member: Sectors,
    ) -> Result<Self, GeometryError> {
        level.check_members(members)?;
        let chunk = match level {
            Level::Raid1 => Sectors(0),
            _ => level.check_chunk(chunk)?,
        };
        let chunks = member.0.checked_div(chunk.0);
        let usable = chunks.map_or(member, |chunks| Sectors(chunks * chunk.0));
        if usable.0 == 0 {
            return refuse(format!(
                "a member of {} bytes is smaller than one chunk of {} bytes",
                member.bytes().0,
                chunk.bytes().0
            ));
        }
        Ok(Self {
            level,
            members,
            chunk,
            member: usable,
        })
    }

    /// Members' worth of data in a stripe (RAID 10: members over copies, which need not be whole).
    pub fn data_members(&self) -> u32 {
        match self.level {
            Level::Raid0 => self.members,
            Level::Raid1 => 1,
            Level::Raid5(_) => self.members - 1,
            Level::Raid6(_) => self.members - 2,
            Level::Raid10(layout) => self.members / layout.copies(),
        }
    }

    /// Sectors that the array offers.
    pub fn capacity(&self) -> Sectors {
        match self.level {
            Level::Raid1 => self.member,
            Level::Raid10(layout) => {
                // Each far zone holds every chunk once (near copies included).
                let rows = self.member.0 / self.chunk.0 / u64::from(layout.far);
                Sectors(rows * u64::from(self.members) / u64::from(layout.near) * self.chunk.0)
            }
            _ => Sectors(self.member.0 * u64::from(self.data_members())),
        }
    }

    /// How many members may fail whatever their place.
    pub fn losses_survived(&self) -> u32 {
        match self.level {
            Level::Raid0 => 0,
            Level::Raid1 => self.members - 1,
            Level::Raid5(_) => 1,
            Level::Raid6(_) => 2,
            Level::Raid10(layout) => layout.copies() - 1,
        }
    }

    /// How many further members may fail, whatever their place, without these; None where these are already too many.
    pub fn losses_survived_without(&self, lost: &[u32]) -> Option<u32> {
        let Level::Raid10(layout) = self.level else {
            return self.losses_survived().checked_sub(lost.len() as u32);
        };
        let map = Raid10 {
            members: self.members,
            layout,
            chunk: self.chunk,
            member: self.member,
        };
        // Places of copies repeat after as many chunks as there are members.
        let chunks = (self.capacity().0 / self.chunk.0).min(u64::from(self.members));
        let copies_left = (0..chunks).map(|chunk| {
            let mut left = 0;
            map.copies(Lba(chunk * self.chunk.0), |member, _| {
                left += u32::from(!lost.contains(&member));
            });
            left
        });
        copies_left.min().unwrap_or(0).checked_sub(1)
    }

    /// Does every sector keep a copy, or enough to compute it, without these members?
    pub fn survives(&self, lost: &[u32]) -> bool {
        self.losses_survived_without(lost).is_some()
    }

    /// md's default read-ahead for the array, in sectors: two stripes, at least 128 KiB.
    /// drivers/md/{raid0,raid5,raid10}.c 2.6.23 to 6.12 (there by way of io_opt).
    pub fn read_ahead(&self) -> Sectors {
        let stripe = match self.level {
            Level::Raid1 => Sectors(0),
            Level::Raid10(layout) => {
                Sectors(self.chunk.0 * u64::from(self.members) / u64::from(layout.near))
            }
            _ => Sectors(self.chunk.0 * u64::from(self.data_members())),
        };
        Sectors((2 * stripe.0).max(Sectors::from_kib(128).0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: Sectors = Sectors::from_kib(1 << 20);

    fn n2() -> Level {
        Level::Raid10(Raid10Layout::from_name("n2").unwrap())
    }

    #[test]
    fn impossible_arrays_are_refused_in_a_sentence() {
        let chunk = Sectors::from_kib(64);
        let raid5 = Level::Raid5(ParityLayout::LeftSymmetric);
        let cases = [
            (
                Geometry::new(raid5, 2, chunk, GIB),
                "RAID 5 needs at least 3 members, not 2",
            ),
            (
                Geometry::new(raid5, 3, Sectors::from_kib(48), GIB),
                "a RAID 5 chunk is a power of two, not 48 KiB",
            ),
            (
                Geometry::new(Level::Raid0, 2, Sectors(9), GIB),
                "a RAID 0 chunk is a multiple of 4 KiB, not 4608 bytes",
            ),
            (
                Geometry::new(raid5, 3, chunk, Sectors(100)),
                "a member of 51200 bytes is smaller than one chunk of 65536 bytes",
            ),
            (
                Geometry::new(n2(), 1, chunk, GIB),
                "RAID 10 needs at least 2 members, not 1",
            ),
        ];
        for (result, sentence) in cases {
            assert_eq!(result.unwrap_err().0, sentence);
        }
        assert!(Geometry::new(Level::Raid0, 2, Sectors::from_kib(48), GIB).is_ok());
    }

    #[test]
    fn capacity_follows_from_level_and_members() {
        let chunk = Sectors::from_kib(64);
        let of = |level, members| {
            Geometry::new(level, members, chunk, GIB)
                .unwrap()
                .capacity()
                .0
                / GIB.0
        };
        assert_eq!(of(Level::Raid0, 3), 3);
        assert_eq!(of(Level::Raid1, 3), 1);
        assert_eq!(of(Level::Raid5(ParityLayout::LeftSymmetric), 4), 3);
        assert_eq!(of(Level::Raid6(ParityLayout::LeftSymmetric), 6), 4);
        assert_eq!(of(n2(), 4), 2);
        assert_eq!(
            of(Level::Raid10(Raid10Layout::from_name("f2").unwrap()), 4),
            2
        );
    }

    #[test]
    fn raid10_survives_two_losses_when_they_are_of_different_pairs() {
        let array = Geometry::new(n2(), 4, Sectors::from_kib(64), GIB).unwrap();
        assert!(array.survives(&[]) && array.survives(&[0, 2]) && array.survives(&[1, 3]));
        assert!(!array.survives(&[0, 1]) && !array.survives(&[2, 3]));
        assert_eq!(array.losses_survived_without(&[]), Some(1));
        assert_eq!(array.losses_survived_without(&[0]), Some(0));
        assert_eq!(array.losses_survived_without(&[0, 1]), None);
    }

    #[test]
    fn read_ahead_is_two_stripes() {
        let of = |level, members, chunk_kib| {
            Geometry::new(level, members, Sectors::from_kib(chunk_kib), GIB)
                .unwrap()
                .read_ahead()
        };
        // Worked out by hand from Linux 2.6.23: raid5 5×64 KiB, 512 KiB; raid10 6 disks n2 64 KiB, 384 KiB; chunks of 512 KiB, 3 MiB.
        assert_eq!(
            of(Level::Raid5(ParityLayout::LeftSymmetric), 5, 64),
            Sectors::from_kib(512)
        );
        assert_eq!(of(n2(), 6, 64), Sectors::from_kib(384));
        assert_eq!(of(Level::Raid1, 2, 0), Sectors::from_kib(128));
    }

    #[test]
    fn layout_numbers_of_md_are_understood() {
        assert_eq!(
            Raid10Layout::from_md(258),
            Raid10Layout {
                near: 2,
                far: 1,
                offset: false
            }
        );
        assert_eq!(
            Raid10Layout::from_md(0x1_0201),
            Raid10Layout {
                near: 1,
                far: 2,
                offset: true
            }
        );
        assert_eq!(ParityLayout::from_md(2), Some(ParityLayout::LeftSymmetric));
    }
}
