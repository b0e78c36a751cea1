//! Decisions of kernels with the single request queue: noop, deadline, anticipatory, cfq.
//!
//! The recording is walked row by row. The policy hears of insertions, merges and completions and is asked at two kinds of
//! points: at each `issue` row, which request it dispatches; and where the queue was run and nothing came of it, whether it
//! too dispatches nothing. After a wrong answer its state is restored, and it is made to take what the kernel took.
//!
//! Protocol: REPLAY.md beside the vectors.

use crate::outcome::{Look, Tally};
use crate::processes::Processes;
use crate::queue::{words, Queue};
use crate::rows::{Event, RecordedRow};
use crate::walk::{lost, Walk};
use seekwise_sched::{Kernel, ProcessId, RequestId, Scheduler};
use seekwise_units::Nanos;
use std::collections::BTreeMap;

/// Linux 2.6.23 to 2.6.38 block: unplug_thresh and unplug_delay.
const PLUG_REQUESTS: u64 = 4;
const PLUG_MILLIS: u64 = 3;

/// `max_sectors_kb` 512 in all recordings.
const SECTORS_MAX: u64 = 1024;

/// The device of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Requests it takes at once.
    pub depth: u32,
    /// Recorded without `start` rows.
    pub null_blk: bool,
    pub rotational: bool,
}

/// A legacy recording's place in the world, from its name `<kernel>__<workload>__<device>.csv` and its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub kernel: Kernel,
    pub workload: String,
    pub device: Device,
}

impl Name {
    /// Splits a file's name without `.csv`. The error is one sentence: wrong form, unknown kernel or device, depth outside 1 to 4096.
    pub fn parse(file_stem: &str) -> Result<Self, String> {
        let parts: Vec<_> = file_stem.split("__").collect();
        let [kernel, workload, device] = parts[..] else {
            return Err("the name is not <kernel>__<workload>__<device>.csv".to_owned());
        };
        // Recordings without a suffix ticked at 1000 Hz.
        let kernel = Kernel::parse(kernel, 1000)?;
        let unknown = || format!("the device \"{device}\" is not fixedN, linearN or nullblkNrotM");
        let number = |text: &str| {
            text.parse()
                .ok()
                .filter(|depth| (1..=4096).contains(depth))
                .ok_or_else(unknown)
        };
        let device = if let Some(rest) = device.strip_prefix("nullblk") {
            let (depth, rotational) = rest.split_once("rot").ok_or_else(unknown)?;
            let rotational = match rotational {
                "0" => false,
                "1" => true,
                _ => return Err(unknown()),
            };
            Device {
                depth: number(depth)?,
                null_blk: true,
                rotational,
            }
        } else {
            let depth = device
                .strip_prefix("fixed")
                .or(device.strip_prefix("linear"))
                .ok_or_else(unknown)?;
            Device {
                depth: number(depth)?,
                null_blk: false,
                rotational: true,
            }
        };
        Ok(Self {
            kernel,
            workload: workload.to_owned(),
            device,
        })
    }
}

struct Replay<'a, S> {
    policy: S,
    queue: Queue,
    rows: &'a [RecordedRow],
    name: &'a Name,
    processes: &'a Processes,
    /// Sectors still to be completed before a process ends.
    left: BTreeMap<u32, u64>,
    issues: u64,
    starts: u64,
    completes: u64,
    /// The queue is plugged, at the latest until then.
    plugged_until: Option<Nanos>,
    tally: Tally,
}

/// Replays `rows` on `policy`. On an error the tally holds the points up to there.
pub fn replay<S: Scheduler>(
    policy: S,
    rows: &[RecordedRow],
    name: &Name,
    processes: &Processes,
    explain: Option<usize>,
) -> (Tally, Option<Look>, Result<(), String>) {
    let replay = Replay {
        policy,
        queue: Queue::default(),
        rows,
        name,
        processes,
        left: processes.sectors.clone(),
        issues: 0,
        starts: 0,
        completes: 0,
        plugged_until: None,
        tally: Tally::default(),
    };
    replay.walk(explain)
}

impl<S: Scheduler> Replay<'_, S> {
    fn fire_policy(&mut self, now: Nanos) {
        while let Some(due) = self.policy.timer().filter(|due| *due <= now) {
            if self.policy.fire(due) {
                self.run_quietly(due);
            }
        }
    }

    /// Until 2.6.38 a request that enters an empty queue plugs it, so that others may join before the driver looks.
    fn plug(&mut self, now: Nanos) {
        if !self.name.kernel.at_least(2, 6, 39) {
            let kernel = &self.name.kernel;
            let ticks = (PLUG_MILLIS * kernel.hz as u64 / 1000).max(1);
            self.plugged_until = Some(kernel.tick_start(kernel.jiffies(now) + ticks));
        }
    }

    /// Does this insertion run the queue? From 2.6.39 on every one does, as its submitter's plug is flushed.
    fn unplugs(&mut self, row: &RecordedRow) -> bool {
        if self.name.kernel.at_least(2, 6, 39) {
            return true;
        }
        let enough = self.queue.waiting() as u64 + self.dispatched() >= PLUG_REQUESTS;
        self.plugged_until.is_some() && (row.sync || enough) && self.plugged_until.take().is_some()
    }

    /// The queue is run where nothing can be concluded from the recording: the policy may come to rest in another state
    /// (a queue chosen, a wait begun), but a request that it would dispatch stays until an `issue` row asks for it.
    fn run_quietly(&mut self, now: Nanos) {
        if self.dispatched() > 0 {
            return;
        }
        let before = self.policy.clone();
        if self.policy.dispatch(now).is_some() {
            self.policy = before;
        }
    }

    /// A process ends at once after its last request has completed.
    fn give_back(&mut self, now: Nanos, process: ProcessId, sectors: u64) {
        let Some(left) = self.left.get_mut(&process.0) else {
            return;
        };
        *left = left.saturating_sub(sectors);
        if *left == 0 {
            self.left.remove(&process.0);
            self.policy.process_exits(now, process);
        }
    }

    /// Requests between `issue` and `start`.
    fn dispatched(&self) -> u64 {
        if self.name.device.null_blk {
            (self.issues - self.completes).saturating_sub(self.name.device.depth.into())
        } else {
            self.issues - self.starts
        }
    }

    fn issue_point(&mut self, row: &RecordedRow, recorded: RequestId) {
        let before = self.policy.clone();
        let waiting = self.queue.waiting();
        let mut chosen = self.policy.dispatch(row.time);
        // Work done from a tick's timers shows some microseconds late: one that is due within a tick may fire now.
        if chosen.is_none() {
            let soon = row.time + self.name.kernel.tick();
            if self.policy.timer().is_some_and(|due| due <= soon) {
                self.policy.fire(row.time);
                chosen = self.policy.dispatch(row.time);
            }
        }
        let right = chosen.is_some_and(|id| self.queue.matches(id, row));
        self.tally.issue_point(right, waiting >= 2);
        match chosen {
            Some(id) if right => self.queue.issue(id),
            _ => {
                self.miss(
                    row,
                    "issue",
                    words(self.queue.get(recorded)),
                    chosen,
                    |_, state| before.describe(row.time, state),
                );
                self.policy = before;
                self.policy.dispatch_forced(row.time, recorded);
                self.queue.issue(recorded);
            }
        }
    }

    /// After row `at`, which ran the queue.
    fn nothing_point(&mut self, at: usize) {
        let row = &self.rows[at];
        if self.dispatched() > 0 {
            return;
        }
        if self.queue.waiting() == 0 || self.issue_follows(at) {
            self.run_quietly(row.time);
            return;
        }
        let before = self.policy.clone();
        let chosen = self.policy.dispatch(row.time);
        self.tally.nothing_point(chosen.is_none(), true);
        if chosen.is_some() {
            self.miss(row, "nothing", "nothing".to_owned(), chosen, |_, state| {
                before.describe(row.time, state);
            });
            self.policy = before;
        }
    }
}

impl<S: Scheduler> Walk for Replay<'_, S> {
    fn rows(&self) -> &[RecordedRow] {
        self.rows
    }

    fn queue(&self) -> &Queue {
        &self.queue
    }

    fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }

    fn fire_timers(&mut self, now: Nanos) {
        if let Some(due) = self.plugged_until.filter(|due| *due <= now) {
            self.fire_policy(due);
            self.plugged_until = None;
            self.run_quietly(due);
        }
        self.fire_policy(now);
    }

    fn row(&mut self, at: usize) -> Result<(), String> {
        let row = &self.rows[at];
        match row.event {
            Event::Submit => {}
            Event::Insert => {
                self.policy.take_queue_kick(); // Of a completion, which ran the queue anyway.
                if self.queue.waiting() == 0 && self.dispatched() == 0 {
                    self.plug(row.time);
                }
                self.queue
                    .insert(&mut self.policy, row, &self.processes.priorities);
                if self.unplugs(row) | self.policy.take_queue_kick() {
                    self.run_quietly(row.time);
                }
            }
            Event::BackMerge | Event::FrontMerge | Event::Merge => {
                self.queue.merge(
                    &mut self.policy,
                    row,
                    &self.processes.priorities,
                    SECTORS_MAX,
                );
            }
            Event::Issue => {
                let recorded = self
                    .queue
                    .named(row, true)
                    .ok_or_else(|| lost(row, "that waits"))?;
                self.issue_point(row, recorded);
                self.issues += 1;
                if self.name.device.null_blk {
                    self.nothing_point(at);
                }
            }
            Event::Start => {
                self.starts += 1;
                if self.starts > self.issues {
                    return Err(lost(row, "that was issued"));
                }
                if !self.name.device.null_blk {
                    self.nothing_point(at);
                }
            }
            Event::Complete => {
                let done = self
                    .queue
                    .complete(&mut self.policy, row)
                    .ok_or_else(|| lost(row, "with the device"))?;
                self.completes += 1;
                for (process, sectors) in done.shares {
                    self.give_back(row.time, process, sectors);
                }
                self.nothing_point(at);
            }
        }
        Ok(())
    }

    fn state(&self, row: &RecordedRow) -> (String, Option<RequestId>) {
        let mut state = String::new();
        self.policy.describe(row.time, &mut state);
        (state, self.policy.clone().dispatch(row.time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_kernel_workload_and_device() {
        let name = Name::parse("2.6.24-hz250__seq4_b__linear1").unwrap();
        assert_eq!(
            (name.kernel, name.workload.as_str()),
            (Kernel::new(2, 6, 24, 250), "seq4_b")
        );
        assert_eq!(
            name.device,
            Device {
                depth: 1,
                null_blk: false,
                rotational: true
            }
        );
        let name = Name::parse("4.4.178__rand4_a__nullblk32rot0").unwrap();
        assert_eq!(
            name.device,
            Device {
                depth: 32,
                null_blk: true,
                rotational: false
            }
        );
        assert_eq!(name.kernel.hz, 1000);
        for wrong in [
            "mixed",
            "4.4__x",
            "4.4__x__tape1",
            "4.4__x__fixed0",
            "4.4__x__nullblk1",
            "k__x__fixed1",
        ] {
            assert!(Name::parse(wrong).is_err(), "{wrong}");
        }
    }
}
