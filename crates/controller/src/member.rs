//! A drive behind the controller: what waits for it, what is in it.
//!
//! With NCQ the controller hands on what the drive takes and leaves the order to the drive. Without, the drive holds one command, and the next
//! is the one that came first: these controllers' makers say of reordering only that NCQ moves it to the drive.

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
}

#[derive(Clone, Debug)]
pub struct Member<O> {
    drive: Drive,
    depth: u32,
    waiting: VecDeque<DriveCommand<O>>,
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
    pub fn new(drive: Drive, depth: u32) -> Self {
        let depth = depth.min(drive.depth().0).max(1);
        Self {
            drive,
            depth,
            waiting: VecDeque::new(),
            inside: vec![None; depth as usize],
            free: (0..depth).rev().collect(),
            head: Lba(0),
            reads: 0,
            writes: 0,
            sectors_read: 0,
            sectors_written: 0,
        }
    }

    pub fn add(&mut self, now: Nanos, command: DriveCommand<O>) {
        match command.kind {
            CommandKind::Read => {
                self.reads += 1;
                self.sectors_read += command.sectors.0;
                self.head = command.start + command.sectors;
            }
            CommandKind::Write { .. } => {
                self.writes += 1;
                self.sectors_written += command.sectors.0;
                self.head = command.start + command.sectors;
            }
            CommandKind::Flush | CommandKind::Trim => {}
        }
        self.waiting.push_back(command);
        self.feed(now);
    }

    fn feed(&mut self, now: Nanos) {
        while let (Some(&tag), Some(command)) = (self.free.last(), self.waiting.front().copied()) {
            self.free.pop();
            self.waiting.pop_front();
            self.inside[tag as usize] = Some(command);
            self.drive.submit(
                now,
                Command {
                    tag: Tag(tag),
                    kind: command.kind,
                    start: command.start,
                    sectors: command.sectors,
                },
            );
        }
    }

    pub fn next(&self) -> Nanos {
        self.drive.next_completion().unwrap_or(Nanos::NEVER)
    }

    /// Takes out what is done at [`Member::next`].
    pub fn complete(&mut self, now: Nanos) -> DriveCommand<O> {
        let Tag(tag) = self.drive.complete_next(now);
        let command = self.inside[tag as usize]
            .take()
            .expect("a drive completes what it was given");
        self.free.push(tag);
        self.feed(now);
        command
    }

    /// Commands waiting or in the drive.
    pub fn load(&self) -> usize {
        self.waiting.len() + self.depth as usize - self.free.len()
    }

    pub fn depth(&self) -> u32 {
        self.depth
    }
}
