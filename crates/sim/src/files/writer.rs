//! Writes through the page cache: dirtying pages, looking at the limits, being held back, fsync.

use crate::files::machine::FileEngine;
use crate::files::pass::PassEnd;
use crate::files::{Files, JobPlan, SyncFor, TaskState, ThreadState, Wait};
use seekwise_device::Device;
use seekwise_host::block::{BlockQueue, Observer};
use seekwise_host::cache::pacing::{Verdict, Writer};
use seekwise_host::cache::page_cache::{FileNumber, Run};
use seekwise_host::cache::read_ahead::Page;
use seekwise_host::cache::write_back::Duty;
use seekwise_units::Nanos;

impl<Q: BlockQueue, D: Device, O: Observer> FileEngine<Q, D, O> {
    /// Calls that write, until the next look at the limits. False when the task's state says what comes next.
    pub(crate) fn write_calls(&mut self, files: &mut Files, index: usize, plan: &JobPlan) -> bool {
        if !self.send_rest(files, index) {
            return false;
        }
        let check = self.pages_to_look(files, index);
        let time = self.busy_until();
        let thread = files.thread(index);
        let looks_after = check.saturating_sub(thread.dirtied).max(1);
        if !core::mem::replace(&mut thread.begun, true) {
            thread.call_began = thread.begin_turn(time);
        }
        let start = thread.next_place();
        thread.chosen = Some(start);
        let Some(until) = self.know_place(files, index, plan, start) else {
            return false;
        };
        let thread = files.thread(index);
        (thread.chosen, thread.begun) = (None, false);
        let calls = if plan.goes_in_runs() && !plan.o_sync {
            let until = until.min(thread.region.end);
            let fitting = self.fitting_writes(files, plan, time);
            looks_after
                .div_ceil(plan.pages)
                .min(files.thread(index).calls_left)
                .min((until - start) / plan.pages)
                .min(fitting)
                .max(1)
        } else {
            1
        };
        self.make_calls(files, index, plan, (start, calls));
        let thread = files.thread(index);
        if thread.dirtied >= check {
            thread.doing = ThreadState::Balancing {
                looks: 0,
                wrote: false,
            };
        } else if let Some(sync) = thread.sync_due() {
            self.begin_fsync(files, index, sync);
        }
        true
    }

    /// Learns where the file has blocks already, and the bitmap to take new ones from. None while that is being read; then the page up to
    /// which it serves.
    fn know_place(
        &mut self,
        files: &mut Files,
        index: usize,
        plan: &JobPlan,
        start: Page,
    ) -> Option<Page> {
        let file = files.thread(index).file;
        let until = self.know_path(files, index, file, start)?;
        if files.plan.file_system.locate(file, start, 1).is_some() {
            return Some(until);
        }
        let Some((bitmap, blocks)) = files.plan.file_system.next_bitmap(file) else {
            return Some(until);
        };
        let known = self.know_block(files, index, bitmap);
        known.then(|| until.min(start + blocks.max(plan.pages)))
    }

    /// Calls that fit before something else happens, and one that does not.
    fn fitting_writes(&self, files: &Files, plan: &JobPlan, time: Nanos) -> u64 {
        let room = files.horizon.min(self.next_drive_event());
        let costs = &self.host.costs;
        let page = costs.page_copy + costs.page_add_for_write() + costs.page_write;
        let each = costs.user.0 + costs.call.0 + page.0 * plan.pages;
        room.saturating_sub(time).0 / each.max(1) + 1
    }

    /// Makes so many calls from page `start` on.
    fn make_calls(
        &mut self,
        files: &mut Files,
        index: usize,
        plan: &JobPlan,
        (start, calls): (Page, u64),
    ) {
        let pages = calls * plan.pages;
        let thread = files.thread(index);
        let (file, began) = (thread.file, thread.call_began);
        thread.page = start + pages;
        thread.calls_left -= calls;
        let new = self.dirty(files, file, start, pages);
        let in_group = files.plan.pacing.is_some();
        files.thread(index).dirtied += if in_group { new } else { pages };
        let costs = self.host.costs;
        self.spend_user(Nanos(costs.user.0 * calls));
        self.spend(Nanos(
            (costs.call.0 + costs.page_copy.0 * plan.pages) * calls,
        ));
        let ended = self.host.processor_free;
        files.calls_done(index, (calls, pages), ended, ended - began);
        files.thread(index).call_began = ended;
    }

    fn pages_to_look(&self, files: &mut Files, index: usize) -> u64 {
        if let Some(pacing) = &files.plan.pacing {
            let writer = files
                .thread_of(index)
                .map_or_else(Writer::default, |thread| thread.writer);
            return writer.dirtied + pacing.pages_to_look(&writer);
        }
        if files.plan.generation.writers_submit() {
            if files.over {
                files.plan.generation.check_every(0, 1, true)
            } else {
                files.check_every
            }
        } else {
            files
                .pace
                .pages_between_pauses(&files.limits, &files.load())
        }
    }

    /// Pages become dirty in the cache, their blocks are chosen unless that comes later, and the journal hears of it. Gives the number of
    /// those that were clean.
    fn dirty(&mut self, files: &mut Files, file: FileNumber, start: Page, pages: u64) -> u64 {
        let run = Run { file, start, pages };
        let (added, reclaimed) = files.cache.add_absent(run);
        let costs = &self.host.costs;
        let made = costs.page_add_for_write().0 * added + costs.page_reclaim().0 * reclaimed;
        self.spend(Nanos(made));
        files.cache.touch(run);
        self.spend(Nanos(self.host.costs.page_write.0 * pages));
        if !files.plan.file_system.delays_allocation() {
            self.allocate(files, file, start, pages);
        }
        let new = files.cache.make_dirty(run);
        files.dirtied_total += new;
        files.group.dirtied(new, files.cache.unwritten());
        files.note_dirty(self.now, file);
        if let Some(journal) = &mut files.journal {
            journal.touch(self.now);
            // Ordered mode: the pages must be on the drives before the commit.
            journal.running.add_data(run);
            files.states[file as usize].transaction = journal.running.id;
            if let Some(due) = journal.due() {
                files.arm_journal(due);
            }
        }
        if files.inode_block.is_some() {
            self.stamp(files, file);
        }
        new
    }

    /// Chooses blocks; the metadata that changes belongs to the running transaction.
    pub(crate) fn allocate(&mut self, files: &mut Files, file: FileNumber, page: Page, pages: u64) {
        let mut touched = core::mem::take(&mut files.blocks_touched);
        files
            .plan
            .file_system
            .allocate(file, page, pages, &mut touched);
        if let Some(journal) = &mut files.journal {
            if !touched.is_empty() {
                journal.touch(self.now);
                files.states[file as usize].transaction = journal.running.id;
                for &block in &touched {
                    // What the running transaction has already is not on its way to its place.
                    if journal.running.metadata.insert(block) {
                        files.place_dirty.remove(&block);
                    }
                    files.path_known.insert(block, &files.cache);
                }
            }
        }
        touched.clear();
        files.blocks_touched = touched;
    }

    /// balance_dirty_pages: false when the writer has to sleep.
    pub(crate) fn balance(
        &mut self,
        files: &mut Files,
        index: usize,
        looks: u32,
        wrote: bool,
    ) -> bool {
        if files.plan.pacing.is_some() {
            return self.look_at_group(files, index, looks);
        }
        let load = files.load();
        let dirtied = files.thread(index).dirtied;
        if !files.plan.generation.writers_submit() {
            return self.pace_writer(files, index, looks, dirtied);
        }
        let generation = files.plan.generation;
        match generation.duty(&files.limits, &load) {
            Duty::None => {
                files.over = false;
                self.leave_balance(files, index);
                true
            }
            Duty::WriteBack if !wrote => {
                files.over = true;
                let quota = generation.quota(files.check_every.max(dirtied));
                files.begin_pass(index, quota, Nanos::NEVER, false);
                files.thread(index).doing = ThreadState::Throttled { looks };
                true
            }
            _ => {
                files.over = true;
                files.thread(index).doing = ThreadState::Balancing {
                    looks: looks + 1,
                    wrote: false,
                };
                let nap = generation.nap(looks, files.plan.kernel.hz);
                let until = self.busy_until() + nap;
                files.was_congested = self.congested();
                let by_congestion = generation.background_avoids_congestion();
                files.tasks[index].state = if by_congestion {
                    TaskState::Congested(until)
                } else {
                    TaskState::Ready(until)
                };
                self.unplug_all();
                false
            }
        }
    }

    /// The writer's own write-back, then another look, or none when it has written its share.
    pub(crate) fn throttled(&mut self, files: &mut Files, index: usize, looks: u32) -> bool {
        match self.run_pass(files, index) {
            PassEnd::NotYet => false,
            PassEnd::Done | PassEnd::Congested => {
                if files.tasks[index].pass.left == 0 {
                    self.leave_balance(files, index);
                } else {
                    files.thread(index).doing = ThreadState::Balancing { looks, wrote: true };
                }
                true
            }
        }
    }

    /// A writer in a cgroup looks at its limits; `looks`: it has slept as long as it was told and goes on.
    fn look_at_group(&mut self, files: &mut Files, index: usize, looks: u32) -> bool {
        if looks > 0 {
            self.leave_balance(files, index);
            return true;
        }
        let now = self.busy_until();
        let (tick, seen) = (files.plan.kernel.jiffies(now), files.seen());
        let thread = files.thread(index);
        let mut writer = thread.writer;
        writer.dirtied = thread.dirtied;
        let verdict = match &mut files.plan.pacing {
            Some(pacing) => pacing.writer_looks(tick, &mut writer, &seen),
            None => Verdict::Free,
        };
        let thread = files.thread(index);
        thread.dirtied = writer.dirtied;
        thread.writer = writer;
        if verdict != Verdict::Free {
            files.kick_flusher(now);
        }
        let Verdict::Sleep { ticks, again } = verdict else {
            self.leave_balance(files, index);
            return true;
        };
        files.thread(index).doing = ThreadState::Balancing {
            looks: u32::from(!again),
            wrote: false,
        };
        // A timer never fires early, so one tick later than asked for at most.
        let wakes = files.plan.kernel.tick_start(tick + ticks + 1);
        files.tasks[index].state = TaskState::Ready(wakes);
        false
    }

    fn pace_writer(&mut self, files: &mut Files, index: usize, looks: u32, dirtied: u64) -> bool {
        let load = files.load();
        files.pace.follow(
            self.now,
            &files.limits,
            &load,
            files.dirtied_total,
            files.written_total,
        );
        if files.plan.generation.background_due(&files.limits, &load) {
            files.kick_flusher(self.now);
        }
        let pause = if looks == 0 {
            files.pace.pause(&files.limits, &load, dirtied)
        } else {
            None
        };
        match pause {
            Some(pause) if pause > Nanos::ZERO => {
                files.thread(index).doing = ThreadState::Balancing {
                    looks: 1,
                    wrote: false,
                };
                let until = self.busy_until() + pause;
                files.tasks[index].state = TaskState::Ready(until);
                false
            }
            _ => {
                self.leave_balance(files, index);
                true
            }
        }
    }

    /// The writer goes on with its calls; the look was part of the last one.
    fn leave_balance(&mut self, files: &mut Files, index: usize) {
        let now = self.busy_until();
        let in_group = files.plan.pacing.is_some();
        let load = files.load();
        if !in_group && files.background_due(&load) {
            files.kick_flusher(now);
        }
        self.book_wait(files, index, now);
        let thread = files.thread(index);
        if !in_group {
            thread.dirtied = 0;
        }
        thread.doing = ThreadState::Calls;
        if let Some(sync) = thread.sync_due() {
            self.begin_fsync(files, index, sync);
        }
    }

    /// Time since the call's own work is part of its latency.
    fn book_wait(&mut self, files: &mut Files, index: usize, now: Nanos) {
        let thread = files.thread(index);
        let waited = now - thread.call_began;
        thread.call_began = now;
        files.outcome_of(index).done.lengthen(waited);
        let windows = &mut files.outcomes.last_mut().expect("a phase runs").windows;
        windows.record_many(now, 0, 0, waited);
        if let Some(newest) = &mut files.thread(index).newest {
            *newest += waited;
        }
    }

    pub(crate) fn begin_fsync(&mut self, files: &mut Files, index: usize, sync_for: SyncFor) {
        let thread = files.thread(index);
        thread.sync_for = sync_for;
        thread.doing = ThreadState::SyncPages;
        let file = thread.file;
        let sync = files.plan.generation.synchronous_fsync();
        files.begin_file_pass(index, file, sync);
    }

    pub(crate) fn sync_pages(&mut self, files: &mut Files, index: usize) -> bool {
        match self.run_pass(files, index) {
            PassEnd::NotYet => false,
            _ => {
                files.thread(index).doing = ThreadState::SyncWait;
                true
            }
        }
    }

    pub(crate) fn sync_wait(&mut self, files: &mut Files, index: usize) -> bool {
        let file = files.thread(index).file;
        if files.cache.writing_of(file) > 0 {
            self.wait(files, index, Wait::Written(file));
            self.unplug_all();
            return false;
        }
        files.thread(index).doing = ThreadState::SyncCommit;
        let wanted = files.states[file as usize].transaction;
        match &files.journal {
            Some(journal) if wanted > journal.committed => files.ask_commit(self.now, wanted),
            // Committed already: only the drives' caches are in the way.
            _ if files.plan.barriers => {
                let number = self.ask_flush(files);
                files.thread(index).flush = Some(number);
            }
            _ => {}
        }
        true
    }

    pub(crate) fn sync_commit(&mut self, files: &mut Files, index: usize) -> bool {
        let file = files.thread(index).file;
        let wanted = files.states[file as usize].transaction;
        if let Some(journal) = &files.journal {
            if wanted > journal.committed {
                self.wait(files, index, Wait::Commit(wanted));
                return false;
            }
        }
        if let Some(number) = files.thread(index).flush {
            if !files.flushes.done(number) {
                self.wait(files, index, Wait::Flush(number));
                return false;
            }
            files.thread(index).flush = None;
        }
        let now = self.busy_until();
        let sync_for = files.thread(index).sync_for;
        if sync_for == SyncFor::Call {
            self.book_wait(files, index, now);
        }
        // Latency brackets the calls only, not an fsync of its own.
        files.thread(index).doing = match sync_for {
            SyncFor::Call | SyncFor::Writes => ThreadState::Calls,
            SyncFor::End => ThreadState::Done,
        };
        true
    }
}
