//! Block groups of ext3 and ext4: what of a fresh file system is taken before the first file.
//!
//! Source: e2fsprogs defaults for volumes of 100 GB and more: blocks of 4 KiB, 32768 a group, superblock copies in groups 0, 1 and powers
//! of 3, 5 and 7 (sparse_super) with descriptors and room for 1024 times as many (resize_inode); an inode table of 512 blocks (an
//! inode of 128 B each 8 KiB before 2008, of 256 B each 16 KiB since).

use super::Block;
use crate::cache::bits::Bits;

pub const GROUP_BLOCKS: u64 = 32_768;
const INODE_TABLE_BLOCKS: u64 = 512;
const RESERVED_DESCRIPTORS: u64 = 1_009;
/// ext4: inode tables and bitmaps of 16 groups lie together.
const FLEX_GROUPS: u64 = 16;

fn power_of(mut number: u64, base: u64) -> bool {
    while number > 1 && number % base == 0 {
        number /= base;
    }
    number == 1
}

fn has_superblock(group: u64) -> bool {
    group <= 1 || [3, 5, 7].iter().any(|&base| power_of(group, base))
}

/// Blocks that a fresh file system has in use, groups up to `groups` only.
pub fn fresh(blocks: u64, groups: u64, flexible: bool) -> Bits {
    let all_groups = blocks.div_ceil(GROUP_BLOCKS);
    let descriptors = 1 + all_groups.div_ceil(128) + RESERVED_DESCRIPTORS;
    let mut taken = Bits::with_capacity(groups * GROUP_BLOCKS);
    for group in 0..groups {
        let start = group * GROUP_BLOCKS;
        let copies = if has_superblock(group) {
            descriptors
        } else {
            0
        };
        taken.set(start, copies.max(1));
        if !flexible {
            taken.set(start + copies, 2 + INODE_TABLE_BLOCKS);
        } else if group % FLEX_GROUPS == 0 {
            taken.set(start + copies, (2 + INODE_TABLE_BLOCKS) * FLEX_GROUPS);
        }
    }
    taken
}

/// Block bitmap and inode table of a group.
pub fn metadata_of(group: u64, flexible: bool, blocks: u64) -> (Block, Block) {
    let descriptors = 1 + blocks.div_ceil(GROUP_BLOCKS).div_ceil(128) + RESERVED_DESCRIPTORS;
    let home = if flexible {
        group / FLEX_GROUPS * FLEX_GROUPS
    } else {
        group
    };
    let copies = if has_superblock(home) { descriptors } else { 0 };
    let start = home * GROUP_BLOCKS + copies;
    if flexible {
        let place = group % FLEX_GROUPS;
        (
            start + place,
            start + 2 * FLEX_GROUPS + place * INODE_TABLE_BLOCKS,
        )
    } else {
        (start, start + 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superblock_copies_are_sparse() {
        let with: Vec<u64> = (0..50).filter(|&group| has_superblock(group)).collect();
        assert_eq!(with, [0, 1, 3, 5, 7, 9, 25, 27, 49]);
    }

    #[test]
    fn a_fresh_group_has_its_tables_at_its_start() {
        let taken = fresh(61_049_646, 4, false);
        assert_eq!(taken.next_clear(0, GROUP_BLOCKS), 1 + 15 + 1_009 + 514);
        assert_eq!(
            taken.next_clear(2 * GROUP_BLOCKS, 3 * GROUP_BLOCKS),
            2 * GROUP_BLOCKS + 514
        );
    }
}
