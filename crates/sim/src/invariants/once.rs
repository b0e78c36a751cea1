//! Every request enters once, is taken once, is accepted once and completes once, and as many sectors go out as came in.

use seekwise_host::block::{Bio, Observer};
use seekwise_sched::Request;
use seekwise_units::Nanos;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Absent,
    Waiting,
    Issued,
    Started,
}

/// Follows each slot through its stages; panics with the time at the first wrong step.
#[derive(Clone, Debug, Default)]
pub struct Once {
    stages: Vec<Stage>,
    pub sectors_out: u64,
    pub completed: u64,
    pub merged: u64,
    clock: Nanos,
}

impl Once {
    fn step(&mut self, now: Nanos, request: &Request, from: Stage, to: Stage) {
        assert!(
            now >= self.clock,
            "time ran back from {} to {} ns",
            self.clock.0,
            now.0
        );
        self.clock = now;
        let slot = request.id.0 as usize;
        if self.stages.len() <= slot {
            self.stages.resize(slot + 1, Stage::Absent);
        }
        // A request that another one swallowed has no end of its own: its slot comes back as new.
        let stage = self.stages[slot];
        let swallowed = to == Stage::Waiting && stage == Stage::Waiting && self.merged > 0;
        assert!(
            stage == from || swallowed,
            "at {} ns request {slot} goes from {stage:?} to {to:?}",
            now.0
        );
        self.stages[slot] = to;
    }
}

impl Observer for Once {
    fn inserted(&mut self, now: Nanos, request: &Request) {
        self.step(now, request, Stage::Absent, Stage::Waiting);
    }
    fn issued(&mut self, now: Nanos, request: &Request) {
        self.step(now, request, Stage::Waiting, Stage::Issued);
    }
    fn started(&mut self, now: Nanos, request: &Request) {
        self.step(now, request, Stage::Issued, Stage::Started);
    }
    fn completed(&mut self, now: Nanos, request: &Request) {
        self.step(now, request, Stage::Started, Stage::Absent);
        self.sectors_out += request.sectors.0;
        self.completed += 1;
    }
    fn merged(&mut self, _now: Nanos, _bio: &Bio, _front: bool) {
        self.merged += 1;
    }
}
