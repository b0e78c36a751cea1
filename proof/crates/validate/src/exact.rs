//! The exactly specified model disk: every number an integer, every rule written down, so that two programs agree.
//!
//! Kernels of 2008 and later were recorded over this disk; a simulator with the same disk must give the same rates. It
//! is a specification, not a drive of any maker: one recording rate, no skew, no head changes.
//!
//! - A turn takes 8,333,333 ns and passes SPT sectors; sector s starts at the angle (s mod SPT) · turn / SPT.
//! - A seek over d = |sector - head| / SPT tracks takes 0 if d is 0, else 0.8 ms + sqrt(d · 210.25e12 / (tracks + 1)) ns.
//! - A command can start 50 us after it came. One is in service at a time; after its end the kernel's driver hands over what
//!   waits and only then the disk chooses (TURNAROUND), so a command that continues the last one has just missed its sector.
//! - After a read the disk reads on, up to 4096 sectors beyond the last one asked for, while it is idle or serves hits.
//!   A read that starts in what was read takes 1700 ns per sector, or until the medium has delivered its last sector; if
//!   reading on had stopped before, the rest is positioned for. At most 16384 sectors are kept. Anything else ends it.
//! - Order: arrival, or the earliest end (ties by arrival), where a command older than 500 ms goes first.
//!
//! Where the text leaves room: reading on resumes after a hit by positioning for the sector at which it had stopped.

use seekwise_device::{Command, CommandKind, Device, Tag};
use seekwise_units::{Depth, Nanos, Sectors};

const TURN_NS: u64 = 8_333_333;
const OVERHEAD: Nanos = Nanos::from_micros(50);
/// From the end of a command until the next is chosen: the interrupt completes it and runs the queue first. The recordings give
/// 1 to 10 us for a request's way through the block layer; any value in that range gives the same rates.
const TURNAROUND: Nanos = Nanos::from_micros(5);
const SETTLE_NS: u64 = 800_000;
/// Square of 14.5 ms in nanoseconds.
const STROKE_NS_SQUARED: u128 = 210_250_000_000_000;
const LINK_NS_PER_SECTOR: u64 = 1_700;
const READ_AHEAD: u64 = 4_096;
const KEPT: u64 = 16_384;
const AGE_LIMIT: Nanos = Nanos::from_millis(500);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceOrder {
    Arrival,
    EarliestEnd,
}

#[derive(Clone, Copy, Debug)]
pub struct ExactParameters {
    pub capacity: Sectors,
    pub sectors_per_track: u64,
    pub depth: Depth,
    pub order: ServiceOrder,
    pub read_ahead: bool,
}

impl ExactParameters {
    /// Geometry of the recordings on the raw device (their description).
    pub const RAW_DEVICE: Self = Self {
        capacity: Sectors(1_953_525_168),
        sectors_per_track: 2048,
        depth: Depth(31),
        order: ServiceOrder::EarliestEnd,
        read_ahead: true,
    };
    /// Geometry of the recordings under ext3 (their description).
    pub const UNDER_EXT3: Self = Self {
        capacity: Sectors(488_397_168),
        sectors_per_track: 1280,
        ..Self::RAW_DEVICE
    };
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    tag: u32,
    read: bool,
    medium: bool,
    start: u64,
    sectors: u64,
    arrival: Nanos,
}

/// What has been read: sectors from `start`, and on from `base`, which passed the head at `since`.
#[derive(Clone, Copy, Debug)]
struct Segment {
    start: u64,
    base: u64,
    since: Nanos,
    limit: u64,
}

/// What serving a command would come to.
#[derive(Clone, Copy, Debug)]
struct Service {
    end: Nanos,
    head: u64,
    segment: Option<Segment>,
}

#[derive(Clone, Debug)]
pub struct Exact {
    parameters: ExactParameters,
    tracks: u64,
    /// In order of arrival.
    waiting: Vec<Waiting>,
    serving: Option<(u32, Nanos)>,
    /// What was before the command in service was chosen, while the choice is still open.
    open: Option<Open>,
    head: u64,
    segment: Option<Segment>,
}

/// A choice that commands of the same instant may still change.
#[derive(Clone, Copy, Debug)]
struct Open {
    instant: Nanos,
    chosen: Waiting,
    slot: usize,
    head: u64,
    segment: Option<Segment>,
}

impl Exact {
    /// An idle disk with its head at sector 0 and nothing in its cache segment.
    pub fn new(parameters: ExactParameters) -> Self {
        Self {
            tracks: parameters.capacity.0 / parameters.sectors_per_track,
            waiting: Vec::with_capacity(parameters.depth.0 as usize),
            parameters,
            serving: None,
            open: None,
            head: 0,
            segment: None,
        }
    }

    fn transfer(&self, sectors: u64) -> Nanos {
        Nanos(sectors * TURN_NS / self.parameters.sectors_per_track)
    }

    fn seek(&self, sector: u64) -> Nanos {
        let distance = sector.abs_diff(self.head) / self.parameters.sectors_per_track;
        if distance == 0 {
            return Nanos::ZERO;
        }
        let square = u128::from(distance) * STROKE_NS_SQUARED / u128::from(self.tracks + 1);
        Nanos(SETTLE_NS + square.isqrt() as u64)
    }

    /// The first moment from `time` on at which a sector passes the head.
    fn passes(&self, sector: u64, time: Nanos) -> Nanos {
        let sectors_per_track = self.parameters.sectors_per_track;
        let angle = (sector % sectors_per_track) * TURN_NS / sectors_per_track;
        let now = time.0 % TURN_NS;
        time + Nanos((angle + TURN_NS - now) % TURN_NS)
    }

    fn position(&self, segment: &Segment, time: Nanos) -> u64 {
        let passed =
            time.saturating_sub(segment.since).0 * self.parameters.sectors_per_track / TURN_NS;
        (segment.base + passed).min(segment.limit)
    }

    fn limit(&self, end: u64) -> u64 {
        (end + READ_AHEAD).min(self.parameters.capacity.0)
    }

    fn serve(&self, waiting: &Waiting, free: Nanos) -> Service {
        let time = free.max(waiting.arrival + OVERHEAD);
        let end = waiting.start + waiting.sectors;
        if !waiting.medium {
            return Service {
                end: time,
                head: self.head,
                segment: self.segment,
            };
        }
        if let (true, Some(segment)) = (waiting.read, self.segment) {
            let position = self.position(&segment, time);
            let kept = segment.start.max(position.saturating_sub(KEPT));
            if kept <= waiting.start && waiting.start <= position {
                return self.serve_hit(
                    waiting,
                    end,
                    time,
                    Segment {
                        start: kept,
                        ..segment
                    },
                    position,
                );
            }
        }
        let arrived = self.passes(waiting.start, time + self.seek(waiting.start));
        let done = arrived + self.transfer(waiting.sectors);
        let read = waiting.read && self.parameters.read_ahead;
        let segment = read.then_some(Segment {
            start: waiting.start,
            base: end,
            since: done,
            limit: self.limit(end),
        });
        Service {
            end: done,
            head: end,
            segment,
        }
    }

    fn serve_hit(
        &self,
        waiting: &Waiting,
        end: u64,
        time: Nanos,
        segment: Segment,
        position: u64,
    ) -> Service {
        let link = time + Nanos(waiting.sectors * LINK_NS_PER_SECTOR);
        let limit = self.limit(end).max(segment.limit);
        let stopped = position == segment.limit;
        let (done, segment) = if !stopped {
            let delivered = if end > segment.base {
                segment.since + self.transfer(end - segment.base)
            } else {
                time
            };
            (link.max(delivered), Segment { limit, ..segment })
        } else if end <= position {
            // The medium stands still at its limit; there is more to read now.
            let resumed = if limit > segment.limit {
                self.passes(position, time)
            } else {
                segment.since
            };
            let base = if limit > segment.limit {
                position
            } else {
                segment.base
            };
            (
                link,
                Segment {
                    base,
                    since: resumed,
                    limit,
                    ..segment
                },
            )
        } else {
            let done = link.max(self.passes(position, time) + self.transfer(end - position));
            (
                done,
                Segment {
                    base: end,
                    since: done,
                    limit,
                    ..segment
                },
            )
        };
        Service {
            end: done,
            head: end,
            segment: Some(segment),
        }
    }

    fn choose(&self, free: Nanos) -> usize {
        let oldest = &self.waiting[0];
        if self.parameters.order == ServiceOrder::Arrival
            || free.saturating_sub(oldest.arrival) > AGE_LIMIT
        {
            return 0;
        }
        // The first of equals is the one that came first.
        (0..self.waiting.len())
            .min_by_key(|&slot| self.serve(&self.waiting[slot], free).end)
            .unwrap_or(0)
    }

    fn begin(&mut self, free: Nanos) {
        if self.waiting.is_empty() {
            return;
        }
        let slot = self.choose(free);
        let waiting = self.waiting.remove(slot);
        self.open = Some(Open {
            instant: free,
            chosen: waiting,
            slot,
            head: self.head,
            segment: self.segment,
        });
        let service = self.serve(&waiting, free);
        self.head = service.head;
        self.segment = service.segment;
        self.serving = Some((waiting.tag, service.end));
    }
}

impl Device for Exact {
    fn capacity(&self) -> Sectors {
        self.parameters.capacity
    }

    fn depth(&self) -> Depth {
        self.parameters.depth
    }

    fn submit(&mut self, now: Nanos, command: Command) {
        let read = command.kind == CommandKind::Read;
        let medium = read || matches!(command.kind, CommandKind::Write { .. });
        self.waiting.push(Waiting {
            tag: command.tag.0,
            read,
            medium,
            start: command.start.0,
            sectors: command.sectors.0,
            arrival: now,
        });
        match self.open.filter(|open| open.instant == now + TURNAROUND) {
            None if self.serving.is_none() => self.begin(now),
            None => {}
            Some(open) => {
                (self.head, self.segment) = (open.head, open.segment);
                self.waiting.insert(open.slot, open.chosen);
                self.begin(open.instant);
            }
        }
    }

    fn next_completion(&self) -> Option<Nanos> {
        self.serving.map(|(_, end)| end)
    }

    fn complete_next(&mut self, now: Nanos) -> Tag {
        let (tag, end) = self
            .serving
            .take()
            .expect("next_completion said that a command is in service");
        debug_assert_eq!(end, now);
        self.open = None;
        self.begin(now + TURNAROUND);
        Tag(tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_units::Lba;

    fn disk(order: ServiceOrder) -> Exact {
        Exact::new(ExactParameters {
            order,
            ..ExactParameters::RAW_DEVICE
        })
    }

    fn command(tag: u32, kind: CommandKind, start: u64, sectors: u64) -> Command {
        Command {
            tag: Tag(tag),
            kind,
            start: Lba(start),
            sectors: Sectors(sectors),
        }
    }

    fn write() -> CommandKind {
        CommandKind::Write {
            force_unit_access: false,
        }
    }

    #[test]
    fn one_seek_one_wait_one_transfer() {
        let mut disk = disk(ServiceOrder::Arrival);
        // 1000 tracks and 512 sectors away; a quarter of a turn is the angle of the sector.
        disk.submit(
            Nanos::ZERO,
            command(0, CommandKind::Read, 1000 * 2048 + 512, 8),
        );
        let tracks = 1_953_525_168u64 / 2048;
        let seek = 800_000
            + (u128::from(1000u64) * 210_250_000_000_000 / u128::from(tracks + 1)).isqrt() as u64;
        let reached = 50_000 + seek; // 1.32 ms: before the sector, whose angle is 2.08 ms
        assert!(reached < 512 * 8_333_333 / 2048);
        let done = 512 * 8_333_333 / 2048 + 8 * 8_333_333 / 2048;
        assert_eq!(disk.next_completion(), Some(Nanos(done)));
    }

    #[test]
    fn reading_on_feeds_the_next_read_at_the_rate_of_the_medium() {
        let mut disk = disk(ServiceOrder::Arrival);
        disk.submit(Nanos::ZERO, command(0, CommandKind::Read, 0, 1024));
        let first = disk.next_completion().unwrap();
        disk.complete_next(first);
        // 10 us later: the head has read on, so the next half track ends half a turn after the first.
        disk.submit(
            first + Nanos(10_000),
            command(1, CommandKind::Read, 1024, 1024),
        );
        assert_eq!(
            disk.next_completion(),
            Some(first + Nanos(1024 * 8_333_333 / 2048))
        );
    }

    #[test]
    fn a_hit_moves_over_the_link_only() {
        let mut disk = disk(ServiceOrder::Arrival);
        disk.submit(Nanos::ZERO, command(0, CommandKind::Read, 0, 8));
        let first = disk.next_completion().unwrap();
        disk.complete_next(first);
        let later = first + Nanos::from_millis(5);
        disk.submit(later, command(1, CommandKind::Read, 8, 8));
        assert_eq!(
            disk.next_completion(),
            Some(later + Nanos(50_000 + 8 * 1_700))
        );
    }

    #[test]
    fn a_write_ends_the_segment() {
        let mut disk = disk(ServiceOrder::Arrival);
        for (tag, kind, start) in [
            (0, CommandKind::Read, 0),
            (1, write(), 100_000),
            (2, CommandKind::Read, 8),
        ] {
            disk.submit(
                disk.next_completion().unwrap_or(Nanos::ZERO),
                command(tag, kind, start, 8),
            );
        }
        let mut last = Nanos::ZERO;
        let mut ends = vec![];
        while let Some(time) = disk.next_completion() {
            disk.complete_next(time);
            ends.push(time - last);
            last = time;
        }
        assert!(
            ends[2] > Nanos::from_millis(1),
            "a hit would take 13.6 us: {ends:?}"
        );
    }

    #[test]
    fn the_earliest_end_is_next_unless_something_is_too_old() {
        let mut disk = disk(ServiceOrder::EarliestEnd);
        // Two near commands at a time, so that one waits beside the far one whenever the disk chooses.
        for (tag, start) in [(0, 0), (1, 1_900_000_000), (2, 1000)] {
            disk.submit(Nanos::ZERO, command(tag, write(), start, 8));
        }
        let mut far_done = None;
        for round in 3..200u32 {
            let now = disk.next_completion().unwrap();
            if disk.complete_next(now) == Tag(1) {
                far_done = Some(now);
                break;
            }
            disk.submit(now, command(round, write(), u64::from(round) * 640, 8));
        }
        let far_done = far_done.expect("the far command must be served in the end");
        assert!(
            far_done > AGE_LIMIT && far_done < AGE_LIMIT + Nanos::from_millis(60),
            "{far_done:?}"
        );
    }
}
