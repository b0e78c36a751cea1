//! anticipatory: a sync batch waits a moment for the next request of the process just served.
//!
//!   OFF ──held back──► AWAITS ITS COMPLETION ──completed──► AWAITS ITS NEXT (timer) ──timer or stop──► DONE ──moved──► OFF
//!
//! Two classes, sync and async, each with sector order, arrival order and a best next request. Batches alternate by time
//! and, for async, by a budget that adapts itself; a change of class drains the device first. In a sync batch nothing is
//! dispatched while the process just served may be about to send a request close by ("deceptive idleness").
//!
//! Modelled:      generations until 2.6.23, 2.6.24 and 2.6.32; time in ticks; statistics in the kernel's fixed point; the
//!                quirks that decide orders (drained change of class, front merges looked up in the wrong class).
//! Not modelled:  barriers, requests inserted at the head.
//! Source:        behaviour of Linux 2.6.23, 2.6.24 and 2.6.32 block/as-iosched.c.

mod choice;
mod history;
mod parameters;
mod waiting;

use crate::about::{About, Chart, MergeRule};
use crate::distance::{rank, Rank};
use crate::fifo::{Fifo, Links};
use crate::kernel::{Kernel, Version};
use crate::parameter::{between, Setup};
use crate::processes::Processes;
use crate::request::{words, Direction, ProcessId, Request, RequestId};
use crate::scheduler::Scheduler;
use crate::sorted::Sorted;
use history::{Crowd, Process};
pub use parameters::PARAMETERS;
use seekwise_units::{Lba, Nanos, Sectors};

/// Row of the registry.
pub const ABOUT: About = About {
    name: "anticipatory",
    kernels: between(Version(2, 6, 0), Version(2, 6, 33)),
    parameters: PARAMETERS,
    summary: "waits for the process just served, so that a reader is not torn away from its place",
    // No published figure: bfq's is taken (queues per process, timers).
    cost_ns: 1900,
    merge_rule: MergeRule::Hash,
    module: None,
    reset_to: &[],
    chart: Chart {
        colour: "#CC79A7",
        dash: &[4, 4],
        marker: "cross",
    },
    required_per_mille: 980,
    trials: &[],
    // It measures think times of each process.
    settles_at_once: false,
};

const ASYNC: usize = 0;
const SYNC: usize = 1;

/// How far behind the last position a request may lie and still be reached by going back (2.6.23 to 2.6.32: MAXBACK).
const BACK_SECTORS_MAX: u64 = 1024 * 1024;
/// Cost of going back, in terms of going forward (BACK_PENALTY).
const BACK_COST: u64 = 2;
/// Within this distance a request is close at once.
const CLOSE_SECTORS: u64 = 8192;

/// What is known of a waiting request.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    start: Lba,
    sectors: Sectors,
    /// Tick after which it has expired.
    expires: u64,
    class: u8,
    /// Index of its process.
    process: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    Off,
    /// For the completion of the request just dispatched; no timer.
    ItsCompletion,
    /// For the next request; the timer runs.
    ItsNext,
    /// Waited enough; nothing is waited for until a request is dispatched.
    Done,
}

#[derive(Clone, Debug)]
pub struct Anticipatory {
    kernel: Kernel,
    /// 2.6.24 on: an async batch begins at its oldest request rather than at the best next one.
    async_from_oldest: bool,
    /// After 2.6.24: a change of class that drained starts its clock then.
    drained_change_is_timed: bool,

    expire_ticks: [u64; 2],
    batch_ticks: [u64; 2],
    /// 0: never wait.
    antic_ticks: u64,

    slots: Vec<Slot>,
    links: Links,
    sorted: [Sorted; 2],
    fifo: [Fifo; 2],
    /// Best next request of each class.
    next: [Option<RequestId>; 2],
    /// End of the last request dispatched, by class.
    last_end: [Lba; 2],
    /// Handed out by the policy already (older request of an equal pair), not pulled yet.
    moved: Fifo,
    in_driver: u64,

    batch: usize,
    /// Tick; the policy was started long before the first request.
    batch_ends: i64,
    /// The class has changed and the device still drains.
    changing: bool,
    /// A sync batch whose clock starts with its first completion.
    untimed: bool,
    /// Requests that an async batch may take; adapts.
    async_budget: u64,
    async_left: u64,
    async_idled: bool,
    fifo_checked: [u64; 2],

    waiting_for: Waiting,
    /// The process served last, if its request was sync.
    awaited: Option<u32>,
    /// The awaited process's last request has completed, at the tick `since`.
    completed: bool,
    since: u64,
    timer: Option<u64>,
    queue_kick: bool,

    processes: Processes<Process>,
    crowd: Crowd,
}

impl Anticipatory {
    /// An empty scheduler in an async batch, which may already have run out: `setup.age` has passed.
    pub fn new(setup: &Setup) -> Self {
        let kernel = setup.kernel;
        let ticks = |name| kernel.ticks_from_millis(setup.get(PARAMETERS, name));
        let batch_ticks = [ticks("write_batch_expire"), ticks("read_batch_expire")];
        Self {
            kernel,
            async_from_oldest: kernel.at_least(2, 6, 24),
            // Seen in 2.6.32, absent from 2.6.24; the versions between were not looked at.
            drained_change_is_timed: kernel.at_least(2, 6, 25),
            expire_ticks: [ticks("write_expire"), ticks("read_expire")],
            batch_ticks,
            antic_ticks: ticks("antic_expire"),
            slots: Vec::new(),
            links: Links::default(),
            sorted: Default::default(),
            fifo: Default::default(),
            next: [None; 2],
            last_end: [Lba(0); 2],
            moved: Fifo::default(),
            in_driver: 0,
            batch: ASYNC,
            batch_ends: batch_ticks[SYNC] as i64 - kernel.jiffies(setup.age) as i64,
            changing: false,
            untimed: false,
            async_budget: (batch_ticks[ASYNC] / 10).max(2),
            async_left: 0,
            async_idled: false,
            fifo_checked: [0; 2],
            waiting_for: Waiting::Off,
            awaited: None,
            completed: false,
            since: 0,
            timer: None,
            queue_kick: false,
            processes: Processes::default(),
            crowd: Crowd::default(),
        }
    }

    #[inline]
    fn slot(&self, id: RequestId) -> &Slot {
        &self.slots[id.0 as usize]
    }

    /// Place of a request in its class's sweep, smaller first.
    fn rank(&self, class: usize, id: RequestId) -> Rank {
        rank(
            self.slot(id).start,
            self.last_end[class],
            BACK_SECTORS_MAX,
            BACK_COST,
        )
    }

    fn better(
        &self,
        class: usize,
        a: Option<RequestId>,
        b: Option<RequestId>,
    ) -> Option<RequestId> {
        match (a, b) {
            (Some(x), Some(y)) if self.rank(class, y) < self.rank(class, x) => b,
            (Some(_), _) => a,
            (None, _) => b,
        }
    }

    /// The best request to follow `id`, which still stands in sector order.
    fn following(&self, id: RequestId) -> Option<RequestId> {
        let &Slot { start, class, .. } = self.slot(id);
        let sorted = &self.sorted[class as usize];
        let ahead = sorted
            .after(start, id)
            .or_else(|| sorted.first().filter(|first| *first != id));
        self.better(class as usize, ahead, sorted.before(start, id))
    }

    /// Takes a request out of its class.
    fn remove(&mut self, id: RequestId) {
        let Slot {
            start,
            class,
            process,
            ..
        } = *self.slot(id);
        let class = class as usize;
        if self.next[class] == Some(id) {
            self.next[class] = self.following(id);
        }
        self.sorted[class].remove(start, id);
        self.fifo[class].remove(&mut self.links, id);
        self.processes[process as usize].queued -= 1;
    }

    /// Hands a request out.
    fn hand_out(&mut self, id: RequestId) {
        self.stop_waiting();
        self.waiting_for = Waiting::Off;
        let Slot {
            start,
            sectors,
            class,
            process,
            ..
        } = *self.slot(id);
        let class = class as usize;
        self.last_end[class] = start + sectors;
        if class == SYNC {
            self.awaited = Some(process);
        } else {
            self.awaited = None;
            self.async_left = self.async_left.saturating_sub(1);
        }
        self.completed = false;
        self.next[class] = self.following(id);
        self.remove(id);
        self.in_driver += 1;
    }

    fn sort_in(&mut self, id: RequestId) {
        let Slot { start, class, .. } = *self.slot(id);
        // Two requests at one sector cannot both be in the kernel's tree: the older one leaves at once.
        while let Some(older) = self.sorted[class as usize].starting_at(start) {
            self.hand_out(older);
            self.stop_waiting();
            let process = self.slot(older).process as usize;
            self.processes[process].moved += 1;
            self.moved.push_back(&mut self.links, older);
        }
        self.sorted[class as usize].insert(start, id);
    }
}

impl Scheduler for Anticipatory {
    fn insert(&mut self, now: Nanos, request: &Request) {
        let jiffies = self.kernel.jiffies(now);
        let class = usize::from(request.sync);
        let process = self
            .processes
            .index_or_insert(request.process, || Process::new(request.process))
            as u32;
        if class == SYNC {
            self.note_request(jiffies, process, request.start, request.sectors);
        }
        self.processes[process as usize].queued += 1;
        let slot = request.id.0 as usize;
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, Slot::default());
        }
        let expires = jiffies + self.expire_ticks[class];
        self.slots[slot] = Slot {
            start: request.start,
            sectors: request.sectors,
            expires,
            class: class as u8,
            process,
        };
        self.sort_in(request.id);
        self.fifo[class].push_back(&mut self.links, request.id);
        self.next[class] = self.better(class, Some(request.id), self.next[class]);
        if matches!(self.waiting_for, Waiting::ItsCompletion | Waiting::ItsNext) {
            let awaited = self.awaited.expect("waiting is for a process");
            if self.waiting_is_pointless(jiffies, awaited, Some(request.id)) {
                self.stop_waiting();
            }
        }
    }

    fn dispatch(&mut self, now: Nanos) -> Option<RequestId> {
        if let Some(id) = self.moved.pop_front(&mut self.links) {
            let process = self.slot(id).process as usize;
            self.processes[process].moved -= 1;
            return Some(id);
        }
        let id = self.choose(self.kernel.jiffies(now))?;
        self.hand_out(id);
        Some(id)
    }

    fn dispatch_forced(&mut self, now: Nanos, id: RequestId) {
        let class = self.slot(id).class as usize;
        if self.moved.iter(&self.links).any(|moved| moved == id) {
            let process = self.slot(id).process as usize;
            self.processes[process].moved -= 1;
            self.moved.remove(&mut self.links, id);
            return;
        }
        if class != self.batch {
            self.switch_to(class);
        }
        if self.changing {
            self.changed(self.kernel.jiffies(now));
        }
        self.hand_out(id);
    }

    fn complete(&mut self, now: Nanos, request: &Request) {
        let jiffies = self.kernel.jiffies(now);
        let class = usize::from(request.sync);
        if self.changing && self.in_driver == 1 {
            if self.drained_change_is_timed {
                self.batch_ends = (jiffies + self.batch_ticks[self.batch]) as i64;
            }
            self.queue_kick = true;
            self.changing = false;
            self.untimed |= self.batch == SYNC;
        }
        self.in_driver = self.in_driver.saturating_sub(1);
        if self.untimed && self.batch == class {
            self.adapt_async_budget(jiffies);
            self.batch_ends = (jiffies + self.batch_ticks[SYNC]) as i64;
            self.untimed = false;
        }
        let Some(process) = self.processes.index(request.process) else {
            return;
        };
        if self.awaited == Some(process as u32) {
            self.since = jiffies;
            self.completed = true;
            if self.waiting_for == Waiting::ItsCompletion {
                self.wait_for_next(jiffies);
            }
        }
        if class == SYNC {
            self.processes[process].note_completion(jiffies);
        }
    }

    #[inline]
    fn waiting(&self) -> usize {
        self.fifo[SYNC].len() + self.fifo[ASYNC].len() + self.moved.len()
    }

    fn timer(&self) -> Option<Nanos> {
        self.timer.map(|tick| self.kernel.tick_start(tick))
    }

    fn fire(&mut self, _now: Nanos) -> bool {
        self.timer = None;
        if self.waiting_for != Waiting::ItsNext {
            return false;
        }
        self.waiting_for = Waiting::Done;
        if let Some(awaited) = self.awaited {
            let process = &self.processes[awaited as usize];
            if process.think.samples == 0 {
                self.crowd.exit_again();
            }
            if process.exited {
                self.crowd.not_spared();
            }
        }
        true
    }

    fn may_merge(&self, request: &Request, _bio: &Request) -> bool {
        self.moved.is_empty()
            || !self
                .moved
                .iter(&self.links)
                .any(|moved| moved == request.id)
    }

    fn neighbour_after(&self, id: RequestId) -> Option<RequestId> {
        let slot = self.slot(id);
        self.sorted[slot.class as usize].after(slot.start, id)
    }

    fn neighbour_before(&self, id: RequestId) -> Option<RequestId> {
        let slot = self.slot(id);
        self.sorted[slot.class as usize].before(slot.start, id)
    }

    fn front_merge_candidate(&self, bio: &Request) -> Option<RequestId> {
        // The kernel looks in the class whose number is the direction's: reads among async requests, writes among sync ones.
        let class = if bio.direction == Direction::Write {
            SYNC
        } else {
            ASYNC
        };
        self.sorted[class].starting_at(bio.end())
    }

    fn grown(&mut self, _now: Nanos, id: RequestId, start: Lba, sectors: Sectors) {
        let Slot {
            start: before,
            class,
            ..
        } = *self.slot(id);
        self.slots[id.0 as usize].sectors = sectors;
        if start != before {
            self.sorted[class as usize].remove(before, id);
            self.slots[id.0 as usize].start = start;
            self.sort_in(id);
        }
    }

    fn joined(&mut self, now: Nanos, kept: RequestId, gone: RequestId) {
        let (slot, lost) = (*self.slot(kept), *self.slot(gone));
        let earlier = lost.expires < slot.expires && lost.class == slot.class;
        if earlier {
            self.slots[kept.0 as usize].expires = lost.expires;
            // Stand behind the one that goes, which leaves its place to it.
            let class = lost.class as usize;
            self.fifo[class].remove(&mut self.links, kept);
            self.fifo[class].insert_after(&mut self.links, gone, kept);
        }
        self.remove(gone);
        if lost.class as usize == SYNC {
            self.processes[lost.process as usize].note_completion(self.kernel.jiffies(now));
        }
    }

    /// Linux 2.6.23 to 2.6.32 block/as-iosched.c: the end of a wait schedules work for kblockd.
    fn queue_kick_waits(&self) -> bool {
        true
    }

    fn take_queue_kick(&mut self) -> bool {
        core::mem::take(&mut self.queue_kick)
    }

    fn process_exits(&mut self, _now: Nanos, process: ProcessId) {
        if let Some(index) = self.processes.index(process) {
            self.processes[index].exited = true;
        }
    }

    fn describe(&self, now: Nanos, out: &mut String) {
        let jiffies = self.kernel.jiffies(now);
        let name = |process: u32| format!("p{}", self.processes[process as usize].id.0);
        let class = ["async", "sync"][self.batch];
        *out += &format!(
            "tick {jiffies}; {class} batch until {}{}{}; async budget {} of {}{}; {} in the driver\n",
            self.batch_ends,
            if self.changing { ", draining" } else { "" },
            if self.untimed { ", not timed yet" } else { "" },
            self.async_left,
            self.async_budget,
            if self.async_idled { ", idled" } else { "" },
            self.in_driver
        );
        *out += &format!(
            "waiting: {:?}, for {}, completed {} at {}, timer {:?}\n",
            self.waiting_for,
            self.awaited.map_or("nobody".to_owned(), name),
            self.completed,
            self.since,
            self.timer
        );
        for (class, label) in [(SYNC, "sync"), (ASYNC, "async")] {
            let next = words(self.next[class]);
            *out += &format!(
                "{label}: best next {next}; last end {}; oldest first: {}\n",
                self.last_end[class].0,
                self.fifo[class].words(&self.links)
            );
        }
        for process in self.processes.iter() {
            *out += &process.words();
        }
        *out += &self.crowd.words();
    }
}
