//! One trial from its spec to its result.

use crate::assemble::{self, Built};
use crate::engine::PhaseOutcome;
use crate::parallel;
use crate::result::probe::{Moment, TraceEvent};
use crate::result::JobStats;
use crate::spec::{PhaseSpec, TrialSpec};
use crate::MODEL_VERSION;
use seekwise_host::cpu::CpuCost;
use seekwise_sched::Direction;
use seekwise_units::{Nanos, Sectors};
use serde_json::{json, Value};
use std::mem::size_of;

/// Runs a trial. The error is one sentence that names the parameter and its unit.
pub fn run(spec: &TrialSpec) -> Result<Value, String> {
    run_with(spec, &mut units_json)
}

/// A trial's result, and apart from it the units of its programs, packed: in the result, `units` of a job is their place.
pub type Apart = (Value, Vec<Vec<u8>>);

fn run_apart(spec: &TrialSpec) -> Result<Apart, String> {
    let mut apart = Vec::new();
    let result = run_with(spec, &mut |job| {
        apart.push(packed(job));
        json!(apart.len() - 1)
    })?;
    Ok((result, apart))
}

/// `units`: what stands in the result for the units of a job.
fn run_with(spec: &TrialSpec, units: &mut dyn FnMut(&JobStats) -> Value) -> Result<Value, String> {
    let mut built = assemble::build(spec)?;
    let mut phases = Vec::new();
    for index in 0..spec.phases.len() {
        let (started, outcome) = built.machine.run_phase(index)?;
        phases.push(phase_json(spec, &built, index, started, &outcome, units));
    }
    let mut result = json!({
        "schema": "seekwise.simulated-cell/1",
        "name": spec.name,
        "seed": spec.seed,
        "model_version": MODEL_VERSION,
        "models": {
            "device": built.drive_name,
            "scheduler": spec.queue.scheduler,
            "kernel": built.kernel.to_string(),
            "queue": built.queue_kind,
        },
        "settings": built.settings,
        "phases": phases,
    });
    if let Some(array) = &built.array {
        result["array"] = array.clone();
    }
    if let Some((events, dropped)) = built.machine.trace() {
        result["trace"] = trace_json(events, dropped);
    }
    Ok(result)
}

/// Runs all trials on `threads` workers. `progress(done, of)` is called from the calling thread; false stops taking further trials.
/// A trial that cannot run becomes `{"error": …}`; one that was not taken any more, `{"error": "stopped"}`.
pub fn run_all(
    specs: &[TrialSpec],
    threads: usize,
    progress: impl FnMut(usize, usize) -> bool,
) -> Vec<Value> {
    all(specs, threads, progress, run, |value| value)
}

/// The same with the units apart: a fast drive does millions of them, which as text would take longer than some trials.
pub fn run_all_apart(
    specs: &[TrialSpec],
    threads: usize,
    progress: impl FnMut(usize, usize) -> bool,
) -> Vec<Apart> {
    let without = |value| (value, Vec::new());
    all(specs, threads, progress, run_apart, without)
}

fn all<R: Send>(
    specs: &[TrialSpec],
    threads: usize,
    mut progress: impl FnMut(usize, usize) -> bool,
    run: impl Fn(&TrialSpec) -> Result<R, String> + Sync,
    refused: impl Fn(Value) -> R + Sync,
) -> Vec<R> {
    let trial = |spec: &TrialSpec| {
        run(spec).unwrap_or_else(|error| refused(json!({"name": spec.name, "error": error})))
    };
    let mut done = 0;
    let results = parallel::each(specs, threads, trial, |_| {
        done += 1;
        progress(done, specs.len())
    });
    results
        .into_iter()
        .map(|result| result.unwrap_or_else(|| refused(parallel::stopped())))
        .collect()
}

/// What a trial would be, without running it. The error is the one that [`run`] would give before its first phase.
pub fn describe(spec: &TrialSpec) -> Result<Value, String> {
    let built = assemble::build(spec)?;
    let offered: Vec<&str> = seekwise_sched::ENTRIES
        .iter()
        .filter(|entry| entry.kernels.contains(built.kernel.version))
        .map(|entry| entry.name)
        .collect();
    Ok(json!({
        "schema": "seekwise.cell-description/1",
        "model_version": MODEL_VERSION,
        "kernel": built.kernel.to_string(),
        "queue": built.queue_kind,
        "drive": built.drive_name,
        "capacity_bytes": built.capacity.bytes().0,
        "processors": built.processors,
        "settings": built.settings,
        "schedulers": offered,
        "array": built.array,
    }))
}

fn phase_json(
    spec: &TrialSpec,
    built: &Built,
    index: usize,
    started: Nanos,
    outcome: &PhaseOutcome,
    units: &mut dyn FnMut(&JobStats) -> Value,
) -> Value {
    let phase = &spec.phases[index];
    let mut total = JobStats::default();
    for job in &outcome.jobs {
        total.merge(job);
    }
    let threads: Vec<Value> = outcome
        .threads
        .iter()
        .map(|t| json!({"job": t.job, "process": t.process, "ended_ns": t.ended.0}))
        .collect();
    let mut value = stats_json(&total);
    let extra = json!({
        "operation": phase.operation,
        "started_ns": started.0,
        "elapsed_ns": outcome.elapsed.0,
        "device_busy_ns": outcome.storage.busy.0,
        "device_bytes": Sectors(outcome.storage.sectors).bytes().0,
        "merges": outcome.storage.merges,
        "events": outcome.events,
        "window_ns": outcome.windows.width().0,
        "windows": outcome.windows.rows(),
        "cpu": cpu_json(phase, built, outcome),
        "jobs": jobs_json(phase, outcome, units),
        "threads": threads,
    });
    if let (Some(map), Value::Object(more)) = (value.as_object_mut(), extra) {
        map.extend(more);
    }
    if outcome.held > 0 {
        value["held_bytes"] = json!(outcome.held);
    }
    if !outcome.members.is_empty() {
        array_json(&mut value, outcome);
    }
    value
}

/// Processor time by who used it, in seconds.
fn cpu_json(phase: &PhaseSpec, built: &Built, outcome: &PhaseOutcome) -> Value {
    if let Some(cpu) = &outcome.cpu {
        return json!({
            "user_s": cpu.user.as_secs_f64(),
            "system_s": cpu.system.as_secs_f64(),
            "irq_s": cpu.interrupts.as_secs_f64(),
            "thread_s": cpu.kernel_threads.as_secs_f64(),
            "processors": built.processors,
            "user_ticks": cpu.user_ticks,
            "system_ticks": cpu.system_ticks,
            "hz": cpu.hz,
        });
    }
    // Whole nanoseconds: what is added up does not depend on the order.
    let spent_on = |count: &dyn Fn(&JobStats) -> u64, of: &dyn Fn(CpuCost) -> Nanos| {
        let each = outcome.jobs.iter().enumerate().map(|(i, job)| {
            let cost = phase
                .jobs
                .get(i)
                .map_or_else(|| built.costs.usual(), |job| built.costs.of_job(job));
            of(cost).0 * count(job)
        });
        Nanos(each.sum())
    };
    let spent = |of: &dyn Fn(CpuCost) -> Nanos| spent_on(&JobStats::ios, of);
    let woken = |job: &JobStats| job.ios() - job.unwoken;
    let interrupts = match outcome.storage.interrupts {
        Some(count) if !built.costs.by_member() => Nanos(built.costs.usual().interrupt.0 * count),
        _ => spent(&|cost| cost.interrupt),
    };
    let mut cpu = json!({
        "user_s": spent(&|cost| cost.user).as_secs_f64(),
        "system_s": spent(&|cost| cost.submit).as_secs_f64()
            + spent(&|cost| cost.scheduler).as_secs_f64()
            + spent_on(&woken, &|cost| cost.wake).as_secs_f64(),
        "irq_s": interrupts.as_secs_f64(),
        "thread_s": outcome.storage.thread.as_secs_f64(),
        "processors": built.processors,
    });
    if let Some(times) = &outcome.cores {
        // Of the cores themselves: the program's part is not told apart.
        cpu["user_s"] = json!(0.0);
        cpu["system_s"] = json!(times.busy.as_secs_f64());
        cpu["irq_s"] = json!(0.0);
        cpu["lock_wait_s"] = json!(times.spun.as_secs_f64());
        cpu["lock_held_s"] = json!(times.locked.as_secs_f64());
    }
    if phase.programs.is_some() {
        // Computing is most of it, and nobody tells what of it is the kernel's.
        cpu["user_s"] = json!(outcome.cpu_busy.as_secs_f64());
        cpu["system_s"] = json!(0.0);
        cpu["irq_s"] = json!(0.0);
    }
    cpu
}

fn jobs_json(
    phase: &PhaseSpec,
    outcome: &PhaseOutcome,
    units: &mut dyn FnMut(&JobStats) -> Value,
) -> Vec<Value> {
    let job = |(i, job): (usize, &JobStats)| {
        let group = phase.traced.as_ref().and_then(|load| load.groups.get(i));
        let recorded = phase.programs.as_ref().and_then(|all| all.jobs.get(i));
        let name = phase.jobs.get(i).map(|job| &job.name);
        let name = name.or(group).or(recorded).cloned().unwrap_or_default();
        let mut value = stats_json(job);
        value["name"] = json!(name);
        if recorded.is_some() {
            value["units"] = units(job);
        }
        value
    };
    outcome.jobs.iter().enumerate().map(job).collect()
}

/// What each member of an array did, its bitmap and its resync.
fn array_json(value: &mut Value, outcome: &PhaseOutcome) {
    let members: Vec<Value> = outcome
        .members
        .iter()
        .map(|member| {
            json!({
                "bytes_read": member.read.bytes().0,
                "bytes_written": member.written.bytes().0,
                "commands": member.commands,
                "busy_ns": member.busy.0,
            })
        })
        .collect();
    value["members"] = json!(members);
    if outcome.storage.bitmap_pages > 0 {
        value["bitmap"] = json!({"page_writes": outcome.storage.bitmap_pages});
    }
    let resynced = outcome.storage.resynced.bytes().0;
    if resynced > 0 {
        value["resync"] = json!({
            "bytes": resynced,
            "kib_per_s": resynced as f64 / 1024.0 / outcome.elapsed.as_secs_f64(),
        });
    }
}

/// Four numbers of 64 bits a unit, lowest byte first: process, end, length, bytes (-1 where it was not done in time).
fn packed(stats: &JobStats) -> Vec<u8> {
    let mut packed = Vec::with_capacity(stats.units.len() * 4 * size_of::<u64>());
    for unit in &stats.units {
        let bytes = unit.bytes.unwrap_or(u64::MAX);
        for number in [u64::from(unit.process), unit.ended.0, unit.length.0, bytes] {
            packed.extend_from_slice(&number.to_le_bytes());
        }
    }
    packed
}

/// The same as hexadecimal digits: a list of lists would take a hundred times the room.
fn units_json(stats: &JobStats) -> Value {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |four: u8| char::from(DIGITS[usize::from(four)]);
    let packed = packed(stats);
    let mut text = String::with_capacity(2 * packed.len());
    for byte in packed {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    Value::String(text)
}

fn stats_json(stats: &JobStats) -> Value {
    let mut value = json!({
        "bytes": stats.bytes(),
        "bytes_read": Sectors(stats.sectors_read).bytes().0,
        "bytes_written": Sectors(stats.sectors_written).bytes().0,
        "ios": stats.ios(),
        "reads": stats.reads,
        "latency_bins": stats.latency.to_json(),
        "latency_mean_ns": stats.latency.mean_ns(),
        "latency_max_ns": stats.latency.max.0,
    });
    if stats.call_rates > 0.0 {
        value["call_rate_mean"] = json!(stats.call_rates / stats.ios() as f64);
    }
    value
}

fn trace_json(events: &[TraceEvent], dropped: u64) -> Value {
    let rows: Vec<Value> = events
        .iter()
        .map(|e| {
            json!([
                e.time.0,
                e.moment.name(),
                operation_name(e),
                e.start,
                e.sectors,
                e.process
            ])
        })
        .collect();
    // Where the head is: at the end of what was done last.
    let head: Vec<Value> = events
        .iter()
        .filter(|e| e.moment == Moment::Complete)
        .map(|e| json!([e.time.0, e.start + e.sectors]))
        .collect();
    json!({
        "columns": ["time_ns", "event", "op", "sector", "sectors", "process"],
        "rows": rows,
        "head": head,
        "dropped": dropped,
    })
}

/// Read, sync write or async write in the letters of a trace: R, WS, W.
pub fn operation_name(event: &TraceEvent) -> &'static str {
    match (event.direction, event.sync) {
        (Direction::Read, _) => "R",
        (Direction::Write, true) => "WS",
        (Direction::Write, false) => "W",
    }
}
