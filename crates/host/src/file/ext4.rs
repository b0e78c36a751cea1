//! Block allocation of ext4: chosen at write-back, in chunks of 8 MiB, one behind the other over all files.
//!
//! A large file gets an aligned chunk of its pages (2048 blocks) at a time, from where the last chunk of any file ended (stream
//! allocation); the pages of the chunk that are written later get the blocks set aside for them.
//!
//! Not modelled:  extent blocks (a file of few extents has them in its inode), small-file rules, locality groups.
//! Source: Linux 6.1 fs/ext4/mballoc.c.

use super::ext3::{place_journal, JournalPlace};
use super::group::{fresh, metadata_of, GROUP_BLOCKS};
use super::journal::Area;
use super::{Block, Extent, Map};
use crate::cache::bits::Bits;
use crate::cache::read_ahead::Page;

const CHUNK: u64 = 2_048;

#[derive(Clone, Debug, Default)]
struct File {
    map: Map,
    /// Chunks set aside, used or not.
    chunks: Map,
}

#[derive(Clone, Debug)]
pub struct Ext4 {
    blocks: u64,
    end: Block,
    taken: Bits,
    goal: Block,
    files: Vec<File>,
    pub journal: Area,
}

impl Ext4 {
    /// `used_blocks`: what the files to come will need at most.
    pub fn new(blocks: u64, used_blocks: u64, journal_blocks: u64) -> Self {
        let needed = used_blocks / (GROUP_BLOCKS - 4_096) + 20;
        let groups = needed.min(blocks.div_ceil(GROUP_BLOCKS));
        let mut taken = fresh(blocks, groups, true);
        let journal = place_journal(JournalPlace::Middle, blocks, journal_blocks, &mut taken);
        Self {
            blocks,
            end: groups * GROUP_BLOCKS,
            taken,
            // The goal of a first file is the second group of its flexible group.
            goal: GROUP_BLOCKS,
            files: Vec::new(),
            journal,
        }
    }

    /// A new empty file; returns its number.
    pub fn create(&mut self) -> u32 {
        self.files.push(File::default());
        self.files.len() as u32 - 1
    }

    /// Extents of the file allocated so far.
    pub fn map(&self, file: u32) -> &Map {
        &self.files[file as usize].map
    }

    /// The block with the inodes of a directory's first files.
    pub fn inode_block(&self) -> Block {
        metadata_of(0, true, self.blocks).1
    }

    /// Gives blocks to the pages that have none, a chunk of 8 MiB set aside at a time; blocks of metadata that change are added to `metadata`.
    pub fn allocate(&mut self, file: u32, page: Page, pages: u64, metadata: &mut Vec<Block>) {
        let end = page + pages;
        let mut at = page;
        while let Some((hole, length)) = self.files[file as usize].map.hole(at, end - at) {
            let Some((block, count)) = self.files[file as usize].chunks.locate(hole, length) else {
                self.set_aside(file, hole / CHUNK * CHUNK, metadata);
                continue;
            };
            self.files[file as usize].map.add(Extent {
                page: hole,
                block,
                pages: count,
            });
            at = hole + count;
            if at >= end {
                break;
            }
        }
    }

    fn set_aside(&mut self, file: u32, page: Page, metadata: &mut Vec<Block>) {
        let mut at = self.goal;
        let (start, count) = loop {
            let start = self.taken.next_clear(at, self.end);
            assert!(start < self.end, "room was made for all files");
            let stop = self.taken.next_set(start, start + CHUNK);
            if stop - start == CHUNK || stop >= self.end {
                break (start, stop - start);
            }
            at = stop;
        };
        self.taken.set(start, count);
        self.goal = start + count;
        self.files[file as usize].chunks.add(Extent {
            page,
            block: start,
            pages: count,
        });
        let (bitmap, inodes) = metadata_of(start / GROUP_BLOCKS, true, self.blocks);
        metadata.extend([bitmap, inodes, 1 + start / GROUP_BLOCKS / 64]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_written_by_turns_alternate_in_chunks_of_8_mib() {
        let mut ext4 = Ext4::new(61_049_646, 100_000, 32_768);
        let files = [ext4.create(), ext4.create()];
        let mut metadata = Vec::new();
        for page in (0..8_192).step_by(1_024) {
            for &file in &files {
                ext4.allocate(file, page, 1_024, &mut metadata);
            }
        }
        let first = ext4.map(files[0]).extents();
        let second = ext4.map(files[1]).extents();
        assert_eq!(first.len(), 4);
        assert!(first.iter().all(|extent| extent.pages == CHUNK));
        assert_eq!(second[0].block, first[0].block + CHUNK);
        assert_eq!(first[1].block, second[0].block + CHUNK);
    }

    #[test]
    fn one_file_alone_is_contiguous() {
        let mut ext4 = Ext4::new(61_049_646, 100_000, 32_768);
        let file = ext4.create();
        ext4.allocate(file, 0, 20_000, &mut Vec::new());
        assert_eq!(ext4.map(file).extents().len(), 1);
    }
}
