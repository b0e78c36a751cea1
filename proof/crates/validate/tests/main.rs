//! The integration tests of the crate, one binary: `cargo test -p seekwise-validate --test it MODULE`.

mod bench;
mod files;
mod machine_rates;
mod recorded;
