//! From a spec to a machine: every number checked, every default filled in, policy and drive chosen once.
//!
//! The machine behind [`Running`] is monomorphic in queue, policy and drive; the one boxed call is per phase.

mod array;
pub mod drive;
mod file_jobs;
pub mod files;
mod md;
mod threads;
pub(crate) mod traced;

use crate::cores;
use crate::cost::{HostModel, MdCosts, OperationCosts};
use crate::engine::{Engine, PhaseOutcome, Running, Stalled};
use crate::queue::{
    either_queue, kernel_of, legacy_queue, mq_queue, of_single_queue, Below, Frame, MemberQueues,
};
use crate::result::probe::{Recorder, TraceEvent};
use crate::spec::cache::CacheSpec;
use crate::spec::check::check;
use crate::spec::{DeviceSpec, HostSpec, PhaseSpec, TrialSpec};
use crate::storage::attached::AttachedDrive;
use crate::storage::unit::StorageUnit;
use crate::storage::{Single, Stack};
use crate::task::cache_plan::CachePlan;
use crate::task::direct::DirectThreads;
use crate::task::program::Programs;
use crate::task::ThreadPlan;
use drive::AnyDrive;
use seekwise_device::{Device, Drive};
use seekwise_host::block::{BlockQueue, Observer, Unobserved};
use seekwise_host::cpu::{scheduler_cost, CpuCost, Processors};
use seekwise_sched::{AnyScheduler, Kernel};
use seekwise_units::{Nanos, Sectors, PAGE_BYTES};
use serde_json::{json, Value};
use threads::Uses;

/// A machine ready to run the phases of its spec.
pub struct Built {
    pub machine: Box<dyn Running>,
    pub kernel: Kernel,
    pub queue_kind: &'static str,
    pub costs: OperationCosts,
    pub processors: u32,
    pub drive_name: String,
    pub capacity: Sectors,
    /// What is in force after defaults, under the kernel's names.
    pub settings: Value,
    /// What the array is, where there is one.
    pub array: Option<Value>,
}

/// An engine and what a run of it needs beside. `phases` says who runs a phase.
pub(crate) struct Prepared<S, O, P> {
    pub engine: Engine<S, O>,
    pub spec: TrialSpec,
    pub capacity: Sectors,
    pub costs: OperationCosts,
    pub phases: P,
}

/// Who runs the phases of a trial.
pub(crate) trait Phases<S, O> {
    fn run(
        &self,
        engine: &mut Engine<S, O>,
        phase: &PhaseSpec,
        plans: Vec<ThreadPlan>,
        costs: &OperationCosts,
    ) -> Result<PhaseOutcome, Stalled>;
}

/// Threads that go past the page cache.
pub(crate) struct Direct;

impl<S: Stack, O: Observer> Phases<S, O> for Direct {
    fn run(
        &self,
        engine: &mut Engine<S, O>,
        phase: &PhaseSpec,
        plans: Vec<ThreadPlan>,
        _costs: &OperationCosts,
    ) -> Result<PhaseOutcome, Stalled> {
        // A list is one job.
        let jobs = phase.jobs.len().max(1);
        engine.run_phase(jobs, |engine| DirectThreads::new(engine, plans))
    }
}

/// Recorded programs, which share a page cache.
impl<S: Stack> Phases<S, Option<Recorder>> for CachePlan {
    fn run(
        &self,
        engine: &mut Engine<S, Option<Recorder>>,
        phase: &PhaseSpec,
        _plans: Vec<ThreadPlan>,
        costs: &OperationCosts,
    ) -> Result<PhaseOutcome, Stalled> {
        let programs = phase
            .programs
            .as_ref()
            .expect("buffered jobs are a file engine's");
        let runtime = phase.runtime_ns.map_or(Nanos::NEVER, Nanos);
        engine.run_phase(programs.jobs.len(), |engine| {
            Programs::new(engine, programs, runtime, costs.clone(), *self)
        })
    }
}

/// An observer that may have something to show.
pub trait TraceSink: Observer + Send {
    fn trace(&self) -> Option<(&[TraceEvent], u64)> {
        None
    }
}
impl TraceSink for Unobserved {}
impl TraceSink for Option<Recorder> {
    fn trace(&self) -> Option<(&[TraceEvent], u64)> {
        self.as_ref().and_then(TraceSink::trace)
    }
}
impl TraceSink for Recorder {
    fn trace(&self) -> Option<(&[TraceEvent], u64)> {
        Some((&self.events, self.dropped))
    }
}

impl<S, O, P> Prepared<S, O, P>
where
    S: Stack + Send + 'static,
    O: TraceSink + 'static,
    P: Phases<S, O> + Send + 'static,
{
    /// The machine behind the one call per phase; `capacity` is that of the drive or the array.
    pub fn boxed(
        engine: Engine<S, O>,
        spec: &TrialSpec,
        frame: &Frame,
        capacity: Sectors,
        phases: P,
    ) -> Box<dyn Running> {
        Box::new(Self {
            engine,
            spec: spec.clone(),
            capacity,
            costs: frame.costs.clone(),
            phases,
        })
    }
}

impl<S: Stack + Send, O: TraceSink, P: Phases<S, O> + Send> Running for Prepared<S, O, P> {
    fn run_phase(&mut self, index: usize) -> Result<(Nanos, PhaseOutcome), String> {
        let started = self.engine.now;
        let plans = threads::threads(
            &self.spec,
            index,
            self.capacity,
            self.engine.processors.count(),
            &self.costs,
        )?;
        let phase = &self.spec.phases[index];
        let outcome = self.phases.run(&mut self.engine, phase, plans, &self.costs);
        let outcome = outcome.map_err(|stalled| {
            format!(
                "phase {index} stalled at {} ns with {} requests that nobody serves",
                stalled.time.0, stalled.waiting
            )
        })?;
        Ok((started, outcome))
    }

    fn trace(&self) -> Option<(&[TraceEvent], u64)> {
        self.engine.observer.trace()
    }
}

/// What a machine is put together from, once every default is filled in.
struct Parts<'a> {
    spec: &'a TrialSpec,
    kernel: Kernel,
    below: Below,
    queues: MemberQueues,
    array: Option<array::Planned<'a>>,
    capacity: Sectors,
    traits: drive::Traits,
}

/// Checks the spec and builds its machine. The error is one sentence that names the number or the name refused.
pub fn build(spec: &TrialSpec) -> Result<Built, String> {
    let drive = drive::build(&spec.device, files::instance(spec, 0))?;
    let kernel = kernel_of(&spec.queue)?;
    let array = array::Planned::of(spec, &drive)?;
    let capacity = array.as_ref().map_or_else(
        || spec.device.in_use(drive.capacity()),
        |array| array.geometry.capacity(),
    );
    let below = below(spec, &drive, &kernel)?;
    let mut queues = MemberQueues::alike(&spec.queue, &below)?;
    let costs = host(spec, &mut queues, &drive.traits, array.is_some())?;
    check_trial(spec, capacity)?;
    let parts = Parts {
        spec,
        kernel,
        below,
        queues,
        array,
        capacity,
        traits: drive.traits,
    };
    let described = parts.array.as_ref().map(array::Planned::describe);
    Ok(Built {
        kernel,
        queue_kind: if parts.queues.single_queue() {
            "single queue"
        } else {
            "blk-mq"
        },
        costs,
        processors: parts.queues.frame.processors,
        capacity,
        settings: parts.settings(),
        array: described.transpose()?,
        drive_name: drive.name.clone(),
        machine: parts.machine(drive)?,
    })
}

fn has_programs(spec: &TrialSpec) -> bool {
    spec.phases.iter().any(|phase| phase.programs.is_some())
}

/// Refuses what no trial can be, whatever its drives are.
fn check_trial(spec: &TrialSpec, capacity: Sectors) -> Result<(), String> {
    let events = spec.trace_events_max as f64;
    check("trace_events_max", events, "events", 0.0, 10_000_000.0)?;
    if spec.phases.is_empty() {
        return Err("a trial needs at least one phase".to_owned());
    }
    if has_programs(spec) && spec.phases.len() > 1 {
        return Err("recorded programs are the only phase of their trial".to_owned());
    }
    threads::check_phases(spec, capacity)?;
    if let Some(cache) = &spec.cache {
        let limit = cache.limit_bytes as f64;
        let (least, most) = ((8u64 << 20) as f64, (1u64 << 40) as f64);
        check("cache limit_bytes", limit, "bytes", least, most)?;
        let read_ahead = cache.read_ahead_kib.unwrap_or(0) as f64;
        check("cache read_ahead_kib", read_ahead, "KiB", 0.0, 1e6)?;
    }
    let mut jobs = spec.phases.iter().flat_map(|phase| &phase.jobs);
    let buffered = has_programs(spec) || jobs.any(|job| !job.direct);
    if buffered == spec.cache.is_some() || !buffered && spec.files.is_some() {
        return Ok(());
    }
    Err("buffered jobs (direct is false, or recorded programs) and a cache with its limit_bytes go together, one of them is missing".to_owned())
}

/// What the queues are told of the drives.
fn below(spec: &TrialSpec, drive: &AnyDrive, kernel: &Kernel) -> Result<Below, String> {
    let mut depth = depth(&spec.device, drive, kernel)?;
    let syncs = |phase: &PhaseSpec| phase.jobs.iter().any(|job| job.sync_every > 0);
    let flushes = match Uses::of(spec) {
        Uses::Regions => {
            has_programs(spec) || traced::flushes(spec) || spec.phases.iter().any(syncs)
        }
        // They reach a card, and one of its commands is kept for them.
        _ => spec.device.controller.is_some() && !of_single_queue(&spec.queue.scheduler)?,
    };
    if flushes {
        // A flush is one command more.
        depth = depth.min(drive.depth().0.saturating_sub(1)).max(1);
    }
    let traits = &drive.traits;
    Ok(Below {
        depth,
        tags: traits.host.tags(kernel, depth),
        throttled: traits.host.throttled(kernel, depth),
        rotational: spec.queue.rotational.unwrap_or(traits.rotational),
        budget: traits.budget,
        command_kib: drive.command_kib,
    })
}

/// Processors and costs of the host become known to the queues; what operations cost.
fn host(
    spec: &TrialSpec,
    queues: &mut MemberQueues,
    traits: &drive::Traits,
    over_array: bool,
) -> Result<OperationCosts, String> {
    let scheduler = queues.entry.name;
    let own = cost(&spec.host, scheduler, traits.light)?;
    let by_worker = spec.by_worker(&queues.kernel());
    let costs = OperationCosts::of(&spec.host, &queues.kernel(), scheduler, own, by_worker)?;
    // Behind the page cache it is the machine there that sees what members are asked.
    let (costs, services) = if over_array && spec.cache.is_none() {
        let md = MdCosts::of_kernel(queues.kernel().version);
        costs.over_members(md.pass)
    } else {
        (costs, None)
    };
    let frame = &mut queues.frame;
    frame.costs = costs.clone();
    frame.services = services;
    frame.flusher = spec.cache.is_some() || spec.files.is_some();
    let usual = match frame.kernel.at_least(2, 6, 39) {
        // The checks of page cache and files were recorded on guests with one.
        _ if frame.flusher => 1,
        true => PROCESSORS,
        false => PROCESSORS_BEFORE_2_6_39,
    };
    frame.processors = processors(&spec.host, usual)?.max(spec.host.cores.unwrap_or(1));
    if let (true, Some(tags)) = (frame.flusher, costs.tags()) {
        frame.throttled = tags;
    }
    Ok(costs)
}

impl Parts<'_> {
    /// What is in force, under the kernel's names.
    fn settings(&self) -> Value {
        let MemberQueues {
            entry,
            setup,
            frame,
        } = &self.queues;
        let known = entry.parameters.iter();
        let known = known.filter(|parameter| parameter.kernels.contains(self.kernel.version));
        let value = |name| json!(setup.get(entry.parameters, name));
        let tunables = known.map(|parameter| (parameter.name.to_owned(), value(parameter.name)));
        json!({
            "scheduler": entry.name,
            "nr_requests": frame.numbers.nr_requests,
            "max_sectors_kb": frame.numbers.max_sectors.0 / 2,
            "nomerges": frame.numbers.nomerges,
            "rotational": u8::from(self.below.rotational),
            "queue_depth": self.below.depth,
            "wbt_lat_usec": frame.numbers.wbt.map_or(0, |target| target.0 / 1000),
            "iosched": tunables.collect::<serde_json::Map<_, _>>(),
        })
    }

    /// Who uses the storage decides the engine's tasks; drives, array and queues are the same for all.
    fn machine(&self, drive: AnyDrive) -> Result<Box<dyn Running>, String> {
        let (spec, frame, array) = (self.spec, &self.queues.frame, self.array.as_ref());
        if let Some(files) = files::OnFiles::of(spec, frame, self.capacity)? {
            return files.machine(&self.queues, &self.below, array, self.traits.light);
        }
        if spec.host.cores.is_some() {
            return Ok(Box::new(cores::trial::machine(spec, &self.kernel)?));
        }
        let (policy, rotational) = (self.queues.policy()?, self.below.rotational);
        if let Some(load) = traced::of(spec)? {
            return traced::machine(spec, load, frame, drive.unit, array, policy, rotational);
        }
        let cached = match &spec.cache {
            Some(cache) => Some(cache_plan(cache, frame, array, rotational)?),
            None => None,
        };
        if let Some(array) = array {
            return array.machine(frame, rotational, cached, policy);
        }
        Ok(match (cached, drive.unit) {
            (Some(_), StorageUnit::Controller(_)) => {
                return Err("recorded programs behind a controller are not simulated".to_owned())
            }
            (Some(plan), unit) => {
                let most = spec.trace_events_max;
                let trace = (most > 0).then(|| Recorder::new(most));
                assemble(spec, frame, unit, trace, mq_queue(policy, frame), plan)
            }
            (None, StorageUnit::Guest(device)) => with_any_policy(spec, frame, *device, policy),
            (None, StorageUnit::Drive(Drive::Hdd(device))) => {
                with_device(spec, frame, device, policy)
            }
            (None, StorageUnit::Drive(Drive::Ssd(device))) => {
                with_device(spec, frame, device, policy)
            }
            (None, StorageUnit::Drive(Drive::Null(device))) => {
                with_device(spec, frame, device, policy)
            }
            (None, StorageUnit::Controller(unit)) => with_device(spec, frame, *unit, policy),
        })
    }
}

/// Commands that the host keeps outstanding on a drive.
pub(crate) fn depth(device: &DeviceSpec, drive: &AnyDrive, kernel: &Kernel) -> Result<u32, String> {
    let own = drive.depth().0;
    match device.depth {
        None => Ok(own.min(drive.traits.host.tags(kernel, own))),
        Some(depth) => {
            let most = f64::from(own);
            check("device depth", f64::from(depth), "commands", 1.0, most)?;
            Ok(depth)
        }
    }
}

/// Processors of a host that is not named, for loads that bypass the page cache. Before 2.6.39 a server of two cores, since then a desktop.
const PROCESSORS_BEFORE_2_6_39: u32 = 2;
const PROCESSORS: u32 = 8;

/// Processors of the host: as asked, its model's, or `usual` for one that is not named. A model that states none was measured with one.
pub(crate) fn processors(host: &HostSpec, usual: u32) -> Result<u32, String> {
    let of_model = HostModel::named(host)?.map(|model| model.processors.unwrap_or(1));
    let count = host.processors.or(of_model).unwrap_or(usual);
    let processors = f64::from(count);
    check("host processors", processors, "processors", 1.0, 4096.0)?;
    Ok(count)
}

/// Read-ahead of a device by default. Linux include/linux/pagemap.h: VM_READAHEAD_PAGES, 128 KiB.
const READ_AHEAD_KIB: u64 = 128;

/// `queue/read_ahead_kb` of a device that states no optimal size. From 6.17 on one that rotates takes its largest request for the optimum,
/// and reads twice the optimum ahead (Linux v6.17 block/blk-settings.c: blk_apply_bdi_limits).
pub(crate) fn read_ahead_kib(kernel: &Kernel, rotational: bool, max_sectors: Sectors) -> u64 {
    if rotational && kernel.at_least(6, 17, 0) {
        READ_AHEAD_KIB.max(2 * max_sectors.bytes().0 / 1024)
    } else {
        READ_AHEAD_KIB
    }
}

/// The page cache of a trial, checked.
fn cache_plan(
    cache: &CacheSpec,
    frame: &Frame,
    array: Option<&array::Planned>,
    rotational: bool,
) -> Result<CachePlan, String> {
    let kernel = frame.kernel;
    if frame.numbers.legacy || !kernel.at_least(5, 0, 0) {
        return Err(format!(
            "recorded programs need a kernel from 5.0 on, not {kernel}"
        ));
    }
    // Linux v6.1 block/blk-settings.c, disk_stack_limits: twice the optimal request, a row of chunks.
    let row_kib = array.map_or(0, array::Planned::row_kib);
    let own = cache.read_ahead_kib.unwrap_or(match row_kib {
        0 => read_ahead_kib(&kernel, rotational, frame.numbers.max_sectors),
        _ => READ_AHEAD_KIB.max(2 * row_kib),
    });
    Ok(CachePlan {
        pages: CachePlan::file_pages(cache.limit_bytes)?,
        // fio's sequential jobs say so (POSIX_FADV_SEQUENTIAL), which doubles it.
        read_ahead: 2 * own * 1024 / PAGE_BYTES,
        request_pages: (frame.numbers.max_sectors.bytes().0 / PAGE_BYTES).max(1),
        spread: array.map_or(1, |array| u64::from(array.geometry.members)),
        // Linux block/blk-mq.c, include/linux/blkdev.h: BLK_MAX_REQUEST_COUNT, 16 up to 5.15, 32 later.
        plug: if kernel.at_least(5, 16, 0) { 32 } else { 16 },
        kernel,
        cost: frame.costs.cache(),
    })
}

/// Drives whose speed does not matter share one machine for all policies: each further one costs seconds of compilation.
fn with_any_policy<D: Device + Send + 'static>(
    spec: &TrialSpec,
    frame: &Frame,
    device: D,
    policy: AnyScheduler,
) -> Box<dyn Running> {
    let queue = either_queue(policy, frame);
    match spec.trace_events_max {
        0 => assemble(spec, frame, device, Unobserved, queue, Direct),
        most => assemble(spec, frame, device, Recorder::new(most), queue, Direct),
    }
}

/// The hot combinations get a machine of their own; whatever else the registry holds, and traced runs, go through [`AnyScheduler`].
fn with_device<D: Device + Send + 'static>(
    spec: &TrialSpec,
    frame: &Frame,
    device: D,
    policy: AnyScheduler,
) -> Box<dyn Running> {
    if spec.trace_events_max > 0 {
        return with_any_policy(spec, frame, device, policy);
    }
    macro_rules! own_machine {
        ($($kind:ident: $queue:ident),*) => {
            match policy {
                $(AnyScheduler::$kind(policy) => {
                    assemble(spec, frame, device, Unobserved, $queue(policy, frame), Direct)
                })*
                #[allow(unreachable_patterns)]
                other => with_any_policy(spec, frame, device, other),
            }
        };
    }
    own_machine!(
        Noop: legacy_queue, Deadline: legacy_queue, Cfq: legacy_queue, None: mq_queue, MqDeadline: mq_queue, Bfq: mq_queue,
        Kyber: mq_queue
    )
}

fn assemble<Q, D, O, P>(
    spec: &TrialSpec,
    frame: &Frame,
    device: D,
    observer: O,
    queue: Q,
    phases: P,
) -> Box<dyn Running>
where
    Q: BlockQueue + Send + 'static,
    D: Device + Send + 'static,
    O: TraceSink + 'static,
    P: Phases<Single<Q, D>, O> + Send + 'static,
{
    let capacity = spec.device.in_use(device.capacity());
    let drive = AttachedDrive::new(device, frame.depth);
    let engine = Engine::new(
        Single { queue, drive },
        observer,
        Processors::new(frame.processors),
        frame.numbers.max_sectors,
    );
    Prepared::boxed(engine, spec, frame, capacity, phases)
}

/// What a request costs a host that no model describes.
pub(crate) fn cost(host: &HostSpec, scheduler: &str, light: bool) -> Result<CpuCost, String> {
    let default = if light {
        CpuCost::light()
    } else {
        CpuCost::default()
    };
    let number = |name: &str, value: Option<u64>, default: Nanos| -> Result<Nanos, String> {
        let value = value.map_or(default, Nanos);
        check(&format!("host {name}"), value.0 as f64, "ns", 0.0, 1e9)?;
        Ok(value)
    };
    Ok(CpuCost {
        user: number("user_ns", host.user_ns, default.user)?,
        submit: number("submit_ns", host.submit_ns, default.submit)?,
        interrupt: number("interrupt_ns", host.interrupt_ns, default.interrupt)?,
        wake: number("wake_ns", host.wake_ns, default.wake)?,
        scheduler: number("scheduler_ns", host.scheduler_ns, scheduler_cost(scheduler))?,
        ..default
    })
}
