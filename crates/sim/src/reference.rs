//! Drives of exactly specified behaviour, on which the recordings of real kernels were made.
//!
//! `Fixed`: every command takes the same time from its start, `depth` at a time. `Linear`: one at a time, a base plus a share of the
//! distance from the end of the previous command. Source: the README of the recordings ("Devices").

use seekwise_device::{Command, Device, Tag};
use seekwise_units::{Depth, Lba, Nanos, Sectors};
use std::collections::VecDeque;

/// What the recorded machine's processor adds to a drive of exactly known service time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// From the queue's decision in a thread until the drive starts.
    pub from_thread: Nanos,
    /// The same when a completion let the queue run: the rest of the interrupt comes first.
    pub from_interrupt: Nanos,
    /// Every further command started in the same moment.
    pub next_start: Nanos,
    /// From the drive's end until the completion is seen.
    pub interrupt: Nanos,
    /// Interrupts are served one after the other: at least this far apart.
    pub apart: Nanos,
}

/// Times on the path of the command that is being started.
#[derive(Clone, Copy, Debug, Default)]
struct Walk {
    path: Path,
    last_now: Nanos,
    last_start: Nanos,
    last_seen: Nanos,
    last_taken: Option<Nanos>,
}

impl Walk {
    fn start(&mut self, now: Nanos) -> Nanos {
        let start = if self.last_taken == Some(now) && self.last_now != now {
            now + self.path.from_interrupt
        } else if self.last_now == now && self.last_start > now {
            self.last_start + self.path.next_start
        } else {
            now + self.path.from_thread
        };
        self.last_now = now;
        self.last_start = start;
        start
    }

    fn seen(&mut self, end: Nanos) -> Nanos {
        let seen = (end + self.path.interrupt).max(self.last_seen + self.path.apart);
        self.last_seen = seen;
        seen
    }
}

#[derive(Clone, Debug)]
pub struct Fixed {
    capacity: Sectors,
    depth: Depth,
    service: Nanos,
    walk: Walk,
    /// Completions in order: with a constant service time first in is first out.
    outstanding: VecDeque<(Nanos, Tag)>,
}

impl Fixed {
    pub fn new(capacity: Sectors, depth: Depth, service: Nanos) -> Self {
        Self {
            capacity,
            depth,
            service,
            walk: Walk::default(),
            outstanding: VecDeque::with_capacity(depth.0.min(4096) as usize),
        }
    }

    pub fn behind(mut self, path: Path) -> Self {
        self.walk.path = path;
        self
    }
}

impl Device for Fixed {
    fn capacity(&self) -> Sectors {
        self.capacity
    }
    fn depth(&self) -> Depth {
        self.depth
    }
    #[inline]
    fn submit(&mut self, now: Nanos, command: Command) {
        let end = self.walk.start(now) + self.service;
        let seen = self.walk.seen(end);
        self.outstanding.push_back((seen, command.tag));
    }
    #[inline]
    fn next_completion(&self) -> Option<Nanos> {
        self.outstanding.front().map(|&(at, _)| at)
    }
    #[inline]
    fn complete_next(&mut self, now: Nanos) -> Tag {
        self.walk.last_taken = Some(now);
        self.outstanding
            .pop_front()
            .expect("a command is outstanding")
            .1
    }
}

#[derive(Clone, Debug)]
pub struct Linear {
    capacity: Sectors,
    base: Nanos,
    sectors_per_nano: u64,
    head: Lba,
    walk: Walk,
    outstanding: Option<(Nanos, Tag)>,
}

impl Linear {
    /// A command takes `base` + distance / `sectors_per_nano` ns (integer division).
    pub fn new(capacity: Sectors, base: Nanos, sectors_per_nano: u64) -> Self {
        Self {
            capacity,
            base,
            sectors_per_nano: sectors_per_nano.max(1),
            head: Lba(0),
            walk: Walk::default(),
            outstanding: None,
        }
    }

    pub fn behind(mut self, path: Path) -> Self {
        self.walk.path = path;
        self
    }
}

impl Device for Linear {
    fn capacity(&self) -> Sectors {
        self.capacity
    }
    fn depth(&self) -> Depth {
        Depth(1)
    }
    fn submit(&mut self, now: Nanos, command: Command) {
        debug_assert!(self.outstanding.is_none());
        let time = self.base + Nanos(command.start.distance(self.head) / self.sectors_per_nano);
        self.head = command.start + command.sectors;
        let end = self.walk.start(now) + time;
        self.outstanding = Some((self.walk.seen(end), command.tag));
    }
    fn next_completion(&self) -> Option<Nanos> {
        self.outstanding.map(|(at, _)| at)
    }
    fn complete_next(&mut self, _now: Nanos) -> Tag {
        self.outstanding.take().expect("a command is outstanding").1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_device::CommandKind;

    fn read(tag: u32, start: u64) -> Command {
        Command {
            tag: Tag(tag),
            kind: CommandKind::Read,
            start: Lba(start),
            sectors: Sectors(8),
        }
    }

    #[test]
    fn linear_takes_a_base_and_the_distance_from_the_last_end() {
        let mut d = Linear::new(Sectors(1_953_525_168), Nanos(1_000_000), 100);
        d.submit(Nanos(0), read(0, 1_000_050));
        assert_eq!(d.next_completion(), Some(Nanos(1_010_000)));
        d.complete_next(Nanos(1_010_000));
        d.submit(Nanos(2_000_000), read(0, 58));
        assert_eq!(
            d.next_completion(),
            Some(Nanos(2_000_000 + 1_000_000 + 10_000))
        );
    }

    #[test]
    fn fixed_serves_each_with_its_own_time() {
        let mut d = Fixed::new(Sectors(1000), Depth(2), Nanos(5_000_000));
        d.submit(Nanos(0), read(1, 0));
        d.submit(Nanos(100), read(0, 8));
        assert_eq!(d.complete_next(Nanos(5_000_000)), Tag(1));
        assert_eq!(d.next_completion(), Some(Nanos(5_000_100)));
    }
}
