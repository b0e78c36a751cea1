//! deadline: sorted batches, reads before writes, and an expiry time on every request.
//!
//!   per direction   sorted by sector ──┐ next: the one behind the last one taken
//!                   in order of arrival┘ head: the oldest, with its expiry time
//!
//! A batch runs on in sector order for up to `fifo_batch` requests. Between batches reads are preferred, at most
//! `writes_starved` times while writes wait, and the oldest request is taken if it has expired.
//!
//! Modelled:      the three generations of the choice (until 2.6.23, until 2.6.27, later), expiry in ticks, equal start
//!                sectors (before 3.3 the older request leaves at once), merges.
//! Not modelled:  barriers and requests inserted at the head.
//! Source:        behaviour of Linux 2.6.23, 2.6.24, 2.6.32 and 4.4 block/deadline-iosched.c.

use crate::about::{single_queue, About, Chart, MergeRule};
use crate::batching::{index, Batches, Expiry, READ, WRITE};
use crate::fifo::{Fifo, Links};
use crate::kernel::{Kernel, Version};
use crate::parameter::{Parameter, Setup, TunableUnit, ALWAYS};
use crate::request::{words, Direction, Request, RequestId};
use crate::scheduler::Scheduler;
use crate::sorted::Sorted;
use seekwise_units::{Lba, Nanos, Sectors};

/// Row of the registry.
pub const ABOUT: About = About {
    name: "deadline",
    kernels: single_queue(Version(2, 6, 0)),
    parameters: PARAMETERS,
    summary: "sorted batches, reads first, each request with an expiry time",
    // As mq-deadline, whose figure is published.
    cost_ns: 700,
    merge_rule: MergeRule::Hash,
    module: None,
    reset_to: &[],
    chart: Chart {
        colour: "#0072B2",
        dash: &[6, 2],
        marker: "square",
    },
    required_per_mille: 995,
    trials: &[],
    settles_at_once: true,
};

/// Longest expiry that makes sense in a study; the kernel takes any int.
pub const EXPIRE_MAX_MS: u64 = 3_600_000;

// Tunables that mq-deadline has as well. Defaults: Linux 2.6.23 to 4.19 block/deadline-iosched.c, 5.10 to 6.12 block/mq-deadline.c
// (HZ/2, 5*HZ, 2, 16, 1).

pub const READ_EXPIRE: Parameter = Parameter {
    name: "read_expire",
    unit: TunableUnit::Millis,
    default: |setup| setup.kernel.millis_from_ticks(setup.kernel.hz as u64 / 2),
    min: 0,
    max: EXPIRE_MAX_MS,
    kernels: ALWAYS,
    meaning: "age at which the oldest read is taken before sector order, looked at between batches",
};

pub const WRITE_EXPIRE: Parameter = Parameter {
    name: "write_expire",
    unit: TunableUnit::Millis,
    default: |setup| setup.kernel.millis_from_ticks(5 * setup.kernel.hz as u64),
    min: 0,
    max: EXPIRE_MAX_MS,
    kernels: ALWAYS,
    meaning:
        "age at which the oldest write is taken before sector order, looked at between batches",
};

pub const WRITES_STARVED: Parameter = Parameter {
    name: "writes_starved",
    unit: TunableUnit::Count,
    default: |_| 2,
    min: 0,
    max: 1_000_000,
    kernels: ALWAYS,
    meaning: "how often in a row reads may be preferred while writes wait",
};

pub const FIFO_BATCH: Parameter = Parameter {
    name: "fifo_batch",
    unit: TunableUnit::Requests,
    default: |_| 16,
    min: 0,
    max: 1_000_000,
    kernels: ALWAYS,
    meaning: "requests taken in sector order before direction and age are looked at again",
};

pub const FRONT_MERGES: Parameter = Parameter {
    name: "front_merges",
    unit: TunableUnit::Switch,
    default: |_| 1,
    min: 0,
    max: 1,
    kernels: ALWAYS,
    meaning: "look for a waiting request that begins where a new one ends",
};

pub const PARAMETERS: &[Parameter] = &[
    READ_EXPIRE,
    WRITE_EXPIRE,
    WRITES_STARVED,
    FIFO_BATCH,
    FRONT_MERGES,
];

/// How the choice was made over the years.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeadlineGeneration {
    /// Until 2.6.23: only contiguous requests continue a batch; a new sweep begins at the lowest sector.
    Lowest,
    /// 2.6.24 to 2.6.27: only contiguous requests continue a batch; a new sweep begins at the oldest request.
    Contiguous,
    /// 2.6.28 on: any request in sector order continues a batch.
    Sorted,
}

impl DeadlineGeneration {
    fn of(kernel: &Kernel) -> Self {
        if kernel.at_least(2, 6, 28) {
            Self::Sorted
        } else if kernel.at_least(2, 6, 24) {
            Self::Contiguous
        } else {
            Self::Lowest
        }
    }
}

/// What is known of a waiting request.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    start: Lba,
    sectors: Sectors,
    since: Nanos,
    direction: u8,
}

#[derive(Clone, Debug)]
pub struct Deadline {
    kernel: Kernel,
    generation: DeadlineGeneration,
    expiry: Expiry,
    /// 3.3 on: requests at the same sector may wait together.
    equal_sectors_wait: bool,
    batches: Batches,
    front_merges: bool,

    slots: Vec<Slot>,
    links: Links,
    sorted: [Sorted; 2],
    fifo: [Fifo; 2],
    next: [Option<RequestId>; 2],
    /// Chosen already, waiting to be pulled (older request of an equal pair).
    moved: Fifo,
    /// End of the request taken last.
    last_end: Lba,
}

impl Deadline {
    /// An empty scheduler with the tunables of `setup`.
    pub fn new(setup: &Setup) -> Self {
        let kernel = setup.kernel;
        Self {
            kernel,
            generation: DeadlineGeneration::of(&kernel),
            // Linux v3.16 block/deadline-iosched.c compares with time_after_eq; v3.15 and before with time_after.
            expiry: Expiry::new(setup, PARAMETERS, kernel.at_least(3, 16, 0)),
            // Linux v3.3: elv_rb_add keeps requests at the same sector side by side.
            equal_sectors_wait: kernel.at_least(3, 3, 0),
            batches: Batches::new(setup, PARAMETERS),
            front_merges: setup.get(PARAMETERS, "front_merges") != 0,
            slots: Vec::new(),
            links: Links::default(),
            sorted: Default::default(),
            fifo: Default::default(),
            next: [None; 2],
            moved: Fifo::default(),
            last_end: Lba(0),
        }
    }

    #[inline]
    fn slot(&self, id: RequestId) -> Slot {
        self.slots[id.0 as usize]
    }

    /// Into sector order; before 3.3 an older request at the same sector leaves for the dispatch list.
    #[inline]
    fn sort_in(&mut self, id: RequestId) {
        let Slot {
            start, direction, ..
        } = self.slot(id);
        if !self.equal_sectors_wait {
            while let Some(older) = self.sorted[direction as usize].starting_at(start) {
                self.take(older);
                self.moved.push_back(&mut self.links, older);
            }
        }
        self.sorted[direction as usize].insert(start, id);
    }

    /// Out of sector order and arrival order; the sweep stands behind it now.
    #[inline]
    fn take(&mut self, id: RequestId) {
        let Slot {
            start,
            sectors,
            direction,
            ..
        } = self.slot(id);
        let direction = direction as usize;
        self.next[1 - direction] = None;
        self.next[direction] = self.sorted[direction].remove_and_next(start, id);
        self.fifo[direction].remove(&mut self.links, id);
        self.last_end = start + sectors;
    }

    /// Has the oldest request of a direction that has one expired?
    #[inline]
    fn expired(&self, now: Nanos, direction: usize) -> bool {
        let Some(oldest) = self.fifo[direction].head() else {
            return false;
        };
        let since = self.slot(oldest).since;
        self.expiry.has_expired(now, since, direction)
    }

    /// The request that would continue the running batch. Counts its end if the generation ends it here.
    #[inline]
    fn continuation(&mut self) -> Option<RequestId> {
        let candidate = self.next[WRITE].or(self.next[READ])?;
        if self.generation != DeadlineGeneration::Sorted
            && self.slot(candidate).start != self.last_end
        {
            self.batches.taken += self.batches.fifo_batch;
        }
        (self.batches.taken < self.batches.fifo_batch).then_some(candidate)
    }

    /// A new batch begins in `direction`, which has requests.
    #[inline]
    fn begin_batch(&mut self, now: Nanos, direction: usize) -> Option<RequestId> {
        let sweep = self.next[direction];
        if self.generation == DeadlineGeneration::Lowest {
            if self.expired(now, direction) {
                self.batches.taken = 0;
                return self.fifo[direction].head();
            }
            if sweep.is_some() {
                return sweep;
            }
            self.batches.taken = 0;
            return self.sorted[direction].first();
        }
        self.batches.taken = 0;
        match sweep {
            Some(_) if !self.expired(now, direction) => sweep,
            _ => self.fifo[direction].head(),
        }
    }

    #[inline]
    fn choose(&mut self, now: Nanos) -> Option<RequestId> {
        if let Some(id) = self.continuation() {
            return Some(id);
        }
        let [reads, writes] = [READ, WRITE].map(|direction| !self.fifo[direction].is_empty());
        let direction = self.batches.direction(reads, writes)?;
        self.begin_batch(now, direction)
    }
}

impl Scheduler for Deadline {
    #[inline]
    fn insert(&mut self, now: Nanos, request: &Request) {
        let slot = request.id.0 as usize;
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, Slot::default());
        }
        let direction = index(request.direction);
        self.slots[slot] = Slot {
            start: request.start,
            sectors: request.sectors,
            since: now,
            direction: direction as u8,
        };
        self.sort_in(request.id);
        self.fifo[direction].push_back(&mut self.links, request.id);
    }

    #[inline]
    fn dispatch(&mut self, now: Nanos) -> Option<RequestId> {
        if let Some(id) = self.moved.pop_front(&mut self.links) {
            return Some(id);
        }
        let id = self.choose(now)?;
        self.batches.taken += 1;
        self.take(id);
        Some(id)
    }

    /// A sole request begins a batch of its own, whatever its age, and leaves no sweep to go on with.
    #[inline]
    fn pass(&mut self, _now: Nanos, request: &Request) -> bool {
        if self.waiting() != 0 {
            return false;
        }
        if request.direction == Direction::Write {
            self.batches.starved = 0;
        }
        self.batches.taken = 1;
        self.next = [None; 2];
        self.last_end = request.end();
        true
    }

    fn dispatch_forced(&mut self, now: Nanos, id: RequestId) {
        if self.moved.iter(&self.links).any(|moved| moved == id) {
            self.moved.remove(&mut self.links, id);
            return;
        }
        // The batch goes on if the policy was about to continue one in this direction; otherwise it begins here.
        let direction = self.slot(id).direction as usize;
        let continues = self
            .continuation()
            .is_some_and(|own| self.slot(own).direction as usize == direction);
        if !continues {
            let writes = !self.fifo[WRITE].is_empty();
            self.batches.begin_forced(direction, writes);
        }
        let _ = now;
        self.batches.taken += 1;
        self.take(id);
    }

    #[inline]
    fn complete(&mut self, _now: Nanos, _request: &Request) {}

    #[inline]
    fn waiting(&self) -> usize {
        self.fifo[READ].len() + self.fifo[WRITE].len() + self.moved.len()
    }

    fn may_merge(&self, request: &Request, _bio: &Request) -> bool {
        // What stands on the dispatch list is out of the scheduler's hands.
        self.moved.is_empty()
            || !self
                .moved
                .iter(&self.links)
                .any(|moved| moved == request.id)
    }

    fn neighbour_after(&self, id: RequestId) -> Option<RequestId> {
        let slot = self.slot(id);
        self.sorted[slot.direction as usize].after(slot.start, id)
    }

    fn neighbour_before(&self, id: RequestId) -> Option<RequestId> {
        let slot = self.slot(id);
        self.sorted[slot.direction as usize].before(slot.start, id)
    }

    fn front_merge_candidate(&self, bio: &Request) -> Option<RequestId> {
        if !self.front_merges {
            return None;
        }
        self.sorted[index(bio.direction)].starting_at(bio.end())
    }

    fn grown(&mut self, _now: Nanos, id: RequestId, start: Lba, sectors: Sectors) {
        let before = self.slot(id);
        let direction = before.direction as usize;
        if start == before.start {
            self.slots[id.0 as usize].sectors = sectors;
            return;
        }
        // A front merge moves it in sector order; a sweep that was to take it next still is.
        self.sorted[direction].remove(before.start, id);
        let slot = &mut self.slots[id.0 as usize];
        (slot.start, slot.sectors) = (start, sectors);
        self.sort_in(id);
    }

    fn joined(&mut self, _now: Nanos, kept: RequestId, gone: RequestId) {
        let (slot, lost) = (self.slot(kept), self.slot(gone));
        let direction = lost.direction as usize;
        let behind = self.sorted[direction].remove_and_next(lost.start, gone);
        if self.next[direction] == Some(gone) {
            self.next[direction] = behind;
        }
        if self.kernel.jiffies(lost.since) < self.kernel.jiffies(slot.since) {
            self.slots[kept.0 as usize].since = lost.since;
            self.fifo[direction].replace(&mut self.links, gone, kept);
        } else {
            self.fifo[direction].remove(&mut self.links, gone);
        }
    }

    fn describe(&self, now: Nanos, out: &mut String) {
        for (direction, name) in [(READ, "reads"), (WRITE, "writes")] {
            let next = words(self.next[direction]);
            *out += &format!(
                "{name}: next in the sweep {next}; oldest first: {}; oldest expired: {}\n",
                self.fifo[direction].words(&self.links),
                if self.expired(now, direction) {
                    "yes"
                } else {
                    "no"
                },
            );
        }
        *out += &format!(
            "batch: {} of {} taken; reads preferred {} times while writes waited; last request ended at {}\n",
            self.batches.taken, self.batches.fifo_batch, self.batches.starved, self.last_end.0
        );
    }
}
