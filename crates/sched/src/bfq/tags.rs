//! How many scheduler tags a queue may hold: fewer for writes, fewer still beside a raised queue, and hardly any beyond its share.
//!
//! Source: behaviour of Linux 5.10 to 6.12 block/bfq-iosched.c.

use super::Bfq;
use crate::tag_words::{Asking, TagWords};

/// Levels of a class, by which the weights of a higher class count more. Linux 5.17 to 6.12: IOPRIO_NR_LEVELS.
const LEVELS: u64 = 8;

/// Share of `all` tags for asynchronous writes and sync writes. Linux 5.10 to 6.12: bfq_update_depths.
fn depth_of_writes(with_raised_busy: bool, sync: bool, all: u32) -> u32 {
    let (numerator, shift) = match (with_raised_busy, sync) {
        (false, false) => (1, 1),
        (false, true) => (3, 2),
        (true, false) => (3, 4),
        (true, true) => (6, 4),
    };
    ((all * numerator) >> shift).max(1)
}

impl Bfq {
    pub(super) fn depth(&self, asking: Asking, words: TagWords) -> Option<u32> {
        let depth = (!asking.is_sync_read())
            .then(|| depth_of_writes(self.raised_busy > 0, asking.sync, words.all()));
        if self.generation.since_5_17 {
            let limit = match depth {
                None => u64::from(words.tags),
                Some(depth) => u64::from(words.tags) * u64::from(depth) / u64::from(words.all()),
            };
            if self.is_over_share(asking, limit) {
                return Some(1);
            }
        }
        depth
    }

    pub(super) fn depth_min(&self, all: u32) -> u32 {
        if self.generation.since_5_17 {
            1
        } else {
            depth_of_writes(true, false, all)
        }
    }

    /// Does the process's queue hold more than its weight's share of `limit` tags?
    fn is_over_share(&self, asking: Asking, limit: u64) -> bool {
        let Some(process) = self.processes.index(asking.process) else {
            return false;
        };
        let process = &self.processes[process];
        let queue = if asking.sync {
            process.sync
        } else {
            process.asynchronous
        };
        let Some(index) = queue else {
            return false;
        };
        let entity = self.service.get(index);
        if !entity.is_counted() {
            return false;
        }
        let weights = (0..=entity.class).fold(0, |sum, class| {
            sum * LEVELS + self.service.weights_of(class)
        });
        if weights == 0 {
            return false;
        }
        // At least limit * weight / weights, rounded to the nearest; without the division.
        let allocated = u64::from(self.queues[index as usize].allocated);
        limit * u64::from(entity.weight) + weights / 2 < (allocated + 1) * weights
    }
}
