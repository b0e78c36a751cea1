//! The integration tests of the crate, one binary: `cargo test -p seekwise-controller --test it MODULE`.

mod properties;
