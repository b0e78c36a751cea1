//! none: the multi-queue block layer without a policy.
//!
//!   software queue of CPU 0  ──┐   a quiet device: queue by queue, each emptied in order of arrival
//!   software queue of CPU 1  ──┼─► a busy one:     one request per queue in turn
//!   …                        ──┘
//!
//! Modelled:      software queues, the order in which they are drained, the estimate of how busy the device is,
//!                merges into the eight newest requests of the submitter's own queue.
//! Not modelled:  direct issue past the queue (what is issued at once never waits here), several hardware queues.
//! Source:        behaviour of Linux 5.10 to 6.12 block/blk-mq.c, block/blk-mq-sched.c, block/blk-merge.c.

use crate::about::{About, Chart, MergeRule, Module};
use crate::fifo::{Fifo, Links};
use crate::parameter::{since, Parameter, Setup};
use crate::request::{ProcessId, Request, RequestId};
use crate::scheduler::Scheduler;
use seekwise_units::{Lba, Nanos, Sectors};

/// Row of the registry.
pub const ABOUT: About = About {
    name: "none",
    kernels: since(3, 13, 0),
    parameters: PARAMETERS,
    summary: "no policy: software queues drained in turn",
    cost_ns: 0,
    merge_rule: MergeRule::Recent,
    module: core::option::Option::Some(Module::BuiltIn),
    reset_to: &[],
    chart: Chart {
        colour: "#000000",
        dash: &[1, 0],
        marker: "circle",
    },
    required_per_mille: 1000,
    trials: &[],
    settles_at_once: true,
};

/// none has no tunables.
pub const PARAMETERS: &[Parameter] = &[];

/// How many of a queue's newest requests a bio is tried against. Linux 5.10 to 6.12 block/blk-merge.c: blk_bio_list_merge.
const MERGE_NEWEST: usize = 8;

/// The busy estimate is a running mean over eight runs, kept in sixteenths. Linux 6.1 block/blk-mq.c:
/// BLK_MQ_DISPATCH_BUSY_EWMA_WEIGHT 8, BLK_MQ_DISPATCH_BUSY_EWMA_FACTOR 4.
const BUSY_WEIGHT: u32 = 8;
const BUSY_SIXTEENTHS: u32 = 16;

#[derive(Clone, Debug)]
pub struct None {
    queues: Vec<Fifo>,
    links: Links,
    waiting: usize,
    /// Queue of every slot, to remove a merged request.
    queue_of: Vec<u16>,
    /// Taken in one sweep over all queues while the device was quiet; leaves before anything else.
    swept: Fifo,
    /// Where the turn over the queues goes on.
    turn: usize,
    busy: u32,
    in_driver: u32,
    depth_device: u32,
}

impl None {
    /// An empty block layer with one software queue.
    pub fn new(setup: &Setup) -> Self {
        Self::with_software_queues(setup, 1)
    }

    /// One software queue per CPU; a process submits from the CPU of its number, modulo their count.
    pub fn with_software_queues(setup: &Setup, count: usize) -> Self {
        Self {
            queues: vec![Fifo::default(); count.max(1)],
            links: Links::default(),
            waiting: 0,
            queue_of: Vec::new(),
            swept: Fifo::default(),
            turn: 0,
            busy: 0,
            in_driver: 0,
            depth_device: setup.depth_device,
        }
    }

    #[inline]
    fn queue(&self, process: ProcessId) -> usize {
        match self.queues.len() {
            1 => 0,
            count => process.0 as usize % count,
        }
    }

    /// A pull that the device cannot take counts as busy, any other as quiet.
    #[inline]
    fn estimate(&mut self) {
        let refused = self.in_driver >= self.depth_device;
        if self.busy == 0 && !refused {
            return;
        }
        self.busy = (self.busy * (BUSY_WEIGHT - 1) + if refused { BUSY_SIXTEENTHS } else { 0 })
            / BUSY_WEIGHT;
    }

    fn in_turn(&mut self) -> Option<RequestId> {
        let count = self.queues.len();
        for step in 0..count {
            let queue = (self.turn + step) % count;
            if let Some(id) = self.queues[queue].pop_front(&mut self.links) {
                self.turn = (queue + 1) % count;
                return Some(id);
            }
        }
        Option::None
    }

    fn sweep(&mut self) -> Option<RequestId> {
        if self.queues.len() == 1 {
            return self.queues[0].pop_front(&mut self.links);
        }
        for queue in 0..self.queues.len() {
            while let Some(id) = self.queues[queue].pop_front(&mut self.links) {
                self.queue_of[id.0 as usize] = u16::MAX;
                self.swept.push_back(&mut self.links, id);
            }
        }
        self.swept.pop_front(&mut self.links)
    }

    fn remove(&mut self, id: RequestId) {
        let list = match self.queue_of[id.0 as usize] {
            u16::MAX => &mut self.swept,
            queue => &mut self.queues[queue as usize],
        };
        list.remove(&mut self.links, id);
        self.waiting -= 1;
    }
}

impl Scheduler for None {
    #[inline]
    fn insert(&mut self, _now: Nanos, request: &Request) {
        let queue = self.queue(request.process);
        let slot = request.id.0 as usize;
        if self.queue_of.len() <= slot {
            self.queue_of.resize(slot + 1, 0);
        }
        self.queue_of[slot] = queue as u16;
        self.queues[queue].push_back(&mut self.links, request.id);
        self.waiting += 1;
    }

    #[inline]
    fn dispatch(&mut self, _now: Nanos) -> Option<RequestId> {
        if self.waiting == 0 {
            return Option::None;
        }
        self.estimate();
        let id = match self.swept.pop_front(&mut self.links) {
            Some(id) => Some(id),
            Option::None if self.busy > 0 => self.in_turn(),
            Option::None => self.sweep(),
        }?;
        self.waiting -= 1;
        self.in_driver += 1;
        Some(id)
    }

    fn dispatch_forced(&mut self, _now: Nanos, id: RequestId) {
        self.estimate();
        self.remove(id);
        self.in_driver += 1;
    }

    #[inline]
    fn complete(&mut self, _now: Nanos, _request: &Request) {
        self.in_driver = self.in_driver.saturating_sub(1);
    }

    #[inline]
    fn waiting(&self) -> usize {
        self.waiting
    }

    fn may_merge(&self, request: &Request, bio: &Request) -> bool {
        let queue = self.queue_of[request.id.0 as usize];
        if queue == u16::MAX || queue as usize != self.queue(bio.process) {
            return false;
        }
        // From the newest back: the list is walked from the request to its tail.
        let mut at = request.id;
        for _ in 0..MERGE_NEWEST {
            match self.queues[queue as usize].after(&self.links, at) {
                Some(newer) => at = newer,
                Option::None => return true,
            }
        }
        false
    }

    fn grown(&mut self, _now: Nanos, _id: RequestId, _start: Lba, _sectors: Sectors) {}

    fn joined(&mut self, _now: Nanos, _kept: RequestId, gone: RequestId) {
        self.remove(gone);
    }

    fn describe(&self, _now: Nanos, out: &mut String) {
        for (cpu, queue) in self.queues.iter().enumerate() {
            let waiting = queue.words(&self.links);
            *out += &format!("software queue {cpu}, oldest first: {waiting}\n");
        }
        *out += &format!("busy estimate {} of 16\n", self.busy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{read, setup};

    fn from(process: u32, id: u32) -> Request {
        Request {
            process: ProcessId(process),
            ..read(id, 10_000 - id as u64 * 100)
        }
    }

    fn drain(none: &mut None) -> Vec<u32> {
        core::iter::from_fn(|| none.dispatch(Nanos(0)))
            .map(|id| id.0)
            .collect()
    }

    #[test]
    fn one_software_queue_is_first_come_first_served() {
        let mut none = None::new(&setup("6.1"));
        for id in 0..4 {
            none.insert(Nanos(0), &from(id, id));
        }
        assert_eq!(drain(&mut none), [0, 1, 2, 3]);
    }

    #[test]
    fn a_quiet_device_empties_cpu_after_cpu() {
        let setup = Setup {
            depth_device: 64,
            ..setup("6.1")
        };
        let mut none = None::with_software_queues(&setup, 2);
        for (process, id) in [(1, 0), (0, 1), (1, 2), (0, 3)] {
            none.insert(Nanos(0), &from(process, id));
        }
        assert_eq!(drain(&mut none), [1, 3, 0, 2]);
    }

    #[test]
    fn a_busy_device_takes_one_from_each_cpu_in_turn() {
        let setup = Setup {
            depth_device: 1,
            ..setup("6.1")
        };
        let mut none = None::with_software_queues(&setup, 2);
        none.insert(Nanos(0), &from(0, 9));
        none.insert(Nanos(0), &from(0, 8));
        // The second pull finds the device full: from here on the queues take turns.
        assert_eq!(none.dispatch(Nanos(0)), Some(RequestId(9)));
        assert_eq!(none.dispatch(Nanos(0)), Some(RequestId(8)));
        for (process, id) in [(0, 0), (0, 1), (1, 2), (1, 3)] {
            none.insert(Nanos(0), &from(process, id));
        }
        assert_eq!(drain(&mut none), [0, 2, 1, 3]);
    }

    #[test]
    fn only_the_eight_newest_of_the_own_queue_are_tried_for_a_merge() {
        let mut none = None::with_software_queues(&setup("6.1"), 2);
        for id in 0..9 {
            none.insert(Nanos(0), &from(0, id));
        }
        assert!(!none.may_merge(&from(0, 0), &from(0, 20)));
        assert!(none.may_merge(&from(0, 1), &from(0, 20)));
        assert!(!none.may_merge(&from(0, 1), &from(1, 20)));
    }
}
