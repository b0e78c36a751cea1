//! A trial whose host has several cores: its jobs as groups of processes of [`super::Machine`].

use super::spec::{run, Group, Outcome, Plan};
use crate::engine::{PhaseOutcome, Running};
use crate::result::probe::TraceEvent;
use crate::result::{CoreTimes, JobStats, ThreadEnd};
use crate::spec::check::check;
use crate::spec::{JobSpec, PatternSpec, PhaseSpec, TrialSpec};
use crate::storage::Totals;
use seekwise_device::{Attachment, Model};
use seekwise_host::job::stream::ALWAYS;
use seekwise_host::job::Pattern;
use seekwise_sched::Kernel;
use seekwise_units::{Lba, Nanos, Sectors, SECTOR_BYTES};

/// Before anything is recorded: longer than the first requests of all processes take.
const RAMP: Nanos = Nanos::from_millis(40);
const CORES_MAX: f64 = 1024.0;

pub(crate) struct CoresTrial {
    plan: Plan,
    phases: Vec<PhaseSpec>,
    ended: Nanos,
}

/// The machine of a trial with `host.cores`.
pub(crate) fn machine(spec: &TrialSpec, kernel: &Kernel) -> Result<CoresTrial, String> {
    let cores = spec.host.cores.unwrap_or(1);
    check("host cores", f64::from(cores), "cores", 1.0, CORES_MAX)?;
    let device = &spec.device;
    if device.array.is_some() || device.controller.is_some() || spec.cache.is_some() {
        return Err("several cores are simulated over drives alone, without array, controller or page cache".into());
    }
    if spec.trace_events_max > 0 {
        return Err("of several cores no trace is kept".into());
    }
    let mut model = Model::shipped(&device.model).map_err(|error| error.to_string())?;
    for (key, value) in &device.parameters {
        model.set(key, *value).map_err(|error| error.to_string())?;
    }
    if model.guest || !matches!(model.attachment, Attachment::Nvme | Attachment::None) {
        return Err(format!(
            "several cores are simulated over NVMe drives, which have a queue for each; {} has one for all, so leave out \"cores\"",
            model.id
        ));
    }
    let plan = Plan {
        model,
        queue: spec.queue.clone(),
        cores,
        online: spec.host.processors.unwrap_or(cores).max(cores),
        drives: device.drives_beside.unwrap_or(1),
        groups: Vec::new(),
        costs: super::HostCosts::default(),
        worker: spec.by_worker(kernel),
        ramp: RAMP,
        span: Nanos::ZERO,
        seed: spec.seed,
    };
    let drives = f64::from(plan.drives);
    check("device drives_beside", drives, "drives", 1.0, 64.0)?;
    Ok(CoresTrial {
        plan,
        phases: spec.phases.clone(),
        ended: Nanos::ZERO,
    })
}

/// What this engine does not know.
fn refuse(phase: &PhaseSpec) -> Result<(), String> {
    if phase.traced.is_some() || phase.programs.is_some() {
        return Err("several cores are simulated for jobs, not for lists or recorded loads".into());
    }
    if phase.runtime_ns.is_none() {
        return Err("jobs of several cores run for a time: runtime_ns is missing".into());
    }
    for job in &phase.jobs {
        refuse_job(job)?;
    }
    Ok(())
}

fn refuse_job(job: &JobSpec) -> Result<(), String> {
    let wrong = [
        (!job.direct, "direct = false"),
        (job.think_ns > 0, "think_time"),
        (job.rate_iops.is_some(), "rate_limit"),
        (job.sync_every > 0, "sync"),
        (!job.sizes.is_empty(), "sizes"),
        (job.ios.is_some(), "random_ios"),
        (job.class.is_some() || job.level.is_some(), "an io_class"),
        (job.start_ns > 0 || job.stagger_ns > 0, "a delayed start"),
    ];
    match wrong.iter().find(|(is, _)| *is) {
        Some((_, what)) => Err(format!("{what} is not simulated with several cores")),
        None => Ok(()),
    }
}

fn group(job: &JobSpec) -> Group {
    Group {
        processes: job.threads,
        depth: job.depth,
        block: Sectors(job.block_bytes / SECTOR_BYTES),
        pattern: match job.pattern {
            PatternSpec::Sequential => Pattern::Sequential,
            PatternSpec::Random => Pattern::Random,
        },
        read_chance: (job.read_percent.unwrap_or(100.0) / 100.0 * ALWAYS as f64) as u64,
        first: Lba(job.region_start_bytes / SECTOR_BYTES),
        region: job.region_bytes.map(|bytes| Sectors(bytes / SECTOR_BYTES)),
        own_regions: job.own_regions,
    }
}

fn stats(outcome: &Outcome, group: usize) -> JobStats {
    let [reads, writes] = &outcome.served[group];
    let mut latency = reads.latency.clone();
    latency.merge(&writes.latency);
    JobStats {
        latency,
        sectors_read: reads.sectors,
        sectors_written: writes.sectors,
        reads: reads.latency.count,
        unwoken: 0,
        units: Vec::new(),
        call_rates: 0.0,
    }
}

impl Running for CoresTrial {
    fn run_phase(&mut self, index: usize) -> Result<(Nanos, PhaseOutcome), String> {
        let phase = &self.phases[index];
        refuse(phase)?;
        self.plan.groups = phase.jobs.iter().map(group).collect();
        self.plan.span = Nanos(phase.runtime_ns.unwrap_or(0));
        let outcome = run(&self.plan)?;
        let started = self.ended + RAMP;
        self.ended = started + outcome.span;
        let jobs = (0..phase.jobs.len()).map(|job| stats(&outcome, job));
        let ends = phase
            .jobs
            .iter()
            .enumerate()
            .flat_map(|(job, of)| (0..of.threads).map(move |_| job as u32));
        let threads = ends.enumerate().map(|(process, job)| ThreadEnd {
            job,
            process: process as u32,
            ended: outcome.span,
        });
        let jobs: Vec<JobStats> = jobs.collect();
        let sectors = jobs
            .iter()
            .map(|job| job.sectors_read + job.sectors_written);
        let done = PhaseOutcome {
            elapsed: outcome.span,
            threads: threads.collect(),
            storage: Totals {
                busy: outcome.span,
                sectors: sectors.sum(),
                ..Totals::default()
            },
            jobs,
            members: Vec::new(),
            windows: outcome.windows.clone(),
            cpu_busy: outcome.busy,
            events: outcome.events,
            cores: Some(CoreTimes {
                busy: outcome.busy,
                spun: outcome.spun,
                locked: outcome.locked,
            }),
            cpu: None,
            held: 0,
        };
        Ok((started, done))
    }

    fn trace(&self) -> Option<(&[TraceEvent], u64)> {
        None
    }
}
