//! Small requests and set-ups for the tests of the policies.

use crate::kernel::Kernel;
use crate::parameter::Setup;
use crate::request::{Direction, Priority, ProcessId, Request, RequestId};
use seekwise_units::{Lba, Nanos, Sectors};

/// Defaults of a kernel, such as "6.1", at 1000 ticks per second; panics for a name that is none.
pub fn setup(kernel: &str) -> Setup {
    Setup::new(Kernel::parse(kernel, 1000).expect("kernel of a test"))
}

/// A sync read of 8 sectors by process 1, allocated at time 0.
pub fn read(id: u32, sector: u64) -> Request {
    Request {
        id: RequestId(id),
        start: Lba(sector),
        sectors: Sectors(8),
        direction: Direction::Read,
        sync: true,
        no_idle: false,
        metadata: false,
        process: ProcessId(1),
        priority: Priority::default(),
        allocated: Nanos(0),
    }
}

/// An async write of 8 sectors by process 1, allocated at time 0.
pub fn write(id: u32, sector: u64) -> Request {
    Request {
        direction: Direction::Write,
        sync: false,
        ..read(id, sector)
    }
}
