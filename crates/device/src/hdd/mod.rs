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
//! Not modelled:  errors and retries, power states, reading before arrival; that a media cache fills, and is emptied into place when idle.

mod arm;
pub mod cache;
mod filter;
pub mod geometry;
mod mechanics;
pub mod ncq;
pub mod parts;
pub mod rotation;
pub mod seek;
mod streams;
mod submit;
#[cfg(test)]
mod tests;
pub mod write_cache;

use crate::device::{Command, CommandKind, Device, ReportedCache, Tag};
use arm::{ArmWork, Blocked, State, Visit, BLOCKED_MAX};
use cache::{LinkQueue, Segments};
use core::cell::RefCell;
use geometry::{Geometry, Layout};
use mechanics::Mechanics;
use ncq::{Head, Ordering, Queue};
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
    /// While fewer commands wait the oldest is next, and others only on the way to it; 0: it always sorts freely.
    pub sorts_from: usize,
    pub segments: usize,
    pub segment: Sectors,
    /// How far the drive reads on after a read.
    pub read_ahead: Sectors,
    /// How far it reads on although other commands wait, after a read that went on where a segment ended.
    pub read_ahead_min: Sectors,
    /// How far behind the read that it moved for the arm serves reads that came after it, while others wait; no limit where it is `None`.
    pub stay: Option<Sectors>,
    /// Extents that the write cache holds; 0 without a write cache.
    pub dirty_extents: usize,
    pub dirty_sectors: Sectors,
    /// How long the arm is idle before the drive destages of its own accord.
    pub destage_delay: Nanos,
    /// Time for each small write that the drive gathers and puts side by side into a reserved zone; zero where it does not.
    pub logged_write: Nanos,
    /// Sectors of 512 bytes in a physical sector.
    pub physical_sectors: u64,
    /// Angle of the spindle at time zero, as a fraction of a turn.
    pub start_angle: f64,
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
    /// An idle drive with cold caches; [`HddParameters::start_angle`] is that at time 0, in turns.
    pub fn new(parameters: &HddParameters) -> Self {
        let start = (parameters.start_angle.rem_euclid(1.0) * f64::from(rotation::TURN)) as u32;
        let spindle = Spindle::new(parameters.rpm, start);
        Self {
            mechanics: Mechanics {
                geometry: Arc::new(Geometry::new(&parameters.layout, &spindle)),
                curve: SeekCurve::new(&parameters.seek, &spindle),
                spindle,
                ordering: Ordering::new(
                    parameters.ncq_efficiency,
                    parameters.age_limit,
                    parameters.sorts_from,
                ),
                command_overhead: parameters.command_overhead,
                cached_overhead: parameters.cached_overhead,
                link_ns_per_sector: (512e9 / parameters.link_bytes_per_second * 1024.0) as u64,
                link_overhead: parameters.link_overhead,
                read_ahead: parameters.read_ahead,
                read_ahead_min: parameters.read_ahead_min,
                stay: parameters.stay,
                destage_delay: parameters.destage_delay,
                logged_write: parameters.logged_write,
                physical_sectors: parameters.physical_sectors,
                depth: parameters.depth,
            },
            state: Box::new(State {
                queue: Queue::new(),
                head: Head::default(),
                free_at: Nanos::ZERO,
                work: ArmWork::Idle,
                follower: None,
                stream: None,
                kept: Lba(0),
                visit: Visit::default(),
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

    /// Tracks from the outer edge to the innermost one in use; seek distances count in them.
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

    /// Where its sectors lie.
    pub fn geometry(&self) -> &Geometry {
        &self.mechanics.geometry
    }

    #[inline(always)]
    fn update_next(&mut self) {
        self.next = match self.state.work {
            ArmWork::Command { completion, .. } => completion.min(self.state.link.next()),
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
    fn look_ahead(&self) -> Nanos {
        self.look_ahead_at_writes()
            .unwrap_or_else(|| self.run_ahead())
    }

    /// The same where only writes wait for room in the cache and the extent on its way to the platter leaves enough for the first:
    /// the link takes it then, and nothing can overtake it.
    fn look_ahead_at_writes(&self) -> Option<Nanos> {
        let state = &*self.state;
        let ArmWork::Destage { end } = state.work else {
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
        while let ArmWork::Destage { end } | ArmWork::ReadAhead { end } = copy.work {
            if copy.link.next() <= end || !copy.has_waiting() {
                break;
            }
            copy.advance(&self.mechanics, end);
        }
        ahead.done = match copy.work {
            ArmWork::Command { completion, .. } => completion.min(copy.link.next()),
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

impl Device for Hdd {
    fn capacity(&self) -> Sectors {
        self.mechanics.geometry.capacity()
    }

    fn depth(&self) -> Depth {
        self.mechanics.depth
    }

    fn write_cache(&self) -> ReportedCache {
        if self.state.dirty.enabled() {
            ReportedCache::Flushed
        } else {
            ReportedCache::Safe
        }
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
        // Most are reads: these are told apart first.
        if kind == CommandKind::Read {
            let missing = state.read(mechanics, now, tag.0, start, sectors);
            if missing.is_some() {
                state.queue_up(mechanics, now, command, missing);
            }
        } else if let CommandKind::Write { force_unit_access } = kind {
            state.invalidate(mechanics, now, start, start + sectors);
            if state.dirty.enabled() && !force_unit_access {
                state.cache_write(mechanics, now, command);
            } else {
                state.queue_up(mechanics, now, command, None);
            }
        } else if kind == CommandKind::Flush && !state.dirty.clean() {
            state.flush(mechanics, now, tag);
        } else {
            let answered = now + mechanics.cached_overhead;
            state.link.push(tag.0, answered, mechanics.link_overhead);
        }
        self.update_next();
    }

    fn next_completion(&self) -> Option<Nanos> {
        let next = if self.turns_first() {
            self.look_ahead()
        } else {
            self.next
        };
        (next != Nanos::NEVER).then_some(next)
    }

    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        (self.next != Nanos::NEVER).then_some(self.next)
    }

    #[inline(always)]
    fn advance(&mut self, now: Nanos) -> Option<Tag> {
        if self.turns_first() {
            self.forget_ahead();
            self.state.advance(&self.mechanics, now);
            self.update_next();
            return None;
        }
        Some(self.complete_next(now))
    }

    #[inline]
    fn complete_next(&mut self, now: Nanos) -> Tag {
        self.catch_up(now);
        let (mechanics, state) = (&self.mechanics, &mut *self.state);
        state.advance(mechanics, now);
        let link = state.link.next();
        let tag = match state.work {
            ArmWork::Command {
                tag,
                read,
                start,
                end,
                media_end,
                completion,
                segment,
            } if completion < link => {
                debug_assert_eq!(completion, now);
                state.work = ArmWork::Idle;
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
