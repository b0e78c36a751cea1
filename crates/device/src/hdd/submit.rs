//! What comes of a command when it arrives: it waits for the arm, or the cache takes it.

use super::arm::{Blocked, State, Work};
use super::mechanics::Mechanics;
use super::ncq::{Head, Waiting};
use crate::device::{Command, Tag};
use seekwise_units::{Lba, Nanos};

impl State {
    /// The cache takes the write, or it waits for room there.
    #[inline]
    pub(super) fn cache_write(&mut self, mechanics: &Mechanics, now: Nanos, command: Command) {
        let Command {
            tag,
            start,
            sectors,
            ..
        } = command;
        let settle = mechanics.curve.write_settle;
        let taken = self.blocked_count == 0
            && self
                .dirty
                .accept(&mechanics.geometry, settle, start, sectors);
        if taken {
            let answered = now + mechanics.cached_overhead;
            let sending = mechanics.link_time(sectors);
            return self.link.push(tag.0, answered, sending);
        }
        self.blocked[self.blocked_count] = Blocked {
            tag: tag.0,
            start,
            sectors,
            arrival: now,
        };
        self.blocked_count += 1;
        self.wake_arm(mechanics, now);
    }

    /// Something of the cache is to reach the platters before it is answered.
    #[inline]
    pub(super) fn flush(&mut self, mechanics: &Mechanics, now: Nanos, tag: Tag) {
        self.dirty.flush(tag.0, now);
        self.wake_arm(mechanics, now + mechanics.cached_overhead);
    }

    /// An idle arm turns to what there is from `now` on.
    #[inline]
    fn wake_arm(&mut self, mechanics: &Mechanics, now: Nanos) {
        if matches!(self.work, Work::Idle) {
            self.free_at = self.free_at.max(now);
            self.decide(mechanics);
        }
    }

    /// The command waits for the arm: a write whole, a read, which began at `start`, with the part of it that no segment holds.
    #[inline]
    pub(super) fn queue_up(&mut self, mechanics: &Mechanics, mut waiting: Waiting, start: Lba) {
        let extent = mechanics.geometry.extent(waiting.start, waiting.sectors);
        let settle = if waiting.write {
            mechanics.curve.write_settle
        } else {
            0
        };
        waiting.transfer = extent.transfer;
        waiting.last = Head {
            cylinder: extent.last_cylinder,
            track: extent.last_track,
        };
        self.queue.push(waiting, &extent, settle);
        match self.work {
            Work::Idle => {
                self.free_at = self.free_at.max(waiting.arrival);
                self.follower = None;
                self.decide(mechanics);
            }
            Work::Command {
                read: true, end, ..
            } if !waiting.write && end == start => self.follower = Some(Tag(waiting.tag)),
            _ => {}
        }
    }
}
