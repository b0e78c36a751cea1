//! Block allocation of ext3: goals by directory and process, reservation windows, indirect blocks.
//!
//! A file's first goal is in its directory's group, moved on by 1/16 of a group for each of 16 colours of process numbers; later goals are
//! right behind the last block. Each file being written holds a window of blocks that others do not take: 8 blocks at first,
//! doubled when more than half of it was used, 1027 at most. Every 1024 data blocks one indirect block lies among them.
//!
//! Source: Linux 2.6.23 fs/ext3/balloc.c, fs/ext3/inode.c.

use super::group::{fresh, metadata_of, GROUP_BLOCKS};
use super::journal::Area;
use super::{Block, Extent, Map, Path};
use crate::cache::bits::Bits;
use crate::cache::read_ahead::Page;

const COLOURS: u64 = 16;
const WINDOW_FIRST: u64 = 8;
/// EXT3_MAX_RESERVE_BLOCKS.
const WINDOW_MAX: u64 = 1_027;
/// Addresses in the inode, and in a block of them.
const DIRECT: u64 = 12;
const ADDRESSES: u64 = 1_024;

#[derive(Clone, Copy, Debug)]
struct ReservationWindow {
    start: Block,
    end: Block,
    used: u64,
}

#[derive(Clone, Debug)]
struct File {
    map: Map,
    /// Indirect blocks: the n-th holds pages 12 + 1024 n and on.
    indirect: Vec<Option<Block>>,
    /// Block of addresses of the blocks above.
    doubly: Option<Block>,
    goal: Block,
    window: Option<ReservationWindow>,
    window_size: u64,
}

#[derive(Clone, Debug)]
pub struct Ext3 {
    blocks: u64,
    groups: u64,
    taken: Bits,
    files: Vec<File>,
    pub journal: Area,
}

/// Where mke2fs puts the journal: first group up to 1.40, the middle of the volume later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalPlace {
    First,
    Middle,
}

pub(super) fn place_journal(
    place: JournalPlace,
    blocks: u64,
    journal_blocks: u64,
    taken: &mut Bits,
) -> Area {
    let start = match place {
        JournalPlace::First => taken.next_clear(0, GROUP_BLOCKS),
        // The middle group's tables come first; the group is outside the bitmap kept here.
        JournalPlace::Middle => blocks / 2 / GROUP_BLOCKS * GROUP_BLOCKS + 514,
    };
    if place == JournalPlace::First {
        taken.set(start, journal_blocks);
    }
    Area {
        start,
        blocks: journal_blocks,
    }
}

impl Ext3 {
    /// `used_blocks`: what the files to come will need at most.
    pub fn new(blocks: u64, used_blocks: u64, journal_blocks: u64, place: JournalPlace) -> Self {
        let needed = (used_blocks + journal_blocks) / (GROUP_BLOCKS - 2_048) + 4;
        let groups = needed.min(blocks.div_ceil(GROUP_BLOCKS));
        let mut taken = fresh(blocks, groups, false);
        let journal = place_journal(place, blocks, journal_blocks, &mut taken);
        Self {
            blocks,
            groups,
            taken,
            files: Vec::new(),
            journal,
        }
    }

    /// A new file of `process` in the first group's directory.
    pub fn create(&mut self, process: u32) -> u32 {
        let colour = u64::from(process) % COLOURS * (GROUP_BLOCKS / COLOURS);
        self.files.push(File {
            map: Map::default(),
            indirect: Vec::new(),
            doubly: None,
            goal: colour,
            window: None,
            window_size: WINDOW_FIRST,
        });
        self.files.len() as u32 - 1
    }

    /// Extents of the file allocated so far.
    pub fn map(&self, file: u32) -> &Map {
        &self.files[file as usize].map
    }

    /// Indirect blocks that lead to the block of `page`, and the first page for which others are needed.
    pub fn path(&self, file: u32, page: Page) -> (Path, Page) {
        if page < DIRECT {
            return (Path::default(), DIRECT);
        }
        let place = (page - DIRECT) / ADDRESSES;
        let file = &self.files[file as usize];
        let doubly = if place > 0 { file.doubly } else { None };
        let indirect = file.indirect.get(place as usize).copied().flatten();
        (
            Path {
                blocks: [doubly, indirect],
            },
            DIRECT + (place + 1) * ADDRESSES,
        )
    }

    /// The block with the inodes of a directory's first files.
    pub fn inode_block(&self) -> Block {
        metadata_of(0, false, self.blocks).1
    }

    /// Gives blocks to the pages that have none; blocks of metadata that change, indirect ones included, are added to `metadata`.
    pub fn allocate(&mut self, file: u32, page: Page, pages: u64, metadata: &mut Vec<Block>) {
        let end = page + pages;
        let mut at = page;
        while let Some((hole, length)) = self.files[file as usize].map.hole(at, end - at) {
            self.fill(file, hole, length, metadata);
            at = hole + length;
            if at >= end {
                break;
            }
        }
    }

    fn fill(&mut self, file: u32, page: Page, pages: u64, metadata: &mut Vec<Block>) {
        let (mut at, end) = (page, page + pages);
        while at < end {
            let border = if at < DIRECT {
                DIRECT
            } else {
                let place = (at - DIRECT) / ADDRESSES;
                let inner = &self.files[file as usize];
                if place > 0 && inner.doubly.is_none() {
                    let (block, _) = self.take(file, 1, metadata);
                    self.files[file as usize].doubly = Some(block);
                    metadata.push(block);
                }
                let known = self.files[file as usize]
                    .indirect
                    .get(place as usize)
                    .copied()
                    .flatten();
                let block = known.unwrap_or_else(|| {
                    let (block, _) = self.take(file, 1, metadata);
                    let indirect = &mut self.files[file as usize].indirect;
                    if indirect.len() <= place as usize {
                        indirect.resize(place as usize + 1, None);
                    }
                    indirect[place as usize] = Some(block);
                    block
                });
                metadata.push(block);
                DIRECT + (place + 1) * ADDRESSES
            };
            let (block, got) = self.take(file, (end - at).min(border - at), metadata);
            self.files[file as usize].map.add(Extent {
                page: at,
                block,
                pages: got,
            });
            at += got;
        }
    }

    /// Takes up to `most` blocks in a row at or behind the file's goal.
    fn take(&mut self, file: u32, most: u64, metadata: &mut Vec<Block>) -> (Block, u64) {
        loop {
            let inner = &self.files[file as usize];
            let goal = inner.goal;
            let free = inner.window.and_then(|window| {
                let from = goal.max(window.start);
                let start = self.taken.next_clear(from, window.end);
                (goal >= window.start && goal < window.end && start < window.end)
                    .then_some((start, window.end))
            });
            let Some((start, window_end)) = free else {
                self.new_window(file);
                continue;
            };
            let stop = self.taken.next_set(start, window_end.min(start + most));
            let count = stop - start;
            self.taken.set(start, count);
            let inner = &mut self.files[file as usize];
            inner.goal = stop;
            if let Some(window) = &mut inner.window {
                window.used += count;
            }
            let (bitmap, _) = metadata_of(start / GROUP_BLOCKS, false, self.blocks);
            metadata.push(bitmap);
            // The group's descriptor, in the first block behind the superblock.
            metadata.push(1 + start / GROUP_BLOCKS / 128);
            return (start, count);
        }
    }

    /// A window for the file at or behind its goal, clear of the other files' windows and not without a free block.
    fn new_window(&mut self, file: u32) {
        let size = self.next_size(file);
        let (start, end, free) = self.search_window(file, size);
        let inner = &mut self.files[file as usize];
        inner.window_size = size;
        inner.goal = free;
        inner.window = Some(ReservationWindow {
            start,
            end,
            used: 0,
        });
    }

    fn next_size(&self, file: u32) -> u64 {
        let inner = &self.files[file as usize];
        let well_used = |window: ReservationWindow| window.used > (window.end - window.start) / 2;
        if inner.window.is_some_and(well_used) {
            (inner.window_size * 2).min(WINDOW_MAX)
        } else {
            inner.window_size
        }
    }

    /// Start and end of the window, and the first free block in it.
    fn search_window(&self, file: u32, size: u64) -> (Block, Block, Block) {
        let mut at = self.files[file as usize].goal;
        loop {
            let group = at / GROUP_BLOCKS;
            assert!(group < self.groups, "room was made for all files");
            let group_end = (group + 1) * GROUP_BLOCKS;
            let start = self.clear_of_others(file, at, size);
            let free = self.taken.next_clear(start, group_end.max(start));
            if start >= group_end || free >= group_end {
                at = group_end;
                continue;
            }
            if free < start + size {
                return (start, (start + size).min(group_end), free);
            }
            at = free;
        }
    }

    /// The bitmap that the file's next block is taken by, and for how many blocks it surely serves.
    pub fn next_bitmap(&self, file: u32) -> (Block, u64) {
        let inner = &self.files[file as usize];
        let within = inner.window.and_then(|window| {
            let free = self
                .taken
                .next_clear(inner.goal.max(window.start), window.end);
            (inner.goal >= window.start && free < window.end).then_some((free, window.end))
        });
        // The next window begins behind this one, where nobody has been yet: still in this group.
        let ahead = within.map(|(_, end)| end + 2 * WINDOW_MAX);
        let within = match (within, ahead) {
            (Some((free, end)), Some(ahead))
                if end / GROUP_BLOCKS == ahead / GROUP_BLOCKS
                    && self.taken.next_set(end, ahead) == ahead
                    && self.clear_of_others(file, end, WINDOW_MAX) == end =>
            {
                Some((free, end + WINDOW_MAX))
            }
            _ => within,
        };
        let (free, end) = within.unwrap_or_else(|| {
            let (_, end, free) = self.search_window(file, self.next_size(file));
            (free, end)
        });
        (
            metadata_of(free / GROUP_BLOCKS, false, self.blocks).0,
            end - free,
        )
    }

    fn clear_of_others(&self, file: u32, from: Block, size: u64) -> Block {
        let mut start = from;
        loop {
            let blocking = self
                .files
                .iter()
                .enumerate()
                .filter(|(index, _)| *index != file as usize)
                .filter_map(|(_, other)| other.window)
                .find(|window| window.start < start + size && start < window.end);
            match blocking {
                Some(window) => start = window.end,
                None => return start,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_system() -> Ext3 {
        Ext3::new(61_049_646, 300_000, 4_096, JournalPlace::Middle)
    }

    #[test]
    fn one_file_is_contiguous_but_for_its_blocks_of_addresses() {
        let mut ext3 = file_system();
        let file = ext3.create(5);
        ext3.allocate(file, 0, 5_000, &mut Vec::new());
        let extents = ext3.map(file).extents();
        assert_eq!(extents[0].block, 5 * 2_048);
        assert_eq!(extents[0].pages, 12);
        assert_eq!(extents[1].pages, 1_024);
        assert_eq!(extents[1].block, extents[0].block + 13);
        // The indirect block, preceded once by that of their addresses.
        assert_eq!(extents[2].block, extents[1].block + 1_024 + 2);
        assert_eq!(extents[3].block, extents[2].block + 1_024 + 1);
    }

    #[test]
    fn files_of_neighbouring_processes_start_8_mib_apart_and_interleave_later() {
        let mut ext3 = file_system();
        let files: Vec<u32> = (20..22).map(|process| ext3.create(process)).collect();
        let mut metadata = Vec::new();
        for page in (0..20_000).step_by(100) {
            for &file in &files {
                ext3.allocate(file, page, 100, &mut metadata);
            }
        }
        let first = ext3.map(files[0]).extents();
        let second = ext3.map(files[1]).extents();
        assert_eq!(second[0].block - first[0].block, 2_048);
        let lengths: Vec<u64> = second[10..15].iter().map(|extent| extent.pages).collect();
        assert!(
            lengths.iter().all(|&pages| pages <= WINDOW_MAX),
            "{lengths:?}"
        );
        // No block is given twice.
        let mut blocks: Vec<Block> = first
            .iter()
            .chain(second)
            .flat_map(|extent| extent.block..extent.block + extent.pages)
            .collect();
        let count = blocks.len();
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!((blocks.len(), count), (40_000, 40_000));
    }

    #[test]
    fn a_page_needs_the_blocks_of_addresses_above_it() {
        let mut ext3 = file_system();
        let file = ext3.create(0);
        ext3.allocate(file, 0, 3_000, &mut Vec::new());
        assert_eq!(ext3.path(file, 0), (Path::default(), 12));
        let (path, until) = ext3.path(file, 12);
        assert_eq!((path.blocks[0], until), (None, 1_036));
        assert!(path.blocks[1].is_some());
        assert!(ext3.path(file, 1_036).0.blocks.iter().all(Option::is_some));
    }

    #[test]
    fn the_bitmap_that_the_next_block_needs_is_known_beforehand() {
        let mut system = file_system();
        let files = [system.create(1), system.create(2), system.create(3)];
        let (mut at, mut bitmaps) = ([0, 0, 0], Vec::new());
        for turn in 0..600u64 {
            let place = (turn * turn % 3) as usize;
            let (bitmap, blocks) = system.next_bitmap(files[place]);
            assert!(blocks >= 1);
            let mut touched = Vec::new();
            // An indirect block may come first.
            let pages = blocks.min(200);
            system.allocate(files[place], at[place], pages, &mut touched);
            assert!(touched.contains(&bitmap), "{touched:?} without {bitmap}");
            at[place] += pages;
            bitmaps.push(bitmap);
        }
        bitmaps.sort_unstable();
        bitmaps.dedup();
        assert!(bitmaps.len() >= 3, "{bitmaps:?}");
    }
}
