//! The simulator against recordings of real machines.
//!
//! `bench`: the simulator's own speed. `chain`: commands of a drive one after the other. `rates`, `recorded`: rates of whole machines, which `machine` builds. `cores`: many cores over fast drives. `exact`: the disk of the recordings.

pub mod bench;
pub mod chain;
pub mod cores;
pub mod exact;
pub mod machine;
pub mod rates;
pub mod recorded;
