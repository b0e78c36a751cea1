//! The flusher: a background pass while too much is dirty, and every five seconds what is older than thirty.

use crate::files::machine::FileEngine;
use crate::files::pass::PassEnd;
use crate::files::{Files, Role, TaskState};
use seekwise_device::Device;
use seekwise_host::block::{BlockQueue, Observer};
use seekwise_host::cache::write_back::{EXPIRE, PERIOD};
use seekwise_units::Nanos;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Rest,
    /// A kick came: background writing is due.
    Kicked,
    Background,
    Old,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flusher {
    at: At,
    period_end: Nanos,
}

impl Flusher {
    /// True when it was at rest.
    pub(crate) fn kick(&mut self) -> bool {
        let rested = self.at == At::Rest;
        if rested {
            self.at = At::Kicked;
        }
        rested
    }
}

/// Pages of one round of a background pass.
const ROUND: u64 = 1024;
const CONGESTION_WAIT: Nanos = Nanos::from_millis(100);

impl<Q: BlockQueue, D: Device, O: Observer> FileEngine<Q, D, O> {
    pub(crate) fn step_flusher(&mut self, files: &mut Files, index: usize) {
        loop {
            let Role::Flusher(flusher) = files.tasks[index].role else {
                return;
            };
            match flusher.at {
                At::Rest => {
                    if self.now < flusher.period_end {
                        files.tasks[index].state = TaskState::Ready(flusher.period_end);
                        return;
                    }
                    files.set_flusher(index, At::Old, self.now + PERIOD);
                    let before = self.now.saturating_sub(EXPIRE);
                    if self.now >= EXPIRE {
                        files.begin_pass(index, u64::MAX, before, false);
                    } else {
                        files.set_flusher(index, At::Rest, self.now + PERIOD);
                    }
                }
                At::Kicked => {
                    if !self.begin_background(files, index, flusher.period_end) {
                        continue;
                    }
                }
                At::Background | At::Old => {
                    let background = flusher.at == At::Background;
                    match self.run_pass(files, index) {
                        PassEnd::NotYet => return,
                        PassEnd::Congested => {
                            files.set_flusher(index, At::Kicked, flusher.period_end);
                            files.was_congested = self.congested();
                            files.tasks[index].state =
                                TaskState::Congested(self.now + CONGESTION_WAIT);
                            return;
                        }
                        PassEnd::Done if background => {
                            files.set_flusher(index, At::Kicked, flusher.period_end);
                            if files.tasks[index].pass.written == 0 {
                                // Every file is at another task: look again soon.
                                files.tasks[index].state =
                                    TaskState::Ready(self.busy_until() + Nanos::from_millis(10));
                                return;
                            }
                        }
                        PassEnd::Done => files.set_flusher(index, At::Rest, flusher.period_end),
                    }
                }
            }
            if !self.goes_on(files) {
                return self.pause(files, index);
            }
        }
    }

    /// Begins a round of background writing; false when none is due any more.
    fn begin_background(&mut self, files: &mut Files, index: usize, period_end: Nanos) -> bool {
        let load = files.load();
        if !files.background_due(&load) {
            files.set_flusher(index, At::Rest, period_end);
            return false;
        }
        files.set_flusher(index, At::Background, period_end);
        let (tick, seen) = (files.plan.kernel.jiffies(self.now), files.seen());
        if let Some(pacing) = &mut files.plan.pacing {
            pacing.flusher_looks(tick, &seen);
        }
        let pages = files.turn().max(ROUND);
        let avoids = files.plan.generation.background_avoids_congestion();
        files.begin_pass(index, pages, Nanos::NEVER, avoids);
        true
    }
}

impl Files {
    fn set_flusher(&mut self, index: usize, at: At, period_end: Nanos) {
        self.tasks[index].role = Role::Flusher(Flusher { at, period_end });
    }
}
