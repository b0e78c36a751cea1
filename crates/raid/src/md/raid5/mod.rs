//! md's RAID 5 and RAID 6: the stripe cache, what a write has to read first, and in which order the pages go out.
//!
//! A *stripe head* covers one 4 KiB row: a page of each member. A write is cut into rows; the RAID thread decides per row
//! between read-modify-write and reconstruct-write, reads, computes parity and writes. Reads of present members pass by.
//!
//! `cache`: stripe heads between rows. `row`: what the thread does with one. Here: requests in, effects out, and the thread's turns.
//!
//! Source: linux-block-layer reference 9.4 (drivers/md/raid5.c 2.6.23 to 6.12); vectors recorded from 6.1 and 6.12.
//! Not modelled: journal, reshape, bad blocks, worker groups, a cache that grows by itself.

mod cache;
mod row;

use super::plug::{MemberRequest, Plug};
use super::Generation;
use crate::layout::parity::Parity;
use seekwise_units::hash::ByNumber;
use seekwise_units::{Lba, Sectors};
use std::collections::VecDeque;

/// Sectors in a page, the unit of the stripe cache.
pub const PAGE: u64 = 8;

/// What a caller knows a request by.
pub type BioId = u32;

/// Stripes that the RAID thread takes in one go (MAX_STRIPE_BATCH, 3.x and later).
const THREAD_BATCH: usize = 8;
/// Lists that free stripes are kept on since 3.13 (NR_STRIPE_HASH_LOCKS).
const FREE_LISTS: usize = 8;
/// Rows that may be reading for a write before further ones are held back (IO_THRESHOLD).
const PREREAD_LIMIT: u32 = 1;

/// `rmw_level` in sysfs (4.1 and later).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RmwLevel {
    Disabled = 0,
    Enabled = 1,
    Preferred = 2,
}

#[derive(Clone, Copy, Debug)]
pub struct Raid5Config {
    pub generation: Generation,
    pub parity: Parity,
    /// Stripe heads in the cache (`stripe_cache_size`).
    pub stripe_cache_size: u32,
    pub rmw_level: RmwLevel,
    /// Largest request to a member.
    pub member_sectors_max: Sectors,
    /// First array row not known to have right parity: rows from here on are always reconstructed.
    pub in_sync_until: Lba,
}

/// One page of a stripe head.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    /// The cache holds what the member should hold.
    uptodate: bool,
    /// Under way to or from the member, or being computed.
    locked: bool,
    to_write: bool,
    overwritten: bool,
    /// Written by the computation that is now on its way out.
    written: bool,
    /// Read on behalf of a reader (degraded array), not of a write.
    wanted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Free,
    /// On the list of stripes to handle, held back, or activated after being held back.
    Handle,
    Delayed,
    Hold,
    /// Waits for members; comes back on completion.
    Io,
    /// Follows the head of its batch.
    Batched,
}

#[derive(Clone, Debug)]
struct Stripe {
    row: u64,
    place: Place,
    in_use: bool,
    pages: Vec<Page>,
    /// Writes attached and not yet computed; `later` came while the row was busy.
    writers: Vec<BioId>,
    writing: Vec<BioId>,
    readers: Vec<(BioId, u32)>,
    io_left: u32,
    preread_active: bool,
    computed: bool,
    /// Stripes of the same chunk that are written together with this one (full-stripe writes).
    batch: Vec<u32>,
    /// The stripe whose batch this one is in.
    batch_head: Option<u32>,
    /// Waits for the submitter's plug to end.
    plugged: bool,
    /// Members that hold P and Q of the row.
    p: u32,
    q: Option<u32>,
    /// When it was freed last; an entry of a free list with another stamp is stale.
    freed: u64,
    free_list: usize,
}

/// Something the array did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A request goes to a member. `bio` names the array request for reads that pass by the cache.
    Issue {
        request: MemberRequest,
        bio: Option<BioId>,
    },
    /// All of the array request is done.
    Done(BioId),
}

struct Bio {
    left: u32,
}

/// What the thread did since it was asked last: passes over stripes, pages copied and read for parity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    pub stripes: u64,
    pub copied_pages: u64,
    /// Source pages of the exclusive-or, and of the second syndrome of RAID 6.
    pub xor_pages: u64,
    pub syndrome_pages: u64,
}

/// The array. Time does not occur here: the caller tells what completed and when the thread runs.
pub struct Raid5 {
    config: Raid5Config,
    stripes: Vec<Stripe>,
    rows: ByNumber<u64, u32>,
    /// Free stripes, least recently freed first, with the stamp of their freeing.
    free: Vec<VecDeque<(u32, u64)>>,
    handle: VecDeque<u32>,
    delayed: VecDeque<u32>,
    hold: VecDeque<u32>,
    plugged: VecDeque<u32>,
    preread_active: u32,
    bios: ByNumber<BioId, Bio>,
    missing: Vec<bool>,
    /// Missing to readers, but written already.
    rebuilt: Vec<bool>,
    plug: Plug,
    plug_out: Vec<MemberRequest>,
    clock: u64,
    work: Work,
    /// Stripes of the thread's present round; empty between rounds, kept for its room.
    taken: Vec<u32>,
    /// Requests that found no free stripe.
    waiting: VecDeque<Waiting>,
}

/// What is left of a request that found no free stripe.
enum Waiting {
    Write(BioId, VecDeque<Visit>, bool),
    /// Rows of a missing member.
    Read(BioId, u32, VecDeque<u64>),
}

/// A write meets a row: which data pages it covers there, and which of them wholly.
#[derive(Clone, Debug)]
struct Visit {
    row: u64,
    page: (u32, bool),
    /// Besides the first.
    more: Vec<(u32, bool)>,
}

impl Stripe {
    fn is_parity(&self, member: u32) -> bool {
        self.p == member || self.q == Some(member)
    }
}

impl Raid5 {
    pub fn new(config: Raid5Config) -> Self {
        let members = config.parity.members as usize;
        let lists = if config.generation >= Generation::Linux4_4 {
            FREE_LISTS
        } else {
            1
        };
        let stripe = |index: usize| Stripe {
            row: u64::MAX,
            place: Place::Free,
            in_use: false,
            pages: vec![Page::default(); members],
            writers: Vec::new(),
            writing: Vec::new(),
            readers: Vec::new(),
            io_left: 0,
            preread_active: false,
            computed: false,
            batch: Vec::new(),
            batch_head: None,
            plugged: false,
            p: 0,
            q: None,
            freed: 0,
            free_list: index % lists,
        };
        let mut free = vec![VecDeque::new(); lists];
        for index in 0..config.stripe_cache_size {
            free[index as usize % lists].push_back((index, 0));
        }
        Self {
            stripes: (0..config.stripe_cache_size as usize).map(stripe).collect(),
            rows: ByNumber::default(),
            free,
            handle: VecDeque::new(),
            delayed: VecDeque::new(),
            hold: VecDeque::new(),
            plugged: VecDeque::new(),
            preread_active: 0,
            bios: ByNumber::default(),
            missing: vec![false; members],
            rebuilt: vec![false; members],
            plug: Plug::new(config.generation, config.member_sectors_max),
            plug_out: Vec::new(),
            clock: 0,
            work: Work::default(),
            taken: Vec::new(),
            waiting: VecDeque::new(),
            config,
        }
    }

    /// A member has failed or comes back.
    pub fn set_missing(&mut self, member: u32, missing: bool) {
        self.missing[member as usize] = missing;
    }

    /// A missing member has been replaced and takes writes.
    pub fn set_rebuilt(&mut self, member: u32, rebuilt: bool) {
        self.rebuilt[member as usize] = rebuilt;
    }

    fn map(&self) -> &Parity {
        &self.config.parity
    }

    fn is_parity(&self, row: u64, member: u32) -> bool {
        let roles = self.map().roles(row / self.map().chunk.0);
        roles.p == member || roles.q == Some(member)
    }

    /// A request arrives. Reads of present members are issued at once, split at chunks; writes attach to their rows and wait
    /// for [`Raid5::unplug`] and [`Raid5::run_thread`].
    pub fn submit(
        &mut self,
        id: BioId,
        start: Lba,
        sectors: Sectors,
        write: bool,
        sync: bool,
        effects: &mut Vec<Effect>,
    ) {
        if write {
            let visits = self.visits(start, sectors);
            let left = visits.len() as u32;
            self.bios.insert(id, Bio { left });
            self.attach(id, visits, sync);
            return;
        }
        let mut left = 0;
        let pieces: Vec<_> =
            crate::layout::split_at_chunks(start, sectors, self.map().chunk).collect();
        for (piece, length) in pieces {
            let (member, at) = self.map().locate(piece);
            if self.missing[member as usize] {
                let rows: VecDeque<u64> = (at.0 / PAGE..(at.0 + length.0).div_ceil(PAGE))
                    .map(|page| page * PAGE)
                    .collect();
                left += rows.len() as u32;
                self.attach_reader(id, member, rows);
            } else {
                left += 1;
                effects.push(Effect::Issue {
                    request: MemberRequest {
                        member,
                        write: false,
                        start: at,
                        sectors: length,
                    },
                    bio: Some(id),
                });
            }
        }
        self.bios.insert(id, Bio { left });
    }

    /// A read of a missing member attaches to its rows, as far as there are free stripes.
    fn attach_reader(&mut self, id: BioId, member: u32, mut rows: VecDeque<u64>) {
        while let Some(row) = rows.pop_front() {
            let Some(stripe) = self.take_stripe(row) else {
                rows.push_front(row);
                self.unplug();
                self.waiting.push_back(Waiting::Read(id, member, rows));
                return;
            };
            self.stripes[stripe as usize].readers.push((id, member));
            self.stripes[stripe as usize].pages[member as usize].wanted = true;
            self.queue_for_thread(stripe);
        }
    }

    /// The rows that a write meets, in the order in which md visits them.
    fn visits(&self, start: Lba, sectors: Sectors) -> VecDeque<Visit> {
        let (begin, end) = (start.0, start.0 + sectors.0);
        let first_page = begin / PAGE * PAGE;
        let pages = (first_page..end).step_by(PAGE as usize);
        let mut visits: VecDeque<Visit> = VecDeque::new();
        let place = |page: u64| {
            let (member, at) = self.map().locate(Lba(page));
            (at.0, member, begin <= page && page + PAGE <= end)
        };
        if self.config.generation < Generation::Linux6_1 {
            // Page by page in array order; a row met again is the same stripe head, found in the cache.
            for page in pages {
                let (row, member, whole) = place(page);
                visits.push_back(Visit {
                    row,
                    page: (member, whole),
                    more: Vec::new(),
                });
            }
            return visits;
        }
        // Each row once with all its pages. A write that starts inside a chunk and goes on to a member further up starts
        // with the next chunk, whose rows lie lower.
        let pages: Vec<u64> = pages.collect();
        let chunk = self.map().chunk.0;
        let (first_member, _) = self.map().locate(Lba(first_page));
        let offset = first_page % chunk;
        let mut turn = 0;
        if chunk - offset < sectors.0 {
            let stripe = first_page / chunk / u64::from(self.map().data_members());
            let mut next = first_member + 1;
            while next < self.map().members && self.is_parity(stripe * chunk, next) {
                next += 1;
            }
            if next < self.map().members {
                turn = ((chunk - offset) / PAGE) as usize % pages.len();
            }
        }
        let mut index_of_row = ByNumber::default();
        for &page in pages[turn..].iter().chain(&pages[..turn]) {
            let (row, member, whole) = place(page);
            match index_of_row.get(&row) {
                Some(&index) => {
                    let visit: &mut Visit = &mut visits[index];
                    visit.more.push((member, whole));
                }
                None => {
                    index_of_row.insert(row, visits.len());
                    visits.push_back(Visit {
                        row,
                        page: (member, whole),
                        more: Vec::new(),
                    });
                }
            }
        }
        visits
    }

    fn attach(&mut self, id: BioId, mut visits: VecDeque<Visit>, sync: bool) {
        while let Some(visit) = visits.pop_front() {
            let Some(stripe) = self.take_stripe(visit.row) else {
                visits.push_front(visit);
                // The submitter waits for a free stripe; what it attached so far has to go out.
                self.unplug();
                self.waiting.push_back(Waiting::Write(id, visits, sync));
                return;
            };
            let busy = self.stripes[stripe as usize].computed
                || !self.stripes[stripe as usize].writing.is_empty();
            if busy {
                // The row is on its way out; md waits here too for the overlap to clear.
                visits.push_front(visit);
                self.unplug();
                self.waiting.push_back(Waiting::Write(id, visits, sync));
                return;
            }
            let head = &mut self.stripes[stripe as usize];
            for &(member, whole) in core::iter::once(&visit.page).chain(&visit.more) {
                let page = &mut head.pages[member as usize];
                page.to_write = true;
                page.overwritten |= whole;
            }
            head.writers.push(id);
            if sync && !head.preread_active {
                head.preread_active = true;
                self.preread_active += 1;
            }
            if self.joins_batch(stripe) {
                continue;
            }
            let head = &mut self.stripes[stripe as usize];
            if !head.plugged {
                head.plugged = true;
                self.plugged.push_back(stripe);
            }
        }
    }

    /// The submitter's plug ends: its rows go to the RAID thread.
    pub fn unplug(&mut self) {
        while let Some(stripe) = self.plugged.pop_front() {
            self.stripes[stripe as usize].plugged = false;
            match self.stripes[stripe as usize].place {
                Place::Delayed if self.stripes[stripe as usize].preread_active => {
                    self.delayed.retain(|&other| other != stripe);
                    self.stripes[stripe as usize].place = Place::Free;
                    self.queue_for_thread(stripe);
                }
                _ => self.queue_for_thread(stripe),
            }
        }
    }

    /// The RAID thread runs until nothing is left to handle, holding a plug over the members.
    pub fn run_thread(&mut self, effects: &mut Vec<Effect>) {
        loop {
            if self.preread_active < PREREAD_LIMIT {
                while let Some(stripe) = self.delayed.pop_front() {
                    let head = &mut self.stripes[stripe as usize];
                    head.preread_active = true;
                    self.preread_active += 1;
                    if self.config.generation == Generation::Linux2_6_23 {
                        head.place = Place::Handle;
                        self.handle.push_back(stripe);
                    } else {
                        head.place = Place::Hold;
                        self.hold.push_back(stripe);
                    }
                }
            }
            let batch = if self.config.generation >= Generation::Linux4_4 {
                THREAD_BATCH
            } else {
                1
            };
            let mut taken = core::mem::take(&mut self.taken);
            taken.clear();
            while taken.len() < batch {
                let Some(stripe) = self.handle.pop_front().or_else(|| self.hold.pop_front()) else {
                    break;
                };
                taken.push(stripe);
            }
            for &stripe in &taken {
                self.handle_stripe(stripe, effects);
            }
            for &stripe in &taken {
                self.release(stripe);
            }
            let idle = taken.is_empty();
            self.taken = taken;
            if idle {
                break;
            }
            self.retry_waiting();
        }
        let mut out = core::mem::take(&mut self.plug_out);
        self.plug.flush(&mut out);
        effects.extend(
            out.drain(..)
                .map(|request| Effect::Issue { request, bio: None }),
        );
        self.plug_out = out;
    }

    fn retry_waiting(&mut self) {
        for _ in 0..self.waiting.len() {
            match self.waiting.pop_front().expect("counted") {
                Waiting::Write(id, visits, sync) => self.attach(id, visits, sync),
                Waiting::Read(id, member, rows) => self.attach_reader(id, member, rows),
            }
        }
        if !self.waiting.is_empty() || !self.plugged.is_empty() {
            self.unplug();
        }
    }

    /// What the thread has done since the last time; the count begins anew.
    pub fn take_work(&mut self) -> Work {
        core::mem::take(&mut self.work)
    }

    fn piece_done(&mut self, id: BioId, effects: &mut Vec<Effect>) {
        let bio = self.bios.get_mut(&id).expect("an open request");
        bio.left -= 1;
        if bio.left == 0 {
            self.bios.remove(&id);
            effects.push(Effect::Done(id));
        }
    }

    /// A read that passed by the cache is done.
    pub fn bypass_complete(&mut self, id: BioId, effects: &mut Vec<Effect>) {
        self.piece_done(id, effects);
    }

    /// A request of the cache to a member is done; the thread has work afterwards.
    pub fn complete(&mut self, request: MemberRequest, effects: &mut Vec<Effect>) {
        for row in (request.start.0..request.start.0 + request.sectors.0).step_by(PAGE as usize) {
            let Some(&stripe) = self.rows.get(&row) else {
                continue;
            };
            let head = &mut self.stripes[stripe as usize];
            let page = &mut head.pages[request.member as usize];
            if !page.locked {
                continue;
            }
            page.locked = false;
            page.uptodate = true;
            head.io_left -= 1;
            if head.io_left > 0 {
                continue;
            }
            if head.writing.is_empty() {
                self.queue_for_thread(stripe);
                continue;
            }
            let mut writing = core::mem::take(&mut head.writing);
            head.place = Place::Free;
            if head.writers.is_empty() && head.readers.is_empty() && !head.plugged {
                self.set_free(stripe);
            }
            if !self.stripes[stripe as usize].writers.is_empty() {
                self.queue_for_thread(stripe);
            }
            for id in writing.drain(..) {
                self.piece_done(id, effects);
            }
            // Its room serves the writes to come.
            let head = &mut self.stripes[stripe as usize];
            if head.writing.is_empty() {
                head.writing = writing;
            }
        }
        self.retry_waiting();
    }

    /// A request waits for a free stripe, or for a row that is on its way out.
    pub fn waits_for_stripe(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Array requests not yet done.
    pub fn open(&self) -> usize {
        self.bios.len()
    }
}
