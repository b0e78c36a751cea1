//! What it takes to write a part of a row: which old data and parity are read, what goes through the XOR engine, what is written.

use crate::mapping::Mapping;
use seekwise_raid::layout::parity::Parity;
use seekwise_units::{Lba, Sectors};
use smallvec::SmallVec;

/// A transfer on one drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    pub member: u32,
    pub at: Lba,
    pub sectors: Sectors,
}

/// A row's transfers in one direction: a few.
pub type Transfers = SmallVec<[Transfer; 4]>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub reads: Transfers,
    pub writes: Transfers,
    /// Bytes that pass the XOR engine.
    pub xor_bytes: u64,
}

/// `extents` of the unit, ascending and apart, all in one row. `cached` says whether a range of the unit is in memory and need not be read.
pub fn plan(
    mapping: &Mapping,
    extents: &[(Lba, Sectors)],
    mut cached: impl FnMut(Lba, Sectors) -> bool,
) -> Plan {
    let Some(parity) = mapping.parity() else {
        return without_parity(mapping, extents);
    };
    let mut plan = Plan::default();
    let Some(&(first, _)) = extents.first() else {
        return plan;
    };
    let row = ParityRow {
        number: first.0 / mapping.row().0,
        chunk: mapping.chunk.0,
        parity,
    };
    let written = row.write_data(mapping, extents, &mut plan.writes);
    // Parity is worked out over the span that all written ranges lie in.
    let low = written.iter().flatten().map(|part| part.from).min();
    let high = written.iter().flatten().map(|part| part.to).max();
    let (Some(from), Some(to)) = (low, high) else {
        return plan;
    };
    let span = RowPart { from, to };
    let rebuild = row.rebuild_reads(&written, span, &mut cached);
    let modify = row.modify_reads(&written, span, &mut cached);
    let count = u64::from(parity.parities);
    if rebuild.len() <= modify.len() {
        plan.reads = rebuild;
        plan.xor_bytes = u64::from(parity.data_members()) * span.sectors().bytes().0 * count;
    } else {
        let moved: u64 = modify.iter().map(|one| one.sectors.bytes().0).sum();
        let new: u64 = plan.writes.iter().map(|one| one.sectors.bytes().0).sum();
        plan.reads = modify;
        plan.xor_bytes = (moved + new) * count;
    }
    plan.writes.extend(row.parity_chunks(span));
    plan
}

/// Every copy is written, and nothing is read.
fn without_parity(mapping: &Mapping, extents: &[(Lba, Sectors)]) -> Plan {
    let mut plan = Plan::default();
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
    plan
}

/// Part of a chunk, in sectors from the chunk's start.
#[derive(Clone, Copy, Debug)]
struct RowPart {
    from: u64,
    to: u64,
}

impl RowPart {
    fn sectors(self) -> Sectors {
        Sectors(self.to - self.from)
    }

    /// Whether `parts`, ascending, leave nothing of it out.
    fn is_covered_by(self, parts: &[RowPart]) -> bool {
        let mut reached = self.from;
        for part in parts {
            if part.from > reached {
                return false;
            }
            reached = reached.max(part.to);
        }
        reached >= self.to
    }
}

/// A row of data chunks with their parity.
struct ParityRow {
    number: u64,
    /// Sectors of a chunk.
    chunk: u64,
    parity: Parity,
}

impl ParityRow {
    /// Adds the transfers that write the data. Gives the written parts of each data chunk.
    fn write_data(
        &self,
        mapping: &Mapping,
        extents: &[(Lba, Sectors)],
        writes: &mut Transfers,
    ) -> Vec<Vec<RowPart>> {
        let data = self.parity.data_members();
        let mut written = vec![vec![]; data as usize];
        for &(start, sectors) in extents {
            mapping.pieces(start, sectors, |piece| {
                let index = (piece.unit.0 / self.chunk % u64::from(data)) as usize;
                let from = piece.unit.0 % self.chunk;
                let to = from + piece.sectors.0;
                written[index].push(RowPart { from, to });
                writes.push(Transfer {
                    member: piece.member,
                    at: piece.at,
                    sectors: piece.sectors,
                });
            });
        }
        written
    }

    /// Rebuilding parity from all data needs the span of every chunk that is not wholly written.
    fn rebuild_reads(
        &self,
        written: &[Vec<RowPart>],
        span: RowPart,
        cached: &mut impl FnMut(Lba, Sectors) -> bool,
    ) -> Transfers {
        (0..)
            .zip(written)
            .filter(|&(index, parts)| {
                !span.is_covered_by(parts) && !cached(self.in_unit(index, span), span.sectors())
            })
            .map(|(index, _)| self.data_chunk(index, span))
            .collect()
    }

    /// Modifying the old parity needs it, and what is overwritten.
    fn modify_reads(
        &self,
        written: &[Vec<RowPart>],
        span: RowPart,
        cached: &mut impl FnMut(Lba, Sectors) -> bool,
    ) -> Transfers {
        let mut reads = Transfers::new();
        for (index, parts) in (0..).zip(written) {
            for &part in parts {
                if !cached(self.in_unit(index, part), part.sectors()) {
                    reads.push(self.data_chunk(index, part));
                }
            }
        }
        reads.extend(self.parity_chunks(span));
        reads
    }

    /// Where a part of data chunk `index` begins among the unit's own addresses.
    fn in_unit(&self, index: u32, part: RowPart) -> Lba {
        let chunks = self.number * u64::from(self.parity.data_members()) + u64::from(index);
        Lba(chunks * self.chunk + part.from)
    }

    fn data_chunk(&self, index: u32, part: RowPart) -> Transfer {
        self.on_member(self.parity.data_member(self.number, index), part)
    }

    fn parity_chunks(&self, part: RowPart) -> impl Iterator<Item = Transfer> + '_ {
        let roles = self.parity.roles(self.number);
        let members = core::iter::once(roles.p).chain(roles.q);
        members.map(move |member| self.on_member(member, part))
    }

    fn on_member(&self, member: u32, part: RowPart) -> Transfer {
        Transfer {
            member,
            at: Lba(self.number * self.chunk + part.from),
            sectors: part.sectors(),
        }
    }
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
