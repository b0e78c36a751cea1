//! The machine on which the recordings were made: one processor, a kernel that never preempts itself, a drive of known service time.
//!
//! ```text
//!   processor   ─ thread ── interrupt ── thread ── switch ── thread ── idle ────── interrupt ── choice ── thread ─▶ time
//!                 └ steals its time from whoever runs      └ what ends meanwhile is seen before anybody is chosen
//! ```
//!
//! Modelled:      work of threads and interrupts in the order in which one processor does it; threads that are ready together run in the
//!                order of the fair scheduler (least processor time first, with the start that a forked process gets); sleeps; the call
//!                that starts a command pays for it.
//! Not modelled:  time slices (no thread works for a millisecond), clock ticks of a busy processor, timer slack.
//!
//! Its times are in [`Costs`]: those of a kernel generation and policy, not of a workload.

mod borders;
mod calls;

use super::cost::Costs;
use crate::probe::{Recorder, TraceEvent};
use borders::{Started, Watch};
use seekwise_device::{Command, CommandKind, Device, Tag};
use seekwise_host::block::{Access, BlockQueue, Done};
use seekwise_host::job::{Script, Start};
use seekwise_sched::{Direction, Priority, ProcessId};
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
    sleepers: Vec<(Nanos, usize)>,
    in_drive: u64,
    /// The last thread has just gone to sleep: without another the processor goes idle, deaf for a while.
    falls_asleep: bool,
    /// No timer interrupts before: the last one took too long.
    quiet_until: Nanos,
    /// Commands that the drive is done with and the kernel's thread not yet.
    to_work: Vec<u32>,
    /// Sectors of each command, and whether they are a buffered write's.
    pages_of_tag: Vec<(u64, bool)>,
}

/// From the start of the run as a process sees it until the timer of a first sleep fires, beyond the sleep: 0.5 to 1.8 µs in the
/// recordings whose processor is idle then.
const FIRST_TIMER: Nanos = Nanos::from_micros(1);
/// A first submission that comes later than this after its sleep waited for more than a call of another process: when its timer
/// fired meanwhile is not known.
const FIRST_LATE_MAX: Nanos = Nanos::from_micros(8);

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
        // over, whoever is on the processor then; a start that leaves no time for the way from there is not believed.
        let way = costs.timer_rest + costs.idle_exit + costs.to_submit;
        let due = |process: &Process| {
            let sleep_ends = match process.script.operations.first().map(|line| line.start) {
                Some(Start::After(pause)) => process.starts + pause,
                Some(Start::At(time)) => time.max(process.starts),
                None => process.starts,
            };
            let late = process.first.saturating_sub(sleep_ends);
            if late >= costs.entry_idle + way && late < FIRST_LATE_MAX {
                sleep_ends + FIRST_TIMER
            } else {
                let lead = costs.entry_idle_after(5) + way + FIRST_TIMER;
                process.first.saturating_sub(lead)
            }
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
            sleepers,
            in_drive: 0,
            falls_asleep: false,
            quiet_until: Nanos::ZERO,
            to_work: Vec::new(),
            pages_of_tag: vec![(0, false); depth as usize],
        }
    }

    /// Runs until every process is through; gives the trace.
    pub fn run(mut self) -> Result<Vec<TraceEvent>, String> {
        for _ in 0..STEPS_MAX {
            if self.threads.iter().all(|t| t.ended) {
                return Ok(self.watch.recorder.events);
            }
            let (due, interrupt) = self.next_interrupt();
            match self.running {
                Some(stretch) if stretch.until <= due => self.act(stretch),
                None if self.queue.work_due() && self.choice <= due => self.queue_work(),
                None if !self.ready.is_empty() && self.choice <= due => self.choose(),
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
        let entered = base.max(self.now) + entry;
        let mut handler = Handler {
            at: entered,
            looked: entered,
            passes: 1,
            preempts: false,
        };
        let mut next = (due, interrupt);
        let handled = loop {
            let handled = self.handle(&mut handler, next);
            next = self.next_interrupt();
            if next.0 > handled {
                break handled;
            }
            if next.0 > handler.looked {
                if handler.passes == self.costs.passes_max {
                    // Threads get as long as the interrupt took.
                    self.quiet_until = handled + (handled - entered);
                    break handled;
                }
                handler.passes += 1;
                handler.looked = handled;
            }
            handler.at = handled + self.costs.entry;
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
        match &mut self.running {
            // Whoever runs is charged for it.
            Some(stretch) => stretch.until += handled - base,
            None if !idle => self.choice += handled - base,
            None if self.ready.is_empty() => self.choice = handled + self.costs.idle_again,
            None => self.choice = handled + self.costs.idle_exit,
        }
    }

    /// From when on an interrupt that is due at `due` keeps the processor, how long it needs to be seen, whether the processor is idle.
    fn interrupted(&mut self, due: Nanos, interrupt: &Interrupt) -> (Nanos, Nanos, bool) {
        if let Some(stretch) = &self.running {
            return (due.max(stretch.deaf_until), self.costs.entry, false);
        }
        let fell_asleep = std::mem::take(&mut self.falls_asleep);
        let base = due.max(self.choice);
        if due < self.choice || !self.ready.is_empty() {
            return (base, self.costs.entry, false);
        }
        let (off, on) = (
            self.choice + self.costs.deaf_from,
            self.choice + self.costs.deaf_until,
        );
        if fell_asleep && base < off {
            return (base, self.costs.entry, true);
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
        let slept = base.saturating_sub(self.choice);
        let ticks = if slept < self.costs.ticks_on_below {
            0
        } else {
            base.0 / tick - self.choice.0 / tick
        };
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
                (self.costs.timer_rest, 0)
            }
        };
        self.wake_blocked();
        at + rest
            + Nanos(self.costs.started_in_interrupt.0 * started)
            + Nanos(self.costs.issued_in_interrupt.0 * self.watch.issued)
    }

    /// A command is done: the row, the queue run again, the waiting thread woken. Gives the rest of the interrupt and the commands started.
    fn completion(&mut self, tag: u32) -> (Nanos, u64) {
        let at = self.now;
        let mut finished = Vec::new();
        let timer = self.queue.timer();
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
        let handed = self.hand_over(at + self.costs.hand);
        let mut woken = false;
        for token in finished {
            let thread = self.operations[token as usize].thread;
            let t = &mut self.threads[thread];
            t.outstanding -= 1;
            let told = match t.waits {
                Waits::Operation(waited) => waited == token,
                Waits::All => t.outstanding == 0,
                Waits::Nothing => false,
            };
            if told {
                t.waits = Waits::Nothing;
                t.next = Next::Line;
                self.ready.push(thread);
                woken = true;
            }
            self.end_if_through(thread);
        }
        let (sectors, buffered) = self.pages_of_tag[tag as usize];
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
        (rest + released, handed)
    }

    fn wake_blocked(&mut self) {
        while let Some(process) = self.queue.take_woken() {
            let Some(thread) = self.threads.iter().position(|t| t.process.id == process) else {
                continue;
            };
            self.threads[thread].next = Next::Retry;
            self.ready.push(thread);
        }
    }

    /// The thread that has used least runs next; of equals the one that was woken first.
    fn choose(&mut self) {
        let at = self.choice.max(self.now);
        let place = (0..self.ready.len())
            .min_by_key(|&i| {
                let t = &self.threads[self.ready[i]];
                // The kernel's thread sleeps so much that it is always first; the order of the first submissions is given.
                if t.next == Next::Work {
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
            stretch.deaf_until = at + self.costs.switch_deaf;
        }
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
