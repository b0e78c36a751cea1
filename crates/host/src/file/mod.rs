//! Where the blocks of files lie: extents, and the file systems that choose them.
//!
//! ```text
//!   raw    files one after the other           (a partition or volume cut up by hand)
//!   ext3   goal by directory and process, reservation windows, indirect blocks within the data
//!   ext4   chunks of 8 MiB chosen when pages are written, extents
//!   xfs    files in one piece each, in allocation groups; for readers
//! ```
//!
//! Modelled:      files of one directory on a fresh file system, written by any number of processes; metadata that a mapping needs.
//! Not modelled:  ageing, deletion, several directories, quotas, holes that are read.

pub mod ext3;
pub mod ext4;
pub mod group;
pub mod journal;
pub mod xfs;

use crate::cache::read_ahead::Page;
use core::cell::Cell;
pub use ext3::Ext3;
pub use ext4::Ext4;
use seekwise_units::Lba;
pub use xfs::Xfs;

pub use crate::cache::metadata::Block;

pub const BLOCK_SECTORS: u64 = 8;

/// A run of pages in consecutive blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub page: Page,
    pub block: Block,
    pub pages: u64,
}

/// Extents of a file in order of pages.
#[derive(Clone, Debug, Default)]
pub struct Map {
    extents: Vec<Extent>,
    /// Where the last page was found: the next one mostly lies there or right behind.
    found: Cell<usize>,
}

impl Map {
    /// Block of `page` and how many pages from it on lie in a row, `most` at most; None for a hole.
    pub fn locate(&self, page: Page, most: u64) -> Option<(Block, u64)> {
        let extent = &self.extents[self.at_or_before(page)?];
        let offset = page - extent.page;
        (offset < extent.pages).then(|| (extent.block + offset, (extent.pages - offset).min(most)))
    }

    /// The last extent that begins at `page` or before.
    #[inline]
    fn at_or_before(&self, page: Page) -> Option<usize> {
        let begins = |index: usize| self.extents.get(index).map(|extent| extent.page);
        let known = self.found.get();
        for index in [known, known + 1] {
            if begins(index).is_some_and(|first| first <= page)
                && begins(index + 1).is_none_or(|next| page < next)
            {
                self.found.set(index);
                return Some(index);
            }
        }
        let after = self.extents.partition_point(|extent| extent.page <= page);
        self.found.set(after.saturating_sub(1));
        after.checked_sub(1)
    }

    /// First page from `page` on that has no block, within `most`, and how many in a row have none.
    pub fn hole(&self, page: Page, most: u64) -> Option<(Page, u64)> {
        let end = page + most;
        let mut at = page;
        while at < end {
            match self.locate(at, end - at) {
                Some((_, pages)) => at += pages,
                None => {
                    let after = self.at_or_before(at).map_or(0, |before| before + 1);
                    let next = self.extents.get(after).map_or(end, |extent| extent.page);
                    return Some((at, next.min(end) - at));
                }
            }
        }
        None
    }

    /// Adds pages that had no block; an extent right behind the one before is joined to it.
    pub fn add(&mut self, extent: Extent) {
        let after = self
            .at_or_before(extent.page)
            .map_or(0, |before| before + 1);
        if let Some(last) = self.extents[..after].last_mut() {
            if last.page + last.pages == extent.page && last.block + last.pages == extent.block {
                last.pages += extent.pages;
                return;
            }
        }
        self.extents.insert(after, extent);
    }

    /// All extents in order of pages.
    pub fn extents(&self) -> &[Extent] {
        &self.extents
    }
}

/// Blocks that must be known before a page's own block is (read once, then cached).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    pub blocks: [Option<Block>; 2],
}

/// Any placement of files.
#[derive(Clone, Debug)]
pub enum FileSystem {
    Raw(Raw),
    Ext3(Ext3),
    Ext4(Ext4),
    Xfs(Xfs),
}

impl FileSystem {
    /// Block of `page` and how many pages from it on lie in a row, `most` at most; None for a hole.
    pub fn locate(&self, file: u32, page: Page, most: u64) -> Option<(Block, u64)> {
        match self {
            Self::Raw(raw) => Some(raw.locate(file, page, most)),
            Self::Ext3(ext3) => ext3.map(file).locate(page, most),
            Self::Ext4(ext4) => ext4.map(file).locate(page, most),
            Self::Xfs(xfs) => xfs.map(file).locate(page, most),
        }
    }

    /// Gives blocks to the pages that have none; blocks of metadata that change by it are added to `metadata`.
    pub fn allocate(&mut self, file: u32, page: Page, pages: u64, metadata: &mut Vec<Block>) {
        match self {
            Self::Raw(_) | Self::Xfs(_) => {}
            Self::Ext3(ext3) => ext3.allocate(file, page, pages, metadata),
            Self::Ext4(ext4) => ext4.allocate(file, page, pages, metadata),
        }
    }

    /// What must be in memory before the next block of the file can be chosen as the program writes, and for how many blocks that holds.
    pub fn next_bitmap(&self, file: u32) -> Option<(Block, u64)> {
        match self {
            Self::Ext3(ext3) => Some(ext3.next_bitmap(file)),
            Self::Raw(_) | Self::Ext4(_) | Self::Xfs(_) => None,
        }
    }

    /// Blocks are chosen when pages are written to the drives, not when the program writes.
    pub fn delays_allocation(&self) -> bool {
        matches!(self, Self::Ext4(_))
    }

    /// A block goes to the block layer for itself, joined to others only there.
    pub fn writes_block_by_block(&self) -> bool {
        matches!(self, Self::Ext3(_))
    }

    /// The journal's task writes ordered data block by block, past the pages (jbd); otherwise it writes the files back.
    pub fn journal_sends_buffers(&self) -> bool {
        matches!(self, Self::Ext3(_))
    }

    /// Where the journal lies; None for a file system without one in the model.
    pub fn journal(&self) -> Option<journal::Area> {
        match self {
            Self::Raw(_) | Self::Xfs(_) => None,
            Self::Ext3(ext3) => Some(ext3.journal),
            Self::Ext4(ext4) => Some(ext4.journal),
        }
    }

    /// The block with the inodes of a directory's first files.
    pub fn inode_block(&self) -> Option<Block> {
        match self {
            Self::Raw(_) | Self::Xfs(_) => None,
            Self::Ext3(ext3) => Some(ext3.inode_block()),
            Self::Ext4(ext4) => Some(ext4.inode_block()),
        }
    }

    /// What a reader of `page` has to have read, and the first page that needs something else.
    pub fn path(&self, file: u32, page: Page) -> (Path, Page) {
        match self {
            Self::Ext3(ext3) => ext3.path(file, page),
            _ => (Path::default(), Page::MAX),
        }
    }
}

/// Sector on the volume of a block in a file system that begins at `offset`.
pub fn address(block: Block, offset: Lba) -> Lba {
    Lba(block * BLOCK_SECTORS + offset.0)
}

/// Files in one piece each.
#[derive(Clone, Debug)]
pub struct Raw {
    /// Where each begins.
    pub places: Vec<Block>,
    /// Pages of the largest bio.
    pub bio_pages: u64,
}

impl Raw {
    fn locate(&self, file: u32, page: Page, most: u64) -> (Block, u64) {
        (self.places[file as usize] + page, most.min(self.bio_pages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_finds_blocks_and_holes() {
        let mut map = Map::default();
        let extent = |page, block, pages| Extent { page, block, pages };
        map.add(extent(0, 100, 10));
        map.add(extent(10, 110, 5));
        map.add(extent(20, 500, 5));
        assert_eq!(map.extents().len(), 2);
        assert_eq!(map.locate(3, 100), Some((103, 12)));
        assert_eq!(map.locate(21, 2), Some((501, 2)));
        assert_eq!(map.locate(16, 5), None);
        assert_eq!(map.hole(0, 100), Some((15, 5)));
        assert_eq!(map.hole(22, 100), Some((25, 97)));
        assert_eq!(map.hole(0, 15), None);
    }
}
