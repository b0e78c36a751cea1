//! The run itself: the simulator's engine, queue and scheduler as the recorded kernel had them, on the device that it had.

use crate::closed_loop::input::{Device as Recorded, Input};
use crate::closed_loop::recording::Recording;
use seekwise_device::linear::Linear;
use seekwise_device::null::Null;
use seekwise_device::Device;
use seekwise_host::block::BlockQueue;
use seekwise_host::cpu::{CpuCost, Processors};
use seekwise_host::job::Start;
use seekwise_sched::{Direction, ProcessId};
use seekwise_sim::engine::Engine;
use seekwise_sim::queue::{entry_of, Below, MemberQueues};
use seekwise_sim::result::probe::{Moment, Recorder, TraceEvent};
use seekwise_sim::spec::check::check;
use seekwise_sim::spec::QueueSpec;
use seekwise_sim::storage::attached::AttachedDrive;
use seekwise_sim::storage::Single;
use seekwise_sim::task::direct::DirectThreads;
use seekwise_sim::task::{ThreadLoad, ThreadPlan};
use seekwise_units::{Depth, Nanos, Sectors};

/// Capacity of the recorded disks (README of the legacy recordings, "Devices").
const SECTORS: Sectors = Sectors(1_953_525_168);
/// Service time of the linear drive without its seek: 0.4 to 0.6 us above the fixed drive's, in all four kernels (mean of the recordings of noop).
const LINEAR_BASE: Nanos = Nanos(1_000_450);
/// Requests that one recording can hold; more would not fit a trace in memory.
const EVENTS_MAX: usize = 20_000_000;
/// The recorded processor of 10^9 instructions a second, medians over the recordings of noop with 4 KiB: from `submit` to the queue 0.9 to 1.1 us; from a
/// completion to the next `submit` of the waiting process 2.9 us (2.6.24) to 4.2 us (4.4), of which the interrupt is about half. Half and twice
/// as much give the same number of runs within the limits for every scheduler but anticipatory, cfq and bfq (three more or fewer).
const COST: CpuCost = CpuCost {
    user: Nanos::ZERO,
    submit: Nanos(1_000),
    interrupt: Nanos(2_000),
    wake: Nanos(2_000),
    scheduler: Nanos::ZERO,
    behind: Nanos::ZERO,
};

/// Runs it and gives the trace.
pub fn run(input: &Input, recording: &Recording) -> Result<Vec<TraceEvent>, String> {
    let depth = match input.device {
        Recorded::Fixed { depth, .. } => depth,
        Recorded::Linear => 1,
    };
    let commands = f64::from(depth);
    check("the device's depth", commands, "commands", 1.0, 65_536.0)?;
    let below = Below {
        depth,
        tags: depth,
        throttled: depth,
        rotational: input.rotational,
        // null_blk takes no budget (README of the blk-mq recordings).
        budget: false,
        command_kib: None,
    };
    let queues = MemberQueues::alike(&queue_spec(input)?, &below)?;
    match (input.device, queues.single_queue()) {
        (Recorded::Linear, true) => {
            let device = Linear::new(SECTORS, LINEAR_BASE, 100);
            simulate(input, recording, queues.legacy()?, device, depth)
        }
        (Recorded::Linear, false) => {
            Err("the linear drive was recorded on the single queue only".to_owned())
        }
        (Recorded::Fixed { service, .. }, single_queue) => {
            let device = Null::new(SECTORS, Depth(depth), service);
            if single_queue {
                simulate(input, recording, queues.legacy()?, device, depth)
            } else {
                simulate(input, recording, queues.mq()?, device, depth)
            }
        }
    }
}

/// The queue with the settings that the recording names.
fn queue_spec(input: &Input) -> Result<QueueSpec, String> {
    let entry = entry_of(&input.scheduler)?;
    let number = |name: &str| input.settings.get(name).and_then(|v| v.parse::<u32>().ok());
    let mut queue = QueueSpec {
        hz: Some(input.kernel.hz),
        nr_requests: Some(number("nr_requests").unwrap_or(128)),
        max_sectors_kb: Some(number("max_sectors_kb").unwrap_or(512)),
        nomerges: number("nomerges").unwrap_or(0) as u8,
        // Nothing throttled write-back there: sixty asynchronous writes are in flight at once, each inserted at its time.
        wbt_lat_usec: Some(0),
        ..QueueSpec::of(&input.scheduler, &input.kernel_name)
    };
    for (name, value) in &input.settings {
        let Some(tunable) = name.strip_prefix("iosched/") else {
            continue;
        };
        let value: i64 = value
            .parse()
            .map_err(|_| format!("{name} is \"{value}\", not a number"))?;
        // Some kernels list read-only statistics among the tunables; the model has no parameter of that name.
        if entry.parameters.iter().any(|p| p.name == tunable) {
            queue.tunables.insert(tunable.to_owned(), value);
        }
    }
    Ok(queue)
}

fn simulate<Q: BlockQueue, D: Device>(
    input: &Input,
    recording: &Recording,
    queue: Q,
    device: D,
    depth: u32,
) -> Result<Vec<TraceEvent>, String> {
    let max_sectors = queue.max_sectors();
    let storage = Single {
        queue,
        drive: AttachedDrive::new(device, depth),
    };
    let observer = Recorder::new(EVENTS_MAX);
    let mut engine = Engine::new(storage, observer, Processors::new(1), max_sectors);
    engine
        .run_phase(1, |engine| {
            DirectThreads::new(engine, threads(input, recording))
        })
        .map_err(|stalled| format!("the run stalls at {} ns", stalled.time.0))?;
    Ok(engine.observer.events)
}

/// A thread for each process, which submits first when the recorded one did.
fn threads(input: &Input, recording: &Recording) -> Vec<ThreadPlan> {
    let thread = |submitter: &crate::closed_loop::input::Submitter| {
        let mut script = submitter.script.clone();
        let mut starts = submitter.starts;
        if let Some(&at) = recording.first_submit.get(&submitter.process) {
            // blk-mq recordings have no rows `submit`: the first one known is the insertion.
            starts = match input.single_queue {
                true => Nanos(at),
                false => Nanos(at).saturating_sub(COST.submit),
            };
            if let Some(first) = script.operations.first_mut() {
                first.start = Start::At(starts);
            }
        }
        ThreadPlan {
            job: 0,
            process: ProcessId(submitter.process),
            priority: submitter.priority,
            processor: 0,
            cost: COST,
            starts,
            operations_max: script.operations.len() as u64,
            sync_every: 0,
            deadline: Nanos::NEVER,
            load: ThreadLoad::Scripted(script),
        }
    };
    input.submitters.iter().map(thread).collect()
}

/// (write, sector, sectors) of every issue, in order.
pub fn issues(events: &[TraceEvent]) -> Vec<(bool, u64, u64)> {
    events
        .iter()
        .filter(|event| event.moment == Moment::Issue)
        .map(|event| {
            let write = event.direction == Direction::Write;
            (write, event.start, event.sectors)
        })
        .collect()
}
