//! How a recording is walked, whatever the kernel's queue: row by row, timers before each, to its end or to the first row that cannot be.

use crate::outcome::{Look, Miss, Tally};
use crate::queue::{words, Queue};
use crate::rows::{Event, RecordedRow};
use seekwise_sched::RequestId;
use seekwise_units::Nanos;

/// An `issue` row within this time after a run of the queue belongs to that run.
const RUN_TAKES_AT_MOST: Nanos = Nanos::from_micros(100);

/// A replay under way.
pub trait Walk {
    fn rows(&self) -> &[RecordedRow];
    fn queue(&self) -> &Queue;
    fn tally(&mut self) -> &mut Tally;
    /// Timers that are due by then.
    fn fire_timers(&mut self, now: Nanos);
    /// Row `at` happens.
    fn row(&mut self, at: usize) -> Result<(), String>;
    /// The scheduler's inner state in words, and what it would dispatch.
    fn state(&self, row: &RecordedRow) -> (String, Option<RequestId>);

    /// The points of the recording; on an error up to there. `explain`: the line at which a look is wanted.
    fn walk(mut self, explain: Option<usize>) -> (Tally, Option<Look>, Result<(), String>)
    where
        Self: Sized,
    {
        let (mut look, mut outcome) = (None, Ok(()));
        for at in 0..self.rows().len() {
            let (time, line) = (self.rows()[at].time, self.rows()[at].line);
            self.fire_timers(time);
            if look.is_none() && explain.is_some_and(|wanted| line >= wanted) {
                look = Some(self.look(&self.rows()[at]));
            }
            outcome = self.row(at);
            if outcome.is_err() {
                break;
            }
        }
        let outcome = outcome.and_then(|()| self.queue().is_empty_at_the_end());
        (core::mem::take(self.tally()), look, outcome)
    }

    fn issue_follows(&self, at: usize) -> bool {
        let rows = self.rows();
        let until = rows[at].time + RUN_TAKES_AT_MOST;
        rows[at + 1..]
            .iter()
            .take_while(|row| row.time <= until)
            .any(|row| row.event == Event::Issue)
    }

    /// Another decision than the kernel's; `state` is asked for with the first one.
    fn miss(
        &mut self,
        row: &RecordedRow,
        point: &'static str,
        recorded: String,
        chosen: Option<RequestId>,
        state: impl FnOnce(&Self, &mut String),
    ) where
        Self: Sized,
    {
        let first = self.tally().misses.is_empty();
        let state = first.then(|| {
            let mut text = String::new();
            state(self, &mut text);
            text
        });
        let queue = self.queue();
        let miss = Miss {
            row: row.line,
            time_ns: row.time.0,
            point,
            recorded,
            chosen: chosen.map_or("nothing".to_owned(), |id| words(queue.get(id))),
            waiting: queue.waiting(),
            state,
        };
        self.tally().misses.push(miss);
    }

    fn look(&self, row: &RecordedRow) -> Look {
        let (state, chosen) = self.state(row);
        let queue = self.queue();
        let name = |id: RequestId| format!("#{} {}", id.0, words(queue.get(id)));
        let event = format!("{:?}", row.event).to_lowercase();
        let entries = queue.waiting_entries();
        let waiting = entries.iter().map(|entry| {
            let age_us = row.time.saturating_sub(entry.request.allocated).0 / 1000;
            format!("{} waits {age_us} us", name(entry.request.id))
        });
        Look {
            row: row.line,
            time_ns: row.time.0,
            text: format!("{event} {}+{} p{}", row.start.0, row.sectors.0, row.process),
            in_driver: queue.in_driver(),
            waiting: waiting.collect(),
            state,
            would_choose: chosen.map_or("nothing".to_owned(), name),
        }
    }
}

/// A row that speaks of a request that is not there.
pub fn lost(row: &RecordedRow, what: &str) -> String {
    format!(
        "line {}: no request {what} is {} sectors at {}",
        row.line, row.sectors.0, row.start.0
    )
}
