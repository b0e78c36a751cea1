//! Holds scheduler and RAID models against recordings of real kernels.
//!
//! [`verify_vectors`] is the whole of `seekwise verify vectors`: paths in, outcome out. A kind of recording is a module:
//! [`legacy`] for kernels with the single request queue, [`blk_mq`] for those with many.

pub mod blk_mq;
pub mod journal;
pub mod legacy;
pub mod mapping;
pub mod outcome;
pub mod processes;
pub mod queue;
pub mod rows;
pub mod text_file;
pub mod vectors;
mod walk;

pub use outcome::{FileOutcome, Look, Miss, Score};
pub use vectors::{verify_vectors, Options, Outcome};
