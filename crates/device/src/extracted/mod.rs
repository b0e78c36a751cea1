//! A disk described by what was extracted from a real one: exact layout, measured seek times, the overheads of its bus
//! protocol, the rules of its buffer.
//!
//! ```text
//!   command ─► overhead ─┬─ in the buffer ──────────────────► sectors over the bus ─► completion
//!                        └─ gives up the bus ─► seek ─► turn ─► sectors ─► asks for the bus again ─┘
//!                                                        └─► reads on until the next command, or to its limit
//! ```
//!
//! Such parameters exist for SCSI disks of the 1990s with one command at a time, above all in DiskSim's library. The drive of
//! [`hdd`](crate::hdd) has fewer numbers and knows command queueing; this one has all the numbers and serves in order of arrival.
//!
//! All of a command's service follows when it is started, but for what the arm does afterwards (reading on, writing what has
//! been acknowledged), which the next command finds as far as it got.
//!
//! Modelled:      see the files of this folder; bus and platter at once, sector by sector; the first and second
//!                release of the bus; fast writes; appended writes; one write segment or several.
//! Not modelled:  reading of free blocks on the way, seeks before completion, orders of service other than arrival,
//!                writes put in front of waiting ones.
//! Source:        DiskSim 4.0 reference manual (CMU-PDL-08-101) for what the parameters mean; behaviour where the manual is
//!                silent from DiskSim's source, read for facts: its trace-driven validation is what this module is held against.

pub mod arm;
pub mod buffer;
pub mod layout;
pub mod parameters;

use crate::device::{Command, CommandKind, Device, Tag};
use arm::{Arm, Stream, StreamOrder, Supply};
use buffer::{Hit, Segments, State};
use layout::Map;
pub use parameters::Extracted as Parameters;
use parameters::ReadAhead;
use seekwise_units::{Depth, Nanos, Sectors};
use std::collections::VecDeque;
use std::sync::Arc;

/// What the arm does after the command that asked for it has been answered, or while it is.
#[derive(Clone, Debug)]
struct Work {
    segment: usize,
    stream: Stream,
}

#[derive(Clone, Debug)]
pub struct ExtractedDisk {
    parameters: Arc<Parameters>,
    arm: Arm,
    segments: Segments,
    work: Option<Work>,
    /// The arm cannot start anything before.
    arm_free: f64,
    last_was_read: bool,
    serving: Option<(u32, f64)>,
    waiting: VecDeque<(Command, f64)>,
}

/// Addresses of a command.
#[derive(Clone, Copy, Debug)]
struct Span {
    first: u64,
    end: u64,
}

const MS: f64 = 1e6;

impl ExtractedDisk {
    /// `start` is where the platter stands at time zero, in turns. The parameters have been checked.
    pub fn new(parameters: &Parameters, start: f64) -> Result<Self, String> {
        let map = Map::new(&parameters.layout)?;
        Ok(Self {
            arm: Arm::new(map, &parameters.mechanics, start),
            segments: Segments::new(&parameters.buffer),
            parameters: Arc::new(parameters.clone()),
            work: None,
            arm_free: 0.0,
            last_was_read: true,
            serving: None,
            waiting: VecDeque::new(),
        })
    }

    fn serve(&mut self, now: f64, command: &Command) -> f64 {
        let now = now + self.parameters.overhead.request * MS;
        let span = Span {
            first: command.start.0,
            end: command.start.0 + command.sectors.0,
        };
        self.settle(now);
        match command.kind {
            CommandKind::Read => {
                let done = self.read(now, span);
                self.last_was_read = true;
                done
            }
            CommandKind::Write { force_unit_access } => {
                let fast = self.parameters.buffer.fast_write && !force_unit_access;
                let done = self.write(now, span, fast);
                self.last_was_read = false;
                done
            }
            CommandKind::Flush => self.written_at(now),
            CommandKind::Trim => now,
        }
    }

    /// What the arm has done up to `now` is in the segments.
    fn settle(&mut self, now: f64) {
        let Some(work) = &mut self.work else { return };
        let reached = self.arm.reached(&mut work.stream, now);
        let write = work.stream.write;
        if !write {
            self.segments.grow(work.segment, reached);
        }
        if reached >= work.stream.limit {
            self.finish();
        }
    }

    /// The stream has come to its end.
    fn finish(&mut self) {
        let Some(mut work) = self.work.take() else {
            return;
        };
        let buffer = &self.parameters.buffer;
        let last = work.stream.limit.saturating_sub(1).max(work.stream.first);
        let end = self.arm.done(&mut work.stream, last);
        if end.is_finite() {
            self.arm_free = self.arm_free.max(end);
        }
        self.arm.at = self.arm.track_of(&work.stream);
        let keep = buffer.caching && (!work.stream.write || buffer.read_hits_on_written);
        self.segments.get(work.segment).state = if keep { State::Clean } else { State::Empty };
    }

    /// When everything that was acknowledged is on the platter.
    fn written_at(&mut self, now: f64) -> f64 {
        match &mut self.work {
            Some(work) if work.stream.write => {
                let last = work.stream.limit - 1;
                now.max(self.arm.done(&mut work.stream, last))
            }
            _ => now,
        }
    }

    /// A read-ahead gives way; returns when the arm is free.
    fn stop_reading(&mut self, now: f64) {
        let Some(mut work) = self.work.take() else {
            return;
        };
        let in_sector = self.parameters.buffer.stop_read_ahead_in_sector;
        let free = self.arm.stop(&mut work.stream, now, in_sector);
        self.arm_free = self.arm_free.max(free);
        let keep = self.parameters.buffer.caching;
        let segment = self.segments.get(work.segment);
        segment.state = if keep { State::Clean } else { State::Empty };
    }

    /// Waits for a write that is still on its way to the platter; returns when the arm is free.
    fn wait_for_write(&mut self, now: f64) -> f64 {
        let free = self.written_at(now);
        self.finish();
        free
    }

    fn ahead_limit(&self, span: Span, segment_start: u64) -> u64 {
        let buffer = &self.parameters.buffer;
        let capacity = self.arm.map.capacity();
        let least = span.end + buffer.read_ahead_min_sectors;
        let limit = match buffer.read_ahead {
            ReadAhead::None => span.end,
            ReadAhead::TrackByTrack => {
                if span.end >= capacity {
                    return capacity;
                }
                let end = self.arm.map.track_end(span.end);
                let track = self.arm.map.place(span.end).track;
                let before = self.arm.map.place(segment_start).track != track;
                if before {
                    end + u64::from(self.arm.map.sectors_on(track))
                } else {
                    end
                }
            }
            kind => {
                let limit = match buffer.read_ahead_max_sectors {
                    0 => span.end + buffer.segment_sectors,
                    sectors => span.end + sectors,
                };
                self.same_place_end(span, kind)
                    .map_or(limit, |end| end.min(limit))
            }
        };
        limit.max(least).min(capacity)
    }

    /// Where read-ahead stops that may not leave its track or cylinder.
    fn same_place_end(&self, span: Span, kind: ReadAhead) -> Option<u64> {
        let map = &self.arm.map;
        let mut end = map.track_end(span.end - 1);
        match kind {
            ReadAhead::ToTrackEnd => Some(end),
            ReadAhead::ToCylinderEnd => {
                let cylinder = map.place(span.end - 1).track.cylinder;
                while end < map.capacity() && map.place(end).track.cylinder == cylinder {
                    end = map.track_end(end);
                }
                Some(end)
            }
            _ => None,
        }
    }

    fn read(&mut self, now: f64, span: Span) -> f64 {
        let parameters = Arc::clone(&self.parameters);
        let (o, buffer) = (&parameters.overhead, &parameters.buffer);
        let (hit_ms, miss_ms, disconnect_ms) = if self.last_was_read {
            (
                o.read_hit_after_read,
                o.read_miss_after_read,
                o.read_disconnect_after_read,
            )
        } else {
            (
                o.read_hit_after_write,
                o.read_miss_after_write,
                o.read_disconnect_after_write,
            )
        };
        let writing = self.work.as_ref().is_some_and(|work| work.stream.write);
        let watermark = self.watermark(span, buffer.read_watermark);
        let (index, hit) = self.segments.for_read(span.first, span.end);
        let enough = match hit {
            Hit::Whole => true,
            Hit::Partial => {
                let there = self.segments.get(index).end - span.first;
                buffer.partial_hit_at_once || there >= watermark.min(span.end - span.first)
            }
            _ => false,
        };
        let connected = buffer.never_disconnect || (enough && !writing);
        // The mechanical part starts after the overhead of a miss, whatever the bus does.
        let mut mechanics_at = now + miss_ms * MS;
        let mut time = if connected {
            let command = if hit == Hit::None { miss_ms } else { hit_ms };
            now + (command + o.data_preparation) * MS
        } else {
            now + (miss_ms + disconnect_ms) * MS
        };
        if writing {
            let free = self.wait_for_write(now);
            mechanics_at = mechanics_at.max(free);
            if !connected {
                time = time.max(free);
            }
        }
        // A hit stays a hit; without one, the segment may have to be chosen anew after a write.
        let (index, hit) = if writing {
            self.segments.for_read(span.first, span.end)
        } else {
            (index, hit)
        };
        self.read_media(now, mechanics_at, span, index, hit);
        let transferred = self.transfer(span, watermark, (connected, time), disconnect_ms);
        transferred + o.read_completion * MS
    }

    /// Sends what was read over the bus from a time on, on the bus already or not; when all of it is sent.
    fn transfer(
        &mut self,
        span: Span,
        watermark: u64,
        (mut on_bus, mut time): (bool, f64),
        disconnect_ms: f64,
    ) -> f64 {
        let parameters = Arc::clone(&self.parameters);
        let (o, buffer) = (&parameters.overhead, &parameters.buffer);
        let mut out = span.first;
        loop {
            if !on_bus {
                let wanted = (out + watermark).min(span.end);
                time = time.max(self.when_there(wanted)) + o.first_reselect * MS;
                if wanted > out {
                    time += o.data_preparation * MS;
                }
                on_bus = true;
            }
            let end = self.there(time, span.end).max(out);
            if end > out {
                time += (end - out) as f64 * parameters.bus.read_sector_ms * MS;
                out = end;
            }
            if out >= span.end {
                return time;
            }
            if self.there(time, span.end) > out {
                continue;
            }
            if buffer.hold_bus_read || buffer.never_disconnect {
                time = time.max(self.when_there(out + 1));
            } else {
                time += disconnect_ms * MS;
                on_bus = false;
            }
        }
    }

    fn watermark(&self, span: Span, part: f64) -> u64 {
        let buffer = &self.parameters.buffer;
        if buffer.watermark_by_request {
            let sectors = (span.end - span.first).min(buffer.segment_sectors);
            ((sectors as f64 * part) as u64).max(1)
        } else {
            (libm::ceil(buffer.segment_sectors as f64 * part) as u64).max(1)
        }
    }

    /// Sets the arm to work for a read.
    fn read_media(&mut self, now: f64, start: f64, span: Span, index: usize, hit: Hit) {
        let active = self.work.as_ref().map(|work| work.segment);
        let buffer = self.parameters.buffer.clone();
        if active == Some(index) && hit != Hit::None {
            // What is being read ahead is what is wanted.
            let new = self.segments.take(index);
            let start = self.segments.get(new).start;
            let limit = self.ahead_limit(span, start);
            let work = self.work.as_mut().expect("active");
            work.segment = new;
            self.arm.extend(&mut work.stream, limit);
            return;
        }
        self.stop_reading(now);
        let index = self.segments.take(index);
        let segment = self.segments.get(index);
        segment.written = false;
        if hit == Hit::None {
            segment.start = span.first;
            segment.end = span.first;
            segment.ahead = 0;
        }
        let (from, seg_start) = (segment.end, segment.start);
        let limit = self
            .ahead_limit(span, seg_start)
            .max(self.segments.get(index).ahead);
        self.segments.get(index).ahead = limit;
        if from >= span.end && (!buffer.read_ahead_on_idle_hit || from >= limit) {
            self.segments.get(index).state = State::Clean;
            return;
        }
        self.segments.get(index).state = State::Reading;
        let order = StreamOrder {
            first: from,
            wanted: span.end.max(from),
            limit: limit.max(span.end),
            write: false,
            zero_latency: buffer.zero_latency_read,
            minimum_seek_ns: 0.0,
            supply: None,
        };
        let stream = self.arm.begin(start.max(self.arm_free), &order);
        self.work = Some(Work {
            segment: index,
            stream,
        });
    }

    /// Sectors of the current read that are in the buffer at `time`, at most up to `end`.
    fn there(&mut self, time: f64, end: u64) -> u64 {
        match &mut self.work {
            Some(work) => self.arm.reached(&mut work.stream.clone(), time).min(end),
            None => end,
        }
    }

    /// When the sectors before `end` are in the buffer.
    fn when_there(&mut self, end: u64) -> f64 {
        match &mut self.work {
            Some(work) if end > work.stream.first => {
                self.arm.done(&mut work.stream.clone(), end - 1)
            }
            _ => 0.0,
        }
    }

    fn write(&mut self, now: f64, span: Span, fast: bool) -> f64 {
        let parameters = Arc::clone(&self.parameters);
        let (o, buffer) = (&parameters.overhead, &parameters.buffer);
        let command_ms = match (fast, self.last_was_read) {
            (true, true) => o.write_hit_after_read,
            (true, false) => o.write_hit_after_write,
            (false, true) => o.write_miss_after_read,
            (false, false) => o.write_miss_after_write,
        };
        let mut mechanics_at = now + command_ms * MS;
        let mut time = now + command_ms * MS;
        let writing = self.work.as_ref().is_some_and(|work| work.stream.write);
        let chosen = self
            .segments
            .for_write(span.first, span.end, buffer.write_segments);
        let appends = matches!(chosen, Some((_, Hit::Append)));
        let mut extra = false;
        if writing && !appends {
            // The arm is not to be had: the drive gives up the bus until it is.
            let free = self.wait_for_write(now);
            time = (time + o.write_disconnect * MS).max(free) + o.first_reselect * MS;
            mechanics_at = mechanics_at.max(free);
        } else {
            let last = self.segments.last();
            let last_is_chosen =
                matches!(chosen, Some((index, _)) if index + 1 == buffer.segments as usize);
            extra = o.extra_disconnect
                && !buffer.never_disconnect
                && last_is_chosen
                && last.written
                && last.end != span.first;
            if extra {
                mechanics_at = now + (o.extra_command + o.extra_seek) * MS;
                let released = o.extra_command + o.extra_first_disconnect + o.extra_pause;
                time = now + (released + o.first_reselect) * MS;
            }
        }
        time += o.data_preparation * MS;
        if !writing {
            self.stop_reading(now);
        }
        let supply = Supply {
            first: span.first,
            since: time,
            sector_ns: parameters.bus.write_sector_ms * MS,
            head_start: head_start(&parameters, span),
        };
        time += (span.end - span.first) as f64 * supply.sector_ns;
        let on_platter = self.write_media(mechanics_at, span, supply);
        if !fast {
            let (released, reselect) = if extra {
                (o.extra_second_disconnect, o.other_reselect)
            } else {
                (o.write_disconnect, o.first_reselect)
            };
            time = (time + released * MS).max(on_platter) + reselect * MS;
        }
        time + o.write_completion * MS
    }

    /// Sets the arm to work for a write; returns when its last sector is on the platter.
    fn write_media(&mut self, start: f64, span: Span, supply: Supply) -> f64 {
        let buffer = self.parameters.buffer.clone();
        let chosen = self
            .segments
            .for_write(span.first, span.end, buffer.write_segments);
        let (index, hit) = chosen.unwrap_or((0, Hit::None));
        let mut begin = start.max(self.arm_free);
        if hit == Hit::Append {
            // After what is being written, as soon as the sector comes round.
            begin = begin.max(self.written_at(begin));
            self.finish();
        }
        let index = self.segments.take(index);
        let segment = self.segments.get(index);
        if hit != Hit::Append {
            segment.start = span.first;
        }
        segment.written = true;
        segment.state = State::Writing;
        segment.ahead = 0;
        self.segments.grow(index, span.end);
        self.segments.forget(span.first, span.end, index);
        let order = StreamOrder {
            first: span.first,
            wanted: span.end,
            limit: span.end,
            write: true,
            zero_latency: buffer.zero_latency_write,
            minimum_seek_ns: if hit == Hit::Append {
                0.0
            } else {
                self.parameters.overhead.minimum_seek * MS
            },
            supply: Some(supply),
        };
        let mut stream = self.arm.begin(begin, &order);
        let end = self.arm.done(&mut stream, span.end - 1);
        self.work = Some(Work {
            segment: index,
            stream,
        });
        end
    }

    fn start_next(&mut self, now: f64) {
        if let Some((command, arrival)) = self.waiting.pop_front() {
            let done = self.serve(now.max(arrival), &command);
            self.serving = Some((command.tag.0, done));
        }
    }
}

/// Sectors that must be in the buffer before the first is written. A drive that keeps the bus for all of a write takes in all of it first:
/// the DEC RZ26's shortest writes grow with their length by the time on the bus. One that gives up the bus twice wants some.
fn head_start(parameters: &Parameters, span: Span) -> u64 {
    let sectors = span.end - span.first;
    if parameters.buffer.hold_bus_write {
        return sectors.min(parameters.buffer.segment_sectors);
    }
    match (parameters.overhead.extra_disconnect, sectors) {
        (false, _) => 1,
        (true, 45..) => 15,
        (true, _) => sectors.min(10),
    }
}

impl Device for ExtractedDisk {
    fn capacity(&self) -> Sectors {
        Sectors(self.arm.map.capacity())
    }

    fn depth(&self) -> Depth {
        Depth(self.parameters.queue_depth)
    }

    fn submit(&mut self, now: Nanos, command: Command) {
        self.waiting.push_back((command, now.0 as f64));
        if self.serving.is_none() {
            self.start_next(now.0 as f64);
        }
    }

    fn next_completion(&self) -> Option<Nanos> {
        self.serving.map(|(_, done)| Nanos(libm::ceil(done) as u64))
    }

    fn complete_next(&mut self, now: Nanos) -> Tag {
        let (tag, _) = self.serving.take().expect("a command is being served");
        self.start_next(now.0 as f64);
        Tag(tag)
    }
}
