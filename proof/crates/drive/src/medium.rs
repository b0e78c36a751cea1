//! What a drive has stored: sectors on the medium, and sectors in its volatile write cache.
//!
//! A write without FUA goes into the cache, if the drive has one, and onto the medium when the cache is full, at a flush, or when
//! the server ends. A power cut empties the cache. The space on the medium is taken when the write is accepted, so that an
//! acknowledged write never meets a full store later.
//!
//! Not modelled: destaging while idle. After a power cut everything since the last flush that fits the cache counts as lost,
//! or a random part of its pages: both are what a drive is allowed to do.

use crate::store::Backing;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::io::Errno;
use seekwise_units::{PAGE_BYTES, PAGE_SECTORS, SECTOR_BYTES};
use std::collections::{BTreeSet, HashMap, VecDeque};

struct Page {
    /// A bit per sector that the cache holds.
    held: u8,
    data: Box<[u8; PAGE_BYTES as usize]>,
}

pub struct Medium {
    backing: Backing,
    pages: HashMap<u64, Page>,
    /// Pages in the order in which they came; one that has left the cache since is passed over.
    order: VecDeque<u64>,
    pages_max: usize,
    bad: BTreeSet<u64>,
    random: Xoshiro256PlusPlus,
}

/// The part of `offset .. offset + length` that lies in each page: page, place in the page, place in the range, bytes.
fn parts(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        (at < length).then(|| {
            let byte = offset + at as u64;
            let inside = (byte % PAGE_BYTES) as usize;
            let part = (PAGE_BYTES as usize - inside).min(length - at);
            let here = (byte / PAGE_BYTES, inside, at, part);
            at += part;
            here
        })
    })
}

/// Bits of the sectors that `bytes` from `inside` on cover; both are whole sectors.
fn mask(inside: usize, bytes: usize) -> u8 {
    let (first, count) = (
        inside / SECTOR_BYTES as usize,
        bytes / SECTOR_BYTES as usize,
    );
    (((1u16 << count) - 1) << first) as u8
}

/// Ranges of neighbouring sectors whose bits are set: place in the page and bytes.
fn runs(held: u8) -> impl Iterator<Item = (usize, usize)> {
    let mut sector = 0;
    std::iter::from_fn(move || {
        while sector < PAGE_SECTORS && held >> sector & 1 == 0 {
            sector += 1;
        }
        let first = sector;
        while sector < PAGE_SECTORS && held >> sector & 1 == 1 {
            sector += 1;
        }
        (sector > first).then_some((
            (first * SECTOR_BYTES) as usize,
            ((sector - first) * SECTOR_BYTES) as usize,
        ))
    })
}

impl Medium {
    /// `cache_bytes` is 0 for a drive without a volatile write cache.
    pub fn new(backing: Backing, cache_bytes: u64, seed: u64) -> Self {
        Self {
            backing,
            pages: HashMap::new(),
            order: VecDeque::new(),
            pages_max: (cache_bytes / PAGE_BYTES) as usize,
            bad: BTreeSet::new(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Reads whole sectors from byte `offset` on, from the cache or the medium. `EIO` if one of them is bad.
    pub fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), Errno> {
        if !self.bad.is_empty() {
            let (first, last) = (
                offset / SECTOR_BYTES,
                (offset + data.len() as u64) / SECTOR_BYTES,
            );
            if self.bad.range(first..last).next().is_some() {
                return Err(Errno::IO);
            }
        }
        self.backing.read(offset, data)?;
        if !self.pages.is_empty() {
            for (number, inside, at, bytes) in parts(offset, data.len()) {
                let Some(page) = self.pages.get(&number) else {
                    continue;
                };
                for (from, run) in runs(page.held & mask(inside, bytes)) {
                    data[at + from - inside..][..run].copy_from_slice(&page.data[from..from + run]);
                }
            }
        }
        Ok(())
    }

    /// Accepts whole sectors at byte `offset`; bad ones among them are good again. `ENOSPC` if the store is full.
    pub fn write(
        &mut self,
        offset: u64,
        data: &[u8],
        force_unit_access: bool,
    ) -> Result<(), Errno> {
        if self.is_known_zero(offset, data) {
            // Nothing to keep: neither space nor memory.
        } else if self.pages_max == 0
            || force_unit_access
            || data.len() as u64 > self.pages_max as u64 * PAGE_BYTES
        {
            self.backing.write(offset, data)?;
            self.forget(offset, data.len() as u64);
        } else {
            self.backing.reserve(offset, data.len() as u64)?;
            for (number, inside, at, bytes) in parts(offset, data.len()) {
                let page = self.pages.entry(number).or_insert_with(|| {
                    self.order.push_back(number);
                    Page {
                        held: 0,
                        data: Box::new([0; PAGE_BYTES as usize]),
                    }
                });
                page.held |= mask(inside, bytes);
                page.data[inside..inside + bytes].copy_from_slice(&data[at..at + bytes]);
            }
            while self.pages.len() > self.pages_max {
                self.destage_oldest()?;
            }
        }
        // A drive gives a written sector another place.
        if !self.bad.is_empty() {
            self.cure(offset, data.len() as u64);
        }
        Ok(())
    }

    /// Whether zeros are written where nothing but zeros has ever been: a load of zeros then needs no store, however long it runs.
    fn is_known_zero(&self, offset: u64, data: &[u8]) -> bool {
        let zeros = data.len() % 16 == 0 && data.chunks_exact(16).all(|part| part == [0; 16]);
        zeros
            && (self.pages.is_empty()
                || parts(offset, data.len()).all(|(number, ..)| !self.pages.contains_key(&number)))
            && self.backing.is_hole(offset, data.len() as u64)
    }

    /// Everything acknowledged is on the medium afterwards.
    pub fn flush(&mut self) -> Result<(), Errno> {
        while !self.pages.is_empty() {
            self.destage_oldest()?;
        }
        self.order.clear();
        Ok(())
    }

    /// Discards whole sectors from byte `offset` on, also in the cache; bad ones among them are good again.
    pub fn trim(&mut self, offset: u64, bytes: u64) -> Result<(), Errno> {
        self.backing.discard(offset, bytes)?;
        self.forget(offset, bytes);
        if !self.bad.is_empty() {
            self.cure(offset, bytes);
        }
        Ok(())
    }

    /// Loses the cache, but for about `keep` of its pages, which have reached the medium. Returns how many bytes were lost.
    pub fn power_cut(&mut self, keep: f64) -> Result<u64, Errno> {
        let mut lost = 0;
        let mut result = Ok(());
        for number in std::mem::take(&mut self.order) {
            let Some(page) = self.pages.remove(&number) else {
                continue;
            };
            // 53 bits: a number in 0..1 that is below 1 for certain.
            if ((self.random.next_u64() >> 11) as f64) < keep * (1u64 << 53) as f64 {
                for (from, bytes) in runs(page.held) {
                    result = result.and(self.backing.write(
                        number * PAGE_BYTES + from as u64,
                        &page.data[from..from + bytes],
                    ));
                }
            } else {
                lost += u64::from(page.held.count_ones()) * SECTOR_BYTES;
            }
        }
        self.pages.clear();
        result.map(|()| lost)
    }

    /// A write that the supply did not last for: some of its first sectors are on the medium. Returns how many.
    pub fn tear(&mut self, offset: u64, data: &[u8]) -> Result<u64, Errno> {
        let sectors = data.len() as u64 / SECTOR_BYTES;
        if sectors < 2 {
            return Ok(0);
        }
        let whole = 1 + self.random.next_u64() % (sectors - 1);
        self.write(offset, &data[..(whole * SECTOR_BYTES) as usize], true)?;
        Ok(whole)
    }

    /// Reads of these sectors fail until they are written, trimmed or healed.
    pub fn make_bad(&mut self, sector: u64, count: u64) {
        self.bad.extend(sector..sector + count);
    }

    /// No sector is bad any more.
    pub fn heal(&mut self) {
        self.bad.clear();
    }

    fn destage_oldest(&mut self) -> Result<(), Errno> {
        let Some(&number) = self.order.front() else {
            return Ok(());
        };
        if let Some(page) = self.pages.get(&number) {
            for (from, bytes) in runs(page.held) {
                self.backing.write(
                    number * PAGE_BYTES + from as u64,
                    &page.data[from..from + bytes],
                )?;
            }
            self.pages.remove(&number);
        }
        self.order.pop_front();
        Ok(())
    }

    /// Takes a range out of the cache because the medium knows better.
    fn forget(&mut self, offset: u64, bytes: u64) {
        if self.pages.is_empty() {
            return;
        }
        let end = offset + bytes;
        let (first, last) = (offset / PAGE_BYTES, (end - 1) / PAGE_BYTES);
        let numbers: Vec<u64> = if last - first < self.pages.len() as u64 {
            (first..=last).collect()
        } else {
            self.pages
                .keys()
                .copied()
                .filter(|number| (first..=last).contains(number))
                .collect()
        };
        for number in numbers {
            let Some(page) = self.pages.get_mut(&number) else {
                continue;
            };
            let start = number * PAGE_BYTES;
            let from = offset.saturating_sub(start);
            let to = (end - start).min(PAGE_BYTES);
            page.held &= !mask(from as usize, (to - from) as usize);
            if page.held == 0 {
                self.pages.remove(&number);
                // Its place in the order would make a later page of this number leave early: harmless, but it would pile up.
                self.order.retain(|&other| other != number);
            }
        }
    }

    fn cure(&mut self, offset: u64, bytes: u64) {
        let (first, last) = (offset / SECTOR_BYTES, (offset + bytes) / SECTOR_BYTES);
        let cured: Vec<u64> = self.bad.range(first..last).copied().collect();
        for sector in cured {
            self.bad.remove(&sector);
        }
    }
}
