//! Drive models. A device does not know who asks.

pub mod device;

pub use device::{Command, CommandKind, Device, Tag};
