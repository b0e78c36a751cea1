//! A trial whose jobs use files: where the files lie, who uses them how, and the machine that runs it.
//!
//! Files lie where a file system puts them, or one after the other (`raw`); they are read and written through the page cache or directly.

use crate::assemble::array::Planned;
use crate::assemble::drive;
use crate::assemble::md::md;
use crate::assemble::threads::{Uses, ONE_CALL};
use crate::assemble::TraceSink;
use crate::cost::{HostModel, MdCosts, OperationCosts, StepCosts};
use crate::engine::{PhaseOutcome, Running};
use crate::files::machine::FileEngine;
use crate::files::JobOutcome;
use crate::queue::{Below, Frame, MemberQueues};
use crate::result::probe::{Recorder, TraceEvent};
use crate::result::{JobStats, ThreadEnd};
use crate::spec::array::ArraySpec;
use crate::spec::files::{check_steps, FilesSpec, Idle};
use crate::spec::{JobSpec, PhaseSpec, TrialSpec};
use crate::storage::attached::AttachedDrive;
use crate::storage::md::Md;
use crate::storage::unit::StorageUnit;
use seekwise_device::Device;
use seekwise_host::block::{BlockQueue, Observer};
use seekwise_raid::Geometry;
use seekwise_sched::Kernel;
use seekwise_units::{Nanos, Sectors, PAGE_BYTES, PAGE_SECTORS, SECTOR_BYTES};

/// Memory where a trial without buffered jobs says none.
pub(super) const MEMORY_BYTES: u64 = 128 << 20;
/// What kernel and programs take of a small machine's memory in single-user mode: range 20 to 60 MB.
pub(super) const OTHER_BYTES: u64 = 35_000_000;
/// Simulated time after which a phase is given up.
const GIVE_UP: Nanos = Nanos::from_secs(24 * 3_600);
const DRIVES_MAX: u32 = 384;

/// The files of a trial, and what its machine has for them.
pub(super) struct OnFiles<'a> {
    pub(super) spec: &'a TrialSpec,
    pub(super) on: FilesSpec,
    /// The jobs use regions of the device through its own page cache: one file.
    pub(super) device: bool,
    pub(super) kernel: Kernel,
    /// Otherwise blk-mq: memory is a cgroup's, the program is fio, and barriers reach the drives.
    pub(super) single_queue: bool,
    pub(super) capacity: Sectors,
    /// Pages of each file.
    pub(super) files: Vec<u64>,
    /// Where each begins, of regions.
    pub(super) places: Vec<u64>,
}

impl<'a> OnFiles<'a> {
    /// The files of a trial that has any, refused where they cannot be.
    pub fn of(
        spec: &'a TrialSpec,
        frame: &Frame,
        capacity: Sectors,
    ) -> Result<Option<Self>, String> {
        let device = spec.files.is_none();
        if Uses::of(spec) == Uses::Regions {
            return Ok(None);
        }
        let on = spec.files.clone().unwrap_or_else(|| FilesSpec {
            filesystem: "raw".to_owned(),
            start_bytes: 0,
            written: true,
        });
        let mut found = Self {
            spec,
            on,
            device,
            kernel: frame.kernel,
            single_queue: frame.numbers.legacy,
            capacity,
            files: Vec::new(),
            places: Vec::new(),
        };
        found.check()?;
        if device {
            found.files.push(capacity.bytes().0 / PAGE_BYTES);
            found.places.push(0);
            return Ok(Some(found));
        }
        for phase in &spec.phases {
            found.lay_out(phase)?;
        }
        Ok(Some(found))
    }

    pub(super) fn is_raw(&self) -> bool {
        self.on.filesystem == "raw"
    }

    fn check(&self) -> Result<(), String> {
        let (spec, name) = (self.spec, self.on.filesystem.as_str());
        if !matches!(name, "raw" | "ext3" | "ext4" | "xfs") {
            return Err(format!("file system {name} is not modelled"));
        }
        if !(1..=DRIVES_MAX).contains(&spec.device.drives()) {
            let drives = spec.device.drives();
            return Err(format!("drives is {drives}, outside 1 to {DRIVES_MAX}"));
        }
        if spec.host.cores.is_some() {
            return Err("several cores are simulated over drives alone, without files".to_owned());
        }
        let memory = spec.cache.map_or(MEMORY_BYTES, |cache| cache.limit_bytes);
        if self.single_queue && memory < OTHER_BYTES + (8 << 20) {
            return Err(format!(
                "limit_bytes is {memory}, too little for a kernel and a page cache"
            ));
        }
        for (number, phase) in spec.phases.iter().enumerate() {
            self.check_phase(number, phase)?;
        }
        Ok(())
    }

    fn check_phase(&self, number: usize, phase: &PhaseSpec) -> Result<(), String> {
        let wrong = |idle: Idle| idle.phase >= number || !(0.0..=1e6).contains(&idle.times);
        if phase.idle.is_some_and(wrong) {
            return Err(format!(
                "phase {number}: `idle` names an earlier phase and 0 to 1000000 times its length"
            ));
        }
        if phase.traced.is_some() || phase.programs.is_some() {
            return Err("recorded loads name sectors of the device, and a file system decides where files lie".to_owned());
        }
        let steps = phase.jobs.iter().any(|job| !job.steps.is_empty());
        if steps && (phase.jobs.len() > 1 || phase.jobs[0].threads != 1 || !phase.jobs[0].direct) {
            return Err("calls of steps are made by one thread, without page cache".to_owned());
        }
        phase.jobs.iter().try_for_each(|job| self.check_job(job))
    }

    fn check_job(&self, job: &JobSpec) -> Result<(), String> {
        if job.block_bytes % PAGE_BYTES != 0 {
            return Err(format!(
                "block_bytes is {}, no multiple of {PAGE_BYTES}",
                job.block_bytes
            ));
        }
        if job.depth > 1 && !job.direct {
            return Err(ONE_CALL.to_owned());
        }
        if job.depth > 1 && job.o_sync {
            return Err(format!(
                "O_SYNC with {} calls under way is not modelled",
                job.depth
            ));
        }
        if self.on.filesystem == "xfs" && job.read_percent.unwrap_or(100.0) < 100.0 {
            return Err("writing on xfs is not modelled: its log is not".to_owned());
        }
        if !self.device && job.region_start_bytes % PAGE_BYTES != 0 {
            return Err("files lie at whole pages of 4096 bytes".to_owned());
        }
        if !self.is_raw() && job.region_start_bytes > 0 {
            return Err(
                "a file system decides where files lie, so region_start_bytes means nothing on one"
                    .to_owned(),
            );
        }
        if !self.is_raw() && job.region_bytes.is_none() {
            return Err(
                "region_bytes is missing: the files of a job have a size, all of them together"
                    .to_owned(),
            );
        }
        if job.steps.is_empty() {
            return Ok(());
        }
        check_steps(&job.steps, job.ios.unwrap_or(0))?;
        let parity = |level: &str| matches!(level, "raid5" | "raid6");
        let device = &self.spec.device;
        let array = device.array.as_ref();
        if !self.is_raw()
            || device.controller.is_some()
            || array.is_some_and(|array| parity(&array.level))
        {
            return Err(
                "calls of steps on a file system, a controller's unit or RAID 5 or 6 are not modelled"
                    .to_owned(),
            );
        }
        let longest = job.steps.iter().map(|step| step.bytes).max().unwrap_or(0);
        let calls = job.ios.unwrap_or(1);
        if longest > self.capacity.bytes().0 / calls {
            return Err(format!(
                "{calls} calls of {longest} bytes are larger than the volume"
            ));
        }
        Ok(())
    }

    /// The files of a phase's jobs, numbered in their order; those of an earlier phase are the same.
    fn lay_out(&mut self, phase: &PhaseSpec) -> Result<(), String> {
        let from = self.on.start_bytes / PAGE_BYTES * PAGE_BYTES;
        let room = self.capacity.bytes().0.saturating_sub(from);
        let (mut number, mut end) = (0, 0);
        for job in &phase.jobs {
            let count = u64::from(job.files());
            let bytes = job.region_bytes.unwrap_or(room - end.min(room)) / count;
            if bytes < job.block_bytes {
                return Err(format!(
                    "a file has {bytes} bytes, less than a block of {}",
                    job.block_bytes
                ));
            }
            let pages = bytes / PAGE_BYTES;
            end = end.max(job.region_start_bytes);
            for _ in 0..count {
                if number == self.files.len() {
                    self.files.push(0);
                    self.places.push(end / PAGE_BYTES);
                }
                self.files[number] = self.files[number].max(pages);
                number += 1;
                end = end.saturating_add(pages * PAGE_BYTES);
            }
        }
        if from.saturating_add(end) > self.capacity.bytes().0 {
            return Err(format!(
                "{number} files of {end} bytes together are larger than the volume"
            ));
        }
        Ok(())
    }

    /// The machine, whose drives have such queues.
    pub fn machine(
        &self,
        queues: &MemberQueues,
        below: &Below,
        array: Option<&Planned>,
        light: bool,
    ) -> Result<Box<dyn Running>, String> {
        let costs = self.costs(below.rotational, light)?;
        let units = units(self.spec)?;
        let mut jobs = self.spec.phases.iter().flat_map(|phase| &phase.jobs);
        if jobs.any(|job| !job.steps.is_empty()) && below.depth >= units[0].depth().0 {
            return Err(
                "calls of steps need a depth below the drive's own: a flush is one command more"
                    .to_owned(),
            );
        }
        if self.single_queue {
            self.over(|| queues.legacy(), units, below, array, costs)
        } else {
            self.over(|| queues.mq(), units, below, array, costs)
        }
    }

    fn over<Q: BlockQueue + Send + 'static>(
        &self,
        queue: impl Fn() -> Result<Q, String>,
        units: Vec<StorageUnit>,
        below: &Below,
        array: Option<&Planned>,
        costs: (StepCosts, MdCosts),
    ) -> Result<Box<dyn Running>, String> {
        let mut members = Vec::new();
        for unit in units {
            members.push((queue()?, AttachedDrive::new(unit, below.depth)));
        }
        let of_array = array.map(|array| (array.spec, &array.geometry));
        let volume = (of_array, self.capacity);
        let most = self.spec.trace_events_max;
        let trace = (most > 0).then(|| Recorder::new(most));
        let mut machine =
            file_engine(members, volume, self.kernel, below.rotational, costs, trace)?;
        if !self.single_queue {
            machine.max_sectors = machine.member_sectors_max();
        }
        machine.set_files(self.plan(below, array)?);
        let phases = self.spec.phases.iter();
        let jobs = phases.map(|phase| phase.jobs.iter().map(|job| job.threads).collect());
        Ok(Box::new(FilesMachine {
            engine: machine,
            jobs: jobs.collect(),
        }))
    }

    /// What the host's work costs step by step, and md's where that was measured.
    fn costs(&self, rotational: bool, light: bool) -> Result<(StepCosts, MdCosts), String> {
        let (host, scheduler) = (&self.spec.host, &self.spec.queue.scheduler);
        let of_md = MdCosts::of_kernel(self.kernel.version);
        let model = HostModel::named(host)?;
        let by_step = model.as_ref().is_none_or(|model| model.by_step());
        if !self.single_queue || !by_step {
            let own = super::cost(host, scheduler, light)?;
            let costs = OperationCosts::of(host, &self.kernel, scheduler, own, [false; 2])?;
            return Ok((
                StepCosts::of_trials(&costs),
                costs.md().unwrap_or_else(|| of_md.beside(&own)),
            ));
        }
        let mut costs = match model {
            Some(model) => model.costs(scheduler)?,
            // Disks stand in machines of their time.
            None if rotational => StepCosts::default(),
            None => StepCosts::modern(),
        };
        if self.spec.device.controller.is_some() {
            // A card takes a command by one register.
            costs.port_command = Nanos::ZERO;
        }
        let of_md = of_md.beside(&costs.request());
        Ok((costs, of_md))
    }
}

/// Tasks with files over members of an array, or over a drive alone.
pub fn file_engine<Q: BlockQueue, D: Device, O: Observer>(
    mut members: Vec<(Q, AttachedDrive<D>)>,
    (array, capacity): (Option<(&ArraySpec, &Geometry)>, Sectors),
    kernel: Kernel,
    rotational: bool,
    (costs, of_md): (StepCosts, MdCosts),
    observer: O,
) -> Result<FileEngine<Q, D, O>, String> {
    let volume = match array {
        Some((array, geometry)) => {
            let most = members[0].0.max_sectors();
            md(array, geometry, kernel, rotational, most, members, of_md)?
        }
        None => {
            let (queue, drive) = members.swap_remove(0);
            Md::alone(queue, drive, capacity)
        }
    };
    let mut machine = FileEngine::over(volume, costs, observer);
    machine.host.kick_after_mark = kernel.at_least(2, 6, 32);
    machine.host.queue_plug = !kernel.at_least(2, 6, 39);
    Ok(machine)
}

/// Drives with a queue each, alone or under md, or a unit of a controller: one disk with one queue.
fn units(spec: &TrialSpec) -> Result<Vec<StorageUnit>, String> {
    let device = &spec.device;
    let members = device.array.as_ref().map_or(1, |array| array.members);
    (0..members)
        .map(|place| drive::build(device, instance(spec, place)).map(|drive| drive.unit))
        .collect()
}

/// Where a drive's platters stand: spindles do not turn in step, and stand elsewhere in each repeat.
pub(super) fn instance(spec: &TrialSpec, member: u32) -> u32 {
    if spec.files.is_some() {
        return (spec.seed as u32)
            .wrapping_mul(spec.device.drives())
            .wrapping_add(member);
    }
    drive::instance(spec.seed.wrapping_add(u64::from(member) << 20))
}

/// Of a job on files, whose calls may have no histogram.
fn job_stats(job: &JobOutcome) -> JobStats {
    let mut latency = job.latency.as_deref().cloned().unwrap_or_default();
    latency.count = job.done.count;
    latency.sum = u128::from(job.done.latency_total.0);
    latency.max = job.done.latency_max;
    let read = job.pages_read * PAGE_SECTORS;
    JobStats {
        latency,
        sectors_read: read,
        sectors_written: job.done.bytes / SECTOR_BYTES - read,
        reads: job.reads,
        unwoken: 0,
        units: Vec::new(),
        call_rates: job.call_rates,
    }
}

/// A machine with files, ready to run its phases one after the other.
struct FilesMachine<Q, D> {
    engine: FileEngine<Q, D, Option<Recorder>>,
    /// Threads of each job of each phase.
    jobs: Vec<Vec<u32>>,
}

impl<Q: BlockQueue + Send, D: Device + Send> Running for FilesMachine<Q, D> {
    fn run_phase(&mut self, index: usize) -> Result<(Nanos, PhaseOutcome), String> {
        let outcome = self
            .engine
            .run_file_phase(GIVE_UP)
            .ok_or_else(|| format!("phase {index} does not end"))?;
        let of_jobs = self.jobs[index].iter().enumerate();
        let job_of = of_jobs.flat_map(|(job, &threads)| (0..threads).map(move |_| job as u32));
        let threads = job_of.zip(&outcome.threads).zip(0..);
        let threads = threads.map(|((job, &ended), process)| ThreadEnd {
            job,
            process,
            ended,
        });
        let began = outcome.began;
        Ok((
            began,
            PhaseOutcome {
                elapsed: outcome.ended - began,
                jobs: outcome.jobs.iter().map(job_stats).collect(),
                threads: threads.collect(),
                storage: outcome.storage,
                members: outcome.members,
                windows: outcome.windows,
                cpu_busy: outcome.cpu.user + outcome.cpu.system,
                events: self.engine.events,
                cores: None,
                cpu: Some(outcome.cpu),
                held: outcome.held,
            },
        ))
    }

    fn trace(&self) -> Option<(&[TraceEvent], u64)> {
        self.engine.observer.trace()
    }
}
