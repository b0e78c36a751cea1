//! The machine: clock, event order and wiring. The only place where all parts meet.
//!
//! ```text
//!   spec ──▶ cell ──▶ machine ◀── host::job      threads: what they ask for
//!   (JSON)    │          │    ◀── host::block    the queue around ◀── sched  the policy
//!             │          │    ◀── host::cpu      who is busy, what it costs
//!             ▼          └─────▶ device          a drive behind host::block::Driver
//!           result (JSON)
//! ```
//!
//! A run is (spec, seed, version) and nothing else: integer nanoseconds, equal times in insertion order, no wall clock, no hash-map order.
//! A machine is generic over queue, policy and drive, so the inner loop has no boxed call; `cell` chooses the combination once per cell.

pub mod agenda;
pub mod array;
pub mod bench;
pub mod buffered;
pub mod build;
pub mod cell;
pub mod controller;
pub mod drive;
pub mod histogram;
pub mod host;
pub mod invariants;
pub mod machine;
pub mod parallel;
pub mod plan;
pub mod probe;
pub mod reference;
pub mod result;
pub mod served;
pub mod spec;
pub mod spindle;
pub mod stack;
pub mod trace;
pub mod whole;

/// Raised with every change that can alter a number; each change is explained in the changelog under *Results*.
pub const MODEL_VERSION: u32 = 11;
