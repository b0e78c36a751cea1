//! The machine on which the recordings were made: one processor, a kernel that never preempts itself, a drive of known service time.
//!
//! ```text
//!   processor   ─ thread ── interrupt ── thread ── switch ── thread ── idle ────── interrupt ── choice ── thread ─▶ time
//!                 └ steals its time from whoever runs      └ what ends during a switch is seen after it
//! ```
//!
//! Modelled:      work of threads and interrupts in the order in which one processor does it; threads that are ready together run in the
//!                order of the fair scheduler (least processor time first, with the start that a forked process gets); sleeps; the call
//!                that starts a command pays for it.
//!                Interrupts wait while a call holds the queue's lock and while a thread is switched to; who is woken takes the processor
//!                from a program that has had a millisecond more.
//! Not modelled:  time slices (no thread works for a millisecond), clock ticks of a busy processor, timer slack.
//!
//! Its times are in [`Costs`]: those of a kernel generation and policy, not of a workload.

mod borders;
mod calls;

use crate::whole::cost::Costs;
use borders::{Started, Watch};
use seekwise_device::{Command, CommandKind, Device, Tag};
use seekwise_host::block::{Access, BlockQueue, Done};
use seekwise_host::job::{Script, Start};
use seekwise_host::random::Random;
use seekwise_sched::{Direction, Priority, ProcessId};
use seekwise_sim::result::probe::{Recorder, TraceEvent};
use seekwise_units::{Lba, Nanos, Sectors};

/// A process with what it submits.
pub struct Process {
    pub id: ProcessId,
    pub priority: Priority,
    /// When it starts, and when it submits for the first time: later if its first line is, or the processor was busy.
    pub starts: Nanos,
    pub first: Nanos,
    pub script: Script,
}

/// What a thread does when its stretch of processor time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// In user mode between two calls: looks at its next line.
    Line,
    /// The call submits the line.
    Submit,
    /// The bio reaches the queue.
    Enter,
    /// It found no free request and tries again.
    Retry,
    /// The kernel's thread ends commands and runs the queue.
    Work,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    Nothing,
    Operation(u32),
    All,
}

struct Thread {
    process: Process,
    next: Next,
    waits: Waits,
    outstanding: u32,
    /// The operation that its call is about.
    call: u32,
    /// It has submitted something.
    begun: bool,
    /// Rest of an operation that found no free request: (operation, address, sectors).
    pending: Option<(u32, Lba, Sectors)>,
    /// Processor time used, from the start that its fork gave it.
    used: Nanos,
    ended: bool,
}

#[derive(Clone, Copy)]
struct Operation {
    thread: usize,
    bios: u32,
    unsubmitted: u64,
}

/// Who is on the processor, and until when.
#[derive(Clone, Copy)]
struct Stretch {
    thread: usize,
    since: Nanos,
    until: Nanos,
    /// Interrupts are off until then: the switch to it.
    deaf_until: Nanos,
}

/// A hardware interrupt of the timer: it looks what has expired, works on that, and looks again if more has meanwhile.
struct Handler {
    at: Nanos,
    /// When it looked last.
    looked: Nanos,
    passes: u32,
    /// The kernel's thread has something to do.
    preempts: bool,
}

enum Interrupt {
    Drive,
    Queue,
    Sleeper(usize),
}

pub struct OneCpu<Q, D> {
    queue: Q,
    device: D,
    started: Started,
    watch: Watch,
    costs: Costs,
    max_sectors: Sectors,
    now: Nanos,
    threads: Vec<Thread>,
    operations: Vec<Operation>,
    running: Option<Stretch>,
    /// Threads that want to run, in order of waking.
    ready: Vec<usize>,
    /// From when on the processor chooses a thread: interrupts and the way into sleep come first.
    choice: Nanos,
    /// An interrupt that is due by then comes before the choice, a later one after the switch.
    unlocked: Nanos,
    from_idle: bool,
    /// Commands that the last completion left in the drive; the interrupt caught up with ticks; it came when the idle loop was reached.
    left: u64,
    ticked: bool,
    /// How many ticks the processor slept over before the interrupt.
    ticks: u64,
    early: bool,
    /// The interrupt is a timer's that found the processor idle.
    idle_timer: bool,
    sleepers: Vec<(Nanos, usize)>,
    in_drive: u64,
    /// The last thread has just gone to sleep: without another the processor goes idle, deaf for a while.
    falls_asleep: bool,
    /// No timer interrupts before: the last one took too long.
    quiet_until: Nanos,
    /// Commands that the drive is done with and the kernel's thread not yet.
    to_work: Vec<u32>,
    /// What this image of the kernel adds to a call's way to the queue.
    image: Option<Random>,
    /// Sectors of each command, and whether they are a buffered write's.
    pages_of_tag: Vec<(u64, bool)>,
}

/// From the start of the run as a process sees it until the timer of a first sleep fires, beyond the sleep: 0.5 to 1.8 µs in the
/// recordings whose processor is idle then.
const FIRST_TIMER: Nanos = Nanos::from_micros(1);
/// A first submission that comes later than this after its sleep waited for more than a call of another process: when its timer
/// fired meanwhile is not known.
const FIRST_LATE_MAX: Nanos = Nanos::from_micros(8);
/// First submissions that come within this of each other waited for the same.
const FIRST_TOGETHER: Nanos = Nanos::from_micros(60);

/// Gives up on a run whose events go on without end.
const STEPS_MAX: u64 = 1 << 32;

impl<Q: BlockQueue, D: Device> OneCpu<Q, D> {
    pub fn new(
        queue: Q,
        device: D,
        costs: Costs,
        max_sectors: Sectors,
        events_max: usize,
        processes: Vec<Process>,
    ) -> Self {
        let depth = device.depth().0;
        let count = processes.len() as u64;
        let mut threads: Vec<Thread> = processes
            .into_iter()
            .enumerate()
            .map(|(forked, process)| Thread {
                used: costs.fork_start(forked as u64, count),
                process,
                next: Next::Submit,
                waits: Waits::Nothing,
                outstanding: 0,
                call: 0,
                begun: false,
                pending: None,
                ended: false,
            })
            .collect();
        if costs.worker.is_some() {
            threads.push(Thread {
                used: Nanos::ZERO,
                process: Process {
                    id: ProcessId(u32::MAX),
                    priority: Priority::default(),
                    starts: Nanos::NEVER,
                    first: Nanos::NEVER,
                    script: Script::default(),
                },
                next: Next::Work,
                waits: Waits::Nothing,
                outstanding: 0,
                call: 0,
                begun: true,
                pending: None,
                ended: true,
            });
        }
        // The first submission is at its time to the nanosecond when the processor is free. Its timer fires when the sleep is
        // over, whoever is on the processor then; a start that leaves no time for the way from there is not believed. Where something
        // else had the processor then, that ends before the first of those who waited for it submits: their timers fire together.
        let way = costs.timer_rest + costs.idle_exit + costs.to_submit;
        let lead = costs.entry_idle_after(5) + way + FIRST_TIMER;
        let sleep_ends =
            |process: &Process| match process.script.operations.first().map(|line| line.start) {
                Some(Start::After(pause)) => process.starts + pause,
                Some(Start::At(time)) => time.max(process.starts),
                None => process.starts,
            };
        let believed = |process: &Process| {
            let ends = sleep_ends(process);
            let late = process.first.saturating_sub(ends);
            // Another's call kept it waiting.
            let another = threads.iter().map(|t| t.process.first).any(|first| {
                first < process.first && first + FIRST_LATE_MAX > ends && costs.unlocks.is_some()
            });
            let pauses = ends > process.starts;
            let most = if another && !pauses {
                Nanos(2 * FIRST_LATE_MAX.0)
            } else {
                FIRST_LATE_MAX
            };
            late >= costs.entry_idle + way && late < most
        };
        let held: Vec<Nanos> = threads
            .iter()
            .filter(|t| !t.ended && !believed(&t.process))
            .map(|t| t.process.first)
            .collect();
        let due = |process: &Process| {
            let ends = sleep_ends(process);
            if believed(process) {
                return ends + FIRST_TIMER;
            }
            let free = held
                .iter()
                .copied()
                .filter(|&first| first > ends && process.first <= first + FIRST_TOGETHER)
                .min()
                .unwrap_or(process.first);
            free.min(process.first).saturating_sub(lead)
        };
        let sleepers = threads
            .iter()
            .enumerate()
            .filter(|(_, t)| !t.ended)
            .map(|(index, t)| (due(&t.process), index))
            .collect();
        Self {
            queue,
            device,
            started: Started {
                depth,
                commands: Vec::with_capacity(depth.min(4096) as usize),
            },
            watch: Watch {
                recorder: Recorder::new(events_max),
                issued: 0,
                started_sync: Vec::with_capacity(depth.min(4096) as usize),
            },
            costs,
            max_sectors,
            now: Nanos::ZERO,
            threads,
            operations: Vec::new(),
            running: None,
            ready: Vec::new(),
            choice: Nanos::ZERO,
            unlocked: Nanos::ZERO,
            from_idle: false,
            left: 0,
            ticked: false,
            ticks: 0,
            early: false,
            idle_timer: false,
            sleepers,
            in_drive: 0,
            falls_asleep: false,
            quiet_until: Nanos::ZERO,
            to_work: Vec::new(),
            image: None,
            pages_of_tag: vec![(0, false); depth as usize],
        }
    }

    /// The same machine with another image of the kernel.
    pub fn with_image(mut self, seed: Option<u64>) -> Self {
        self.image = seed.map(|seed| Random::new(seed, 0));
        self
    }

    /// Runs until every process is through; gives the trace.
    pub fn run(mut self) -> Result<Vec<TraceEvent>, String> {
        for _ in 0..STEPS_MAX {
            if self.threads.iter().all(|t| t.ended) {
                return Ok(self.watch.recorder.events);
            }
            let (due, interrupt) = self.next_interrupt();
            match self.running {
                Some(stretch) if self.deaf_to_its_end(&stretch) <= due => self.act(stretch),
                None if self.queue.work_due() && self.choice <= due => self.queue_work(),
                None if self.chooses_before(due) => self.choose(),
                _ if due == Nanos::NEVER => {
                    return Err(format!(
                        "the run stalled at {} ns with {} requests that nobody serves",
                        self.now.0,
                        self.queue.allocated()
                    ))
                }
                _ => self.interrupt(due, interrupt),
            }
        }
        Err("the run does not end".to_owned())
    }

    /// From when on the thread's stretch goes to its end without interrupts: a call takes the queue's lock.
    fn deaf_to_its_end(&self, stretch: &Stretch) -> Nanos {
        match self.threads[stretch.thread].next {
            Next::Enter => stretch.until.saturating_sub(self.costs.locked),
            _ => stretch.until,
        }
    }

    fn next_interrupt(&self) -> (Nanos, Interrupt) {
        let mut next = (
            self.device.next_completion().unwrap_or(Nanos::NEVER),
            Interrupt::Drive,
        );
        if !self.queue.work_due() {
            let timer = Nanos(self.queue.timer().0.saturating_add(self.costs.timer_lag.0));
            if timer < next.0 {
                next = (timer, Interrupt::Queue);
            }
        }
        for &(due, thread) in &self.sleepers {
            if due < next.0 {
                next = (due, Interrupt::Sleeper(thread));
            }
        }
        next.0 = next.0.max(self.quiet_until);
        next
    }

    /// Hands over what a call has started: blk-mq chooses all of it before the first starts, while the drive has tags left.
    fn hand_over_batch(&mut self, at: Nanos) -> u64 {
        let further = (self.started.commands.len() as u64).saturating_sub(1);
        let (issue, choosing) = (self.costs.issue, self.costs.choosing);
        self.costs.issue = issue.saturating_sub(choosing);
        let count = self.hand_over(at + Nanos(choosing.0 * further));
        self.costs.issue = issue;
        count
    }

    /// Hands what the queue has started to the drive: the first at `at`, each further one later. Gives their number.
    fn hand_over(&mut self, mut at: Nanos) -> u64 {
        let commands = std::mem::take(&mut self.started.commands);
        for (
            &(
                tag,
                Access {
                    direction,
                    start,
                    sectors,
                },
            ),
            &sync,
        ) in commands.iter().zip(&self.watch.started_sync)
        {
            at += Nanos(self.costs.start_each.0 * self.in_drive);
            self.in_drive += 1;
            self.pages_of_tag[tag as usize] = (sectors.0, !sync);
            let kind = match direction {
                Direction::Read => CommandKind::Read,
                Direction::Write => CommandKind::Write {
                    force_unit_access: false,
                },
            };
            self.device.submit(
                at,
                Command {
                    tag: Tag(tag),
                    kind,
                    start,
                    sectors,
                },
            );
            at += self.costs.issue + self.costs.start;
        }
        let count = commands.len() as u64;
        self.watch.started_sync.clear();
        self.started.commands = commands;
        self.started.commands.clear();
        count
    }

    /// The kernel's thread, which sleeps so much that it is always first, gets the processor, runs the queue and sleeps again.
    fn queue_work(&mut self) {
        self.now = self.choice.max(self.now) + self.costs.queue_work;
        self.watch.issued = 0;
        self.queue
            .fire(self.now, &mut self.started, &mut self.watch);
        let started = self.hand_over(self.now + self.costs.issue + self.costs.start);
        self.wake_blocked();
        self.choice = self.now + self.dispatched(started) + self.costs.switch_out;
    }

    /// One hardware interrupt: what has expired by then, and what expires while that is worked on.
    fn interrupt(&mut self, due: Nanos, interrupt: Interrupt) {
        let (base, entry, idle) = self.interrupted(due, &interrupt);
        let many = matches!(interrupt, Interrupt::Drive) && self.in_drive > 2;
        let entry = if many {
            entry + self.costs.entry_many
        } else {
            entry
        };
        // A policy's timer leaves its work to a thread: out of the idle loop first.
        let out = match interrupt {
            Interrupt::Queue if idle => self.restarts(),
            _ => Nanos::ZERO,
        };
        let entered = base.max(self.now) + entry + out;
        let mut handler = Handler {
            at: entered,
            looked: entered,
            passes: 1,
            preempts: false,
        };
        let was_drive = matches!(interrupt, Interrupt::Drive);
        self.idle_timer = idle && !was_drive;
        let mut next = (due, interrupt);
        let handled = loop {
            let handled = self.handle(&mut handler, next);
            next = self.next_interrupt();
            if next.0 > handled.saturating_sub(self.costs.looks_before_end) {
                break handled;
            }
            let mut entry = self.costs.entry_same;
            if next.0 > handler.looked {
                entry = self.costs.entry_again;
                if handler.passes == self.costs.passes_max {
                    // Threads get as long as the interrupt took.
                    self.quiet_until = handled + (handled - entered);
                    break handled;
                }
                handler.passes += 1;
                handler.looked = handled;
            }
            handler.at = handled + entry;
        };
        let in_user_mode = |stretch: &Stretch| {
            matches!(self.threads[stretch.thread].next, Next::Line | Next::Submit)
        };
        let preempts = handler.preempts || (self.costs.thread_preempts && self.queue.work_due());
        if let Some(stretch) = self
            .running
            .take_if(|stretch| preempts && in_user_mode(stretch))
        {
            // The kernel's thread takes the processor from a program, but not from a call.
            self.threads[stretch.thread].used += handled - stretch.since;
            self.ready.push(stretch.thread);
            self.choice = handled;
            return;
        }
        let woken_first = self.costs.unlocks.is_some()
            && self.running.as_ref().is_some_and(|stretch| {
                in_user_mode(stretch)
                    && base <= stretch.since + self.costs.in_program
                    && self.is_behind(stretch.thread)
            });
        if let Some(stretch) = self.running.take_if(|_| woken_first) {
            self.threads[stretch.thread].used += handled - stretch.since;
            self.ready.push(stretch.thread);
            self.choice = handled + self.costs.switch_out;
            self.unlocked = handled;
            self.from_idle = false;
            return;
        }
        match &mut self.running {
            // Whoever runs is charged for it.
            Some(stretch) => {
                stretch.until += handled - base;
                if was_drive {
                    stretch.until += self.costs.stolen_more;
                }
            }
            None if !idle => {
                self.choice = self.choice.max(base) + (handled - base);
                if self.early && !self.ready.is_empty() {
                    let exit = handled + self.costs.idle_exit;
                    self.choice = exit.saturating_sub(self.costs.exit_early);
                    self.from_idle = true;
                }
                self.unlocked = handled;
            }
            None if self.ready.is_empty() => self.choice = handled + self.costs.idle_again,
            None => {
                self.choice = handled + self.idle_exit(was_drive);
                self.from_idle = true;
                self.unlocked = if self.costs.idle_exit_opens {
                    self.choice
                } else {
                    handled
                };
            }
        }
        if idle {
            self.choice += self.restarts();
        }
    }

    /// The tick starts again when the idle loop is left.
    fn restarts(&self) -> Nanos {
        match self.ticks {
            0 => Nanos::ZERO,
            1 => self.costs.exit_restarts,
            _ => self.costs.exit_restarts_long,
        }
    }

    /// Leaving the idle loop after an interrupt that woke somebody.
    fn idle_exit(&self, was_drive: bool) -> Nanos {
        let mut exit = self.costs.idle_exit;
        if !was_drive {
            return exit;
        }
        match self.left {
            0 => return exit + self.costs.exit_last,
            1 => {}
            _ => exit += self.costs.exit_many,
        }
        if self.ticked {
            exit = exit.saturating_sub(self.costs.exit_ticked);
        }
        exit
    }

    /// From when on an interrupt that is due at `due` keeps the processor, how long it needs to be seen, whether the processor is idle.
    fn interrupted(&mut self, due: Nanos, interrupt: &Interrupt) -> (Nanos, Nanos, bool) {
        if let Some(stretch) = &self.running {
            return (due.max(stretch.deaf_until), self.costs.entry, false);
        }
        let fell_asleep = std::mem::take(&mut self.falls_asleep);
        (self.early, self.ticked, self.ticks) = (false, false, 0);
        if self.costs.unlocks.is_some() && due <= self.unlocked && due < self.choice {
            return (self.unlocked, self.costs.entry, false);
        }
        let base = due.max(self.choice);
        if due < self.choice || !self.ready.is_empty() {
            self.early = self.ready.is_empty();
            return (base + self.costs.to_idle, self.costs.entry, false);
        }
        let (off, on) = (
            self.choice + self.costs.deaf_from,
            self.choice + self.costs.deaf_until,
        );
        if fell_asleep && base < off {
            let reached = self.choice + self.costs.to_idle;
            self.early = self.costs.unlocks.is_some();
            return (base.max(reached), self.costs.entry, !self.early);
        }
        // A first submission is given to the nanosecond, when its timer fired is not.
        let given = matches!(interrupt, Interrupt::Sleeper(thread) if !self.threads[*thread].begun);
        let base = if fell_asleep && !given {
            base.max(on)
        } else {
            base
        };
        // A processor that slept over ticks has to catch up with them.
        let tick = self.costs.tick.0;
        let ticks = base.0 / tick - self.choice.0 / tick;
        self.ticks = ticks;
        self.ticked = ticks == 1 || (ticks > 1 && self.costs.entry_per_late_tick > Nanos::ZERO);
        (base, self.costs.entry_idle_after(ticks), true)
    }

    /// One timer's work; gives its end.
    fn handle(&mut self, handler: &mut Handler, (due, interrupt): (Nanos, Interrupt)) -> Nanos {
        let at = handler.at;
        self.now = at;
        self.watch.issued = 0;
        let (rest, started) = match interrupt {
            Interrupt::Drive => {
                let tag = self.device.complete_next(due).0;
                self.in_drive -= 1;
                if self.costs.worker.is_some() {
                    self.to_work.push(tag);
                    let worker = self.threads.len() - 1;
                    if !self.ready.contains(&worker) {
                        self.ready.push(worker);
                    }
                    handler.preempts = true;
                    (self.costs.rest_unwoken, 0)
                } else {
                    self.completion(tag)
                }
            }
            Interrupt::Queue => {
                self.queue.fire(at, &mut self.started, &mut self.watch);
                let handed = self.hand_over(at + self.costs.issue + self.costs.start);
                (self.costs.rest_unwoken, handed)
            }
            Interrupt::Sleeper(thread) => {
                self.sleepers.retain(|&(_, t)| t != thread);
                self.ready.push(thread);
                let rest = if std::mem::take(&mut self.idle_timer) {
                    self.costs.timer_rest_idle
                } else {
                    self.costs.timer_rest
                };
                (rest, 0)
            }
        };
        let woken = self.wake_blocked();
        at + rest
            + Nanos(self.costs.wake_more.0 * woken)
            + Nanos(self.costs.started_in_interrupt.0 * started)
            + Nanos(self.costs.issued_in_interrupt.0 * self.watch.issued)
    }

    /// A command is done: the row, the queue run again, the waiting thread woken. Gives the rest of the interrupt and the commands started.
    fn completion(&mut self, tag: u32) -> (Nanos, u64) {
        let at = self.now;
        let mut finished = Vec::new();
        let (timer, slots) = (self.queue.timer(), self.queue.slots_ended());
        let work_was_due = self.queue.work_due();
        let operations = &mut self.operations;
        self.queue.complete(
            at,
            tag,
            &mut self.started,
            &mut self.watch,
            |Done { token, .. }| {
                let operation = &mut operations[token as usize];
                operation.bios -= 1;
                if operation.bios == 0 && operation.unsubmitted == 0 {
                    finished.push(token);
                }
            },
        );
        self.left = self.in_drive;
        let handed = self.hand_over(at + self.costs.hand);
        let (mut woken, mut collected) = (false, 0);
        let (sectors, buffered) = self.pages_of_tag[tag as usize];
        for token in finished {
            let thread = self.operations[token as usize].thread;
            let t = &mut self.threads[thread];
            t.outstanding -= 1;
            let notified = match t.waits {
                Waits::Operation(waited) => waited == token,
                Waits::All => t.outstanding == 0,
                Waits::Nothing => false,
            };
            if notified {
                t.waits = Waits::Nothing;
                t.next = Next::Line;
                self.ready.push(thread);
                woken = true;
            }
            let through = t.process.script.next >= t.process.script.operations.len();
            collected += u64::from(!notified && through && t.pending.is_none() && !buffered);
            self.end_if_through(thread);
        }
        let each = if buffered {
            self.costs.release_buffered_picos_per_sector
        } else {
            self.costs.release_picos_per_sector
        };
        let released = Nanos(sectors.saturating_sub(8) * each / 1000);
        let mut rest = if woken {
            self.costs.rest
        } else {
            self.costs.rest_unwoken
        };
        let set = self.queue.timer();
        if set != timer && set != Nanos::NEVER {
            rest += self.costs.timer_set;
        }
        if self.queue.work_due() && !work_was_due {
            rest += self.costs.wake_more;
        }
        let ended = self.queue.slots_ended().wrapping_sub(slots);
        rest += Nanos(self.costs.slot_end.0 * u64::from(ended));
        if self.watch.issued == 0 && self.queue.allocated() as u64 > self.in_drive {
            rest += self.costs.asked;
        }
        let collected = Nanos(self.costs.wake_more.0 * collected);
        (rest + released + collected, handed)
    }

    /// Those that wait for a tag and got one; gives their number.
    fn wake_blocked(&mut self) -> u64 {
        let mut woken = 0;
        while let Some(process) = self.queue.take_woken() {
            let Some(thread) = self.threads.iter().position(|t| t.process.id == process) else {
                continue;
            };
            self.threads[thread].next = Next::Retry;
            self.ready.push(thread);
            woken += 1;
        }
        woken
    }

    /// A thread whose first submission is given does not want the processor before its way there.
    fn wants_from(&self, thread: usize) -> Nanos {
        let t = &self.threads[thread];
        if t.begun {
            Nanos::ZERO
        } else {
            (t.process.first).saturating_sub(self.costs.to_submit + self.prepared(thread))
        }
    }

    /// When the processor can choose a thread.
    fn next_choice(&self) -> Nanos {
        let wanted = self.ready.iter().map(|&thread| self.wants_from(thread));
        self.choice.max(wanted.min().unwrap_or(Nanos::NEVER))
    }

    /// A thread is chosen before an interrupt that is due then: interrupts are off while one is switched to.
    fn chooses_before(&self, due: Nanos) -> bool {
        if self.ready.is_empty() {
            return false;
        }
        let at = self.next_choice();
        let switches = self.costs.unlocks.is_some() && at == self.choice && due > self.unlocked;
        at <= due || switches
    }

    /// The thread that has used least runs next (where that counts); of equals the one that was woken first.
    fn choose(&mut self) {
        let at = self.next_choice().max(self.now);
        let place = (0..self.ready.len())
            .filter(|&i| self.wants_from(self.ready[i]) <= at)
            .min_by_key(|&i| {
                let t = &self.threads[self.ready[i]];
                // The kernel's thread sleeps so much that it is always first; the order of the first submissions is given.
                if t.next == Next::Work || (t.begun && self.costs.first_woken_first) {
                    (Nanos::ZERO, Nanos::ZERO)
                } else if t.begun {
                    (t.used, Nanos::ZERO)
                } else {
                    (Nanos::ZERO, t.process.first)
                }
            })
            .unwrap_or(0);
        let thread = self.ready.remove(place);
        let t = &self.threads[thread];
        let mut length = match t.next {
            Next::Retry => self.costs.switch_in,
            Next::Work => self.costs.worker.unwrap_or_default(),
            Next::Line if self.goes_to_sleep(thread) && self.from_idle => self.costs.to_sleep_idle,
            Next::Line if self.goes_to_sleep(thread) => self.costs.to_sleep,
            _ => self.costs.to_submit + self.prepared(thread),
        };
        if !t.begun {
            // Its first submission is given.
            let first = t.process.first.saturating_sub(at);
            length = if first > Nanos::ZERO { first } else { length };
        }
        self.now = at;
        self.falls_asleep = false;
        self.run_for(thread, length);
        if let Some(stretch) = &mut self.running {
            let deaf = if self.from_idle {
                self.costs.switch_deaf_idle
            } else {
                self.costs.switch_deaf
            };
            stretch.deaf_until = at + deaf;
        }
        self.from_idle = false;
    }

    /// The thread's next line begins with a pause.
    fn goes_to_sleep(&self, thread: usize) -> bool {
        let script = &self.threads[thread].process.script;
        match script.operations.get(script.next).map(|line| line.start) {
            Some(Start::After(pause)) => pause > Nanos::ZERO,
            Some(Start::At(time)) => time > self.now,
            None => true,
        }
    }

    /// Pages of the caller are made ready before its call reaches the block layer.
    fn prepared(&self, thread: usize) -> Nanos {
        let script = &self.threads[thread].process.script;
        script
            .operations
            .get(script.next)
            .map_or(Nanos::ZERO, |line| {
                let more = line.sectors.0.saturating_sub(8);
                let pages = Nanos(more * self.costs.prepare_picos_per_sector / 1000);
                if more > 0 {
                    self.costs.prepare_more + pages
                } else {
                    pages
                }
            })
    }

    fn run_for(&mut self, thread: usize, length: Nanos) {
        self.running = Some(Stretch {
            thread,
            since: self.now,
            until: self.now + length,
            deaf_until: self.now,
        });
    }

    /// The thread's stretch is over.
    fn act(&mut self, stretch: Stretch) {
        let Stretch {
            thread,
            since,
            until,
            ..
        } = stretch;
        self.now = until;
        self.running = None;
        self.choice = until;
        self.threads[thread].used += until - since;
        match self.threads[thread].next {
            Next::Line => self.line(thread),
            Next::Submit => self.submit(thread),
            Next::Enter => self.enter(thread),
            Next::Work => {
                let mut started = 0;
                self.watch.issued = 0;
                for tag in std::mem::take(&mut self.to_work) {
                    started += self.completion(tag).1;
                }
                self.wake_blocked();
                self.choice = until + self.dispatched(started);
            }
            Next::Retry => {
                if let Some((operation, at, left)) = self.threads[thread].pending.take() {
                    self.hand_down(thread, operation, at, left);
                }
            }
        }
    }
}
