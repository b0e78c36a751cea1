//! Bursts: many queues created shortly after each other belong to one task that wants throughput, so none of them is raised.
//!
//! Source: behaviour of Linux 5.10 to 6.12 block/bfq-iosched.c.

use super::queue::LONG_AGO;
use super::Bfq;

/// Queues of a large burst. Linux 5.10 to 6.12: bfq_large_burst_thresh.
const LARGE: u32 = 8;

#[derive(Clone, Debug)]
pub struct Burst {
    size: u32,
    large: bool,
    last: i64,
    /// Queues of the burst while it is not large.
    list: Vec<u32>,
}

impl Default for Burst {
    fn default() -> Self {
        Self {
            size: 0,
            large: false,
            last: LONG_AGO,
            list: Vec::new(),
        }
    }
}

impl Burst {
    /// Whether the present burst is large: its queues are not raised.
    pub fn is_large(&self) -> bool {
        self.large
    }
}

impl Bfq {
    /// A request came for a queue that was just created: is it part of a burst?
    pub(super) fn watch_burst(&mut self, index: u32) {
        let queue = &self.queues[index as usize];
        if !queue.just_created || (self.burst.size == 0 && self.busy_queues() > 0) {
            return;
        }
        let split_lately = queue.split_at + self.settings.split_rest_ticks >= self.tick;
        if queue.in_burst_list || queue.in_large_burst || split_lately {
            return;
        }
        if self.burst.last + self.settings.burst_ticks < self.tick {
            self.burst.large = false;
            for member in core::mem::take(&mut self.burst.list) {
                self.queues[member as usize].in_burst_list = false;
            }
            self.burst.size = 0;
            if self.busy_queues() == 0 {
                self.burst.size = 1;
                self.join_burst_list(index);
            }
        } else if self.burst.large {
            self.queues[index as usize].in_large_burst = true;
        } else {
            self.burst.size += 1;
            if self.burst.size == LARGE {
                self.burst.large = true;
                self.queues[index as usize].in_large_burst = true;
                for member in core::mem::take(&mut self.burst.list) {
                    let member = &mut self.queues[member as usize];
                    (member.in_large_burst, member.in_burst_list) = (true, false);
                }
            } else {
                self.join_burst_list(index);
            }
        }
        self.burst.last = self.tick;
    }

    pub(super) fn join_burst_list(&mut self, index: u32) {
        self.queues[index as usize].in_burst_list = true;
        self.burst.list.push(index);
    }

    /// A queue goes. It counts no longer, unless it went because it was merged.
    pub(super) fn leave_burst_list(&mut self, index: u32) {
        let queue = &mut self.queues[index as usize];
        if core::mem::take(&mut queue.in_burst_list) {
            self.burst.list.retain(|member| *member != index);
            if queue.owner.is_some() && self.burst.size > 0 {
                self.burst.size -= 1;
            }
        }
    }
}
