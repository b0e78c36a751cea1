//! One drive: waits for clients and for the model, whichever is first; one thread, no locks.
//!
//! The model's time is the machine's monotonic clock. A request arrives when its last byte has been read; its commands go to
//! the device then, or when an earlier command makes room. The thread sleeps until a client asks or the next command is done; a guest's
//! timers are exact, and `chrt` puts the drives ahead of the load.

use crate::clock::{monotonic, Clock};
use crate::connection::{Connection, Over};
use crate::fault::FaultKind;
use crate::handshake::Export;
use crate::medium::Medium;
use crate::orders::{Notice, ServerOrder};
use crate::protocol::{self, Request};
use crate::requests::{Requests, Taken};
use crate::statistics::{Statistics, Summary};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use seekwise_device::{Command, CommandKind, Device, Drive, Model, ModelError, Tag};
use seekwise_units::{Nanos, SECTOR_BYTES};
use std::io::Read;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

/// Commands finished between two looks at the sockets.
const ROUND: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    On,
    /// The supply is off.
    Off,
    /// Nobody reaches the drive.
    Dropped,
}

/// What a drive starts with.
pub struct Setting {
    pub index: usize,
    pub model: Model,
    pub instance: u32,
    pub medium: Medium,
    pub export: Export,
    pub listener: UnixListener,
    pub orders: Receiver<ServerOrder>,
    pub wake: UnixStream,
    pub notices: Sender<Notice>,
    pub overrun_ns: u64,
}

pub struct Engine {
    setting: Setting,
    drive: Drive,
    clock: Clock,
    /// The model's time up to which the drive has been told what happens.
    reached: Nanos,
    requests: Requests,
    /// Request of each outstanding command.
    tags: Vec<usize>,
    free_tags: Vec<u32>,
    connections: Vec<(u64, Connection)>,
    connections_made: u64,
    state: State,
    tear_next: bool,
    statistics: Statistics,
    /// When the answers on their way to the socket were due.
    answered: Vec<u64>,
    told_no_space: bool,
}

fn built(model: &Model, instance: u32) -> Result<Drive, ModelError> {
    Drive::new(model, instance)
}

impl Engine {
    /// A drive that is switched on now. An error if the device cannot be built from its model.
    pub fn new(setting: Setting) -> Result<Self, ModelError> {
        let drive = built(&setting.model, setting.instance)?;
        let depth = drive.depth().0;
        Ok(Self {
            clock: Clock::new(monotonic()),
            reached: Nanos::ZERO,
            requests: Requests::default(),
            tags: vec![0; depth as usize],
            free_tags: (0..depth).rev().collect(),
            connections: vec![],
            connections_made: 0,
            state: State::On,
            tear_next: false,
            statistics: Statistics::new(setting.overrun_ns),
            answered: vec![],
            told_no_space: false,
            drive,
            setting,
        })
    }

    /// Serves until told to stop.
    pub fn run(mut self) {
        // Timers of this thread to the nanosecond instead of the usual 50 us; without, answers are a little later.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        loop {
            // All of them: their bytes in the wake-up socket are read together.
            loop {
                match self.setting.orders.try_recv() {
                    Ok(ServerOrder::Fault(kind)) => self.fault(kind),
                    Ok(ServerOrder::Status(to)) => drop(to.send(self.summary())),
                    Ok(ServerOrder::Stop(to)) => {
                        self.stop();
                        let _ = to.send(self.summary());
                        return;
                    }
                    Err(TryRecvError::Empty) => break,
                    // The server is gone without a word: it panicked. What was acknowledged is kept all the same.
                    Err(TryRecvError::Disconnected) => return self.stop(),
                }
            }
            self.wait();
            self.advance();
            self.send();
        }
    }

    fn summary(&self) -> Summary {
        let state = match self.state {
            State::On => "on",
            State::Off => "off",
            State::Dropped => "dropped",
        };
        self.statistics.summary(self.setting.index, state)
    }

    fn tell(&self, sentence: String) {
        let _ = self.setting.notices.send(Notice::Event {
            drive: self.setting.index,
            sentence,
        });
    }

    /// Sleeps until a socket or the model has something, then takes in what the sockets have.
    fn wait(&mut self) {
        let next = self.drive.next_completion();
        let waits = self.connections.iter().any(|(_, each)| each.waits());
        let due = if waits { Some(Nanos::ZERO) } else { next };
        let ready = self.poll_until(due);
        if ready[0].contains(PollFlags::IN) {
            let mut bytes = [0; 64];
            while matches!((&self.setting.wake).read(&mut bytes), Ok(count) if count == bytes.len())
            {
            }
        }
        if ready[1].contains(PollFlags::IN) {
            self.accept();
        }
        for at in (0..ready.len() - 2).rev() {
            let flags = ready[at + 2];
            if flags.intersects(PollFlags::HUP | PollFlags::ERR) && !flags.contains(PollFlags::IN)
                || flags.contains(PollFlags::HUP) && !self.connections[at].1.wants_input()
            {
                // Nobody is there to take an answer.
                self.gone(at);
            } else if self.connections[at].1.waits()
                || flags.contains(PollFlags::IN) && self.connections[at].1.wants_input()
            {
                self.receive(at);
            }
        }
    }

    /// What the sockets have to say (waking, the listener, then each connection) once one has, or shortly before `due`.
    fn poll_until(&self, due: Option<Nanos>) -> Vec<PollFlags> {
        let timeout = due.map(|due| {
            let left = self.clock.real(due).saturating_sub(monotonic());
            Timespec {
                tv_sec: (left / 1_000_000_000) as i64,
                tv_nsec: (left % 1_000_000_000) as _,
            }
        });
        let mut sockets = Vec::with_capacity(2 + self.connections.len());
        sockets.push(PollFd::new(&self.setting.wake, PollFlags::IN));
        sockets.push(PollFd::new(&self.setting.listener, PollFlags::IN));
        for (_, connection) in &self.connections {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, connection.wants_input());
            flags.set(PollFlags::OUT, connection.wants_output());
            sockets.push(PollFd::new(&connection.stream, flags));
        }
        // An interrupted wait is a short wait.
        let _ = poll(&mut sockets, timeout.as_ref());
        sockets.iter().map(PollFd::revents).collect()
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.setting.listener.accept() {
            // A drive without power or cable answers nobody: the client sees the line closed.
            if self.state == State::On && stream.set_nonblocking(true).is_ok() {
                self.connections_made += 1;
                self.connections.push((
                    self.connections_made,
                    Connection::new(stream, self.setting.export),
                ));
            }
        }
    }

    /// A client is gone, and what it asked for with it.
    fn gone(&mut self, at: usize) {
        let (id, _) = self.connections.remove(at);
        self.requests.cancel(id);
    }

    fn receive(&mut self, at: usize) {
        let mut came = vec![];
        let (id, connection) = &mut self.connections[at];
        let id = *id;
        let result = connection.receive(|request, data| came.push((request, data)));
        // Everything that was done before these arrived comes first in the model's time.
        let now = self.clock.model(monotonic());
        while self.drive.next_completion().is_some_and(|due| due < now) {
            self.complete_next();
            if self
                .connections
                .get(at)
                .is_none_or(|(other, _)| *other != id)
            {
                return;
            }
        }
        // An answer that was due later may be on its way already: then that was before.
        let now = now.max(self.reached);
        for (request, data) in came {
            match self.refusal(&request) {
                0 => self.requests.take(id, request, data),
                error => {
                    self.statistics.counts.invalid += 1;
                    self.connections[at].1.answer_bare(error, &request);
                }
            }
        }
        self.feed(now);
        if let Err(over) = result {
            if let Over::Broken(why) = over {
                self.tell(format!(
                    "a client broke the protocol and was disconnected: {why}"
                ));
                // What it is still owed, the answer to a bad option included, goes out if the socket takes it.
                let _ = self.connections[at].1.send();
            }
            self.gone(at);
        }
    }

    /// Error number for a request that no drive could carry out, or 0.
    fn refusal(&self, request: &Request) -> u32 {
        let moves = match request.command {
            protocol::CMD_READ | protocol::CMD_WRITE | protocol::CMD_TRIM => true,
            protocol::CMD_FLUSH => false,
            _ => return protocol::EINVAL,
        };
        if request.flags & !protocol::CMD_FLAG_FUA != 0 {
            return protocol::EINVAL;
        }
        if !moves {
            return 0;
        }
        let length = u64::from(request.length);
        let whole = request.offset % SECTOR_BYTES == 0 && length % SECTOR_BYTES == 0;
        if length == 0
            || !whole
            || (request.command != protocol::CMD_TRIM
                && request.length > protocol::PAYLOAD_BYTES_MAX)
        {
            return protocol::EINVAL;
        }
        match request.offset.checked_add(length) {
            Some(end) if end <= self.setting.export.bytes => 0,
            _ if request.command == protocol::CMD_WRITE => protocol::ENOSPC,
            _ => protocol::EINVAL,
        }
    }

    /// Hands waiting commands to the drive while it has room.
    fn feed(&mut self, now: Nanos) {
        while !self.free_tags.is_empty() {
            let Some(part) = self.requests.backlog.pop_front() else {
                return;
            };
            let tag = self.free_tags.pop().expect("looked at just before");
            self.reached = now;
            self.tags[tag as usize] = part.slot;
            self.drive.submit(
                now,
                Command {
                    tag: Tag(tag),
                    kind: part.kind,
                    start: part.start,
                    sectors: part.sectors,
                },
            );
            let taken = self.requests.get(part.slot);
            if part.kind == CommandKind::Read && taken.data.is_empty() {
                // Fetched while the arm moves, so that the store's own time is not added to the drive's.
                taken
                    .data
                    .resize(protocol::REPLY_BYTES + taken.wire.length as usize, 0);
                let room = &mut taken.data[protocol::REPLY_BYTES..];
                if let Err(error) = self.setting.medium.read(taken.wire.offset, room) {
                    taken.error = number(error);
                }
            }
        }
    }

    /// Completes what is due; leaves the rest for the next round so that answers leave in between.
    fn advance(&mut self) {
        for _ in 0..ROUND {
            let now = self.clock.model(monotonic());
            match self.drive.next_completion() {
                Some(due) if due <= now => self.complete_next(),
                _ => return,
            }
        }
    }

    fn complete_next(&mut self) {
        let Some(due) = self.drive.next_completion() else {
            return;
        };
        let Tag(tag) = self.drive.complete_next(due);
        self.reached = due;
        let slot = self.tags[tag as usize];
        self.free_tags.push(tag);
        let taken = self.requests.get(slot);
        taken.parts_left -= 1;
        if taken.parts_left == 0 {
            let taken = self.requests.remove(slot);
            if taken.cancelled {
                self.feed(due);
                return;
            }
            if self.tear_next
                && taken.wire.command == protocol::CMD_WRITE
                && taken.data.len() as u64 > SECTOR_BYTES
            {
                return self.torn(&taken);
            }
            self.finish(taken, due);
        }
        self.feed(due);
    }

    /// Does what the request asked for, now that its time has come, and answers.
    fn finish(&mut self, mut taken: Taken, due: Nanos) {
        let wire = taken.wire;
        let medium = &mut self.setting.medium;
        let force_unit_access = wire.flags & protocol::CMD_FLAG_FUA != 0;
        let counts = &mut self.statistics.counts;
        let bytes = u64::from(wire.length);
        let result = match wire.command {
            protocol::CMD_READ => {
                counts.reads += 1;
                counts.bytes_read += bytes;
                Ok(())
            }
            protocol::CMD_WRITE => {
                counts.writes += 1;
                counts.bytes_written += bytes;
                medium.write(wire.offset, &taken.data, force_unit_access)
            }
            protocol::CMD_TRIM => {
                counts.trims += 1;
                medium.trim(wire.offset, bytes)
            }
            _ => {
                counts.flushes += 1;
                medium.flush()
            }
        };
        if let Err(error) = result {
            taken.error = number(error);
        }
        if taken.error == protocol::ENOSPC {
            counts.no_space += 1;
            if !self.told_no_space {
                self.told_no_space = true;
                self.tell("there is no memory left: the write was answered with ENOSPC, what was acknowledged is kept".into());
            }
        } else if taken.error != 0 {
            counts.medium_errors += 1;
        }
        if let Some((_, connection)) = self
            .connections
            .iter_mut()
            .find(|(id, _)| *id == taken.connection)
        {
            if wire.command == protocol::CMD_READ && taken.error == 0 {
                connection.answer(0, &wire, taken.data);
            } else {
                connection.answer_bare(taken.error, &wire);
            }
            self.answered.push(self.clock.real(due));
        }
    }

    fn send(&mut self) {
        for at in (0..self.connections.len()).rev() {
            let connection = &mut self.connections[at].1;
            if (connection.wants_output() && connection.send().is_err()) || connection.done() {
                self.gone(at);
            }
        }
        if self.answered.is_empty() {
            return;
        }
        let now = monotonic();
        for due in self.answered.drain(..) {
            self.statistics.answered(now.saturating_sub(due));
        }
    }

    fn fault(&mut self, kind: FaultKind) {
        match kind {
            FaultKind::PowerCut { keep } => self.power_cut(keep),
            FaultKind::Torn => self.tear_next = true,
            FaultKind::PowerOn | FaultKind::Return => self.state = State::On,
            FaultKind::Drop => {
                self.state = State::Dropped;
                self.disconnect();
            }
            FaultKind::Slow { factor } => self.clock.slow(monotonic(), factor),
            FaultKind::Bad { sector, count } => {
                let sectors = self.setting.export.bytes / SECTOR_BYTES;
                self.setting.medium.make_bad(
                    sector.min(sectors),
                    count.min(sectors - sector.min(sectors)),
                );
            }
            FaultKind::Heal => self.setting.medium.heal(),
        }
    }

    fn torn(&mut self, taken: &Taken) {
        self.tear_next = false;
        let whole = self.setting.medium.tear(taken.wire.offset, &taken.data);
        let sectors = taken.data.len() as u64 / SECTOR_BYTES;
        let start = taken.wire.offset / SECTOR_BYTES;
        match whole {
            Ok(whole) => self.tell(format!(
                "a write of {sectors} sectors at sector {start} was torn after {whole}"
            )),
            Err(error) => self.tell(format!(
                "a write at sector {start} could not be torn: {error}"
            )),
        }
        self.power_cut(0.0);
    }

    fn power_cut(&mut self, keep: f64) {
        self.state = State::Off;
        self.statistics.counts.power_cuts += 1;
        match self.setting.medium.power_cut(keep) {
            Ok(lost) => self.tell(format!(
                "power cut: {lost} bytes of the write cache are lost"
            )),
            Err(error) => self.tell(format!(
                "power cut: the part of the write cache to be kept could not be written: {error}"
            )),
        }
        self.disconnect();
    }

    /// Nobody waits for an answer any more, and the drive forgets what it was doing.
    fn disconnect(&mut self) {
        self.connections.clear();
        self.answered.clear();
        self.requests = Requests::default();
        // A drive was built from this model before, so it can be built again.
        if let Ok(drive) = built(&self.setting.model, self.setting.instance) {
            self.drive = drive;
        }
        let slow = self.clock;
        self.clock = Clock::new(monotonic());
        self.clock.slow(monotonic(), slow.factor());
        self.reached = Nanos::ZERO;
        self.free_tags = (0..self.tags.len() as u32).rev().collect();
    }

    fn stop(&mut self) {
        self.send();
        self.connections.clear();
    }
}

fn number(error: Errno) -> u32 {
    match error {
        Errno::NOSPC => protocol::ENOSPC,
        Errno::NOMEM => protocol::ENOMEM,
        _ => protocol::EIO,
    }
}
