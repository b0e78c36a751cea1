//! How many requests blk-mq takes from a policy before it looks for driver tags.
//!
//! From 5.12 on each request taken waits for its own tag, so at most one is taken ahead. Linux 5.9 to 5.11 take up to nr_requests at
//! once while the hardware queue was not busy lately, otherwise one; what was taken leaves in that order whatever comes after it
//! ("blk-mq: Improve performance of non-mq IO schedulers with multiple HW queues", 5.12, ended that).

use crate::kernel::Kernel;

/// Does this kernel take several at once?
pub fn takes_many(kernel: &Kernel) -> bool {
    kernel.at_least(5, 9, 0) && !kernel.at_least(5, 12, 0)
}

/// How busy blk-mq takes the hardware queue to be: a decaying mean of lists of requests that found no driver tag.
/// Linux 5.10 block/blk-mq.c: blk_mq_update_dispatch_busy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Busyness(u32);

impl Busyness {
    pub fn update(&mut self, busy: bool) {
        self.0 = (self.0 * 7 + if busy { 16 } else { 0 }) / 8;
    }

    /// How many may be taken at once now.
    pub fn most(self, nr_requests: u32) -> usize {
        if self.0 == 0 {
            nr_requests as usize
        } else {
            1
        }
    }
}

/// What kernels from 5.12 on take from a policy before the first of it starts: as much as there are tags, or one while the queue was busy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Batch {
    taken: usize,
    most: usize,
}

impl Batch {
    /// One more is taken; whether it is the first of its batch.
    pub fn begins(&mut self, busyness: Busyness, nr_requests: u32) -> bool {
        self.taken += 1;
        if self.taken == 1 {
            self.most = busyness.most(nr_requests);
        }
        self.taken == 1
    }

    /// It found a tag. With that a full batch is over.
    pub fn taken(&mut self, busyness: &mut Busyness) {
        if self.taken >= self.most {
            self.end(busyness);
        }
    }

    /// Nothing more comes to it.
    pub fn end(&mut self, busyness: &mut Busyness) {
        if self.taken > 0 {
            busyness.update(false);
        }
        self.taken = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_list_without_a_tag_makes_the_queue_busy_for_a_few_runs() {
        let mut busyness = Busyness::default();
        assert_eq!(busyness.most(256), 256);
        busyness.update(true);
        assert_eq!(busyness.most(256), 1);
        // 2, 1, 0 of eight: integers fade out.
        busyness.update(false);
        assert_eq!(busyness.most(256), 1);
        busyness.update(false);
        assert_eq!(busyness.most(256), 256);
    }

    #[test]
    fn behind_a_missed_tag_two_are_taken_alone() {
        let mut busyness = Busyness::default();
        busyness.update(true);
        let mut batch = Batch::default();
        let begun: Vec<bool> = (0..5)
            .map(|_| {
                let begins = batch.begins(busyness, 256);
                batch.taken(&mut busyness);
                begins
            })
            .collect();
        assert_eq!(begun, [true, true, true, false, false]);
    }

    #[test]
    fn only_some_kernels_take_many() {
        let takes = |minor| takes_many(&Kernel::new(5, minor, 0, 250));
        assert_eq!(
            [8, 9, 10, 11, 12].map(takes),
            [false, true, true, true, false]
        );
    }
}
