//! Whose turn it is on a processor: the fair scheduler up to 6.5, as far as tasks of equal weight show it.
//!
//! Source: Linux 6.3 kernel/sched/fair.c: sysctl_sched_latency 6 ms, sysctl_sched_min_granularity 0.75 ms, sysctl_sched_wakeup_granularity 1 ms,
//! each times 1 + log2 of the processors (at most 8); place_entity (half a latency of credit), check_preempt_tick, check_preempt_wakeup.
//! An interrupt is charged to the process that runs meanwhile: so equal programs are charged unequal times, and those behind overtake.

use seekwise_units::Nanos;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What is derived from the number of processors.
#[derive(Clone, Copy, Debug)]
pub struct Fair {
    latency: u64,
    granularity: u64,
    wakeup: u64,
    pub tick: u64,
}

impl Fair {
    /// The scheduler's spans in ns for so many processors; `hz` is ticks per second.
    pub fn new(processors: usize, hz: u32) -> Self {
        let factor = u64::from(1 + (processors.clamp(1, 8) as u32).ilog2());
        Self {
            latency: 6_000_000 * factor,
            granularity: 750_000 * factor,
            wakeup: 1_000_000 * factor,
            tick: 1_000_000_000 / u64::from(hz.max(1)),
        }
    }

    /// Time of one of `runnable` tasks before another's turn.
    fn slice(&self, runnable: u64) -> u64 {
        (self.latency / runnable.max(1)).max(self.granularity)
    }
}

/// What a processor does at its next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreStage {
    /// Takes what is next: an interrupt, a step of the program, another program.
    Next,
    /// Looks for a request to merge with.
    Merge,
    Insert,
    /// Asks the scheduler of a drive.
    Dispatch(usize),
    /// Hands to the drives what it was given.
    Issue,
    /// A request of a drive is done, under the scheduler's lock.
    Finish(usize, u32),
}

#[derive(Debug)]
pub struct Processor {
    pub stage: CoreStage,
    pub current: Option<u32>,
    /// (virtual runtime, order, process).
    pub queue: BinaryHeap<Reverse<(u64, u64, u32)>>,
    order: u64,
    /// Of a task that comes new.
    pub virtual_floor: u64,
    /// When the current task got the processor, and until when it was charged.
    pub turn_began: Nanos,
    pub charged: Nanos,
    next_tick: u64,
    /// Another task is to have its turn.
    pub preempt: bool,
    /// Requests done that it has not been interrupted for: drive and slot.
    pub interrupts: VecDeque<(u32, u32)>,
    /// Drives whose queue of this processor a kernel thread has to run.
    pub kicks: VecDeque<u32>,
    /// Requests that it took from a scheduler and has not handed over yet.
    pub taken: Vec<(usize, u32)>,
    pub submitting: Option<super::process::Submitting>,
    pub busy: Nanos,
    pub spun: Nanos,
    pub locked: Nanos,
}

impl Default for Processor {
    fn default() -> Self {
        Self {
            stage: CoreStage::Next,
            current: None,
            queue: BinaryHeap::new(),
            order: 0,
            virtual_floor: 0,
            turn_began: Nanos::ZERO,
            charged: Nanos::ZERO,
            next_tick: 0,
            preempt: false,
            interrupts: VecDeque::new(),
            kicks: VecDeque::new(),
            taken: Vec::new(),
            submitting: None,
            busy: Nanos::ZERO,
            spun: Nanos::ZERO,
            locked: Nanos::ZERO,
        }
    }
}

impl Processor {
    /// Puts a process into the run queue; the least virtual runtime (ns) runs first, equal ones in order of arrival.
    pub fn enqueue(&mut self, process: u32, virtual_runtime: u64) {
        self.queue
            .push(Reverse((virtual_runtime, self.order, process)));
        self.order += 1;
    }

    /// Charges the current task, and moves the floor with the least charged one.
    pub fn charge(&mut self, now: Nanos, virtual_runtime: &mut u64) {
        *virtual_runtime += now.saturating_sub(self.charged).0;
        self.charged = now;
        let least = match self.queue.peek() {
            Some(Reverse((waiting, ..))) => (*waiting).min(*virtual_runtime),
            None => *virtual_runtime,
        };
        self.virtual_floor = self.virtual_floor.max(least);
    }

    /// The virtual runtime with which a task that slept comes back.
    pub fn placed(&self, fair: &Fair, virtual_runtime: u64) -> u64 {
        virtual_runtime.max(self.virtual_floor.saturating_sub(fair.latency / 2))
    }

    /// A task comes while another runs.
    pub fn woken_beside(&mut self, fair: &Fair, woken: u64, current: u64) {
        if current > woken && current - woken > fair.wakeup {
            self.preempt = true;
        }
    }

    /// Ticks up to `now`: has the current task had its slice?
    #[inline]
    pub fn tick(&mut self, now: Nanos, fair: &Fair, virtual_runtime: &mut u64) {
        if now.0 < self.next_tick {
            return;
        }
        let tick = now.0 / fair.tick * fair.tick;
        self.next_tick = tick + fair.tick;
        self.charge(now, virtual_runtime);
        let Some(Reverse((waiting, ..))) = self.queue.peek() else {
            return;
        };
        let ran = tick.saturating_sub(self.turn_began.0);
        let slice = fair.slice(self.queue.len() as u64 + 1);
        let ahead = virtual_runtime.saturating_sub(*waiting);
        self.preempt |= ran > slice || (ran > fair.granularity && ahead > slice);
    }
}
