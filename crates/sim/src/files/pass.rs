//! A task writes dirty pages back: a turn of each file of a pass, or all pages of one file.

use crate::files::machine::{FileEngine, Sender};
use crate::files::{Files, IoKind, TaskState, Wait, BIO_PAGES, DEVICE_FILE};
use seekwise_device::Device;
use seekwise_host::block::{BlockQueue, Observer};
use seekwise_host::cache::page_cache::{Content, FileNumber, Run};
use seekwise_host::cache::read_ahead::Page;
use seekwise_host::file::address;
use seekwise_units::{Lba, Nanos, Sectors, PAGE_SECTORS};

/// Pages looked at for one go, no more than requests hold anyway (max_sectors_kb of 512 KiB: 128).
pub(crate) const JOINING_PAGES: u64 = 128;

/// How far a task is with its write-back.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pass {
    pub kind: PassKind,
    /// Pages still to be written.
    pub left: u64,
    pub written: u64,
    /// The file being written, how much of its turn is left, and the next page; `wrapped`: it went on from the file's start.
    file: Option<FileNumber>,
    turn: u64,
    cursor: Page,
    wrapped: bool,
    /// What was not sent because no request was free.
    pub rest: Option<(u32, Lba, Sectors)>,
    /// Files that it may still take; files dirtied later wait for the next pass.
    files_left: usize,
}

impl Pass {
    /// Some pages of the file in hand are dealt with.
    fn go_on(&mut self, run: Run) {
        self.cursor = run.start + run.pages;
        self.left -= run.pages;
        self.turn -= run.pages;
        self.written += run.pages;
    }

    fn is_of_one_file(&self) -> bool {
        matches!(self.kind, PassKind::File { .. })
    }

    /// It sleeps for nothing (wbc.nonblocking).
    fn avoids(&self) -> bool {
        matches!(self.kind, PassKind::Files { avoids: true, .. })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PassKind {
    #[default]
    None,
    /// All dirty files by turns. `old`: only those dirtied before; `avoids`: ends at a congested queue.
    Files { before: Nanos, avoids: bool },
    /// Dirty pages of one file in order; `sync`: marked as waited for.
    File { sync: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PassEnd {
    /// The state of the task says what it waits for, or that its time is over.
    NotYet,
    Done,
    Congested,
}

impl Files {
    pub(crate) fn begin_pass(&mut self, task: usize, pages: u64, before: Nanos, avoids: bool) {
        // What was dirtied since the last pass joins those left over (queue_io).
        self.io.append(&mut self.dirty);
        self.tasks[task].pass = Pass {
            kind: PassKind::Files { before, avoids },
            left: pages,
            files_left: self.io.len(),
            ..Pass::default()
        };
    }

    pub(crate) fn begin_file_pass(&mut self, task: usize, file: FileNumber, sync: bool) {
        self.tasks[task].pass = Pass {
            kind: PassKind::File { sync },
            left: u64::MAX,
            file: Some(file),
            turn: u64::MAX,
            wrapped: true,
            ..Pass::default()
        };
    }

    /// The next file of the pass that no other task is at.
    fn next_file(&mut self, task: usize) -> bool {
        let PassKind::Files { before, .. } = self.tasks[task].pass.kind else {
            return false;
        };
        while self.tasks[task].pass.files_left > 0 {
            self.tasks[task].pass.files_left -= 1;
            let Some(file) = self.io.pop_front() else {
                break;
            };
            let (locked, dirtied) = if file == DEVICE_FILE {
                (false, Some(Nanos::ZERO))
            } else {
                let state = &self.states[file as usize];
                (state.locked, state.dirtied_when)
            };
            if locked || dirtied.is_some_and(|when| when > before) {
                self.dirty.push_back(file);
                continue;
            }
            let turn = self.turn();
            let pass = &mut self.tasks[task].pass;
            pass.file = Some(file);
            pass.turn = turn;
            pass.wrapped = false;
            pass.cursor = 0;
            if file != DEVICE_FILE {
                let state = &mut self.states[file as usize];
                state.locked = true;
                pass.cursor = state.cursor;
            }
            return true;
        }
        false
    }

    /// The pass is done with its file for this turn.
    fn leave_file(&mut self, task: usize) {
        let pass = &mut self.tasks[task].pass;
        let Some(file) = pass.file.take() else {
            return;
        };
        let cursor = pass.cursor;
        let of_files = matches!(pass.kind, PassKind::Files { .. });
        if file == DEVICE_FILE {
            if !self.place_dirty.is_empty() {
                self.dirty.push_back(file);
            }
            return;
        }
        let clean = self.cache.dirty_of(file) == 0;
        let state = &mut self.states[file as usize];
        if of_files {
            state.locked = false;
            state.cursor = cursor;
            if clean {
                state.dirtied_when = None;
            } else {
                self.dirty.push_back(file);
            }
        }
    }

    fn end_pass(&mut self, task: usize) {
        self.leave_file(task);
        // Files not reached stay in front of those dirtied later.
        self.tasks[task].pass.kind = PassKind::None;
    }

    /// The next dirty pages of the file in hand.
    fn next_run(&mut self, task: usize) -> Option<(Run, Content)> {
        let most = if self.plan.file_system.writes_block_by_block() {
            1
        } else {
            BIO_PAGES
        };
        let pass = &mut self.tasks[task].pass;
        let file = pass.file?;
        let end = self.plan.files[file as usize];
        let most = most.min(pass.left).min(pass.turn);
        if most == 0 {
            return None;
        }
        let mut found = self.cache.next_dirty(file, pass.cursor, end, most);
        if found.is_none() && !pass.wrapped {
            pass.wrapped = true;
            pass.cursor = 0;
            found = self.cache.next_dirty(file, 0, end, most);
        }
        found
    }
}

impl<Q: BlockQueue, D: Device, O: Observer> FileEngine<Q, D, O> {
    /// Works on the task's pass.
    pub(crate) fn run_pass(&mut self, files: &mut Files, task: usize) -> PassEnd {
        self.begin_plugs();
        let end = self.run_pass_plugged(files, task);
        self.end_plugs();
        end
    }

    fn run_pass_plugged(&mut self, files: &mut Files, task: usize) -> PassEnd {
        loop {
            if let Some((io, start, sectors)) = files.tasks[task].pass.rest.take() {
                if !self.send_write(files, task, io, start, sectors) {
                    return PassEnd::NotYet;
                }
            }
            if !self.goes_on(files) {
                self.pause(files, task);
                return PassEnd::NotYet;
            }
            match self.next_of_pass(files, task) {
                None => {}
                Some(PassEnd::NotYet) => return PassEnd::NotYet,
                Some(end) => {
                    files.end_pass(task);
                    return end;
                }
            }
        }
    }

    /// Looks for the pass's next pages and makes them ready to be sent. Gives how the pass ends, if it does.
    fn next_of_pass(&mut self, files: &mut Files, task: usize) -> Option<PassEnd> {
        let pass = &files.tasks[task].pass;
        if pass.left == 0 {
            return Some(PassEnd::Done);
        }
        if pass.avoids() && self.congested() {
            return Some(PassEnd::Congested);
        }
        if pass.file.is_none() && (pass.is_of_one_file() || !files.next_file(task)) {
            return Some(PassEnd::Done);
        }
        if files.tasks[task].pass.file == Some(DEVICE_FILE) {
            self.write_place(files, task);
            return None;
        }
        if files.plan.file_system.writes_block_by_block() && self.write_joining(files, task) {
            return None;
        }
        let Some((run, content)) = files.next_run(task) else {
            files.leave_file(task);
            return files.tasks[task]
                .pass
                .is_of_one_file()
                .then_some(PassEnd::Done);
        };
        match content {
            Content::Dirty => self.write_run(files, task, run),
            Content::Written => {
                files.cache.found_written(run);
                self.spend(Nanos(self.host.costs.page_send.0 * run.pages));
                files.tasks[task].pass.go_on(run);
            }
            Content::Sending if files.tasks[task].pass.avoids() => {
                let run = Run { pages: 1, ..run };
                self.spend(self.host.costs.page_send);
                files.tasks[task].pass.go_on(run);
            }
            Content::Sending => {
                let (file, page) = (run.file, run.start);
                self.wait(files, task, Wait::Sent { file, page });
                self.unplug_all();
                return Some(PassEnd::NotYet);
            }
        }
        None
    }

    /// Sends a run of dirty pages as far as it lies in one piece.
    fn write_run(&mut self, files: &mut Files, task: usize, run: Run) {
        let Run { file, start, pages } = run;
        if files.plan.file_system.delays_allocation() {
            self.allocate(files, file, start, pages);
        }
        let (block, pages) = files
            .plan
            .file_system
            .locate(file, start, pages)
            .expect("dirty pages have blocks");
        let run = Run { file, start, pages };
        let io = files.begin_write(run, false);
        self.spend(Nanos(self.host.costs.page_send.0 * pages));
        let pass = &mut files.tasks[task].pass;
        pass.go_on(run);
        let at = address(block, files.plan.offset);
        let sectors = Sectors(pages * PAGE_SECTORS);
        pass.rest = Some((io, at, sectors));
    }

    /// Sends the pages from the cursor on that only lengthen waiting requests, in one go. False when that is less than two.
    fn write_joining(&mut self, files: &mut Files, task: usize) -> bool {
        let pass = &files.tasks[task].pass;
        let Some(file) = pass.file else {
            return false;
        };
        let most = pass.left.min(pass.turn).min(JOINING_PAGES);
        let sync = matches!(pass.kind, PassKind::File { sync: true });
        let run = Run {
            file,
            start: pass.cursor,
            pages: most,
        };
        let pages = self.send_joining(files, task, run, sync, Nanos::ZERO, false);
        let pass = &mut files.tasks[task].pass;
        pass.go_on(Run { pages, ..run });
        pages > 0
    }

    /// Dirty pages from the start of `run` on, each a bio of its own, that only lengthen requests which wait already: sends them in one
    /// go, as far as nothing else happens in the time that their bios take. `lead`: between a page's choice and the bio the task may be
    /// interrupted, so much later. Gives their number, none rather than one.
    pub(crate) fn send_joining(
        &mut self,
        files: &mut Files,
        task: usize,
        run: Run,
        sync: bool,
        lead: Nanos,
        buffers: bool,
    ) -> u64 {
        let Run { file, start, pages } = run;
        let found = files.cache.next_dirty(file, start, start + pages, pages);
        let several = |(run, content): &(Run, Content)| {
            run.start == start && run.pages > 1 && *content == Content::Dirty
        };
        let Some((dirty, _)) = found.filter(several) else {
            return 0;
        };
        let Some((block, pages)) = files.plan.file_system.locate(file, start, dirty.pages) else {
            return 0;
        };
        let at = address(block, files.plan.offset);
        let mut sender = self.sender(files, task, 0, true, sync);
        let (pages, copies) = self.joining_pages(&sender, at, pages);
        let each =
            Nanos(self.host.costs.page_send.0 + self.host.costs.bio.0 * copies + sender.md.0);
        let begin = self.busy_until();
        let until = files.horizon.min(self.next_drive_event());
        let room = until.saturating_sub(begin + lead).0;
        let pages = pages.min(room.div_ceil(each.0.max(1)));
        if pages < 2 {
            return 0;
        }
        let run = Run { file, start, pages };
        let io = files.begin_write(run, buffers);
        sender.io = io;
        (sender.bio, sender.md) = (Nanos::ZERO, Nanos::ZERO);
        self.spend(Nanos(each.0 * pages));
        // The queue hears of the last page when its bio is made.
        self.now = begin + Nanos(each.0 * (pages - 1)) + lead;
        let sectors = Sectors(pages * PAGE_SECTORS);
        let (count, rest) = self.send_range(&sender, at, sectors);
        debug_assert!(rest.is_none(), "bios that join need no request");
        files.ios[io as usize].left += count;
        files.put(io, 1);
        pages
    }

    /// A block of metadata goes to its place.
    fn write_place(&mut self, files: &mut Files, task: usize) {
        let pass = &mut files.tasks[task].pass;
        let next = files.place_dirty.range(pass.cursor..).next().copied();
        let Some(block) = next.filter(|_| pass.turn > 0) else {
            files.leave_file(task);
            return;
        };
        files.place_dirty.remove(&block);
        pass.cursor = block + 1;
        pass.left -= 1;
        pass.turn -= 1;
        pass.written += 1;
        let io = files.new_io(IoKind::PlaceWrite);
        self.spend(self.host.costs.page_send);
        files.tasks[task].pass.rest =
            Some((io, address(block, files.plan.offset), Sectors(PAGE_SECTORS)));
    }

    /// False when the task has to sleep for a request.
    fn send_write(
        &mut self,
        files: &mut Files,
        task: usize,
        io: u32,
        start: Lba,
        sectors: Sectors,
    ) -> bool {
        let sync = matches!(files.tasks[task].pass.kind, PassKind::File { sync: true });
        let sender = self.sender(files, task, io, true, sync);
        self.send_for(files, task, sender, io, start, sectors)
    }

    /// Sends a range of operation `io` for a task's pass; false when the task has to sleep for a request.
    pub(crate) fn send_for(
        &mut self,
        files: &mut Files,
        task: usize,
        sender: Sender,
        io: u32,
        start: Lba,
        sectors: Sectors,
    ) -> bool {
        let rest = self.send_io(files, task, &sender, (io, start, sectors));
        files.tasks[task].pass.rest = rest;
        rest.is_none()
    }

    /// Sends a range of an operation. What is left when no request was free is given, and the task then sleeps for one.
    pub(crate) fn send_io(
        &mut self,
        files: &mut Files,
        task: usize,
        sender: &Sender,
        (io, start, sectors): (u32, Lba, Sectors),
    ) -> Option<(u32, Lba, Sectors)> {
        let (count, rest) = self.send_range(sender, start, sectors);
        files.ios[io as usize].left += count;
        let Some((start, sectors)) = rest else {
            files.put(io, 1);
            return None;
        };
        files.tasks[task].state = TaskState::Waits(Wait::Request);
        Some((io, start, sectors))
    }
}
