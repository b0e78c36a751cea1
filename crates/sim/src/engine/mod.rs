//! The event loop: one clock, over a storage and those who use it.
//!
//! Sources of events are few, so the next one is the smallest of three numbers instead of the head of a heap:
//!
//! ```text
//!   storage.next_at()   a drive has something to say, or a thread of the storage's own is due
//!   storage.timer()     plug timer, the policy's idling and expiry timers, write-back throttling
//!   tasks.next_at()     a task becomes ready, or its bio reaches the queue
//! ```
//!
//! Equal times: the drive's interrupt before timers before tasks, each in order of insertion. Generic over storage, observer and tasks, so
//! that the inner loop has no boxed call.

pub mod agenda;
mod running;
mod tasks;

use crate::result::{CoreTimes, JobStats, ThreadEnd, Windows};
use crate::storage::{MemberTotals, Stack, Storage, Totals};
use agenda::Agenda;
pub use running::Running;
use seekwise_host::block::{Bio, Event, Observer, Submission};
use seekwise_host::cpu::{Processors, Times};
use seekwise_units::{Lba, Nanos, Sectors};
pub use tasks::{Tasks, Threads};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stalled {
    pub time: Nanos,
    pub waiting: usize,
}

/// What a phase did.
#[derive(Clone, Debug)]
pub struct PhaseOutcome {
    pub elapsed: Nanos,
    pub jobs: Vec<JobStats>,
    pub threads: Vec<ThreadEnd>,
    pub storage: Totals,
    /// Of each member of an array.
    pub members: Vec<MemberTotals>,
    pub windows: Windows,
    pub cpu_busy: Nanos,
    pub events: u64,
    /// Of a host whose cores are simulated one by one.
    pub cores: Option<CoreTimes>,
    /// Of a machine with files: its processors' time, and bytes that the drives hold back more than before.
    pub cpu: Option<Times>,
    pub held: i64,
}

/// Clock, storage and processors, which stay from phase to phase, and what the running phase has come to. `host`: what its tasks keep beside.
pub struct Engine<S, O, H = ()> {
    pub now: Nanos,
    pub storage: S,
    pub observer: O,
    /// The longest bio.
    pub max_sectors: Sectors,
    pub processors: Processors,
    /// What the tasks have put down for later.
    pub agenda: Agenda,
    pub jobs: Vec<JobStats>,
    pub windows: Windows,
    /// Threads that have not ended.
    pub running: usize,
    /// When the last call returned.
    pub last_return: Nanos,
    pub phase_start: Nanos,
    pub events: u64,
    pub host: H,
}

impl<S: Storage, O: Observer> Engine<S, O> {
    /// An engine at time 0 whose tasks keep nothing in common; `max_sectors` is the longest bio.
    pub fn new(storage: S, observer: O, processors: Processors, max_sectors: Sectors) -> Self {
        Self::around((), storage, observer, processors, max_sectors)
    }
}

impl<S: Storage, O: Observer, H> Engine<S, O, H> {
    /// An engine at time 0 with `host`, what its tasks keep in common; `max_sectors` is the longest bio.
    pub fn around(
        host: H,
        storage: S,
        observer: O,
        processors: Processors,
        max_sectors: Sectors,
    ) -> Self {
        Self {
            host,
            now: Nanos::ZERO,
            storage,
            observer,
            max_sectors,
            processors,
            agenda: Agenda::default(),
            jobs: Vec::new(),
            windows: Windows::new(Nanos::ZERO),
            running: 0,
            last_return: Nanos::ZERO,
            phase_start: Nanos::ZERO,
            events: 0,
        }
    }

    /// A phase of `threads` begins, whose tasks put up to `entries` into the agenda at once.
    pub fn begin_phase(&mut self, entries: usize, threads: usize) {
        self.agenda = Agenda::new(entries);
        self.running = threads;
        self.phase_start = self.now;
        self.last_return = self.now;
        self.windows = Windows::new(self.now);
        self.events = 0;
    }

    /// Runs one phase to its end: every thread is through, and what it asked for is done. `tasks` makes those who run it.
    pub fn run_phase<T: Threads<S, O, H>>(
        &mut self,
        jobs: usize,
        tasks: impl FnOnce(&mut Self) -> T,
    ) -> Result<PhaseOutcome, Stalled> {
        self.jobs = (0..jobs).map(|_| JobStats::default()).collect();
        let before = self.storage.totals();
        let members_before = self.storage.members();
        let busy = self.processors.busy;
        let mut tasks = tasks(self);
        self.run(&mut tasks)?;
        let start = self.phase_start;
        Ok(PhaseOutcome {
            elapsed: self.last_return - start,
            jobs: std::mem::take(&mut self.jobs),
            threads: tasks.ends(start, self.now),
            storage: self.storage.totals().since(&before),
            members: self
                .storage
                .members()
                .iter()
                .zip(&members_before)
                .map(|(now, before)| now.since(before))
                .collect(),
            windows: self.windows.clone(),
            cpu_busy: self.processors.busy - busy,
            events: self.events,
            cores: None,
            cpu: None,
            held: 0,
        })
    }

    /// Until the tasks are through.
    pub fn run<T: Tasks<S, O, H>>(&mut self, tasks: &mut T) -> Result<(), Stalled> {
        while tasks.at_work(self) {
            let drive = self.storage.next_at();
            let task = tasks.next_at(self);
            let timer = tasks.timer(self);
            if drive <= task && drive <= timer {
                if drive == Nanos::NEVER {
                    return Err(Stalled {
                        time: self.now,
                        waiting: self.storage.allocated(),
                    });
                }
                self.advance(drive);
                tasks.storage_due(self);
            } else if timer <= task {
                self.advance(timer);
                self.events += 1;
                self.storage.fire(self.now, &mut self.observer);
                tasks.timer_fired(self);
            } else {
                self.advance(task);
                self.events += 1;
                tasks.act(self);
            }
        }
        Ok(())
    }

    /// Hands a long bio down in bios of at most [`Engine::max_sectors`] until one finds no request: how many went, and where the rest begins.
    #[inline(always)]
    pub fn hand_down(&mut self, mut bio: Bio) -> (u32, Lba, Sectors)
    where
        S: Stack,
    {
        let (mut bios, mut left) = (0, bio.sectors);
        while left.0 > 0 {
            bio.sectors = left.min(self.max_sectors);
            self.observer.note(self.now, Event::Submitted(&bio));
            if self.storage.submit(self.now, &bio, &mut self.observer) == Submission::Blocked {
                break;
            }
            bios += 1;
            bio.start = bio.start + bio.sectors;
            left = Sectors(left.0 - bio.sectors.0);
        }
        (bios, bio.start, left)
    }

    /// What was put off, or fell into a task's step, is due now.
    #[inline(always)]
    fn advance(&mut self, to: Nanos) {
        self.now = to.max(self.now);
    }
}
