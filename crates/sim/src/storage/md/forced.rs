//! Flushes of a member's cache: those that tasks ask for, and those around a page that has to be on the platter before data may follow.
//!
//! ```text
//!   page of the bitmap ─▶ flush of the member ─▶ the page, forced ──────▶ done      NVMe
//!                                             └▶ the page ─▶ flush ─▶ done          drives without forced unit access
//!                      ─▶ the page ─▶ done                                          drives without a volatile cache
//! ```
//!
//! md writes pages of its bitmap with a flush before them and forced unit access from 2.6.37 on, as barriers before (md_super_write, drivers/md/md.c, 2.6.24
//! and 2.6.32); what of that reaches the drive, the block layer decides by what the drive reports (block/blk-flush.c, block/blk-barrier.c).
//! Neither a flush nor a forced write passes the scheduler. One of a member is under way at a time.
//!
//! Not modelled: that a barrier waits for all requests before it and holds up all behind it.

use crate::storage::md::member_bio::{MemberBio, Owner};
use crate::storage::md::Md;
use seekwise_device::{Device, ReportedCache};
use seekwise_host::block::{BlockQueue, Observer};
use seekwise_units::{Nanos, PAGE_SECTORS};
use std::collections::VecDeque;

/// For whom a member's cache is emptied.
#[derive(Clone, Copy, Debug)]
enum FlushFor {
    Task,
    /// A page that is sent afterwards.
    Page(MemberBio),
    /// A page that has been sent, by its owner.
    Behind(Owner),
    /// No flush but a forced page, and since when.
    Forced(Owner, Nanos),
}

#[derive(Debug, Default)]
pub(crate) struct MemberFlushes {
    running: Option<FlushFor>,
    waiting: VecDeque<FlushFor>,
}

impl<Q: BlockQueue, D: Device> Md<Q, D> {
    /// A task's flush of a member.
    pub(super) fn flush_for_task(&mut self, now: Nanos, index: usize) {
        self.flush_member(now, index, FlushFor::Task);
    }

    fn flush_member(&mut self, now: Nanos, index: usize, whom: FlushFor) {
        let member = &mut self.members[index];
        if member.flushes.running.is_some() {
            member.flushes.waiting.push_back(whom);
            return;
        }
        member.flushes.running = Some(whom);
        member.drive.flush(now);
        self.refresh(now, index);
    }

    /// Pages go behind a flush where their member has a volatile cache; those of other members come back, to be sent like any write.
    pub(super) fn force_pages(&mut self, now: Nanos, pages: Vec<MemberBio>) -> Vec<MemberBio> {
        let (forced, plain) = pages
            .into_iter()
            .partition::<Vec<_>, _>(|page| self.is_forced(page));
        for page in forced {
            self.flush_member(now, page.piece.member as usize, FlushFor::Page(page));
        }
        plain
    }

    fn is_forced(&self, page: &MemberBio) -> bool {
        self.cache_of(page) != ReportedCache::Safe
    }

    fn cache_of(&self, page: &MemberBio) -> ReportedCache {
        self.members[page.piece.member as usize]
            .drive
            .device
            .write_cache()
    }

    /// A page is on its member, in its cache at least.
    pub(super) fn page_sent(&mut self, now: Nanos, page: &MemberBio) {
        if self.is_forced(page) {
            let index = page.piece.member as usize;
            self.flush_member(now, index, FlushFor::Behind(page.owner));
        } else {
            self.page_written(now, page.owner);
        }
    }

    fn page_written(&mut self, now: Nanos, owner: Owner) {
        if owner == Owner::Bitmap {
            self.bitmap_page_done(now);
        }
    }

    /// A member's cache is empty, or it has a forced page. True if a task waits for that.
    pub(crate) fn member_flushed<O: Observer>(
        &mut self,
        now: Nanos,
        index: usize,
        observer: &mut O,
    ) -> bool {
        let flushes = &mut self.members[index].flushes;
        let done = flushes.running.take();
        if let Some(FlushFor::Page(page)) = done {
            if self.cache_of(&page) == ReportedCache::Forced {
                self.write_forced(now, index, &page);
                return false;
            }
        }
        let flushes = &mut self.members[index].flushes;
        if let Some(next) = flushes.waiting.pop_front() {
            self.flush_member(now, index, next);
        }
        match done {
            None | Some(FlushFor::Task) => true,
            Some(FlushFor::Page(page)) => {
                if !self.send(now, &page, observer) {
                    self.page_waits(now, page);
                }
                self.unplug_members(now, observer);
                false
            }
            Some(FlushFor::Behind(owner)) => {
                self.page_written(now, owner);
                false
            }
            Some(FlushFor::Forced(owner, since)) => {
                let member = &mut self.members[index];
                member.done.commands += 1;
                member.done.taken.0 = member.done.taken.0.wrapping_add((now - since).0);
                member.completed.0 += PAGE_SECTORS;
                self.page_written(now, owner);
                false
            }
        }
    }

    fn write_forced(&mut self, now: Nanos, index: usize, page: &MemberBio) {
        let member = &mut self.members[index];
        member.flushes.running = Some(FlushFor::Forced(page.owner, now));
        member.done.written.0 += page.piece.sectors.0;
        member
            .drive
            .write_forced(now, page.piece.start, page.piece.sectors);
        self.refresh(now, index);
    }
}
