//! The journal's own task commits transactions: ordered data, log, commit block; then the metadata may go to its place.

use crate::files::machine::FileEngine;
use crate::files::pass::JOINING_PAGES;
use crate::files::{Files, IoKind, Role, TaskState, Wait, DEVICE_FILE};
use seekwise_device::Device;
use seekwise_host::block::{BlockQueue, Observer};
use seekwise_host::cache::page_cache::{Content, Run};
use seekwise_host::file::address;
use seekwise_host::file::journal::TransactionId;
use seekwise_units::{Nanos, Sectors, PAGE_SECTORS};

/// Tags of a descriptor block of 4 KiB (jbd: 8 bytes each, 12 of header and 16 of the journal's name).
const TAGS: u64 = 508;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Rest,
    Data,
    DataWait,
    Log,
    LogWait,
    /// The drives' caches are emptied before the commit block is written.
    FlushBefore,
    CommitBlock,
    CommitWait,
    FlushBehind,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Commit {
    stage: Stage,
    wanted: TransactionId,
    due: Option<Nanos>,
    /// Place in the transaction's data.
    run: usize,
    page: u64,
    log: [(u64, u64); 2],
    /// The flush it waits for.
    flush: u64,
}

impl Commit {
    /// The next block of the log to be written.
    fn next_of_log(&mut self) -> Option<u64> {
        let place = self.log.iter_mut().find(|(_, blocks)| *blocks > 0)?;
        let block = place.0;
        *place = (block + 1, place.1 - 1);
        Some(block)
    }
}

impl Files {
    /// A commit is due at the latest then.
    pub(crate) fn arm_journal(&mut self, due: Nanos) {
        let Some(index) = self.journal_task() else {
            return;
        };
        let task = &mut self.tasks[index];
        if let Role::Journal(commit) = &mut task.role {
            commit.due = Some(due);
            if commit.stage == Stage::Rest && !matches!(task.state, TaskState::Ready(_)) {
                task.state = TaskState::Ready(due);
            }
        }
    }

    /// Somebody waits for transaction `id`.
    pub(crate) fn ask_commit(&mut self, now: Nanos, id: TransactionId) {
        let Some(index) = self.journal_task() else {
            return;
        };
        if let Some(journal) = &mut self.journal {
            if journal.running.id == id {
                journal.running.synchronous = true;
            }
        }
        let task = &mut self.tasks[index];
        if let Role::Journal(commit) = &mut task.role {
            commit.wanted = commit.wanted.max(id);
            if commit.stage == Stage::Rest {
                task.state = TaskState::Ready(now);
                self.horizon = self.horizon.min(now);
            }
        }
    }
}

impl<Q: BlockQueue, D: Device, O: Observer> FileEngine<Q, D, O> {
    pub(crate) fn step_journal(&mut self, files: &mut Files, index: usize) {
        loop {
            let Role::Journal(commit) = &files.tasks[index].role else {
                return;
            };
            let mut commit = *commit;
            let goes_on = self.commit_stage(files, index, &mut commit);
            files.tasks[index].role = Role::Journal(commit);
            if !goes_on {
                return;
            }
            if !self.goes_on(files) {
                return self.pause(files, index);
            }
        }
    }

    fn commit_stage(&mut self, files: &mut Files, index: usize, commit: &mut Commit) -> bool {
        if let Some((io, start, sectors)) = files.tasks[index].pass.rest.take() {
            let sync = files.committing.synchronous && files.plan.generation.synchronous_fsync();
            let sender = self.sender(files, index, io, true, sync);
            return self.send_for(files, index, sender, io, start, sectors);
        }
        match commit.stage {
            Stage::Rest => self.begin_commit(files, index, commit),
            Stage::Data => {
                if !self.send_data(files, index, commit) {
                    commit.stage = Stage::DataWait;
                    files.data_before = files.sequence;
                    files.data_left = files.writes_under_way();
                }
                true
            }
            Stage::DataWait => {
                if files.data_left > 0 {
                    self.wait(files, index, Wait::Data);
                    self.unplug_all();
                    return false;
                }
                files.data_before = 0;
                commit.stage = Stage::Log;
                let blocks = files.committing.metadata.len() as u64;
                if let Some(journal) = &mut files.journal {
                    commit.log = journal.room(blocks + blocks.div_ceil(TAGS));
                }
                true
            }
            Stage::Log => {
                match commit.next_of_log() {
                    Some(block) => self.log_block(files, index, block),
                    None => commit.stage = Stage::LogWait,
                }
                true
            }
            Stage::LogWait | Stage::CommitWait => self.log_wait(files, index, commit),
            Stage::FlushBefore | Stage::FlushBehind => {
                if !files.flushes.done(commit.flush) {
                    self.wait(files, index, Wait::Flush(commit.flush));
                    return false;
                }
                if commit.stage == Stage::FlushBefore {
                    commit.stage = Stage::CommitBlock;
                } else {
                    self.end_commit(files, commit);
                }
                true
            }
            Stage::CommitBlock => {
                if let Some(journal) = &mut files.journal {
                    let [(block, _), _] = journal.room(1);
                    self.log_block(files, index, block);
                }
                commit.stage = Stage::CommitWait;
                true
            }
        }
    }

    /// The log has been sent; false while it is not on the drives.
    fn log_wait(&mut self, files: &mut Files, index: usize, commit: &mut Commit) -> bool {
        if files.log_left > 0 {
            self.wait(files, index, Wait::Log);
            self.unplug_all();
            return false;
        }
        match (commit.stage, files.plan.barriers) {
            (Stage::LogWait, false) => commit.stage = Stage::CommitBlock,
            (_, false) => self.end_commit(files, commit),
            (stage, true) => {
                commit.flush = self.ask_flush(files);
                commit.stage = if stage == Stage::LogWait {
                    Stage::FlushBefore
                } else {
                    Stage::FlushBehind
                };
            }
        }
        true
    }

    fn begin_commit(&mut self, files: &mut Files, index: usize, commit: &mut Commit) -> bool {
        let Some(journal) = &mut files.journal else {
            return false;
        };
        let running = &journal.running;
        let asked = commit.wanted >= running.id && running.began.is_some();
        let due = journal.due();
        if !asked && due.is_none_or(|due| due > self.now) {
            files.tasks[index].state = match due {
                Some(due) => TaskState::Ready(due),
                None => TaskState::Waits(Wait::Phase),
            };
            return false;
        }
        files.committing = journal.close();
        commit.stage = Stage::Data;
        (commit.run, commit.page) = (0, 0);
        // Delayed allocation: pages with blocks are under way already, the others are not part of it.
        if files.plan.file_system.delays_allocation() {
            files.committing.data.clear();
        }
        true
    }

    /// Sends the next page of ordered data that is still dirty; false when there is none.
    fn send_data(&mut self, files: &mut Files, index: usize, commit: &mut Commit) -> bool {
        while let Some(&run) = files.committing.data.get(commit.run) {
            let end = run.start + run.pages;
            let from = run.start.max(commit.page);
            let found = files.cache.next_dirty(run.file, from, end, 1);
            let Some((found, content)) = found else {
                commit.run += 1;
                commit.page = 0;
                continue;
            };
            if content != Content::Dirty {
                commit.page = found.start + found.pages;
                continue;
            }
            let sync = files.committing.synchronous && files.plan.generation.synchronous_fsync();
            let rest_of_run = Run {
                pages: (end - found.start).min(JOINING_PAGES),
                ..found
            };
            let lead = self.host.costs.page_send;
            let buffers = files.plan.file_system.journal_sends_buffers();
            let pages = self.send_joining(files, index, rest_of_run, sync, lead, buffers);
            if pages > 0 {
                commit.page = found.start + pages;
                return true;
            }
            commit.page = found.start + 1;
            let Some((block, _)) = files.plan.file_system.locate(found.file, found.start, 1) else {
                continue;
            };
            let io = files.begin_write(Run { pages: 1, ..found }, buffers);
            self.spend(self.host.costs.page_send);
            files.tasks[index].pass.rest =
                Some((io, address(block, files.plan.offset), Sectors(PAGE_SECTORS)));
            return true;
        }
        false
    }

    fn log_block(&mut self, files: &mut Files, index: usize, block: u64) {
        let io = files.new_io(IoKind::Log);
        files.log_left += 1;
        self.spend(self.host.costs.page_send);
        files.tasks[index].pass.rest =
            Some((io, address(block, files.plan.offset), Sectors(PAGE_SECTORS)));
    }

    fn end_commit(&mut self, files: &mut Files, commit: &mut Commit) {
        commit.stage = Stage::Rest;
        let done = core::mem::take(&mut files.committing);
        if files.place_dirty.is_empty() && !done.metadata.is_empty() {
            files.dirty.push_back(DEVICE_FILE);
        }
        let running = files
            .journal
            .as_ref()
            .map(|journal| &journal.running.metadata);
        for block in done.metadata {
            if !running.is_some_and(|running| running.contains(&block)) {
                files.place_dirty.insert(block);
            }
        }
        if let Some(journal) = &mut files.journal {
            journal.committed = done.id;
        }
        files.wake(self.wakes_at());
    }
}

impl Files {
    /// Operations that write file pages and are not back.
    fn writes_under_way(&self) -> u64 {
        self.ios
            .iter()
            .filter(|(_, io)| matches!(io.kind, IoKind::Write { .. }))
            .count() as u64
    }
}
