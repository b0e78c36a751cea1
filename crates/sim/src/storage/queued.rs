//! The drives of a storage machine with their queues, and when each is due.
//!
//! The machine asks for that at every step of a task. A member is asked again only when somebody had a hand on it since.

use crate::storage::spindle::Spindle;
use core::cell::Cell;
use core::ops::{Index, IndexMut};
use seekwise_device::Device;
use seekwise_host::block::BlockQueue;
use seekwise_units::Nanos;
use std::collections::VecDeque;

pub(crate) struct QueuedDrive<Q, D> {
    pub queue: Q,
    pub spindle: Spindle<D>,
    /// Commands that the drive has done and of which the queue hears when the interrupt has been served: then, and their tags.
    pub told: VecDeque<(Nanos, u32)>,
}

impl<Q, D: Device> QueuedDrive<Q, D> {
    /// When its drive or an interrupt of it is due.
    fn drive_due(&self) -> Nanos {
        let told = self.told.front().map_or(Nanos::NEVER, |told| told.0);
        self.spindle.next_at().min(told)
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
    first: Cell<Option<Nanos>>,
}

impl<Q: BlockQueue, D: Device> Members<Q, D> {
    pub fn new(members: Vec<(Q, Spindle<D>)>) -> Self {
        let dues = members.iter().map(|_| Cell::new(None)).collect();
        let member = |(queue, spindle)| QueuedDrive {
            queue,
            spindle,
            told: VecDeque::new(),
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

    /// When the first drive or timer is due.
    #[inline]
    pub fn first_due(&self) -> Nanos {
        self.first.get().unwrap_or_else(|| {
            let first = (0..self.all.len()).fold(Nanos::NEVER, |first, index| {
                let Due { drive, timer } = self.due(index);
                first.min(drive).min(timer)
            });
            self.first.set(Some(first));
            first
        })
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
