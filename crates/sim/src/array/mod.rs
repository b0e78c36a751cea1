//! A whole storage: several drives under one volume, read directly or through the page cache.
//!
//! ```text
//!   reader ──pages──▶ page cache, read-ahead ──bios──▶ volume (single, RAID) ──bios──▶ member: queue + policy ──▶ drive
//! ```
//!
//! Each member has its own queue and scheduler; the volume has none. A controller's unit is one member: drives, level and cache are inside
//! it (crate `controller`). One run is (configuration, seed, version) and nothing else.
//!
//! Modelled:      buffered sequential readers with read-ahead, direct readers and writers, RAID 0, 1, 5 and 10 reads, direct writes to all but
//!                parity RAID, one processor.
//! Not modelled:  parity writes, writes through the page cache, memory pressure, file systems (readers see the raw volume).

pub mod cell;
pub mod files;
pub mod hosts;
pub mod machine;
pub mod md;
pub mod rates;
pub mod spec;
pub mod storage;
pub mod unit;
pub mod volume;

pub use files::{FilesPlan, PhaseOutcome, PhasePlan};
pub use machine::{ArrayMachine, HostCosts, ReaderKind, ReaderPlan};
pub use volume::Volume;
