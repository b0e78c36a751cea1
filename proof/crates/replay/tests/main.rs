//! The integration tests of the crate, one binary: `cargo test -p seekwise-replay --test it MODULE`.

mod blk_mq;
mod mangled;
mod mapping;
mod vectors;
