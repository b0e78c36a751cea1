//! The tests of the crate, one binary: `cargo test -p seekwise-sim --test it MODULE`. None stands in the crate itself: as a library of tests it
//! would be compiled a second time, which takes a minute.

mod agenda;
mod arrays;
mod controllers;
mod cores;
mod costs;
mod files;
mod files_blk_mq;
mod flushes;
mod kernels;
mod machine;
mod once;
mod programs;
mod properties;
mod results;
mod served;
mod short;
mod soonest;
mod storages;
mod traced;
mod trials;
