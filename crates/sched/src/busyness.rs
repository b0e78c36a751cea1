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
    /// After a list of requests was tried; `busy`: one of them found no driver tag.
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
    fn only_some_kernels_take_many() {
        let takes = |minor| takes_many(&Kernel::new(5, minor, 0, 250));
        assert_eq!(
            [8, 9, 10, 11, 12].map(takes),
            [false, true, true, true, false]
        );
    }
}
