//! Kyber: tokens per kind of request, as many as latency targets allow.
//!
//!   reads   ─ queue ─┐ 256 tokens, 16 in a row        a token is held from dispatch to completion
//!   writes  ─ queue ─┘ 128 tokens,  8 in a row
//!                       ▲
//!   100 ms after a completion: too slow → every kind gets tokens in proportion to how far it misses its own target
//!
//! Modelled:      software queues, turns, tokens, both latency histograms, the timer and its quirk (the two histograms of a
//!                kind share one time-out, so that the total one counts only once it has 500 samples), the tag limit, and that a queue
//!                without tokens is woken once per batch of freed ones (Linux 5.10 to 6.12 lib/sbitmap.c). Several hardware queues share
//!                the tokens; each has lists and turns of its own (struct kyber_hctx_data).
//! Not modelled:  discards and other requests (they have tokens of their own).
//! Source:        behaviour of Linux 5.10 to 6.12 block/kyber-iosched.c.

use crate::about::{About, Chart, MergeRule, Module};
use crate::fifo::{Fifo, Links};
use crate::kernel::Kernel;
use crate::parameter::{since, Parameter, Setup, TunableUnit, ALWAYS};
use crate::request::{Direction, ProcessId, Request, RequestId};
use crate::scheduler::Scheduler;
use crate::tag_words::{Asking, TagWords};
use seekwise_units::{Lba, Nanos, Sectors};

/// Row of the registry.
pub const ABOUT: About = About {
    name: "kyber",
    kernels: since(4, 12, 0),
    parameters: PARAMETERS,
    summary: "tokens for reads and writes, adjusted to latency targets",
    // No published figure: mq-deadline's is taken.
    cost_ns: 700,
    merge_rule: MergeRule::Recent,
    module: Some(Module::Loaded("kyber-iosched")),
    // Linux v6.12 block/kyber-iosched.c.
    reset_to: &[
        ("read_lat_nsec", &["2000000"]),
        ("write_lat_nsec", &["10000000"]),
    ],
    chart: Chart {
        colour: "#009E73",
        dash: &[8, 2, 2, 2],
        marker: "diamond",
    },
    required_per_mille: 995,
    // Linux v6.12 Documentation/block/kyber-iosched.rst.
    trials: &[
        ("read_lat_nsec", &[500_000, 8_000_000]),
        ("write_lat_nsec", &[2_000_000, 50_000_000]),
    ],
    // It moves its depths every 100 ms, and only when latencies miss their targets (block/kyber-iosched.c).
    settles_at_once: true,
};

/// A minute: no device is that slow on purpose.
const LATENCY_MAX_NS: u64 = 60_000_000_000;

/// Defaults: Linux 5.10 to 6.12 block/kyber-iosched.c, kyber_latency_targets.
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "read_lat_nsec",
        unit: TunableUnit::Nanos,
        default: |_| 2_000_000,
        min: 0,
        max: LATENCY_MAX_NS,
        kernels: ALWAYS,
        meaning: "latency that reads should keep",
    },
    Parameter {
        name: "write_lat_nsec",
        unit: TunableUnit::Nanos,
        default: |_| 10_000_000,
        min: 0,
        max: LATENCY_MAX_NS,
        kernels: ALWAYS,
        meaning: "latency that writes should keep",
    },
];

const DOMAINS: usize = 2;
const NAMES: [&str; DOMAINS] = ["reads", "writes"];
/// Linux 6.1 block/kyber-iosched.c: kyber_depth.
const TOKENS: [u32; DOMAINS] = [256, 128];
/// Linux 6.1 block/kyber-iosched.c: kyber_batch_size.
const BATCH: [u32; DOMAINS] = [16, 8];
/// Asynchronous requests may hold three quarters of the scheduler's tags. Linux 6.1: KYBER_ASYNC_PERCENT.
const ASYNC_PERCENT: u64 = 75;
/// Linux 6.1 block/blk-merge.c: blk_bio_list_merge looks at the eight newest.
const MERGE_NEWEST: usize = 8;

/// Buckets are a quarter of the target wide; the first four are within it. Linux 6.1: KYBER_LATENCY_BUCKETS, KYBER_GOOD_BUCKETS.
const BUCKETS: usize = 8;
const GOOD_BUCKETS: usize = 4;
/// A percentile is taken from this many samples on, or after a second.
const SAMPLES_ENOUGH: u32 = 500;

#[derive(Clone, Copy, Debug, Default)]
struct Histogram([u32; BUCKETS]);

impl Histogram {
    /// The bucket in which the given percentile lies.
    fn percentile(&self, percent: u32) -> usize {
        let samples: u32 = self.0.iter().sum();
        let mut rest = (samples as u64 * percent as u64).div_ceil(100) as u32;
        for (bucket, count) in self.0[..BUCKETS - 1].iter().enumerate() {
            if *count >= rest {
                return bucket;
            }
            rest -= count;
        }
        BUCKETS - 1
    }
}

/// Places of a token map at which a queue may wait, and the most tokens that are freed before it is woken. Linux 5.10 to 6.12
/// include/linux/sbitmap.h: SBQ_WAIT_QUEUES, SBQ_WAKE_BATCH.
const WAIT_PLACES: usize = 8;
const WAKE_BATCH_MAX: u32 = 8;

/// When queues that wait for a token of one kind are woken. A queue waits once, however many requests it has.
#[derive(Clone, Debug)]
struct Wake {
    /// Up to 6.1 each place counts for itself; from 6.2 on there is one count.
    freed: [u32; WAIT_PLACES],
    places: usize,
    batch: u32,
    /// The place at which the search for a waiting queue begins.
    next: usize,
}

impl Wake {
    fn batch_of(tokens: u32) -> u32 {
        (tokens / WAIT_PLACES as u32).clamp(1, WAKE_BATCH_MAX)
    }

    fn new(kernel: &Kernel, tokens: u32) -> Self {
        let one_count = kernel.at_least(6, 2, 0);
        Self {
            freed: [0; WAIT_PLACES],
            places: if one_count { 1 } else { WAIT_PLACES },
            batch: Self::batch_of(tokens),
            next: 0,
        }
    }

    /// A token was freed; queues wait at the marked places. Returns the place that is woken, with every queue that waits there (Linux 5.10 to
    /// 6.12 lib/sbitmap.c: sbitmap_add_wait_queue). From 6.2 on a wake-up goes on to the next place until a queue takes the token for itself alone;
    /// kyber's queues never do, so all places are woken.
    #[inline]
    fn freed(&mut self, waited_at: u32) -> Option<usize> {
        let place = (0..self.places)
            .map(|ahead| (self.next + ahead) % self.places)
            .find(|place| waited_at >> place & 1 == 1)?;
        let count = &mut self.freed[place];
        *count += 1;
        if *count < self.batch {
            return None;
        }
        *count -= self.batch;
        self.next = (place + 1) % self.places;
        Some(place)
    }

    /// There are so many tokens now. Up to 6.1 another batch makes each place wake at the next freed token.
    fn resize(&mut self, tokens: u32) {
        let batch = Self::batch_of(tokens);
        if batch != self.batch && self.places > 1 {
            self.freed = [batch - 1; WAIT_PLACES];
        }
        self.batch = batch;
    }
}

/// Requests of a kind in a hardware queue.
#[derive(Clone, Debug)]
struct Lists {
    /// One list per CPU, still open to merges.
    software: Vec<Fifo>,
    /// Taken from the software queues together; leaves first.
    flushed: Fifo,
    flushes: u32,
    /// Where it waits for a token next, and whether it waits at the place before.
    place: usize,
    waits: bool,
}

impl Lists {
    fn new(software: usize) -> Self {
        Self {
            software: vec![Fifo::default(); software],
            flushed: Fifo::default(),
            flushes: 0,
            place: 0,
            waits: false,
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.flushed.is_empty() && self.software.iter().all(Fifo::is_empty)
    }

    /// The place, of so many, where it waits.
    #[inline]
    fn waits_at(&self, places: usize) -> Option<usize> {
        self.waits.then(|| (self.place + places - 1) % places)
    }
}

/// A hardware queue, with turns of its own.
#[derive(Clone, Debug)]
struct HardwareQueue {
    lists: [Lists; DOMAINS],
    current: usize,
    batching: u32,
    /// It waited for a token, and is to run.
    woken: bool,
}

impl HardwareQueue {
    fn new(software: usize) -> Self {
        Self {
            lists: [Lists::new(software), Lists::new(software)],
            current: 0,
            batching: 0,
            woken: false,
        }
    }
}

/// A kind of request.
#[derive(Clone, Debug)]
struct Domain {
    target: Nanos,
    tokens: u32,
    tokens_used: u32,
    wake: Wake,
    /// Since allocation.
    total: Histogram,
    /// Since issue.
    io: Histogram,
    /// Tick at which few samples are enough.
    timeout: Option<u64>,
    /// Last percentile of the total latency, for use at the next congestion.
    remembered: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    issued: Nanos,
    domain: u8,
    hardware: u16,
    /// Software queue.
    queue: u16,
    /// How many flushes its list had seen: one more, and it is flushed too.
    flushes: u32,
    holds_token: bool,
}

#[derive(Clone, Debug)]
pub struct Kyber {
    kernel: Kernel,
    domains: [Domain; DOMAINS],
    links: Links,
    slots: Vec<Slot>,
    waiting: usize,
    /// A batch of tokens was freed while the queue waited for one.
    queue_kick: bool,
    queues: Vec<HardwareQueue>,
    /// The hardware queue that inserts and dispatches.
    turn: usize,
    /// Tick at which the timer fires.
    timer: Option<u64>,
    /// Scheduler tags from which the limit on asynchronous requests is reckoned, where they may be others than the queue has.
    limit_of: Option<u32>,
}

/// Requests of a queue that nobody has set: twice the host's tags. Linux 5.10 to 6.12: blk_mq_init_sched, BLKDEV_DEFAULT_RQ.
const TAGS_PER_HOST_TAG: u32 = 2;
const HOST_TAGS_COUNTED: u32 = 128;

fn depth_of_asynchronous(words: TagWords) -> u32 {
    ((u64::from(words.all()) * ASYNC_PERCENT / 100) as u32).max(1)
}

#[inline]
fn index(direction: Direction) -> usize {
    match direction {
        Direction::Read => 0,
        Direction::Write => 1,
    }
}

impl Kyber {
    /// An empty scheduler with one software queue.
    pub fn new(setup: &Setup) -> Self {
        Self::with_software_queues(setup, 1)
    }

    /// One software queue per CPU; a process submits from the CPU of its number, modulo their count.
    pub fn with_software_queues(setup: &Setup, count: usize) -> Self {
        let domain = |index: usize, name| Domain {
            target: Nanos(setup.get(PARAMETERS, name)),
            tokens: TOKENS[index],
            tokens_used: 0,
            wake: Wake::new(&setup.kernel, TOKENS[index]),
            total: Histogram::default(),
            io: Histogram::default(),
            timeout: None,
            remembered: None,
        };
        // Before 5.12 kyber never hears that nr_requests was set after it was chosen.
        let chosen_with = TAGS_PER_HOST_TAG * setup.host_tags.min(HOST_TAGS_COUNTED);
        Self {
            kernel: setup.kernel,
            limit_of: (!setup.kernel.at_least(5, 12, 0)).then_some(chosen_with),
            domains: [domain(0, "read_lat_nsec"), domain(1, "write_lat_nsec")],
            links: Links::default(),
            slots: Vec::new(),
            waiting: 0,
            queue_kick: false,
            queues: vec![HardwareQueue::new(count.max(1))],
            turn: 0,
            timer: None,
        }
    }

    #[inline]
    fn queue(&self, process: ProcessId) -> usize {
        match self.queues[0].lists[0].software.len() {
            1 => 0,
            count => process.0 as usize % count,
        }
    }

    fn lists(&self, slot: Slot) -> &Lists {
        &self.queues[slot.hardware as usize].lists[slot.domain as usize]
    }

    /// The oldest of the current domain, if there is one and a token for it.
    #[inline]
    fn pull(&mut self) -> Option<RequestId> {
        let queue = &mut self.queues[self.turn];
        let domain = &self.domains[queue.current];
        let lists = &mut queue.lists[queue.current];
        if domain.tokens_used >= domain.tokens {
            if !lists.is_empty() && !lists.waits {
                lists.waits = true;
                lists.place = (lists.place + 1) % domain.wake.places;
            }
            return None;
        }
        if lists.flushed.is_empty() {
            lists.flushes = lists.flushes.wrapping_add(1);
            if let [only] = lists.software.as_mut_slice() {
                core::mem::swap(only, &mut lists.flushed);
            } else {
                for queue in &mut lists.software {
                    while let Some(id) = queue.pop_front(&mut self.links) {
                        lists.flushed.push_back(&mut self.links, id);
                    }
                }
            }
        }
        let id = lists.flushed.pop_front(&mut self.links)?;
        self.hand_out(id);
        Some(id)
    }

    #[inline]
    fn hand_out(&mut self, id: RequestId) {
        let slot = &mut self.slots[id.0 as usize];
        slot.holds_token = true;
        self.domains[slot.domain as usize].tokens_used += 1;
        let queue = &mut self.queues[slot.hardware as usize];
        // Who gets a token does not wait for one.
        queue.lists[slot.domain as usize].waits = false;
        queue.batching += 1;
        self.waiting -= 1;
    }

    /// A token of a kind was freed: the queues that are to run.
    #[inline]
    fn freed(&mut self, kind: usize) {
        let wake = &mut self.domains[kind].wake;
        let places = wake.places;
        let waited_at = self.queues.iter().fold(0, |marked, queue| {
            let place = queue.lists[kind].waits_at(places);
            place.map_or(marked, |place| marked | 1 << place)
        });
        let Some(place) = wake.freed(waited_at) else {
            return;
        };
        for queue in &mut self.queues {
            if queue.lists[kind].waits_at(places) == Some(place) {
                queue.lists[kind].waits = false;
                queue.woken = true;
            }
        }
        self.queue_kick = true;
    }

    /// Is it still on its software queue, where merges reach it?
    fn is_open(&self, id: RequestId) -> bool {
        let slot = self.slots[id.0 as usize];
        slot.flushes == self.lists(slot).flushes
    }

    fn remove(&mut self, id: RequestId) {
        let open = self.is_open(id);
        let slot = self.slots[id.0 as usize];
        let lists = &mut self.queues[slot.hardware as usize].lists[slot.domain as usize];
        let list = if open {
            &mut lists.software[slot.queue as usize]
        } else {
            &mut lists.flushed
        };
        list.remove(&mut self.links, id);
    }

    /// The percentile of a histogram, which it empties; none while there are too few samples too soon.
    fn take_percentile(
        histogram: &mut Histogram,
        timeout: &mut Option<u64>,
        jiffies: u64,
        hz: u64,
        percent: u32,
    ) -> Option<usize> {
        let samples: u32 = histogram.0.iter().sum();
        if samples == 0 {
            return None;
        }
        let due = *timeout.get_or_insert((jiffies + hz).max(1));
        if samples < SAMPLES_ENOUGH && jiffies < due {
            return None;
        }
        *timeout = None;
        let bucket = histogram.percentile(percent);
        *histogram = Histogram::default();
        Some(bucket)
    }

    fn adjust(&mut self, jiffies: u64) {
        let hz = self.kernel.hz as u64;
        let mut congested = false;
        for domain in &mut self.domains {
            let slow = Self::take_percentile(&mut domain.io, &mut domain.timeout, jiffies, hz, 90);
            congested |= slow.is_some_and(|bucket| bucket >= GOOD_BUCKETS);
        }
        for (domain, most) in self.domains.iter_mut().zip(TOKENS) {
            let now =
                Self::take_percentile(&mut domain.total, &mut domain.timeout, jiffies, hz, 99);
            let bucket = if congested {
                now.or(domain.remembered.take())
            } else {
                if now.is_some() {
                    domain.remembered = now;
                }
                now
            };
            if congested {
                domain.remembered = None;
            }
            if let Some(bucket) = bucket {
                if congested || bucket >= GOOD_BUCKETS {
                    domain.tokens = (domain.tokens * (bucket as u32 + 1) / 4).clamp(1, most);
                    domain.wake.resize(domain.tokens);
                }
            }
        }
    }
}

fn count_sample(histogram: &mut Histogram, target: Nanos, latency: Nanos) {
    let width = (target.0 / 4).max(1);
    let bucket = (latency.0.saturating_sub(1) / width).min(BUCKETS as u64 - 1);
    histogram.0[bucket as usize] += 1;
}

impl Scheduler for Kyber {
    #[inline]
    fn insert(&mut self, _now: Nanos, request: &Request) {
        let slot = request.id.0 as usize;
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, Slot::default());
        }
        let (domain, queue) = (index(request.direction), self.queue(request.process));
        let lists = &mut self.queues[self.turn].lists[domain];
        self.slots[slot] = Slot {
            issued: Nanos::NEVER,
            domain: domain as u8,
            hardware: self.turn as u16,
            queue: queue as u16,
            flushes: lists.flushes,
            holds_token: false,
        };
        lists.software[queue].push_back(&mut self.links, request.id);
        self.waiting += 1;
    }

    #[inline]
    fn dispatch(&mut self, _now: Nanos) -> Option<RequestId> {
        if self.waiting == 0 {
            // blk-mq does not ask a policy that has no work.
            return None;
        }
        let queue = &self.queues[self.turn];
        if queue.batching < BATCH[queue.current] {
            if let Some(id) = self.pull() {
                return Some(id);
            }
        }
        self.queues[self.turn].batching = 0;
        for _ in 0..DOMAINS {
            let current = &mut self.queues[self.turn].current;
            *current = (*current + 1) % DOMAINS;
            if let Some(id) = self.pull() {
                return Some(id);
            }
        }
        None
    }

    fn dispatch_forced(&mut self, _now: Nanos, id: RequestId) {
        let slot = self.slots[id.0 as usize];
        let domain = slot.domain as usize;
        let queue = &mut self.queues[slot.hardware as usize];
        if domain != queue.current || queue.batching >= BATCH[domain] {
            queue.batching = 0;
        }
        queue.current = domain;
        self.remove(id);
        self.hand_out(id);
    }

    #[inline]
    fn issued(&mut self, now: Nanos, id: RequestId) {
        self.slots[id.0 as usize].issued = now;
    }

    #[inline]
    fn complete(&mut self, now: Nanos, request: &Request) {
        let slot = &mut self.slots[request.id.0 as usize];
        let held = core::mem::take(&mut slot.holds_token);
        let slot = *slot;
        if held {
            self.domains[slot.domain as usize].tokens_used -= 1;
            self.freed(slot.domain as usize);
        }
        let domain = &mut self.domains[slot.domain as usize];
        count_sample(
            &mut domain.total,
            domain.target,
            now.saturating_sub(request.allocated),
        );
        if slot.issued != Nanos::NEVER {
            count_sample(
                &mut domain.io,
                domain.target,
                now.saturating_sub(slot.issued),
            );
        }
        // HZ/10 after this completion, unless the timer runs already.
        if self.timer.is_none() {
            self.timer = Some(self.kernel.jiffies(now) + self.kernel.hz as u64 / 10);
        }
    }

    #[inline]
    fn take_queue_kick(&mut self) -> bool {
        core::mem::take(&mut self.queue_kick)
    }

    fn open_queues(&mut self, hardware: usize) {
        let software = self.queues[0].lists[0].software.len();
        self.queues = vec![HardwareQueue::new(software); hardware.max(1)];
    }

    #[inline]
    fn turn_to(&mut self, queue: usize) {
        self.turn = queue;
    }

    #[inline]
    fn take_woken(&mut self, queue: usize) -> bool {
        core::mem::take(&mut self.queues[queue].woken)
    }

    fn waiting(&self) -> usize {
        self.waiting
    }

    fn timer(&self) -> Option<Nanos> {
        self.timer.map(|tick| self.kernel.tick_start(tick))
    }

    fn fire(&mut self, now: Nanos) -> bool {
        let jiffies = self.kernel.jiffies(now);
        if self.timer.is_some_and(|tick| tick <= jiffies) {
            self.timer = None;
            self.adjust(jiffies);
        }
        // More tokens show at the next run of the queue; the timer runs none.
        false
    }

    fn may_merge(&self, request: &Request, bio: &Request) -> bool {
        let slot = self.slots[request.id.0 as usize];
        if slot.queue as usize != self.queue(bio.process) || !self.is_open(request.id) {
            return false;
        }
        let list = &self.lists(slot).software[slot.queue as usize];
        let mut at = request.id;
        for _ in 0..MERGE_NEWEST {
            match list.after(&self.links, at) {
                Some(newer) => at = newer,
                None => return true,
            }
        }
        false
    }

    fn grown(&mut self, _now: Nanos, _id: RequestId, _start: Lba, _sectors: Sectors) {}

    fn joined(&mut self, _now: Nanos, _kept: RequestId, gone: RequestId) {
        self.remove(gone);
        self.waiting -= 1;
    }

    fn tag_depth(&self, asking: Asking, words: TagWords) -> Option<u32> {
        let counted = match self.limit_of {
            Some(tags) => TagWords::of(&self.kernel, tags),
            None => words,
        };
        (!asking.sync).then(|| depth_of_asynchronous(counted))
    }

    fn tag_depth_min(&self, words: TagWords) -> Option<u32> {
        // A map made after kyber was chosen wakes as though nobody were limited.
        Some(match self.limit_of {
            Some(tags) if tags != words.tags => words.all(),
            _ => depth_of_asynchronous(words),
        })
    }

    fn describe(&self, _now: Nanos, out: &mut String) {
        let ids = |list: &Fifo| list.words(&self.links);
        for (kind, name) in NAMES.iter().enumerate() {
            let domain = &self.domains[kind];
            *out += &format!(
                "{name}: {} of {} tokens in use\n  latency since allocation {:?}, since issue {:?}\n",
                domain.tokens_used, domain.tokens, domain.total.0, domain.io.0,
            );
        }
        for queue in &self.queues {
            for (lists, name) in queue.lists.iter().zip(NAMES) {
                *out += &format!(
                    "{name}: flushed: {}; software queues: {}\n",
                    ids(&lists.flushed),
                    lists
                        .software
                        .iter()
                        .map(ids)
                        .collect::<Vec<_>>()
                        .join(" | "),
                );
            }
            *out += &format!(
                "batch of {}: {} of {} taken\n",
                NAMES[queue.current], queue.batching, BATCH[queue.current]
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{read, setup, write};

    fn drain(kyber: &mut Kyber) -> Vec<u32> {
        core::iter::from_fn(|| kyber.dispatch(Nanos(0)))
            .map(|id| id.0)
            .collect()
    }

    /// Reads that take `latency`, one after the other, from `from` on.
    fn serve(kyber: &mut Kyber, count: u32, from: Nanos, latency: Nanos) {
        for _ in 0..count {
            let request = Request {
                allocated: from,
                ..read(0, 0)
            };
            kyber.insert(from, &request);
            assert_eq!(kyber.dispatch(from), Some(RequestId(0)));
            kyber.issued(from, RequestId(0));
            kyber.complete(from + latency, &request);
        }
    }

    #[test]
    fn sixteen_reads_then_eight_writes() {
        let mut kyber = Kyber::new(&setup("6.1"));
        for id in 0..40 {
            kyber.insert(Nanos(0), &read(id, 0));
            kyber.insert(Nanos(0), &write(100 + id, 0));
        }
        let order = drain(&mut kyber);
        assert_eq!(order[..16], (0..16).collect::<Vec<_>>());
        assert_eq!(order[16..24], (100..108).collect::<Vec<_>>());
        assert_eq!(order[24], 16);
        assert_eq!(order.len(), 80);
    }

    #[test]
    fn a_request_inserted_after_the_flush_waits_behind_the_flushed_ones() {
        let mut kyber = Kyber::with_software_queues(&setup("6.1"), 2);
        let from = |process, id| Request {
            process: ProcessId(process),
            ..read(id, 0)
        };
        kyber.insert(Nanos(0), &from(1, 0));
        kyber.insert(Nanos(0), &from(1, 1));
        kyber.insert(Nanos(0), &from(0, 2));
        assert_eq!(kyber.dispatch(Nanos(0)), Some(RequestId(2)), "CPU 0 first");
        kyber.insert(Nanos(0), &from(0, 3));
        assert!(kyber.may_merge(&from(0, 3), &from(0, 9)));
        assert!(!kyber.may_merge(&from(1, 1), &from(1, 9)), "flushed");
        assert_eq!(drain(&mut kyber), [0, 1, 3]);
    }

    #[test]
    fn tokens_bound_what_is_in_the_driver() {
        let mut kyber = Kyber::new(&setup("6.1"));
        for id in 0..300 {
            kyber.insert(Nanos(0), &read(id, 0));
        }
        assert_eq!(drain(&mut kyber).len(), 256);
        assert_eq!(kyber.dispatch(Nanos(0)), None);
        kyber.complete(Nanos(1), &read(0, 0));
        assert_eq!(kyber.dispatch(Nanos(1)), Some(RequestId(256)));
    }

    /// Tokens that are given back until the queue, out of tokens, is to run again; several waits in a row.
    fn freed_until_woken(kyber: &mut Kyber) -> Vec<u32> {
        let mut next = 0;
        let mut freed = 0;
        let mut wait = |kyber: &mut Kyber| {
            for _ in 0..300 {
                kyber.insert(Nanos(0), &read(next, 0));
                next += 1;
            }
            let out = drain(kyber);
            assert!(kyber.dispatch(Nanos(0)).is_none());
            for (count, id) in out.into_iter().enumerate() {
                kyber.complete(Nanos(1), &read(id, 0));
                freed = count as u32 + 1;
                if kyber.take_queue_kick() {
                    break;
                }
            }
            freed
        };
        (0..3).map(|_| wait(kyber)).collect()
    }

    #[test]
    fn a_queue_without_tokens_is_woken_once_eight_are_free() {
        for kernel in ["6.1", "6.3"] {
            let mut kyber = Kyber::new(&setup(kernel));
            assert_eq!(freed_until_woken(&mut kyber), [8, 8, 8], "{kernel}");
        }
    }

    #[test]
    fn fewer_tokens_make_a_smaller_batch_and_old_kernels_wake_at_once() {
        for (kernel, expected) in [("6.1", [1, 1, 1]), ("6.3", [2, 2, 2])] {
            let mut kyber = Kyber::new(&setup(kernel));
            kyber.domains[0].tokens = 16;
            kyber.domains[0].wake.resize(16);
            assert_eq!(freed_until_woken(&mut kyber), expected, "{kernel}");
        }
    }

    #[test]
    fn nobody_is_woken_who_waits_for_another_kind_of_token() {
        let mut kyber = Kyber::new(&setup("6.3"));
        for id in 0..300 {
            kyber.insert(Nanos(0), &read(id, 0));
        }
        for id in 300..320 {
            kyber.insert(Nanos(0), &write(id, 0));
        }
        drain(&mut kyber);
        for id in 300..320 {
            kyber.complete(Nanos(1), &write(id, 0));
        }
        assert!(!kyber.take_queue_kick());
    }

    #[test]
    fn a_hardware_queue_with_one_request_does_not_wait_behind_another_with_many() {
        let mut kyber = Kyber::new(&setup("6.3"));
        kyber.open_queues(2);
        for id in 0..600 {
            kyber.insert(Nanos(0), &read(id, 0));
        }
        assert_eq!(drain(&mut kyber).len(), 256);
        kyber.turn_to(1);
        kyber.insert(Nanos(0), &read(600, 0));
        assert_eq!(kyber.dispatch(Nanos(0)), None, "all tokens are taken");
        for id in 0..8 {
            assert!(!kyber.take_queue_kick());
            kyber.complete(Nanos(1), &read(id, 0));
        }
        assert!(kyber.take_queue_kick());
        assert!(kyber.take_woken(0) && kyber.take_woken(1), "both waited");
        kyber.turn_to(1);
        assert_eq!(drain(&mut kyber), [600]);
        kyber.turn_to(0);
        assert_eq!(drain(&mut kyber), (256..263).collect::<Vec<_>>());
    }

    #[test]
    fn the_timer_fires_a_tenth_of_a_second_after_the_first_completion() {
        let mut kyber = Kyber::new(&setup("6.1"));
        serve(&mut kyber, 1, Nanos(0), Nanos::from_micros(300));
        serve(
            &mut kyber,
            1,
            Nanos::from_millis(50),
            Nanos::from_micros(300),
        );
        assert_eq!(kyber.timer(), Some(Nanos::from_millis(100)));
        kyber.fire(Nanos::from_millis(100));
        assert_eq!(kyber.timer(), None);
    }

    #[test]
    fn quick_reads_lose_tokens_only_while_something_else_is_slow() {
        let mut kyber = Kyber::new(&setup("6.1"));
        // Bucket 1 of a 2 ms target: 0.5 to 1 ms.
        serve(&mut kyber, 600, Nanos(0), Nanos::from_micros(800));
        kyber.fire(Nanos::from_millis(101));
        assert_eq!(
            kyber.domains[0].tokens, 256,
            "good, and nothing is congested"
        );
        let slow = Request {
            allocated: Nanos(0),
            ..write(1, 0)
        };
        for _ in 0..600 {
            kyber.insert(Nanos(0), &slow);
            kyber.dispatch(Nanos(0));
            kyber.issued(Nanos(0), slow.id);
            kyber.complete(Nanos::from_millis(30), &slow);
        }
        kyber.fire(Nanos::from_millis(300));
        // Reads: remembered bucket 1, so 256 * 2 / 4. Writes: bucket 7, so more, but no more than 128.
        assert_eq!(
            [kyber.domains[0].tokens, kyber.domains[1].tokens],
            [128, 128]
        );
        assert_eq!(kyber.domains[0].remembered, None, "used once");
    }

    #[test]
    fn few_samples_count_after_a_second() {
        let mut kyber = Kyber::new(&setup("6.1"));
        serve(&mut kyber, 20, Nanos(0), Nanos::from_micros(100));
        kyber.fire(Nanos::from_millis(100));
        assert_eq!(kyber.domains[0].io.0[0], 20, "kept");
        serve(
            &mut kyber,
            1,
            Nanos::from_millis(1_050),
            Nanos::from_micros(100),
        );
        kyber.fire(Nanos::from_millis(1_200));
        assert_eq!(kyber.domains[0].io.0[0], 0, "judged");
        assert_eq!(
            kyber.domains[0].total.0[0], 21,
            "the total waits anew: the time-out is shared"
        );
    }

    #[test]
    fn asynchronous_requests_hold_three_quarters_of_the_tags() {
        let kyber = Kyber::new(&setup("6.1"));
        let words = TagWords {
            tags: 256,
            word: 64,
            whole: false,
        };
        let depth = |sync| {
            let asking = Asking {
                process: ProcessId(1),
                sync,
                direction: Direction::Write,
            };
            kyber.tag_depth(asking, words)
        };
        assert_eq!(depth(false), Some(48));
        assert_eq!(depth(true), None);
    }
}
