//! What a machine of several cores is asked to do, and what came of it.

use super::costs::{HostCosts, Sections};
use super::machine::{Machine, Served};
use super::process::Process;
use super::processor::Fair;
use super::side::Side;
use crate::queue::{Below, MemberQueues};
use crate::result::Windows;
use crate::spec::QueueSpec;
use seekwise_device::{Device, Drive, Model};
use seekwise_host::job::stream::ALWAYS;
use seekwise_host::job::{Pattern, Stream};
use seekwise_host::random::Random;
use seekwise_sched::tag_words::TagWords;
use seekwise_sched::{AnyScheduler, Scheduler};
use seekwise_units::{Lba, Nanos, Sectors};

/// Processes that do the same.
#[derive(Clone, Debug)]
pub struct Group {
    pub processes: u32,
    pub depth: u32,
    pub block: Sectors,
    pub pattern: Pattern,
    /// Share of reads, of 2^32.
    pub read_chance: u64,
    /// Where it works, and whether each of its processes has an equal part of that to itself.
    pub first: Lba,
    pub region: Option<Sectors>,
    pub own_regions: bool,
}

impl Group {
    /// Start and length of the part of one of its processes.
    fn part(&self, process: u32, capacity: Sectors) -> (Lba, Sectors) {
        let whole = self.region.unwrap_or(Sectors(capacity.0 - self.first.0));
        if !self.own_regions {
            return (self.first, whole);
        }
        let each = whole.0 / u64::from(self.processes.max(1));
        (Lba(self.first.0 + u64::from(process) * each), Sectors(each))
    }
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub model: Model,
    pub queue: QueueSpec,
    /// Cores that the processes may use, and those of the machine.
    pub cores: u32,
    pub online: u32,
    pub drives: u32,
    pub groups: Vec<Group>,
    pub costs: HostCosts,
    /// A kernel's worker dispatches reads and writes that pass a scheduler ([`crate::spec::kernel::by_worker`]), otherwise who submits.
    pub worker: [bool; 2],
    pub ramp: Nanos,
    pub span: Nanos,
    pub seed: u64,
}

/// What was measured in the span.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub span: Nanos,
    /// Of each group, reads and writes.
    pub served: Vec<[Served; 2]>,
    /// Of all cores: at work, of that spinning for a lock, of that under one.
    pub busy: Nanos,
    pub spun: Nanos,
    pub locked: Nanos,
    pub windows: Windows,
    pub events: u64,
}

impl Outcome {
    /// Operations of all groups, reads and writes, done in the measured span.
    pub fn count(&self) -> u64 {
        let each = self.served.iter().flatten();
        each.map(|served| served.latency.count).sum()
    }

    /// Operations per second of a group in one direction.
    pub fn rate(&self, group: usize, write: bool) -> f64 {
        let served = &self.served[group][usize::from(write)];
        served.latency.count as f64 / self.span.as_secs_f64()
    }
}

/// Hardware queue of an NVMe drive: as deep as the driver makes it, less one. Linux drivers/nvme/host/pci.c: io_queue_depth 1024.
const NVME_DEPTH: u32 = 1023;

/// Simulates the plan. The error is one sentence: a scheduler that is unknown, of the single queue, or without known costs.
pub fn run(plan: &Plan) -> Result<Outcome, String> {
    let scheduler = plan.queue.scheduler.as_str();
    let below = Below {
        depth: NVME_DEPTH,
        tags: NVME_DEPTH,
        throttled: NVME_DEPTH,
        rotational: false,
        budget: false,
        command_kib: None,
    };
    let queues = MemberQueues::alike(&plan.queue, &below)?;
    let kernel = queues.kernel();
    if queues.single_queue() {
        return Err(format!(
            "{scheduler} belongs to the single queue; several cores are simulated for blk-mq"
        ));
    }
    let sections = Sections::of(scheduler, &kernel);
    if sections.is_none() && scheduler != "none" {
        return Err(format!("what {scheduler} costs several cores is not known"));
    }
    let mut devices = Vec::new();
    for drive in 0..plan.drives {
        let device = plan.model.build(drive).map_err(|error| error.to_string())?;
        devices.push(device);
    }
    let words = TagWords::of(&kernel, queues.requests());
    macro_rules! over {
        ($($kind:ident),*) => {{
            let policy = queues.policy()?;
            match policy {
                $(AnyScheduler::$kind(policy) => {
                    let policy = sections.map(|sections| (policy, sections));
                    Ok(over_devices(plan, devices, policy, words, kernel.hz))
                })*
                policy => {
                    let policy = sections.map(|sections| (policy, sections));
                    Ok(over_devices(plan, devices, policy, words, kernel.hz))
                }
            }
        }};
    }
    over!(MqDeadline, Bfq, Kyber)
}

/// Drives of flash get a machine of their own; any other one goes through [`Drive`].
fn over_devices<S: Scheduler>(
    plan: &Plan,
    devices: Vec<Drive>,
    policy: Option<(S, Sections)>,
    words: TagWords,
    hz: u32,
) -> Outcome {
    if devices.iter().all(|device| matches!(device, Drive::Ssd(_))) {
        let flash = devices.into_iter().filter_map(|device| match device {
            Drive::Ssd(device) => Some(device),
            _ => None,
        });
        measured(plan, flash.collect(), policy, words, hz)
    } else {
        measured(plan, devices, policy, words, hz)
    }
}

fn measured<S: Scheduler, D: Device>(
    plan: &Plan,
    devices: Vec<D>,
    policy: Option<(S, Sections)>,
    words: TagWords,
    hz: u32,
) -> Outcome {
    let cores = plan.cores as usize;
    let capacity = devices.iter().map(|device| device.capacity().0).min();
    let capacity = Sectors(capacity.unwrap_or(0));
    let side = |device| Side::new(device, policy.clone(), &plan.costs, cores, words);
    let sides = devices.into_iter().map(side).collect();
    let fair = Fair::new(plan.online as usize, hz);
    let processes = processes(plan, capacity);
    let mut machine = Machine::new(sides, cores, processes, fair, plan.costs, plan.worker);
    machine.run(plan.ramp, plan.span);
    let sum = |of: &dyn Fn(&super::processor::Processor) -> Nanos| {
        Nanos(machine.processors.iter().map(|each| of(each).0).sum())
    };
    Outcome {
        span: plan.span,
        busy: sum(&|each| each.busy),
        spun: sum(&|each| each.spun),
        locked: sum(&|each| each.locked),
        windows: machine.windows,
        events: machine.events,
        served: machine.served,
    }
}

fn processes(plan: &Plan, capacity: Sectors) -> Vec<Process> {
    let mut all: Vec<Process> = Vec::new();
    for (index, group) in plan.groups.iter().enumerate() {
        for process in 0..group.processes {
            let number = all.len();
            let random = Random::new(plan.seed, number as u64);
            let (first, region) = group.part(process, capacity);
            let stream = Stream::new(
                random,
                group.pattern,
                first,
                region,
                group.block,
                group.read_chance.min(ALWAYS),
            );
            let core = number % plan.cores.max(1) as usize;
            let drive = number % plan.drives.max(1) as usize;
            all.push(Process::new(index, stream, group.depth, core, drive));
        }
    }
    all
}
