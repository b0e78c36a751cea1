//! The run itself: a machine built as the recorded kernel was, on the device that it had.

use super::input::{Input, Recorded, Under};
use crate::build::{check, with_queue_defaults};
use crate::machine::{Load, Machine, ThreadPlan};
use crate::probe::{Moment, Recorder, TraceEvent};
use crate::reference::{Fixed, Linear};
use crate::spindle::Spindle;
use seekwise_device::Device;
use seekwise_host::block::legacy::{LegacyLimits, LegacyPlug, LegacyQueue, Pools};
use seekwise_host::block::merge::MergeRule;
use seekwise_host::block::mq::{MqLimits, MqQueue};
use seekwise_host::block::BlockQueue;
use seekwise_host::cpu::CpuCost;
use seekwise_sched::{registry, AnyScheduler, ProcessId, Setup};
use seekwise_units::{Depth, Nanos, Sectors};

/// Capacity of the recorded disks (README of the legacy recordings, "Devices").
const SECTORS: Sectors = Sectors(1_953_525_168);
/// From one start to the next a device of depth 1 takes its service time and this: interrupt, completion, hand-over.
/// Measured in the recordings (noop, fixed1, rand4_a): 2.3 µs in 2.6.24, 2.9 in 2.6.32, 2.5 in 4.4.
const TURN: Nanos = Nanos(2_500);

/// What submission and completion cost the recorded machine (one CPU of 10^9 instructions a second).
/// Measured in the recordings (noop, rand4_a and burst_rw_a): a call that waits for nothing takes 2.1 µs, of which 1.1 before the
/// insertion; from completion to the next submission of the waiting process 3.9 to 5 µs.
const COST: CpuCost = CpuCost {
    user: Nanos(1_000),
    submit: Nanos(1_100),
    interrupt: Nanos(1_300),
    wake: Nanos(1_600),
    scheduler: Nanos::ZERO,
};

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
    match input.under {
        Under::Fixed { depth, service } => {
            let service = service + if input.legacy { TURN } else { Nanos(TURN.0) };
            on(
                input,
                recorded,
                policy,
                Fixed::new(SECTORS, Depth(depth), service),
                depth,
                setup.nr_requests,
            )
        }
        Under::Linear => {
            let device = Linear::new(SECTORS, Nanos(1_000_000) + TURN, 100);
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
        let throttle = with_queue_defaults(&input.scheduler, &kernel, input.rotational, depth);
        drive(
            input,
            recorded,
            MqQueue::new(policy, limits, depth, throttle),
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
                    Nanos(at).saturating_sub(Nanos(1_000))
                }),
            load: Load::Scripted(submitter.script.clone()),
            operations_max: u64::MAX,
            deadline: Nanos::NEVER,
        })
        .collect();
    let spindle = Spindle::new(device, depth);
    let mut machine = Machine::new(
        queue,
        spindle,
        Recorder::new(EVENTS_MAX),
        COST,
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
