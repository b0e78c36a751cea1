//! fsync: a program's own pages, the file system's commit, the flush of the drive's cache.

use super::{Io, ProgramEngine, ProgramState, Programs, Queued, State, JOURNAL};
use crate::spec::programs::Extent;
use crate::storage::Stack;
use seekwise_host::cache::page_cache::Run;

/// Runs of pages that are handed down before it is looked whether there are more.
const RUNS: usize = 32;

/// Who waits for a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    Program(usize),
    Journal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Idle,
    /// The blocks of the transaction, the flush before its commit block, the block, the flush that puts it onto the platters.
    Blocks,
    FlushBefore,
    CommitBlock,
    FlushBehind,
}

/// One commit at a time; who asks while one runs joins the next.
#[derive(Debug)]
pub(super) struct Journal {
    place: Extent,
    head: u64,
    stage: Stage,
    bios_left: u32,
    submitted: bool,
    queue: Option<Queued>,
    refused: Option<u32>,
    served: Vec<usize>,
    waiting: Vec<usize>,
    /// Blocks of the next commit: that of the one who needs most, as they mostly share theirs.
    blocks: u64,
}

impl Journal {
    pub(super) fn new(place: Extent) -> Self {
        Self {
            place,
            head: place.0,
            stage: Stage::Idle,
            bios_left: 0,
            submitted: true,
            queue: None,
            refused: None,
            served: Vec::new(),
            waiting: Vec::new(),
            blocks: 0,
        }
    }

    /// The next blocks of the log, which begins again at its end.
    fn take(&mut self, blocks: u64) -> Run {
        let pages = blocks.clamp(1, self.place.1);
        if self.head + pages > self.place.end() {
            self.head = self.place.0;
        }
        let start = self.head;
        self.head += pages;
        Run {
            file: 0,
            start,
            pages,
        }
    }
}

impl Programs {
    pub(super) fn sync_pages<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, index: usize) {
        let program = &mut self.programs[index];
        let mut runs = 0u64;
        while program.queue.len() < RUNS {
            let found = self
                .cache
                .next_dirty(0, program.page, program.end, u64::MAX >> 8);
            let Some((run, _)) = found else {
                program.page = program.end;
                break;
            };
            self.cache.begin_write(run);
            program.page = run.start + run.pages;
            runs += 1;
            program.queue.push_back(Queued {
                run,
                io: Io::Write,
                write: true,
                sync: true,
            });
        }
        if program.page == program.end {
            program.doing = ProgramState::SyncWait;
        }
        let request = self.costs.request(false, 0.0);
        let each = request.submit + request.scheduler;
        self.resume(engine, index, seekwise_units::Nanos(each.0 * runs));
    }

    fn synced_file(&self, index: usize) -> (Extent, u64) {
        let program = &self.programs[index];
        let call = self.recordings[program.recording][program.at];
        (program.files[call.1 as usize], call.3)
    }

    pub(super) fn sync_wait<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, index: usize) {
        let (file, blocks) = self.synced_file(index);
        if self.cache.next_writing(0, file.0, file.end()) < file.end() {
            return self.wait(engine, index, State::WaitsForWritten);
        }
        self.wait(engine, index, State::WaitsForDevice);
        if blocks == 0 {
            return self.flushes.ask(engine, Asks::Program(index));
        }
        self.journal.blocks = self.journal.blocks.max(blocks);
        self.journal.waiting.push(index);
        if self.journal.stage == Stage::Idle {
            self.begin_commit(engine);
        }
    }

    /// Pages have been written: who waits for the last of a file's goes on.
    pub(super) fn wake_syncing<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, run: Run) {
        for index in 0..self.programs.len() {
            if self.programs[index].state != State::WaitsForWritten {
                continue;
            }
            let (file, _) = self.synced_file(index);
            let concerns = run.start < file.end() && run.start + run.pages > file.0;
            if concerns && self.cache.next_writing(0, file.0, file.end()) == file.end() {
                self.wake(engine, index);
            }
        }
    }

    fn begin_commit<S: Stack>(&mut self, engine: &mut ProgramEngine<S>) {
        let journal = &mut self.journal;
        journal.served = core::mem::take(&mut journal.waiting);
        let blocks = core::mem::take(&mut journal.blocks);
        journal.stage = Stage::Blocks;
        self.write_log(engine, blocks);
    }

    fn write_log<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, blocks: u64) {
        let run = self.journal.take(blocks);
        self.journal.submitted = false;
        self.journal.queue = Some(Queued {
            run,
            io: Io::Log,
            write: true,
            sync: true,
        });
        self.submit_log(engine);
    }

    pub(super) fn submit_log<S: Stack>(&mut self, engine: &mut ProgramEngine<S>) {
        let Some(what) = self.journal.queue.take() else {
            return;
        };
        let before = self.under_way.len() as u32;
        let again = u32::from(self.journal.refused.is_some());
        let refused = self.journal.refused.take();
        let (at, refused) = self.hand_down(engine, what, JOURNAL, refused);
        self.journal.bios_left += self.under_way.len() as u32 - before + again;
        if refused.is_some() {
            // What is refused is not under way.
            self.journal.bios_left -= 1;
            self.journal.refused = refused;
            self.journal.queue = Some(super::rest(what, at));
        } else {
            self.journal.submitted = true;
        }
    }

    pub(super) fn log_written<S: Stack>(&mut self, engine: &mut ProgramEngine<S>) {
        self.journal.bios_left -= 1;
        if self.journal.bios_left > 0 || !self.journal.submitted {
            return;
        }
        self.journal.stage = match self.journal.stage {
            Stage::Blocks => Stage::FlushBefore,
            _ => Stage::FlushBehind,
        };
        self.flushes.ask(engine, Asks::Journal);
    }

    /// One drive's cache is empty.
    pub(super) fn drive_flushed<S: Stack>(&mut self, engine: &mut ProgramEngine<S>) {
        for who in self.flushes.drive_flushed(engine) {
            match who {
                Asks::Program(index) => self.synced(engine, index),
                Asks::Journal => self.journal_flushed(engine),
            }
        }
    }

    fn journal_flushed<S: Stack>(&mut self, engine: &mut ProgramEngine<S>) {
        if self.journal.stage == Stage::FlushBefore {
            self.journal.stage = Stage::CommitBlock;
            return self.write_log(engine, 1);
        }
        self.journal.stage = Stage::Idle;
        for index in core::mem::take(&mut self.journal.served) {
            self.synced(engine, index);
        }
        if !self.journal.waiting.is_empty() {
            self.begin_commit(engine);
        }
    }

    fn synced<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, index: usize) {
        let wake = self.costs.usual().wake;
        let program = &mut self.programs[index];
        program.owed += wake;
        self.done(engine, index);
    }
}
