//! Tasks take the processors in turn, phase after phase.

use crate::files::machine::{FileEngine, Sender};
use crate::files::plan::{FilesPlan, PhaseOutcome, Start};
use crate::files::state::{Doing, Files, Role, TaskState, Wait};
use crate::result::Calls;
use seekwise_device::Device;
use seekwise_host::block::BlockQueue;
use seekwise_host::cpu::{Payer, Times};
use seekwise_units::Nanos;
/// A task gives the processor up after this long when others want it (sched_min_granularity: 0.75 to 4 ms).
const SLICE: Nanos = Nanos::from_millis(1);
/// Processors at work at once take turns in the event loop after this long; a step must get somewhere.
const GRAIN: Nanos = Nanos::from_micros(50);

impl<Q: BlockQueue, D: Device> FileEngine<Q, D> {
    /// Puts files and their users on the volume; [`FileEngine::run_files`] runs them.
    pub fn set_files(&mut self, plan: FilesPlan) {
        self.host.other_processors = vec![Nanos::ZERO; plan.processors.max(1) as usize - 1];
        self.host.files = Some(Box::new(Files::new(plan)));
    }

    /// Runs all phases; None when they do not end before `end`.
    pub fn run_files(&mut self, end: Nanos) -> Option<Vec<PhaseOutcome>> {
        self.begin_file_phases();
        self.run_until(end, true);
        let files = self.host.files.as_mut()?;
        files.over().then(|| core::mem::take(&mut files.outcomes))
    }

    /// Runs a plan of one phase, starting at the next whole second, and returns the calls completed within `span`. Calls still in flight
    /// at that point complete but are not counted. The state of drives, queues and md carries over from the previous load.
    pub fn run_span(&mut self, mut plan: FilesPlan, span: Nanos) -> Calls {
        const SECOND: u64 = 1_000_000_000;
        let free = self.busy_until();
        self.now = Nanos(free.0.div_ceil(SECOND) * SECOND);
        let end = self.now + span;
        for phase in &mut plan.phases {
            phase.runtime = span;
        }
        self.set_files(plan);
        self.begin_file_phases();
        self.run_until(end, false);
        let outcome = |files: &Files| files.outcomes.first().map(|outcome| outcome.done);
        let done = self.host.files.as_deref().and_then(outcome);
        self.run_until(Nanos::NEVER, false);
        done.unwrap_or_default()
    }

    fn begin_file_phases(&mut self) {
        if let Some(mut files) = self.host.files.take() {
            self.begin_file_phase(&mut files);
            self.host.files = Some(files);
        }
    }

    fn begin_file_phase(&mut self, files: &mut Files) {
        let Some(&plan) = files.plan.phases.get(files.phase) else {
            for task in &mut files.tasks {
                task.state = TaskState::Ended;
            }
            return;
        };
        if plan.drop_caches {
            files.cache.drop_clean();
            files.path_known.clear();
            files.place_dirty.clear();
        }
        if !files.plan.written && (files.phase > 0 || plan.random || !plan.write) {
            files.complete_files();
        }
        let begin = self.now + plan.idle.map_or(Nanos::ZERO, |idle| files.idle_time(idle));
        self.host.times = Times::new(files.plan.kernel.hz);
        files.outcomes.push(PhaseOutcome {
            began: begin,
            ended: begin,
            held: -(self.held_bytes() as i64),
            latency: (files.plan.barriers || plan.direct.is_some()).then(Box::default),
            ..PhaseOutcome::default()
        });
        files.running = 0;
        files.deadline = Nanos(begin.0.saturating_add(plan.runtime.0));
        for index in 0..files.tasks.len() {
            let Role::Thread(thread) = &mut files.tasks[index].role else {
                continue;
            };
            thread.doing = Doing::Calls;
            thread.calls_left = plan.calls;
            let Start { after, page } = files.plan.starts[index];
            (thread.page, thread.call_end) = (page, page);
            thread.read_ahead = plan.read_ahead;
            files.tasks[index].state = TaskState::Ready(begin + after);
            files.running += 1;
        }
    }

    /// The task has a processor: it works until it waits or has to give it up.
    pub(crate) fn step_task(&mut self, index: usize) {
        let Some(mut files) = self.host.files.take() else {
            return;
        };
        self.take_processor();
        self.set_horizon(&mut files, index);
        self.host.payer = match files.tasks[index].role {
            Role::Thread(_) => Payer::System,
            _ => Payer::KernelThread,
        };
        match files.tasks[index].role {
            Role::Thread(_) => self.step_thread(&mut files, index),
            Role::Flusher(_) => self.step_flusher(&mut files, index),
            Role::Journal(_) => self.step_journal(&mut files, index),
        }
        self.spend_commands();
        // A task that sleeps has been switched away from and will be switched to.
        let sleeps =
            !matches!(files.tasks[index].state, TaskState::Ready(at) if at <= self.busy_until());
        files.kept_by = (files.plan.keeps_processor && !sleeps).then_some(index);
        if sleeps {
            let now = self.busy_until();
            self.host
                .times
                .book(self.host.payer, now, self.host.costs.switch);
        }
        if files.running == 0 && !files.over() {
            files.phase += 1;
            self.begin_file_phase(&mut files);
        }
        self.host.files = Some(files);
    }

    fn set_horizon(&self, files: &mut Files, running: usize) {
        let mut horizon = if files.deadline > self.now {
            files.deadline
        } else {
            Nanos::NEVER
        };
        let others = self.host.other_processors.iter().min().copied();
        for (index, task) in files.tasks.iter().enumerate() {
            let (TaskState::Ready(at) | TaskState::Congested(at)) = task.state else {
                continue;
            };
            if index == running || files.plan.keeps_processor {
                continue;
            }
            let wanted = match others {
                // Another processor takes it.
                Some(free) => at.max(free).max(self.now + GRAIN),
                None if at > self.now => at,
                None => self.now + SLICE,
            };
            horizon = horizon.min(wanted);
        }
        files.horizon = horizon;
    }

    /// The step may work on at the time to which its processor has come.
    pub(super) fn goes_on(&mut self, files: &Files) -> bool {
        let time = self.busy_until();
        if time >= files.horizon || time >= self.next_drive_event() {
            return false;
        }
        self.now = time;
        true
    }

    /// The step ends; the task wants to go on.
    pub(super) fn pause(&mut self, files: &mut Files, index: usize) {
        files.tasks[index].state = TaskState::Ready(self.busy_until());
    }

    pub(super) fn wait(&mut self, files: &mut Files, index: usize, wait: Wait) {
        if files.satisfied(wait) {
            self.pause(files, index);
        } else {
            files.tasks[index].state = TaskState::Waits(wait);
        }
    }

    fn step_thread(&mut self, files: &mut Files, index: usize) {
        loop {
            let plan = files.plan.phases[files.phase];
            let doing = files.thread(index).doing;
            let goes_on = match doing {
                Doing::Calls if files.has_no_calls_left(index, self.now) => {
                    if plan.write && plan.fsync {
                        self.begin_fsync(files, index, false);
                    } else {
                        files.thread(index).doing = Doing::Done;
                    }
                    true
                }
                Doing::Calls if plan.spread => self.spread_call(files, index, &plan),
                Doing::Calls if plan.direct.is_some() => {
                    self.direct_calls(files, index, &plan, plan.direct.unwrap_or(1))
                }
                Doing::Calls if plan.write => self.write_calls(files, index, &plan),
                Doing::Calls | Doing::Reading => self.read_calls(files, index, &plan),
                Doing::Balancing { looks, wrote } => self.balance(files, index, looks, wrote),
                Doing::Throttled { looks } => self.throttled(files, index, looks),
                Doing::SyncPages => self.sync_pages(files, index),
                Doing::SyncWait => self.sync_wait(files, index),
                Doing::SyncCommit => self.sync_commit(files, index),
                Doing::Done => {
                    files.note_newest(index);
                    files.tasks[index].state = TaskState::Waits(Wait::Phase);
                    files.running -= 1;
                    let ended = self.busy_until();
                    let held = self.held_bytes();
                    let outcome = files.outcomes.last_mut().expect("a phase runs");
                    outcome.ended = outcome.ended.max(ended);
                    outcome.cpu = self.host.times;
                    if files.running == 0 {
                        outcome.held += held as i64;
                    }
                    // The phase's end is that of its last thread.
                    self.now = if files.running == 0 { ended } else { self.now };
                    return;
                }
            };
            if !goes_on {
                return;
            }
            if !self.goes_on(files) {
                return self.pause(files, index);
            }
        }
    }

    pub(super) fn sender(
        &self,
        files: &Files,
        index: usize,
        io: u32,
        write: bool,
        sync: bool,
    ) -> Sender {
        Sender {
            io,
            process: files.process(index),
            write,
            sync,
            no_idle: write && sync,
            bio: self.host.costs.bio,
            md: self.md_bio(),
        }
    }

    /// A congested queue has room again: wakes the tasks that wait for it.
    pub(crate) fn end_congestion(&mut self, files: &mut Files) {
        let congested = self.congested();
        if files.was_congested && !congested {
            let wake = self.now + self.host.costs.switch;
            for task in &mut files.tasks {
                if let TaskState::Congested(until) = task.state {
                    task.state = TaskState::Ready(wake.min(until));
                }
            }
        }
        files.was_congested = congested;
    }
}
