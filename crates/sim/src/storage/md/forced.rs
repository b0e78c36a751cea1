//! Flushes of a member's cache: those that tasks ask for, and those around a page that has to be on the platter before data may follow.
//!
//! ```text
//!   page of the bitmap ─▶ flush of the member ─▶ the page ─▶ flush ─▶ done
//! ```
//!
//! md writes pages of its bitmap with a flush before them and forced unit access (from 2.6.37 on). The second flush stands in for the forced write, as
//! the block layer does where a drive lacks it: libata does not use it. One flush of a member is under way at a time; the others wait.

use crate::storage::md::member_bio::{MemberBio, Owner};
use crate::storage::md::Md;
use seekwise_device::Device;
use seekwise_host::block::{BlockQueue, Observer};
use seekwise_units::Nanos;
use std::collections::VecDeque;

/// For whom a member's cache is emptied.
#[derive(Clone, Copy, Debug)]
enum FlushFor {
    Task,
    /// A page that is sent afterwards.
    Page(MemberBio),
    /// A page that has been sent, by its owner.
    Behind(Owner),
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

    /// A page of the bitmap is to reach the platter: it is sent once the member's cache is empty.
    pub(super) fn force_page(&mut self, now: Nanos, page: MemberBio) {
        self.flush_member(now, page.piece.member as usize, FlushFor::Page(page));
    }

    /// A page is on its member, in its cache at least.
    pub(super) fn page_sent(&mut self, now: Nanos, page: &MemberBio) {
        if self.forces_pages() {
            self.flush_member(
                now,
                page.piece.member as usize,
                FlushFor::Behind(page.owner),
            );
        } else {
            self.page_written(now, page.owner);
        }
    }

    fn page_written(&mut self, now: Nanos, owner: Owner) {
        if owner == Owner::Bitmap {
            self.bitmap_page_done(now);
        }
    }

    /// A member's cache is empty. True if a task waits for that.
    pub(crate) fn member_flushed<O: Observer>(
        &mut self,
        now: Nanos,
        index: usize,
        observer: &mut O,
    ) -> bool {
        let flushes = &mut self.members[index].flushes;
        let done = flushes.running.take();
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
        }
    }
}
