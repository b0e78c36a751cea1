//! When a thread's next call may begin: after a pause, or on a timetable.

use seekwise_host::job::Gap;
use seekwise_host::random::Random;
use seekwise_units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Of each thread of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobPace {
    /// Between a call's return and the next one in its place; on a timetable, between the beginnings of two calls at least.
    pub think: Nanos,
    /// Between the arrivals of a timetable; None: a call begins when another has returned.
    pub gap: Option<Gap>,
}

/// The pace of one thread.
#[derive(Debug)]
pub(super) struct ThreadPace {
    pace: JobPace,
    random: Random,
    /// When each call that may begin may.
    free: BinaryHeap<Reverse<Nanos>>,
    /// The next arrival of the timetable.
    due: Nanos,
}

impl ThreadPace {
    /// `depth`: calls under way at once, where another's return is waited for.
    pub fn new(pace: JobPace, depth: u32, start: Nanos, random: Random) -> Self {
        let places = if pace.gap.is_some() { 1 } else { depth };
        Self {
            pace,
            random,
            free: (0..places).map(|_| Reverse(start)).collect(),
            due: start,
        }
    }

    /// When the next call may begin; never while all are under way.
    pub fn next_at(&self) -> Nanos {
        self.free.peek().map_or(Nanos::NEVER, |next| next.0)
    }

    /// A call begins now: from when on its time counts.
    pub fn begin(&mut self, now: Nanos) -> Nanos {
        self.free.pop();
        let Some(gap) = self.pace.gap else {
            return now;
        };
        let counts_from = self.due;
        self.due += gap.draw(&mut self.random);
        let rested = now + self.pace.think;
        self.free.push(Reverse(self.due.max(rested)));
        counts_from
    }

    /// A call has returned.
    pub fn returned(&mut self, now: Nanos) {
        if self.pace.gap.is_none() {
            let rested = now + self.pace.think;
            self.free.push(Reverse(rested));
        }
    }
}
