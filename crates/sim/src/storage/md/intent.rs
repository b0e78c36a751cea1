//! The write-intent bitmap at work: pages before data, and the daemon that clears bits.
//!
//! The md thread writes the pages and sleeps until every member has them, then sends the data (`flush_pending_writes`, `raid5d`). A task whose plug
//! would send mirrored writes itself leaves them to the thread when pages have to go first; their scheduler then sees the thread instead of the
//! task. Each page is one request of 4 KiB to each member that is there; it is on the medium before data go (`forced`).
//!
//! Not modelled: the superblock that is written when the array becomes clean or dirty.

use crate::storage::md::member_bio::{MemberBio, Owner};
use crate::storage::md::thread::MdThread;
use crate::storage::md::{Md, MD_THREAD};
use seekwise_device::Device;
use seekwise_host::block::{BlockQueue, Observer};
use seekwise_raid::md::bitmap::Bitmap;
use seekwise_raid::md::raid5::StripeWork;
use seekwise_raid::md::volume::Volume;
use seekwise_raid::md::MdGeneration;
use seekwise_sched::ProcessId;
use seekwise_units::{Lba, Nanos, Sectors, PAGE_SECTORS};
use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;

/// `daemon_sleep` of md (drivers/md/bitmap.c and mdadm's `--delay`): 5 s.
const DAEMON: Nanos = Nanos::from_millis(5_000);
/// Of the lockless bitmap (drivers/md/md-llbitmap.c: DEFAULT_DAEMON_SLEEP).
const LOCKLESS_DAEMON: Nanos = Nanos::from_millis(30_000);
const PAGE: Sectors = Sectors(PAGE_SECTORS);

/// A bitmap and the pages of it that are under way.
pub struct Intent {
    pub bitmap: Bitmap,
    /// Where its first page lies on each member.
    at: Lba,
    /// Bits of each write under way.
    calls: BTreeMap<u32, RangeInclusive<u64>>,
    out: VecDeque<MemberBio>,
    /// Pages that data wait for and that are not written yet.
    left: u32,
    pub daemon_at: Nanos,
    /// From one turn of the daemon to the next.
    daemon: Nanos,
    /// Pages written to members so far.
    pub written: u64,
    lockless: bool,
    /// Whom the last write came from, and whether the one before it came from another.
    writer: Option<ProcessId>,
    shared: bool,
}

impl Intent {
    /// A clean bitmap with a bit for each `chunk`; its first page lies at `at` of each member. `degraded`: bits are not cleared.
    pub fn new(chunk: Sectors, at: Lba, degraded: bool, lockless: bool) -> Self {
        Self {
            bitmap: Bitmap::new(chunk.0, degraded),
            at,
            calls: BTreeMap::new(),
            out: VecDeque::new(),
            left: 0,
            daemon_at: Nanos::NEVER,
            daemon: if lockless { LOCKLESS_DAEMON } else { DAEMON },
            written: 0,
            lockless,
            writer: None,
            shared: false,
        }
    }

    /// A write begins: tasks that write by turns meet at the lock.
    pub fn write_comes_from(&mut self, process: ProcessId) {
        self.shared = self.writer.replace(process) != Some(process);
    }

    /// What the bitmap adds to a turn of the thread of RAID 5 and 6. From 6.12 on the lock is taken once at a write's end, before once for each page. A
    /// lockless bitmap has none, but its pages are always flushed by a work queue, which the thread waits for (llbitmap_unplug, drivers/md/md-llbitmap.c).
    pub fn costs_of(
        &mut self,
        work: &StripeWork,
        thread: &MdThread,
        generation: MdGeneration,
    ) -> Nanos {
        let costs = &thread.costs;
        if self.lockless {
            let fresh = u64::from(work.written > 0);
            return costs.bitmap(work, 0) + Nanos(2 * costs.switch.0 * fresh);
        }
        let ends = if generation >= MdGeneration::Linux6_12 {
            thread.finishing.len() as u64
        } else {
            work.copied_pages
        };
        costs.bitmap(work, if self.shared { ends } else { 0 })
    }

    /// The member whose request is waited for.
    pub fn waits_for(&self) -> Option<&MemberBio> {
        self.out.front()
    }

    /// Data may have to wait.
    pub fn holds_up(&self) -> bool {
        self.left > 0 || self.bitmap.holds_up()
    }

    /// A write is done, with all its copies or its parity.
    pub fn write_done(&mut self, call: u32) {
        if let Some(bits) = self.calls.remove(&call) {
            self.bitmap.end(bits);
        }
    }

    /// Pages for each member in `members`.
    fn orders(&mut self, pages: &[u32], members: &[u32], owner: Owner) -> Vec<MemberBio> {
        self.written += (pages.len() * members.len()) as u64;
        let order = |page: u32, member: u32| {
            let start = Lba(self.at.0 + u64::from(page) * PAGE.0);
            MemberBio::own(owner, MD_THREAD, (member, start, PAGE), true, true)
        };
        pages
            .iter()
            .flat_map(|&page| members.iter().map(move |&member| (page, member)))
            .map(|(page, member)| order(page, member))
            .collect()
    }
}

impl<Q: BlockQueue, D: Device> Md<Q, D> {
    /// Adds a write-intent bitmap without a bit set: one for each `chunk`, its first page at `at` of each member.
    pub fn set_bitmap(&mut self, chunk: Sectors, at: Lba, lockless: bool) {
        self.intent = Some(Box::new(Intent::new(chunk, at, self.degraded, lockless)));
        // Without one, writes to mirrors pass by the thread (6.5 on). So they do with a lockless one while no page has to go first: it takes nothing from
        // RAID 1 and 10 (linux-raid 2024-10-15, Yu Kuai: 6,734 of 6,893 MiB/s of 4 KiB, internal 1,786).
        self.mirrors_wait |= !lockless;
    }

    fn written_members(&self) -> Vec<u32> {
        (0u32..)
            .zip(&self.members)
            .filter(|(_, member)| !member.missing || member.rebuilt)
            .map(|(index, _)| index)
            .collect()
    }

    /// Bits cover the array's sectors, of parity levels those of a member. True when the write sets one that was clean.
    pub(crate) fn write_intended(
        &mut self,
        now: Nanos,
        call: u32,
        start: Lba,
        sectors: Sectors,
    ) -> bool {
        let Some(intent) = &mut self.intent else {
            return false;
        };
        let (from, sectors) = match &self.volume {
            Volume::Parity { map, .. } => {
                let row = map.chunk.0 * u64::from(map.data_members());
                let first = start.0 / row;
                let last = (start.0 + sectors.0 - 1) / row;
                (first * map.chunk.0, (last - first + 1) * map.chunk.0)
            }
            _ => (start.0, sectors.0),
        };
        let bits = intent.bitmap.bits(from, sectors);
        let sets = intent.bitmap.begin(bits.clone());
        intent.calls.insert(call, bits);
        if intent.daemon_at == Nanos::NEVER {
            intent.daemon_at = now + intent.daemon;
        }
        sets
    }

    /// Pages that have to be written before the thread goes on; true when it sleeps for them.
    pub(crate) fn flush_bitmap<O: Observer>(&mut self, now: Nanos, observer: &mut O) -> bool {
        if self.intent.is_none() {
            return false;
        }
        let members = self.written_members();
        let intent = self.intent.as_mut().expect("just looked at");
        // Parity has no list of what is covered: it waits for all pages that are dirty by now.
        let fresh = !self.thread.is_covered() || self.parity.is_some();
        let fresh_pages = fresh && intent.left == 0 && intent.bitmap.holds_up();
        if fresh_pages {
            let pages = intent.bitmap.take_dirty();
            let orders = intent.orders(&pages, &members, Owner::Bitmap);
            intent.left = orders.len() as u32;
            let plain = self.force_pages(now, orders);
            if let Some(intent) = &mut self.intent {
                intent.out.extend(plain);
            }
        }
        if self.intent.as_ref().is_none_or(|intent| intent.left == 0) {
            return false;
        }
        self.thread.sleep_for_bitmap();
        while let Some(order) = self
            .intent
            .as_mut()
            .and_then(|intent| intent.out.pop_front())
        {
            if !self.send(now, &order, observer) {
                if let Some(intent) = &mut self.intent {
                    intent.out.push_front(order);
                }
                break;
            }
        }
        self.unplug_members(now, observer);
        true
    }

    /// A member has a page that data wait for.
    pub(crate) fn bitmap_page_done(&mut self, now: Nanos) {
        let Some(intent) = &mut self.intent else {
            return;
        };
        intent.left -= 1;
        if intent.left == 0 {
            self.thread.bitmap_goes_on(now);
        }
    }

    /// The daemon's turn.
    pub(crate) fn bitmap_daemon(&mut self, now: Nanos) {
        let members = self.written_members();
        let Some(intent) = &mut self.intent else {
            return;
        };
        let pages = intent.bitmap.daemon();
        let orders = intent.orders(&pages, &members, Owner::BitmapLater);
        intent.daemon_at = if intent.bitmap.clean() {
            Nanos::NEVER
        } else {
            now + intent.daemon
        };
        let plain = self.force_pages(now, orders);
        if !plain.is_empty() {
            self.thread.out.extend(plain);
            self.thread.wake(now);
        }
    }

    /// A page whose member has no request free: the thread sends it when there is one.
    pub(super) fn page_waits(&mut self, now: Nanos, page: MemberBio) {
        match &mut self.intent {
            Some(intent) if page.owner == Owner::Bitmap => intent.out.push_front(page),
            _ => {
                self.thread.out.push_back(page);
                self.thread.wake(now);
            }
        }
    }
}
