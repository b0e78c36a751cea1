//! The simulator against recordings of real machines.
//!
//! `rates`, `recorded`: rates of whole machines, which `machine` builds. `cores`: many cores over fast drives. `closed_loop`: order and times of recorded runs, from what was submitted alone.

pub mod closed_loop;
pub mod cores;
pub mod machine;
pub mod rates;
pub mod recorded;
