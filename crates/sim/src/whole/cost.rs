//! What the recorded machines' processor takes for each step, in ns of a processor of 10^9 instructions a second.
//!
//! Medians over the recordings of noop and deadline (kernel generation) and of each policy (its own functions); every step is between
//! two recorded rows, so none depends on a workload. Where a step's spread matters it is given.

use super::input::Input;
use seekwise_units::Nanos;

#[derive(Clone, Copy, Debug, Default)]
pub struct Costs {
    /// From the drive's end until the completion is seen: on a busy processor, on an idle one; what an idle one adds that slept over
    /// ticks, and per tick that it caught up with, per tick beyond two. 4.4 catches up with time in powers of two: one step for 1, 2
    /// or 4 ticks, another for what is left (3), and one that finds nothing between them (5).
    pub entry: Nanos,
    pub entry_idle: Nanos,
    pub entry_stopped: Nanos,
    pub entry_per_tick: Nanos,
    pub entry_per_late_tick: Nanos,
    pub entry_step: Nanos,
    pub entry_empty_step: Nanos,
    /// Length of a tick: of 1/HZ.
    pub tick: Nanos,
    /// From there to the end of the interrupt, with and without somebody to wake, and of a timer's that wakes a sleeper.
    pub rest: Nanos,
    pub rest_unwoken: Nanos,
    pub timer_rest: Nanos,
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
    /// From the choice of a thread: interrupts are off during the switch to it.
    pub switch_deaf: Nanos,
    /// An interrupt looks so often at most whether more has expired, and then leaves the processor alone for as long as it took.
    /// Linux v2.6.33 (and v2.6.32.8) kernel/hrtimer.c: hrtimer_interrupt, three passes; before: no limit.
    pub passes_max: u32,
    /// From the choice until its sleep begins.
    pub to_sleep: Nanos,
    pub switch_in: Nanos,
    /// From there to the queue; from the queue to the policy's answer; from there to the start of the command, per command in the drive.
    pub enter: Nanos,
    pub issue: Nanos,
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
    /// From the choice of the kernel's thread that runs the queue until it does (anticipatory leaves that to it when the awaited
    /// request comes).
    pub queue_work: Nanos,
    /// From a tick until the work of its timers is done.
    pub timer_lag: Nanos,
    /// A completion leaves the queue to a kernel thread (null_blk on the single queue restarts a stopped queue that way), which takes
    /// this long to get there; `None`: the interrupt runs it.
    pub worker: Option<Nanos>,
    /// How the fair scheduler places forked processes.
    pub fork: Fork,
}

/// Where a forked process starts in the fair scheduler's virtual time: one slice behind its parent.
#[derive(Clone, Copy, Debug, Default)]
pub enum Fork {
    /// The child runs before its parent goes on (to 2.6.31): each fork finds the parent alone, the next child starts further behind.
    /// Linux v2.6.24 kernel/sched.c: sysctl_sched_child_runs_first = 1.
    #[default]
    ChildFirst,
    /// The parent goes on forking while its children wait: a slice is the latency divided by ever more runners, so a later child
    /// starts less far behind. Linux v2.6.32 kernel/sched_fair.c: sysctl_sched_child_runs_first = 0, latency 5 ms; 6 ms later.
    ParentFirst { latency: Nanos },
}

/// A fork's length on such a processor; it only has to be shorter than the steps between slices. Estimate.
const FORK: Nanos = Nanos::from_micros(50);
/// Least slice: latency / 5 (2.6.32) or / 8 (4.4), both about 1 ms. Linux kernel/sched_fair.c: sysctl_sched_min_granularity.
const SLICE_MIN: Nanos = Nanos::from_micros(750);

impl Costs {
    /// Virtual time of the `forked`-th process (from 0) when the run begins.
    pub fn fork_start(&self, forked: u64) -> Nanos {
        let passed = Nanos(FORK.0 * forked);
        match self.fork {
            Fork::ChildFirst => passed,
            Fork::ParentFirst { latency } => {
                passed + Nanos(latency.0 / (forked + 2)).max(SLICE_MIN)
            }
        }
    }

    /// From an event until an idle processor sees it, `ticks` of which passed since it went idle.
    pub fn entry_idle_after(&self, ticks: u64) -> Nanos {
        let mut entry = self.entry_idle + Nanos(self.entry_per_tick.0 * ticks);
        if ticks > 0 {
            entry += self.entry_stopped;
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

    pub fn of(input: &Input) -> Self {
        if !input.legacy {
            return Self::blk_mq(&input.kernel);
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
        // Enter, returns, issue; what the policy adds to a completion.
        let (enter, returns, issue, more) = match policy {
            "noop" => (1_032, 1_071, 377, 0),
            "deadline" => (1_066, 1_167, 519, 20),
            _ => (1_321, 1_398, 1_086, 1_150),
        };
        Self {
            entry: Nanos(420),
            entry_idle: Nanos(480),
            entry_stopped: Nanos::ZERO,
            entry_per_tick: Nanos::ZERO,
            entry_per_late_tick: Nanos::ZERO,
            entry_step: Nanos(430),
            entry_empty_step: Nanos(260),
            tick: Nanos::from_millis(1),
            rest: Nanos(2_450 + more),
            rest_unwoken: Nanos(1_740 + more),
            timer_rest: Nanos(600),
            started_in_interrupt: Nanos(450),
            issued_in_interrupt: Nanos(300),
            hand: Nanos(2_080),
            to_submit: Nanos(1_400),
            idle_exit: Nanos(300),
            idle_again: Nanos(900),
            deaf_from: Nanos::ZERO,
            deaf_until: Nanos::ZERO,
            switch_deaf: Nanos(600),
            passes_max: 3,
            to_sleep: Nanos(640),
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
            copy_per_sector: Nanos::ZERO,
            release_picos_per_sector: 0,
            queue_work: Nanos(900),
            timer_lag: Nanos(5_000),
            worker: None,
            fork: Fork::ParentFirst {
                latency: Nanos::from_millis(6),
            },
        }
    }

    fn linux_2_6_32(policy: &str, hz: u32) -> Self {
        let (enter, returns, issue, more) = match policy {
            "noop" => (1_070, 991, 506, 0),
            "deadline" => (1_082, 1_118, 703, 0),
            "anticipatory" => (1_160, 1_306, 1_170, 370),
            _ => (1_419, 1_335, 1_300, 1_500),
        };
        Self {
            entry: Nanos(430),
            entry_idle: Nanos(760),
            entry_stopped: Nanos(if hz > 250 { 140 } else { 40 }),
            entry_per_tick: Nanos(if hz > 250 { 200 } else { 0 }),
            entry_per_late_tick: Nanos::ZERO,
            entry_step: Nanos::ZERO,
            entry_empty_step: Nanos::ZERO,
            tick: Nanos(1_000_000_000 / u64::from(hz)),
            rest: Nanos(2_100 + more),
            rest_unwoken: Nanos(1_620 + more),
            timer_rest: Nanos(900),
            started_in_interrupt: Nanos(450),
            issued_in_interrupt: Nanos(300),
            hand: Nanos(2_071),
            to_submit: Nanos(1_300),
            idle_exit: Nanos(380),
            idle_again: Nanos(1371),
            deaf_from: Nanos(550),
            deaf_until: Nanos(if hz > 250 { 4_120 } else { 2_500 }),
            switch_deaf: Nanos(600),
            passes_max: 3,
            to_sleep: Nanos(if hz > 250 { 350 } else { 120 }),
            switch_in: Nanos(1_000),
            enter: Nanos(enter),
            issue: Nanos(issue),
            start: Nanos(282),
            start_each: Nanos(7),
            returns: Nanos(returns),
            returns_started: Nanos(1_175),
            switch_out: Nanos(450),
            attach_picos_per_sector: 8_250,
            prepare_more: Nanos::ZERO,
            prepare_picos_per_sector: 17_900,
            copy_per_sector: Nanos::ZERO,
            release_picos_per_sector: 0,
            queue_work: Nanos(900),
            timer_lag: Nanos(5_000),
            worker: None,
            fork: Fork::ParentFirst {
                latency: Nanos::from_millis(5),
            },
        }
    }

    fn linux_2_6_24(policy: &str) -> Self {
        let (enter, returns, issue, more) = match policy {
            "noop" => (948, 1_032, 522, 0),
            "deadline" => (961, 1_162, 716, 0),
            "anticipatory" => (1_033, 1_319, 1_170, 300),
            _ => (1_216, 1_322, 1_128, 1_050),
        };
        Self {
            entry: Nanos(410),
            entry_idle: Nanos(600),
            entry_stopped: Nanos(390),
            entry_per_tick: Nanos::ZERO,
            entry_per_late_tick: Nanos(300),
            entry_step: Nanos::ZERO,
            entry_empty_step: Nanos::ZERO,
            tick: Nanos::from_millis(4),
            rest: Nanos(1_240 + more),
            rest_unwoken: Nanos(950 + more),
            timer_rest: Nanos(650),
            started_in_interrupt: Nanos(600),
            issued_in_interrupt: Nanos(350),
            hand: Nanos(1_245),
            to_submit: Nanos(1_150),
            idle_exit: Nanos(410),
            idle_again: Nanos(2290),
            deaf_from: Nanos(550),
            deaf_until: Nanos(2_350),
            switch_deaf: Nanos(600),
            passes_max: u32::MAX,
            to_sleep: Nanos(380),
            switch_in: Nanos(1_000),
            enter: Nanos(enter),
            issue: Nanos(issue),
            start: Nanos(355),
            start_each: Nanos(7),
            returns: Nanos(returns),
            returns_started: Nanos(1_200),
            switch_out: Nanos(410),
            attach_picos_per_sector: 6_700,
            prepare_more: Nanos::ZERO,
            prepare_picos_per_sector: 15_800,
            copy_per_sector: Nanos::ZERO,
            release_picos_per_sector: 0,
            queue_work: Nanos(450),
            timer_lag: Nanos(5_000),
            worker: None,
            fork: Fork::ChildFirst,
        }
    }

    /// mq-deadline and kyber on 6.1 (5.10 and 6.12 within 1 µs, but for the release of pages): a timed request is inserted 9 µs late, a
    /// closed loop's 30 µs after its predecessor's end; complete to issue 6.5 µs, for requests of 64 KiB 3 to 5 µs more; issue to
    /// complete 1.5 µs beyond the service time; 9 µs a page of a buffered write. A completion leaves the queue to a kernel thread.
    fn blk_mq(kernel: &seekwise_sched::Kernel) -> Self {
        // Release of pages in ps a sector; insertion to issue in ns, 6.1 leaves it to the kernel thread.
        let (release_picos_per_sector, issue) = if kernel.at_least(6, 12, 0) {
            (38_000, 1_950)
        } else if kernel.at_least(6, 0, 0) {
            (24_000, 6_000)
        } else {
            (20_000, 1_750)
        };
        Self {
            entry: Nanos(1_500),
            entry_idle: Nanos(1_500),
            entry_stopped: Nanos::ZERO,
            entry_per_tick: Nanos::ZERO,
            entry_per_late_tick: Nanos::ZERO,
            entry_step: Nanos::ZERO,
            entry_empty_step: Nanos::ZERO,
            tick: Nanos::from_millis(4),
            rest: Nanos(2_000),
            rest_unwoken: Nanos(2_000),
            timer_rest: Nanos::ZERO,
            started_in_interrupt: Nanos::ZERO,
            issued_in_interrupt: Nanos::ZERO,
            hand: Nanos(2_000),
            to_submit: Nanos(3_500),
            idle_exit: Nanos::ZERO,
            idle_again: Nanos::ZERO,
            deaf_from: Nanos::ZERO,
            deaf_until: Nanos::ZERO,
            switch_deaf: Nanos::ZERO,
            passes_max: u32::MAX,
            to_sleep: Nanos(13_000),
            switch_in: Nanos(3_500),
            enter: Nanos(4_000),
            issue: Nanos(issue),
            start: Nanos::ZERO,
            start_each: Nanos::ZERO,
            returns: Nanos(3_000),
            returns_started: Nanos(3_000),
            switch_out: Nanos(3_000),
            attach_picos_per_sector: 0,
            prepare_more: Nanos::ZERO,
            prepare_picos_per_sector: 0,
            copy_per_sector: Nanos(1_125),
            release_picos_per_sector,
            queue_work: Nanos(900),
            timer_lag: Nanos(2_000),
            worker: Some(Nanos(2_500)),
            fork: Fork::ParentFirst {
                latency: Nanos::from_millis(6),
            },
        }
    }
}
