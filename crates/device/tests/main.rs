//! The integration tests of the crate, one binary: `cargo test -p seekwise-device --test it MODULE`.

mod disk_by_hand;
mod known_gains;
mod properties;
mod published_facts;
mod streams;
