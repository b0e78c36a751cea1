//! The models against recordings of real machines.
//!
//! `rates`, `recorded`: rates of whole machines. `whole`: one processor instruction by instruction, on purpose apart from the engine.

pub mod rates;
pub mod recorded;
pub mod whole;
