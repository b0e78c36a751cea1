//! A program's thread that uses a file: where it is, its next call, and what its calls come to.

use crate::files::direct::Direct;
use crate::files::pace::ThreadPace;
use crate::files::plan::{JobOutcome, JobPlan, Region};
use crate::files::reader::Reading;
use crate::files::spread::Spread;
use crate::files::Files;
use seekwise_host::cache::pacing::Writer;
use seekwise_host::cache::page_cache::FileNumber;
use seekwise_host::cache::read_ahead::{Page, ReadAhead};
use seekwise_host::job::Stream;
use seekwise_host::random::Random;
use seekwise_sched::Direction;
use seekwise_units::{Nanos, PAGE_BYTES, PAGE_SECTORS};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThreadState {
    Calls,
    /// In a call, at the read position.
    Reading,
    /// Looks at the dirty limits; how often it has slept, and whether it wrote since.
    Balancing {
        looks: u32,
        wrote: bool,
    },
    /// Writes back as a writer over its limit.
    Throttled {
        looks: u32,
    },
    /// fsync: own pages, then the wait for them, then the commit.
    SyncPages,
    SyncWait,
    SyncCommit,
    Done,
}

/// What an fsync is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyncFor {
    /// The call before it (O_SYNC).
    Call,
    /// A call of its own, after so many writes.
    Writes,
    /// The end of the thread's calls.
    End,
}

pub(super) struct FileThread {
    pub(super) file: FileNumber,
    pub(super) file_pages: Page,
    pub(super) region: Region,
    /// Its job's number and plan; of a thread whose calls differ, that of the running call.
    pub(super) job_number: usize,
    pub(super) job: JobPlan,
    pub(super) stream: Option<Box<Stream>>,
    pub(super) turns: Option<ThreadPace>,
    /// A call has returned since its pace was looked at.
    pub(super) returned: bool,
    pub(super) doing: ThreadState,
    pub(super) calls_left: u64,
    pub(super) page: Page,
    pub(super) call_end: Page,
    pub(super) call_began: Nanos,
    /// Page of the call to come, when it has to wait for the blocks above it; whether the call's time runs already.
    pub(super) chosen: Option<Page>,
    pub(super) begun: bool,
    pub(super) reading: Reading,
    /// The page that it waited for: reclaim leaves it in memory until the reader has run.
    pub(super) holds: Option<Page>,
    pub(super) read_ahead: ReadAhead,
    pub(super) random: Random,
    /// Pages dirtied since the last look at the limits.
    pub(super) dirtied: u64,
    pub(super) writer: Writer,
    /// Length of the newest call, which waits for the dirty limits or fsync may still lengthen.
    pub(super) newest: Option<Nanos>,
    /// Of the running fsync.
    pub(super) sync_for: SyncFor,
    /// Writes since the last fsync.
    pub(super) writes: u32,
    /// What the running fsync waits for when there is nothing to commit.
    pub(super) flush: Option<u64>,
    pub(super) direct: Direct,
    pub(super) spread: Spread,
}

impl FileThread {
    /// One that has nothing to do yet.
    pub(super) fn new(job: JobPlan, random: Random) -> Self {
        Self {
            file: 0,
            file_pages: 0,
            region: Region { from: 0, end: 0 },
            job_number: 0,
            job,
            stream: None,
            turns: None,
            returned: false,
            doing: ThreadState::Done,
            calls_left: 0,
            page: 0,
            call_end: 0,
            call_began: Nanos::ZERO,
            chosen: None,
            begun: false,
            reading: Reading::default(),
            holds: None,
            read_ahead: job.read_ahead,
            random,
            dirtied: 0,
            writer: Writer::default(),
            newest: None,
            sync_for: SyncFor::End,
            writes: 0,
            flush: None,
            direct: Direct::default(),
            spread: Spread::default(),
        }
    }

    /// The page at which the next call begins.
    pub(super) fn next_place(&mut self) -> Page {
        if let Some(page) = self.chosen.take() {
            return page;
        }
        if self.stream.is_some() {
            self.draw();
            return self.next_place();
        }
        let Region { from, end } = self.region;
        if self.job.random {
            from + self.random.below(self.region.pages() / self.job.pages) * self.job.pages
        } else if self.page + self.job.pages > end {
            from
        } else {
            self.page
        }
    }

    /// Draws the next call of a thread whose calls differ, unless that is done.
    pub(super) fn draw(&mut self) {
        let Some(stream) = self.stream.as_mut().filter(|_| self.chosen.is_none()) else {
            return;
        };
        let call = stream.draw();
        self.job.write = call.direction == Direction::Write;
        self.job.pages = call.sectors.0 / PAGE_SECTORS;
        self.chosen = Some(call.start.0 / PAGE_SECTORS);
    }

    /// A call begins: when its time does.
    pub(super) fn begin_turn(&mut self, now: Nanos) -> Nanos {
        match &mut self.turns {
            Some(turns) => turns.begin(now),
            None => now,
        }
    }

    /// When its next call may begin.
    pub(super) fn next_turn(&mut self, now: Nanos) -> Nanos {
        let returned = core::mem::take(&mut self.returned);
        match &mut self.turns {
            Some(turns) => {
                if returned {
                    turns.returned(now);
                }
                turns.next_at()
            }
            None => Nanos::ZERO,
        }
    }

    /// The fsync that the write which is done asks for.
    pub(super) fn sync_due(&mut self) -> Option<SyncFor> {
        if self.job.o_sync {
            return Some(SyncFor::Call);
        }
        let every = self.job.sync_every;
        self.writes += u32::from(every > 0);
        if every == 0 || self.writes < every {
            return None;
        }
        self.writes = 0;
        Some(if every == 1 {
            SyncFor::Call
        } else {
            SyncFor::Writes
        })
    }
}

impl Files {
    /// Equal calls of a thread are over, as (calls, pages), that took so long in all.
    pub(super) fn calls_done(&mut self, task: usize, done: (u64, u64), now: Nanos, total: Nanos) {
        let write = self.thread(task).job.write;
        self.calls_of_kind_done(task, done, write, now, total);
    }

    pub(super) fn calls_of_kind_done(
        &mut self,
        task: usize,
        (calls, pages): (u64, u64),
        write: bool,
        now: Nanos,
        total: Nanos,
    ) {
        self.note_newest(task);
        let windows = &mut self.outcomes.last_mut().expect("a phase runs").windows;
        windows.record_many(now, calls, pages * PAGE_SECTORS, total);
        let outcome = self.outcome_of(task);
        outcome.done.record(calls, pages * PAGE_BYTES, total);
        if !write {
            outcome.reads += calls;
            outcome.pages_read += pages;
        }
        let each = Nanos(total.0 / calls);
        let mut newest = None;
        if let Some(latency) = &mut outcome.latency {
            latency.record_many(each, calls - 1);
            newest = Some(each);
        }
        let thread = self.thread(task);
        thread.newest = newest;
        thread.returned = true;
    }

    /// What the running phase has come to for the task's job.
    pub(super) fn outcome_of(&mut self, task: usize) -> &mut JobOutcome {
        let job = self.thread(task).job_number;
        let outcome = self.outcomes.last_mut().expect("a phase runs");
        &mut outcome.jobs[job]
    }

    /// Nothing lengthens the newest call any more.
    pub(super) fn note_newest(&mut self, task: usize) {
        let newest = self.thread(task).newest.take();
        if let (Some(latency), Some(newest)) = (&mut self.outcome_of(task).latency, newest) {
            latency.record(newest);
        }
    }
}
