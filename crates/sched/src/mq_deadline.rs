//! mq-deadline: deadline for the multi-queue block layer, since 5.14 once per I/O priority class.
//!
//!   real time   ┐
//!   best effort ├─ each: per direction sorted by sector and in order of arrival, and where its sweep stands
//!   idle        ┘
//!   shared: direction of the running batch, its length, how often reads were preferred
//!
//! Modelled:      three generations of the sweep (see [`MqDeadlineGeneration`]), priority classes and their ageing, expiry in ticks,
//!                the limit on asynchronous requests' tags, merges.
//! Not modelled:  zoned drives, requests inserted at the head.
//! Source:        behaviour of Linux 5.10, 6.1 and 6.12 block/mq-deadline.c.

use crate::about::{About, Chart, MergeRule, Module};
use crate::batching::{index, Batches, Expiry, READ, WRITE};
use crate::deadline::{
    EXPIRE_MAX_MS, FIFO_BATCH, FRONT_MERGES, READ_EXPIRE, WRITES_STARVED, WRITE_EXPIRE,
};
use crate::fifo::{Fifo, Links};
use crate::kernel::Kernel;
use crate::parameter::{since, Parameter, Setup, TunableUnit};
use crate::request::{words, PriorityClass, Request, RequestId};
use crate::scheduler::Scheduler;
use crate::sorted::Sorted;
use crate::tag_words::{Asking, TagWords};
use seekwise_units::{Lba, Nanos, Sectors};

/// Row of the registry.
pub const ABOUT: About = About {
    name: "mq-deadline",
    kernels: since(4, 11, 0),
    parameters: PARAMETERS,
    summary: "deadline for multi-queue, since 5.14 once per priority class",
    // Linux Documentation/block/bfq-iosched.rst (6.1), Intel i7-2760QM.
    cost_ns: 700,
    merge_rule: MergeRule::Hash,
    module: Some(Module::BuiltInByDebian("mq-deadline")),
    // Linux v6.12 block/mq-deadline.c.
    reset_to: &[
        ("read_expire", &["500"]),
        ("write_expire", &["5000"]),
        ("writes_starved", &["2"]),
        ("front_merges", &["1"]),
        ("fifo_batch", &["16"]),
        ("prio_aging_expire", &["10000"]),
    ],
    chart: Chart {
        colour: "#0072B2",
        dash: &[6, 2],
        marker: "square",
    },
    required_per_mille: 995,
    // Linux v6.12 Documentation/block/deadline-iosched.rst.
    trials: &[
        ("fifo_batch", &[1, 64]),
        ("read_expire", &[100, 2_000]),
        ("writes_starved", &[1, 8]),
    ],
    settles_at_once: true,
};

/// Those of the single-queue deadline and two more. Defaults: Linux 5.10 to 6.12 block/mq-deadline.c (nr_requests, 10*HZ).
pub const PARAMETERS: &[Parameter] = &[
    READ_EXPIRE,
    WRITE_EXPIRE,
    WRITES_STARVED,
    FIFO_BATCH,
    FRONT_MERGES,
    Parameter {
        name: "async_depth",
        unit: TunableUnit::Requests,
        default: |setup| setup.nr_requests as u64,
        min: 1,
        max: 1_000_000,
        kernels: since(5, 14, 0),
        meaning: "scheduler tags that writes may hold together",
    },
    Parameter {
        name: "prio_aging_expire",
        unit: TunableUnit::Millis,
        default: |setup| setup.kernel.millis_from_ticks(10 * setup.kernel.hz as u64),
        min: 0,
        max: EXPIRE_MAX_MS,
        kernels: since(5, 16, 0),
        meaning: "age at which a request of a lower class goes before a higher class",
    },
];

/// How the sweep goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MqDeadlineGeneration {
    /// Until 5.13, as the single-queue deadline: a taken request makes the other direction forget its place.
    Forgets,
    /// 5.14 to 6.4: each direction remembers the request behind the one it took last; what comes in between is passed over.
    Successor,
    /// 6.5 on: each direction remembers where it stands and takes the first request at or beyond.
    Position,
}

impl MqDeadlineGeneration {
    fn of(kernel: &Kernel) -> Self {
        if kernel.at_least(6, 5, 0) {
            Self::Position
        } else if kernel.at_least(5, 14, 0) {
            Self::Successor
        } else {
            Self::Forgets
        }
    }
}

const CLASSES: usize = 3;
const BEST_EFFORT: usize = 1;

/// What is known of a waiting request.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    start: Lba,
    sectors: Sectors,
    since: Nanos,
    direction: u8,
    class: u8,
}

/// Waiting requests of one priority class.
#[derive(Clone, Debug, Default)]
struct Class {
    sorted: [Sorted; 2],
    fifo: [Fifo; 2],
    /// [`MqDeadlineGeneration::Successor`] and [`MqDeadlineGeneration::Forgets`].
    next: [Option<RequestId>; 2],
    /// [`MqDeadlineGeneration::Position`]: start of the request taken last.
    position: [Lba; 2],
    /// Waiting or in the driver.
    unfinished: u32,
}

#[derive(Clone, Debug)]
pub struct MqDeadline {
    kernel: Kernel,
    generation: MqDeadlineGeneration,
    classes_matter: bool,
    expiry: Expiry,
    /// `None`: the kernel does not age lower classes.
    aging_ticks: Option<u64>,
    batches: Batches,
    front_merges: bool,
    async_depth: u64,

    slots: Vec<Slot>,
    links: Links,
    classes: [Class; CLASSES],
    waiting: usize,
    /// Direction of the running batch.
    direction: usize,
}

impl MqDeadline {
    /// An empty scheduler with the tunables of `setup`.
    pub fn new(setup: &Setup) -> Self {
        let kernel = setup.kernel;
        let get = |name| setup.get(PARAMETERS, name);
        Self {
            kernel,
            generation: MqDeadlineGeneration::of(&kernel),
            classes_matter: kernel.at_least(5, 14, 0),
            expiry: Expiry::new(setup, PARAMETERS, true),
            aging_ticks: kernel
                .at_least(5, 16, 0)
                .then(|| kernel.ticks_from_millis(get("prio_aging_expire"))),
            batches: Batches::new(setup, PARAMETERS),
            front_merges: get("front_merges") != 0,
            async_depth: get("async_depth"),
            slots: Vec::new(),
            links: Links::default(),
            classes: Default::default(),
            waiting: 0,
            direction: READ,
        }
    }

    #[inline]
    fn slot(&self, id: RequestId) -> Slot {
        self.slots[id.0 as usize]
    }

    #[inline]
    fn class_of(&self, request: &Request) -> usize {
        if !self.classes_matter {
            return BEST_EFFORT;
        }
        match request.priority.class {
            PriorityClass::RealTime => 0,
            PriorityClass::None | PriorityClass::BestEffort => BEST_EFFORT,
            PriorityClass::Idle => 2,
        }
    }

    /// Has the oldest request of a direction that has one expired?
    #[inline]
    fn expired(&self, now: Nanos, class: usize, direction: usize) -> bool {
        let Some(oldest) = self.classes[class].fifo[direction].head() else {
            return false;
        };
        let since = self.slot(oldest).since;
        self.expiry.has_expired(now, since, direction)
    }

    /// Where the sweep of `direction` goes on.
    #[inline]
    fn sweep(&self, class: usize, direction: usize) -> Option<RequestId> {
        let class = &self.classes[class];
        match self.generation {
            MqDeadlineGeneration::Position => {
                class.sorted[direction].at_or_after(class.position[direction])
            }
            _ => class.next[direction],
        }
    }

    /// The request that would continue the running batch.
    #[inline]
    fn continuation(&self, class: usize) -> Option<RequestId> {
        if self.batches.taken >= self.batches.fifo_batch {
            return None;
        }
        match self.generation {
            MqDeadlineGeneration::Forgets => {
                self.classes[class].next[WRITE].or(self.classes[class].next[READ])
            }
            _ => self.sweep(class, self.direction),
        }
    }

    /// Chooses within a class. `inserted_by`: a choice younger than this tick is not taken, but the batch that it would
    /// have begun has begun.
    #[inline]
    fn choose(&mut self, now: Nanos, class: usize, inserted_by: Option<u64>) -> Option<RequestId> {
        let id = match self.continuation(class) {
            Some(id) => id,
            None => self.begin_batch(now, class)?,
        };
        if inserted_by.is_some_and(|tick| self.kernel.jiffies(self.slot(id).since) > tick) {
            return None;
        }
        self.batches.taken += 1;
        Some(id)
    }

    /// Between batches: reads unless writes have been passed over often enough; then the oldest if it has expired or
    /// nothing lies ahead in the sweep.
    #[inline]
    fn begin_batch(&mut self, now: Nanos, class: usize) -> Option<RequestId> {
        let fifo = &self.classes[class].fifo;
        let [reads, writes] = [!fifo[READ].is_empty(), !fifo[WRITE].is_empty()];
        let direction = self.batches.direction(reads, writes)?;
        let oldest = self.classes[class].fifo[direction].head();
        let id = match self.sweep(class, direction) {
            Some(ahead) if !self.expired(now, class, direction) => Some(ahead),
            _ => oldest,
        };
        self.direction = direction;
        self.batches.taken = 0;
        id
    }

    /// Out of sector order and arrival order; the sweep stands here now.
    #[inline]
    fn take(&mut self, id: RequestId) {
        let Slot {
            start,
            direction,
            class,
            ..
        } = self.slot(id);
        let direction = direction as usize;
        let class = &mut self.classes[class as usize];
        let behind = class.sorted[direction].remove_and_next(start, id);
        class.fifo[direction].remove(&mut self.links, id);
        match self.generation {
            MqDeadlineGeneration::Position => class.position[direction] = start,
            MqDeadlineGeneration::Successor => class.next[direction] = behind,
            MqDeadlineGeneration::Forgets => {
                class.next[1 - direction] = None;
                class.next[direction] = behind;
            }
        }
        self.waiting -= 1;
    }

    /// Lower classes whose choice is older than prio_aging_expire go first, if more than one class has unfinished requests.
    fn choose_aged(&mut self, now: Nanos) -> Option<RequestId> {
        let tick = self.kernel.jiffies(now).checked_sub(self.aging_ticks?)?;
        if self
            .classes
            .iter()
            .filter(|class| class.unfinished > 0)
            .count()
            < 2
        {
            return None;
        }
        (BEST_EFFORT..CLASSES).find_map(|class| self.choose(now, class, Some(tick)))
    }

    /// A class waits while a higher one has anything unfinished, in the driver included.
    #[inline]
    fn choose_by_class(&mut self, now: Nanos) -> Option<RequestId> {
        for class in 0..CLASSES {
            let id = self.choose(now, class, None);
            if id.is_some() || self.classes[class].unfinished > 0 {
                return id;
            }
        }
        None
    }
}

impl Scheduler for MqDeadline {
    #[inline]
    fn insert(&mut self, now: Nanos, request: &Request) {
        let slot = request.id.0 as usize;
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, Slot::default());
        }
        let direction = index(request.direction);
        let class = self.class_of(request);
        self.slots[slot] = Slot {
            start: request.start,
            sectors: request.sectors,
            since: now,
            direction: direction as u8,
            class: class as u8,
        };
        let class = &mut self.classes[class];
        class.sorted[direction].insert(request.start, request.id);
        class.fifo[direction].push_back(&mut self.links, request.id);
        class.unfinished += 1;
        self.waiting += 1;
    }

    #[inline]
    fn dispatch(&mut self, now: Nanos) -> Option<RequestId> {
        if self.waiting == 0 {
            return None;
        }
        let only_best_effort = self.classes[0].unfinished == 0 && self.classes[2].unfinished == 0;
        let id = if only_best_effort {
            self.choose(now, BEST_EFFORT, None)?
        } else {
            match self.choose_aged(now) {
                Some(id) => id,
                None => self.choose_by_class(now)?,
            }
        };
        self.take(id);
        Some(id)
    }

    fn dispatch_forced(&mut self, _now: Nanos, id: RequestId) {
        let Slot {
            direction, class, ..
        } = self.slot(id);
        let (direction, class) = (direction as usize, class as usize);
        // The batch goes on if it could in this direction; otherwise one begins here.
        let continues = self
            .continuation(class)
            .is_some_and(|own| self.slot(own).direction as usize == direction);
        if !continues {
            self.direction = direction;
            let writes = !self.classes[class].fifo[WRITE].is_empty();
            self.batches.begin_forced(direction, writes);
        }
        self.batches.taken += 1;
        self.take(id);
    }

    #[inline]
    fn complete(&mut self, _now: Nanos, request: &Request) {
        let class = self.class_of(request);
        self.classes[class].unfinished = self.classes[class].unfinished.saturating_sub(1);
    }

    #[inline]
    fn waiting(&self) -> usize {
        self.waiting
    }

    fn may_merge(&self, request: &Request, bio: &Request) -> bool {
        self.class_of(request) == self.class_of(bio)
    }

    fn neighbour_after(&self, id: RequestId) -> Option<RequestId> {
        let slot = self.slot(id);
        self.classes[slot.class as usize].sorted[slot.direction as usize].after(slot.start, id)
    }

    fn neighbour_before(&self, id: RequestId) -> Option<RequestId> {
        let slot = self.slot(id);
        self.classes[slot.class as usize].sorted[slot.direction as usize].before(slot.start, id)
    }

    fn front_merge_candidate(&self, bio: &Request) -> Option<RequestId> {
        if !self.front_merges {
            return None;
        }
        self.classes[self.class_of(bio)].sorted[index(bio.direction)].starting_at(bio.end())
    }

    fn grown(&mut self, _now: Nanos, id: RequestId, start: Lba, sectors: Sectors) {
        let before = self.slot(id);
        if start != before.start {
            // A front merge moves it in sector order; a sweep that pointed at it still does.
            let sorted = &mut self.classes[before.class as usize].sorted[before.direction as usize];
            sorted.remove(before.start, id);
            sorted.insert(start, id);
        }
        let slot = &mut self.slots[id.0 as usize];
        (slot.start, slot.sectors) = (start, sectors);
    }

    fn joined(&mut self, _now: Nanos, kept: RequestId, gone: RequestId) {
        let (slot, lost) = (self.slot(kept), self.slot(gone));
        let direction = lost.direction as usize;
        let class = &mut self.classes[lost.class as usize];
        let behind = class.sorted[direction].remove_and_next(lost.start, gone);
        if class.next[direction] == Some(gone) {
            class.next[direction] = behind;
        }
        if self.kernel.jiffies(lost.since) < self.kernel.jiffies(slot.since)
            && slot.class == lost.class
        {
            self.slots[kept.0 as usize].since = lost.since;
            class.fifo[direction].replace(&mut self.links, gone, kept);
        } else {
            class.fifo[direction].remove(&mut self.links, gone);
        }
        class.unfinished = class.unfinished.saturating_sub(1);
        self.waiting -= 1;
    }

    fn tag_depth(&self, asking: Asking, words: TagWords) -> Option<u32> {
        if asking.is_sync_read() {
            return None;
        }
        self.tag_depth_min(words)
    }

    fn tag_depth_min(&self, words: TagWords) -> Option<u32> {
        let tags = u64::from(words.tags.max(1));
        if !self.classes_matter || self.async_depth >= tags {
            return None;
        }
        let depth = if !words.whole && self.kernel.at_least(6, 10, 0) {
            (self.async_depth * u64::from(words.word)).div_ceil(tags)
        } else {
            // Of the whole map; 5.14 to 6.9 take the number for one of bits in a word, which limits less than it says.
            self.async_depth
        };
        (depth < u64::from(words.all())).then_some(depth.max(1) as u32)
    }

    fn describe(&self, now: Nanos, out: &mut String) {
        for (name, class) in ["real time", "best effort", "idle"].iter().zip(0..) {
            if self.classes[class].unfinished == 0 {
                continue;
            }
            *out += &format!("{name}: {} unfinished\n", self.classes[class].unfinished);
            for (direction, what) in [(READ, "reads"), (WRITE, "writes")] {
                *out += &format!(
                    "  {what}: next in the sweep {}; oldest expired: {}; oldest first: {}\n",
                    words(self.sweep(class, direction)),
                    if self.expired(now, class, direction) {
                        "yes"
                    } else {
                        "no"
                    },
                    self.classes[class].fifo[direction].words(&self.links),
                );
            }
        }
        *out += &format!(
            "batch of {}: {} of {} taken; reads preferred {} times while writes waited\n",
            if self.direction == READ {
                "reads"
            } else {
                "writes"
            },
            self.batches.taken,
            self.batches.fifo_batch,
            self.batches.starved
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Direction;
    use crate::request::Priority;
    use crate::tests::{read, setup, write};

    fn new(kernel: &str) -> MqDeadline {
        MqDeadline::new(&setup(kernel))
    }

    fn drain(policy: &mut MqDeadline, now: Nanos) -> Vec<u32> {
        core::iter::from_fn(|| policy.dispatch(now))
            .map(|id| id.0)
            .collect()
    }

    fn in_class(class: PriorityClass, request: Request) -> Request {
        Request {
            priority: Priority { class, level: 4 },
            ..request
        }
    }

    #[test]
    fn a_request_between_the_last_and_its_remembered_successor_is_passed_over_in_6_1_and_taken_in_6_12(
    ) {
        for (kernel, order) in [("6.1", [2, 1, 3]), ("6.12", [2, 3, 1])] {
            let mut policy = new(kernel);
            policy.insert(Nanos(0), &read(0, 100));
            policy.insert(Nanos(0), &read(2, 300));
            assert_eq!(
                policy.dispatch(Nanos(0)),
                Some(RequestId(0)),
                "oldest: no sweep yet"
            );
            policy.insert(Nanos(0), &read(3, 900));
            assert_eq!(policy.dispatch(Nanos(0)), Some(RequestId(2)), "{kernel}");
            // Successor of 300 was 900 at that moment.
            policy.insert(Nanos(0), &read(1, 500));
            let rest = drain(&mut policy, Nanos(0));
            let expected: &[u32] = if kernel == "6.1" { &[3, 1] } else { &[1, 3] };
            assert_eq!(rest, expected, "{kernel} {order:?}");
        }
    }

    #[test]
    fn the_other_direction_keeps_its_place_from_5_14_on() {
        for (kernel, then) in [("5.10", 3), ("6.1", 1)] {
            let mut policy = MqDeadline::new(&{
                let mut setup = setup(kernel);
                setup
                    .values
                    .set(
                        "mq-deadline",
                        PARAMETERS,
                        &setup.kernel.clone(),
                        "fifo_batch",
                        1,
                    )
                    .unwrap();
                setup
                    .values
                    .set(
                        "mq-deadline",
                        PARAMETERS,
                        &setup.kernel.clone(),
                        "writes_starved",
                        0,
                    )
                    .unwrap();
                setup
            });
            policy.insert(Nanos(0), &read(0, 500));
            policy.insert(Nanos(0), &read(3, 100));
            policy.insert(Nanos(0), &read(1, 600));
            assert_eq!(policy.dispatch(Nanos(0)), Some(RequestId(0)));
            policy.insert(Nanos(0), &write(2, 50));
            assert_eq!(
                policy.dispatch(Nanos(0)),
                Some(RequestId(2)),
                "writes are never passed over"
            );
            assert_eq!(policy.dispatch(Nanos(0)), Some(RequestId(then)), "{kernel}");
        }
    }

    #[test]
    fn writes_wait_for_two_batches_of_reads() {
        let mut policy = new("6.1");
        for id in 0..40 {
            policy.insert(Nanos(0), &read(id, 1000 + 8 * id as u64));
        }
        policy.insert(Nanos(0), &write(99, 0));
        let order = drain(&mut policy, Nanos(0));
        assert_eq!(order.iter().position(|id| *id == 99), Some(32));
    }

    #[test]
    fn an_expired_read_is_taken_at_the_next_batch_only() {
        let mut policy = new("6.1");
        policy.insert(Nanos(0), &read(0, 5000));
        let late = Nanos::from_millis(500);
        for id in 1..20 {
            policy.insert(late, &read(id, 10_000 + 8 * id as u64));
        }
        policy.insert(Nanos(0), &read(50, 100));
        // 0 is the oldest and no sweep runs; then the batch runs on past the expired 50 until sixteen are taken.
        let order = drain(&mut policy, late);
        assert_eq!(order[0], 0);
        assert_eq!(
            order[16], 16,
            "the oldest in arrival order is 1, expired it is not"
        );
        assert_eq!(
            order.last(),
            Some(&50),
            "nothing lies ahead of the sweep: the oldest left"
        );
    }

    #[test]
    fn a_lower_class_waits_for_higher_ones_in_the_driver_too() {
        let mut policy = new("6.1");
        let high = in_class(PriorityClass::RealTime, read(0, 900));
        policy.insert(Nanos(0), &in_class(PriorityClass::Idle, read(1, 100)));
        policy.insert(Nanos(0), &read(2, 500));
        policy.insert(Nanos(0), &high);
        assert_eq!(policy.dispatch(Nanos(0)), Some(RequestId(0)));
        assert_eq!(
            policy.dispatch(Nanos(0)),
            None,
            "the real-time request has not completed"
        );
        policy.complete(Nanos(0), &high);
        assert_eq!(policy.dispatch(Nanos(0)), Some(RequestId(2)));
        policy.complete(Nanos(0), &read(2, 500));
        assert_eq!(policy.dispatch(Nanos(0)), Some(RequestId(1)));
    }

    #[test]
    fn a_lower_class_goes_first_once_it_has_aged() {
        let mut policy = new("6.1");
        policy.insert(Nanos(0), &in_class(PriorityClass::Idle, read(1, 100)));
        let before = Nanos::from_millis(9_999);
        policy.insert(before, &in_class(PriorityClass::RealTime, read(0, 900)));
        policy.insert(before, &in_class(PriorityClass::RealTime, read(2, 950)));
        assert_eq!(policy.dispatch(before), Some(RequestId(0)));
        assert_eq!(policy.dispatch(Nanos::from_secs(10)), Some(RequestId(1)));
    }

    #[test]
    fn without_an_age_a_lower_class_goes_first_and_holds_nobody_up_in_the_driver() {
        let mut setup = setup("6.1");
        let kernel = setup.kernel;
        let set = setup
            .values
            .set("mq-deadline", PARAMETERS, &kernel, "prio_aging_expire", 0);
        set.unwrap();
        let mut policy = MqDeadline::new(&setup);
        policy.insert(Nanos(0), &in_class(PriorityClass::RealTime, read(0, 100)));
        policy.insert(Nanos(0), &read(1, 900));
        assert_eq!(policy.dispatch(Nanos(0)), Some(RequestId(1)));
        // The best-effort request is in the driver: nothing of its class waits.
        assert_eq!(policy.dispatch(Nanos(0)), Some(RequestId(0)));
    }

    #[test]
    fn classes_mean_nothing_before_5_14() {
        let mut policy = new("5.10");
        policy.insert(Nanos(0), &in_class(PriorityClass::Idle, read(1, 100)));
        policy.insert(Nanos(0), &in_class(PriorityClass::RealTime, read(0, 900)));
        assert_eq!(drain(&mut policy, Nanos(0)), [1, 0]);
    }

    #[test]
    fn a_joined_request_brings_its_earlier_place() {
        let mut policy = new("6.1");
        policy.insert(Nanos(0), &read(0, 108));
        policy.insert(Nanos::from_millis(20), &read(1, 500));
        policy.insert(Nanos::from_millis(40), &read(2, 92));
        policy.grown(Nanos::from_millis(60), RequestId(2), Lba(92), Sectors(16));
        assert_eq!(policy.neighbour_after(RequestId(2)), Some(RequestId(0)));
        policy.joined(Nanos::from_millis(60), RequestId(2), RequestId(0));
        assert_eq!(drain(&mut policy, Nanos::from_millis(60)), [2, 1]);
    }

    #[test]
    fn async_depth_limits_writes_and_leaves_reads() {
        let mut setup = setup("6.1");
        setup
            .values
            .set(
                "mq-deadline",
                PARAMETERS,
                &setup.kernel.clone(),
                "async_depth",
                12,
            )
            .unwrap();
        let policy = MqDeadline::new(&setup);
        let depth = |sync, direction| {
            let asking = Asking {
                process: crate::ProcessId(1),
                sync,
                direction,
            };
            let words = TagWords {
                tags: 64,
                word: 16,
                whole: false,
            };
            policy.tag_depth(asking, words)
        };
        assert_eq!(depth(false, Direction::Write), Some(12));
        assert_eq!(depth(true, Direction::Write), Some(12));
        assert_eq!(depth(true, Direction::Read), None);
    }
}
