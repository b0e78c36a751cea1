//! RAID 0: chunks dealt to the members in turn; with unequal members further zones use those that have room left.
//!
//! Source: Linux 2.6.23 to 6.12 drivers/md/raid0.c (layout "original" where members are equal).

use seekwise_units::{Lba, Sectors};

/// A band of the array in which the same members take part.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Zone {
    /// First array sector after the zone.
    end: u64,
    /// First array sector of the zone.
    begin: u64,
    /// First member sector of the zone.
    member_begin: u64,
    members: Vec<u32>,
}

/// Chunk map of a RAID 0 over members of any sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raid0 {
    chunk: u64,
    zones: Vec<Zone>,
}

impl Raid0 {
    /// `sizes`: usable sectors of each member; each is rounded down to whole chunks.
    pub fn new(sizes: &[Sectors], chunk: Sectors) -> Self {
        let sizes: Vec<u64> = sizes
            .iter()
            .map(|size| size.0 / chunk.0 * chunk.0)
            .collect();
        let mut borders: Vec<u64> = sizes.clone();
        borders.sort_unstable();
        borders.dedup();
        let (mut zones, mut begin, mut member_begin) = (Vec::new(), 0, 0);
        for border in borders.into_iter().filter(|&border| border > 0) {
            let members: Vec<u32> = (0..sizes.len() as u32)
                .filter(|&member| sizes[member as usize] >= border)
                .collect();
            let end = begin + (border - member_begin) * members.len() as u64;
            zones.push(Zone {
                end,
                begin,
                member_begin,
                members,
            });
            (begin, member_begin) = (end, border);
        }
        Self {
            chunk: chunk.0,
            zones,
        }
    }

    /// Sectors of the array: the end of its last zone.
    pub fn capacity(&self) -> Sectors {
        Sectors(self.zones.last().map_or(0, |zone| zone.end))
    }

    /// Member and member sector of an array sector. Panics beyond the capacity.
    pub fn locate(&self, sector: Lba) -> (u32, Lba) {
        let zone = self
            .zones
            .iter()
            .find(|zone| sector.0 < zone.end)
            .expect("sector within the array");
        let within = sector.0 - zone.begin;
        let (chunk, offset) = (within / self.chunk, within % self.chunk);
        let count = zone.members.len() as u64;
        // Counted within the zone: md's alternate layout. Only arrays of unequal members written before 3.14 differ.
        let member = zone.members[(chunk % count) as usize];
        (
            member,
            Lba(zone.member_begin + chunk / count * self.chunk + offset),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_go_round_the_members() {
        let array = Raid0::new(&[Sectors(1000); 3], Sectors(8));
        assert_eq!(array.locate(Lba(0)), (0, Lba(0)));
        assert_eq!(array.locate(Lba(8)), (1, Lba(0)));
        assert_eq!(array.locate(Lba(25)), (0, Lba(9)));
        assert_eq!(array.capacity(), Sectors(3000));
    }

    #[test]
    fn what_is_left_of_larger_members_becomes_a_zone_of_its_own() {
        let array = Raid0::new(&[Sectors(16), Sectors(32)], Sectors(8));
        assert_eq!(array.capacity(), Sectors(48));
        assert_eq!(array.locate(Lba(31)), (1, Lba(15)));
        assert_eq!(array.locate(Lba(32)), (1, Lba(16)));
        assert_eq!(array.locate(Lba(47)), (1, Lba(31)));
    }
}
