//! A hard disk: one arm, one spindle, a queue, a cache.
//!
//! ```text
//!   commands ─► decode ─┬─ in the cache, or the write cache has room ─────────────► link ─► done
//!                       └─► queue (1..32) ─► seek ─► wait for the angle ─► transfer ─┘
//!                                  ▲ next: nearest, oldest, or overdue (ncq.rs)
//!        when idle: read on after the last read (cache.rs), put dirty data on the platters (write_cache.rs)
//! ```
//!
//! The arm does one thing at a time and decides what is next when it becomes free. Decoding a command overlaps with
//! what the arm does for others. One event per command: what happens in between is computed when somebody looks.
//!
//! Modelled:      see the files of this folder; read-modify-write of 4 KiB physical sectors as one extra turn.
//! Not modelled:  errors and retries, power states, media caches, reading before arrival.

pub mod cache;
mod filter;
pub mod geometry;
pub mod ncq;
pub mod rotation;
pub mod seek;
pub mod write_cache;

use crate::device::{Command, CommandKind, Device, Tag};
use cache::{Held, LinkQueue, Segments, Stream, NO_SEGMENT};
use core::cell::RefCell;
use geometry::{Geometry, Layout};
use ncq::{Head, Ordering, Queue, Waiting};
use rotation::Spindle;
use seek::{SeekCurve, SeekTimes};
use seekwise_units::{Depth, Lba, Nanos, Sectors};
use std::sync::Arc;
use write_cache::WriteCache;

/// Everything that distinguishes one disk from another.
#[derive(Clone, Debug)]
pub struct HddParameters {
    pub rpm: f64,
    pub layout: Layout,
    pub seek: SeekTimes,
    /// From the arrival of a command until the arm can start.
    pub command_overhead: Nanos,
    /// From the arrival of a command until its cached data can move.
    pub cached_overhead: Nanos,
    pub link_bytes_per_second: f64,
    /// Status and set-up frames of one command.
    pub link_overhead: Nanos,
    pub depth: Depth,
    pub ncq_efficiency: f64,
    pub age_limit: Nanos,
    pub segments: usize,
    pub segment: Sectors,
    /// How far the drive reads on after a read.
    pub read_ahead: Sectors,
    /// How far it reads on although other commands wait, after a read that went on where a segment ended.
    pub read_ahead_min: Sectors,
    /// Extents that the write cache holds; 0 without a write cache.
    pub dirty_extents: usize,
    pub dirty_sectors: Sectors,
    /// How long the arm is idle before the drive destages of its own accord.
    pub destage_delay: Nanos,
    /// Sectors of 512 bytes in a physical sector.
    pub physical_sectors: u64,
    /// Angle of the spindle at time zero, as a fraction of a turn.
    pub start_angle: f64,
}

/// What does not change while the disk runs.
#[derive(Clone, Debug)]
struct Mechanics {
    /// Disks of an array have one between them, so that it stays in the processor's cache.
    geometry: Arc<Geometry>,
    spindle: Spindle,
    curve: SeekCurve,
    ordering: Ordering,
    command_overhead: Nanos,
    cached_overhead: Nanos,
    link_ns_per_sector: u64,
    link_overhead: Nanos,
    read_ahead: Sectors,
    read_ahead_min: Sectors,
    destage_delay: Nanos,
    physical_sectors: u64,
    depth: Depth,
}

/// What the arm is doing.
#[derive(Clone, Copy, Debug)]
enum Work {
    Idle,
    Command {
        tag: u32,
        read: bool,
        start: Lba,
        end: Lba,
        media_end: Nanos,
        completion: Nanos,
        segment: usize,
    },
    Destage {
        end: Nanos,
    },
    /// Reading on, although others wait, as far as the drive always does in a stream that it has recognised.
    ReadAhead {
        end: Nanos,
    },
}

/// A write that waits for room in the write cache.
#[derive(Clone, Copy, Debug, Default)]
struct Blocked {
    tag: u32,
    start: Lba,
    sectors: Sectors,
    arrival: Nanos,
}

const BLOCKED_MAX: usize = 32;

/// Two ways to the same sector are the same moment if they differ by less: durations are rounded down.
const ROUNDING: Nanos = Nanos(1_000);

/// Plain data, so that a copy is one movement of 20 KB.
#[derive(Clone, Copy, Debug)]
struct State {
    queue: Queue,
    head: Head,
    /// Since when the arm is free, or when it will be.
    free_at: Nanos,
    work: Work,
    /// A queued read that goes on where the arm's present read ends.
    follower: Option<Tag>,
    stream: Option<Stream>,
    /// Up to where the arm reads on before it turns to others; zero unless its last way led to a recognised stream.
    kept: Lba,
    segments: Segments,
    link: LinkQueue,
    dirty: WriteCache,
    blocked: [Blocked; BLOCKED_MAX],
    blocked_count: usize,
    busy: Nanos,
    /// When the last command of the arm has been sent over the link.
    sent_at: Nanos,
}

/// A copy of the state that ran ahead to where the next command is done. If nothing else happens until then it is what the disk has become,
/// and nothing is worked out twice.
#[derive(Clone, Debug)]
struct Ahead {
    /// Its room, used again.
    state: Option<Box<State>>,
    /// When that command is done; never: the copy is out of date.
    done: Nanos,
}

#[derive(Clone, Debug)]
pub struct Hdd {
    mechanics: Mechanics,
    /// In a box, so that a copy that ran ahead can take its place.
    state: Box<State>,
    next: Nanos,
    ahead: RefCell<Ahead>,
}

impl Hdd {
    pub fn new(parameters: &HddParameters) -> Self {
        let start = (parameters.start_angle.rem_euclid(1.0) * f64::from(rotation::TURN)) as u32;
        let spindle = Spindle::new(parameters.rpm, start);
        Self {
            mechanics: Mechanics {
                geometry: Arc::new(Geometry::new(&parameters.layout, &spindle)),
                curve: SeekCurve::new(&parameters.seek, &spindle),
                spindle,
                ordering: Ordering::new(parameters.ncq_efficiency, parameters.age_limit),
                command_overhead: parameters.command_overhead,
                cached_overhead: parameters.cached_overhead,
                link_ns_per_sector: (512e9 / parameters.link_bytes_per_second * 1024.0) as u64,
                link_overhead: parameters.link_overhead,
                read_ahead: parameters.read_ahead,
                read_ahead_min: parameters.read_ahead_min,
                destage_delay: parameters.destage_delay,
                physical_sectors: parameters.physical_sectors,
                depth: parameters.depth,
            },
            state: Box::new(State {
                queue: Queue::new(),
                head: Head::default(),
                free_at: Nanos::ZERO,
                work: Work::Idle,
                follower: None,
                stream: None,
                kept: Lba(0),
                segments: Segments::new(parameters.segments, parameters.segment),
                link: LinkQueue::new(),
                dirty: WriteCache::new(parameters.dirty_extents, parameters.dirty_sectors),
                blocked: [Blocked::default(); BLOCKED_MAX],
                blocked_count: 0,
                busy: Nanos::ZERO,
                sent_at: Nanos::ZERO,
            }),
            next: Nanos::NEVER,
            ahead: RefCell::new(Ahead {
                state: None,
                done: Nanos::NEVER,
            }),
        }
    }

    /// Where the arm is, in tracks from the outer edge, for pictures.
    pub fn cylinder(&self) -> u32 {
        self.state.head.cylinder
    }

    /// Cylinder of an address, for pictures.
    pub fn cylinder_of(&self, lba: Lba) -> u32 {
        self.mechanics.geometry.place(lba).cylinder
    }

    pub fn cylinders(&self) -> u32 {
        self.mechanics.geometry.cylinders()
    }

    /// Time that the arm has worked for commands and for destaging; idle read-ahead is not counted.
    pub fn busy(&self) -> Nanos {
        self.state.busy
    }

    /// Looks things up in the other's tables from now on, if they say the same.
    pub fn share_tables(&mut self, other: &Self) {
        if self.mechanics.geometry == other.mechanics.geometry {
            self.mechanics.geometry = Arc::clone(&other.mechanics.geometry);
        }
    }

    pub fn geometry(&self) -> &Geometry {
        &self.mechanics.geometry
    }

    #[inline(always)]
    fn update_next(&mut self) {
        self.next = match self.state.work {
            Work::Command { completion, .. } => completion.min(self.state.link.next()),
            _ => self.next_without_command(),
        };
    }

    fn next_without_command(&self) -> Nanos {
        self.state.turn().unwrap_or_else(|| self.state.link.next())
    }

    /// What comes next is the end of something that the arm does of its own accord, after which it turns to those who wait.
    #[inline]
    fn turns_first(&self) -> bool {
        self.state.turn() == Some(self.next)
    }

    /// When a command that waits behind what the arm does of its own accord will be done, if nothing more arrives.
    fn foresee(&self) -> Nanos {
        self.foresee_write().unwrap_or_else(|| self.run_ahead())
    }

    /// The same where only writes wait for room in the cache and the extent on its way to the platter leaves enough for the first:
    /// the link takes it then, and nothing can overtake it.
    fn foresee_write(&self) -> Option<Nanos> {
        let state = &*self.state;
        let Work::Destage { end } = state.work else {
            return None;
        };
        if !state.queue.is_empty() {
            return None;
        }
        let link = state.link.next();
        if link < Nanos::NEVER {
            return Some(link);
        }
        let first = state.blocked[..state.blocked_count].first()?;
        state
            .dirty
            .has_room_after_destaging(first.sectors)
            .then(|| {
                state.link.free_at.max(end).max(state.sent_at)
                    + self.mechanics.link_time(first.sectors)
            })
    }

    /// Lets a copy run ahead.
    fn run_ahead(&self) -> Nanos {
        let mut ahead = self.ahead.borrow_mut();
        if ahead.done < Nanos::NEVER {
            return ahead.done;
        }
        let copy = match &mut ahead.state {
            Some(room) => {
                **room = *self.state;
                room
            }
            None => ahead.state.insert(self.state.clone()),
        };
        while let Work::Destage { end } | Work::ReadAhead { end } = copy.work {
            if copy.link.next() <= end || !copy.has_waiting() {
                break;
            }
            copy.advance(&self.mechanics, end);
        }
        ahead.done = match copy.work {
            Work::Command { completion, .. } => completion.min(copy.link.next()),
            _ => copy.link.next(),
        };
        ahead.done
    }

    /// Something happens that the copy did not know of.
    #[inline]
    fn forget_ahead(&mut self) {
        self.ahead.get_mut().done = Nanos::NEVER;
    }

    /// What ran ahead to `now` is what the disk has become.
    #[inline]
    fn catch_up(&mut self, now: Nanos) {
        let Ahead { state, done } = self.ahead.get_mut();
        if *done == now {
            if let Some(ahead) = state {
                core::mem::swap(&mut self.state, ahead);
            }
        }
        *done = Nanos::NEVER;
    }
}

impl Mechanics {
    fn link_time(&self, sectors: Sectors) -> Nanos {
        Nanos((sectors.0 * self.link_ns_per_sector) >> 10) + self.link_overhead
    }

    /// What remains to be sent when the last sector has been read: a frame of at most 8 KiB, and the status.
    #[inline]
    fn link_tail(&self, sectors: Sectors) -> Nanos {
        self.link_time(Sectors(sectors.0.min(16)))
    }

    /// A write that does not cover whole physical sectors reads them first and comes back a turn later.
    fn partial_write(&self, start: Lba, sectors: Sectors) -> Nanos {
        let mask = self.physical_sectors - 1;
        if (start.0 | (start.0 + sectors.0)) & mask == 0 {
            Nanos::ZERO
        } else {
            self.spindle.turn()
        }
    }
}

impl State {
    /// When the arm is through with what it does of its own accord and turns to those who wait, if that comes before anything else.
    /// It may have begun, and ended, while the link was still sending what the arm read before: then it is told of after that.
    #[inline]
    fn turn(&self) -> Option<Nanos> {
        match self.work {
            Work::Destage { end } | Work::ReadAhead { end } => {
                let turn = end.max(self.sent_at);
                (turn < self.link.next() && self.has_waiting()).then_some(turn)
            }
            _ => None,
        }
    }

    fn has_waiting(&self) -> bool {
        !self.queue.is_empty() || self.blocked_count > 0 || self.dirty.flush_pending()
    }

    /// Lets the arm do what it does of its own accord up to `now`; at work for a command it does nothing else.
    #[inline(always)]
    fn advance(&mut self, mechanics: &Mechanics, now: Nanos) {
        if !matches!(self.work, Work::Command { .. }) {
            self.advance_alone(mechanics, now);
        }
    }

    fn advance_alone(&mut self, mechanics: &Mechanics, now: Nanos) {
        loop {
            match self.work {
                Work::Destage { end } if end <= now => {
                    self.dirty.end();
                    self.work = Work::Idle;
                    self.admit(mechanics, end);
                    while let Some(tag) = self.dirty.flushed() {
                        let earliest = end.max(self.sent_at);
                        self.link.push(tag, earliest, mechanics.link_overhead);
                    }
                    self.decide(mechanics);
                    if matches!(self.work, Work::Idle) && !self.dirty.is_empty() {
                        self.destage(mechanics, end);
                    }
                }
                Work::ReadAhead { end } if end <= now => {
                    self.work = Work::Idle;
                    self.free_at = end;
                    self.decide(mechanics);
                }
                Work::Idle
                    if !self.dirty.is_empty() && self.free_at + mechanics.destage_delay <= now =>
                {
                    let from = self.free_at + mechanics.destage_delay;
                    self.destage(mechanics, from);
                }
                _ => return,
            }
        }
    }

    /// Gives the arm, free since `free_at`, its next work.
    #[inline]
    fn decide(&mut self, mechanics: &Mechanics) {
        let urgent = self.dirty.flush_pending() || self.blocked_count > 0;
        if urgent && !self.dirty.is_empty() && self.urgent_is_overdue(mechanics) {
            return self.destage(mechanics, self.free_at);
        }
        if self.serve_stream(mechanics) {
            return;
        }
        if (urgent || !self.queue.is_empty()) && self.keep_reading(mechanics) {
            return;
        }
        if self.queue.is_empty() {
            if urgent && !self.dirty.is_empty() {
                self.destage(mechanics, self.free_at);
            }
            return;
        }
        if let (Some(tag), None) = (self.follower.take(), self.stream) {
            if self
                .queue
                .overdue(self.free_at, mechanics.ordering.age_limit)
                .is_none()
            {
                if let Some(slot) = self.queue.find(tag) {
                    return self.follow(mechanics, slot);
                }
            }
        }
        let from = self
            .queue
            .first_ready(self.free_at, mechanics.command_overhead);
        // What the read-ahead is doing ends here unless it leads to the choice; the head may have moved with it.
        let stream = self.stream;
        self.stop_stream(mechanics, from);
        let (slot, cost) = self.queue.choose(
            from,
            mechanics.command_overhead,
            self.head,
            &mechanics.spindle,
            &mechanics.curve,
            &mechanics.ordering,
        );
        if urgent && !self.dirty.is_empty() {
            let nearest = self
                .dirty
                .nearest(from, self.head, &mechanics.spindle, &mechanics.curve);
            if nearest.1 < cost {
                return self.destage_that(mechanics, from, nearest);
            }
        }
        let waiting = self.queue.take(slot);
        let mut media_end = from + mechanics.spindle.time_of(cost) + waiting.extent.transfer;
        if waiting.write {
            media_end += mechanics.partial_write(waiting.start, waiting.sectors);
        }
        if let Some(stream) =
            stream.filter(|stream| !waiting.write && stream.leads_to(waiting.start))
        {
            let end = waiting.start + waiting.sectors;
            let streamed = stream.since
                + mechanics
                    .geometry
                    .extent(stream.from, Sectors(end.0 - stream.from.0))
                    .transfer;
            // Without any movement of the arm the head gets there as soon; what lies between is kept as well.
            if streamed <= media_end + ROUNDING {
                return self.read_from_stream(mechanics, from, &stream, &waiting);
            }
        }
        self.occupy(mechanics, &waiting, from, media_end);
    }

    /// Serves waiting reads that start in the stream's segment, or where the head will have been when they are decoded:
    /// from the buffer what has been read, by going on reading what has not. Nothing is nearer than these. Says
    /// whether the arm has work now.
    #[inline]
    fn serve_stream(&mut self, mechanics: &Mechanics) -> bool {
        // Read field by field: as a whole, just after its fields were written, it would have to wait for them to reach the cache.
        let Some(Stream { limit, segment, .. }) = &self.stream else {
            return false;
        };
        let held = self.segments.start_of(*segment);
        if !self.queue.may_read(held, *limit) {
            return false;
        }
        self.serve_reads_of(mechanics, held)
    }

    #[cold]
    fn serve_reads_of(&mut self, mechanics: &Mechanics, held: Lba) -> bool {
        let Some(mut stream) = self.stream else {
            return false;
        };
        let overhead = mechanics.cached_overhead;
        while !self.queue.is_empty() {
            let from = self
                .queue
                .first_ready(self.free_at, mechanics.command_overhead);
            let passed = Self::stream_position(mechanics, &stream, from);
            let known = from.saturating_sub(overhead);
            let Some(slot) = self.queue.read_within(held, passed, known) else {
                return false;
            };
            let waiting = *self.queue.command(slot);
            let end = waiting.start + waiting.sectors;
            let look = self.free_at.max(waiting.arrival + overhead);
            let position = Self::stream_position(mechanics, &stream, look);
            self.segments.extend(stream.segment, position);
            if end <= position {
                self.queue.take(slot);
                // The link is not free before the read that has just ended has been sent.
                let earliest = look.max(self.sent_at);
                self.hit(mechanics, look, earliest, waiting.tag, waiting.sectors, end);
                stream = self.stream.unwrap_or(stream);
                continue;
            }
            // Where it has stopped at its limit the platter has gone on, and the rest needs positioning.
            let limit = mechanics.ordering.age_limit;
            let aged = self.queue.overdue(from, limit);
            if position == stream.limit || aged.is_some_and(|other| other != slot) {
                return false;
            }
            self.queue.take(slot);
            self.read_from_stream(mechanics, look, &stream, &waiting);
            return true;
        }
        false
    }

    /// Whether a flush, or a write that waits for room, is older than the age limit and nothing in the queue is older still.
    /// Adjacent reads are always nearer than dirty data, so without this a deep stream could hold a flush up for ever.
    #[cold]
    fn urgent_is_overdue(&mut self, mechanics: &Mechanics) -> bool {
        let limit = mechanics.ordering.age_limit;
        let blocked = self.blocked[..self.blocked_count]
            .first()
            .map_or(Nanos::NEVER, |write| write.arrival);
        let since = blocked.min(self.dirty.flush_since());
        if self.free_at.saturating_sub(since) <= limit {
            return false;
        }
        let oldest = self.queue.overdue(self.free_at, limit);
        oldest.is_none_or(|slot| self.queue.command(slot).arrival >= since)
    }

    /// Stays in a recognised stream for as much as the drive always reads on. Says whether the arm does.
    #[inline]
    fn keep_reading(&mut self, mechanics: &Mechanics) -> bool {
        let Some(stream) = &self.stream else {
            return false;
        };
        let kept = self.kept.min(stream.limit);
        if kept <= stream.from || !self.segments.in_use(stream.segment) {
            return false;
        }
        let rest = Sectors(kept.0 - stream.from.0);
        let end = stream.since + mechanics.geometry.extent(stream.from, rest).transfer;
        let limit = mechanics.ordering.age_limit;
        if end <= self.free_at || self.queue.overdue(self.free_at, limit).is_some() {
            return false;
        }
        self.busy += end - self.free_at;
        self.free_at = end;
        self.work = Work::ReadAhead { end };
        true
    }

    /// Goes straight on to a read that begins where the last one ended: the head is already there.
    fn follow(&mut self, mechanics: &Mechanics, slot: usize) {
        let waiting = self.queue.take(slot);
        let from = self.free_at;
        let passed = from + mechanics.geometry.gap_before(waiting.start) + waiting.extent.transfer;
        let media_end = passed.max(waiting.arrival + mechanics.cached_overhead);
        self.occupy(mechanics, &waiting, from, media_end);
    }

    #[inline]
    fn occupy(&mut self, mechanics: &Mechanics, waiting: &Waiting, from: Nanos, media_end: Nanos) {
        self.busy += media_end - from;
        self.kept = if waiting.segment == NO_SEGMENT {
            Lba(0)
        } else {
            waiting.start + waiting.sectors + mechanics.read_ahead_min
        };
        // On a slow link the data of the command before may still be on their way.
        let completion = media_end.max(self.sent_at) + mechanics.link_tail(waiting.sectors);
        self.sent_at = completion;
        self.head = Head {
            cylinder: waiting.extent.last_cylinder,
            track: waiting.extent.last_track,
        };
        self.free_at = media_end;
        self.work = Work::Command {
            tag: waiting.tag,
            read: !waiting.write,
            start: waiting.start,
            end: waiting.start + waiting.sectors,
            segment: waiting.segment,
            media_end,
            completion,
        };
    }

    /// Puts the nearest dirty extent on the platters.
    fn destage(&mut self, mechanics: &Mechanics, from: Nanos) {
        self.stop_stream(mechanics, from);
        let nearest = self
            .dirty
            .nearest(from, self.head, &mechanics.spindle, &mechanics.curve);
        self.destage_that(mechanics, from, nearest);
    }

    /// Writes the extent in a slot, so many ticks away.
    fn destage_that(&mut self, mechanics: &Mechanics, from: Nanos, (slot, ticks): (usize, u32)) {
        let extent = self.dirty.begin(slot);
        let end = from
            + mechanics.spindle.time_of(ticks)
            + extent.extent.transfer
            + mechanics.partial_write(extent.start, extent.sectors);
        self.busy += end - from;
        self.head = Head {
            cylinder: extent.extent.last_cylinder,
            track: extent.extent.last_track,
        };
        self.free_at = end;
        self.work = Work::Destage { end };
    }

    /// Lets blocked writes into the write cache.
    fn admit(&mut self, mechanics: &Mechanics, now: Nanos) {
        let mut admitted = 0;
        while admitted < self.blocked_count {
            let write = self.blocked[admitted];
            if !self.dirty.accept(
                &mechanics.geometry,
                mechanics.curve.write_settle,
                write.start,
                write.sectors,
            ) {
                break;
            }
            // The link takes it when it has sent what the arm read before.
            let earliest = now.max(self.sent_at);
            self.link
                .push(write.tag, earliest, mechanics.link_time(write.sectors));
            admitted += 1;
        }
        self.blocked.copy_within(admitted..self.blocked_count, 0);
        self.blocked_count -= admitted;
    }

    /// Whether the arm, free now, is sure to leave at once for a command that a stream from `end` would not serve. Then there is no
    /// need to begin one.
    #[inline(always)]
    fn turns_away(&self, mechanics: &Mechanics, end: Lba, segment: Option<usize>) -> bool {
        let held = segment.map_or(end, |segment| self.segments.start_of(segment));
        !self.queue.is_empty()
            && self.follower.is_none()
            && self.kept <= end
            && self
                .queue
                .all_decoded(self.free_at, mechanics.command_overhead)
            && !self.queue.may_read(held, end + mechanics.read_ahead)
    }

    fn begin_stream(
        &mut self,
        mechanics: &Mechanics,
        end: Lba,
        segment: Option<usize>,
        since: Nanos,
    ) {
        let limit = Lba((end.0 + mechanics.read_ahead.0).min(mechanics.geometry.capacity().0));
        self.stream = segment.filter(|_| limit > end).map(|segment| Stream {
            from: end,
            since: since + mechanics.geometry.gap_before(end),
            limit,
            segment,
        });
    }

    /// First sector that the stream has not read at `now`.
    fn stream_position(mechanics: &Mechanics, stream: &Stream, now: Nanos) -> Lba {
        let limit = Sectors(stream.limit.0 - stream.from.0);
        stream.from
            + mechanics
                .geometry
                .sectors_in(stream.from, now.saturating_sub(stream.since), limit)
    }

    /// Ends the read-ahead because the arm is needed at `now`; keeps what was read.
    #[inline]
    fn stop_stream(&mut self, mechanics: &Mechanics, now: Nanos) {
        let Some(stream) = self.stream.take() else {
            return;
        };
        if now <= stream.since {
            return;
        }
        let position = Self::stream_position(mechanics, &stream, now);
        self.segments.extend(stream.segment, position);
        if position > stream.from {
            let place = mechanics.geometry.place(Lba(position.0 - 1));
            self.head = Head {
                cylinder: place.cylinder,
                track: place.track,
            };
        }
    }

    /// Forgets what a write makes stale; the read-ahead ends if it was filling that.
    #[inline]
    fn invalidate(&mut self, start: Lba, end: Lba) {
        self.segments.invalidate(start, end);
        self.stream = self.stream.filter(|stream| {
            // What is read from now on may be what is written.
            self.segments.in_use(stream.segment) && (end <= stream.from || stream.limit <= start)
        });
    }

    /// Serves a read from the cache or from the running read-ahead, if it can be; otherwise says from which address on
    /// the platters are needed, and which segment ends there.
    #[inline]
    fn read(
        &mut self,
        mechanics: &Mechanics,
        now: Nanos,
        tag: u32,
        start: Lba,
        sectors: Sectors,
    ) -> Option<(Lba, usize)> {
        let end = start + sectors;
        if let (Some(stream), Work::Idle | Work::ReadAhead { .. }) = (self.stream, self.work) {
            let position = Self::stream_position(mechanics, &stream, now);
            self.segments.extend(stream.segment, position);
            // Where it has stopped at its limit the platter has gone on, and the rest needs positioning.
            if start >= self.segments.start_of(stream.segment)
                && start <= position
                && end > position
                && position < stream.limit
            {
                let waiting = Waiting {
                    tag,
                    start,
                    sectors,
                    arrival: now,
                    ..Waiting::default()
                };
                self.read_from_stream(mechanics, now, &stream, &waiting);
                return None;
            }
        }
        let held = self.segments.lookup(start, end);
        if held == Held::All || (!self.dirty.is_empty() && self.dirty.holds(start, end)) {
            let earliest = now + mechanics.cached_overhead;
            self.hit(mechanics, now, earliest, tag, sectors, end);
            return None;
        }
        Some(match held {
            Held::UpTo(address, segment) => (address, segment),
            _ => (start, NO_SEGMENT),
        })
    }

    /// The head is reading towards the end of the command already: done when the last sector has passed. The arm is
    /// the command's from `from` on; up to where the stream is then, the segment has been extended.
    fn read_from_stream(
        &mut self,
        mechanics: &Mechanics,
        from: Nanos,
        stream: &Stream,
        waiting: &Waiting,
    ) {
        let end = waiting.start + waiting.sectors;
        let position = Self::stream_position(mechanics, stream, from);
        let extent = mechanics
            .geometry
            .extent(stream.from, Sectors(end.0 - stream.from.0));
        let media_end = stream.since + extent.transfer;
        self.busy += media_end.saturating_sub(from);
        self.head = Head {
            cylinder: extent.last_cylinder,
            track: extent.last_track,
        };
        self.free_at = media_end;
        self.stream = None;
        let earliest = media_end
            .max(waiting.arrival + mechanics.cached_overhead)
            .max(self.sent_at);
        let completion = earliest + mechanics.link_tail(waiting.sectors);
        self.sent_at = completion;
        self.work = Work::Command {
            tag: waiting.tag,
            read: true,
            start: position,
            end,
            segment: stream.segment,
            media_end,
            completion,
        };
    }

    fn hit(
        &mut self,
        mechanics: &Mechanics,
        now: Nanos,
        earliest: Nanos,
        tag: u32,
        sectors: Sectors,
        end: Lba,
    ) {
        self.link.push(tag, earliest, mechanics.link_time(sectors));
        // A reader that keeps up keeps the read-ahead going.
        if let Some(stream) = &mut self.stream {
            let limit = Lba((end.0 + mechanics.read_ahead.0).min(mechanics.geometry.capacity().0));
            let running = Self::stream_position(mechanics, stream, now) < stream.limit;
            if running && end >= stream.from && limit > stream.limit {
                stream.limit = limit;
            }
        }
    }
}

impl Device for Hdd {
    fn capacity(&self) -> Sectors {
        self.mechanics.geometry.capacity()
    }

    fn depth(&self) -> Depth {
        self.mechanics.depth
    }

    fn submit(&mut self, now: Nanos, command: Command) {
        self.forget_ahead();
        let (mechanics, state) = (&self.mechanics, &mut *self.state);
        state.advance(mechanics, now);
        let Command {
            tag,
            kind,
            start,
            sectors,
        } = command;
        let (write, from, segment) = match kind {
            CommandKind::Read => {
                let Some((missing, segment)) = state.read(mechanics, now, tag.0, start, sectors)
                else {
                    return self.update_next();
                };
                (false, missing, segment)
            }
            CommandKind::Write { force_unit_access } => {
                state.invalidate(start, start + sectors);
                if state.dirty.enabled() && !force_unit_access {
                    let settle = mechanics.curve.write_settle;
                    if state.blocked_count == 0
                        && state
                            .dirty
                            .accept(&mechanics.geometry, settle, start, sectors)
                    {
                        state.link.push(
                            tag.0,
                            now + mechanics.cached_overhead,
                            mechanics.link_time(sectors),
                        );
                    } else {
                        state.blocked[state.blocked_count] = Blocked {
                            tag: tag.0,
                            start,
                            sectors,
                            arrival: now,
                        };
                        state.blocked_count += 1;
                        if matches!(state.work, Work::Idle) {
                            state.free_at = state.free_at.max(now);
                            state.decide(mechanics);
                        }
                    }
                    return self.update_next();
                }
                (true, start, NO_SEGMENT)
            }
            CommandKind::Flush => {
                if state.dirty.clean() {
                    state.link.push(
                        tag.0,
                        now + mechanics.cached_overhead,
                        mechanics.link_overhead,
                    );
                } else {
                    state.dirty.flush(tag.0, now);
                    if matches!(state.work, Work::Idle) {
                        state.free_at = state.free_at.max(now + mechanics.cached_overhead);
                        state.decide(mechanics);
                    }
                }
                return self.update_next();
            }
            CommandKind::Trim => {
                state.link.push(
                    tag.0,
                    now + mechanics.cached_overhead,
                    mechanics.link_overhead,
                );
                return self.update_next();
            }
        };
        let sectors = Sectors(sectors.0 - (from.0 - start.0));
        let extent = mechanics.geometry.extent(from, sectors);
        let settle = if write {
            mechanics.curve.write_settle
        } else {
            0
        };
        let waiting = Waiting {
            tag: tag.0,
            write,
            start: from,
            sectors,
            arrival: now,
            extent,
            segment,
        };
        state.queue.push(waiting, settle);
        match state.work {
            Work::Idle => {
                state.free_at = state.free_at.max(now);
                state.follower = None;
                state.decide(mechanics);
            }
            Work::Command {
                read: true, end, ..
            } if !write && end == start => state.follower = Some(tag),
            _ => {}
        }
        self.update_next();
    }

    fn next_completion(&self) -> Option<Nanos> {
        let next = if self.turns_first() {
            self.foresee()
        } else {
            self.next
        };
        (next != Nanos::NEVER).then_some(next)
    }

    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        (self.next != Nanos::NEVER).then_some(self.next)
    }

    #[inline]
    fn advance(&mut self, now: Nanos) -> Option<Tag> {
        if self.turns_first() {
            self.forget_ahead();
            self.state.advance(&self.mechanics, now);
            self.update_next();
            return None;
        }
        Some(self.complete_next(now))
    }

    fn complete_next(&mut self, now: Nanos) -> Tag {
        self.catch_up(now);
        let (mechanics, state) = (&self.mechanics, &mut *self.state);
        state.advance(mechanics, now);
        let link = state.link.next();
        let tag = match state.work {
            Work::Command {
                tag,
                read,
                start,
                end,
                media_end,
                completion,
                segment,
            } if completion < link => {
                debug_assert_eq!(completion, now);
                state.work = Work::Idle;
                state.free_at = media_end;
                if read {
                    let segment = state.segments.store(start, end, segment);
                    if !state.turns_away(mechanics, end, segment) {
                        state.begin_stream(mechanics, end, segment, media_end);
                    }
                }
                state.decide(mechanics);
                tag
            }
            _ => {
                debug_assert_eq!(link, now);
                state.link.pop()
            }
        };
        self.update_next();
        Tag(tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Drive, Model};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn steps_lead_to_the_completions_that_are_foretold(
            commands in prop::collection::vec((0u64..2_000_000, 1u64..600, 0u8..10, 0u64..30_000_000), 50..300),
        ) {
            let model = Model::shipped("st3250620ns").unwrap();
            let Drive::Hdd(mut disk) = Drive::new(&model, 1).unwrap() else {
                panic!("a hard disk")
            };
            let mut stepping = disk.clone();
            let mut free: Vec<u32> = (0..disk.depth().0).collect();
            let mut now = Nanos::ZERO;
            for (start, sectors, kind, pause) in commands {
                let until = now + Nanos(pause);
                while let Some(due) = disk.next_completion().filter(|due| *due <= until || free.is_empty()) {
                    let tag = disk.complete_next(due);
                    let mut stepped = None;
                    while stepped.is_none() {
                        let step = stepping.next_event().unwrap();
                        prop_assert!(step <= due);
                        stepped = stepping.advance(step).map(|tag| (tag, step));
                    }
                    prop_assert_eq!(stepped, Some((tag, due)));
                    prop_assert_eq!(disk.next, stepping.next);
                    free.push(tag.0);
                    now = due;
                }
                now = now.max(until);
                let kind = match kind {
                    0..=4 => CommandKind::Read,
                    9 => CommandKind::Flush,
                    _ => CommandKind::Write { force_unit_access: false },
                };
                let command = Command { tag: Tag(free.pop().unwrap()), kind, start: Lba(start * 8), sectors: Sectors(sectors) };
                disk.submit(now, command);
                // Steps that are due by now come first, as the event loop takes them.
                while let Some(step) = stepping.next_event().filter(|step| *step <= now) {
                    prop_assert_eq!(stepping.advance(step), None);
                }
                stepping.submit(now, command);
            }
            prop_assert_eq!(format!("{:?}", disk.state), format!("{:?}", stepping.state));
        }
    }

    proptest! {
        #[test]
        fn an_arm_that_turns_away_does_what_it_would_with_a_stream(
            commands in prop::collection::vec((0u64..400_000, 1u64..300, 0u8..10, 0u64..12_000_000), 50..300),
        ) {
            let model = Model::shipped("st3250620ns").unwrap();
            let Drive::Hdd(mut disk) = Drive::new(&model, 1).unwrap() else {
                panic!("a hard disk")
            };
            let mut free: Vec<u32> = (0..disk.depth().0).collect();
            let mut now = Nanos::ZERO;
            for (start, sectors, kind, pause) in commands {
                let until = now + Nanos(pause);
                while let Some(due) = disk.next_completion().filter(|due| *due <= until || free.is_empty()) {
                    let mut long = disk.clone();
                    let tag = disk.complete_next(due);
                    free.push(tag.0);
                    now = due;
                    long.state.advance(&long.mechanics, due);
                    if let Work::Command { read: true, start, end, media_end, completion, segment, .. } = long.state.work {
                        if completion == due && completion < long.state.link.next() {
                            let (mechanics, state) = (&long.mechanics, &mut *long.state);
                            (state.work, state.free_at) = (Work::Idle, media_end);
                            let segment = state.segments.store(start, end, segment);
                            state.begin_stream(mechanics, end, segment, media_end);
                            state.decide(mechanics);
                            prop_assert_eq!(format!("{:?}", long.state), format!("{:?}", disk.state));
                        }
                    }
                }
                now = now.max(until);
                let kind = match kind {
                    0..=6 => CommandKind::Read,
                    9 => CommandKind::Flush,
                    _ => CommandKind::Write { force_unit_access: false },
                };
                // Every third one goes on where the one before it may have ended: streams are recognised.
                let start = if start % 3 == 0 { start / 3 % 64 * sectors } else { start };
                disk.submit(now, Command { tag: Tag(free.pop().unwrap()), kind, start: Lba(start * 8), sectors: Sectors(sectors) });
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_foreseen_is_what_a_copy_does(
            steps in prop::collection::vec((0u64..2_000_000, 1u64..600, 0u8..10, 0u64..4), 50..400),
            reads in 0u8..4,
        ) {
            let model = Model::shipped("st3250620ns").unwrap();
            let Drive::Hdd(mut disk) = Drive::new(&model, 1).unwrap() else {
                panic!("a hard disk")
            };
            let depth = disk.depth().0;
            let mut free: Vec<u32> = (0..depth).collect();
            let mut now = Nanos::ZERO;
            for (start, sectors, kind, pause) in steps {
                if free.is_empty() || pause == 0 && free.len() < depth as usize {
                    now = disk.next_completion().unwrap();
                    free.push(disk.complete_next(now).0);
                }
                let kind = match kind {
                    _ if kind < reads => CommandKind::Read,
                    9 => CommandKind::Flush,
                    _ => CommandKind::Write { force_unit_access: false },
                };
                let tag = Tag(free.pop().unwrap());
                disk.submit(now, Command { tag, kind, start: Lba(start * 8), sectors: Sectors(sectors) });
                if disk.foresee_write().is_some() && disk.state.has_waiting() {
                    prop_assert_eq!(disk.foresee(), disk.run_ahead());
                }
            }
        }
    }
}
