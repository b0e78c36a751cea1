//! The integration tests of the crate, one binary: `cargo test -p seekwise-sim --test it MODULE`.

mod arrays;
mod cells;
mod files;
mod files_blk_mq;
mod machine;
mod once;
mod properties;
mod short;
mod storages;
