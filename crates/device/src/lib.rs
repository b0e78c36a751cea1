//! Drive models. A device does not know who asks.
//!
//! [`Model`] reads and checks the parameters of a drive, [`Drive`] is the running device, [`hdd`], [`ssd`](crate::ssd),
//! [`null`] and [`exact`] are the kinds of device.

pub mod device;
pub mod exact;
pub mod hdd;
pub mod measure;
pub mod model;
pub mod null;
pub mod ssd;

pub use device::{Command, CommandKind, Device, Tag};
pub use model::{Model, ModelError};

use seekwise_units::{Depth, Nanos, Sectors};

/// Any of the devices; calls are chosen by kind, so that an inner loop has no pointer to follow.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a run has few drives, and each lives in its own place"
)]
pub enum Drive {
    Hdd(hdd::Hdd),
    Ssd(ssd::Ssd),
    Exact(exact::Exact),
    Null(null::Null),
}

impl Drive {
    /// The `instance`-th drive of a model: same parameters, but no two spindles turn in step.
    pub fn new(model: &Model, instance: u32) -> Result<Self, ModelError> {
        model.build(instance)
    }
}

macro_rules! each {
    ($drive:expr, $device:ident => $body:expr) => {
        match $drive {
            Drive::Hdd($device) => $body,
            Drive::Ssd($device) => $body,
            Drive::Exact($device) => $body,
            Drive::Null($device) => $body,
        }
    };
}

impl Device for Drive {
    fn capacity(&self) -> Sectors {
        each!(self, device => device.capacity())
    }

    fn depth(&self) -> Depth {
        each!(self, device => device.depth())
    }

    #[inline]
    fn submit(&mut self, now: Nanos, command: Command) {
        each!(self, device => device.submit(now, command))
    }

    #[inline]
    fn next_completion(&self) -> Option<Nanos> {
        each!(self, device => device.next_completion())
    }

    #[inline]
    fn complete_next(&mut self, now: Nanos) -> Tag {
        each!(self, device => device.complete_next(now))
    }

    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        each!(self, device => device.next_event())
    }

    #[inline]
    fn advance(&mut self, now: Nanos) -> Option<Tag> {
        each!(self, device => device.advance(now))
    }
}
