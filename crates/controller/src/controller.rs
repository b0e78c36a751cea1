//! The controller as its host sees it, and its clock: commands, firmware, host bus.
//!
//! Reads go on in `reading`, writes in `writing`. Everything inside happens at events of this one list, equal times in order of insertion.

use crate::cache::Cache;
use crate::destage::Destage;
use crate::fetches::Fetches;
use crate::mapping::Mapping;
use crate::member::{DriveCommand, Member};
use crate::streams::Streams;
use crate::turns::DriveTurns;
use core::cmp::Reverse;
use seekwise_device::{Command, CommandKind, Device, Drive, Tag};
use seekwise_units::{Bytes, Depth, Nanos, Sectors};
use std::collections::{BinaryHeap, VecDeque};

/// Everything that distinguishes one controller, as set up, from another.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Commands that the host may keep outstanding on a unit.
    pub depth: u32,
    /// Largest command, to the controller and to a drive.
    pub sectors_max: Sectors,
    /// Firmware's time of a command; of fake RAID the host's time of a command to a drive, too.
    pub per_command: Nanos,
    pub to_host_bytes_per_second: f64,
    pub from_host_bytes_per_second: f64,
    /// One direction at a time.
    pub half_duplex: bool,
    pub cache: Bytes,
    pub write_back: bool,
    /// Of the cache that may be dirty.
    pub dirty_percent: u32,
    /// How long destaging is put off for something better: an incomplete row for its rest, a row for a drive that hosts leave alone; with the
    /// memory filling, how long hosts have a drive before destaging has its turn.
    pub destage_delay: Nanos,
    /// Flushes and forced writes wait for the drives.
    pub heeds_flush: bool,
    pub read_ahead: Sectors,
    /// Sequential reads of a mirror change drives after so much.
    pub mirror_section: Sectors,
    pub xor_bytes_per_second: f64,
    /// The driver does it all on the host's processor.
    pub on_host: bool,
    /// Commands that each drive holds.
    pub drive_depth: u32,
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// The firmware has read a command.
    Read(u32),
    /// Data of a write are in the memory.
    Received(u32),
    /// The host has the answer.
    Done(u32),
    /// Parity of a row is worked out.
    Parity(u32),
    /// Incomplete rows may have waited long enough.
    Aged,
    /// Another may have the drives.
    Turn,
}

/// What a command to a drive is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Fetch(u32),
    RowWrite(u32),
    Flush(u32),
}

/// A host's command under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host {
    pub command: Command,
    /// Fetches, rows or drives that it waits for.
    pub waits: u32,
}

/// What has been done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub host_reads: u64,
    pub host_writes: u64,
    pub sectors_to_host: u64,
    pub sectors_from_host: u64,
    pub drive_reads: u64,
    pub drive_writes: u64,
    pub sectors_read: u64,
    pub sectors_written: u64,
    /// Most pages that were acknowledged and not yet on the drives, in bytes.
    pub dirty_most: u64,
    pub xor_bytes: u64,
}

#[derive(Clone, Debug)]
pub struct Controller {
    pub(crate) setup: Setup,
    pub(crate) mapping: Mapping,
    pub(crate) members: Vec<Member<Owner>>,
    pub(crate) cache: Cache,
    pub(crate) streams: Streams,
    pub(crate) fetches: Fetches,
    pub(crate) destage: Destage,
    turns: DriveTurns,
    /// When the next look at the turns was last told to be.
    turn_told: Nanos,
    pub(crate) hosts: Vec<Option<Host>>,
    /// Writes that wait for room in the memory, by tag.
    pub(crate) blocked: VecDeque<u32>,
    /// Flushes that wait for the memory to be clean.
    pub(crate) flushes: Vec<u32>,
    events: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    order: u64,
    firmware_free: Nanos,
    to_host_free: Nanos,
    from_host_free: Nanos,
    xor_free: Nanos,
    host_work: Nanos,
    /// What is due, worked out when something has happened: hosts ask for it far more often.
    due: (Nanos, Option<usize>),
    /// Commands to drives whose work on the host has been told.
    commands_charged: u64,
    pub(crate) counters: Counters,
}

impl Controller {
    /// `drives` as many as the mapping has members.
    pub fn new(setup: Setup, mapping: Mapping, drives: Vec<Drive>) -> Self {
        assert_eq!(drives.len(), mapping.members as usize);
        let pages = (setup.cache.0 / (crate::cache::PAGE * 512)) as usize;
        let members = drives
            .into_iter()
            .map(|drive| Member::new(drive, setup.drive_depth))
            .collect();
        Self {
            members,
            cache: Cache::new(pages),
            streams: Streams::default(),
            fetches: Default::default(),
            destage: Destage::default(),
            turns: DriveTurns::new(setup.destage_delay),
            turn_told: Nanos::NEVER,
            hosts: vec![None; setup.depth as usize],
            blocked: VecDeque::new(),
            flushes: vec![],
            events: BinaryHeap::new(),
            order: 0,
            firmware_free: Nanos::ZERO,
            to_host_free: Nanos::ZERO,
            from_host_free: Nanos::ZERO,
            xor_free: Nanos::ZERO,
            host_work: Nanos::ZERO,
            due: (Nanos::NEVER, None),
            commands_charged: 0,
            counters: Counters::default(),
            setup,
            mapping,
        }
    }

    /// Counts since the start, those of all drives added up.
    pub fn counters(&self) -> Counters {
        let mut counters = self.counters;
        for member in &self.members {
            counters.drive_reads += member.reads;
            counters.drive_writes += member.writes;
            counters.sectors_read += member.sectors_read;
            counters.sectors_written += member.sectors_written;
        }
        counters
    }

    /// Bytes acknowledged and not yet on the drives.
    pub fn dirty(&self) -> Bytes {
        Bytes(self.cache.dirty() as u64 * crate::cache::PAGE * 512)
    }

    pub(crate) fn at(&mut self, time: Nanos, event: Event) {
        self.order += 1;
        self.events.push(Reverse((time, self.order, event)));
    }

    /// Time on the bus, after what is on it already.
    fn bus(&mut self, now: Nanos, bytes: Bytes, to_host: bool) -> Nanos {
        let rate = if to_host {
            self.setup.to_host_bytes_per_second
        } else {
            self.setup.from_host_bytes_per_second
        };
        let free = match (self.setup.half_duplex, to_host) {
            (true, _) => self.to_host_free.max(self.from_host_free),
            (false, true) => self.to_host_free,
            (false, false) => self.from_host_free,
        };
        let end = free.max(now) + Nanos((bytes.0 as f64 * 1e9 / rate) as u64);
        if to_host {
            self.to_host_free = end;
        } else {
            self.from_host_free = end;
        }
        end
    }

    /// Sends a read's data to the host; its command is done with them.
    pub(crate) fn send(&mut self, now: Nanos, tag: u32) {
        let sectors = self.host(tag).command.sectors;
        self.counters.sectors_to_host += sectors.0;
        let end = self.bus(now, sectors.bytes(), true);
        self.at(end, Event::Done(tag));
    }

    /// Fetches a write's data from the host.
    pub(crate) fn receive(&mut self, now: Nanos, tag: u32) {
        let sectors = self.host(tag).command.sectors;
        self.counters.sectors_from_host += sectors.0;
        let end = self.bus(now, sectors.bytes(), false);
        self.at(end, Event::Received(tag));
    }

    /// Sends bytes through the XOR engine; `row` goes on when they are through.
    pub(crate) fn xor(&mut self, now: Nanos, bytes: u64, row: u32) {
        let time = Nanos((bytes as f64 * 1e9 / self.setup.xor_bytes_per_second) as u64);
        if self.setup.on_host {
            self.host_work += time;
        }
        self.counters.xor_bytes += bytes;
        self.xor_free = self.xor_free.max(now) + time;
        self.at(self.xor_free, Event::Parity(row));
    }

    pub(crate) fn host(&mut self, tag: u32) -> &mut Host {
        self.hosts[tag as usize]
            .as_mut()
            .expect("a command under way")
    }

    /// One thing less that a command waits for; true when it was the last.
    pub(crate) fn waits_less(&mut self, tag: u32) -> bool {
        let host = self.host(tag);
        host.waits -= 1;
        host.waits == 0
    }

    pub(crate) fn give(&mut self, now: Nanos, member: usize, command: DriveCommand<Owner>) {
        if !command.put_off {
            self.turns.host_asks(now);
        }
        self.look(now);
        self.members[member].add(now, command, self.turns.gate());
        self.come_again();
    }

    /// Whose turn is it? When that has changed, all drives may go on.
    fn look(&mut self, now: Nanos) {
        let pressed = self.pressed();
        if self.turns.look(now, pressed) {
            let gate = self.turns.gate();
            for member in &mut self.members {
                member.feed(now, gate);
            }
        }
        self.come_again();
    }

    /// Held back work is looked at again when its turn comes, though nothing else may happen until then.
    fn come_again(&mut self) {
        let opens = self.turns.opens;
        if opens < Nanos::NEVER
            && opens != self.turn_told
            && self.members.iter().any(Member::holds_back)
        {
            self.turn_told = opens;
            self.at(opens, Event::Turn);
        }
    }

    fn begin(&mut self, now: Nanos, tag: u32) {
        match self.host(tag).command.kind {
            CommandKind::Read => self.begin_read(now, tag),
            CommandKind::Write { .. } => self.begin_write(now, tag),
            CommandKind::Flush => self.begin_flush(now, tag),
            CommandKind::Trim => self.at(now, Event::Done(tag)),
        }
    }

    fn drive_done(&mut self, now: Nanos, member: usize) {
        let command = self.members[member].complete(now);
        if !command.put_off {
            self.turns.host_has(now);
        }
        self.look(now);
        self.members[member].feed(now, self.turns.gate());
        match command.owner {
            Owner::Fetch(fetch) => self.fetched(now, fetch),
            Owner::RowWrite(row) => self.row_step(now, row),
            Owner::Flush(tag) => {
                if self.waits_less(tag) {
                    self.at(now, Event::Done(tag));
                }
            }
        }
    }

    /// The event that is due happens; the host's command that is done by it, if any.
    fn step(&mut self, now: Nanos) -> Option<Tag> {
        let Reverse((_, _, event)) = self.events.pop().expect("due says that there is one");
        match event {
            Event::Read(tag) => self.begin(now, tag),
            Event::Received(tag) => self.received(now, tag),
            Event::Parity(row) => self.write_row(now, row),
            Event::Aged => self.start_rows(now),
            Event::Turn => self.look(now),
            Event::Done(tag) => {
                self.hosts[tag as usize] = None;
                return Some(Tag(tag));
            }
        }
        None
    }

    /// The earliest of what is due: an event, or a drive (drives first, in their order).
    fn find_due(&self) -> (Nanos, Option<usize>) {
        let mut best = (Nanos::NEVER, None);
        for (index, member) in self.members.iter().enumerate() {
            let time = member.next();
            if time < best.0 {
                best = (time, Some(index));
            }
        }
        match self.events.peek() {
            Some(Reverse((time, ..))) if *time < best.0 => (*time, None),
            _ => best,
        }
    }
}

impl Device for Controller {
    fn capacity(&self) -> Sectors {
        self.mapping.capacity()
    }

    fn depth(&self) -> Depth {
        Depth(self.setup.depth)
    }

    fn submit(&mut self, now: Nanos, command: Command) {
        match command.kind {
            CommandKind::Read => self.counters.host_reads += 1,
            CommandKind::Write { .. } => self.counters.host_writes += 1,
            CommandKind::Flush | CommandKind::Trim => {}
        }
        let slot = &mut self.hosts[command.tag.0 as usize];
        assert!(slot.is_none(), "a tag is used by one command at a time");
        *slot = Some(Host { command, waits: 0 });
        self.firmware_free = self.firmware_free.max(now) + self.setup.per_command;
        self.at(self.firmware_free, Event::Read(command.tag.0));
        self.due = self.find_due();
    }

    /// Lets a copy run ahead: what is done next depends on everything inside.
    fn next_completion(&self) -> Option<Nanos> {
        self.hosts.iter().any(Option::is_some).then(|| {
            let mut copy = self.clone();
            loop {
                let time = copy
                    .next_event()
                    .expect("a command under way has an event to come");
                if copy.advance(time).is_some() {
                    return time;
                }
            }
        })
    }

    fn complete_next(&mut self, now: Nanos) -> Tag {
        loop {
            let time = self
                .next_event()
                .expect("next_completion said that a command will be done");
            debug_assert!(time <= now);
            if let Some(tag) = self.advance(time) {
                return tag;
            }
        }
    }

    fn next_event(&self) -> Option<Nanos> {
        (self.due.0 < Nanos::NEVER).then_some(self.due.0)
    }

    fn advance(&mut self, now: Nanos) -> Option<Tag> {
        let (time, member) = self.due;
        debug_assert!(time <= now);
        let done = match member {
            Some(member) => {
                self.drive_done(now, member);
                None
            }
            None => self.step(now),
        };
        self.due = self.find_due();
        done
    }

    fn held(&self) -> Bytes {
        self.dirty()
    }

    fn take_host_work(&mut self) -> Nanos {
        if !self.setup.on_host {
            return Nanos::ZERO;
        }
        // Each command to a drive is set up, interrupts and is completed on the host.
        let commands = self.members.iter().map(|one| one.reads + one.writes).sum();
        let new = commands - core::mem::replace(&mut self.commands_charged, commands);
        core::mem::take(&mut self.host_work) + Nanos(self.setup.per_command.0 * new)
    }
}
