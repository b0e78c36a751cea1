//! The event loop: drives, timers of their schedulers and processors, whichever comes first.

use super::costs::HostCosts;
use super::lock::LockHold;
use super::process::{Process, State, Submitting};
use super::processor::{CoreStage, Fair, Processor};
use super::side::Side;
use crate::result::histogram::Histogram;
use crate::result::Windows;
use seekwise_device::Device;
use seekwise_sched::{Direction, Scheduler};
use seekwise_units::Nanos;
use std::cmp::Reverse;

/// What the processes of a group came to in one direction.
#[derive(Clone, Debug, Default)]
pub struct Served {
    pub latency: Histogram,
    pub sectors: u64,
}

pub struct Machine<S, D> {
    pub sides: Vec<Side<S, D>>,
    pub processors: Vec<Processor>,
    /// When each processor does something next; never: it is idle.
    due: Vec<Nanos>,
    processes: Vec<Process>,
    fair: Fair,
    costs: HostCosts,
    /// A kernel thread dispatches reads, and writes.
    worker: [bool; 2],
    switch: Nanos,
    now: Nanos,
    /// Of each group, reads and writes.
    pub served: Vec<[Served; 2]>,
    /// Nothing is recorded before.
    record_from: Nanos,
    pub windows: Windows,
    pub events: u64,
}

fn place(direction: Direction) -> usize {
    usize::from(direction == Direction::Write)
}

impl<S: Scheduler, D: Device> Machine<S, D> {
    /// `processes` stand on their first cores and begin together.
    pub fn new(
        sides: Vec<Side<S, D>>,
        cores: usize,
        processes: Vec<Process>,
        fair: Fair,
        costs: HostCosts,
        worker: [bool; 2],
    ) -> Self {
        let groups = processes.iter().map(|process| process.group + 1).max();
        let mut due = vec![Nanos::NEVER; cores];
        let mut processors: Vec<Processor> = (0..cores).map(|_| Processor::default()).collect();
        for (index, process) in processes.iter().enumerate() {
            let processor = &mut processors[process.core];
            processor.enqueue(index as u32, 0);
            due[process.core] = Nanos::ZERO;
        }
        let crowd = processes.len() as f64 / cores as f64 / f64::from(costs.cached_processes);
        let cold = libm::log2(crowd.max(1.0)) * costs.switch_cold.0 as f64;
        Self {
            sides,
            processors,
            due,
            processes,
            fair,
            worker,
            switch: costs.switch + Nanos(cold as u64),
            costs,
            now: Nanos::ZERO,
            served: vec![Default::default(); groups.unwrap_or(0)],
            record_from: Nanos::ZERO,
            windows: Windows::new(Nanos::ZERO),
            events: 0,
        }
    }

    /// Runs for `ramp`, and then for `span`, of which alone the results tell.
    pub fn run(&mut self, ramp: Nanos, span: Nanos) {
        self.record_from = self.now + ramp;
        self.until(self.now + ramp);
        for processor in &mut self.processors {
            (processor.busy, processor.spun, processor.locked) = Default::default();
        }
        self.events = 0;
        self.windows = Windows::new(self.now);
        self.until(self.now + span);
    }

    fn until(&mut self, end: Nanos) {
        loop {
            let (mut at, mut which) = (Nanos::NEVER, usize::MAX);
            for (index, &due) in self.due.iter().enumerate() {
                if due < at {
                    (at, which) = (due, index);
                }
            }
            let cores = self.due.len();
            for (index, side) in self.sides.iter().enumerate() {
                // An interrupt before what a processor does at the same time.
                if side.done_at <= at {
                    (at, which) = (side.done_at, cores + 2 * index);
                }
                if side.timer_at < at {
                    (at, which) = (side.timer_at, cores + 2 * index + 1);
                }
            }
            if at >= end {
                self.now = end;
                return;
            }
            self.now = at;
            self.events += 1;
            match which.checked_sub(cores) {
                None => self.act(which),
                Some(side) if side % 2 == 0 => self.device_due(side / 2),
                Some(side) => self.timer_due(side / 2),
            }
        }
    }

    #[inline]
    fn device_due(&mut self, drive: usize) {
        let side = &mut self.sides[drive];
        let done = side.device.advance(self.now);
        side.look();
        if let Some(tag) = done {
            let core = side.entry(tag.0).core as usize;
            let interrupts = &mut self.processors[core].interrupts;
            interrupts.push_back((drive as u32, tag.0));
            if self.due[core] == Nanos::NEVER {
                self.due[core] = self.now;
            }
        }
    }

    /// A kernel thread does what a timer asks for; its own time is not booked.
    #[cold]
    fn timer_due(&mut self, drive: usize) {
        let now = self.now;
        let side = &mut self.sides[drive];
        if side.fire(now) {
            // Of policies with a queue for each core none runs its queues by a timer.
            while let Some(slot) = side.dispatch(now, 0) {
                side.start(now, slot);
            }
        }
    }

    #[inline]
    fn act(&mut self, core: usize) {
        let now = self.now;
        match self.processors[core].stage {
            CoreStage::Next => self.next(core, now),
            CoreStage::Merge => self.merge(core, now),
            CoreStage::Insert => self.insert(core, now),
            CoreStage::Dispatch(drive) => self.dispatch(core, drive, now),
            CoreStage::Issue => self.issue(core, now),
            CoreStage::Finish(drive, slot) => self.finish(core, drive, slot, now),
        }
        if self.due[core] != Nanos::NEVER {
            self.processors[core].busy += self.due[core] - now;
        }
    }

    /// Under a lock until its section is through.
    #[inline]
    fn stays(&mut self, core: usize, now: Nanos, stay: LockHold, stage: CoreStage) {
        let processor = &mut self.processors[core];
        processor.spun += stay.from - now;
        processor.locked += stay.until - stay.from;
        processor.stage = stage;
        self.due[core] = stay.until;
    }

    fn submitting(&self, core: usize) -> Submitting {
        self.processors[core]
            .submitting
            .expect("a submission is under way")
    }

    fn merge(&mut self, core: usize, now: Nanos) {
        let side = &mut self.sides[self.processors[core].submitting.map_or(0, |s| s.drive)];
        if side.sections.merge_skipped && side.lock.is_held(now) {
            return self.insert(core, now);
        }
        let stay = side.lock.take(core, now, side.sections.merge);
        self.stays(core, now, stay, CoreStage::Insert);
    }

    fn insert(&mut self, core: usize, now: Nanos) {
        let submitting = self.submitting(core);
        let process = self.processors[core].current.unwrap_or(0);
        let drive = submitting.drive;
        let by_worker = self.worker[place(submitting.direction)];
        let side = &mut self.sides[drive];
        let slot = side.allocate(now, core, process, &submitting);
        if side.policy.is_none() {
            side.start(now, slot);
            return self.submitted(core, now);
        }
        if side.sections.locked {
            let stay = side.lock.take(core, now, side.sections.insert);
            side.insert(stay.from, slot);
            self.stays(core, now, stay, CoreStage::Dispatch(drive));
        } else {
            side.insert(now, slot);
            self.processors[core].stage = CoreStage::Dispatch(drive);
            self.due[core] = now;
            if !by_worker {
                return self.dispatch(core, drive, now);
            }
        }
        if by_worker {
            self.due[core] += self.costs.worker;
            self.processors[core].charged += self.costs.worker;
        }
    }

    fn dispatch(&mut self, core: usize, drive: usize, now: Nanos) {
        let side = &mut self.sides[drive];
        if !side.sections.locked {
            while let Some(slot) = side.dispatch(now, core) {
                side.start(now, slot);
            }
            return self.submitted(core, now);
        }
        if !side.waits() {
            // Looked at without the lock (Linux 6.3 block/mq-deadline.c: dd_has_work).
            return self.issue(core, now);
        }
        let stay = side.lock.take(core, now, side.sections.dispatch);
        let mut stage = CoreStage::Issue;
        if let Some(slot) = side.dispatch(stay.from, core) {
            // Everything that there is, one by one, before any of it is issued (Linux 6.3 block/blk-mq-sched.c: __blk_mq_do_dispatch_sched).
            if side.waits() {
                stage = CoreStage::Dispatch(drive);
            }
            self.processors[core].taken.push((drive, slot));
        }
        self.stays(core, now, stay, stage);
    }

    fn issue(&mut self, core: usize, now: Nanos) {
        let mut taken = std::mem::take(&mut self.processors[core].taken);
        for (drive, slot) in taken.drain(..) {
            self.sides[drive].start(now, slot);
        }
        self.processors[core].taken = taken;
        self.submitted(core, now);
    }

    /// The system call returns.
    #[inline]
    fn submitted(&mut self, core: usize, now: Nanos) {
        let processor = &mut self.processors[core];
        if let (Some(submitting), Some(process)) = (processor.submitting.take(), processor.current)
        {
            let Submitting {
                io,
                direction,
                sectors,
                ..
            } = submitting;
            self.processes[process as usize].issued[io as usize] = (now, direction, sectors);
        }
        processor.stage = CoreStage::Next;
        self.due[core] = now;
        self.next(core, now);
    }

    fn finish(&mut self, core: usize, drive: usize, slot: u32, now: Nanos) {
        let side = &mut self.sides[drive];
        let work = side.sections.finish.unwrap_or_default();
        let stay = side.lock.take(core, now, work);
        let kick = side.complete(stay.from, slot);
        let stage = if kick {
            CoreStage::Dispatch(drive)
        } else {
            CoreStage::Next
        };
        self.stays(core, now, stay, stage);
        self.completed(core, drive, slot, stay.until);
    }

    /// What a processor does next: an interrupt, a step of its program, another program.
    fn next(&mut self, core: usize, now: Nanos) {
        loop {
            if let Some((drive, slot)) = self.processors[core].interrupts.pop_front() {
                return self.interrupt(core, drive as usize, slot, now);
            }
            let processor = &mut self.processors[core];
            if let Some(drive) = processor.kicks.pop_front() {
                // The thread is charged for itself.
                self.due[core] = now + self.costs.worker;
                processor.charged += self.costs.worker;
                processor.stage = CoreStage::Dispatch(drive as usize);
                return;
            }
            let Some(current) = processor.current else {
                let Some(Reverse((_, _, process))) = processor.queue.pop() else {
                    self.due[core] = Nanos::NEVER;
                    return;
                };
                processor.current = Some(process);
                (processor.turn_began, processor.charged) = (now, now);
                self.due[core] = now + self.switch;
                return;
            };
            let process = &mut self.processes[current as usize];
            processor.tick(now, &self.fair, &mut process.virtual_runtime);
            if std::mem::take(&mut processor.preempt) && !processor.queue.is_empty() {
                processor.charge(now, &mut process.virtual_runtime);
                processor.enqueue(current, process.virtual_runtime);
                processor.current = None;
                continue;
            }
            if self.step(core, current, now) {
                return;
            }
        }
    }

    /// The program on the processor reaps and submits. False: it sleeps.
    #[inline]
    fn step(&mut self, core: usize, current: u32, now: Nanos) -> bool {
        let drives = self.sides.len();
        let process = &mut self.processes[current as usize];
        let submitting = match process.blocked.take() {
            Some(blocked) => blocked,
            None if process.outstanding < process.depth => process.draw(drives),
            None => match process.done.pop_front() {
                Some(io) => {
                    let (issued, direction, sectors) = process.issued[io as usize];
                    process.free.push(io);
                    process.outstanding -= 1;
                    if now >= self.record_from {
                        let served = &mut self.served[process.group][place(direction)];
                        let latency = now.saturating_sub(issued);
                        served.latency.record(latency);
                        served.sectors += sectors.0;
                        self.windows.record(now, sectors.0, latency);
                    }
                    process.draw(drives)
                }
                None => {
                    self.leave(core, current, now, State::Asleep);
                    return false;
                }
            },
        };
        let side = &mut self.sides[submitting.drive];
        if !side.has_tag(core, current, submitting.direction) {
            process.blocked = Some(submitting);
            side.waiters[core].push_back(current);
            self.leave(core, current, now, State::Blocked);
            return false;
        }
        let (mut work, mut stage) = (self.costs.submit, CoreStage::Insert);
        if side.policy.is_some() {
            work += self.costs.path;
            if side.sections.locked {
                stage = CoreStage::Merge;
            } else {
                work += side.sections.work();
            }
        }
        let processor = &mut self.processors[core];
        processor.submitting = Some(submitting);
        processor.stage = stage;
        self.due[core] = now + work;
        true
    }

    fn leave(&mut self, core: usize, current: u32, now: Nanos, state: State) {
        let process = &mut self.processes[current as usize];
        process.state = state;
        let processor = &mut self.processors[core];
        processor.charge(now, &mut process.virtual_runtime);
        processor.current = None;
    }

    #[inline]
    fn interrupt(&mut self, core: usize, drive: usize, slot: u32, now: Nanos) {
        let until = now + self.costs.interrupt;
        let processor = &mut self.processors[core];
        self.due[core] = until;
        let side = &mut self.sides[drive];
        if side.policy.is_some() && side.sections.finish.is_some() {
            processor.stage = CoreStage::Finish(drive, slot);
            return;
        }
        if side.policy.is_some() && side.complete(now, slot) {
            self.kick(drive, until);
        }
        self.completed(core, drive, slot, until);
    }

    /// Queues that waited are run by the kernel's workers, each on its own processor (Linux 6.3 block/kyber-iosched.c: kyber_domain_wake).
    fn kick(&mut self, drive: usize, now: Nanos) {
        for core in 0..self.due.len() {
            if self.sides[drive].take_woken(core) {
                self.processors[core].kicks.push_back(drive as u32);
                if self.due[core] == Nanos::NEVER {
                    self.due[core] = now;
                }
            }
        }
    }

    /// A request is over: its program is told, and the process that waits for its tag.
    #[inline]
    fn completed(&mut self, core: usize, drive: usize, slot: u32, now: Nanos) {
        let side = &mut self.sides[drive];
        let entry = side.release(slot);
        let index = entry.request.process.0;
        let waiter = side.waiters[entry.core as usize].pop_front();
        let process = &mut self.processes[index as usize];
        process.done.push_back(entry.io);
        if process.state == State::Asleep {
            self.wake(core, index, now);
        }
        if let Some(waiter) = waiter {
            self.wake(core, waiter, now);
        }
    }

    /// Onto its own processor, or an idle one if that is busy (Linux 6.3 kernel/sched/fair.c: select_idle_sibling).
    fn wake(&mut self, from: usize, index: u32, now: Nanos) {
        let process = &mut self.processes[index as usize];
        process.state = State::Runnable;
        let own = process.core;
        let free = |core: usize| {
            let processor = &self.processors[core];
            let interrupted = core == from && processor.current.is_none();
            (self.due[core] == Nanos::NEVER || interrupted) && processor.queue.is_empty()
        };
        if !free(own) {
            // A tag is one of its core's.
            if let (None, Some(other)) = (
                process.blocked,
                (0..self.due.len()).find(|&core| free(core)),
            ) {
                let passed = process
                    .virtual_runtime
                    .saturating_sub(self.processors[own].virtual_floor);
                process.virtual_runtime = self.processors[other].virtual_floor + passed;
                process.core = other;
            }
        }
        let processor = &mut self.processors[process.core];
        process.virtual_runtime = processor.placed(&self.fair, process.virtual_runtime);
        let woken = process.virtual_runtime;
        processor.enqueue(index, woken);
        let due = &mut self.due[process.core];
        if *due == Nanos::NEVER {
            *due = now;
        } else if let Some(current) = processor.current {
            let running = self.processes[current as usize].virtual_runtime
                + now.saturating_sub(processor.charged).0;
            self.processors[self.processes[index as usize].core]
                .woken_beside(&self.fair, woken, running);
        }
    }
}
