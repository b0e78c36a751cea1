//! I/O schedulers of Linux as pure policies.
//!
//! A scheduler sees requests, completions and time, never the head of a drive: this crate depends on `units` alone.
//! The queue around it (plug, tags, peeked request) lives in `seekwise-host`; recordings of real kernels are held
//! against these policies by `seekwise-replay`.

pub mod about;
mod batching;
pub mod busyness;
mod decay;
pub mod distance;
pub mod fifo;
pub mod kernel;
pub mod parameter;
mod processes;
#[macro_use]
pub mod registry;
pub mod request;
pub mod scheduler;
mod seeks;
pub mod sorted;
pub mod tag_words;
#[cfg(test)]
mod tests;

// A row is all that a scheduler needs beside its file. (`make check` formats the files by name: rustfmt does not see modules of a macro.)
schedulers! {
    anticipatory::Anticipatory,
    cfq::Cfq,
    noop::Noop,
    deadline::Deadline,
    none::None,
    mq_deadline::MqDeadline,
    bfq::Bfq,
    kyber::Kyber,
}

mod any;

pub use about::{About, MergeRule, Module};
pub use kernel::{Kernel, Version};
pub use parameter::{Parameter, Setup, TunableUnit, Values};
pub use registry::{find as find_scheduler, SchedulerEntry};
pub use request::{Direction, Priority, PriorityClass, ProcessId, Request, RequestId};
pub use scheduler::Scheduler;
