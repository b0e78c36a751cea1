//! The integration tests of the crate, one binary: `cargo test -p seekwise-raid --test it MODULE`.

mod data_survives;
mod memory;
