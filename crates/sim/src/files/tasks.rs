//! Tasks take the processors in turn, phase after phase.

use crate::files::machine::{FileEngine, Sender};
use crate::files::pace::ThreadPace;
use crate::files::plan::{FilesPlan, JobOutcome, JobPlan, PhaseOutcome, Region};
use crate::files::state::{Files, Role, TaskState, Wait};
use crate::files::thread::{SyncFor, ThreadState};
use crate::result::{Calls, Windows};
use crate::storage::{Stack, Storage};
use seekwise_device::Device;
use seekwise_host::block::{BlockQueue, Observer};
use seekwise_host::cpu::{Payer, Times};
use seekwise_host::random::Random;
use seekwise_units::Nanos;
/// A task gives the processor up after this long when others want it (sched_min_granularity: 0.75 to 4 ms).
const SLICE: Nanos = Nanos::from_millis(1);
/// Processors at work at once take turns in the event loop after this long; a step must get somewhere.
const GRAIN: Nanos = Nanos::from_micros(50);

impl<Q: BlockQueue, D: Device, O: Observer> FileEngine<Q, D, O> {
    /// Puts files and their users on the volume; [`FileEngine::run_files`] runs them.
    pub fn set_files(&mut self, plan: FilesPlan) {
        self.host.other_processors = vec![Nanos::ZERO; plan.processors.max(1) as usize - 1];
        self.host.files = Some(Box::new(Files::new(plan)));
    }

    /// Runs all phases; None when they do not end before `end`.
    pub fn run_files(&mut self, end: Nanos) -> Option<Vec<PhaseOutcome>> {
        let phases = self.host.files.as_ref()?.plan.phases.len();
        (0..phases).map(|_| self.run_file_phase(end)).collect()
    }

    /// Runs the next phase; None when it does not end before `end`.
    pub fn run_file_phase(&mut self, end: Nanos) -> Option<PhaseOutcome> {
        self.begin_file_phase();
        self.run_until(end, true);
        let files = self.host.files.as_mut()?;
        if !files.over() {
            return None;
        }
        let mut outcome = files.outcomes.pop()?;
        files.lengths.push(outcome.ended - outcome.began);
        let (storage, members) = core::mem::take(&mut files.before);
        outcome.storage = self.storage.totals().since(&storage);
        let now = self.storage.members();
        let each = now.iter().zip(&members);
        outcome.members = each.map(|(now, before)| now.since(before)).collect();
        Some(outcome)
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
        self.begin_file_phase();
        self.run_until(end, false);
        let outcome = |files: &Files| files.outcomes.first().map(PhaseOutcome::done);
        let done = self.host.files.as_deref().and_then(outcome);
        self.run_until(Nanos::NEVER, false);
        done.unwrap_or_default()
    }

    fn begin_file_phase(&mut self) {
        let Some(mut files) = self.host.files.take() else {
            return;
        };
        let number = files.phase;
        files.phase += 1;
        let plan = &files.plan.phases[number];
        let (idle, runtime, threads) = (plan.idle, plan.runtime, plan.threads.len());
        let builds = plan.jobs.iter().all(|job| job.write && !job.random);
        let latency =
            |job: &JobPlan| (files.plan.barriers || job.direct.is_some()).then(Box::default);
        let job = |job: &JobPlan| JobOutcome {
            latency: latency(job),
            ..JobOutcome::default()
        };
        let jobs = plan.jobs.iter().map(job).collect();
        if plan.drop_caches || files.plan.closes {
            files.cache.drop_clean();
            files.path_known.clear();
            files.place_dirty.clear();
        }
        if !files.plan.written && (number > 0 || !builds) {
            files.complete_files();
        }
        let begin = self.now + idle.map_or(Nanos::ZERO, |idle| files.idle_time(idle));
        self.host.times = Times::new(files.plan.kernel.hz);
        files.before = (self.storage.totals(), self.storage.members());
        files.outcomes.push(PhaseOutcome {
            began: begin,
            ended: begin,
            jobs,
            threads: vec![Nanos::ZERO; threads],
            held: -(self.held_bytes() as i64),
            windows: Windows::new(begin),
            ..PhaseOutcome::default()
        });
        files.running = threads as u32;
        files.deadline = Nanos(begin.0.saturating_add(runtime.0));
        for index in 0..threads {
            files.begin_thread(number, index, begin);
        }
        self.host.files = Some(files);
    }

    /// The task has a processor: it works until it waits or has to give it up.
    pub(crate) fn step_task(&mut self, index: usize) {
        let Some(mut files) = self.host.files.take() else {
            return;
        };
        self.take_processor();
        self.set_horizon(&mut files, index);
        let began = self.busy_until();
        let ran = files.ran_of(&files.tasks[index]);
        files.ran = files.ran.max(ran);
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
        files.tasks[index].ran = ran + (self.busy_until() - began);
        files.tasks[index].slept = sleeps;
        files.kept_by = (files.plan.keeps_processor && !sleeps).then_some(index);
        if sleeps {
            let now = self.busy_until();
            self.host
                .times
                .book(self.host.payer, now, self.host.costs.switch);
        }
        if files.over() && files.phase == files.plan.phases.len() {
            for task in &mut files.tasks {
                task.state = TaskState::Ended;
            }
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
            let Some(at) = task.state.due() else {
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
            let time = self.busy_until();
            let thread = files.thread(index);
            let doing = thread.doing;
            let buffered = thread.job.direct.is_none();
            let rests_until = if doing == ThreadState::Calls && buffered && !thread.begun {
                thread.next_turn(time)
            } else {
                Nanos::ZERO
            };
            let plan = &thread.job;
            let (syncs_at_end, spread) = (plan.write && plan.fsync, plan.spread);
            let direct = plan.direct.unwrap_or(1);
            let goes_on = match doing {
                ThreadState::Calls if files.has_no_calls_left(index, self.now) => {
                    if syncs_at_end {
                        self.begin_fsync(files, index, SyncFor::End);
                    } else {
                        files.thread(index).doing = ThreadState::Done;
                    }
                    true
                }
                ThreadState::Calls if spread => self.spread_call(files, index),
                ThreadState::Calls if !buffered => self.direct_calls(files, index, direct),
                ThreadState::Calls if rests_until > time => {
                    let until = rests_until.min(files.deadline).max(time);
                    files.tasks[index].state = TaskState::Ready(until);
                    return;
                }
                ThreadState::Calls => self.buffered_calls(files, index),
                ThreadState::Reading => self.read_calls(files, index),
                ThreadState::Balancing { looks, wrote } => self.balance(files, index, looks, wrote),
                ThreadState::Throttled { looks } => self.throttled(files, index, looks),
                ThreadState::SyncPages => self.sync_pages(files, index),
                ThreadState::SyncWait => self.sync_wait(files, index),
                ThreadState::SyncCommit => self.sync_commit(files, index),
                ThreadState::Done => {
                    self.end_thread(files, index);
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

    /// The thread has ended its calls; with the last one the phase is over.
    fn end_thread(&mut self, files: &mut Files, index: usize) {
        files.note_newest(index);
        files.tasks[index].state = TaskState::Waits(Wait::Phase);
        files.running -= 1;
        let ended = self.busy_until();
        let held = self.held_bytes();
        if files.plan.exits {
            let process = files.process(index);
            let md = &mut self.storage.md;
            md.process_exits(self.now, process, &mut self.observer);
        }
        let outcome = files.outcomes.last_mut().expect("a phase runs");
        outcome.threads[index] = ended - outcome.began;
        outcome.ended = outcome.ended.max(ended);
        outcome.cpu = self.host.times;
        if files.running > 0 {
            return;
        }
        outcome.held += held as i64;
        // The phase's end is that of its last thread.
        self.now = ended;
        if files.plan.closes {
            files.kick_flusher(ended);
        }
    }

    /// A call through the page cache begins, or goes on to begin.
    fn buffered_calls(&mut self, files: &mut Files, index: usize) -> bool {
        let thread = files.thread(index);
        thread.draw();
        if thread.job.write {
            let plan = thread.job;
            self.write_calls(files, index, &plan)
        } else {
            self.read_calls(files, index)
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
            priority: files.priority(index),
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

/// Streams of chance of the threads' paces, beside those of their addresses.
const PACES: u64 = 1 << 40;

impl Files {
    /// The thread begins its calls of phase `number` at that time or later.
    fn begin_thread(&mut self, number: usize, index: usize, begin: Nanos) {
        let phase = &self.plan.phases[number];
        let start = phase.threads[index].clone();
        let job = phase.jobs[start.job];
        let (file_pages, seed) = (self.plan.files[start.file as usize], self.plan.seed);
        let at = begin + start.after;
        let turns = job.pace.map(|pace| {
            let random = Random::new(seed, PACES | (number as u64) << 20 | index as u64);
            ThreadPace::new(pace, job.direct.unwrap_or(1), at, random)
        });
        let thread = self.thread(index);
        (thread.file, thread.file_pages) = (start.file, file_pages);
        let whole = Region {
            from: 0,
            end: file_pages,
        };
        thread.region = start.region.unwrap_or(whole);
        (thread.job_number, thread.job) = (start.job, job);
        (thread.stream, thread.turns) = (start.stream, turns);
        (thread.returned, thread.begun, thread.writes) = (false, false, 0);
        thread.doing = ThreadState::Calls;
        thread.calls_left = job.calls;
        let page = thread.region.from + start.page;
        (thread.page, thread.call_end) = (page, page);
        thread.read_ahead = job.read_ahead;
        self.tasks[index].state = TaskState::Ready(at);
    }
}
