//! Who uses a storage: the programs of a phase, and the kernel's threads between them and the storage.

pub mod cached;
pub mod direct;
mod flusher;
mod thread;

use crate::engine::Engine;
use crate::result::ThreadEnd;
use seekwise_host::cpu::CpuCost;
use seekwise_host::job::{Pace, Script, Stream};
use seekwise_sched::{Priority, ProcessId};
use seekwise_units::Nanos;

/// What a thread does.
#[derive(Clone, Debug)]
pub enum ThreadLoad {
    Generated {
        stream: Stream,
        pace: Pace,
        sync: bool,
    },
    Scripted(Script),
}

/// A thread as a phase starts it.
#[derive(Clone, Debug)]
pub struct ThreadPlan {
    pub job: u32,
    pub process: ProcessId,
    pub priority: Priority,
    pub processor: usize,
    /// Of one of its operations.
    pub cost: CpuCost,
    pub starts: Nanos,
    pub load: ThreadLoad,
    /// Operations to issue at most.
    pub operations_max: u64,
    /// Nothing is issued from this time of the phase on.
    pub deadline: Nanos,
}

impl ThreadPlan {
    /// It ended that long after the phase began.
    pub fn end(&self, ended: Nanos) -> ThreadEnd {
        ThreadEnd {
            job: self.job,
            process: self.process.0,
            ended,
        }
    }
}

/// Those who use a storage in a phase, as the event loop sees them.
pub trait Tasks<S, O> {
    /// Somebody still has something to do.
    fn at_work(&mut self, engine: &mut Engine<S, O>) -> bool;
    /// The storage's next step is due: it is taken, and whoever waited for what it ended goes on.
    fn storage_due(&mut self, engine: &mut Engine<S, O>);
    /// A timer of the storage's has fired.
    fn timer_fired(&mut self, engine: &mut Engine<S, O>);
    /// An entry that the tasks put into the agenda is due.
    fn act(&mut self, engine: &mut Engine<S, O>, entry: u32);
    /// When each thread ended, counted from `started`; those that did not, `now`.
    fn ends(&self, started: Nanos, now: Nanos) -> Vec<ThreadEnd>;
}
