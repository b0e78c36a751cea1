//! A drive behind the controller: what waits for it, what is in it.
//!
//! Two kinds of work meet here: what a host waits for, and what the memory has put off; `turns` says which may go.
//!
//! With NCQ the controller hands on what the drive takes and leaves the order to the drive. Without, the drive holds one command, and the next
//! is the one that came first: these controllers' makers say of reordering only that NCQ moves it to the drive.

use crate::turns::Gate;
use core::cell::Cell;
use seekwise_device::{Command, CommandKind, Device, Drive, Tag};
use seekwise_units::{Lba, Nanos, Sectors};
use std::collections::VecDeque;

/// A command of the controller to a drive; `owner` says what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriveCommand<O> {
    pub owner: O,
    pub kind: CommandKind,
    pub start: Lba,
    pub sectors: Sectors,
    /// No host waits for it.
    pub put_off: bool,
}

/// Put-off commands inside the drive while hosts ask for it, too: one at work and one that follows.
const PUT_OFF_INSIDE: u32 = 2;

#[derive(Clone, Debug)]
pub struct Member<O> {
    drive: Drive,
    /// When the drive is done next, once it was asked since something happened: a disk that destages lets a copy of itself run ahead to tell.
    next: Cell<Option<Nanos>>,
    depth: u32,
    waiting: VecDeque<DriveCommand<O>>,
    put_off: VecDeque<DriveCommand<O>>,
    put_off_inside: u32,
    /// By tag.
    inside: Vec<Option<DriveCommand<O>>>,
    free: Vec<u32>,
    /// End of the last command that was meant for this drive: where its head will be.
    pub head: Lba,
    pub reads: u64,
    pub writes: u64,
    pub sectors_read: u64,
    pub sectors_written: u64,
}

impl<O: Copy> Member<O> {
    /// An idle drive that gets at most `depth` commands at once: never more than it takes itself, and at least one.
    pub fn new(drive: Drive, depth: u32) -> Self {
        let depth = depth.min(drive.depth().0).max(1);
        Self {
            drive,
            next: Cell::new(None),
            depth,
            waiting: VecDeque::new(),
            put_off: VecDeque::new(),
            put_off_inside: 0,
            inside: vec![None; depth as usize],
            free: (0..depth).rev().collect(),
            head: Lba(0),
            reads: 0,
            writes: 0,
            sectors_read: 0,
            sectors_written: 0,
        }
    }

    /// Queues a command and submits what `gate` lets through now.
    pub fn add(&mut self, now: Nanos, command: DriveCommand<O>, gate: Gate) {
        match command.kind {
            CommandKind::Read => {
                self.reads += 1;
                self.sectors_read += command.sectors.0;
            }
            CommandKind::Write { .. } => {
                self.writes += 1;
                self.sectors_written += command.sectors.0;
            }
            CommandKind::Flush | CommandKind::Trim => {}
        }
        if command.put_off {
            self.put_off.push_back(command);
        } else {
            self.moves_head(&command);
            self.waiting.push_back(command);
        }
        self.feed(now, gate);
    }

    fn moves_head(&mut self, command: &DriveCommand<O>) {
        if let CommandKind::Read | CommandKind::Write { .. } = command.kind {
            self.head = command.start + command.sectors;
        }
    }

    /// Hands on what the drive takes and may be given now.
    pub fn feed(&mut self, now: Nanos, gate: Gate) {
        while let Some(&tag) = self.free.last() {
            let Some(command) = self.following(gate) else {
                return;
            };
            self.free.pop();
            self.inside[tag as usize] = Some(command);
            self.next.set(None);
            let DriveCommand {
                kind,
                start,
                sectors,
                ..
            } = command;
            self.drive
                .submit(now, Command::of(tag, kind, start, sectors));
        }
    }

    fn following(&mut self, gate: Gate) -> Option<DriveCommand<O>> {
        let turn_is_put_offs = match gate {
            Gate::Hosts => false,
            Gate::PutOff => !self.put_off.is_empty() || self.put_off_inside > 0,
            Gate::Quiet => !self.put_off.is_empty(),
        };
        if !turn_is_put_offs {
            return self.waiting.pop_front();
        }
        if gate == Gate::PutOff && self.put_off_inside >= PUT_OFF_INSIDE {
            return None;
        }
        let command = self.put_off.pop_front()?;
        self.put_off_inside += 1;
        self.moves_head(&command);
        Some(command)
    }

    /// Put-off work waits here.
    pub fn holds_back(&self) -> bool {
        !self.put_off.is_empty()
    }

    /// When the drive completes its next command; never if it has none.
    pub fn next(&self) -> Nanos {
        self.next.get().unwrap_or_else(|| {
            let next = self.drive.next_completion().unwrap_or(Nanos::NEVER);
            self.next.set(Some(next));
            next
        })
    }

    /// Takes out what is done at [`Member::next`]; [`Member::feed`] is to follow.
    pub fn complete(&mut self, now: Nanos) -> DriveCommand<O> {
        self.next.set(None);
        let Tag(tag) = self.drive.complete_next(now);
        let command = self.inside[tag as usize]
            .take()
            .expect("a drive completes what it was given");
        self.free.push(tag);
        if command.put_off {
            self.put_off_inside -= 1;
        }
        command
    }

    /// At work, or about to be: put-off work waits for that to end.
    pub fn busy(&self) -> bool {
        !self.waiting.is_empty() || self.depth as usize > self.free.len()
    }

    /// Commands that the drive is given at once.
    pub fn depth(&self) -> u32 {
        self.depth
    }
}
