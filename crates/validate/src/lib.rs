//! The simulator against recordings of real machines.
//!
//! `rates`, `recorded`: rates of whole machines, by the simulator's engine. `whole`: one processor instruction by instruction, on purpose apart
//! from the engine.

pub mod rates;
pub mod recorded;
pub mod whole;
