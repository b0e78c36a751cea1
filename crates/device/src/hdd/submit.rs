//! What comes of a command when it arrives: it waits for the arm, or the cache takes it.

use super::arm::{ArmWork, Blocked, State};
use super::cache::NO_SEGMENT;
use super::mechanics::Mechanics;
use super::ncq::{Head, QueuedCommand};
use crate::device::{Command, Tag};
use seekwise_units::{Lba, Nanos, Sectors};

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
        if matches!(self.work, ArmWork::Idle) {
            self.free_at = self.free_at.max(now);
            self.decide(mechanics);
        }
    }

    /// The command waits for the arm: a write whole, a read with the part that no segment holds, `missing`: from which address on, and the
    /// segment that ends there.
    #[inline(always)]
    pub(super) fn queue_up(
        &mut self,
        mechanics: &Mechanics,
        now: Nanos,
        command: Command,
        missing: Option<(Lba, usize)>,
    ) {
        let (from, segment) = missing.unwrap_or((command.start, NO_SEGMENT));
        let end = command.start + command.sectors;
        let sectors = Sectors(end.0 - from.0);
        let extent = mechanics.geometry.extent(from, sectors);
        let write = missing.is_none();
        let settle = if write {
            mechanics.curve.write_settle
        } else {
            0
        };
        let waiting = QueuedCommand {
            tag: command.tag.0,
            write,
            start: from,
            sectors,
            arrival: now,
            segment,
            transfer: extent.transfer,
            last: Head {
                cylinder: extent.last_cylinder,
                track: extent.last_track,
            },
        };
        let passed = mechanics.passing_ticks(extent.transfer);
        self.queue.push(waiting, &extent, settle, passed);
        match self.work {
            ArmWork::Idle => {
                self.free_at = self.free_at.max(now);
                self.follower = None;
                self.decide(mechanics);
            }
            ArmWork::Command {
                read: true,
                end: reached,
                ..
            } if !write && reached == command.start => self.follower = Some(command.tag),
            _ => {}
        }
    }
}
