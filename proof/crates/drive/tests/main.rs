//! The integration tests of the crate, one binary: `cargo test -p seekwise-drive --test it MODULE`.

mod common;
mod faults;
mod handshake;
mod integrity;
