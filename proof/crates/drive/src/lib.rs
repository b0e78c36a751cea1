//! Drive models served as network block devices (NBD) to the guests of the VM testbed, one unix socket per drive.
//!
//! ```text
//!   client ──► connection ──► engine ──────► Device (seekwise-device) says when each command is done
//!   (the guest's handshake,    one thread     │
//!    kernel)    requests       per drive ◄────┘ at that time: data from or to the medium, and the answer
//!                                 ▲
//!   control socket, --fault ──────┘ power cut, bad sectors, slow, dropped, torn write
//! ```
//!
//! Modelled:      time by the drive models; a volatile write cache that a power cut empties; faults (`fault.rs`).
//! Not modelled:  which cached sectors the drive has already destaged of its own accord: a power cut takes the worst case.
//! Protocol:      "The NBD protocol", NetworkBlockDevice/nbd, doc/proto.md: fixed newstyle, simple replies.

mod clock;
mod connection;
mod control;
mod engine;
pub mod fault;
pub mod handshake;
pub mod medium;
pub mod options;
mod orders;
pub mod protocol;
mod requests;
pub mod server;
pub mod statistics;
pub mod store;

pub use options::Options;
pub use orders::Notice;
pub use server::serve;
