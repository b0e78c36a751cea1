//! Drive models served in real time as network block devices (NBD), one unix socket per drive.
//!
//! ```text
//!   client ──► connection ──► engine ──────► Device (seekwise-device) says when each command is done
//!   (kernel,    handshake,     one thread     │
//!    fio, …)    requests       per drive ◄────┘ at that time: data from or to the medium, and the answer
//!                                 ▲
//!   control socket, --fault ──────┘ power cut, bad sectors, slow, dropped, torn write
//! ```
//!
//! Modelled:      time by the drive models; a volatile write cache that a power cut empties; faults (`fault.rs`).
//! Not modelled:  which cached sectors the drive has already destaged of its own accord: a power cut takes the worst case.
//! Protocol:      "The NBD protocol", NetworkBlockDevice/nbd, doc/proto.md: fixed newstyle, simple replies.

mod awake;
pub mod client;
mod clock;
mod connection;
mod control;
mod engine;
pub mod fault;
mod files;
pub mod handshake;
mod lock;
pub mod medium;
pub mod options;
mod orders;
mod processors;
pub mod protocol;
mod real_time;
mod requests;
pub mod server;
mod sockets;
pub mod statistics;
pub mod store;
mod transport;

pub use options::{Options, ServeError};
pub use orders::Notice;
pub use server::serve;
