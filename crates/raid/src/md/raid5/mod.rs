//! md's RAID 5 and RAID 6: the stripe cache, what a write has to read first, and in which order the pages go out.
//!
//! A *stripe head* covers one 4 KiB row: a page of each member. A write is cut into rows; the RAID thread decides per row
//! between read-modify-write and reconstruct-write, reads, computes parity and writes. Reads of a whole array pass by.
//!
//! `stripe`: what a stripe head is. `cache`: stripe heads between rows. `row`: what the thread does with one. `waiting`: requests that find no
//! stripe. Here: requests in, effects out, and the thread's turns.
//!
//! Source: Linux 2.6.23 to 6.12 drivers/md/raid5.c; vectors recorded from 6.1 and 6.12.
//! Not modelled: journal, reshape, bad blocks, worker groups, a cache that shrinks again because memory is short.

mod cache;
mod row;
mod stripe;
mod visits;
mod waiting;

use super::plug::{MemberRequest, Plug, Plugged};
use super::MdGeneration;
use crate::layout::parity::Parity;
use cache::Rows;
use seekwise_units::hash::ByNumber;
use seekwise_units::{Lba, Sectors};
use std::collections::{BTreeMap, VecDeque};
use stripe::{bit, Links, Pages, Stripe, StripeList};
use waiting::{Rest, Visits, WaitingForStripes};

/// Sectors in a page, the unit of the stripe cache.
pub use seekwise_units::PAGE_SECTORS as PAGE;

/// What a caller knows a request by.
pub type BioId = u32;

/// Members whose pages are kept in one word.
const PAGE_SET: u32 = u64::BITS;

/// Stripes that the RAID thread takes in one go (MAX_STRIPE_BATCH, 3.x and later).
const THREAD_BATCH: usize = 8;
/// Lists that free stripes are kept on since 3.13 (NR_STRIPE_HASH_LOCKS).
const FREE_LISTS: usize = 8;
/// The cache grows while somebody finds no stripe, up to what memory allows; how much that is is not known here: up to what may be set.
const STRIPES_MOST: usize = 32_768;
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
    pub generation: MdGeneration,
    pub parity: Parity,
    /// Stripe heads in the cache (`stripe_cache_size`).
    pub stripe_cache_size: u32,
    pub rmw_level: RmwLevel,
    /// Largest request to a member.
    pub member_sectors_max: Sectors,
    /// First array row not known to have right parity: rows from here on are always reconstructed.
    pub in_sync_until: Lba,
}

/// For whom a request goes to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The array request that passes by the cache.
    Bio(BioId),
    /// The stripe head of the request's first row; it keeps the row until the request is back.
    Stripe(u32),
}

/// Something the array did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A request goes to a member.
    Issue {
        request: MemberRequest,
        sender: Sender,
    },
    /// All of the array request is done.
    Done(BioId),
}

/// The receiver of what the array does, in order: a list of effects, or the code that acts on them at once.
pub trait Outbox {
    fn issue(&mut self, request: MemberRequest, sender: Sender);
    fn done(&mut self, id: BioId);
}

impl Outbox for Vec<Effect> {
    fn issue(&mut self, request: MemberRequest, sender: Sender) {
        self.push(Effect::Issue { request, sender });
    }

    fn done(&mut self, id: BioId) {
        self.push(Effect::Done(id));
    }
}

/// What the thread did since it was asked last: passes over stripes, pages copied and read for parity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StripeWork {
    pub stripes: u64,
    /// Stripes whose writes were computed.
    pub written: u64,
    /// Members looked at, over all passes.
    pub looks: u64,
    /// Pages sent to members or asked of them, each a bio of its own until the plug merges it.
    pub bios: u64,
    pub copied_pages: u64,
    /// Source pages of the exclusive-or, and of the two syndromes of RAID 6.
    pub xor_pages: u64,
    pub syndrome_pages: u64,
}

impl StripeWork {
    /// A pass over so many rows of a resync: `bios` of each are sent to members; from `read` pages its parity is computed, or the page of `one_new` member.
    /// RAID 6 checks P by an exclusive-or and Q by a syndrome (crypto/async_tx/async_pq.c: async_syndrome_val); one page it computes from all
    /// others but Q (drivers/md/raid5.c: ops_run_compute6_1), and Q itself, in one row of `members`, at about the same rate.
    pub fn pass(parity: &Parity, rows: u64, bios: u64, read: u64, one_new: bool) -> Self {
        let (xor, syndrome) = match (parity.parities, one_new) {
            (2, true) => (read.saturating_sub(1), 0),
            (2, false) => (read, read),
            _ => (read, 0),
        };
        Self {
            stripes: rows,
            looks: rows * u64::from(parity.members),
            bios: rows * bios,
            xor_pages: rows * xor,
            syndrome_pages: rows * syndrome,
            ..Self::default()
        }
    }
}

impl std::ops::AddAssign for StripeWork {
    fn add_assign(&mut self, more: Self) {
        self.stripes += more.stripes;
        self.written += more.written;
        self.looks += more.looks;
        self.bios += more.bios;
        self.copied_pages += more.copied_pages;
        self.xor_pages += more.xor_pages;
        self.syndrome_pages += more.syndrome_pages;
    }
}

/// Puts a member into a set, or takes it out.
fn mark(set: &mut [u64], member: u32, contained: bool) {
    let (word, bit) = bit(member);
    if contained {
        set[word] |= bit;
    } else {
        set[word] &= !bit;
    }
}

/// The array. Time does not occur here: the caller tells what completed and when the thread runs.
pub struct Raid5 {
    config: Raid5Config,
    stripes: Vec<Stripe>,
    /// Of each stripe as many as there are words of members.
    pages: Vec<Pages>,
    links: Links,
    rows: Rows,
    /// Free stripes, least recently freed first, with the stamp of their freeing.
    free: Vec<VecDeque<(u32, u64)>>,
    handle: VecDeque<u32>,
    delayed: VecDeque<u32>,
    hold: VecDeque<u32>,
    plugged: VecDeque<u32>,
    preread_active: u32,
    /// Stripes in use.
    active: usize,
    /// A request found no stripe and waits.
    blocked: bool,
    /// Somebody found none: the thread's next turn adds one (R5_ALLOC_MORE); one has been added since any came back (R5_DID_ALLOC).
    wants_stripe: bool,
    has_grown: bool,
    /// Pieces that are left of each array request, by its id, and how many have any.
    bios: Vec<u32>,
    open: usize,
    /// Words of members: all of them, those that are missing, those that are missing to readers but written already.
    all: Vec<u64>,
    missing: Vec<u64>,
    rebuilt: Vec<u64>,
    plug: Plug,
    plug_out: Vec<Plugged>,
    clock: u64,
    work: StripeWork,
    waiting: WaitingForStripes,
    /// Who submits, and what tasks that sleep will submit then.
    task: Option<u32>,
    asleep: BTreeMap<u32, VecDeque<Rest>>,
    /// Lists of visits, used again.
    spare: Vec<Visits>,
    /// Which visit each row of a write is, while they are listed.
    visit_of_row: ByNumber<u64, u32>,
}

impl Raid5 {
    /// An array with an empty stripe cache and all members present.
    pub fn new(config: Raid5Config) -> Self {
        let members = config.parity.members as usize;
        let lists = if config.generation >= MdGeneration::Linux4_4 {
            FREE_LISTS
        } else {
            1
        };
        let words = members.div_ceil(PAGE_SET as usize);
        let mut all = vec![0; words];
        for member in 0..members as u32 {
            let (word, bit) = bit(member);
            all[word] |= bit;
        }
        let mut free = vec![VecDeque::new(); lists];
        for index in 0..config.stripe_cache_size {
            free[index as usize % lists].push_back((index, 0));
        }
        Self {
            stripes: (0..config.stripe_cache_size as usize)
                .map(|index| Stripe::new((index % lists) as u8))
                .collect(),
            pages: vec![Pages::default(); config.stripe_cache_size as usize * words],
            links: Links::new(),
            rows: Rows::new(config.stripe_cache_size as usize),
            free,
            handle: VecDeque::new(),
            delayed: VecDeque::new(),
            hold: VecDeque::new(),
            plugged: VecDeque::new(),
            preread_active: 0,
            active: 0,
            blocked: false,
            wants_stripe: false,
            has_grown: false,
            bios: Vec::new(),
            open: 0,
            all,
            missing: vec![0; words],
            rebuilt: vec![0; words],
            plug: Plug::new(config.generation, config.member_sectors_max),
            plug_out: Vec::new(),
            clock: 0,
            work: StripeWork::default(),
            waiting: WaitingForStripes::new(lists),
            task: None,
            asleep: BTreeMap::new(),
            spare: Vec::new(),
            visit_of_row: ByNumber::default(),
            config,
        }
    }

    /// A member has failed or comes back.
    pub fn set_missing(&mut self, member: u32, missing: bool) {
        mark(&mut self.missing, member, missing);
    }

    /// A missing member has been replaced and takes writes.
    pub fn set_rebuilt(&mut self, member: u32, rebuilt: bool) {
        mark(&mut self.rebuilt, member, rebuilt);
    }

    /// Whether a member is in a set.
    #[inline]
    fn has(&self, set: &[u64], member: u32) -> bool {
        let (word, bit) = bit(member);
        set[word] & bit != 0
    }

    #[inline]
    fn pages(&self, stripe: u32) -> &[Pages] {
        let words = self.all.len();
        &self.pages[stripe as usize * words..][..words]
    }

    #[inline]
    fn pages_of(&mut self, stripe: u32) -> &mut [Pages] {
        let words = self.all.len();
        &mut self.pages[stripe as usize * words..][..words]
    }

    fn map(&self) -> &Parity {
        &self.config.parity
    }

    /// A request arrives. Reads of a whole array are issued at once, split at chunks; writes attach to their rows and wait
    /// for [`Raid5::unplug`] and [`Raid5::run_thread`].
    pub fn submit(
        &mut self,
        id: BioId,
        start: Lba,
        sectors: Sectors,
        write: bool,
        sync: bool,
        effects: &mut impl Outbox,
    ) {
        if write {
            self.submit_write(id, start, sectors, sync);
            return;
        }
        let mut left = 0;
        for (piece, length) in crate::layout::split_at_chunks(start, sectors, self.map().chunk) {
            let (member, at) = self.map().locate(piece);
            if self.reads_stripes(member) {
                let (row, end) = (at.0 / PAGE * PAGE, (at.0 + length.0).next_multiple_of(PAGE));
                left += ((end - row) / PAGE) as u32;
                self.attach_or_wait(Rest::Read {
                    id,
                    member,
                    row,
                    end,
                });
            } else {
                left += 1;
                let request = MemberRequest {
                    member,
                    write: false,
                    start: at,
                    sectors: length,
                };
                effects.issue(request, Sender::Bio(id));
            }
        }
        self.opened(id, left);
    }

    /// Whether reads of a member go through the stripe cache: up to 2.6.x those of a missing one, later all of a degraded array (drivers/md/raid5.c:
    /// raid5_make_request, chunk_aligned_read).
    pub fn reads_stripes(&self, member: u32) -> bool {
        if self.config.generation < MdGeneration::Linux4_4 {
            return self.has(&self.missing, member);
        }
        self.missing.iter().any(|&members| members != 0)
    }

    /// Whose writes are submitted from now on; None: what one of them waits for holds up none of the others.
    #[inline]
    pub fn submits(&mut self, task: Option<u32>) {
        self.task = task;
    }

    fn submit_write(&mut self, id: BioId, start: Lba, sectors: Sectors, sync: bool) {
        let page = start.0 / PAGE * PAGE;
        let task = self.task;
        let asleep = task.is_some_and(|task| self.asleep.contains_key(&task));
        if asleep || start.0 + sectors.0 > page + PAGE {
            let visits = self.visits_of(start, sectors);
            self.opened(id, visits.rows.len() as u32);
            let rest = Rest::Write {
                id,
                visits,
                sync,
                task,
            };
            match task.and_then(|task| self.asleep.get_mut(&task)) {
                Some(queue) => queue.push_back(rest),
                None => self.attach_or_wait(rest),
            }
            return;
        }
        // One visit needs no list, unless it is in vain.
        let (member, row) = self.map().locate(Lba(page));
        self.opened(id, 1);
        if !self.attach_write(id, row.0, &[(member, sectors.0 == PAGE)], sync) {
            self.unplug();
            let visits = self.visits_of(start, sectors);
            let number = self.waiting.number();
            self.wait(
                number,
                Rest::Write {
                    id,
                    visits,
                    sync,
                    task,
                },
            );
        }
    }

    #[inline]
    fn opened(&mut self, id: BioId, pieces: u32) {
        let place = id as usize;
        if place >= self.bios.len() {
            self.bios.resize(place + 1, 0);
        }
        self.open += usize::from(self.bios[place] == 0);
        self.bios[place] = pieces;
    }

    fn attach_or_wait(&mut self, rest: Rest) {
        if let Some(rest) = self.attach(rest) {
            let number = self.waiting.number();
            self.wait(number, rest);
        }
    }

    /// A request attaches to its rows, as far as it finds stripes that take it. What is left has unplugged and waits.
    fn attach(&mut self, rest: Rest) -> Option<Rest> {
        match rest {
            Rest::Write {
                id,
                mut visits,
                sync,
                task,
            } => {
                while let Some((row, pages)) = visits.next() {
                    if !self.attach_write(id, row, &visits.pages[pages], sync) {
                        // The submitter waits; what it attached so far has to go out.
                        self.unplug();
                        return Some(Rest::Write {
                            id,
                            visits,
                            sync,
                            task,
                        });
                    }
                    visits.done += 1;
                }
                self.spare.push(visits);
            }
            Rest::Read {
                id,
                member,
                mut row,
                end,
            } => {
                while row < end {
                    let Some(stripe) = self.take_stripe(row) else {
                        self.unplug();
                        return Some(Rest::Read {
                            id,
                            member,
                            row,
                            end,
                        });
                    };
                    let readers = &mut self.stripes[stripe as usize].readers;
                    self.links.push(readers, id);
                    let (word, bit) = bit(member);
                    self.pages_of(stripe)[word].wanted |= bit;
                    self.queue_for_thread(stripe);
                    row += PAGE;
                }
            }
        }
        None
    }

    /// One visit of a write; false where no stripe is free, or the row is on its way out.
    fn attach_write(&mut self, id: BioId, row: u64, pages: &[(u32, bool)], sync: bool) -> bool {
        let Some(stripe) = self.take_stripe(row) else {
            return false;
        };
        if self.stripes[stripe as usize].in_batch() {
            return false;
        }
        for &(member, whole) in pages {
            let (word, bit) = bit(member);
            let page = &mut self.pages_of(stripe)[word];
            page.to_write |= bit;
            if whole {
                page.overwritten |= bit;
            }
        }
        let head = &mut self.stripes[stripe as usize];
        self.links.push(&mut head.writers, id);
        if sync && !head.preread_active {
            head.preread_active = true;
            self.preread_active += 1;
        }
        if self.joins_batch(stripe) {
            return true;
        }
        let head = &mut self.stripes[stripe as usize];
        if !head.plugged {
            head.plugged = true;
            self.plugged.push_back(stripe);
        }
        true
    }

    /// The submitter's plug ends: its rows go to the RAID thread.
    #[inline]
    pub fn unplug(&mut self) {
        if !self.plugged.is_empty() {
            self.unplug_rows();
        }
    }

    fn unplug_rows(&mut self) {
        while let Some(stripe) = self.plugged.pop_front() {
            self.stripes[stripe as usize].plugged = false;
            match self.stripes[stripe as usize].place {
                StripeList::Delayed if self.stripes[stripe as usize].preread_active => {
                    self.delayed.retain(|&other| other != stripe);
                    self.stripes[stripe as usize].place = StripeList::Free;
                    self.queue_for_thread(stripe);
                }
                _ => self.queue_for_thread(stripe),
            }
        }
    }

    /// The RAID thread runs until nothing is left to handle, as if it took no time. False where there was nothing.
    pub fn run_thread(&mut self, effects: &mut impl Outbox) -> bool {
        let mut any = false;
        while self.run_round(effects) {
            any = true;
        }
        any
    }

    /// Whether the RAID thread, which looks now, finds anything to do.
    #[inline]
    pub fn has_work(&self) -> bool {
        let activates = !self.delayed.is_empty() && self.preread_active < PREREAD_LIMIT;
        activates || !self.handle.is_empty() || !self.hold.is_empty() || !self.plug.is_empty()
    }

    /// The RAID thread takes up to eight stripes, holding a plug over the members; what leaves the plug meanwhile is sent. A round that finds no
    /// stripe ends the plug. False where there was nothing.
    #[inline]
    pub fn run_round(&mut self, effects: &mut impl Outbox) -> bool {
        let any = self.has_work();
        if any {
            self.round(effects);
        }
        any
    }

    fn round(&mut self, effects: &mut impl Outbox) {
        let mut left = THREAD_BATCH;
        while left > 0 {
            let handled = self.handle_batch(effects);
            if handled == 0 {
                break;
            }
            left = left.saturating_sub(handled);
        }
        let mut issue = |(request, stripe)| effects.issue(request, Sender::Stripe(stripe));
        self.plug_out.drain(..).for_each(&mut issue);
        if left == THREAD_BATCH {
            self.plug.flush(issue);
            self.grow();
        }
    }

    /// Stripes that are taken together, one before 4.x; none where none is ready.
    fn handle_batch(&mut self, effects: &mut impl Outbox) -> usize {
        if self.preread_active < PREREAD_LIMIT {
            while let Some(stripe) = self.delayed.pop_front() {
                let head = &mut self.stripes[stripe as usize];
                head.preread_active = true;
                self.preread_active += 1;
                if self.config.generation == MdGeneration::Linux2_6_23 {
                    head.place = StripeList::Handle;
                    self.handle.push_back(stripe);
                } else {
                    head.place = StripeList::Hold;
                    self.hold.push_back(stripe);
                }
            }
        }
        let batch = if self.config.generation >= MdGeneration::Linux4_4 {
            THREAD_BATCH
        } else {
            1
        };
        let mut taken = [0; THREAD_BATCH];
        let mut count = 0;
        while count < batch {
            let Some(stripe) = self.handle.pop_front().or_else(|| self.hold.pop_front()) else {
                break;
            };
            taken[count] = stripe;
            count += 1;
        }
        for &stripe in &taken[..count] {
            self.handle_stripe(stripe, effects);
        }
        for &stripe in &taken[..count] {
            self.release(stripe);
        }
        if count > 0 {
            self.retry_waiting();
        }
        count
    }

    /// What the thread has done since the last time; the count begins anew.
    pub fn take_work(&mut self) -> StripeWork {
        core::mem::take(&mut self.work)
    }

    fn piece_done(&mut self, id: BioId, effects: &mut impl Outbox) {
        let left = &mut self.bios[id as usize];
        *left -= 1;
        if *left == 0 {
            self.open -= 1;
            effects.done(id);
        }
    }

    /// A read that passed by the cache is done.
    pub fn bypass_complete(&mut self, id: BioId, effects: &mut impl Outbox) {
        self.piece_done(id, effects);
    }

    /// A request of the cache to a member is done; the thread has work afterwards.
    pub fn complete(&mut self, request: MemberRequest) {
        let MemberRequest {
            member,
            start,
            sectors,
            ..
        } = request;
        for row in (start.0..start.0 + sectors.0).step_by(PAGE as usize) {
            if let Some(stripe) = self.stripe_of(row) {
                self.page_done(stripe, member);
            }
        }
    }

    /// The same, told by the stripe head of its first row ([`Sender::Stripe`]).
    pub fn complete_from(&mut self, stripe: u32, member: u32, sectors: Sectors) {
        let row = self.stripes[stripe as usize].row;
        self.page_done(stripe, member);
        for row in (row + PAGE..row + sectors.0).step_by(PAGE as usize) {
            if let Some(stripe) = self.stripe_of(row) {
                self.page_done(stripe, member);
            }
        }
    }

    /// What follows from it is the thread's: requests end and heads are freed when it comes to the row.
    #[inline]
    fn page_done(&mut self, mut stripe: u32, member: u32) {
        let (word, bit) = bit(member);
        let page = &mut self.pages_of(stripe)[word];
        if page.locked & bit == 0 {
            return;
        }
        page.locked &= !bit;
        page.uptodate |= bit;
        let head = &mut self.stripes[stripe as usize];
        head.io_left -= 1;
        if head.io_left == 0 && head.place == StripeList::Batched {
            // The rows of a batch end with the first of them.
            stripe = head.batch;
            self.stripes[stripe as usize].io_left -= 1;
        }
        let head = &self.stripes[stripe as usize];
        if head.io_left == 0 {
            self.has_grown = false;
            self.queue_for_thread(stripe);
        }
    }

    /// A request waits for a free stripe, or for a row that is on its way out.
    pub fn waits_for_stripe(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Array requests not yet done.
    pub fn open(&self) -> usize {
        self.open
    }
}
