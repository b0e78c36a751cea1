//! Reads that go on where one ended: the buffer or the running read-ahead serves them.

use super::arm::{ArmWork, State};
use super::cache::{Held, Stream, NO_SEGMENT};
use super::mechanics::Mechanics;
use super::ncq::{Head, QueuedCommand};
use super::rotation::Spindle;
use seekwise_units::{Lba, Nanos, Sectors};

impl State {
    pub(super) fn begin_stream(
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
    pub(super) fn stream_position(mechanics: &Mechanics, stream: &Stream, now: Nanos) -> Lba {
        let limit = Sectors(stream.limit.0 - stream.from.0);
        stream.from
            + mechanics
                .geometry
                .sectors_in(stream.from, now.saturating_sub(stream.since), limit)
    }

    /// Ends the read-ahead because the arm is needed at `now`; keeps what was read, and gives what it was.
    #[inline]
    pub(super) fn stop_stream(&mut self, mechanics: &Mechanics, now: Nanos) -> Option<Stream> {
        let stream = self.stream.take()?;
        if now > stream.since {
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
        Some(stream)
    }

    /// Forgets what a write makes stale; the read-ahead ends if it may still read that.
    #[inline]
    pub(super) fn invalidate(&mut self, mechanics: &Mechanics, now: Nanos, start: Lba, end: Lba) {
        if let Some(stream) = self.stream {
            let position = Self::stream_position(mechanics, &stream, now);
            self.segments.extend(stream.segment, position);
        }
        self.segments.invalidate(start, end);
        self.stream = self.stream.filter(|stream| {
            // What is read from now on may be what is written.
            self.segments.in_use(stream.segment) && (end <= stream.from || stream.limit <= start)
        });
    }

    /// Serves a read from the cache or from the running read-ahead, if it can be; otherwise says from which address on
    /// the platters are needed, and which segment ends there.
    #[inline]
    pub(super) fn read(
        &mut self,
        mechanics: &Mechanics,
        now: Nanos,
        tag: u32,
        start: Lba,
        sectors: Sectors,
    ) -> Option<(Lba, usize)> {
        let end = start + sectors;
        if let (Some(stream), ArmWork::Idle | ArmWork::ReadAhead { .. }) = (self.stream, self.work)
        {
            let position = Self::stream_position(mechanics, &stream, now);
            self.segments.extend(stream.segment, position);
            // Where it has stopped at its limit the platter has gone on, and the rest needs positioning.
            if start >= self.segments.start_of(stream.segment)
                && start <= position
                && end > position
                && position < stream.limit
                && (start < self.visit.bound || self.queue.only_follows(start))
            {
                let waiting = QueuedCommand {
                    tag,
                    start,
                    sectors,
                    arrival: now,
                    ..QueuedCommand::default()
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
    pub(super) fn read_from_stream(
        &mut self,
        mechanics: &Mechanics,
        from: Nanos,
        stream: &Stream,
        waiting: &QueuedCommand,
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
        self.visit.reached = end;
        self.stream = None;
        let earliest = media_end
            .max(waiting.arrival + mechanics.cached_overhead)
            .max(self.sent_at);
        let completion = earliest + mechanics.link_tail(waiting.sectors);
        self.sent_at = completion;
        self.work = ArmWork::Command {
            tag: waiting.tag,
            read: true,
            start: position,
            end,
            segment: stream.segment,
            media_end,
            completion,
        };
    }

    pub(super) fn hit(
        &mut self,
        mechanics: &Mechanics,
        now: Nanos,
        earliest: Nanos,
        tag: u32,
        sectors: Sectors,
        end: Lba,
    ) {
        self.link.push(tag, earliest, mechanics.link_time(sectors));
        if self.stream.is_some() {
            self.read_on(mechanics, now, end);
        }
    }

    /// A reader that keeps up keeps the read-ahead going; one that has been waited for gets it going again, as soon as there is room
    /// in the buffer and the platter has come round.
    #[inline]
    fn read_on(&mut self, mechanics: &Mechanics, now: Nanos, end: Lba) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        let limit = Lba((end.0 + mechanics.read_ahead.0).min(mechanics.geometry.capacity().0));
        // What another segment holds beyond its limit tells nothing of this stream.
        if end < stream.from || end > stream.limit || limit <= stream.limit {
            return;
        }
        if Self::stream_position(mechanics, stream, now) == stream.limit {
            self.segments.extend(stream.segment, stream.limit);
            let last = mechanics.geometry.place(Lba(stream.limit.0 - 1));
            self.head = Head {
                cylinder: last.cylinder,
                track: last.track,
            };
            let angle = mechanics.spindle.angle_at(now);
            let next = mechanics.geometry.place(stream.limit);
            let wait = Spindle::wait(angle, next.angle);
            stream.from = stream.limit;
            stream.since = now + mechanics.spindle.time_of(wait);
        }
        stream.limit = limit;
    }
}
