//! What a member of an array costs the processor that serves it.

use seekwise_units::Nanos;

/// Processor time of one request in one direction: in itself, and for each page of 4 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// Until the drive has it.
    pub send: Nanos,
    pub send_page: Nanos,
    /// From the drive's end until the block layer hears of it.
    pub receive: Nanos,
    pub receive_page: Nanos,
    /// The drive's own work beside, for which only others wait.
    pub behind: Nanos,
    pub behind_page: Nanos,
}

/// Of reads and writes; a flush is a write without data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Services {
    pub read: Service,
    pub write: Service,
}
