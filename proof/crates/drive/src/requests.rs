//! Requests that a drive has taken and not yet answered, and the commands they became.

use crate::protocol::{self, Request};
use seekwise_device::CommandKind;
use seekwise_units::{Lba, Sectors, SECTOR_BYTES};
use std::collections::VecDeque;

/// Longer requests become several commands, as a kernel makes of them.
/// Linux v6.1 include/linux/blkdev.h: BLK_DEF_MAX_SECTORS = 2560, the limit of file system requests to a disk.
const COMMAND_SECTORS_MAX: u64 = 2560;

pub struct Taken {
    pub connection: u64,
    pub wire: Request,
    /// Data of a write; for a read room for the header and the data, once its first command has been handed over.
    pub data: Vec<u8>,
    pub parts_left: u32,
    pub error: u32,
    /// Its client is gone: what the drive has begun it ends, and nothing comes of it.
    pub cancelled: bool,
}

/// A command that waits until the drive has room for it.
#[derive(Clone, Copy)]
pub struct WaitingCommand {
    pub slot: usize,
    pub kind: CommandKind,
    pub start: Lba,
    pub sectors: Sectors,
}

#[derive(Default)]
pub struct Requests {
    slots: Vec<Option<Taken>>,
    free: Vec<usize>,
    pub backlog: VecDeque<WaitingCommand>,
}

impl Requests {
    /// Takes a checked request and queues its commands.
    pub fn take(&mut self, connection: u64, wire: Request, data: Vec<u8>) {
        let force_unit_access = wire.flags & protocol::CMD_FLAG_FUA != 0;
        let (kind, limit) = match wire.command {
            protocol::CMD_READ => (CommandKind::Read, COMMAND_SECTORS_MAX),
            protocol::CMD_WRITE => (
                CommandKind::Write { force_unit_access },
                COMMAND_SECTORS_MAX,
            ),
            protocol::CMD_TRIM => (CommandKind::Trim, u64::MAX),
            _ => (CommandKind::Flush, u64::MAX),
        };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        let (mut start, mut left) = match kind {
            CommandKind::Flush => (0, 0),
            _ => (
                wire.offset / SECTOR_BYTES,
                u64::from(wire.length) / SECTOR_BYTES,
            ),
        };
        let mut parts_left = 0;
        loop {
            let sectors = left.min(limit);
            self.backlog.push_back(WaitingCommand {
                slot,
                kind,
                start: Lba(start),
                sectors: Sectors(sectors),
            });
            parts_left += 1;
            (start, left) = (start + sectors, left - sectors);
            if left == 0 {
                break;
            }
        }
        self.slots[slot] = Some(Taken {
            connection,
            wire,
            data,
            parts_left,
            error: 0,
            cancelled: false,
        });
    }

    /// Forgets what a client that is gone has asked for, as far as the drive has not begun it.
    pub fn cancel(&mut self, connection: u64) {
        let Self {
            slots,
            free,
            backlog,
        } = self;
        backlog.retain(|part| match &mut slots[part.slot] {
            Some(taken) if taken.connection == connection => {
                taken.parts_left -= 1;
                false
            }
            _ => true,
        });
        for (slot, held) in slots.iter_mut().enumerate() {
            match held {
                Some(taken) if taken.connection == connection && taken.parts_left == 0 => {
                    *held = None;
                    free.push(slot);
                }
                Some(taken) if taken.connection == connection => taken.cancelled = true,
                _ => {}
            }
        }
    }

    /// The unanswered request in `slot`; panics if there is none.
    pub fn get(&mut self, slot: usize) -> &mut Taken {
        self.slots[slot]
            .as_mut()
            .expect("a command belongs to a request that is not yet answered")
    }

    /// Takes the request out of `slot` to be answered; panics if there is none.
    pub fn remove(&mut self, slot: usize) -> Taken {
        self.free.push(slot);
        self.slots[slot].take().expect("a request is answered once")
    }
}
