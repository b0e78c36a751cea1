//! The commands that wait in the drive, and which one is next.
//!
//! The ideal is shortest access first: the command whose first sector can be reached soonest, seek and rotation
//! together. Drives differ in how close they come, so the share of decisions made that way is a parameter; the others
//! take the oldest command. Share one is the ideal, share zero is arrival order. A command older than the age limit is
//! next whatever it costs; without a limit the ideal lets some wait seconds. Some drives sort late: while few wait
//! the oldest is next, and others only where they cost it nothing. That gains little over long ways and much over short ones.
//!
//! Costs of the whole queue are computed side by side from plain arrays, so that the compiler can use vector
//! instructions; nothing here allocates.

use super::filter::Filter;
use super::rotation::{Spindle, ANGLE_MASK, SLACK};
use super::seek::SeekCurve;
use crate::device::Tag;
use multiversion::multiversion;
use seekwise_units::{Lba, Nanos, Sectors};

use super::geometry::Extent;

/// Slots of the waiting set; a multiple of the vector width.
pub const SLOTS: usize = 32;
pub const LANES: usize = 8;
/// Accesses of the longest list, that of a write cache.
pub const ACCESSES_MOST: usize = 128;
const BLOCKS_MOST: usize = ACCESSES_MOST / LANES;
/// How far apart reads of one stream may lie beside their own length: 32 MiB, for what between them is on its way from the buffer.
const STREAM_SLACK: u64 = 1 << 16;
/// Marks of an empty slot: a cost above every real one.
const NO_TRACK: u32 = u32::MAX;
const OUT_OF_REACH: u32 = 1 << 29;

/// One access: where the arm has to go.
#[derive(Clone, Copy)]
struct Goal {
    cylinder: i32,
    track: u32,
    angle: u32,
    settle: u32,
}

impl Goal {
    /// Ticks to reach it when the head sees `angle`.
    #[inline(always)]
    fn cost(&self, head: Head, angle: u32, curve: &SeekCurve) -> u32 {
        // Absolute value and maximum are one instruction each in floating point, and several in integers of the oldest vector units.
        let distance = ((self.cylinder - head.cylinder as i32) as f32).abs();
        let distance = if distance > 1.0 { distance } else { 1.0 };
        let moved = curve.ticks_over(distance) + self.settle;
        let seek = if self.track == head.track { 0 } else { moved };
        let wait = self
            .angle
            .wrapping_sub(angle.wrapping_add(seek))
            .wrapping_add(SLACK)
            & ANGLE_MASK;
        // What is less than nothing has its sign bit set.
        let wait = wait as i32 - SLACK as i32;
        seek + (wait & !(wait >> 31)) as u32
    }
}

/// Properties of some accesses side by side, so that the few that usually wait lie in few cache lines.
#[derive(Clone, Copy, Debug)]
struct Block {
    cylinder: [i32; LANES],
    track: [u32; LANES],
    angle: [u32; LANES],
    /// Ticks that a write settles longer.
    settle: [u32; LANES],
}

impl Block {
    const EMPTY: Self = Self {
        cylinder: [0; LANES],
        track: [NO_TRACK; LANES],
        angle: [0; LANES],
        settle: [OUT_OF_REACH; LANES],
    };

    /// The access in `lane`.
    #[inline(always)]
    fn goal(&self, lane: usize) -> Goal {
        Goal {
            cylinder: self.cylinder[lane],
            track: self.track[lane],
            angle: self.angle[lane],
            settle: self.settle[lane],
        }
    }

    #[inline(always)]
    fn set(&mut self, lane: usize, goal: Goal) {
        self.cylinder[lane] = goal.cylinder;
        self.track[lane] = goal.track;
        self.angle[lane] = goal.angle;
        self.settle[lane] = goal.settle;
    }

    /// Ticks to reach the access in `lane` when the head sees `angle`.
    #[inline(always)]
    fn cost(&self, lane: usize, head: Head, angle: u32, curve: &SeekCurve) -> u32 {
        self.goal(lane).cost(head, angle, curve)
    }

    /// The costs of all lanes, kept in `costs`, and the least of them. The slot goes where the cost means nanoseconds, so that one
    /// minimum finds both; `slots` is the mask of slots, `first` the one of the first lane.
    #[inline(always)]
    fn least(
        &self,
        first: usize,
        slots: u32,
        head: Head,
        angle: u32,
        curve: &SeekCurve,
        costs: &mut [u32; LANES],
    ) -> i32 {
        let mut best = i32::MAX;
        for (lane, kept) in costs.iter_mut().enumerate() {
            let cost = self.cost(lane, head, angle, curve);
            *kept = cost;
            best = best.min(((cost & !slots) | (first + lane) as u32) as i32);
        }
        best
    }
}

/// Positions of up to `8 * BLOCKS` waiting accesses, a power of two.
#[derive(Clone, Copy, Debug)]
pub struct Accesses<const BLOCKS: usize> {
    blocks: [Block; BLOCKS],
    len: usize,
}

/// Block and lane of a slot.
pub type Place = (usize, usize);

fn place(slot: usize) -> Place {
    (slot / LANES, slot % LANES)
}

/// Where the arm is, and what it sees.
#[derive(Clone, Copy, Debug, Default)]
pub struct Head {
    pub cylinder: u32,
    pub track: u32,
}

impl<const BLOCKS: usize> Accesses<BLOCKS> {
    const SLOTS: usize = BLOCKS * LANES;

    /// No access waits.
    pub fn new() -> Self {
        Self {
            blocks: [Block::EMPTY; BLOCKS],
            len: 0,
        }
    }

    /// Accesses in use: slots 0 to one less.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// No access waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an access in the next free slot, and gives its place; `settle` in ticks is what a write takes more than a read.
    #[inline]
    pub fn push(&mut self, extent: &Extent, settle: u32) -> Place {
        let place @ (block, lane) = place(self.len);
        let goal = Goal {
            cylinder: extent.first.cylinder as i32,
            track: extent.first.track,
            angle: extent.first.angle,
            settle,
        };
        self.blocks[block].set(lane, goal);
        self.len += 1;
        place
    }

    /// Takes a slot out; the last one moves into its place. Gives both places.
    #[inline]
    pub fn swap_remove(&mut self, slot: usize) -> (Place, Place) {
        self.len -= 1;
        let (to, from) = (place(slot), place(self.len));
        let moved = self.blocks[from.0].goal(from.1);
        self.blocks[to.0].set(to.1, moved);
        self.put_out_of_reach(self.len);
        (to, from)
    }

    /// Of an empty slot, or until [`Self::restore`].
    #[inline]
    fn put_out_of_reach(&mut self, slot: usize) -> Reach {
        let (block, lane) = (&mut self.blocks[slot / LANES], slot % LANES);
        let place = (block.track[lane], block.settle[lane]);
        (block.track[lane], block.settle[lane]) = (NO_TRACK, OUT_OF_REACH);
        place
    }

    fn restore(&mut self, slot: usize, (track, settle): Reach) {
        let (block, lane) = (&mut self.blocks[slot / LANES], slot % LANES);
        (block.track[lane], block.settle[lane]) = (track, settle);
    }

    /// Ticks to reach the access in `slot` when the head sees `angle`.
    #[inline]
    pub fn cost(&self, slot: usize, head: Head, angle: u32, curve: &SeekCurve) -> u32 {
        self.blocks[slot / LANES].cost(slot % LANES, head, angle, curve)
    }

    /// The slot that can be reached soonest, and its cost.
    #[inline]
    pub fn nearest(&self, head: Head, angle: u32, curve: &SeekCurve) -> (usize, u32) {
        debug_assert!(self.len > 0 && Self::SLOTS.is_power_of_two() && BLOCKS <= BLOCKS_MOST);
        let slots = Self::SLOTS as u32 - 1;
        // Costs are kept rather than worked out again: that would have to wait for itself, step by step. Whole blocks of slots, so that
        // nothing is left over for a scalar loop; empty slots are out of reach.
        if self.len <= LANES {
            let mut costs = [0; LANES];
            let best = self.blocks[0].least(0, slots, head, angle, curve, &mut costs);
            let slot = best as usize % LANES;
            return (slot, costs[slot]);
        }
        nearest_of_many(
            &self.blocks[..self.len.div_ceil(LANES).min(BLOCKS)],
            slots,
            head,
            angle,
            curve,
        )
    }
}

/// Slot and cost of the nearest, from whole blocks. With vectors of eight lanes where the processor has them: every number comes out the same, since
/// no step of it depends on how many are worked out at once.
#[multiversion(targets("x86_64+avx+avx2"))]
fn nearest_of_many(
    blocks: &[Block],
    slots: u32,
    head: Head,
    angle: u32,
    curve: &SeekCurve,
) -> (usize, u32) {
    let mut costs = [[0; LANES]; BLOCKS_MOST];
    let mut best = i32::MAX;
    for ((number, block), costs) in blocks.iter().enumerate().zip(&mut costs) {
        best = best.min(block.least(number * LANES, slots, head, angle, curve, costs));
    }
    let slot = best as usize & slots as usize;
    (slot, costs[slot / LANES][slot % LANES])
}

impl<const BLOCKS: usize> Default for Accesses<BLOCKS> {
    fn default() -> Self {
        Self::new()
    }
}

/// How a drive orders.
#[derive(Clone, Copy, Debug)]
pub struct Ordering {
    /// Share of decisions by shortest access, for each number of waiting commands; one is 2^16.
    share: [u32; SLOTS + 1],
    pub age_limit: Nanos,
    /// While fewer commands wait the oldest is next, and others only on the way to it; 0: never.
    sorts_from: usize,
}

impl Ordering {
    /// `efficiency` is the part of the ideal gain in rate that the drive reaches: rate = r1 + efficiency · (ideal - r1).
    ///
    /// With a gain g the ideal access takes 1/g of the unordered one, so a share f of ideal decisions gives the rate
    /// 1 / (f/g + 1 - f); solved for f. The ideal gains by queue length are those of DiskSim's 7200 rpm drives.
    pub fn new(efficiency: f64, age_limit: Nanos, sorts_from: usize) -> Self {
        let mut share = [1 << 16; SLOTS + 1];
        for (waiting, share) in share.iter_mut().enumerate() {
            let gain = ideal_gain(waiting);
            let part = efficiency * gain / (1.0 + efficiency * (gain - 1.0));
            *share = libm::round(part * 65536.0) as u32;
        }
        Self {
            share,
            age_limit,
            sorts_from,
        }
    }

    /// Whether the oldest command is next while few wait.
    #[inline]
    pub fn sorts_late(&self) -> bool {
        self.sorts_from > 0
    }

    /// Share of decisions by shortest access with `waiting` commands; 1 << 16 is all of them.
    #[inline]
    pub fn share(&self, waiting: usize) -> u32 {
        self.share[waiting.min(SLOTS)]
    }
}

/// Gain of shortest access first over arrival order with so many commands to choose from.
fn ideal_gain(waiting: usize) -> f64 {
    // Depth 2 leaves one command to choose from, depth 4 three, and so on.
    const GAINS: [(f64, f64); 5] = [
        (1.0, 1.0),
        (3.0, 1.3),
        (7.0, 1.5),
        (15.0, 1.65),
        (31.0, 1.85),
    ];
    let waiting = waiting as f64;
    for pair in GAINS.windows(2) {
        let ((low, low_gain), (high, high_gain)) = (pair[0], pair[1]);
        if waiting <= high {
            return low_gain + (high_gain - low_gain) * ((waiting - low) / (high - low)).max(0.0);
        }
    }
    GAINS[4].1
}

/// What of an access is replaced while it is out of reach.
type Reach = (u32, u32);

/// Accesses that are out of reach for one decision.
#[derive(Clone, Copy, Debug, Default)]
pub struct Left {
    slots: [(usize, Reach); SLOTS],
    count: usize,
}

/// A waiting command, beside its place in [`Accesses`]: one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct QueuedCommand {
    pub tag: u32,
    pub write: bool,
    pub start: Lba,
    pub sectors: Sectors,
    pub arrival: Nanos,
    /// Of its extent: what it takes from the first sector on, and where it ends.
    pub transfer: Nanos,
    pub last: Head,
    /// Segment of the cache that ends where this read starts, as far as was known when it came.
    pub segment: usize,
}

/// What commands leave behind when they have been served, side by side like [`Block`] and as large, so that one offset finds both.
#[derive(Clone, Copy, Debug)]
#[repr(align(128))]
struct Passage {
    /// Ticks from the first sector to the end of the last one.
    ticks: [u32; LANES],
    cylinder: [u32; LANES],
    track: [u32; LANES],
}

impl Passage {
    #[inline(always)]
    fn lane(&self, lane: usize) -> (u32, Head) {
        let (cylinder, track) = (self.cylinder[lane], self.track[lane]);
        (self.ticks[lane], Head { cylinder, track })
    }

    #[inline(always)]
    fn set(&mut self, lane: usize, (ticks, behind): (u32, Head)) {
        self.ticks[lane] = ticks;
        self.cylinder[lane] = behind.cylinder;
        self.track[lane] = behind.track;
    }

    const EMPTY: Self = Self {
        ticks: [0; LANES],
        cylinder: [0; LANES],
        track: [0; LANES],
    };
}

/// Slots in the order in which their commands arrived, a ring of neighbours. There are as many places as a byte has values: none is out of bounds.
#[derive(Clone, Copy, Debug)]
struct Order {
    earlier: [u8; 256],
    later: [u8; 256],
}

/// Between the latest and the oldest.
const NOBODY: usize = SLOTS;

impl Order {
    const EMPTY: Self = Self {
        earlier: [NOBODY as u8; 256],
        later: [NOBODY as u8; 256],
    };

    #[inline]
    fn link(&mut self, earlier: u8, later: u8) {
        (self.later[earlier as usize], self.earlier[later as usize]) = (later, earlier);
    }

    #[inline]
    fn append(&mut self, slot: usize) {
        self.link(self.earlier[NOBODY], slot as u8);
        self.link(slot as u8, NOBODY as u8);
    }

    /// Takes a slot out; `last` gets its number.
    #[inline]
    fn swap_remove(&mut self, slot: usize, last: usize) {
        self.link(self.earlier[slot], self.later[slot]);
        if slot != last {
            let later = self.later[last];
            self.link(self.earlier[last], slot as u8);
            self.link(slot as u8, later);
        }
    }
}

/// Commands that wait for the arm.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    pub accesses: Accesses<{ SLOTS / LANES }>,
    /// Of drives that sort late.
    passages: [Passage; SLOTS / LANES],
    order: Order,
    commands: [QueuedCommand; SLOTS],
    /// Where the waiting reads start.
    reads: Filter,
    /// No waiting command arrived before this.
    oldest_arrival: Nanos,
    last_arrival: Nanos,
    /// Fraction of an ideal decision left over from the last ones.
    credit: u32,
}

impl Queue {
    /// No command waits.
    pub fn new() -> Self {
        Self {
            accesses: Accesses::new(),
            passages: [Passage::EMPTY; SLOTS / LANES],
            order: Order::EMPTY,
            commands: [QueuedCommand::default(); SLOTS],
            reads: Filter::new(),
            oldest_arrival: Nanos::ZERO,
            last_arrival: Nanos::ZERO,
            credit: 0,
        }
    }

    /// No command waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.accesses.is_empty()
    }

    /// Commands waiting; their slots are 0 to one less.
    pub fn len(&self) -> usize {
        self.accesses.len()
    }

    /// Adds a command, which must have arrived no earlier than those before; `settle` in ticks is what a write takes more. `passed`, the ticks
    /// of its transfer, is looked at by drives that sort late alone.
    #[inline]
    pub fn push(&mut self, waiting: QueuedCommand, extent: &Extent, settle: u32, passed: u32) {
        let slot = self.accesses.len();
        let (block, lane) = self.accesses.push(extent, settle);
        self.passages[block].set(lane, (passed, waiting.last));
        if slot == 0 {
            self.oldest_arrival = waiting.arrival;
        }
        self.last_arrival = waiting.arrival;
        if !waiting.write {
            self.reads.add(waiting.start);
        }
        self.order.append(slot);
        self.commands[slot] = waiting;
    }

    /// Removes the command in `slot`; the last one moves to that slot.
    #[inline]
    pub fn take(&mut self, slot: usize) -> QueuedCommand {
        let last = self.accesses.len() - 1;
        let taken = self.commands[slot];
        self.commands[slot] = self.commands[last];
        self.order.swap_remove(slot, last);
        let ((block, lane), (from, from_lane)) = self.accesses.swap_remove(slot);
        let moved = self.passages[from].lane(from_lane);
        self.passages[block].set(lane, moved);
        if !taken.write {
            self.reads.remove(taken.start);
        }
        taken
    }

    /// The waiting read that starts at `from`.
    fn read_from(&self, from: Lba) -> Option<usize> {
        if !self.reads.may_hold(from, from) {
            return None;
        }
        let waiting = &self.commands[..self.accesses.len()];
        waiting
            .iter()
            .position(|one| !one.write && one.start == from)
    }

    /// Whether all that wait are reads of the stream that is at `from`: no further from it than they are long together.
    pub fn only_follows(&self, from: Lba) -> bool {
        let waiting = &self.commands[..self.accesses.len()];
        let span = waiting.iter().map(|one| one.sectors.0).sum::<u64>() + STREAM_SLACK;
        waiting
            .iter()
            .all(|one| !one.write && one.start.0.abs_diff(from.0) <= span)
    }

    /// Puts reads that follow each other from `from` on out of reach, unless `included` or nobody else waits.
    #[inline]
    pub fn leave(&mut self, from: Lba, included: impl Fn(Lba, Nanos) -> bool) -> Left {
        let mut left = Left::default();
        if self.len() < 2 || !self.reads.may_hold(from, from) || self.only_follows(from) {
            return left;
        }
        let mut at = from;
        while let Some(slot) = self.read_from(at) {
            let read = &self.commands[slot];
            at = read.start + read.sectors;
            if !included(read.start, read.arrival) && left.count < SLOTS {
                left.slots[left.count] = (slot, self.accesses.put_out_of_reach(slot));
                left.count += 1;
            }
        }
        left
    }

    /// Undoes [`Queue::leave`]; no command may have been taken or added in between.
    #[inline]
    pub fn come_back(&mut self, left: &Left) {
        for (slot, place) in &left.slots[..left.count] {
            self.accesses.restore(*slot, *place);
        }
    }

    /// Slot of the command with that tag; None if it does not wait.
    pub fn find(&self, tag: Tag) -> Option<usize> {
        self.commands[..self.accesses.len()]
            .iter()
            .position(|waiting| waiting.tag == tag.0)
    }

    /// Whether a waiting read may start from `first` up to and with `last`; a plain no is certain.
    #[inline]
    pub fn may_read(&self, first: Lba, last: Lba) -> bool {
        self.reads.may_hold(first, last)
    }

    /// Of the reads that start from `first` up to and with `last` and arrived at `known` or before, the one that
    /// starts lowest.
    pub fn read_within(&self, first: Lba, last: Lba, known: Nanos) -> Option<usize> {
        let within = |one: &QueuedCommand| {
            !one.write && first <= one.start && one.start <= last && one.arrival <= known
        };
        (0..self.accesses.len())
            .filter(|&slot| within(&self.commands[slot]))
            .min_by_key(|&slot| (self.commands[slot].start, self.commands[slot].arrival))
    }

    /// The slot that arrived first.
    #[inline]
    fn oldest(&self) -> usize {
        self.order.later[NOBODY] as usize % SLOTS
    }

    /// The command in `slot`, which must be in use.
    pub fn command(&self, slot: usize) -> &QueuedCommand {
        &self.commands[slot]
    }

    /// Whether every waiting command has been decoded by `time`.
    #[inline(always)]
    pub fn all_decoded(&self, time: Nanos, overhead: Nanos) -> bool {
        self.last_arrival + overhead <= time
    }

    /// The first moment from `free_at` on at which one of the waiting commands has been decoded.
    #[inline]
    pub fn first_ready(&self, free_at: Nanos, overhead: Nanos) -> Nanos {
        if self.all_decoded(free_at, overhead) {
            return free_at;
        }
        let waiting = &self.commands[..self.accesses.len()];
        waiting
            .iter()
            .map(|one| one.arrival + overhead)
            .min()
            .map_or(free_at, |ready| ready.max(free_at))
    }

    /// A command older than the limit, if there is one.
    #[inline]
    pub fn overdue(&mut self, now: Nanos, limit: Nanos) -> Option<usize> {
        if now.saturating_sub(self.oldest_arrival) <= limit {
            return None;
        }
        let oldest = self.oldest();
        self.oldest_arrival = self.commands[oldest].arrival;
        (now.saturating_sub(self.oldest_arrival) > limit).then_some(oldest)
    }

    /// The next command at `now`, among those that arrived at least `overhead` ago (there is one), and its cost.
    #[inline]
    pub fn choose(
        &mut self,
        now: Nanos,
        overhead: Nanos,
        head: Head,
        spindle: &Spindle,
        curve: &SeekCurve,
        ordering: &Ordering,
    ) -> (usize, u32) {
        let waiting = self.accesses.len();
        let view = View {
            decoded_by: now.saturating_sub(overhead),
            head,
            angle: spindle.angle_at(now),
            curve,
        };
        if waiting == 1 {
            return self.seen(0, view);
        }
        if let Some(slot) = self.overdue(now, ordering.age_limit) {
            return self.seen(slot, view);
        }
        if waiting < ordering.sorts_from {
            return self.on_the_way_to_the_oldest(view);
        }
        self.credit += ordering.share(waiting);
        if self.credit < 1 << 16 {
            return self.seen(self.oldest(), view);
        }
        self.credit -= 1 << 16;
        let (slot, cost) = self.accesses.nearest(head, view.angle, curve);
        if self.commands[slot].arrival <= view.decoded_by {
            return (slot, cost);
        }
        self.nearest_decoded(view)
    }

    /// A slot and its cost.
    #[inline(always)]
    fn seen(&self, slot: usize, view: View) -> (usize, u32) {
        let cost = self.accesses.cost(slot, view.head, view.angle, view.curve);
        (slot, cost)
    }

    /// The best one of all came a moment ago and has not been decoded yet: the best of those that have.
    #[cold]
    fn nearest_decoded(&self, view: View) -> (usize, u32) {
        (0..self.len())
            .filter(|&slot| self.commands[slot].arrival <= view.decoded_by)
            .map(|slot| self.seen(slot, view))
            .min_by_key(|&(_, cost)| cost)
            .unwrap_or_else(|| self.seen(self.oldest(), view))
    }
}

/// What the arm sees when it chooses.
#[derive(Clone, Copy)]
struct View<'a> {
    /// What arrived later has not been decoded.
    decoded_by: Nanos,
    head: Head,
    angle: u32,
    curve: &'a SeekCurve,
}

/// The way to the oldest command, and what [`ways_over`] finds.
struct Way {
    goal: Goal,
    /// What the goal costs without a stop.
    straight: u32,
    /// What each access of a block costs where the goal is still reached in the same turn afterwards; above every real cost where it is not.
    stops: [i32; LANES],
}

/// Finds the stops of a block, and the least of their costs. `lane`: of the goal, whose cost is set; outside of the block it is known.
/// Vectors of eight lanes as in [`nearest_of_many`].
#[multiversion(targets("x86_64+avx+avx2"))]
fn ways_over(block: &Block, passage: &Passage, way: &mut Way, lane: usize, view: &View) -> i32 {
    let (head, angle, curve) = (view.head, view.angle, view.curve);
    let mut costs = [0; LANES];
    for (lane, cost) in costs.iter_mut().enumerate() {
        *cost = block.cost(lane, head, angle, curve);
    }
    let straight = costs.get(lane).copied().unwrap_or(way.straight);
    let mut stops = [i32::MAX; LANES];
    let mut least = i32::MAX;
    for (lane, stop) in stops.iter_mut().enumerate() {
        let cost = costs[lane];
        let (ticks, behind) = passage.lane(lane);
        let passed = cost + ticks;
        let then = angle.wrapping_add(passed) & ANGLE_MASK;
        let rest = way.goal.cost(behind, then, curve);
        // Signed: comparing those is one instruction. Not even two accesses out of reach add up to a negative number, so that neither they nor the
        // goal itself are ever on the way.
        let late =
            ((passed + rest) as i32 > (straight + SLACK) as i32) | (cost as i32 >= straight as i32);
        *stop = if late { i32::MAX } else { cost as i32 };
        least = least.min(*stop);
    }
    (way.straight, way.stops) = (straight, stops);
    least
}

impl Queue {
    /// The nearest of those after which the arm still reaches the oldest in the same turn; else the oldest itself.
    #[inline]
    fn on_the_way_to_the_oldest(&self, view: View) -> (usize, u32) {
        let mut lane = self.oldest();
        let mut best = (lane, i32::MAX);
        let mut way = Way {
            goal: self.accesses.blocks[lane / LANES].goal(lane % LANES),
            straight: 0,
            stops: [0; LANES],
        };
        if self.len() > LANES {
            (way.straight, lane) = (self.seen(lane, view).1, LANES);
        }
        let mut first = 0;
        for (block, passage) in self.accesses.blocks.iter().zip(&self.passages) {
            if ways_over(block, passage, &mut way, lane, &view) < best.1 {
                for (slot, &cost) in (first..).zip(&way.stops) {
                    if cost < best.1 && self.commands[slot].arrival <= view.decoded_by {
                        best = (slot, cost);
                    }
                }
            }
            first += LANES;
            if first >= self.len() {
                break;
            }
        }
        (best.0, way.straight.min(best.1 as u32))
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::super::geometry::TrackPlace;
    use super::super::seek::SeekTimes;
    use super::*;
    use crate::measure::Addresses;

    fn curve(spindle: &Spindle) -> SeekCurve {
        let times = SeekTimes {
            setup_ms: 0.1,
            track_to_track_ms: 0.8,
            settle_tracks: 50.0,
            a_ms: 2.0,
            b_ms_per_sqrt_track: 0.04,
            bend_tracks: 25_000.0,
            c_ms: 5.2,
            e_ms_per_track: 0.000137,
            write_settle_ms: 1.0,
        };
        SeekCurve::new(&times, spindle)
    }

    #[test]
    fn efficiency_one_always_takes_the_nearest_and_zero_never() {
        let ideal = Ordering::new(1.0, Nanos::NEVER, 0);
        let arrival = Ordering::new(0.0, Nanos::NEVER, 0);
        for waiting in 1..=SLOTS {
            assert_eq!(ideal.share(waiting), 1 << 16);
            assert_eq!(arrival.share(waiting), 0);
        }
    }

    /// Vectors and keys must find what a plain search finds, whatever was in the slots before.
    #[test]
    fn the_nearest_is_the_minimum_of_all_costs() {
        let spindle = Spindle::new(7200.0, 0);
        let curve = curve(&spindle);
        let mut random = Addresses::new(7);
        let mut queue = Accesses::<{ SLOTS / LANES }>::new();
        for round in 0..5_000u32 {
            while queue.len() <= (round as usize * 7) % SLOTS {
                let first = TrackPlace {
                    cylinder: random.below(86_000) as u32,
                    track: random.below(500_000) as u32,
                    angle: random.below(1 << 24) as u32,
                };
                let extent = Extent {
                    first,
                    ..Extent::default()
                };
                queue.push(&extent, (random.below(2) as u32) * curve.write_settle);
            }
            let head = Head {
                cylinder: random.below(86_000) as u32,
                track: random.below(500_000) as u32,
            };
            let angle = random.below(1 << 24) as u32;
            let (slot, cost) = queue.nearest(head, angle, &curve);
            let least = (0..queue.len())
                .map(|slot| queue.cost(slot, head, angle, &curve))
                .min()
                .unwrap();
            assert!(slot < queue.len());
            assert_eq!(cost, queue.cost(slot, head, angle, &curve));
            // The slot number hides the last bits of the cost: 16 ns.
            assert!(
                cost < least + SLOTS as u32,
                "{cost} is not the least, {least} is"
            );
            queue.swap_remove(slot);
        }
    }

    /// The cost is the rule in plain words: nothing on the same track, otherwise the curve, and then the wait for the sector.
    #[test]
    fn a_cost_is_seek_and_wait() {
        let spindle = Spindle::new(7200.0, 0);
        let curve = curve(&spindle);
        let mut random = Addresses::new(3);
        for _ in 0..20_000 {
            let place = |random: &mut Addresses| TrackPlace {
                cylinder: random.below(300) as u32 * random.below(300) as u32,
                track: random.below(3) as u32,
                angle: random.below(1 << 24) as u32,
            };
            let (first, from) = (place(&mut random), place(&mut random));
            let mut queue = Accesses::<{ SLOTS / LANES }>::new();
            queue.push(
                &Extent {
                    first,
                    ..Extent::default()
                },
                curve.write_settle,
            );
            let seek = match first.track == from.track {
                true => 0,
                false => {
                    curve.ticks(first.cylinder.abs_diff(from.cylinder).max(1)) + curve.write_settle
                }
            };
            let wait = Spindle::wait(from.angle.wrapping_add(seek), first.angle);
            let head = Head {
                cylinder: from.cylinder,
                track: from.track,
            };
            assert_eq!(queue.cost(0, head, from.angle, &curve), seek + wait);
        }
    }

    /// The rule in plain words, one command after the other.
    fn plainly_on_the_way(
        queue: &Queue,
        now: Nanos,
        head: Head,
        spindle: &Spindle,
        curve: &SeekCurve,
    ) -> (usize, u32) {
        let angle = spindle.angle_at(now);
        let oldest = queue.oldest();
        let straight = queue.accesses.cost(oldest, head, angle, curve);
        let mut best = (oldest, straight);
        for slot in (0..queue.len()).filter(|&slot| slot != oldest) {
            let cost = queue.accesses.cost(slot, head, angle, curve);
            let command = &queue.commands[slot];
            if cost >= best.1 || command.arrival + OVERHEAD > now {
                continue;
            }
            let passed = cost + spindle.ticks_of(command.transfer.0 as f64) as u32;
            let then = angle.wrapping_add(passed) & ANGLE_MASK;
            let rest = queue.accesses.cost(oldest, command.last, then, curve);
            if passed + rest <= straight + SLACK {
                best = (slot, cost);
            }
        }
        best
    }

    const OVERHEAD: Nanos = Nanos(300_000);

    /// Side by side as one by one: with one block and with several, with commands not decoded yet and with some out of reach.
    #[test]
    fn the_way_to_the_oldest_is_what_a_plain_search_finds() {
        let spindle = Spindle::new(7200.0, 0);
        let curve = curve(&spindle);
        let mut random = Addresses::new(5);
        let mut queue = Queue::new();
        let (mut now, mut came, mut overtakers) = (Nanos::ZERO, 0, 0);
        let mut head = Head::default();
        for round in 0..20_000u64 {
            let wanted = 2 + (round as usize / 500) % (SLOTS - 2);
            while queue.len() < wanted {
                let cylinders = [86_000, 300][random.below(2) as usize];
                let mut place = || (random.below(cylinders) as u32, random.below(40) as u32);
                let ((cylinder, track), last) = (place(), place());
                let first = TrackPlace {
                    cylinder,
                    track,
                    angle: random.below(1 << 24) as u32,
                };
                let extent = Extent {
                    first,
                    ..Extent::default()
                };
                let waiting = QueuedCommand {
                    tag: came,
                    arrival: now,
                    transfer: Nanos(random.below(3_000_000)),
                    last: Head {
                        cylinder: last.0,
                        track: last.1,
                    },
                    ..QueuedCommand::default()
                };
                let passed = spindle.ticks_of(waiting.transfer.0 as f64) as u32;
                queue.push(waiting, &extent, 0, passed);
                came += 1;
                now += Nanos(random.below(200_000));
            }
            let hidden = (random.below(3) == 0).then(|| {
                let slot = random.below(queue.len() as u64) as usize;
                (slot, queue.accesses.put_out_of_reach(slot))
            });
            let angle = spindle.angle_at(now);
            let view = View {
                decoded_by: now.saturating_sub(OVERHEAD),
                head,
                angle,
                curve: &curve,
            };
            let found = queue.on_the_way_to_the_oldest(view);
            assert_eq!(
                found,
                plainly_on_the_way(&queue, now, head, &spindle, &curve),
                "round {round}"
            );
            if let Some((slot, reach)) = hidden {
                queue.accesses.restore(slot, reach);
            }
            overtakers += u32::from(found.0 != queue.oldest());
            head = queue.take(found.0).last;
            now += Nanos(random.below(4_000_000));
        }
        assert!(overtakers > 2_000, "{overtakers}");
    }

    /// Eight wait: whatever is served before the oldest, the oldest is reached in the turn in which it would have been.
    #[test]
    fn a_drive_that_sorts_late_never_holds_up_the_oldest() {
        let spindle = Spindle::new(7200.0, 0);
        let curve = curve(&spindle);
        let ordering = Ordering::new(1.0, Nanos::NEVER, 9);
        let mut random = Addresses::new(11);
        let mut queue = Queue::new();
        let (mut came, mut overtakers) = (0, 0);
        let (mut now, mut head) = (Nanos::ZERO, Head::default());
        let mut due: Option<(u32, Nanos)> = None;
        for _ in 0..600 {
            while queue.len() < 8 {
                let first = TrackPlace {
                    cylinder: random.below(2_000) as u32,
                    track: came,
                    angle: random.below(1 << 24) as u32,
                };
                let extent = Extent {
                    first,
                    ..Extent::default()
                };
                let waiting = QueuedCommand {
                    tag: came,
                    last: Head {
                        cylinder: first.cylinder,
                        track: first.track,
                    },
                    ..QueuedCommand::default()
                };
                let passed = spindle.ticks_of(waiting.transfer.0 as f64) as u32;
                queue.push(waiting, &extent, 0, passed);
                came += 1;
            }
            let oldest = queue.oldest();
            let tag = queue.command(oldest).tag;
            if due.is_none_or(|(whose, _)| whose != tag) {
                let cost = queue
                    .accesses
                    .cost(oldest, head, spindle.angle_at(now), &curve);
                due = Some((tag, now + spindle.time_of(cost)));
            }
            let (slot, cost) = queue.choose(now, Nanos::ZERO, head, &spindle, &curve, &ordering);
            let taken = queue.take(slot);
            (now, head) = (now + spindle.time_of(cost), taken.last);
            let (whose, by) = due.unwrap();
            if taken.tag == whose {
                assert!(now.0.abs_diff(by.0) < 1_000, "{now:?} for {by:?}");
            } else {
                overtakers += 1;
            }
        }
        assert!(overtakers > 100, "{overtakers}");
    }

    #[test]
    fn half_the_gain_needs_more_than_half_the_decisions() {
        let ordering = Ordering::new(0.5, Nanos::NEVER, 0);
        let share = f64::from(ordering.share(31)) / 65536.0;
        // Gain 1.85: the share f with 1 / (f / 1.85 + 1 - f) = 1 + 0.5 * 0.85.
        assert!(
            (1.0 / (share / 1.85 + 1.0 - share) - 1.425).abs() < 1e-3,
            "{share}"
        );
    }
}
