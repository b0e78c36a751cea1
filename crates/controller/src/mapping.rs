//! Where an address of the unit lies on its drives.

use seekwise_raid::layout::parity::Parity;
use seekwise_raid::layout::split_at_chunks;
use seekwise_raid::ParityLayout;
use seekwise_units::{Lba, Sectors};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// A drive passed on as a unit of its own.
    Single,
    Raid0,
    Raid1,
    Raid5,
    Raid6,
    Raid10,
}

impl Level {
    /// The level called `name` in a specification, such as `raid5`; None if there is no such level.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "single" => Self::Single,
            "raid0" => Self::Raid0,
            "raid1" => Self::Raid1,
            "raid5" => Self::Raid5,
            "raid6" => Self::Raid6,
            "raid10" => Self::Raid10,
            _ => return None,
        })
    }

    /// The name for messages, such as "RAID 5".
    pub const fn name(self) -> &'static str {
        match self {
            Self::Single => "a single drive",
            Self::Raid0 => "RAID 0",
            Self::Raid1 => "RAID 1",
            Self::Raid5 => "RAID 5",
            Self::Raid6 => "RAID 6",
            Self::Raid10 => "RAID 10",
        }
    }

    const fn parities(self) -> u32 {
        match self {
            Self::Raid5 => 1,
            Self::Raid6 => 2,
            _ => 0,
        }
    }
}

/// A part of a request that lies on one drive, or on each of `copies` drives from `member` on at the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberPart {
    /// In the unit's own addresses.
    pub unit: Lba,
    pub sectors: Sectors,
    pub member: u32,
    pub copies: u32,
    /// On the drive.
    pub at: Lba,
}

#[derive(Clone, Debug)]
pub struct Mapping {
    pub level: Level,
    pub members: u32,
    pub chunk: Sectors,
    capacity: Sectors,
}

impl Mapping {
    /// `member`: usable part of each drive. The error is one sentence.
    pub fn new(
        level: Level,
        members: u32,
        chunk: Sectors,
        member: Sectors,
    ) -> Result<Self, String> {
        let (least, most) = match level {
            Level::Single => (1, 1),
            Level::Raid0 => (2, u32::MAX),
            Level::Raid1 => (2, 2),
            Level::Raid5 => (3, u32::MAX),
            Level::Raid6 | Level::Raid10 => (4, u32::MAX),
        };
        let name = level.name();
        if members < least || members > most {
            let needs = if least == most {
                format!("{least}")
            } else {
                format!("{least} or more")
            };
            let drives = if needs == "1" { "drive" } else { "drives" };
            return Err(format!(
                "{name} of a controller needs {needs} {drives}, not {members}"
            ));
        }
        if level == Level::Raid10 && members % 2 != 0 {
            return Err(format!(
                "{name} needs an even number of drives, not {members}"
            ));
        }
        if chunk.0 < 8 || !chunk.0.is_power_of_two() {
            return Err(format!(
                "a chunk of {} bytes is no power of two of at least 4096",
                chunk.bytes().0
            ));
        }
        if member < chunk {
            return Err("a drive is smaller than a chunk".to_owned());
        }
        let chunks = member.0 / chunk.0;
        let whole = |data: u32| Sectors(chunks * chunk.0 * u64::from(data));
        let capacity = match level {
            Level::Single | Level::Raid1 => Sectors(member.0 & !7),
            Level::Raid0 => whole(members),
            Level::Raid10 => whole(members / 2),
            Level::Raid5 | Level::Raid6 => whole(members - level.parities()),
        };
        Ok(Self {
            level,
            members,
            chunk,
            capacity,
        })
    }

    /// Sectors of the unit that its host can address.
    pub fn capacity(&self) -> Sectors {
        self.capacity
    }

    /// The rotation of parity, always left-symmetric; None for a level without parity.
    pub fn parity(&self) -> Option<Parity> {
        let parities = self.level.parities();
        (parities > 0).then_some(Parity {
            members: self.members,
            parities,
            layout: ParityLayout::LeftSymmetric,
            chunk: self.chunk,
        })
    }

    /// Sectors of a parity row, or of what else is written in one go.
    pub fn row(&self) -> Sectors {
        let data = match self.level {
            Level::Single | Level::Raid1 => 1,
            Level::Raid0 => self.members,
            Level::Raid10 => self.members / 2,
            Level::Raid5 | Level::Raid6 => self.members - self.level.parities(),
        };
        Sectors(self.chunk.0 * u64::from(data))
    }

    /// Splits a request where it changes drives. Mirrors are not split.
    pub fn pieces(&self, start: Lba, sectors: Sectors, mut each: impl FnMut(MemberPart)) {
        if matches!(self.level, Level::Single | Level::Raid1) {
            each(MemberPart {
                unit: start,
                sectors,
                member: 0,
                copies: self.members,
                at: start,
            });
            return;
        }
        for (unit, length) in split_at_chunks(start, sectors, self.chunk) {
            let (member, copies, at) = self.locate(unit);
            each(MemberPart {
                unit,
                sectors: length,
                member,
                copies,
                at,
            });
        }
    }

    fn locate(&self, unit: Lba) -> (u32, u32, Lba) {
        let (chunk, offset) = (unit.0 / self.chunk.0, unit.0 % self.chunk.0);
        let over = |members: u32| {
            let members = u64::from(members);
            (
                (chunk % members) as u32,
                Lba(chunk / members * self.chunk.0 + offset),
            )
        };
        match self.level {
            Level::Single | Level::Raid1 => (0, self.members, unit),
            Level::Raid0 => {
                let (member, at) = over(self.members);
                (member, 1, at)
            }
            Level::Raid10 => {
                let (pair, at) = over(self.members / 2);
                (pair * 2, 2, at)
            }
            Level::Raid5 | Level::Raid6 => {
                let map = self.parity().expect("a parity level has parity");
                let (member, at) = map.locate(unit);
                (member, 1, at)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn map(level: Level, members: u32) -> Mapping {
        Mapping::new(level, members, Sectors(128), Sectors(1 << 20)).unwrap()
    }

    #[test]
    fn capacity_is_that_of_the_data_drives() {
        let drive = 1u64 << 20;
        for (level, members, data) in [
            (Level::Single, 1, 1),
            (Level::Raid0, 4, 4),
            (Level::Raid1, 2, 1),
            (Level::Raid5, 3, 2),
            (Level::Raid6, 6, 4),
            (Level::Raid10, 4, 2),
        ] {
            assert_eq!(map(level, members).capacity(), Sectors(data * drive));
        }
    }

    #[test]
    fn impossible_units_are_refused_in_a_sentence() {
        for (level, members, chunk) in [
            (Level::Raid5, 2, 128),
            (Level::Raid1, 3, 128),
            (Level::Raid10, 5, 128),
            (Level::Raid0, 2, 96),
            (Level::Raid6, 3, 128),
            (Level::Single, 2, 128),
            (Level::Raid5, 3, 1 << 30),
        ] {
            let error = Mapping::new(level, members, Sectors(chunk), Sectors(1 << 20)).unwrap_err();
            assert!(!error.contains('\n') && !error.ends_with('.'), "{error}");
        }
    }

    proptest! {
        #[test]
        fn pieces_cover_a_request_once_and_stay_on_their_drives(
            level in prop::sample::select(vec![
                (Level::Single, 1), (Level::Raid0, 3), (Level::Raid1, 2), (Level::Raid5, 4), (Level::Raid6, 5), (Level::Raid10, 6),
            ]),
            start in 0u64..100_000, sectors in 1u64..3000,
        ) {
            let map = map(level.0, level.1);
            let mut at = start;
            map.pieces(Lba(start), Sectors(sectors), |piece| {
                assert_eq!(piece.unit.0, at);
                assert!(piece.member + piece.copies <= map.members);
                assert!(piece.at.0 + piece.sectors.0 <= 1 << 20);
                at += piece.sectors.0;
            });
            prop_assert_eq!(at, start + sectors);
        }
    }
}
