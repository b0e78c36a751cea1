//! What anticipatory remembers of a process, and of newcomers at large.

use crate::decay::{decayed, Mean, SlowMean, ONE};
use crate::request::ProcessId;
use seekwise_units::{Lba, Sectors};

/// One process.
#[derive(Clone, Debug)]
pub struct Process {
    pub id: ProcessId,
    /// Requests in the scheduler, of either class.
    pub queued: u32,
    /// Requests dispatched by the policy and not pulled yet.
    pub moved: u32,
    pub exited: bool,
    /// Ticks between a completion and the next sync request.
    pub think: Mean,
    /// Sectors between the end of a sync request and the start of the next.
    pub seek: Mean,
    submitted: bool,
    last_end: Lba,
    /// Tick of the last completion of a sync request.
    last_completion: Option<u64>,
}

impl Process {
    /// A process that has submitted nothing yet.
    pub fn new(id: ProcessId) -> Self {
        Self {
            id,
            queued: 0,
            moved: 0,
            exited: false,
            think: Mean::of_think_times(),
            seek: Mean::of_seeks(),
            submitted: false,
            last_end: Lba(0),
            last_completion: None,
        }
    }

    /// Statistics at a sync request; the very first one has nothing to compare with.
    pub fn note_request(
        &mut self,
        crowd: &mut Crowd,
        jiffies: u64,
        think_max: u64,
        start: Lba,
        sectors: Sectors,
    ) {
        if self.submitted || self.last_completion.is_some() {
            let idle = self.queued + self.moved == 0;
            let think = self
                .last_completion
                .filter(|_| idle)
                .map_or(0, |last| (jiffies - last).min(think_max));
            if self.think.samples == 0 {
                crowd.newcomer_stays(think);
            }
            self.think.add(think);
            let distance = self.last_end.distance(start);
            if self.seek.samples == 0 {
                crowd.seek.add(distance);
            }
            self.seek.add_seek(distance);
        }
        self.last_end = start + sectors;
        self.submitted = true;
    }

    /// A sync request of the process completed at tick `jiffies`.
    pub fn note_completion(&mut self, jiffies: u64) {
        self.last_completion = Some(jiffies);
    }

    /// The process in words, one line, for `--explain`.
    pub fn words(&self) -> String {
        format!(
            "p{}: {} queued{}; thinks {} ticks (weight {}); seeks {} sectors (weight {}); last end {}; last completion {:?}\n",
            self.id.0,
            self.queued,
            if self.exited { ", exited" } else { "" },
            self.think.mean,
            self.think.samples,
            self.seek.mean,
            self.seek.samples,
            self.last_end.0,
            self.last_completion
        )
    }
}

/// What newcomers did so far: the guess about a process without a history.
#[derive(Clone, Copy, Debug, Default)]
pub struct Crowd {
    pub think: SlowMean,
    pub seek: SlowMean,
    /// How likely a process is to end after its first request; 256 is certain.
    exit: u64,
    /// How likely nobody works on where a process ended; 256 is certain.
    alone: u64,
}

impl Crowd {
    /// A process came back after its first request.
    fn newcomer_stays(&mut self, think: u64) {
        self.think.add(think);
        self.exit = decayed(self.exit, 0);
    }

    /// A process did not come back after its first request.
    pub fn exit_again(&mut self) {
        self.exit = decayed(self.exit, ONE);
    }

    /// Another process went on where one had ended.
    pub fn spared(&mut self) {
        self.alone = decayed(self.alone, 0);
    }

    /// No other process went on where one had ended.
    pub fn not_spared(&mut self) {
        self.alone = decayed(self.alone, ONE);
    }

    /// More often than not nobody goes on where a process ended.
    pub fn exits_alone(&self) -> bool {
        self.alone > ONE / 2
    }

    /// A newcomer probably ends after its first request, and nobody goes on there.
    pub fn newcomers_leave(&self) -> bool {
        self.exit * self.alone > ONE / 2 * ONE
    }

    /// The guess in words, one line, for `--explain`.
    pub fn words(&self) -> String {
        format!(
            "newcomers think {} ticks, seek {} sectors; exit {}/256, alone {}/256\n",
            self.think.mean, self.seek.mean, self.exit, self.alone
        )
    }
}
