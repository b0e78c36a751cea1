//! Blocks of a file system's own (addresses of data blocks) in the memory of the page cache: how long they stay when nobody uses them.
//!
//! ```text
//!   used 2^10 times while the data below is read ─▶ active list ──sifted──▶ inactive list ──reclaimed──▶ gone
//! ```
//!
//! Modelled:      a block outlives as many new pages as its way through both lists takes.
//! Not modelled:  the memory that these blocks take themselves (a thousandth of the data's).
//! Source:        mm/vmscan.c of 2.6.23: shrink_zone scans 1/4096 of each list and one page more a round, so that the active list is "sifted"
//!                slowly; unmapped pages leave it whether used or not. From 2.6.28 on file pages stay active while they are the smaller half.

use super::page_cache::PageCache;
use seekwise_units::hash::ByNumber;

/// Block of the file system: 4 KiB, counted from its start.
pub type Block = u64;

/// A round of reclaim looks at this part of a list, and one page more (DEF_PRIORITY 12).
const ROUND: u64 = 1 << 12;

#[derive(Clone, Debug, Default)]
pub struct MetadataCache {
    /// Pages added to the cache in all when the block was used last.
    used: ByNumber<Block, u64>,
    /// The active list is sifted however short it is.
    sifted: bool,
    looked_at: u64,
}

impl MetadataCache {
    /// No block is in memory. `sifted`: pages leave the active list however short it is.
    pub fn new(sifted: bool) -> Self {
        Self {
            sifted,
            ..Self::default()
        }
    }

    /// Pages that may come to memory before an unused block has gone the way through both lists.
    fn stay(&self, cache: &PageCache) -> u64 {
        if !self.sifted {
            return u64::MAX;
        }
        let active = cache.active_pages() + self.used.len() as u64;
        let inactive = cache.pages_max().saturating_sub(active);
        active * (inactive / ROUND + 1) / (active / ROUND + 1) + inactive
    }

    /// Uses a block; false when it is not in memory.
    pub fn take(&mut self, block: Block, cache: &PageCache) -> bool {
        let added = cache.added();
        let Some(&used) = self.used.get(&block) else {
            return false;
        };
        // Most are used again at once: how long they would stay need not be worked out.
        if used != added {
            if added - used > self.stay(cache) {
                return false;
            }
            self.used.insert(block, added);
        }
        true
    }

    /// The block is in memory from now on.
    pub fn insert(&mut self, block: Block, cache: &PageCache) {
        if cache.added() > self.looked_at + cache.pages_max() {
            let (stay, added) = (self.stay(cache), cache.added());
            self.used.retain(|_, used| added - *used <= stay);
            self.looked_at = added;
        }
        self.used.insert(block, cache.added());
    }

    /// No block is in memory any more.
    pub fn clear(&mut self) {
        self.used.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::page_cache::Run;
    use super::*;

    fn after_pages(sifted: bool, pages: u64) -> bool {
        let mut cache = PageCache::new(1, 40_000);
        let mut metadata = MetadataCache::new(sifted);
        metadata.insert(7, &cache);
        for start in (0..pages).step_by(32) {
            let run = Run {
                file: 0,
                start,
                pages: 32,
            };
            cache.add(run, false);
            cache.touch(run);
        }
        metadata.take(7, &cache)
    }

    #[test]
    fn unused_metadata_outlives_a_memory_of_pages_and_goes_with_the_next() {
        assert!(after_pages(true, 39_000));
        assert!(!after_pages(true, 81_000));
    }

    #[test]
    fn from_2_6_28_on_a_stream_does_not_push_metadata_out() {
        assert!(after_pages(false, 200_000));
    }

    #[test]
    fn use_keeps_metadata_in_memory() {
        let mut cache = PageCache::new(1, 1_000);
        let mut metadata = MetadataCache::new(true);
        metadata.insert(7, &cache);
        for start in (0..10_000).step_by(500) {
            cache.add(
                Run {
                    file: 0,
                    start,
                    pages: 500,
                },
                false,
            );
            assert!(metadata.take(7, &cache));
        }
    }
}
