//! Reads through the page cache: hits, read-ahead, blocks of addresses that must be read first.

use crate::files::machine::FileEngine;
use crate::files::{FileThread, Files, IoKind, TaskState, ThreadState, Wait};
use crate::storage::Storage;
use seekwise_device::Device;
use seekwise_host::block::{BlockQueue, Observer};
use seekwise_host::cache::page_cache::{CachedPage, FileNumber, Run};
use seekwise_host::cache::read_ahead::{Page, Window};
use seekwise_host::file::{address, Block};
use seekwise_units::{Lba, Nanos, Sectors, PAGE_SECTORS};

/// Calls served from memory in one go at most.
const RUN_PAGES: u64 = 1024;

/// Pages of windows that are still to be asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    from: Page,
    end: Page,
    /// What was not sent because no request was free.
    rest: Option<(u32, Lba, Sectors)>,
    /// The page whose mark opened the window. If it is there the reader does not wait now, and nobody else would unplug.
    at_mark: Option<Page>,
}

impl FileThread {
    fn begin_call(&mut self, now: Nanos) {
        self.call_began = self.begin_turn(now);
        self.page = self.next_place();
        self.call_end = self.page + self.job.pages;
    }
}

impl<Q: BlockQueue, D: Device, O: Observer> FileEngine<Q, D, O> {
    /// False when the task's state says what comes next.
    pub(crate) fn read_calls(&mut self, files: &mut Files, index: usize) -> bool {
        if !self.ask(files, index) {
            return false;
        }
        let now = self.now;
        let thread = files.thread(index);
        let region_end = thread.region.end;
        if thread.doing == ThreadState::Calls {
            thread.begin_call(now);
            thread.doing = ThreadState::Reading;
            self.spend_user(self.host.costs.user);
            self.spend(self.host.costs.call);
        }
        let thread = files.thread(index);
        let (file, page, wanted) = (thread.file, thread.page, thread.call_end - thread.page);
        let (call_pages, in_runs) = (thread.job.pages, thread.job.goes_in_runs());
        if wanted == 0 {
            self.end_call(files, index, call_pages);
            return true;
        }
        // Whatever is there and carries no mark costs processor time alone, over the ends of sequential calls.
        let calls_left = thread.calls_left;
        let ahead = if in_runs {
            (wanted + (calls_left - 1) * call_pages)
                .min(region_end - page)
                .min(RUN_PAGES)
        } else {
            wanted
        };
        let held = files.thread(index).holds.take() == Some(page);
        let taken = held && files.cache.find(file, page) == CachedPage::Absent;
        let plain = files.cache.plain_run(file, page, ahead);
        if plain > 0 || taken {
            let plain = plain.max(1);
            self.take_pages(files, index, plain);
            return true;
        }
        self.meet_page(files, index, wanted)
    }

    /// The reader comes to a page that is marked, under way or not there. False when the task's state says what comes next.
    fn meet_page(&mut self, files: &mut Files, index: usize, wanted: u64) -> bool {
        let thread = files.thread(index);
        let (file, page, file_pages) = (thread.file, thread.page, thread.file_pages);
        if files.cache.take_mark(file, page) {
            let uncached =
                files
                    .cache
                    .next_absent(file, page + 1, file_pages.min(page + 1 + RUN_PAGES));
            let window = files
                .thread(index)
                .read_ahead
                .on_mark(page, wanted, Some(uncached));
            if let Some(window) = window {
                self.open_window(files, index, window, Some(page));
            }
            return true;
        }
        match files.cache.find(file, page) {
            CachedPage::Coming => {
                self.wait(files, index, Wait::Page { file, page });
                self.unplug_all();
                false
            }
            CachedPage::Absent => {
                let before = files.cache.cached_before(file, page, RUN_PAGES);
                let window = files.thread(index).read_ahead.on_miss(page, wanted, before);
                self.open_window(files, index, window, None);
                true
            }
            CachedPage::There => true,
        }
    }

    /// The thread reads `pages` pages that are in memory.
    fn take_pages(&mut self, files: &mut Files, index: usize, pages: u64) {
        let plan = &files.thread(index).job;
        let (call_pages, in_runs) = (plan.pages, plan.goes_in_runs());
        let time = self.busy_until();
        let room = files.horizon.min(self.next_drive_event());
        let costs = &self.host.costs;
        let each = costs.page_copy + Nanos((costs.call.0 + costs.user.0) / call_pages);
        // At least one, and as many as fit before something else happens.
        let fitting = room.saturating_sub(time).0 / each.0.max(1) + 1;
        let pages = pages.min(fitting);
        let thread = files.thread(index);
        let (file, start) = (thread.file, thread.page);
        thread.page += pages;
        thread.read_ahead.took(start + pages - 1);
        let (copy, call) = (self.host.costs.page_copy, self.host.costs.call);
        if files.cache.find(file, start) != CachedPage::Absent {
            files.cache.touch(Run { file, start, pages });
        }
        // The call in hand ends, whole calls follow, a last one begins.
        let thread = files.thread(index);
        let in_hand = (thread.call_end - start).min(pages);
        self.spend(Nanos(copy.0 * in_hand));
        if thread.call_end > start + pages || !in_runs {
            return;
        }
        let more = pages - in_hand;
        self.end_call(files, index, call_pages);
        let whole = more / call_pages;
        if whole > 0 {
            let cost = Nanos(call.0 + copy.0 * call_pages);
            self.spend_user(Nanos(self.host.costs.user.0 * whole));
            self.spend(Nanos(cost.0 * whole));
            files.thread(index).calls_left -= whole;
            let now = self.busy_until();
            let done = (whole, whole * call_pages);
            files.calls_done(index, done, now, Nanos(cost.0 * whole));
        }
        let rest = more % call_pages;
        if rest > 0 && self.busy_until() >= files.deadline {
            // No call begins any more.
            files.thread(index).page -= rest;
        } else if rest > 0 {
            self.spend_user(self.host.costs.user);
            let began = self.host.processor_free;
            self.spend(Nanos(call.0 + copy.0 * rest));
            let thread = files.thread(index);
            thread.doing = ThreadState::Reading;
            thread.call_began = began;
            thread.call_end = thread.page + call_pages - rest;
        }
    }

    /// The call in hand is done.
    fn end_call(&mut self, files: &mut Files, index: usize, pages: u64) {
        let now = self.busy_until();
        let thread = files.thread(index);
        let latency = now - thread.call_began;
        thread.calls_left -= 1;
        thread.doing = ThreadState::Calls;
        files.calls_done(index, (1, pages), now, latency);
    }

    /// Adds the absent pages of a window to the cache; [`Self::ask`] sends for them.
    fn open_window(
        &mut self,
        files: &mut Files,
        index: usize,
        window: Window,
        at_mark: Option<Page>,
    ) {
        let thread = files.thread(index);
        let file = thread.file;
        let end = (window.start + window.pages).min(thread.file_pages);
        let first = files.cache.next_absent(file, window.start, end);
        if first >= end {
            return;
        }
        // Pages already there end the window: what lies behind them is asked for when the reader comes there.
        let stop = files.cache.next_present(file, first, end);
        let pages = stop - first;
        let run = Run {
            file,
            start: first,
            pages,
        };
        let reclaimed = files.cache.add(run, true);
        if let Some(mark) = window.mark.filter(|mark| (first..stop).contains(mark)) {
            files.cache.mark(file, mark);
        }
        let sectors = Sectors(pages * PAGE_SECTORS);
        let commands = self.storage.md.volume.pieces(sectors, false);
        let costs = &self.host.costs;
        let made = Nanos(costs.page_add.0 * pages + costs.page_reclaim().0 * reclaimed);
        self.spend(made + costs.window(commands, pages));
        files.thread(index).reading = Reading {
            from: first,
            end: stop,
            rest: None,
            at_mark,
        };
    }

    /// Sends for the pages of the open window. False when the task has to wait on the way.
    fn ask(&mut self, files: &mut Files, index: usize) -> bool {
        let reading = files.thread(index).reading;
        if reading.from >= reading.end && reading.rest.is_none() {
            return true;
        }
        self.begin_plugs();
        let done = self.ask_plugged(files, index);
        self.end_plugs();
        // The page with the mark is looked at once all is sent: it may have come while a block of addresses was waited for.
        let file = files.thread(index).file;
        let there = |page| files.cache.find(file, page) == CachedPage::There;
        if done && self.host.kick_after_mark && reading.at_mark.is_some_and(there) {
            self.unplug_all();
        }
        done
    }

    /// A drive's interrupt comes between two bios of a window, and runs the queue: a plug of the queue's own ends before the window is whole.
    /// False when one is due; otherwise the next bio is made now. What timers start is a kernel thread's work (kblockd), which has to wait for
    /// the processor. A task's own plug keeps what it has, whatever interrupts come meanwhile.
    fn bio_is_next(&mut self) -> bool {
        let time = self.busy_until();
        if time >= self.storage.next_at() {
            return false;
        }
        self.now = time;
        true
    }

    fn ask_plugged(&mut self, files: &mut Files, index: usize) -> bool {
        loop {
            if self.host.queue_plug && !self.bio_is_next() {
                self.pause(files, index);
                return false;
            }
            if !self.send_rest(files, index) {
                return false;
            }
            let thread = files.thread(index);
            let (file, from, end) = (thread.file, thread.reading.from, thread.reading.end);
            if from >= end {
                return true;
            }
            let Some(until) = self.know_path(files, index, file, from) else {
                return false;
            };
            let Some((block, pages)) =
                files
                    .plan
                    .file_system
                    .locate(file, from, end.min(until) - from)
            else {
                // A hole: zeroes, without a drive.
                files.cache.read_done(Run {
                    file,
                    start: from,
                    pages: 1,
                });
                files.thread(index).reading.from += 1;
                continue;
            };
            let run = Run {
                file,
                start: from,
                pages,
            };
            let start = address(block, files.plan.offset);
            let io = files.new_io(IoKind::Read { run, start });
            let reading = &mut files.thread(index).reading;
            reading.from += pages;
            reading.rest = Some((io, start, Sectors(pages * PAGE_SECTORS)));
        }
    }

    /// Reads the blocks of addresses above `page` that are not cached. None while one is under way; then the page up to which they serve.
    pub(crate) fn know_path(
        &mut self,
        files: &mut Files,
        index: usize,
        file: FileNumber,
        page: Page,
    ) -> Option<Page> {
        let (path, until) = files.plan.file_system.path(file, page);
        for block in path.blocks.into_iter().flatten() {
            if !self.know_block(files, index, block) {
                return None;
            }
        }
        Some(until)
    }

    /// A block of the file system's own; false while it is being read.
    pub(crate) fn know_block(&mut self, files: &mut Files, index: usize, block: Block) -> bool {
        if files.path_known.take(block, &files.cache) {
            return true;
        }
        if files.path_coming.insert(block) {
            let io = files.new_io(IoKind::PathRead { block });
            let at = address(block, files.plan.offset);
            self.spend(self.host.costs.window(1, 1));
            if !self.send_read(files, index, io, at, Sectors(PAGE_SECTORS)) {
                return false;
            }
        }
        files.tasks[index].state = TaskState::Waits(Wait::PathBlock(block));
        self.unplug_all();
        false
    }

    /// Sends what a blocked reader could not. False when it is blocked again.
    pub(crate) fn send_rest(&mut self, files: &mut Files, index: usize) -> bool {
        match files.thread(index).reading.rest.take() {
            Some((io, start, sectors)) => self.send_read(files, index, io, start, sectors),
            None => true,
        }
    }

    fn send_read(
        &mut self,
        files: &mut Files,
        index: usize,
        io: u32,
        start: Lba,
        sectors: Sectors,
    ) -> bool {
        let sender = self.sender(files, index, io, false, true);
        let rest = self.send_io(files, index, &sender, (io, start, sectors));
        files.thread(index).reading.rest = rest;
        rest.is_none()
    }
}
