//! The run itself: a machine built as the recorded kernel was, on the device that it had.

use crate::whole::cost::Costs;
use crate::whole::input::{Input, Recorded, Under};
use crate::whole::one_cpu::{OneCpu, Process};
use seekwise_device::linear::Linear;
use seekwise_device::null::Null;
use seekwise_device::Device;
use seekwise_host::block::BlockQueue;
use seekwise_host::job::Script;
use seekwise_sched::{AnyScheduler, ProcessId, Setup};
use seekwise_sim::assemble::{check, entry_of, legacy_queue, mq_queue, Frame, QueueNumbers};
use seekwise_sim::result::probe::{Moment, TraceEvent};
use seekwise_units::{Depth, Nanos, Sectors};

/// Capacity of the recorded disks (README of the legacy recordings, "Devices").
const SECTORS: Sectors = Sectors(1_953_525_168);
/// Time of a command of the linear drive beside its way. Its own reckoning takes it 0.4 to 0.6 us longer than the fixed drive, in all four kernels
/// (mean of the recordings of noop).
const LINEAR_BASE: Nanos = Nanos(1_000_450);
/// Requests that one recording can hold; more would not fit a trace in memory.
const EVENTS_MAX: usize = 20_000_000;

/// Runs it and gives the trace.
pub fn run(input: &Input, recorded: &Recorded) -> Result<Vec<TraceEvent>, String> {
    let entry = entry_of(&input.scheduler)?;
    let depth = match input.under {
        Under::Fixed { depth, .. } => depth,
        Under::Linear => 1,
    };
    let commands = f64::from(depth);
    check("the device's depth", commands, "commands", 1.0, 65_536.0)?;
    let number = |name: &str| input.settings.get(name).and_then(|v| v.parse::<u32>().ok());
    let mut setup = Setup::new(input.kernel);
    setup.rotational = input.rotational;
    setup.depth_device = depth;
    if input.legacy {
        setup.age = Setup::RECORDED_AGE;
    }
    setup.nr_requests = number("nr_requests").unwrap_or(128);
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
    let numbers = QueueNumbers {
        nr_requests: setup.nr_requests,
        max_sectors: Sectors::from_kib(u64::from(number("max_sectors_kb").unwrap_or(512))),
        nomerges: number("nomerges").unwrap_or(0) as u8,
        // null_blk gives no budget (README of the blk-mq recordings).
        budget: false,
        // Nothing throttled write-back there: sixty asynchronous writes stand in flight at once, each inserted at its time.
        wbt: None,
        legacy: input.legacy,
    };
    let frame = Frame::of(entry, input.kernel, numbers, depth);
    let policy = entry.build(&setup)?;
    match input.under {
        Under::Fixed { depth, service } => {
            let device = Null::new(SECTORS, Depth(depth), service);
            on(input, recorded, policy, device, &frame)
        }
        Under::Linear => {
            let device = Linear::new(SECTORS, LINEAR_BASE, 100);
            on(input, recorded, policy, device, &frame)
        }
    }
}

fn on<D: Device>(
    input: &Input,
    recorded: &Recorded,
    policy: AnyScheduler,
    device: D,
    frame: &Frame,
) -> Result<Vec<TraceEvent>, String> {
    let max_sectors = frame.numbers.max_sectors;
    if input.legacy {
        let queue = legacy_queue(policy, frame);
        drive(input, recorded, queue, device, max_sectors)
    } else {
        let mut queue = mq_queue(policy, frame);
        queue.leave_runs_to_thread();
        drive(input, recorded, queue, device, max_sectors)
    }
}

fn drive<Q: BlockQueue, D: Device>(
    input: &Input,
    recorded: &Recorded,
    queue: Q,
    device: D,
    max_sectors: Sectors,
) -> Result<Vec<TraceEvent>, String> {
    let costs = Costs::of(input);
    // blk-mq recordings have no rows `submit`: the first one known is the insertion.
    let first = |script: &Script, at: u64| match script.operations.first() {
        Some(line) if !input.legacy => Nanos(at).saturating_sub(costs.way_in(line)),
        _ => Nanos(at),
    };
    let processes = input
        .submitters
        .iter()
        .map(|submitter| Process {
            id: ProcessId(submitter.process),
            priority: submitter.priority,
            starts: submitter.starts,
            first: recorded
                .first_submit
                .get(&submitter.process)
                .map_or(submitter.starts, |&at| first(&submitter.script, at)),
            script: submitter.script.clone(),
        })
        .collect();
    OneCpu::new(queue, device, costs, max_sectors, EVENTS_MAX, processes)
        .with_image(input.image)
        .run()
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
