//! A whole storage: several drives under one volume, read directly or through the page cache.
//!
//! ```text
//!   reader ──pages──▶ page cache, read-ahead ──bios──▶ volume (single, RAID) ──bios──▶ member: queue + policy ──▶ drive
//! ```
//!
//! Each member has its own queue and scheduler; the volume has none. One run is (configuration, seed, version) and nothing else.
//!
//! Modelled:      buffered sequential readers with read-ahead, direct random readers, RAID 0, 1, 5 and 10 reads, one processor.
//! Not modelled:  writes through md and the page cache, memory pressure, file systems (readers see the raw volume).

pub mod machine;
pub mod rates;
pub mod volume;

pub use machine::{ArrayMachine, HostCosts, ReaderKind, ReaderPlan};
pub use volume::Volume;
