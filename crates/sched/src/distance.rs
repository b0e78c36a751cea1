//! The one-way elevator with a short way back: which of two requests is nearer to where the last one ended.
//!
//! Used by anticipatory and cfq (and bfq after them): a request ahead counts its distance, one not far behind counts a
//! multiple of it, one farther behind waits for the turn of the sweep.

use seekwise_units::Lba;

/// Place in the sweep; smaller is served first.
pub type Rank = (bool, u64, u64);

/// Rank of a request at `start` after one that ended at `last`. Of two equally far the higher sector comes first; beyond
/// the turn the lowest sector does.
#[inline]
pub fn rank(start: Lba, last: Lba, back_sectors_max: u64, back_cost: u64) -> Rank {
    let (start, last) = (start.0, last.0);
    if start >= last {
        (false, start - last, u64::MAX - start)
    } else if last - start <= back_sectors_max {
        (
            false,
            (last - start).saturating_mul(back_cost),
            u64::MAX - start,
        )
    } else {
        (true, start, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn going_back_costs_twice_as_much_as_going_on() {
        let rank = |start| rank(Lba(start), Lba(1000), 500, 2);
        assert!(rank(1099) < rank(950));
        assert!(rank(940) < rank(1121));
        // Equal cost: the one ahead.
        assert!(rank(1100) < rank(950));
        // Too far behind: after everything ahead, lowest sector first.
        assert!(rank(u64::MAX / 2) < rank(499));
        assert!(rank(10) < rank(499));
    }
}
