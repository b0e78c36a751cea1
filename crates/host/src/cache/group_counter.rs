//! What the counters of a cgroup say of its dirty pages: they lag behind, since changes are added up in batches before they are seen.
//!
//! Source: Linux v6.1 mm/memcontrol.c, `memcg_rstat_updated`: two batches of 64 changes on one processor, from 5.16 on.

use seekwise_units::Version;

/// Changes of the counters by a page that becomes dirty, that goes to the drive, that is clean again. Dirtying charges the page, puts it on a
/// list and counts it as dirty and as dirtied; which of that one batch takes together was not traced. Estimate from when writers were stopped
/// in the laboratory, confidence low.
const DIRTY: u64 = 8;
const WRITING: u64 = 2;
const CLEAN: u64 = 1;

/// Pages of a group that are dirty or being written, as its counters say.
#[derive(Clone, Copy, Debug)]
pub struct GroupCounter {
    /// Changes until the counters are read anew; 0: they are exact.
    lag: u64,
    changes: u64,
    said: u64,
}

impl GroupCounter {
    /// Counters at zero; they lag from 5.16 on and are exact before.
    pub fn of(version: Version) -> Self {
        Self {
            lag: if version >= Version(5, 16, 0) { 130 } else { 0 },
            changes: 0,
            said: 0,
        }
    }

    /// While `pages` are dirty or being written.
    pub fn pages(&self, pages: u64) -> u64 {
        if self.lag == 0 {
            pages
        } else {
            self.said
        }
    }

    /// So many pages became dirty; `pages` are dirty or being written now.
    pub fn dirtied(&mut self, count: u64, pages: u64) {
        self.changed(DIRTY * count, pages);
    }

    /// So many pages go to the drive.
    pub fn writing(&mut self, count: u64, pages: u64) {
        self.changed(WRITING * count, pages);
    }

    /// So many pages are clean again.
    pub fn cleaned(&mut self, count: u64, pages: u64) {
        self.changed(CLEAN * count, pages);
    }

    fn changed(&mut self, changes: u64, pages: u64) {
        self.changes += changes;
        if self.changes >= self.lag {
            self.changes = 0;
            self.said = pages;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_5_16_on_a_group_hears_of_changes_in_batches() {
        let [mut old, mut new] = [Version(5, 10, 0), Version(6, 1, 0)].map(GroupCounter::of);
        for count in 1..=16 {
            old.dirtied(1, count);
            new.dirtied(1, count);
            assert_eq!((old.pages(count), new.pages(count)), (count, 0));
        }
        new.dirtied(1, 17);
        assert_eq!(new.pages(20), 17);
    }
}
