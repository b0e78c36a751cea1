//! Who uses a storage: the programs of a phase, and the kernel's threads between them and the storage.

pub mod cache_plan;
pub mod direct;
mod flusher;
mod flushes;
pub mod program;
pub mod traced;

use crate::result::ThreadEnd;
use seekwise_host::cpu::CpuCost;
use seekwise_host::job::{Pace, Stream};
use seekwise_sched::{Priority, ProcessId};
use seekwise_units::Nanos;

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
    pub stream: Stream,
    pub pace: Pace,
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
