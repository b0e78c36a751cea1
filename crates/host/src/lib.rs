//! Everything above the drive's queue.
//!
//! ```text
//!   job/      threads: what they ask for, and when            (here now)
//!   cache/    page cache: memory, read-ahead, write-back      (sits between job and block)
//!   file/     placement of files on the device, the journal   (turns pages into blocks)
//!   block/    plug, merge, tags, the queue around a scheduler (here now)
//!   cpu/      what all this costs, and who pays               (here now)
//! ```
//!
//! Nothing here knows a drive model: `block::Driver` is the border, and `seekwise-sim` puts a device behind it.

pub mod block;
pub mod cache;
pub mod cpu;
pub mod file;
pub mod job;
pub mod random;
