//! What it takes to write a part of a row: which old data and parity are read, what goes through the XOR engine, what is written.

use crate::mapping::Mapping;
use seekwise_units::{Lba, Sectors};

/// A transfer on one drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    pub member: u32,
    pub at: Lba,
    pub sectors: Sectors,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub reads: Vec<Transfer>,
    pub writes: Vec<Transfer>,
    /// Bytes that pass the XOR engine.
    pub xor_bytes: u64,
}

/// `extents` of the unit, ascending and apart, all in one row. `cached` says whether a range of the unit is in memory and need not be read.
pub fn plan(
    mapping: &Mapping,
    extents: &[(Lba, Sectors)],
    mut cached: impl FnMut(Lba, Sectors) -> bool,
) -> Plan {
    let mut plan = Plan::default();
    let Some(parity) = mapping.parity() else {
        for &(start, sectors) in extents {
            mapping.pieces(start, sectors, |piece| {
                for copy in 0..piece.copies {
                    plan.writes.push(Transfer {
                        member: piece.member + copy,
                        at: piece.at,
                        sectors: piece.sectors,
                    });
                }
            });
        }
        return plan;
    };
    let Some(&(first, _)) = extents.first() else {
        return plan;
    };
    let chunk = mapping.chunk.0;
    let row = first.0 / mapping.row().0;
    // Written ranges by data chunk, as offsets within the chunk.
    let data = parity.data_members();
    let mut written: Vec<Vec<(u64, u64)>> = vec![vec![]; data as usize];
    for &(start, sectors) in extents {
        mapping.pieces(start, sectors, |piece| {
            let index = (piece.unit.0 / chunk % u64::from(data)) as usize;
            let offset = piece.unit.0 % chunk;
            written[index].push((offset, offset + piece.sectors.0));
            plan.writes.push(Transfer {
                member: piece.member,
                at: piece.at,
                sectors: piece.sectors,
            });
        });
    }
    // Parity is worked out over the span that all written ranges lie in.
    let low = written.iter().flatten().map(|range| range.0).min();
    let high = written.iter().flatten().map(|range| range.1).max();
    let (Some(low), Some(high)) = (low, high) else {
        return plan;
    };
    let span = Sectors(high - low);
    let transfer = |index: u32, low: u64, high: u64| Transfer {
        member: parity.data_member(row, index),
        at: Lba(row * chunk + low),
        sectors: Sectors(high - low),
    };
    let unit =
        |index: u32, offset: u64| Lba((row * u64::from(data) + u64::from(index)) * chunk + offset);
    let covers = |ranges: &[(u64, u64)]| {
        let mut reached = low;
        for &(from, to) in ranges {
            if from > reached {
                return false;
            }
            reached = reached.max(to);
        }
        reached >= high
    };
    // Rebuilding needs the span of every chunk that is not wholly written; modifying needs what is overwritten, and the old parity.
    let mut rebuild = vec![];
    let mut modify = vec![];
    for index in 0..data {
        let ranges = &written[index as usize];
        if !covers(ranges) && !cached(unit(index, low), span) {
            rebuild.push(transfer(index, low, high));
        }
        for &(from, to) in ranges {
            if !cached(unit(index, from), Sectors(to - from)) {
                modify.push(transfer(index, from, to));
            }
        }
    }
    let roles = parity.roles(row);
    let parities = core::iter::once(roles.p).chain(roles.q);
    let on = |member: u32| Transfer {
        member,
        at: Lba(row * chunk + low),
        sectors: span,
    };
    modify.extend(parities.clone().map(on));
    let count = u64::from(parity.parities);
    if rebuild.len() <= modify.len() {
        plan.reads = rebuild;
        plan.xor_bytes = u64::from(data) * span.bytes().0 * count;
    } else {
        let moved: u64 = modify.iter().map(|one| one.sectors.bytes().0).sum();
        let new: u64 = plan.writes.iter().map(|one| one.sectors.bytes().0).sum();
        plan.reads = modify;
        plan.xor_bytes = (moved + new) * count;
    }
    plan.writes.extend(parities.map(on));
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::Level;

    fn mapping(level: Level, members: u32) -> Mapping {
        Mapping::new(level, members, Sectors(128), Sectors(1 << 20)).unwrap()
    }

    fn nothing_cached(_: Lba, _: Sectors) -> bool {
        false
    }

    #[test]
    fn a_whole_row_of_raid5_reads_nothing() {
        let map = mapping(Level::Raid5, 4);
        let plan = plan(&map, &[(Lba(0), Sectors(384))], nothing_cached);
        assert_eq!((plan.reads.len(), plan.writes.len()), (0, 4));
        assert_eq!(plan.xor_bytes, 3 * 65536);
    }

    #[test]
    fn a_small_write_reads_old_data_and_parity() {
        let map = mapping(Level::Raid5, 5);
        let plan = plan(&map, &[(Lba(128), Sectors(8))], nothing_cached);
        assert_eq!((plan.reads.len(), plan.writes.len()), (2, 2));
        assert!(plan.reads.iter().all(|read| read.sectors == Sectors(8)));
        let members = |all: &[Transfer]| {
            let mut members: Vec<u32> = all.iter().map(|one| one.member).collect();
            members.sort_unstable();
            members
        };
        assert_eq!(members(&plan.reads), members(&plan.writes));
    }

    #[test]
    fn on_three_drives_the_other_chunk_is_read_rather_than_data_and_parity() {
        let map = mapping(Level::Raid5, 3);
        let plan = plan(&map, &[(Lba(0), Sectors(8))], nothing_cached);
        assert_eq!((plan.reads.len(), plan.writes.len()), (1, 2));
    }

    #[test]
    fn raid6_small_write_is_six_transfers() {
        let map = mapping(Level::Raid6, 8);
        let plan = plan(&map, &[(Lba(0), Sectors(8))], nothing_cached);
        assert_eq!((plan.reads.len(), plan.writes.len()), (3, 3));
    }

    #[test]
    fn what_is_in_memory_is_not_read() {
        let map = mapping(Level::Raid5, 3);
        let plan = plan(&map, &[(Lba(0), Sectors(8))], |_, _| true);
        assert_eq!((plan.reads.len(), plan.writes.len()), (0, 2));
    }

    #[test]
    fn mirrors_write_both_copies() {
        for (level, members) in [(Level::Raid1, 2), (Level::Raid10, 4)] {
            let map = mapping(level, members);
            let plan = plan(&map, &[(Lba(8), Sectors(16))], nothing_cached);
            assert_eq!((plan.reads.len(), plan.writes.len()), (0, 2));
            assert_eq!(plan.writes[0].member + 1, plan.writes[1].member);
            assert_eq!(plan.xor_bytes, 0);
        }
    }
}
