//! The run itself: a machine built as the recorded kernel was, on the device that it had.

use super::input::{Input, Recorded, Under};
use crate::build::check;
use crate::machine::{Load, Machine, ThreadPlan};
use crate::probe::{Moment, Recorder, TraceEvent};
use crate::reference::{Fixed, Linear, Path};
use crate::spindle::Spindle;
use crate::stack::Single;
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
/// Processor times of a recorded machine (one CPU of 10^9 instructions a second): medians over its recordings.
/// They are those of the machine, not of a workload; a microsecond more or less decides near-ties only.
struct Pace {
    cost: CpuCost,
    path: Path,
    /// What a sleep takes beyond its length.
    sleep: Nanos,
    /// From a tick until the work of its timers is done.
    timer_lag: Nanos,
    /// Attaching pages to a request, per sector beyond eight; copying a buffered write, per sector.
    picos_per_sector: u64,
    copy_per_sector: Nanos,
    /// From a process's start to its first recorded row.
    before_first: Nanos,
}

/// Interrupt and wake-up that come before a process is chosen to run: two completions this close are both seen first.
const CHOICE: u64 = 1_700;

/// A row of medians in ns: completion to the process's next submission, submission to insertion, insertion to the return of the
/// call's successor, insertion to issue, issue to start, completion to the start of the request at hand.
struct Medians(u64, u64, u64, u64, u64, u64);

impl Pace {
    fn of(input: &Input) -> Self {
        let kernel = &input.kernel;
        let scheduler = input.scheduler.as_str();
        if !input.legacy {
            return Self::blk_mq();
        }
        let (m, interrupt, picos_per_sector) = if kernel.at_least(3, 0, 0) {
            let m = match scheduler {
                "noop" => Medians(4_144, 1_032, 1_074, 377, 264, 2_080),
                "deadline" => Medians(4_168, 1_066, 1_170, 519, 262, 2_080),
                _ => Medians(6_232, 1_321, 1_398, 1_086, 257, 2_211),
            };
            (m, 370, 24_600)
        } else if kernel.at_least(2, 6, 30) {
            let m = match scheduler {
                "noop" => Medians(3_800, 1_070, 990, 506, 289, 2_072),
                "deadline" => Medians(3_797, 1_082, 1_125, 703, 287, 2_072),
                "anticipatory" => Medians(4_145, 1_160, 1_306, 2_473, 282, 2_131),
                _ => Medians(5_505, 1_419, 1_335, 1_300, 282, 1_880),
            };
            (m, 820, 26_600)
        } else {
            let m = match scheduler {
                "noop" => Medians(2_898, 948, 1_028, 522, 360, 1_245),
                "deadline" => Medians(2_904, 962, 1_166, 716, 358, 1_245),
                "anticipatory" => Medians(3_196, 1_033, 1_319, 1_974, 355, 1_307),
                _ => Medians(4_186, 1_216, 1_322, 1_128, 355, 1_162),
            };
            (m, 800, 21_900)
        };
        let Medians(wake, enter, returns, issue, start, at_hand) = m;
        Self {
            cost: CpuCost {
                user: Nanos(returns),
                submit: Nanos(enter),
                interrupt: Nanos(CHOICE),
                wake: Nanos(wake - CHOICE - returns.min(wake - CHOICE)),
                scheduler: Nanos::ZERO,
            },
            path: Path {
                from_thread: Nanos(issue + start),
                from_interrupt: Nanos(at_hand),
                next_start: Nanos(issue + start),
                interrupt: Nanos(interrupt),
                apart: Nanos(CHOICE - 100),
            },
            sleep: Nanos(1_700),
            timer_lag: Nanos(5_000),
            picos_per_sector,
            copy_per_sector: Nanos::ZERO,
            before_first: Nanos(returns),
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
            timer_lag: Nanos(2_000),
            picos_per_sector: 0,
            copy_per_sector: Nanos(1_125),
            before_first: Nanos(9_000),
        }
    }

    /// A script with the machine's own delays in its times.
    fn script(&self, script: &Script) -> Script {
        let mut script = script.clone();
        for line in &mut script.operations {
            let pages = Nanos(line.sectors.0.saturating_sub(8) * self.picos_per_sector / 1000);
            let copied = if line.sync {
                Nanos::ZERO
            } else {
                Nanos(self.copy_per_sector.0 * line.sectors.0)
            };
            line.processor = pages + copied;
            if let Start::After(pause) = line.start {
                if pause > Nanos::ZERO {
                    line.start = Start::After(pause + self.sleep);
                }
            }
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
                    Nanos(at).saturating_sub(pace.before_first)
                }),
            load: Load::Scripted(pace.script(&submitter.script)),
            operations_max: u64::MAX,
            deadline: Nanos::NEVER,
        })
        .collect();
    let spindle = Spindle::new(device, depth);
    let mut machine = Machine::new(
        Single {
            queue,
            drive: spindle,
        },
        Recorder::new(EVENTS_MAX),
        pace.cost,
        1,
        max_sectors,
    );
    machine.timer_lag = pace.timer_lag;
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
