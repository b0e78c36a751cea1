//! A drive of exactly specified behaviour, on which decisions of real kernels were recorded: one command at a time, a base time plus a share
//! of the distance from the end of the command before. Source: the README of the recordings ("Devices").

use crate::device::{Command, Device, Tag};
use seekwise_units::{Depth, Lba, Nanos, Sectors};

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
    use crate::device::CommandKind;

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
}
