//! What the two kinds of queue have in common: the requests, how bios join them, and the driver's tags.

use super::merge::{MergeRule, Merger};
use super::table::{State, Table, NONE};
use super::{Access, Bio, Driver, Event, Observer};
use seekwise_sched::{ProcessId, Scheduler};
use seekwise_units::{Nanos, Sectors};
use std::collections::VecDeque;

/// What both kinds of queue are told.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests of a pool (single queue), scheduler tags, or driver tags (no scheduler).
    pub nr_requests: u32,
    pub max_sectors: Sectors,
    pub nomerges: u8,
    pub merge_rule: MergeRule,
}

#[derive(Clone, Debug)]
pub struct Base {
    pub limits: Limits,
    pub depth: u32,
    pub table: Table,
    pub merger: Merger,
    pub free_tags: Vec<u32>,
    slot_of_tag: Vec<u32>,
    /// The task's own list, and whether requests go there.
    pub plug: Vec<u32>,
    pub plugging: bool,
    pub woken: VecDeque<ProcessId>,
}

impl Base {
    /// Room for `requests` requests before memory has to be taken.
    pub fn new(limits: Limits, depth: u32, requests: usize) -> Self {
        let Limits {
            max_sectors,
            nomerges,
            merge_rule,
            ..
        } = limits;
        Self {
            limits,
            depth,
            table: Table::with_capacity(requests),
            merger: Merger::new(merge_rule, max_sectors, nomerges, requests),
            free_tags: (0..depth).rev().collect(),
            slot_of_tag: vec![NONE; depth as usize],
            plug: Vec::new(),
            plugging: false,
            woken: VecDeque::new(),
        }
    }

    /// Slot of the request that holds the driver's `tag`.
    #[inline]
    pub fn slot_of(&self, tag: u32) -> u32 {
        self.slot_of_tag[tag as usize]
    }

    /// A request enters the scheduler.
    #[inline]
    pub fn insert<S: Scheduler, O: Observer>(
        &mut self,
        now: Nanos,
        slot: u32,
        policy: &mut S,
        observer: &mut O,
    ) {
        let entry = self.table.get_mut(slot);
        entry.state = State::Waiting;
        let request = &entry.request;
        observer.note(now, Event::Inserted(request));
        policy.insert(now, request);
        self.merger.inserted(&mut self.table, slot);
    }

    /// The request that the scheduler dispatches next.
    #[inline]
    pub fn take<S: Scheduler>(&mut self, now: Nanos, policy: &mut S) -> Option<u32> {
        let slot = policy.dispatch(now)?.0;
        self.merger.removed(&mut self.table, slot);
        self.table.get_mut(slot).state = State::Dispatched;
        Some(slot)
    }

    /// The drive has room and takes the request.
    #[inline(always)]
    pub fn start<D: Driver>(&mut self, now: Nanos, slot: u32, access: Access, driver: &mut D) {
        let tag = self.free_tags.pop().expect("a driver tag is free");
        self.slot_of_tag[tag as usize] = slot;
        driver.start(now, tag, access);
    }

    /// Joins a bio to one of the `newest` last requests in the task's plug.
    pub fn merge_into_plug(&mut self, bio: &Bio, newest: usize) -> bool {
        if self.limits.nomerges == 2 {
            return false;
        }
        for &slot in self.plug.iter().rev().take(newest) {
            let request = &mut self.table.get_mut(slot).request;
            let sectors = Sectors(request.sectors.0 + bio.sectors.0);
            if request.direction != bio.direction || sectors > self.limits.max_sectors {
                continue;
            }
            if request.end() == bio.start {
                request.sectors = sectors;
            } else if bio.start + bio.sectors == request.start {
                request.start = bio.start;
                request.sectors = sectors;
            } else {
                continue;
            }
            self.table.attach(slot, bio.token, bio.sectors);
            self.merger.merges += 1;
            return true;
        }
        false
    }
}
