//! A device without a medium: every command is done after a fixed time, any number side by side.
//!
//! Like the kernel's null_blk: for measuring what lies above the device.

use crate::device::{Command, Device, ReportedCache, Tag};
use seekwise_units::{Depth, Nanos, Sectors};

#[derive(Clone, Debug)]
pub struct Null {
    capacity: Sectors,
    latency: Nanos,
    /// Commands in flight, a ring: equal latencies leave in the order in which they came.
    tags: Box<[u32]>,
    done: Box<[Nanos]>,
    head: usize,
    len: usize,
    depth: Depth,
}

impl Null {
    /// An idle device; each command takes `latency`, however many are outstanding.
    pub fn new(capacity: Sectors, depth: Depth, latency: Nanos) -> Self {
        let slots = (depth.0.max(1) as usize).next_power_of_two();
        Self {
            capacity,
            latency,
            tags: vec![0; slots].into_boxed_slice(),
            done: vec![Nanos::ZERO; slots].into_boxed_slice(),
            head: 0,
            len: 0,
            depth,
        }
    }
}

impl Device for Null {
    fn capacity(&self) -> Sectors {
        self.capacity
    }

    fn depth(&self) -> Depth {
        self.depth
    }

    fn write_cache(&self) -> ReportedCache {
        ReportedCache::Safe
    }

    #[inline]
    fn submit(&mut self, now: Nanos, command: Command) {
        assert!(
            self.len < self.tags.len(),
            "more commands outstanding than the depth of the drive allows"
        );
        let slot = (self.head + self.len) & (self.tags.len() - 1);
        self.tags[slot] = command.tag.0;
        self.done[slot] = now + self.latency;
        self.len += 1;
    }

    #[inline]
    fn next_completion(&self) -> Option<Nanos> {
        (self.len > 0).then(|| self.done[self.head])
    }

    #[inline]
    fn complete_next(&mut self, _now: Nanos) -> Tag {
        let tag = self.tags[self.head];
        self.head = (self.head + 1) & (self.tags.len() - 1);
        self.len -= 1;
        Tag(tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::CommandKind;
    use seekwise_units::Lba;

    #[test]
    fn commands_leave_in_order_after_the_latency() {
        let mut null = Null::new(Sectors(1000), Depth(4), Nanos(100));
        for (tag, now) in [(3, 0), (1, 10), (2, 10)] {
            let command = Command {
                tag: Tag(tag),
                kind: CommandKind::Read,
                start: Lba(0),
                sectors: Sectors(8),
            };
            null.submit(Nanos(now), command);
        }
        let mut left = vec![];
        while let Some(time) = null.next_completion() {
            left.push((time.0, null.complete_next(time).0));
        }
        assert_eq!(left, [(100, 3), (110, 1), (110, 2)]);
    }
}
