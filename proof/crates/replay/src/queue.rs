//! The queue around a policy in a replay: which requests wait, which are with the device, and merges.
//!
//! Rows name requests by direction, sector and size; policies by slot. This is the one place that knows both.

use crate::rows::{Event, RecordedRow};
use seekwise_sched::{Direction, Priority, ProcessId, Request, RequestId, Scheduler};
use seekwise_units::{Lba, Nanos, Sectors};
use std::collections::BTreeMap;

/// Priorities of the processes by number, best effort 4 for one that is not listed.
pub type Priorities = BTreeMap<u32, Priority>;

/// A request in the queue.
#[derive(Clone, Debug)]
pub struct QueuedRequest {
    pub request: Request,
    pub waiting: bool,
    /// Order of insertion.
    pub number: u64,
    /// Sectors of each process in it: after merges there may be several.
    pub shares: Vec<(ProcessId, u64)>,
}

#[derive(Clone, Debug, Default)]
pub struct Queue {
    slots: Vec<Option<QueuedRequest>>,
    free: Vec<u32>,
    inserted: u64,
    waiting: usize,
    in_driver: usize,
}

impl Queue {
    /// Requests that the policy holds.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Requests that were issued to the device and are not complete.
    pub fn in_driver(&self) -> usize {
        self.in_driver
    }

    /// A recording ends when nothing waits and the device has nothing.
    pub fn is_empty_at_the_end(&self) -> Result<(), String> {
        let (waiting, in_driver) = (self.waiting, self.in_driver);
        if waiting + in_driver == 0 {
            return Ok(());
        }
        Err(format!(
            "the recording is unfinished: at its end {waiting} requests wait and {in_driver} are with the device"
        ))
    }

    /// The request in the slot `id`; panics if the slot is free.
    pub fn get(&self, id: RequestId) -> &Request {
        &self.entry(id).request
    }

    fn entry(&self, id: RequestId) -> &QueuedRequest {
        self.slots[id.0 as usize]
            .as_ref()
            .expect("a policy names requests that it was given")
    }

    fn entry_mut(&mut self, id: RequestId) -> &mut QueuedRequest {
        self.slots[id.0 as usize]
            .as_mut()
            .expect("a policy names requests that it was given")
    }

    /// All requests, waiting and issued, in order of their slots.
    pub fn entries(&self) -> impl Iterator<Item = &QueuedRequest> {
        self.slots.iter().flatten()
    }

    /// Waiting requests, oldest first.
    pub fn waiting_entries(&self) -> Vec<&QueuedRequest> {
        let mut waiting: Vec<_> = self.entries().filter(|entry| entry.waiting).collect();
        waiting.sort_by_key(|entry| entry.number);
        waiting
    }

    fn request(row: &RecordedRow, id: RequestId, priorities: &Priorities) -> Request {
        Request {
            id,
            start: row.start,
            sectors: row.sectors,
            direction: row.direction,
            sync: row.sync,
            no_idle: row.no_idle,
            metadata: row.metadata,
            process: ProcessId(row.process),
            priority: priorities.get(&row.process).copied().unwrap_or_default(),
            allocated: row.time,
        }
    }

    /// The request of an `insert` row enters the policy.
    pub fn insert<S: Scheduler>(
        &mut self,
        policy: &mut S,
        row: &RecordedRow,
        priorities: &Priorities,
    ) -> RequestId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        let request = Self::request(row, RequestId(slot), priorities);
        self.slots[slot as usize] = Some(QueuedRequest {
            request,
            waiting: true,
            number: self.inserted,
            shares: vec![(request.process, request.sectors.0)],
        });
        self.inserted += 1;
        self.waiting += 1;
        policy.insert(row.time, &request);
        request.id
    }

    /// Carries out a merge row. False: no such request waits, the bio was joined in its submitter's plug.
    pub fn merge<S: Scheduler>(
        &mut self,
        policy: &mut S,
        row: &RecordedRow,
        priorities: &Priorities,
        sectors_max: u64,
    ) -> bool {
        let bio = Self::request(row, RequestId(u32::MAX), priorities);
        let back = row.event != Event::FrontMerge;
        // At insertion the kernel does not ask the scheduler (Linux 5.10 to 6.12 block/elevator.c: elv_attempt_insert_merge).
        let at_insertion = row.event == Event::Merge;
        if at_insertion {
            if let Some(behind) = self.named(row, true) {
                // The request before it may just have grown by such a merge.
                self.coalesce_behind(policy, row.time, behind, sectors_max);
                return true;
            }
        }
        let touches = |request: &Request| {
            if back {
                request.end() == bio.start
            } else {
                request.start == bio.end()
            }
        };
        let found = self
            .entries()
            .filter(|entry| {
                entry.waiting && entry.request.direction == bio.direction && touches(&entry.request)
            })
            .filter(|entry| at_insertion || policy.may_merge(&entry.request, &bio))
            .max_by_key(|entry| entry.number);
        let Some(found) = found else { return false };
        let id = found.request.id;
        let start = if back { found.request.start } else { bio.start };
        let sectors = found.request.sectors.0 + bio.sectors.0;
        self.entry_mut(id).shares.push((bio.process, bio.sectors.0));
        self.grow(policy, row.time, id, start, sectors);
        if at_insertion {
            return true;
        }
        let neighbour = if back {
            policy.neighbour_after(id)
        } else {
            policy.neighbour_before(id)
        };
        if let Some(neighbour) = neighbour {
            let (front, behind) = if back {
                (id, neighbour)
            } else {
                (neighbour, id)
            };
            self.coalesce(policy, row.time, front, behind, sectors_max);
        }
        true
    }

    fn grow<S: Scheduler>(
        &mut self,
        policy: &mut S,
        now: Nanos,
        id: RequestId,
        start: Lba,
        sectors: u64,
    ) {
        let request = &mut self.entry_mut(id).request;
        (request.start, request.sectors) = (start, Sectors(sectors));
        policy.grown(now, id, start, Sectors(sectors));
    }

    /// The waiting request `behind` becomes part of the one that ends where it begins.
    fn coalesce_behind<S: Scheduler>(
        &mut self,
        policy: &mut S,
        now: Nanos,
        behind: RequestId,
        sectors_max: u64,
    ) {
        let (start, direction) = (self.get(behind).start, self.get(behind).direction);
        let front = self
            .entries()
            .filter(|entry| entry.waiting && entry.request.direction == direction)
            .find(|entry| entry.request.end() == start)
            .map(|entry| entry.request.id);
        if let Some(front) = front {
            self.coalesce(policy, now, front, behind, sectors_max);
        }
    }

    /// Makes one request of two that touch, if both fit in `sectors_max`.
    fn coalesce<S: Scheduler>(
        &mut self,
        policy: &mut S,
        now: Nanos,
        front: RequestId,
        behind: RequestId,
        sectors_max: u64,
    ) {
        let (first, second) = (self.entry(front), self.entry(behind));
        let (a, b) = (&first.request, &second.request);
        let sectors = a.sectors.0 + b.sectors.0;
        if !first.waiting
            || !second.waiting
            || a.direction != b.direction
            || a.end() != b.start
            || sectors > sectors_max
        {
            return;
        }
        let shares = second.shares.clone();
        let start = a.start;
        self.entry_mut(front).shares.extend(shares);
        self.grow(policy, now, front, start, sectors);
        policy.joined(now, front, behind);
        self.slots[behind.0 as usize] = None;
        self.free.push(behind.0);
        self.waiting -= 1;
    }

    /// The request that a row names: the oldest of its direction, sector and size that is (not) waiting.
    pub fn named(&self, row: &RecordedRow, waiting: bool) -> Option<RequestId> {
        self.entries()
            .filter(|entry| {
                entry.waiting == waiting
                    && same(&entry.request, row.direction, row.start, row.sectors)
            })
            .min_by_key(|entry| entry.number)
            .map(|entry| entry.request.id)
    }

    /// The waiting request that must be what the row names although a merge into it was not seen as one: it lies within
    /// the row's sectors and begins or ends with them. It grows to them; others within them become part of it.
    pub fn adopt<S: Scheduler>(&mut self, policy: &mut S, row: &RecordedRow) -> Option<RequestId> {
        let within = |request: &Request| {
            request.direction == row.direction
                && request.start >= row.start
                && request.end() <= row.end()
        };
        let mut inside: Vec<_> = self
            .entries()
            .filter(|entry| entry.waiting && within(&entry.request))
            .map(|entry| (entry.request.start, entry.number, entry.request.id))
            .collect();
        inside.sort();
        let kept = inside
            .iter()
            .map(|(_, _, id)| *id)
            .find(|id| self.get(*id).start == row.start || self.get(*id).end() == row.end())?;
        for (_, _, gone) in inside.iter().filter(|(_, _, id)| *id != kept) {
            let shares = self.entry(*gone).shares.clone();
            self.entry_mut(kept).shares.extend(shares);
            policy.joined(row.time, kept, *gone);
            self.slots[gone.0 as usize] = None;
            self.free.push(gone.0);
            self.waiting -= 1;
        }
        self.grow(policy, row.time, kept, row.start, row.sectors.0);
        Some(kept)
    }

    /// Is `id` what the row names? Requests that look the same are the same.
    pub fn matches(&self, id: RequestId, row: &RecordedRow) -> bool {
        same(self.get(id), row.direction, row.start, row.sectors)
    }

    /// A waiting request goes to the driver.
    pub fn issue(&mut self, id: RequestId) {
        self.entry_mut(id).waiting = false;
        self.waiting -= 1;
        self.in_driver += 1;
    }

    /// The device is done with the request that a row names; its processes' sectors are given back.
    pub fn complete<S: Scheduler>(
        &mut self,
        policy: &mut S,
        row: &RecordedRow,
    ) -> Option<QueuedRequest> {
        let id = self.named(row, false)?;
        let entry = self.slots[id.0 as usize].take()?;
        self.free.push(id.0);
        self.in_driver -= 1;
        policy.complete(row.time, &entry.request);
        Some(entry)
    }
}

fn same(request: &Request, direction: Direction, start: Lba, sectors: Sectors) -> bool {
    request.direction == direction && request.start == start && request.sectors == sectors
}

/// A request in words: `R 1024+8 p3`.
pub fn words(request: &Request) -> String {
    let op = match (request.direction, request.sync) {
        (Direction::Read, _) => "R",
        (Direction::Write, true) if request.no_idle => "WSN",
        (Direction::Write, true) => "WS",
        (Direction::Write, false) => "W",
    };
    format!(
        "{op} {}+{} p{}",
        request.start.0, request.sectors.0, request.process.0
    )
}
