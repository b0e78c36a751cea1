//! The queue's borders: towards the drive, and towards who watches.

use seekwise_host::block::{Access, Driver, Event, Observer};
use seekwise_sim::result::probe::Recorder;
use seekwise_units::Nanos;

/// What the queue starts during one call: the processor decides when that reaches the drive.
pub(crate) struct Started {
    pub depth: u32,
    pub commands: Vec<(u32, Access)>,
}

impl Driver for Started {
    fn depth(&self) -> u32 {
        self.depth
    }
    fn start(&mut self, _now: Nanos, tag: u32, access: Access) {
        self.commands.push((tag, access));
    }
}

/// Counts what the policy dispatches, and keeps the trace.
pub(crate) struct Watch {
    pub recorder: Recorder,
    pub issued: u64,
    /// Does somebody wait for it? Of each command started since they were handed over.
    pub started_sync: Vec<bool>,
}

impl Observer for Watch {
    fn note(&mut self, now: Nanos, event: Event) {
        match event {
            Event::Issued(_) => self.issued += 1,
            Event::Started(request) => self.started_sync.push(request.sync),
            _ => {}
        }
        self.recorder.note(now, event);
    }
}
