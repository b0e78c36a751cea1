//! A program that keeps a number of operations outstanding: it reaps one, submits one, and sleeps when nothing is there to be reaped.

use seekwise_host::job::Stream;
use seekwise_sched::Direction;
use seekwise_units::{Lba, Nanos, Sectors};
use std::collections::VecDeque;

/// An operation on its way to a drive.
#[derive(Clone, Copy, Debug)]
pub struct Submitting {
    pub io: u32,
    pub drive: usize,
    pub direction: Direction,
    pub start: Lba,
    pub sectors: Sectors,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// On a processor or in its run queue.
    Runnable,
    /// Waits for an operation to be done.
    Asleep,
    /// Waits for a scheduler tag.
    Blocked,
}

#[derive(Debug)]
pub struct Process {
    pub group: usize,
    pub stream: Stream,
    pub depth: u32,
    pub outstanding: u32,
    /// When each operation's system call returned (fio counts completion latency from there), and its direction and length.
    pub issued: Vec<(Nanos, Direction, Sectors)>,
    pub free: Vec<u32>,
    /// Done, and not reaped yet.
    pub done: VecDeque<u32>,
    /// Found no tag.
    pub blocked: Option<Submitting>,
    pub next_drive: usize,
    pub core: usize,
    pub state: State,
    /// Processor time that the fair scheduler has charged, in ns.
    pub virtual_runtime: u64,
}

impl Process {
    /// A runnable process with nothing outstanding, on `core`, whose first operation goes to `next_drive`.
    pub fn new(group: usize, stream: Stream, depth: u32, core: usize, next_drive: usize) -> Self {
        Self {
            group,
            stream,
            depth,
            outstanding: 0,
            issued: vec![(Nanos::ZERO, Direction::Read, Sectors(0)); depth as usize],
            free: (0..depth).rev().collect(),
            done: VecDeque::with_capacity(depth as usize),
            blocked: None,
            next_drive,
            core,
            state: State::Runnable,
            virtual_runtime: 0,
        }
    }

    /// The next operation; drives are taken in turn (fio: file_service_type=roundrobin).
    #[inline]
    pub fn draw(&mut self, drives: usize) -> Submitting {
        let operation = self.stream.draw();
        let drive = self.next_drive;
        self.next_drive = if drive + 1 == drives { 0 } else { drive + 1 };
        self.outstanding += 1;
        let io = self
            .free
            .pop()
            .expect("fewer are outstanding than its depth");
        Submitting {
            io,
            drive,
            direction: operation.direction,
            start: operation.start,
            sectors: operation.sectors,
        }
    }
}
