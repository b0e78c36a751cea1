//! The queue's borders: towards the drive, and towards who watches.

use seekwise_host::block::{Access, Bio, Driver, Observer};
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
    fn submitted(&mut self, now: Nanos, bio: &Bio) {
        self.recorder.submitted(now, bio);
    }
    fn inserted(&mut self, now: Nanos, request: &seekwise_sched::Request) {
        self.recorder.inserted(now, request);
    }
    fn issued(&mut self, now: Nanos, request: &seekwise_sched::Request) {
        self.issued += 1;
        self.recorder.issued(now, request);
    }
    fn started(&mut self, now: Nanos, request: &seekwise_sched::Request) {
        self.started_sync.push(request.sync);
        self.recorder.started(now, request);
    }
    fn completed(&mut self, now: Nanos, request: &seekwise_sched::Request) {
        self.recorder.completed(now, request);
    }
    fn merged(&mut self, now: Nanos, bio: &Bio, front: bool) {
        self.recorder.merged(now, bio, front);
    }
}
