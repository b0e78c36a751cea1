//! Where a sector of the array lies on its members: pure arithmetic, one file per level.

pub mod parity;
pub mod raid0;
pub mod raid10;

use seekwise_units::{Lba, Sectors};

/// A run of sectors on one member, counted from the start of its data area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Extent {
    pub member: u32,
    pub start: Lba,
    pub sectors: Sectors,
}

/// Splits `[start, start + sectors)` at multiples of `chunk`, as md does with every bio. A zero chunk splits nothing.
pub fn split_at_chunks(
    start: Lba,
    sectors: Sectors,
    chunk: Sectors,
) -> impl Iterator<Item = (Lba, Sectors)> {
    let end = start.0 + sectors.0;
    let mut at = start.0;
    core::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let stop = at
            .checked_div(chunk.0)
            .map_or(end, |index| ((index + 1) * chunk.0).min(end));
        let piece = (Lba(at), Sectors(stop - at));
        at = stop;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_cut_at_every_chunk_border() {
        let pieces: Vec<_> = split_at_chunks(Lba(6), Sectors(12), Sectors(8)).collect();
        assert_eq!(
            pieces,
            [
                (Lba(6), Sectors(2)),
                (Lba(8), Sectors(8)),
                (Lba(16), Sectors(2))
            ]
        );
        assert_eq!(split_at_chunks(Lba(6), Sectors(12), Sectors(0)).count(), 1);
    }
}
