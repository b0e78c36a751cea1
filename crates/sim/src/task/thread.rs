//! A program that reads and writes through the page cache.

use crate::task::ThreadPlan;
use seekwise_host::cache::pacing::Writer;
use seekwise_host::cache::read_ahead::{ReadAhead, Window};
use seekwise_host::job::Stream;
use seekwise_sched::Direction;
use seekwise_units::{Nanos, Sectors};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Stands in the agenda.
    Ready,
    WaitsForPage(u64),
    WaitsForRequest,
    Ended,
}

#[derive(Debug)]
pub struct CachedThread {
    pub plan: ThreadPlan,
    pub stream: Stream,
    pub read_ahead: ReadAhead,
    pub writer: Writer,
    pub state: State,
    pub left: u64,
    /// The call that is under way: its direction, the next page, its end.
    pub direction: Direction,
    pub page: u64,
    pub end: u64,
    pub sectors: Sectors,
    pub began: Nanos,
    pub in_call: bool,
    /// To be handed down once the processor has made its pages.
    pub window: Option<Window>,
    /// The rest of a window that found no request, as (first page, pages).
    pub rest: Option<(u64, u64)>,
    /// Token of the bio at the head of it.
    pub refused: Option<u32>,
    /// It slept for room and looks again.
    pub looks_again: bool,
    /// Processor time that is not booked yet.
    pub owed: Nanos,
    pub ended: Option<Nanos>,
}
