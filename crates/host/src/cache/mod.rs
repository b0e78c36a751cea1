//! The page cache as a reader meets it.

pub mod read_ahead;
