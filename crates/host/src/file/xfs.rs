//! Block placement of XFS: files of one directory, each in one piece, one behind the other in the directory's allocation group.
//!
//! ```text
//!   AG 0  headers, inodes │ file 0 │ file 1 │ file 2 …   full? the next AG goes on
//!   AG 1  headers, inodes │ …
//! ```
//!
//! What a program writes in order is allocated when it is written back, with more set aside behind it than the file has so far: files written
//! one after the other are extents of up to 8 GiB in a row.
//!
//! Modelled:      where files that were written one after the other lie, for readers.
//! Not modelled:  the log, hence no writing; several directories, which go round the groups; ageing.
//! Source: Linux 6.1 fs/xfs/libxfs/xfs_bmap.c, xfs_alloc.c, fs/xfs/xfs_iomap.c; xfsprogs 6.1 mkfs/xfs_mkfs.c (calc_default_ag_geometry).

use super::{Extent, Map};

/// An extent holds 21 bits of blocks (xfs_format.h: BMBT_BLOCKCOUNT_BITLEN).
const EXTENT_BLOCKS_MAX: u64 = (1 << 21) - 1;
/// Headers of a group, roots of its trees, the first chunk of inodes: 4, 12 and 8 blocks.
const GROUP_HEAD: u64 = 24;
/// 1 TiB of blocks of 4 KiB: the largest group. Smaller file systems have four.
const GROUP_BLOCKS_MAX: u64 = 1 << 28;
const GROUPS_OF_SMALL: u64 = 4;

#[derive(Clone, Debug)]
pub struct Xfs {
    files: Vec<Map>,
}

impl Xfs {
    /// `count` files of `pages` on a file system of so many blocks, which has room for them.
    pub fn new(blocks: u64, count: u64, pages: u64) -> Self {
        let group = Self::group_blocks(blocks);
        let mut at = GROUP_HEAD;
        let mut lay = |mut left: u64| {
            let mut map = Map::default();
            let mut page = 0;
            while left > 0 {
                if at % group == 0 {
                    at += GROUP_HEAD;
                }
                let room = group - at % group;
                let length = left.min(room).min(EXTENT_BLOCKS_MAX);
                map.add(Extent {
                    page,
                    block: at,
                    pages: length,
                });
                (page, at, left) = (page + length, at + length, left - length);
            }
            map
        };
        Self {
            files: (0..count).map(|_| lay(pages)).collect(),
        }
    }

    fn group_blocks(blocks: u64) -> u64 {
        if blocks >= GROUPS_OF_SMALL * GROUP_BLOCKS_MAX {
            GROUP_BLOCKS_MAX
        } else {
            blocks.div_ceil(GROUPS_OF_SMALL)
        }
    }

    /// Extents of the file; they are complete from the start.
    pub fn map(&self, file: u32) -> &Map {
        &self.files[file as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_lie_one_behind_the_other_and_go_on_in_the_next_group() {
        // 18 TB: groups of 1 TiB.
        let xfs = Xfs::new(4_394_582_016, 3, 200 << 20);
        let first = |file: u32| xfs.map(file).extents()[0].block;
        assert_eq!(first(0), GROUP_HEAD);
        assert_eq!(first(1), GROUP_HEAD + (200 << 20));
        let second = xfs.map(1).extents();
        assert_eq!(second.len(), 2, "cut where the group ends");
        assert_eq!(second[1].block, GROUP_BLOCKS_MAX + GROUP_HEAD);
        assert_eq!(xfs.map(1).locate(200 << 20, 1), None);
    }

    #[test]
    fn a_small_file_system_has_four_groups() {
        assert_eq!(Xfs::group_blocks(1000), 250);
        assert_eq!(Xfs::group_blocks(4 * GROUP_BLOCKS_MAX), GROUP_BLOCKS_MAX);
    }
}
