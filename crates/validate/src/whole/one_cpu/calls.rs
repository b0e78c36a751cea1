//! What a thread does in and between its calls, until it waits, sleeps or ends.

use crate::whole::cost::IMAGE_SPREAD;
use crate::whole::one_cpu::{Next, OneCpu, Operation, Waits};
use seekwise_device::Device;
use seekwise_host::block::{Bio, BlockQueue, Event, Observer, Submission};
use seekwise_host::job::{Start, Wait};
use seekwise_units::{Lba, Nanos, Sectors};

impl<Q: BlockQueue, D: Device> OneCpu<Q, D> {
    /// Back in user mode: the next call at once, after a sleep, or never.
    pub(crate) fn line(&mut self, thread: usize) {
        let t = &mut self.threads[thread];
        let script = &mut t.process.script;
        let Some(line) = script.operations.get(script.next) else {
            self.end_if_through(thread);
            return;
        };
        if line.wait == Wait::All {
            script.next += 1;
            if t.outstanding == 0 {
                self.run_for(thread, Nanos::ZERO);
            } else {
                t.waits = Waits::All;
                self.sleeps(thread, 0);
            }
            return;
        }
        let due = match line.start {
            Start::After(pause) => self.now + pause,
            Start::At(time) => time.max(self.now + self.costs.late_sleep.unwrap_or_default()),
        };
        t.next = Next::Submit;
        if due > self.now {
            self.sleepers.push((due, thread));
            self.sleeps(thread, 0);
            self.choice = self.now + self.costs.switch_from_sleep;
            // Only who starts a command leaves the idle loop deaf.
            self.falls_asleep &= self.costs.unlocks.is_none();
        } else {
            self.submit(thread);
        }
    }

    /// The call reaches the block layer: the row `submit`; the way to the queue is longer for more pages.
    pub(crate) fn submit(&mut self, thread: usize) {
        let script = &self.threads[thread].process.script;
        let line = script.operations[script.next];
        self.threads[thread].next = Next::Enter;
        self.threads[thread].begun = true;
        let operation = self.operations.len() as u32;
        self.threads[thread].call = operation;
        self.operations.push(Operation {
            thread,
            bios: 0,
            unsubmitted: line.sectors.0,
        });
        let bio = self.bio(
            thread,
            operation,
            line.lba,
            line.sectors.min(self.max_sectors),
        );
        self.watch.note(self.now, Event::Submitted(&bio));
        let doublings = self.doublings();
        let mut enter =
            self.costs.way_in(&line) + Nanos(self.costs.enter_per_doubling.0 * doublings);
        if doublings > 0 {
            enter += self.costs.enter_queued;
        }
        if let Some(image) = &mut self.image {
            let spread = IMAGE_SPREAD.0;
            enter = (enter + Nanos(image.below(2 * spread + 1))).saturating_sub(Nanos(spread));
        }
        self.run_for(thread, enter);
    }

    /// How often the number of requests that wait has doubled from none.
    fn doublings(&self) -> u64 {
        let waiting = (self.queue.allocated() as u64).saturating_sub(self.in_drive);
        u64::from(64 - waiting.leading_zeros())
    }

    fn bio(&self, thread: usize, operation: u32, start: Lba, sectors: Sectors) -> Bio {
        let process = &self.threads[thread].process;
        let line = &process.script.operations[process.script.next];
        Bio {
            sync: line.sync,
            no_idle: line.no_idle,
            priority: process.priority,
            unplug: line.sync,
            ..Bio::new(operation, line.direction, start, sectors, process.id)
        }
    }

    pub(crate) fn enter(&mut self, thread: usize) {
        let operation = self.threads[thread].call;
        let script = &self.threads[thread].process.script;
        let line = script.operations[script.next];
        self.threads[thread].outstanding += 1;
        self.hand_down(thread, operation, line.lba, line.sectors);
    }

    /// Hands an operation (or its rest) down in bios of at most `max_sectors`.
    pub(crate) fn hand_down(
        &mut self,
        thread: usize,
        operation: u32,
        mut at: Lba,
        mut left: Sectors,
    ) {
        let now = self.now;
        self.watch.issued = 0;
        let several = left > self.max_sectors;
        if several {
            self.queue.begin_plug();
        }
        while left.0 > 0 {
            let sectors = left.min(self.max_sectors);
            let bio = self.bio(thread, operation, at, sectors);
            match self
                .queue
                .submit(now, &bio, &mut self.started, &mut self.watch)
            {
                Submission::Accepted => {
                    at = at + sectors;
                    left = Sectors(left.0 - sectors.0);
                    let operation = &mut self.operations[operation as usize];
                    operation.bios += 1;
                    operation.unsubmitted -= sectors.0;
                }
                Submission::Blocked => {
                    self.threads[thread].pending = Some((operation, at, left));
                    break;
                }
            }
        }
        if several {
            self.queue.end_plug(now, &mut self.started, &mut self.watch);
        }
        let started =
            self.hand_over_batch(now + self.costs.to_thread + self.costs.issue + self.costs.start);
        self.wake_blocked();
        if left.0 > 0 {
            self.sleeps(thread, started);
            return;
        }
        let t = &mut self.threads[thread];
        let script = &mut t.process.script;
        let wait = script.operations[script.next].wait;
        script.next += 1;
        t.next = Next::Line;
        match wait {
            Wait::Own => {
                t.waits = Waits::Operation(operation);
                self.sleeps(thread, started);
            }
            // The kernel's thread has waited so long for the processor that it takes it from a call's end.
            Wait::No | Wait::All
                if !self.to_work.is_empty() || self.queue.work_due() || self.is_behind(thread) =>
            {
                self.ready.push(thread);
                self.sleeps(thread, started);
            }
            Wait::No | Wait::All => {
                let returns = if started > 0 {
                    self.costs.returns_started
                } else {
                    self.costs.returns + Nanos(self.costs.returns_per_doubling.0 * self.doublings())
                };
                let length = self.dispatched(started) + returns + self.prepared(thread);
                self.run_for(thread, length);
            }
        }
    }

    /// Somebody who was woken has used so much less that he takes the processor at the end of a call.
    pub(crate) fn is_behind(&self, thread: usize) -> bool {
        let Some(granularity) = self.costs.wake_granularity else {
            return false;
        };
        let used = self.threads[thread].used;
        self.ready
            .iter()
            .any(|&other| self.threads[other].used + granularity < used)
    }

    /// What a call spends on requests issued and commands started, which cost more the more there are in the drive.
    pub(crate) fn dispatched(&self, started: u64) -> Nanos {
        let before = self.in_drive.saturating_sub(started);
        let each = started * before + started * started.saturating_sub(1) / 2;
        Nanos(
            self.costs.issue.0 * self.watch.issued
                + self.costs.start.0 * started
                + self.costs.start_each.0 * each,
        )
    }

    /// The thread gives the processor away, after what its call still had to do.
    pub(crate) fn sleeps(&mut self, thread: usize, started: u64) {
        let dispatched = self.dispatched(started);
        let length = dispatched + self.costs.switch_out;
        self.unlocked = self.now + dispatched + self.costs.unlocks.unwrap_or_default();
        self.from_idle = false;
        self.watch.issued = 0;
        self.threads[thread].used += length;
        self.choice = self.now + length;
        self.falls_asleep = true;
    }

    pub(crate) fn end_if_through(&mut self, thread: usize) {
        let t = &mut self.threads[thread];
        let through = t.process.script.next >= t.process.script.operations.len();
        if t.ended || !through || t.outstanding > 0 || t.pending.is_some() {
            return;
        }
        t.ended = true;
        if !self.costs.exits_at_once {
            return;
        }
        let process = t.process.id;
        let now = self.now;
        self.queue
            .process_exits(now, process, &mut self.started, &mut self.watch);
        self.hand_over(now + self.costs.issue + self.costs.start);
    }
}
