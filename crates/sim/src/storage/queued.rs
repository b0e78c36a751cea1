//! A volume over drives with their queues, for users that cut, send and count its pieces themselves (`crate::files`).
//!
//! They ask when the drives are due at every step of a task: a member is asked again only when somebody had a hand on it since.

use crate::storage::spindle::Spindle;
use crate::storage::{Storage, Totals};
use core::cell::Cell;
use core::ops::{Index, IndexMut};
use seekwise_device::Device;
use seekwise_host::block::{BlockQueue, Observer};
use seekwise_raid::md::volume::{Piece, Volume};
use seekwise_sched::ProcessId;
use seekwise_units::Nanos;
use slab::Slab;
use std::collections::VecDeque;

/// Who hears of the end of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// An operation of the files' side.
    File(u32),
    /// The stripe cache.
    Stripe,
}

/// A bio under way on a member.
#[derive(Clone, Copy)]
pub(crate) struct UnderWay {
    pub owner: Owner,
    pub piece: Piece,
    pub write: bool,
}

pub struct QueuedVolume<Q, D> {
    pub(crate) members: Members<Q, D>,
    pub(crate) volume: Volume,
    pub(crate) under_way: Slab<UnderWay>,
    /// Writes that sleep between their copies: whose, and how many copies are sent.
    pub(crate) copies_sent: Vec<(ProcessId, usize)>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) finished: Vec<u32>,
}

impl<Q: BlockQueue, D: Device> QueuedVolume<Q, D> {
    pub(crate) fn new(members: Vec<(Q, Spindle<D>)>, volume: Volume) -> Self {
        Self {
            members: Members::new(members),
            volume,
            under_way: Slab::new(),
            copies_sent: Vec::new(),
            pieces: Vec::new(),
            finished: Vec::new(),
        }
    }
}

impl<Q: BlockQueue, D: Device> Storage for QueuedVolume<Q, D> {
    fn next_at(&self) -> Nanos {
        self.members.first_due().drive
    }

    fn timer(&self) -> Nanos {
        self.members.first_due().timer
    }

    fn fire<O: Observer>(&mut self, now: Nanos, observer: &mut O) {
        let due = |&index: &usize| self.members.due(index).timer <= now;
        if let Some(index) = (0..self.members.len()).find(due) {
            let QueuedDrive { queue, spindle, .. } = &mut self.members[index];
            queue.fire(now, spindle, observer);
        }
    }

    fn allocated(&self) -> usize {
        let allocated = |member: &QueuedDrive<Q, D>| member.queue.allocated();
        self.members.iter().map(allocated).sum()
    }

    fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for QueuedDrive { queue, spindle, .. } in self.members.iter() {
            totals.busy += spindle.busy;
            totals.sectors += spindle.sectors;
            totals.merges += queue.merges();
        }
        totals
    }
}

pub(crate) struct QueuedDrive<Q, D> {
    pub queue: Q,
    pub spindle: Spindle<D>,
    /// Commands that the drive has done and of which the queue hears when the interrupt has been served: then, and their tags.
    pub notified: VecDeque<(Nanos, u32)>,
}

impl<Q, D: Device> QueuedDrive<Q, D> {
    /// When its drive or an interrupt of it is due.
    fn drive_due(&self) -> Nanos {
        let notified = self
            .notified
            .front()
            .map_or(Nanos::NEVER, |notified| notified.0);
        self.spindle.next_at().min(notified)
    }
}

/// When a member's drive and its queue's timer are due.
#[derive(Clone, Copy)]
pub(crate) struct Due {
    pub drive: Nanos,
    pub timer: Nanos,
}

pub(crate) struct Members<Q, D> {
    all: Vec<QueuedDrive<Q, D>>,
    /// Unknown since somebody had a hand on the member.
    dues: Vec<Cell<Option<Due>>>,
    /// The earliest of all; unknown as soon as one is.
    first: Cell<Option<Due>>,
}

impl<Q: BlockQueue, D: Device> Members<Q, D> {
    pub fn new(members: Vec<(Q, Spindle<D>)>) -> Self {
        let dues = members.iter().map(|_| Cell::new(None)).collect();
        let member = |(queue, spindle)| QueuedDrive {
            queue,
            spindle,
            notified: VecDeque::new(),
        };
        Self {
            all: members.into_iter().map(member).collect(),
            dues,
            first: Cell::new(None),
        }
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    #[inline]
    pub fn due(&self, index: usize) -> Due {
        self.dues[index].get().unwrap_or_else(|| {
            let member = &self.all[index];
            let due = Due {
                drive: member.drive_due(),
                timer: member.queue.timer(),
            };
            self.dues[index].set(Some(due));
            due
        })
    }

    /// When the first drive and the first timer are due.
    #[inline]
    pub fn first_due(&self) -> Due {
        self.first.get().unwrap_or_else(|| {
            let none = Due {
                drive: Nanos::NEVER,
                timer: Nanos::NEVER,
            };
            let first = (0..self.all.len()).fold(none, |first, index| {
                let Due { drive, timer } = self.due(index);
                Due {
                    drive: first.drive.min(drive),
                    timer: first.timer.min(timer),
                }
            });
            self.first.set(Some(first));
            first
        })
    }

    /// The drive that is due first.
    pub fn first_drive(&self) -> usize {
        let first = self.first_due().drive;
        let due = |&index: &usize| self.due(index).drive == first;
        (0..self.all.len()).find(due).unwrap_or(0)
    }

    pub fn iter(&self) -> impl Iterator<Item = &QueuedDrive<Q, D>> {
        self.all.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut QueuedDrive<Q, D>> {
        self.first.set(None);
        for due in &mut self.dues {
            due.set(None);
        }
        self.all.iter_mut()
    }

    /// Commands that drives were given since this was last asked.
    pub fn take_given(&mut self) -> u64 {
        let given = |member: &mut QueuedDrive<Q, D>| core::mem::take(&mut member.spindle.given);
        self.all.iter_mut().map(given).sum()
    }
}

impl<Q, D> Index<usize> for Members<Q, D> {
    type Output = QueuedDrive<Q, D>;

    #[inline]
    fn index(&self, index: usize) -> &QueuedDrive<Q, D> {
        &self.all[index]
    }
}

impl<Q, D> IndexMut<usize> for Members<Q, D> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut QueuedDrive<Q, D> {
        self.first.set(None);
        self.dues[index].set(None);
        &mut self.all[index]
    }
}
