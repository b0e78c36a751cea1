//! What every drive model offers to a queue, simulated or served over the network.

use seekwise_units::{Bytes, Depth, Lba, Nanos, Sectors};

/// Name of an outstanding command, chosen by the host, below the device's depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandKind {
    Read,
    Write { force_unit_access: bool },
    Flush,
    Trim,
}

impl CommandKind {
    /// A write that the cache may keep.
    pub const WRITE: Self = Self::Write {
        force_unit_access: false,
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    pub tag: Tag,
    pub kind: CommandKind,
    pub start: Lba,
    pub sectors: Sectors,
}

impl Command {
    pub fn of(tag: u32, kind: CommandKind, start: Lba, sectors: Sectors) -> Self {
        Self {
            tag: Tag(tag),
            kind,
            start,
            sectors,
        }
    }
}

/// What the host has to ask for so that a write is on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportedCache {
    /// Nothing: there is none, or it survives the loss of power, and the drive says so.
    Safe,
    /// A flush behind the write. libata leaves forced unit access off (`libata.fua`).
    Flushed,
    /// The write itself may be forced: NVMe (drivers/nvme/host/core.c sets both at once).
    Forced,
}

/// A drive as its host sees it: commands go in, completions come out at their time.
///
/// The host calls `submit` and `complete_next` in the order of simulated time. A device decides what to serve next
/// when it becomes free, from what it holds then; so `next_completion` may change after `submit`.
pub trait Device {
    fn capacity(&self) -> Sectors;

    /// Commands that the device holds at once.
    fn depth(&self) -> Depth;

    /// Takes a command. The caller keeps at most `depth` outstanding.
    fn submit(&mut self, now: Nanos, command: Command);

    /// When the next outstanding command is done, given that nothing more is submitted before; `None` when idle.
    fn next_completion(&self) -> Option<Nanos>;

    /// Takes out the command that is done at [`Device::next_completion`], with `now` equal to that time.
    fn complete_next(&mut self, now: Nanos) -> Tag;

    /// When the device next does something of its own accord, never after its next completion. Differs from [`Device::next_completion`] in
    /// devices made of devices, where what is inside takes steps of which the host hears nothing.
    fn next_event(&self) -> Option<Nanos> {
        self.next_completion()
    }

    /// Takes the step that is due at [`Device::next_event`], with `now` equal to that time; the command that is done by it, if any.
    fn advance(&mut self, now: Nanos) -> Option<Tag> {
        Some(self.complete_next(now))
    }

    /// What the drive reports of its write cache.
    fn write_cache(&self) -> ReportedCache {
        ReportedCache::Flushed
    }

    /// Data whose completion the host was notified of and that are still in a memory above the medium. Drives' own write caches are not counted.
    fn held(&self) -> Bytes {
        Bytes(0)
    }

    /// Processor time that the host has spent on the device's own work (fake RAID) since this was last asked; none for all others.
    fn take_host_work(&mut self) -> Nanos {
        Nanos::ZERO
    }
}

/// Makes an enumeration of devices a device: each call goes to the one that it is.
#[macro_export]
macro_rules! device_is_one_of {
    ($name:ident { $($variant:ident),+ }) => {
        impl $crate::Device for $name {
            fn capacity(&self) -> seekwise_units::Sectors {
                match self { $(Self::$variant(device) => device.capacity()),+ }
            }
            fn depth(&self) -> seekwise_units::Depth {
                match self { $(Self::$variant(device) => device.depth()),+ }
            }
            #[inline]
            fn submit(&mut self, now: seekwise_units::Nanos, command: $crate::Command) {
                match self { $(Self::$variant(device) => device.submit(now, command)),+ }
            }
            #[inline]
            fn next_completion(&self) -> Option<seekwise_units::Nanos> {
                match self { $(Self::$variant(device) => device.next_completion()),+ }
            }
            #[inline]
            fn complete_next(&mut self, now: seekwise_units::Nanos) -> $crate::Tag {
                match self { $(Self::$variant(device) => device.complete_next(now)),+ }
            }
            #[inline]
            fn next_event(&self) -> Option<seekwise_units::Nanos> {
                match self { $(Self::$variant(device) => device.next_event()),+ }
            }
            #[inline]
            fn advance(&mut self, now: seekwise_units::Nanos) -> Option<$crate::Tag> {
                match self { $(Self::$variant(device) => device.advance(now)),+ }
            }
            fn write_cache(&self) -> $crate::ReportedCache {
                match self { $(Self::$variant(device) => device.write_cache()),+ }
            }
            fn held(&self) -> seekwise_units::Bytes {
                match self { $(Self::$variant(device) => device.held()),+ }
            }
            #[inline]
            fn take_host_work(&mut self) -> seekwise_units::Nanos {
                match self { $(Self::$variant(device) => device.take_host_work()),+ }
            }
        }
    };
}
