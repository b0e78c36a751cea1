//! What the host's queue has below it: a drive, or a controller with drives inside.

use seekwise_controller::Controller;
use seekwise_device::{Command, Device, Drive, Tag};
use seekwise_units::{Bytes, Depth, Nanos, Sectors};

// One a queue, moved once.
#[allow(clippy::large_enum_variant)]
pub enum Unit {
    Drive(Drive),
    Controller(Box<Controller>),
}

macro_rules! each {
    ($unit:expr, $device:ident => $body:expr) => {
        match $unit {
            Unit::Drive($device) => $body,
            Unit::Controller($device) => $body,
        }
    };
}

impl Device for Unit {
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

    fn next_completion(&self) -> Option<Nanos> {
        each!(self, device => device.next_completion())
    }

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

    fn held(&self) -> Bytes {
        each!(self, device => device.held())
    }

    #[inline]
    fn take_host_work(&mut self) -> Nanos {
        each!(self, device => device.take_host_work())
    }
}
