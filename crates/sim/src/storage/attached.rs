//! A drive model behind the queue's [`Driver`] border, with its busy time.

use core::cell::Cell;
use seekwise_device::{Command, CommandKind, Device};
use seekwise_host::block::{Access, Driver};
use seekwise_sched::Direction;
use seekwise_units::{Lba, Nanos, Sectors};

/// Commands of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given {
    pub commands: u64,
    pub sectors: u64,
}

#[derive(Clone, Debug)]
pub struct AttachedDrive<D> {
    pub device: D,
    depth: u32,
    outstanding: u32,
    /// When the device's next event is, once it was asked since something happened.
    next: Cell<Option<Nanos>>,
    busy_since: Nanos,
    pub busy: Nanos,
    pub sectors: u64,
    /// Commands given to the device since they were last counted, reads and writes.
    pub given: [Given; 2],
    /// Processor time of the host for the device's own work.
    pub host_work: Nanos,
}

impl<D: Device> AttachedDrive<D> {
    /// `depth`: commands that the host keeps outstanding, at most the device's own.
    pub fn new(device: D, depth: u32) -> Self {
        let depth = depth.min(device.depth().0).max(1);
        Self {
            device,
            depth,
            outstanding: 0,
            next: Cell::new(None),
            busy_since: Nanos::ZERO,
            busy: Nanos::ZERO,
            sectors: 0,
            given: [Given::default(); 2],
            host_work: Nanos::ZERO,
        }
    }

    /// When the device has its next event; never if it has none.
    #[inline]
    pub fn next_at(&self) -> Nanos {
        self.next.get().unwrap_or_else(|| {
            let next = self.device.next_event().unwrap_or(Nanos::NEVER);
            self.next.set(Some(next));
            next
        })
    }

    /// What is due at [`AttachedDrive::next_at`] happens; the tag of the command that is done by it, if any.
    #[inline(always)]
    pub fn advance(&mut self, now: Nanos) -> Option<u32> {
        let done = self.device.advance(now);
        self.next.set(None);
        self.host_work += self.device.take_host_work();
        let tag = done?.0;
        self.outstanding -= 1;
        if self.outstanding == 0 {
            self.busy += now - self.busy_since;
        }
        Some(tag)
    }

    /// Empties the device's cache, under the first tag that the queue does not use: the device has to take one command more than the host's
    /// depth, as with libata.
    pub fn flush(&mut self, now: Nanos) {
        self.give(
            now,
            Command::of(self.flush_tag(), CommandKind::Flush, Lba(0), Sectors(0)),
        );
    }

    /// A write that is on the medium when it is done, under the tag of a flush.
    pub fn write_forced(&mut self, now: Nanos, start: Lba, sectors: Sectors) {
        let kind = CommandKind::Write {
            force_unit_access: true,
        };
        self.give(now, Command::of(self.flush_tag(), kind, start, sectors));
    }

    #[inline]
    fn give(&mut self, now: Nanos, command: Command) {
        if self.outstanding == 0 {
            self.busy_since = now;
        }
        self.outstanding += 1;
        let direction = match command.kind {
            CommandKind::Read => Some(Direction::Read),
            CommandKind::Write { .. } => Some(Direction::Write),
            CommandKind::Flush | CommandKind::Trim => None,
        };
        if let Some(direction) = direction {
            self.sectors += command.sectors.0;
            let given = &mut self.given[direction as usize];
            given.commands += 1;
            given.sectors += command.sectors.0;
        }
        self.next.set(None);
        self.device.submit(now, command);
    }

    /// Tag of a flush: one beyond those of the queue.
    #[inline]
    pub fn flush_tag(&self) -> u32 {
        self.depth
    }

    /// Commands that the device has, a flush included.
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }
}

impl<D: Device> Driver for AttachedDrive<D> {
    fn depth(&self) -> u32 {
        self.depth
    }

    #[inline]
    fn start(&mut self, now: Nanos, tag: u32, access: Access) {
        let Access {
            direction,
            start,
            sectors,
        } = access;
        let kind = match direction {
            Direction::Read => CommandKind::Read,
            Direction::Write => CommandKind::WRITE,
        };
        self.give(now, Command::of(tag, kind, start, sectors));
    }
}
