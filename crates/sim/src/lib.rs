//! The simulator: a specification, assembled into an engine, gives a result. The only place where all parts meet.
//!
//! ```text
//!   spec ──▶ assemble ──▶ engine ◀── task         threads direct or buffered, flusher      ◀── host::job, host::cache
//!   (JSON)                  │    ◀── files        programs on regions and file systems, journal
//!                           │    ◀── storage      a drive, md: for tasks and files alike   ◀── host::block ◀── sched, device
//!                           │    ◀── cost         what it costs the processors             ◀── models/host-*.toml
//!                           ▼
//!                         result (JSON)
//! ```
//!
//! A run is (spec, seed, version) and nothing else: integer nanoseconds, equal times in insertion order, no wall clock, no hash-map order.
//! The engine is generic over queue, policy and drive, so the inner loop has no boxed call; `assemble` chooses the combination once per trial.

pub mod assemble;
pub mod cores;
pub mod cost;
pub mod engine;
pub mod files;
pub mod parallel;
pub mod queue;
pub mod result;
pub mod spec;
pub mod storage;
pub mod task;
pub mod trial;

/// Raised with every change that can alter a number; each change is explained in the changelog under *Results*.
pub const MODEL_VERSION: u32 = 42;
