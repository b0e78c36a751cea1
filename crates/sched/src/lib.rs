//! I/O schedulers of Linux as pure policies.
//!
//! A scheduler sees requests, completions and time, never the head of a drive: this crate depends on `units` alone.
//! The queue around it (plug, tags, peeked request) lives in `seekwise-host`; recordings of real kernels are held
//! against these policies by `seekwise-replay`.

pub mod anticipatory;
pub mod bfq;
pub mod busyness;
pub mod cfq;
pub mod deadline;
mod decay;
pub mod distance;
pub mod fifo;
pub mod kernel;
pub mod kyber;
pub mod mq_deadline;
pub mod none;
pub mod noop;
pub mod parameter;
mod processes;
pub mod registry;
pub mod request;
pub mod scheduler;
mod seeks;
pub mod sorted;
pub mod tag_words;
#[cfg(test)]
mod testing;

pub use kernel::{Kernel, Version};
pub use parameter::{Parameter, Setup, Unit, Values};
pub use registry::{find as find_scheduler, AnyScheduler, Entry, ENTRIES};
pub use request::{Direction, Priority, PriorityClass, ProcessId, Request, RequestId};
pub use scheduler::Scheduler;
