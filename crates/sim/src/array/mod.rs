//! A whole storage: several drives under one volume, read directly or through the page cache.
//!
//! ```text
//!   reader ──pages──▶ page cache, read-ahead ──bios──▶ volume (single, RAID) ──bios──▶ member: queue + policy ──▶ drive
//! ```
//!
//! Each member has its own queue and scheduler; the volume has none. A controller's unit is one member: drives, level and cache are inside
//! it (crate `controller`). One run is (configuration, seed, version) and nothing else.
//!
//! Modelled:      readers and writers, direct or through the page cache, over files or the raw volume; RAID 0, 1, 5, 6 and 10, of which
//!                `stripes` writes parity. Arrays with direct I/O and every tunable of their queues are cells (`cell`, `md`).

pub mod cell;
pub mod files;
pub mod hosts;
pub mod machine;
pub mod md;
mod members;
pub mod rates;
pub mod spec;
pub mod storage;
mod stripes;
pub mod unit;
pub mod volume;

pub use files::{FilesPlan, PhaseOutcome, PhasePlan};
pub use machine::{ArrayMachine, HostCosts, ReaderKind, ReaderPlan};
pub use volume::Volume;
