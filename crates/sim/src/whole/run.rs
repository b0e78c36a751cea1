//! The run itself: a machine built as the recorded kernel was, on the device that it had.

use super::input::{Input, Recorded, Under};
use crate::build::check;
use crate::machine::{Load, Machine, ThreadPlan};
use crate::probe::{Moment, Recorder, TraceEvent};
use crate::reference::{Fixed, Linear, Path};
use crate::spindle::Spindle;
use seekwise_device::Device;
use seekwise_host::block::legacy::{LegacyLimits, LegacyPlug, LegacyQueue, Pools};
use seekwise_host::block::merge::MergeRule;
use seekwise_host::block::mq::{MqLimits, MqQueue};
use seekwise_host::block::BlockQueue;
use seekwise_host::cpu::CpuCost;
use seekwise_host::job::{Script, Start};
use seekwise_sched::{registry, AnyScheduler, ProcessId, Setup};
use seekwise_units::{Depth, Nanos, Sectors};

/// Capacity of the recorded disks (README of the legacy recordings, "Devices").
const SECTORS: Sectors = Sectors(1_953_525_168);
/// Processor times of a recorded machine (one CPU of 10^9 instructions a second). They are averages over the recordings named;
/// what differs by a microsecond decides near-ties only.
struct Pace {
    cost: CpuCost,
    path: Path,
    /// What a sleep takes beyond its length.
    sleep: Nanos,
    /// A buffered write is copied page by page before it is submitted.
    page: Nanos,
}

impl Pace {
    fn of(input: &Input) -> Self {
        // noop, fixed1 and fixed32, rand4_a, burst_rw_a, late_antic_a of each kernel: a call that waits for nothing takes 2.1 µs;
        // complete to start 1.26 (2.6.24), 2.1 (2.6.32), 2.15 µs (4.4); start to complete 5 ms and 0.8, 0.8, 0.4 µs.
        let (interrupt, from_interrupt) = match (
            input.legacy,
            input.kernel.at_least(2, 6, 30),
            input.kernel.at_least(3, 0, 0),
        ) {
            (false, ..) => return Self::blk_mq(),
            (_, false, _) => (800, 1_260),
            (_, true, false) => (820, 2_100),
            (_, true, true) => (370, 2_150),
        };
        Self {
            cost: CpuCost {
                user: Nanos(1_000),
                submit: Nanos(1_100),
                interrupt: Nanos(1_700),
                wake: Nanos::ZERO,
                scheduler: Nanos::ZERO,
            },
            path: Path {
                from_thread: Nanos(870),
                from_interrupt: Nanos(from_interrupt),
                next_start: Nanos(1_100),
                interrupt: Nanos(interrupt),
                apart: Nanos(1_600),
            },
            sleep: Nanos(1_700),
            page: Nanos::ZERO,
        }
    }

    /// mq-deadline and kyber, all three lists: a timed request is inserted 9 µs late, a closed loop's 30 µs after its predecessor's
    /// end; complete to issue 6.6 to 9 µs, issue to complete 1.5 µs beyond the service time; 9 µs a page of a buffered write.
    fn blk_mq() -> Self {
        Self {
            cost: CpuCost {
                user: Nanos(3_000),
                submit: Nanos(4_000),
                interrupt: Nanos(20_000),
                wake: Nanos(2_000),
                scheduler: Nanos::ZERO,
            },
            path: Path {
                from_thread: Nanos(5_000),
                from_interrupt: Nanos(7_500),
                next_start: Nanos(4_000),
                interrupt: Nanos(1_500),
                apart: Nanos(8_000),
            },
            sleep: Nanos::ZERO,
            page: Nanos(9_000),
        }
    }

    /// From a process's start to its first recorded row: the submission (legacy) or the insertion (blk-mq).
    fn before_first(&self) -> Nanos {
        Nanos(self.cost.to_submit().0 + self.cost.wake.0)
            .saturating_sub(Nanos(if self.page == Nanos::ZERO { 1_000 } else { 0 }))
    }

    /// A script with the machine's own delays in its times.
    fn script(&self, script: &Script) -> Script {
        let mut script = script.clone();
        for line in &mut script.operations {
            let copied = if line.sync {
                Nanos::ZERO
            } else {
                Nanos(self.page.0 * line.sectors.0.div_ceil(8))
            };
            line.start = match line.start {
                Start::After(pause) if pause > Nanos::ZERO => {
                    Start::After(pause + self.sleep + copied)
                }
                Start::At(at) => Start::At(at + copied),
                start => start,
            };
        }
        script
    }
}

/// Requests that one recording can hold; more would not fit a trace in memory.
const EVENTS_MAX: usize = 20_000_000;

/// Runs it and gives the trace.
pub fn run(input: &Input, recorded: &Recorded) -> Result<Vec<TraceEvent>, String> {
    let entry = registry::find(&input.scheduler)
        .ok_or_else(|| format!("there is no scheduler \"{}\"", input.scheduler))?;
    let (depth, device_depth) = match input.under {
        Under::Fixed { depth, .. } => (depth, depth),
        Under::Linear => (1, 1),
    };
    check(
        "the device's depth",
        f64::from(depth),
        "commands",
        1.0,
        65_536.0,
    )?;
    let setting = |name: &str| input.settings.get(name).and_then(|v| v.parse::<u32>().ok());
    let mut setup = Setup::new(input.kernel);
    setup.rotational = input.rotational;
    setup.depth_device = device_depth;
    setup.nr_requests = setting("nr_requests").unwrap_or(128);
    for (name, value) in &input.settings {
        let Some(tunable) = name.strip_prefix("iosched/") else {
            continue;
        };
        let value: i128 = value
            .parse()
            .map_err(|_| format!("{name} is \"{value}\", not a number"))?;
        // Read-only statistics stand among the tunables of some kernels; what the policy does not have is not set.
        if entry.parameters.iter().any(|p| p.name == tunable) {
            setup
                .values
                .set(entry.name, entry.parameters, &input.kernel, tunable, value)?;
        }
    }
    let policy = entry.build(&setup)?;
    let pace = Pace::of(input);
    match input.under {
        Under::Fixed { depth, service } => on(
            input,
            recorded,
            policy,
            Fixed::new(SECTORS, Depth(depth), service).behind(pace.path),
            depth,
            setup.nr_requests,
        ),
        Under::Linear => {
            let device = Linear::new(SECTORS, Nanos(1_000_000), 100).behind(pace.path);
            on(input, recorded, policy, device, 1, setup.nr_requests)
        }
    }
}

fn on<D: Device>(
    input: &Input,
    recorded: &Recorded,
    policy: AnyScheduler,
    device: D,
    depth: u32,
    nr_requests: u32,
) -> Result<Vec<TraceEvent>, String> {
    let merge_rule = match input.scheduler.as_str() {
        "none" | "kyber" => MergeRule::Recent,
        _ => MergeRule::Hash,
    };
    let number = |name: &str| input.settings.get(name).and_then(|v| v.parse::<u32>().ok());
    let max_sectors = Sectors::from_kib(u64::from(number("max_sectors_kb").unwrap_or(512)));
    let nomerges = number("nomerges").unwrap_or(0) as u8;
    let kernel = input.kernel;
    if input.legacy {
        let limits = LegacyLimits {
            nr_requests,
            max_sectors,
            nomerges,
            merge_rule,
            plug: if kernel.at_least(2, 6, 39) {
                LegacyPlug::Task
            } else {
                LegacyPlug::Queue { hz: kernel.hz }
            },
            pools: if kernel.at_least(2, 6, 32) {
                Pools::BySync
            } else {
                Pools::ByDirection
            },
        };
        drive(
            input,
            recorded,
            LegacyQueue::new(policy, limits, depth),
            device,
            depth,
            max_sectors,
        )
    } else {
        let limits = MqLimits {
            nr_requests,
            max_sectors,
            nomerges,
            merge_rule,
            // null_blk gives no budget (README of the blk-mq recordings).
            budget: false,
            direct: input.scheduler == "none",
        };
        // Nothing throttled write-back there: sixty asynchronous writes stand in flight at once, each inserted at its time.
        drive(
            input,
            recorded,
            MqQueue::new(policy, limits, depth, None),
            device,
            depth,
            max_sectors,
        )
    }
}

fn drive<Q: BlockQueue, D: Device>(
    input: &Input,
    recorded: &Recorded,
    queue: Q,
    device: D,
    depth: u32,
    max_sectors: Sectors,
) -> Result<Vec<TraceEvent>, String> {
    let pace = Pace::of(input);
    let plans = input
        .submitters
        .iter()
        .map(|submitter| ThreadPlan {
            job: 0,
            process: ProcessId(submitter.process),
            priority: submitter.priority,
            processor: 0,
            // The recorded first submission, less what the model takes from there to the queue.
            starts: recorded
                .first_submit
                .get(&submitter.process)
                .map_or(submitter.starts, |&at| {
                    Nanos(at).saturating_sub(pace.before_first())
                }),
            load: Load::Scripted(pace.script(&submitter.script)),
            operations_max: u64::MAX,
            deadline: Nanos::NEVER,
        })
        .collect();
    let spindle = Spindle::new(device, depth);
    let mut machine = Machine::new(
        queue,
        spindle,
        Recorder::new(EVENTS_MAX),
        pace.cost,
        1,
        max_sectors,
    );
    machine.run_phase(plans, 1).map_err(|s| {
        format!(
            "the run stalled at {} ns with {} requests that nobody serves",
            s.time.0, s.waiting
        )
    })?;
    Ok(machine.observer.events)
}

/// (write, sector, sectors) of every issue, in order.
pub fn issues(events: &[TraceEvent]) -> Vec<(bool, u64, u64)> {
    events
        .iter()
        .filter(|e| e.moment == Moment::Issue)
        .map(|e| {
            (
                e.direction == seekwise_sched::Direction::Write,
                e.start,
                e.sectors,
            )
        })
        .collect()
}
