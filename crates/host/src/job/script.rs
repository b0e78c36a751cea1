//! A thread that follows a list: request lists of the recordings, traces.

use seekwise_sched::Direction;
use seekwise_units::{Lba, Nanos, Sectors};

/// When an operation begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// This long after the previous call returned.
    After(Nanos),
    /// At this time of the run, or at once when that has passed.
    At(Nanos),
}

/// What the thread waits for after submitting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// This operation.
    Own,
    /// Nothing.
    No,
    /// Everything outstanding; submits nothing itself.
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptedOp {
    pub start: Start,
    pub direction: Direction,
    pub sync: bool,
    pub no_idle: bool,
    pub lba: Lba,
    pub sectors: Sectors,
    pub wait: Wait,
    /// Processor time of this operation beyond the common cost (pages to attach or to copy).
    pub processor: Nanos,
}

#[derive(Clone, Debug, Default)]
pub struct Script {
    pub operations: Vec<ScriptedOp>,
    pub next: usize,
}
