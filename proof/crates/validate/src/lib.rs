//! The simulator against recordings of real machines.
//!
//! `rates`, `recorded`: rates of whole machines, which `machine` builds. `cores`: many cores over fast drives.

pub mod cores;
pub mod machine;
pub mod rates;
pub mod recorded;
