//! What the host's queue has below it: a drive, or a controller with drives inside.

use seekwise_controller::Controller;
use seekwise_device::Drive;

// One a queue, moved once.
#[allow(clippy::large_enum_variant)]
pub enum StorageUnit {
    Drive(Drive),
    Controller(Box<Controller>),
}

seekwise_device::device_is_one_of!(StorageUnit { Drive, Controller });
