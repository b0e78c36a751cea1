//! What the host's queue has below it: a drive, a controller with drives inside, or the disk of a guest.

use super::served::Served;
use seekwise_controller::Controller;
use seekwise_device::Drive;

// One a queue, moved once.
#[allow(clippy::large_enum_variant)]
pub enum StorageUnit {
    Drive(Drive),
    Controller(Box<Controller>),
    Guest(Box<Served<Drive>>),
}

seekwise_device::device_is_one_of!(StorageUnit {
    Drive,
    Controller,
    Guest
});
