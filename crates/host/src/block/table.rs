//! The requests of a queue: a slot each, reused after completion, and the bios that each carries.
//!
//! A request carries its first bio in its slot; further ones (merges) hang on a chain. Slots and chain links are allocated once and
//! recycled, so a running queue does not allocate.

use super::Bio;
use seekwise_sched::{Request, RequestId};
use seekwise_units::{Lba, Nanos, Sectors};

pub const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Free,
    /// In a task's plug.
    Plugged,
    /// In the scheduler.
    Waiting,
    /// Taken from the scheduler, not accepted by the drive yet.
    Dispatched,
    InDrive,
}

#[derive(Clone, Copy, Debug)]
pub struct TableEntry {
    pub request: Request,
    pub token: u32,
    pub token_sectors: Sectors,
    /// First link of the chain of merged bios.
    pub chain: u32,
    pub chain_tail: u32,
    pub state: State,
    /// In the merge index.
    pub indexed: bool,
    /// A merge was refused for size: never tried again (REQ_NOMERGE).
    pub no_merge: bool,
    pub next_by_end: u32,
    /// Neighbours in order of insertion, kept only for policies that merge by list.
    pub older: u32,
    pub newer: u32,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    token: u32,
    sectors: Sectors,
    next: u32,
}

#[derive(Clone, Debug, Default)]
pub struct Table {
    entries: Vec<TableEntry>,
    free: Vec<u32>,
    links: Vec<Link>,
    free_links: Vec<u32>,
    used: usize,
}

impl Table {
    /// No request; memory for `count`, more is taken when needed.
    pub fn with_capacity(count: usize) -> Self {
        Self {
            entries: Vec::with_capacity(count),
            free: Vec::with_capacity(count),
            links: Vec::new(),
            free_links: Vec::new(),
            used: 0,
        }
    }

    /// Requests that have a slot.
    pub fn used(&self) -> usize {
        self.used
    }

    /// The request in `slot`; of a free slot, the one that was there last.
    #[inline]
    pub fn get(&self, slot: u32) -> &TableEntry {
        &self.entries[slot as usize]
    }

    /// The request in `slot`, to be changed.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut TableEntry {
        &mut self.entries[slot as usize]
    }

    /// Makes a request of `bio`, allocated at `now`, and returns its slot.
    #[inline(always)]
    pub fn allocate(&mut self, now: Nanos, bio: &Bio) -> u32 {
        self.used += 1;
        // Made where it will be: a copy of it would be as much work again.
        let made = |slot| TableEntry {
            request: bio.request(RequestId(slot), now),
            token: bio.token,
            token_sectors: bio.sectors,
            chain: NONE,
            chain_tail: NONE,
            state: State::Plugged,
            indexed: false,
            no_merge: false,
            next_by_end: NONE,
            older: NONE,
            newer: NONE,
        };
        if let Some(slot) = self.free.pop() {
            self.entries[slot as usize] = made(slot);
            return slot;
        }
        let slot = self.entries.len() as u32;
        self.entries.push(made(slot));
        slot
    }

    /// The slot is free for another request.
    #[inline]
    pub fn release(&mut self, slot: u32) {
        self.used -= 1;
        self.entries[slot as usize].state = State::Free;
        self.free.push(slot);
    }

    /// Adds a merged bio; the place of the request is the caller's business.
    pub fn attach(&mut self, slot: u32, token: u32, sectors: Sectors) {
        let link = Link {
            token,
            sectors,
            next: NONE,
        };
        let index = match self.free_links.pop() {
            Some(i) => {
                self.links[i as usize] = link;
                i
            }
            None => {
                self.links.push(link);
                self.links.len() as u32 - 1
            }
        };
        self.append(slot, index, index);
    }

    fn append(&mut self, slot: u32, first: u32, last: u32) {
        let entry = &mut self.entries[slot as usize];
        if entry.chain == NONE {
            entry.chain = first;
        } else {
            let tail = entry.chain_tail;
            self.links[tail as usize].next = first;
        }
        self.entries[slot as usize].chain_tail = last;
    }

    /// Moves all bios of `gone` to `kept` and frees the slot of `gone`.
    pub fn join(&mut self, kept: u32, gone: u32) {
        let (token, sectors, chain, tail) = {
            let e = self.get(gone);
            (e.token, e.token_sectors, e.chain, e.chain_tail)
        };
        self.attach(kept, token, sectors);
        if chain != NONE {
            self.append(kept, chain, tail);
        }
        self.release(gone);
    }

    /// Calls `done` for every bio, oldest first, and frees the slot.
    #[inline(always)]
    pub fn finish(&mut self, slot: u32, mut done: impl FnMut(u32, Sectors)) {
        let entry = self.get(slot);
        let (mut token, mut sectors, mut link) = (entry.token, entry.token_sectors, entry.chain);
        // `done` is called at one place, so that it is compiled into its caller.
        loop {
            done(token, sectors);
            if link == NONE {
                break;
            }
            self.free_links.push(link);
            Link {
                token,
                sectors,
                next: link,
            } = self.links[link as usize];
        }
        self.release(slot);
    }

    /// The sector after the last one of the request in `slot`.
    pub fn end(&self, slot: u32) -> Lba {
        self.get(slot).request.end()
    }
}
