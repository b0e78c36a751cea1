//! Who uses a storage: the programs of a phase, and the kernel's threads between them and the storage.

pub mod cached;
pub mod direct;
mod flusher;
mod flushes;
pub mod program;
mod thread;
pub mod traced;

use crate::engine::Engine;
use crate::result::ThreadEnd;
use crate::storage::Storage;
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
    /// Writes after which it asks for the drives' flush; 0: never.
    pub sync_every: u32,
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

/// Those who use a storage, as the event loop sees them.
pub trait Tasks<S: Storage, O, H = ()> {
    /// Somebody still has something to do.
    fn at_work(&mut self, engine: &mut Engine<S, O, H>) -> bool;
    /// When [`Tasks::act`] is due next.
    #[inline(always)]
    fn next_at(&self, engine: &Engine<S, O, H>) -> Nanos {
        engine.agenda.next_at()
    }
    /// When a timer of the storage's is heard.
    #[inline(always)]
    fn timer(&self, engine: &Engine<S, O, H>) -> Nanos {
        engine.storage.timer()
    }
    /// The storage's next step is due: it is taken, and tasks that waited for it are woken.
    fn storage_due(&mut self, engine: &mut Engine<S, O, H>);
    /// A timer of the storage's has fired.
    fn timer_fired(&mut self, engine: &mut Engine<S, O, H>);
    /// The next task's step is due.
    fn act(&mut self, engine: &mut Engine<S, O, H>);
}

/// The threads of a phase.
pub trait Threads<S: Storage, O, H = ()>: Tasks<S, O, H> {
    /// When each ended, counted from `started`; those that did not, `now`.
    fn ends(&self, started: Nanos, now: Nanos) -> Vec<ThreadEnd>;
}
