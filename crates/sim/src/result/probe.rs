//! A trace of a run: what was submitted, dispatched, started and done, with the address, for pictures of the head over time.

use seekwise_host::block::{Bio, Event, Observer};
use seekwise_sched::{Direction, Request};
use seekwise_units::Nanos;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    Submit,
    Insert,
    Issue,
    Start,
    Complete,
    Backmerge,
    Frontmerge,
}

impl Moment {
    /// The event's word in traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Insert => "insert",
            Self::Issue => "issue",
            Self::Start => "start",
            Self::Complete => "complete",
            Self::Backmerge => "backmerge",
            Self::Frontmerge => "frontmerge",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    pub time: Nanos,
    pub moment: Moment,
    pub direction: Direction,
    pub sync: bool,
    pub start: u64,
    pub sectors: u64,
    pub process: u32,
}

/// Collects events up to a bound, then only counts: memory stays flat.
#[derive(Clone, Debug)]
pub struct Recorder {
    pub events: Vec<TraceEvent>,
    pub events_max: usize,
    pub dropped: u64,
}

impl Recorder {
    /// Keeps the first `events_max` events and counts the rest as dropped.
    pub fn new(events_max: usize) -> Self {
        Self {
            events: Vec::new(),
            events_max,
            dropped: 0,
        }
    }

    fn keep(&mut self, event: TraceEvent) {
        if self.events.len() < self.events_max {
            self.events.push(event);
        } else {
            self.dropped += 1;
        }
    }

    fn bio(&mut self, time: Nanos, moment: Moment, bio: &Bio) {
        self.keep(TraceEvent {
            time,
            moment,
            direction: bio.direction,
            sync: bio.sync,
            start: bio.start.0,
            sectors: bio.sectors.0,
            process: bio.process.0,
        });
    }

    fn request(&mut self, time: Nanos, moment: Moment, r: &Request) {
        self.keep(TraceEvent {
            time,
            moment,
            direction: r.direction,
            sync: r.sync,
            start: r.start.0,
            sectors: r.sectors.0,
            process: r.process.0,
        });
    }
}

impl Observer for Recorder {
    fn note(&mut self, now: Nanos, event: Event) {
        match event {
            Event::Submitted(bio) => self.bio(now, Moment::Submit, bio),
            Event::Inserted(request) => self.request(now, Moment::Insert, request),
            Event::Issued(request) => self.request(now, Moment::Issue, request),
            Event::Started(request) => self.request(now, Moment::Start, request),
            Event::Completed(request) => self.request(now, Moment::Complete, request),
            Event::Merged(bio, true) => self.bio(now, Moment::Frontmerge, bio),
            Event::Merged(bio, false) => self.bio(now, Moment::Backmerge, bio),
        }
    }
}
