//! Several processors, each with a run queue and a hardware queue of its own, over one or several fast drives.
//!
//! ```text
//!   process ─▶ processor (run queue) ─▶ merge ─▶ insert ─▶ dispatch ─▶ hardware queue of the processor ─▶ drive
//!                  ▲                     └────── one lock a drive: waiters spin ──────┘                    │
//!                  └──────────── interrupt on the processor that submitted ◀───────────────────────────────┘
//! ```
//!
//! The engine beside this (`engine/`) books a processor's work as one sum per operation: right where a drive is slower than a processor, and
//! fast. Here it is the other way round: the order in which processors reach a lock, who spins meanwhile and whose turn it is on a
//! processor are the result. So the steps of an operation are events of their own, and there is no operation without them.
//!
//! Modelled:      processors with the fair scheduler of 6.3 ([`processor`]), asynchronous programs that submit and reap one by one
//!                (io_uring, libaio), interrupts, one lock per drive and scheduler ([`lock`]), scheduler tags per hardware queue, the
//!                policies of `crates/sched` and the drives of `crates/device` as they are, dispatch by the submitter or by a kernel
//!                worker, several drives.
//! Not modelled:  merges (addresses are at random; the look-up costs what it costs), polling, sockets and NUMA, write-back throttling
//!                (direct writes are exempt), a kyber of its own per hardware queue.

pub mod costs;
pub mod lock;
mod machine;
mod process;
pub mod processor;
mod side;
pub mod spec;
pub(crate) mod trial;

pub use costs::{HostCosts, Sections};
pub use machine::Machine;
pub use spec::{run, Group, Outcome, Plan};
