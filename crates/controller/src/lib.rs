//! RAID controllers: devices whose inside is drives.
//!
//! ```text
//!   host ─► command queue ─► firmware ─► cache: read-ahead per stream, dirty rows ─► mapping, XOR ─► a queue per drive ─► drive
//!        ◄────────────────── host bus ◄─┘                                                            (one command, or NCQ)
//! ```
//!
//! A [`Controller`] is a [`Device`](seekwise_device::Device): a block layer above it sees one disk with a deep queue. What goes on inside is
//! its own: order, read-ahead, cache, level. [`Model`] reads `models/controller-*.toml`, where each number is a fact, an assumption with a
//! range, or set from a published observation.
//!
//! Modelled:      command queue, firmware time of a command, host bus with a rate for each way, write-back and write-through, read-ahead of
//!                sequential streams, alternating and nearest reads of mirrors, RAID 0, 1, 5, 6 and 10, reading old data and parity, the XOR
//!                engine, drives with NCQ or one command at a time; "fake" RAID, whose driver does the mapping and the XOR on the host.
//! Not modelled:  rebuild and verify in the background, a missing drive, journals of the write cache, errors.

mod cache;
mod controller;
mod destage;
mod fetches;
mod mapping;
mod member;
mod model;
mod reading;
mod row;
mod sparse;
mod streams;
mod turns;
mod writing;

pub use controller::{Controller, Counters, Setup};
pub use mapping::{Level, Mapping};
pub use model::{Basis, Choices, ControllerKind, Fact, Model, Parameter};
pub use seekwise_device::ModelError;
