//! Drives of exactly specified behaviour, on which the recordings of real kernels were made.
//!
//! `Fixed`: every command takes the same time from its start, `depth` at a time. `Linear`: one at a time, a base plus a share of the
//! distance from the end of the previous command. Source: the README of the recordings ("Devices").

use seekwise_device::{Command, Device, Tag};
use seekwise_units::{Depth, Lba, Nanos, Sectors};
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub struct Fixed {
    capacity: Sectors,
    depth: Depth,
    service: Nanos,
    /// Completions in order: with a constant service time first in is first out.
    outstanding: VecDeque<(Nanos, Tag)>,
}

impl Fixed {
    pub fn new(capacity: Sectors, depth: Depth, service: Nanos) -> Self {
        Self {
            capacity,
            depth,
            service,
            outstanding: VecDeque::with_capacity(depth.0.min(4096) as usize),
        }
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
        self.outstanding
            .push_back((now + self.service, command.tag));
    }
    #[inline]
    fn next_completion(&self) -> Option<Nanos> {
        self.outstanding.front().map(|&(at, _)| at)
    }
    #[inline]
    fn complete_next(&mut self, _now: Nanos) -> Tag {
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
            outstanding: None,
        }
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
        self.outstanding = Some((now + time, command.tag));
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
