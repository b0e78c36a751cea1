//! What threads ask of the storage, and when.
//!
//! `stream`: addresses drawn from a pattern.  The machine in `seekwise-sim` gives
//! each thread its processor time and carries its operations to the queue.

pub mod stream;

pub use stream::{Pattern, Stream};

use seekwise_sched::Direction;
use seekwise_units::{Lba, Nanos, Sectors};

/// One operation of a thread, before the block layer splits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    pub direction: Direction,
    pub start: Lba,
    pub sectors: Sectors,
}

/// When a thread issues its next operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// After one of its `depth` operations is done, and `think` later.
    Closed { depth: u32, think: Nanos },
    /// On a timetable, whatever is outstanding; `gap` between arrivals, and `think` at least between the beginnings of two operations.
    Open { gap: Gap, think: Nanos },
}

/// The time between two arrivals of a timetable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gap {
    Constant(Nanos),
    /// Exponentially distributed with this mean.
    Exponential(Nanos),
}

impl Gap {
    /// The time until the next operation; only the exponential kind uses `random`.
    #[inline]
    pub fn draw(&self, random: &mut crate::random::Random) -> Nanos {
        match *self {
            Self::Constant(span) => span,
            Self::Exponential(mean) => random.exponential(mean),
        }
    }
}
