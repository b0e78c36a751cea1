//! The integration tests of the crate, one binary: `cargo test -p seekwise-sched --test it MODULE`.

mod anticipatory;
mod bfq;
mod cfq;
mod common;
mod deadline;
mod pass;
mod properties;
