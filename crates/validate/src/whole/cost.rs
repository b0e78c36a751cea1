//! What the recorded machines' processor takes for each step, in ns of a processor of 10^9 instructions a second.
//!
//! Medians over the recordings of noop and deadline (kernel generation) and of each policy (its own functions); every step is between
//! two recorded rows, so none depends on a workload. Where a step's spread matters it is given.
//! Steps that hundreds of rows show alike are known to 10 to 50 ns (confidence high); where interrupts are off is known from some dozen rows
//! each to 50 to 100 ns (middle); how a sleep's way is split between its two ends, `stolen_more` and `in_program` are estimates (low).
//! How well, and how many rows: docs/concepts/whole-runs.md.

use crate::whole::input::Input;
use seekwise_host::job::ScriptedOp;
use seekwise_units::Nanos;

#[derive(Clone, Copy, Debug, Default)]
pub struct Costs {
    /// From the drive's end until the completion is seen: on a busy processor, on an idle one; what an idle one adds that slept over
    /// ticks, and per tick that it caught up with, per tick beyond two. 4.4 catches up with time in powers of two: one step for 1, 2
    /// or 4 ticks, another for what is left (3), and one that finds nothing between them (5).
    pub entry: Nanos,
    pub entry_idle: Nanos,
    /// What it adds when more than one further command is in the drive: its timers stand in a tree.
    pub entry_many: Nanos,
    /// From one timer's work to the next in the same interrupt: of what had expired when it looked, and when it looks again.
    pub entry_same: Nanos,
    pub entry_again: Nanos,
    /// It looks again that long before its end.
    pub looks_before_end: Nanos,
    pub entry_stopped: Nanos,
    /// What it adds to that after more than one tick.
    pub entry_stopped_long: Nanos,
    pub entry_per_tick: Nanos,
    pub entry_per_late_tick: Nanos,
    pub entry_step: Nanos,
    pub entry_empty_step: Nanos,
    /// Length of a tick: of 1/HZ.
    pub tick: Nanos,
    /// From there to the end of the interrupt, with and without somebody to wake.
    pub rest: Nanos,
    pub rest_unwoken: Nanos,
    /// What leaving the idle loop adds when no command is left in the drive, when two or more are; what it saves when one or more are and
    /// it has caught up with a tick, and when the loop has only just been reached.
    pub exit_last: Nanos,
    pub exit_many: Nanos,
    pub exit_ticked: Nanos,
    pub exit_early: Nanos,
    /// What leaving the idle loop adds after one tick and after more, where it is there that the tick starts again (blk-mq, 6.1 on; 5.10
    /// does so on its way in).
    pub exit_restarts: Nanos,
    pub exit_restarts_long: Nanos,
    /// What an interrupt adds per process that it wakes beyond the one that waited for the command: those that wait for a tag, one
    /// that is through with its list and collects what comes, and the kernel's thread that runs the queue.
    pub wake_more: Nanos,
    /// What a completion's interrupt adds that a thread's work has to wait for.
    pub stolen_more: Nanos,
    /// The interrupt of a timer that wakes a sleeper: on a busy and on an idle processor.
    pub timer_rest: Nanos,
    pub timer_rest_idle: Nanos,
    /// What a policy's timer that a completion sets adds to an interrupt (it waits for the process).
    pub timer_set: Nanos,
    /// What a completion adds that ends its queue's slot.
    pub slot_end: Nanos,
    /// What a policy adds that has requests and gives none.
    pub asked: Nanos,
    /// What each command started, each request taken from the policy adds to an interrupt.
    pub started_in_interrupt: Nanos,
    pub issued_in_interrupt: Nanos,
    /// From the completion until the next command starts.
    pub hand: Nanos,
    /// From the choice of a thread until its next call submits; until it is back where it slept for a request.
    pub to_submit: Nanos,
    /// Leaving the idle loop after an interrupt that woke somebody; staying in it after one that did not. Interrupts are off.
    pub idle_exit: Nanos,
    pub idle_again: Nanos,
    /// From the end of the last thread's work: interrupts are off from here to there, while the tick is stopped. 2.6.32 at 1000 Hz:
    /// whatever ends 1.0 to 4.6 us after the last command started is seen 5.33 us after it; 4.4 shows nothing of the kind.
    pub deaf_from: Nanos,
    pub deaf_until: Nanos,
    /// From the choice of a thread: interrupts are off during the switch to it; out of the idle loop they are longer.
    pub switch_deaf: Nanos,
    pub switch_deaf_idle: Nanos,
    /// From the choice of the idle loop until it lets interrupts in.
    pub to_idle: Nanos,
    /// A call lets interrupts in that long after its last command started; from there they wait for the next thread's switch.
    pub unlocks: Option<Nanos>,
    /// Leaving the idle loop lets interrupts in before a thread is chosen.
    pub idle_exit_opens: bool,
    /// An interrupt looks so often at most whether more has expired, and then leaves the processor alone for as long as it took.
    /// Linux v2.6.33 (and v2.6.32.8) kernel/hrtimer.c: hrtimer_interrupt, three passes; before: no limit.
    pub passes_max: u32,
    /// From the choice until its sleep begins.
    pub to_sleep: Nanos,
    pub to_sleep_idle: Nanos,
    /// From there until the next thread is chosen.
    pub switch_from_sleep: Nanos,
    /// From the choice until a thread that goes on has entered its next call: until then one that was woken can take the processor.
    pub in_program: Nanos,
    pub switch_in: Nanos,
    /// From there to the queue; from the queue to the policy's answer; from there to the start of the command, per command in the drive.
    pub enter: Nanos,
    /// What it adds when requests wait, and per doubling of their number (search for a neighbour); to the way back too (insertion).
    pub enter_queued: Nanos,
    pub enter_per_doubling: Nanos,
    pub returns_per_doubling: Nanos,
    /// Interrupts are off that long before a bio is in the queue: from the queue's lock on.
    pub locked: Nanos,
    pub issue: Nanos,
    /// What of `issue` is the policy's choice: a call chooses all that it starts before it starts the first.
    pub choosing: Nanos,
    pub start: Nanos,
    pub start_each: Nanos,
    /// From the queue (or the start) to the submission of the thread's next call when it does not wait.
    pub returns: Nanos,
    pub returns_started: Nanos,
    /// From there until the next thread is chosen when it does.
    pub switch_out: Nanos,
    /// Pages beyond the first: attached in the block layer; made ready before the call reaches it, all together and each; copying a
    /// buffered write.
    pub attach_picos_per_sector: u64,
    pub prepare_more: Nanos,
    pub prepare_picos_per_sector: u64,
    pub copy_per_sector: Nanos,
    /// Pages of a completed request, released in the interrupt, per sector beyond eight.
    pub release_picos_per_sector: u64,
    /// The same for buffered writes, whose pages are ended one by one.
    pub release_buffered_picos_per_sector: u64,
    /// From the choice of the kernel's thread that runs the queue until it does (anticipatory leaves that to it when the awaited
    /// request comes).
    pub queue_work: Nanos,
    /// From a tick until the work of its timers is done; where a policy's timer leaves that to the kernel's thread, until that is there.
    pub timer_lag: Nanos,
    /// A completion leaves the queue to a kernel thread (null_blk on the single queue restarts a stopped queue that way), which takes
    /// this long to get there; `None`: the interrupt runs it.
    pub worker: Option<Nanos>,
    /// The queue hears at once of a process that has ended. Not so on blk-mq: there bfq waits 20 ms for a raised queue whose process is
    /// through, in every recording in which one is in service then (an exit frees its I/O contexts, which takes an RCU grace period,
    /// before its queue).
    pub exits_at_once: bool,
    /// The kernel's thread that runs the queue takes the processor from a program at once, from a call at its end.
    pub thread_preempts: bool,
    /// By how much less somebody must have used who was woken to take the processor from a call's end, and on the single queue from a
    /// program.
    pub wake_granularity: Option<Nanos>,
    /// From a call that leaves the queue to a kernel's thread until that is there.
    pub to_thread: Nanos,
    /// A program that is late still asks the kernel to sleep until the time of its line; that sleep lasts until its timer, set to the
    /// least that the clock can do, has fired: whoever else is ready runs in between. `None`: it looks at the clock itself.
    pub late_sleep: Option<Nanos>,
    /// Of those who are ready the one that was woken first runs, not the one that has used least: each starts at the mean of all, with a
    /// deadline one slice later, and the earliest deadline is first. Linux v6.6 and later kernel/sched/fair.c: place_entity, pick_eevdf.
    pub first_woken_first: bool,
    /// How the fair scheduler places forked processes.
    pub fork: Fork,
}

/// Where a forked process starts in the fair scheduler's virtual time: one slice behind its parent.
#[derive(Clone, Copy, Debug, Default)]
pub enum Fork {
    /// The child runs before its parent goes on (to 2.6.31): each fork finds the parent alone and puts it half a latency behind, where the
    /// next child starts. Who wakes starts no further ahead than one latency before the furthest that anybody came, the parent: so all
    /// but the last child start level. Linux v2.6.24 kernel/sched.c: sysctl_sched_child_runs_first = 1; kernel/sched_fair.c:
    /// place_entity, sysctl_sched_latency = 20 ms.
    #[default]
    ChildFirst,
    /// The parent goes on forking while its children wait: a slice is the latency divided by ever more runners, so a later child
    /// starts less far behind. Linux v2.6.32 kernel/sched_fair.c: sysctl_sched_child_runs_first = 0, latency 5 ms; 6 ms later.
    ParentFirst { latency: Nanos },
}

/// Linux v2.6.32 kernel/sched_fair.c, v4.4 and later kernel/sched/fair.c: sysctl_sched_wakeup_granularity, on one processor.
const WAKE_GRANULARITY: Nanos = Nanos::from_millis(1);
/// A fork's length on such a processor; it only has to be shorter than the steps between slices. Estimate.
const FORK: Nanos = Nanos::from_micros(50);
/// Half of 2.6.24's latency: the slice of a child beside its parent.
const SLICE_OF_TWO: Nanos = Nanos::from_millis(10);
/// By how much more the last child but one has run at its start than its parent still did after it. No source: set from the orders of the
/// recordings of 2.6.24, which 20 us give in one file more of noop and of deadline than 50 or 100 do; the other policies' ends do not depend
/// on it. Confidence low.
const CHILD_START: Nanos = Nanos::from_micros(20);
/// Least slice: latency / 5 (2.6.32) or / 8 (4.4), both about 1 ms. Linux kernel/sched_fair.c: sysctl_sched_min_granularity.
const SLICE_MIN: Nanos = Nanos::from_micros(750);

/// By how much a call's way to the queue differs at most between two images of a kernel: the recordings of two images of 6.1 differ by
/// 0.2 us per insertion (median, rand4 of every policy).
pub const IMAGE_SPREAD: Nanos = Nanos(400);

impl Costs {
    /// Virtual time of the `forked`-th process (from 0) of `count` when the run begins.
    pub fn fork_start(&self, forked: u64, count: u64) -> Nanos {
        match self.fork {
            Fork::ChildFirst if forked + 1 == count => SLICE_OF_TWO,
            Fork::ChildFirst if forked + 2 == count => CHILD_START,
            Fork::ChildFirst => Nanos::ZERO,
            Fork::ParentFirst { latency } => {
                Nanos(FORK.0 * forked) + Nanos(latency.0 / (forked + 2)).max(SLICE_MIN)
            }
        }
    }

    /// From an event until an idle processor sees it, `ticks` of which passed since it went idle.
    pub fn entry_idle_after(&self, ticks: u64) -> Nanos {
        let mut entry = self.entry_idle + Nanos(self.entry_per_tick.0 * ticks);
        if ticks > 0 {
            entry += self.entry_stopped;
        }
        if ticks > 1 {
            entry += self.entry_stopped_long;
        }
        entry += Nanos(self.entry_per_late_tick.0 * ticks.saturating_sub(2));
        if ticks.count_ones() > 1 {
            entry += self.entry_step;
            let high = 63 - ticks.leading_zeros();
            let below = ticks & !(1 << high);
            if below.leading_zeros() > 63 - high + 1 {
                entry += self.entry_empty_step;
            }
        }
        entry
    }

    /// From a call's row `submit` to the queue while nothing waits: the way is longer for more pages, and for those to be copied.
    pub fn way_in(&self, line: &ScriptedOp) -> Nanos {
        let pages = line.sectors.0.saturating_sub(8) * self.attach_picos_per_sector / 1000;
        let copied = if line.sync {
            0
        } else {
            line.sectors.0 * self.copy_per_sector.0
        };
        self.enter + Nanos(pages + copied)
    }

    pub fn of(input: &Input) -> Self {
        if !input.legacy {
            return Self::blk_mq(&input.kernel, &input.scheduler);
        }
        let kernel = &input.kernel;
        let policy = input.scheduler.as_str();
        if kernel.at_least(3, 0, 0) {
            let worker = input.device_name.starts_with("nullblk");
            Self {
                worker: worker.then_some(Nanos(1_000)),
                ..Self::linux_4_4(policy)
            }
        } else if kernel.at_least(2, 6, 30) {
            Self::linux_2_6_32(policy, kernel.hz)
        } else {
            Self::linux_2_6_24(policy)
        }
    }

    fn linux_4_4(policy: &str) -> Self {
        // Enter, returns, issue; what the policy adds to a completion, and what setting its timer does there.
        let (enter, returns, issue, more, timer_set) = match policy {
            "noop" => (1_032, 1_075, 377, 0, 0),
            "deadline" => (1_066, 1_125, 519, 20, 0),
            _ => (1_321, 1_398, 1_086, 270, 1_780),
        };
        // Started and issued in an interrupt; queued, per doubling of the queue: on the way in, on the way back.
        let (started, issued, queued, doubling_in, doubling_back) = match policy {
            "noop" => (410, 280, 75, 3, 0),
            "deadline" => (410, 350, 75, 9, 11),
            _ => (410, 600, 0, 0, 0),
        };
        Self {
            entry: Nanos(420),
            entry_idle: Nanos(480),
            entry_many: Nanos(40),
            exit_many: Nanos(50),
            exit_early: Nanos(560),
            looks_before_end: Nanos(350),
            enter_queued: Nanos(queued),
            enter_per_doubling: Nanos(doubling_in),
            returns_per_doubling: Nanos(doubling_back),
            locked: Nanos(100),
            entry_step: Nanos(430),
            entry_empty_step: Nanos(260),
            tick: Nanos::from_millis(1),
            rest: Nanos(2_450 + more),
            rest_unwoken: Nanos(1_740 + more),
            timer_set: Nanos(timer_set),
            timer_rest: Nanos(600),
            timer_rest_idle: Nanos(600),
            started_in_interrupt: Nanos(started),
            issued_in_interrupt: Nanos(issued),
            hand: Nanos(2_080),
            to_submit: Nanos(1_400),
            idle_exit: Nanos(300),
            idle_again: Nanos(900),
            switch_deaf: Nanos(600),
            switch_deaf_idle: Nanos(980),
            to_idle: Nanos(250),
            unlocks: Some(Nanos(130)),
            idle_exit_opens: true,
            wake_granularity: Some(WAKE_GRANULARITY),
            passes_max: 3,
            to_sleep: Nanos(640),
            to_sleep_idle: Nanos(640),
            switch_from_sleep: Nanos(530),
            in_program: Nanos(800),
            switch_in: Nanos(1_000),
            enter: Nanos(enter),
            issue: Nanos(issue),
            start: Nanos(257),
            start_each: Nanos(7),
            returns: Nanos(returns),
            returns_started: Nanos(1_180),
            switch_out: Nanos(530),
            attach_picos_per_sector: 14_625,
            prepare_more: Nanos(200),
            prepare_picos_per_sector: 8_000,
            queue_work: Nanos(900),
            timer_lag: Nanos(5_000),
            exits_at_once: true,
            fork: Fork::ParentFirst {
                latency: Nanos::from_millis(6),
            },
            ..Self::default()
        }
    }

    fn linux_2_6_32(policy: &str, hz: u32) -> Self {
        let (enter, returns, issue, more, asked) = match policy {
            "noop" => (1_070, 1_000, 506, 0, 0),
            "deadline" => (1_082, 1_060, 703, 10, 0),
            "anticipatory" => (1_160, 1_306, 1_170, 80, 210),
            _ => (1_419, 1_335, 1_300, 260, 1_380),
        };
        // Started and issued in an interrupt; queued, per doubling of the queue: on the way in, on the way back.
        let (started, issued, queued, doubling_in, doubling_back) = match policy {
            "noop" => (510, 310, 50, 0, 0),
            "deadline" => (510, 440, 30, 11, 16),
            "anticipatory" => (510, 700, 0, 0, 0),
            _ => (510, 1_900, 0, 0, 0),
        };
        Self {
            entry: Nanos(430),
            entry_idle: Nanos(if hz > 250 { 740 } else { 720 }),
            entry_many: Nanos(60),
            entry_again: Nanos(325),
            exit_last: Nanos(80),
            exit_many: Nanos(90),
            exit_ticked: Nanos(if hz > 250 { 0 } else { 90 }),
            exit_early: Nanos(560),
            stolen_more: Nanos(70),
            enter_queued: Nanos(queued),
            enter_per_doubling: Nanos(doubling_in),
            returns_per_doubling: Nanos(doubling_back),
            locked: Nanos(300),
            entry_stopped: Nanos(if hz > 250 { 170 } else { 80 }),
            entry_per_tick: Nanos(if hz > 250 { 198 } else { 0 }),
            tick: Nanos(1_000_000_000 / u64::from(hz)),
            rest: Nanos(2_100 + more),
            rest_unwoken: Nanos(1_620 + more),
            asked: Nanos(asked),
            timer_rest: Nanos(460),
            timer_rest_idle: Nanos(if hz > 250 { 60 } else { 0 }),
            started_in_interrupt: Nanos(started),
            issued_in_interrupt: Nanos(issued),
            hand: Nanos(2_071),
            to_submit: Nanos(1_300),
            idle_exit: Nanos(380),
            idle_again: Nanos(1371),
            deaf_from: Nanos(550),
            deaf_until: Nanos(if hz > 250 { 4_120 } else { 2_500 }),
            switch_deaf: Nanos(450),
            switch_deaf_idle: Nanos(660),
            to_idle: Nanos(450),
            unlocks: Some(Nanos(130)),
            wake_granularity: Some(WAKE_GRANULARITY),
            passes_max: 3,
            to_sleep: Nanos(500),
            to_sleep_idle: Nanos(if hz > 250 { 1_060 } else { 1_020 }),
            switch_from_sleep: Nanos(150),
            in_program: Nanos(800),
            switch_in: Nanos(1_000),
            enter: Nanos(enter),
            issue: Nanos(issue),
            start: Nanos(282),
            start_each: Nanos(7),
            returns: Nanos(returns),
            returns_started: Nanos(1_175),
            switch_out: Nanos(450),
            attach_picos_per_sector: 8_250,
            prepare_picos_per_sector: 17_900,
            queue_work: Nanos(900),
            timer_lag: Nanos(5_000),
            exits_at_once: true,
            fork: Fork::ParentFirst {
                latency: Nanos::from_millis(5),
            },
            ..Self::default()
        }
    }

    fn linux_2_6_24(policy: &str) -> Self {
        let (enter, returns, issue, more, asked) = match policy {
            "noop" => (948, 1_035, 522, 0, 0),
            "deadline" => (961, 1_097, 716, 10, 0),
            "anticipatory" => (1_033, 1_319, 1_170, 80, 220),
            _ => (1_216, 1_322, 1_128, 210, 1_060),
        };
        // Issued in an interrupt; queued, per doubling of the queue: on the way in, on the way back.
        let (issued, queued, doubling_in, doubling_back) = match policy {
            "noop" => (330, 45, 0, 0),
            "deadline" => (470, 40, 11, 14),
            "anticipatory" => (750, 0, 0, 0),
            _ => (1_250, 0, 0, 0),
        };
        Self {
            entry: Nanos(410),
            entry_idle: Nanos(600),
            entry_many: Nanos(60),
            entry_same: Nanos(100),
            entry_again: Nanos(100),
            exit_last: Nanos(60),
            exit_many: Nanos(110),
            exit_ticked: Nanos(110),
            enter_queued: Nanos(queued),
            enter_per_doubling: Nanos(doubling_in),
            returns_per_doubling: Nanos(doubling_back),
            locked: Nanos(150),
            entry_stopped: Nanos(390),
            entry_per_late_tick: Nanos(300),
            tick: Nanos::from_millis(4),
            rest: Nanos(1_310 + more),
            rest_unwoken: Nanos(950 + more),
            asked: Nanos(asked),
            timer_rest: Nanos(305),
            timer_rest_idle: Nanos(190),
            started_in_interrupt: Nanos(600),
            issued_in_interrupt: Nanos(issued),
            hand: Nanos(1_245),
            to_submit: Nanos(1_150),
            idle_exit: Nanos(410),
            idle_again: Nanos(2290),
            deaf_from: Nanos(550),
            deaf_until: Nanos(2_350),
            switch_deaf: Nanos(600),
            switch_deaf_idle: Nanos(600),
            to_idle: Nanos(500),
            unlocks: Some(Nanos(130)),
            passes_max: u32::MAX,
            to_sleep: Nanos(725),
            to_sleep_idle: Nanos(725),
            switch_from_sleep: Nanos(410),
            switch_in: Nanos(1_000),
            enter: Nanos(enter),
            issue: Nanos(issue),
            start: Nanos(355),
            start_each: Nanos(7),
            returns: Nanos(returns),
            returns_started: Nanos(1_200),
            switch_out: Nanos(410),
            attach_picos_per_sector: 6_700,
            prepare_picos_per_sector: 14_800,
            queue_work: Nanos(450),
            timer_lag: Nanos(5_000),
            exits_at_once: true,
            ..Self::default()
        }
    }

    /// blk-mq on null_blk, kernels of 250 Hz. A completion leaves the queue to a kernel thread; a buffered write's pages cost 9 us each on
    /// their way down and 1.2 us at their end. Medians per kernel and policy over rand4 at depth 1, per sector over the other lists: from
    /// one completion with work waiting to the next beyond the service time when nobody is woken and no tick has passed (`turn`), from
    /// the time at which a request is due to its insertion (`late`).
    fn blk_mq(kernel: &seekwise_sched::Kernel, policy: &str) -> Self {
        let rank = seekwise_sched::find_scheduler(policy).map_or(0, |entry| entry.completion_rank);
        let entry = 1_500;
        // `to_thread`: from insertion to issue, where 6.1 leaves the queue to the kernel's thread.
        let (turn, late, wake, attach, release, to_thread) = if kernel.at_least(6, 12, 0) {
            let turn: [u64; 3] = [6_985, 7_140, 7_300];
            (turn, [9_450, 9_713, 10_520], 1_640, 76_000, 19_300, 350)
        } else if kernel.at_least(6, 0, 0) {
            let turn = [6_405, 6_553, 6_720];
            (turn, [8_915, 9_173, 9_945], 1_560, 57_000, 11_600, 4_400)
        } else {
            let turn = [6_550, 6_664, 6_845];
            (turn, [9_700, 10_025, 10_255], 1_480, 48_000, 7_500, 150)
        };
        // Catching up with ticks, after one and what more adds: on the way in, on the way out.
        let (tick_in, ticks_in, tick_out, ticks_out) = if kernel.at_least(6, 12, 0) {
            (0, 650, 580, 1_190)
        } else if kernel.at_least(6, 0, 0) {
            (0, 450, 580, 1_100)
        } else {
            (530, 370, 0, 390)
        };
        // From the end of a policy's wait until the kernel's thread takes a request from it, beyond an interrupt: bfq's 2 ms waits.
        let timer_lag = if kernel.at_least(6, 12, 0) {
            8_400
        } else if kernel.at_least(6, 0, 0) {
            7_600
        } else {
            5_300
        };
        let (turn, late): (u64, u64) = (turn[rank], late[rank]);
        // One request taken and handed to the driver: two started in a row at depth 16 stand that far apart.
        // What of that is choosing it: without it they stand 1.4 us (5.10: 1.65 us) apart, as where all are chosen before the first starts.
        let (issue, choosing) = match rank {
            2 if kernel.at_least(6, 12, 0) => (2_750, 1_350),
            2 if kernel.at_least(6, 0, 0) => (2_700, 1_290),
            2 => (2_780, 1_130),
            _ => (1_600, 0),
        };
        let (rest, to_submit) = (1_000, 3_500);
        Self {
            entry: Nanos(entry),
            entry_idle: Nanos(entry),
            entry_same: Nanos(entry),
            entry_again: Nanos(entry),
            entry_stopped: Nanos(tick_in),
            entry_stopped_long: Nanos(ticks_in),
            exit_restarts: Nanos(tick_out),
            exit_restarts_long: Nanos(ticks_out),
            tick: Nanos::from_millis(4),
            rest: Nanos(rest + wake),
            rest_unwoken: Nanos(rest),
            wake_more: Nanos(wake),
            to_submit: Nanos(to_submit),
            passes_max: 3,
            to_sleep: Nanos(2_400),
            to_sleep_idle: Nanos(2_400),
            switch_from_sleep: Nanos(3_000),
            switch_in: Nanos(3_500),
            enter: Nanos(late - entry - to_submit),
            slot_end: Nanos(1_080),
            issue: Nanos(issue),
            choosing: Nanos(choosing),
            returns: Nanos(3_000),
            returns_started: Nanos(3_000),
            switch_out: Nanos(3_000),
            attach_picos_per_sector: attach,
            copy_per_sector: Nanos(1_125),
            release_picos_per_sector: release,
            release_buffered_picos_per_sector: 150_000,
            queue_work: Nanos(turn - rest - wake - issue),
            timer_lag: Nanos(timer_lag),
            thread_preempts: true,
            wake_granularity: Some(WAKE_GRANULARITY),
            to_thread: Nanos(to_thread),
            late_sleep: Some(Nanos(1_000)),
            first_woken_first: kernel.at_least(6, 6, 0),
            fork: Fork::ParentFirst {
                latency: Nanos::from_millis(6),
            },
            ..Self::default()
        }
    }
}
