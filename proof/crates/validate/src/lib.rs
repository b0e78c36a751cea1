//! The simulator against recordings of real machines.
//!
//! `bench`: the simulator's own speed. `rates`, `recorded`: rates of whole machines, which `machine` builds. `cores`: many cores over fast drives.

pub mod bench;
pub mod cores;
pub mod machine;
pub mod rates;
pub mod recorded;
