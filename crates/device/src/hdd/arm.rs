//! The arm: what it is doing, and what it turns to when it becomes free.

use super::cache::{LinkQueue, Segments, Stream, NO_SEGMENT};
use super::mechanics::Mechanics;
use super::ncq::{Head, Queue, QueuedCommand};
use super::write_cache::WriteCache;
use crate::device::Tag;
use seekwise_units::{Lba, Nanos, Sectors};

/// What the arm is doing.
#[derive(Clone, Copy, Debug)]
pub(super) enum ArmWork {
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

/// The arm's stay where it moved to last. In a drive that limits it, reads that follow each other there keep the arm only if they waited when it
/// came or start within the limit; later ones wait like any other, or one stream would hold the arm for as long as its reader keeps up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Visit {
    since: Nanos,
    pub(super) bound: Lba,
    /// Where the last read of the arm ended.
    pub(super) reached: Lba,
}

impl Visit {
    fn includes(&self, start: Lba, arrival: Nanos) -> bool {
        start < self.bound || arrival <= self.since
    }
}

/// A write that waits for room in the write cache.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Blocked {
    pub(super) tag: u32,
    pub(super) start: Lba,
    pub(super) sectors: Sectors,
    pub(super) arrival: Nanos,
}

pub(super) const BLOCKED_MAX: usize = 32;

/// The longest write that a media cache takes; longer ones lie well where they belong.
const LOGGED_MAX: Sectors = Sectors::from_kib(64);

/// Two ways to the same sector are the same moment if they differ by less: durations are rounded down.
const ROUNDING: Nanos = Nanos(1_000);

/// Plain data, so that a copy is one movement of 20 KB.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub(super) queue: Queue,
    pub(super) head: Head,
    /// Since when the arm is free, or when it will be.
    pub(super) free_at: Nanos,
    pub(super) work: ArmWork,
    /// A queued read that goes on where the arm's present read ends.
    pub(super) follower: Option<Tag>,
    pub(super) stream: Option<Stream>,
    /// Up to where the arm reads on before it turns to others; zero unless its last way led to a recognised stream.
    pub(super) kept: Lba,
    pub(super) visit: Visit,
    pub(super) segments: Segments,
    pub(super) link: LinkQueue,
    pub(super) dirty: WriteCache,
    pub(super) blocked: [Blocked; BLOCKED_MAX],
    pub(super) blocked_count: usize,
    pub(super) busy: Nanos,
    /// When the last command of the arm has been sent over the link.
    pub(super) sent_at: Nanos,
}

impl State {
    /// When the arm is through with what it does of its own accord and turns to those who wait, if that comes before anything else.
    /// It may have begun, and ended, while the link was still sending what the arm read before: then it is notified after that.
    #[inline]
    pub(super) fn turn(&self) -> Option<Nanos> {
        match self.work {
            ArmWork::Destage { end } | ArmWork::ReadAhead { end } => {
                let turn = end.max(self.sent_at);
                (turn < self.link.next() && self.has_waiting()).then_some(turn)
            }
            _ => None,
        }
    }

    pub(super) fn has_waiting(&self) -> bool {
        !self.queue.is_empty() || self.blocked_count > 0 || self.dirty.flush_pending()
    }

    /// Lets the arm do what it does of its own accord up to `now`; at work for a command it does nothing else.
    #[inline(always)]
    pub(super) fn advance(&mut self, mechanics: &Mechanics, now: Nanos) {
        if !matches!(self.work, ArmWork::Command { .. }) {
            self.advance_alone(mechanics, now);
        }
    }

    fn advance_alone(&mut self, mechanics: &Mechanics, now: Nanos) {
        loop {
            match self.work {
                ArmWork::Destage { end } if end <= now => {
                    self.dirty.end();
                    self.work = ArmWork::Idle;
                    self.admit(mechanics, end);
                    while let Some(tag) = self.dirty.flushed() {
                        let earliest = end.max(self.sent_at);
                        self.link.push(tag, earliest, mechanics.link_overhead);
                    }
                    self.decide(mechanics);
                    if matches!(self.work, ArmWork::Idle) && !self.dirty.is_empty() {
                        self.destage(mechanics, end);
                    }
                }
                ArmWork::ReadAhead { end } if end <= now => {
                    self.work = ArmWork::Idle;
                    self.free_at = end;
                    self.decide(mechanics);
                }
                ArmWork::Idle
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
    pub(super) fn decide(&mut self, mechanics: &Mechanics) {
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
                if let Some(slot) = self.queue.find(tag).filter(|&slot| self.may_stay(slot)) {
                    return self.follow(mechanics, slot);
                }
            }
        }
        self.turn_to_nearest(mechanics, urgent);
    }

    /// Chooses a command, or a write of the cache that is nearer and urgent, and begins it.
    #[inline]
    fn turn_to_nearest(&mut self, mechanics: &Mechanics, urgent: bool) {
        let from = self
            .queue
            .first_ready(self.free_at, mechanics.command_overhead);
        // What the read-ahead is doing ends here unless it leads to the choice; the head may have moved with it.
        let stream = match self.stream {
            Some(_) => self.stop_stream(mechanics, from),
            None => None,
        };
        let left = mechanics.stay.map(|_| {
            self.queue.leave(self.visit.reached, |start, arrival| {
                self.visit.includes(start, arrival)
            })
        });
        let (slot, cost) = self.queue.choose(
            from,
            mechanics.command_overhead,
            self.head,
            &mechanics.spindle,
            &mechanics.curve,
            &mechanics.ordering,
        );
        if let Some(left) = &left {
            self.queue.come_back(left);
        }
        if urgent && !self.dirty.is_empty() {
            let nearest = self
                .dirty
                .nearest(from, self.head, &mechanics.spindle, &mechanics.curve);
            if nearest.1 < cost {
                return self.destage_that(mechanics, from, nearest);
            }
        }
        let waiting = self.queue.take(slot);
        let mut media_end = from + mechanics.spindle.time_of(cost) + waiting.transfer;
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
                // A copy, so that the command itself stays in registers.
                return self.read_from_stream(mechanics, from, &stream, &{ waiting });
            }
        }
        self.visit.since = from;
        self.visit.bound = mechanics
            .stay
            .map_or(Lba(u64::MAX), |stay| waiting.start + waiting.sectors + stay);
        self.occupy(mechanics, &waiting, from, media_end);
    }

    /// Whether the read in `slot`, which goes on where the arm is, keeps it there: as part of its visit, or because nobody else waits.
    fn may_stay(&self, slot: usize) -> bool {
        let read = self.queue.command(slot);
        self.visit.includes(read.start, read.arrival) || self.queue.only_follows(read.start)
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
            if !self.may_stay(slot) {
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
        // Rounded up, or the last sector would not have passed.
        let end = stream.since + mechanics.geometry.extent(stream.from, rest).transfer + ROUNDING;
        let limit = mechanics.ordering.age_limit;
        if end <= self.free_at || self.queue.overdue(self.free_at, limit).is_some() {
            return false;
        }
        self.busy += end - self.free_at;
        self.free_at = end;
        self.work = ArmWork::ReadAhead { end };
        true
    }

    /// Goes straight on to a read that begins where the last one ended: the head is already there.
    fn follow(&mut self, mechanics: &Mechanics, slot: usize) {
        let waiting = self.queue.take(slot);
        let from = self.free_at;
        let passed = from + mechanics.geometry.gap_before(waiting.start) + waiting.transfer;
        let media_end = passed.max(waiting.arrival + mechanics.cached_overhead);
        self.occupy(mechanics, &waiting, from, media_end);
    }

    #[inline]
    fn occupy(
        &mut self,
        mechanics: &Mechanics,
        waiting: &QueuedCommand,
        from: Nanos,
        media_end: Nanos,
    ) {
        self.busy += media_end - from;
        let mut segment = waiting.segment;
        if segment == NO_SEGMENT && !waiting.write {
            // What it goes on with was itself on its way when it came: the next one of a stream that is several commands deep.
            segment = self.segments.ending_at(waiting.start);
        }
        self.kept = if segment == NO_SEGMENT {
            Lba(0)
        } else {
            waiting.start + waiting.sectors + mechanics.read_ahead_min
        };
        // On a slow link the data of the command before may still be on their way.
        let completion = media_end.max(self.sent_at) + mechanics.link_tail(waiting.sectors);
        self.sent_at = completion;
        self.visit.reached = waiting.start + waiting.sectors;
        self.head = waiting.last;
        self.free_at = media_end;
        self.work = ArmWork::Command {
            tag: waiting.tag,
            read: !waiting.write,
            start: waiting.start,
            end: waiting.start + waiting.sectors,
            segment,
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
        if mechanics.logged_write > Nanos::ZERO && extent.sectors <= LOGGED_MAX {
            // Whether the zone is near or far is not known: its way is part of the time for each write.
            self.busy += mechanics.logged_write;
            self.free_at = from + mechanics.logged_write;
            self.work = ArmWork::Destage { end: self.free_at };
            return;
        }
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
        self.work = ArmWork::Destage { end };
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
    pub(super) fn turns_away(
        &self,
        mechanics: &Mechanics,
        end: Lba,
        segment: Option<usize>,
    ) -> bool {
        let held = segment.map_or(end, |segment| self.segments.start_of(segment));
        !self.queue.is_empty()
            && self.follower.is_none()
            && self.kept <= end
            && self
                .queue
                .all_decoded(self.free_at, mechanics.command_overhead)
            && !self.queue.may_read(held, end + mechanics.read_ahead)
    }
}
