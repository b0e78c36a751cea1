//! Drive models. A device does not know who asks.
//!
//! [`Model`] reads and checks the parameters of a drive, [`Drive`] is the running device, [`hdd`], [`ssd`](crate::ssd),
//! [`null`] are the kinds of device.

pub mod device;
pub mod hdd;
pub mod measure;
pub mod model;
pub mod null;
pub mod ssd;

pub use device::{Command, CommandKind, Device, ReportedCache, Tag};
pub use model::{Attachment, Model, ModelError};

/// Any of the devices; calls are chosen by kind, so that an inner loop has no pointer to follow.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a run has few drives, and each lives in its own place"
)]
pub enum Drive {
    Hdd(hdd::Hdd),
    Ssd(ssd::Ssd),
    Null(null::Null),
}

impl Drive {
    /// The `instance`-th drive of a model: same parameters, but no two spindles turn in step.
    pub fn new(model: &Model, instance: u32) -> Result<Self, ModelError> {
        model.build(instance)
    }
}

device_is_one_of!(Drive { Hdd, Ssd, Null });
