//! The arm of an extracted disk: seeks, turns, and streams of sectors from or to the platter.
//!
//! A [`Stream`] is what the arm does from one moment on: sectors in the order of their addresses, track after track. All of it
//! follows from where it starts, so it is worked out track by track when somebody asks when a sector is done, or how far it is.
//!
//! Modelled:      seek and head switch at once, settling before a write, slipped and remapped sectors, reading that begins
//!                anywhere on the track (zero latency), waiting a turn for data that the host has not sent yet.
//! Not modelled:  speed errors, retries.

use super::layout::{Map, SectorPlace, Track};
use super::parameters::Mechanics;

/// A sector that started so little ago, in turns, is still caught: the last bits of the arithmetic.
const SLACK: f64 = 1e-7;

#[derive(Clone, Debug)]
pub struct Arm {
    pub map: Map,
    turn_ns: f64,
    head_switch_ns: f64,
    write_settle_ns: f64,
    average_rotation: bool,
    seek: Vec<(u32, f64)>,
    start: f64,
    pub at: Track,
}

/// Sectors in one piece on one track.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    first: u64,
    end: u64,
    first_sector: u32,
    /// When the head is on the track, and when the first sector starts to pass it.
    landed: f64,
    since: f64,
    sector_ns: f64,
    /// Sectors from the first number on up to the second passed the head before the run began: they are there with the one before them.
    early: (u64, u64),
    track: Track,
}

/// When the host's data for a write are in the buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Supply {
    pub first: u64,
    pub since: f64,
    pub sector_ns: f64,
    /// Sectors that must be there before the first is written.
    pub head_start: u64,
}

#[derive(Clone, Debug)]
pub struct Stream {
    run: Run,
    /// First sector of the stream, for those who ask about what is long done.
    pub first: u64,
    pub began: f64,
    pub write: bool,
    zero_latency: bool,
    supply: Option<Supply>,
    /// No sector at or after this one is moved.
    pub limit: u64,
    /// Up to here the order on the track does not matter.
    wanted: u64,
}

/// How a stream is to be done.
#[derive(Clone, Copy, Debug)]
pub struct StreamOrder {
    pub first: u64,
    pub wanted: u64,
    pub limit: u64,
    pub write: bool,
    pub zero_latency: bool,
    pub minimum_seek_ns: f64,
    pub supply: Option<Supply>,
}

impl Arm {
    /// The arm on the track of sector 0; `start` is the angle under it at time 0, in turns.
    pub fn new(map: Map, mechanics: &Mechanics, start: f64) -> Self {
        Self {
            at: map.place(0).track,
            map,
            turn_ns: 60e9 / mechanics.rpm,
            head_switch_ns: mechanics.head_switch_ms * 1e6,
            write_settle_ns: mechanics.write_settle_ms * 1e6,
            average_rotation: mechanics.average_rotation,
            seek: mechanics
                .seek
                .iter()
                .map(|&(cylinders, ms)| (cylinders, ms * 1e6))
                .collect(),
            start: start - libm::floor(start),
        }
    }

    /// Duration of a revolution in nanoseconds.
    pub fn turn_ns(&self) -> f64 {
        self.turn_ns
    }

    /// Time to move over `cylinders`; beyond the last point as between the last two.
    fn distance_ns(&self, cylinders: u32) -> f64 {
        if cylinders == 0 {
            return 0.0;
        }
        let after = self.seek.partition_point(|(far, _)| *far < cylinders);
        if let Some(&(far, ns)) = self.seek.get(after) {
            if far == cylinders || after == 0 {
                return ns;
            }
        }
        if self.seek.len() == 1 {
            return self.seek[0].1;
        }
        let upper = after.clamp(1, self.seek.len() - 1);
        let ((near, near_ns), (far, far_ns)) = (self.seek[upper - 1], self.seek[upper]);
        let part = f64::from(cylinders - near) / f64::from(far - near);
        (near_ns + part * (far_ns - near_ns)).max(0.0)
    }

    fn seek_ns(&self, from: Track, to: Track, write: bool) -> f64 {
        let switch = if from.head == to.head {
            0.0
        } else {
            self.head_switch_ns
        };
        let way = self
            .distance_ns(from.cylinder.abs_diff(to.cylinder))
            .max(switch);
        if write && way > 0.0 {
            (way + self.write_settle_ns).max(0.0)
        } else {
            way
        }
    }

    /// Part of a turn from `time` until the sector starts.
    fn ahead(&self, track: Track, sector: u32, time: f64) -> f64 {
        let turns = time / self.turn_ns;
        let wait = self.map.angle(track, sector) - (turns - libm::floor(turns)) - self.start;
        let wait = wait - libm::floor(wait);
        if wait > 1.0 - SLACK {
            0.0
        } else {
            wait
        }
    }

    /// Starts to move sectors at `time`.
    pub fn begin(&self, time: f64, order: &StreamOrder) -> Stream {
        let place = self.map.place(order.first);
        let seek = self.seek_ns(self.at, place.track, order.write);
        let mut stream = Stream {
            run: Run {
                first: order.first,
                end: order.first,
                first_sector: place.sector,
                landed: time,
                since: time,
                sector_ns: 0.0,
                early: (0, 0),
                track: place.track,
            },
            first: order.first,
            began: time,
            write: order.write,
            zero_latency: order.zero_latency,
            supply: order.supply,
            limit: order.limit,
            wanted: order.wanted,
        };
        let landing = time + seek.max(order.minimum_seek_ns);
        stream.run = self.land(&stream, place, order.first, landing);
        stream
    }

    /// The run that begins at `address`, with the head on its track from `landing` on.
    fn land(&self, stream: &Stream, place: SectorPlace, address: u64, landing: f64) -> Run {
        let spt = self.map.sectors_on(place.track);
        let sector_ns = self.turn_ns / f64::from(spt);
        let end = self.map.run_end(address, stream.limit.max(stream.wanted));
        let wait = if self.average_rotation {
            0.5
        } else {
            self.ahead(place.track, place.sector, landing)
        };
        let mut run = Run {
            first: address,
            end,
            first_sector: place.sector,
            landed: landing,
            since: landing + wait * self.turn_ns,
            sector_ns,
            early: (0, 0),
            track: place.track,
        };
        // What is wanted of this track. Has its first sector passed, but not its last one?
        let last_wanted = end.min(stream.wanted);
        if stream.zero_latency && last_wanted > address + 1 {
            let passed = libm::ceil((1.0 - wait) * f64::from(spt) - SLACK * f64::from(spt)) as u32;
            let wide = self.map.place(last_wanted - 1).sector - place.sector + 1;
            if wait > 0.0 && passed < wide {
                let mut early = address;
                while early < last_wanted && self.map.place(early).sector - place.sector < passed {
                    early += 1;
                }
                run.early = (early, last_wanted);
            }
        }
        if let Some(supply) = stream.supply {
            run.since = self.supplied(&run, supply);
        }
        run
    }

    /// The start of a run of writes, put off by turns until the host's data are there.
    fn supplied(&self, run: &Run, supply: Supply) -> f64 {
        let ready = supply.since
            + (run.first + 1)
                .saturating_sub(supply.first)
                .max(supply.head_start) as f64
                * supply.sector_ns;
        let late = (ready - run.since) / self.turn_ns;
        let mut since = run.since + libm::ceil(late.max(0.0) - SLACK) * self.turn_ns;
        // The bus may be slower than the platter: the run may start only when no sector of it comes too late, or it waits at that one.
        let gain = supply.sector_ns - run.sector_ns;
        if gain > 0.0 && run.end > run.first + 1 {
            let last = run.end - 1;
            let needed =
                supply.since + (last + 1 - supply.first.min(last)) as f64 * supply.sector_ns;
            let reached = since + (last - run.first) as f64 * run.sector_ns;
            if needed > reached {
                // Those that come too late are written a turn later; the last one decides.
                since += libm::ceil((needed - reached) / self.turn_ns - SLACK) * self.turn_ns;
            }
        }
        since
    }

    /// When `address` has passed the head; never, if the stream ends before.
    pub fn done(&mut self, stream: &mut Stream, address: u64) -> f64 {
        while address >= stream.run.end {
            if !self.go_on(stream) {
                return f64::INFINITY;
            }
        }
        self.end_of(&stream.run, address)
    }

    fn end_of(&self, run: &Run, address: u64) -> f64 {
        let linear = |address: u64| {
            let sector = self.map.place(address).sector;
            run.since + f64::from(sector - run.first_sector + 1) * run.sector_ns
        };
        if address < run.first {
            return run.since;
        }
        let (early, wanted) = run.early;
        if early <= address && address < wanted {
            return if early > run.first {
                linear(early - 1)
            } else {
                run.since
            };
        }
        linear(address)
    }

    /// Moves to the next track; false if the stream ends.
    fn go_on(&mut self, stream: &mut Stream) -> bool {
        let run = stream.run;
        if run.end >= stream.limit.min(self.map.capacity()) {
            return false;
        }
        let place = self.map.place(run.end);
        let (from, to) = (run.track, place.track);
        let ended = self.end_of(&run, run.end - 1);
        let landing = ended + self.seek_ns(from, to, stream.write);
        stream.run = self.land(stream, place, run.end, landing);
        true
    }

    /// The first sector that has not passed the head at `time`, in the order of addresses, and the limit when all have.
    pub fn reached(&mut self, stream: &mut Stream, time: f64) -> u64 {
        while self.end_of(&stream.run, stream.run.end - 1) <= time {
            if !self.go_on(stream) {
                return stream.run.end.min(stream.limit);
            }
        }
        let run = stream.run;
        let (mut low, mut high) = (run.first, run.end);
        while low < high {
            let middle = low.midpoint(high);
            if self.end_of(&run, middle) <= time {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.min(stream.limit)
    }

    /// Track on which a stream is, or was last.
    pub fn track_of(&self, stream: &Stream) -> Track {
        stream.run.track
    }

    /// Lets a stream go on to a later limit, if it has not stopped before.
    pub fn extend(&mut self, stream: &mut Stream, limit: u64) {
        if limit > stream.limit {
            stream.limit = limit;
            if stream.run.end > stream.run.first {
                stream.run.end = self.map.run_end(stream.run.first, limit);
            }
        }
    }

    /// The arm stops what it does at `time`: when it is free, with the head where the stream had brought it.
    pub fn stop(&mut self, stream: &mut Stream, time: f64, in_sector: bool) -> f64 {
        let next = self.reached(stream, time);
        self.at = stream.run.track;
        if next >= stream.limit || next >= stream.run.end {
            return time;
        }
        let run = &stream.run;
        if time < run.since {
            // The way to a track cannot be given up; waiting for the sector can.
            return time.max(run.landed);
        }
        if in_sector {
            time
        } else {
            self.end_of(run, next)
        }
    }
}
