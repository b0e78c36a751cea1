//! One whole storage from its spec to its rates: drives of one model, alone or under md, read through the page cache or used directly.
//!
//! Files of the threads lie one after the other from `start_bytes` on, as on a fresh file system; blocks of the file system itself are
//! not read. With `files` they lie where a file system puts them, and are read through the page cache or directly.
//!
//! Queues are of the kind that the scheduler belongs to: the single queue's (up to 4.20) or blk-mq's.

use crate::cost::CacheCost;
use crate::cost::HostModel;
use crate::cost::OperationCosts;
use crate::cost::StepCosts;
use crate::files::machine::{FileEngine, ReaderKind, ReaderPlan, SamplesPlan};
use crate::files::spec::{self as files, FilesSpec};
use crate::parallel;
use crate::spec::array::default_chunk_kib;
use crate::spec::controller::{self, ControllerSpec};
use crate::spec::{HostSpec, QueueSpec};
use crate::storage::spindle::Spindle;
use crate::storage::unit::Unit;
use crate::storage::volume::Volume;
use seekwise_controller::Choices;
use seekwise_device::model::Attachment;
use seekwise_device::{Device, Model};
use seekwise_host::block::BlockQueue;
use seekwise_host::cache::read_ahead::{ReadAhead, ReadAheadGeneration};
use seekwise_host::cpu::{scheduler_cost, CpuCost};
use seekwise_raid::{md, Geometry, Level, ParityLayout, Raid10Layout};
use seekwise_sched::kernel::HZ_DEFAULT;
use seekwise_sched::Kernel;
use seekwise_units::{Nanos, Sectors, PAGE_BYTES};
use serde::Deserialize;
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StorageSpec {
    pub seed: u64,
    pub kernel: String,
    pub scheduler: String,
    #[serde(default)]
    pub hz: Option<u32>,
    /// Name of a model in `models/`.
    pub drive: String,
    pub drives: u32,
    /// `raid0`, `raid1`, `raid5`, `raid6`, `raid10` (near layout, two copies); a drive alone when absent.
    #[serde(default)]
    pub level: Option<String>,
    #[serde(default)]
    pub chunk_kib: Option<u64>,
    /// Commands that the host keeps outstanding on a drive; the drive's own depth less libata's one when absent.
    #[serde(default)]
    pub depth: Option<u32>,
    /// Part of each drive in use.
    #[serde(default)]
    pub member_bytes: Option<u64>,
    /// Name of a controller model in `models/`: its unit of `drives` at `level` is the one disk that the host sees.
    #[serde(default)]
    pub controller: Option<String>,
    /// A controller model of the user's own, as the text of its file, in place of a shipped one.
    #[serde(default)]
    pub controller_toml: Option<String>,
    /// How the controller is set up; its model's own where absent.
    #[serde(default)]
    pub controller_choices: Choices,
    /// Parameters of the drive model other than its own, by name: what `--vary` tries.
    #[serde(default)]
    pub drive_parameters: BTreeMap<String, f64>,
    /// The same of the controller model.
    #[serde(default)]
    pub controller_parameters: BTreeMap<String, f64>,
    /// Costs of a processor of about 2015 rather than of the recordings' one.
    #[serde(default)]
    pub modern_host: bool,
    /// Name of a host model in `models/`; decides costs and processors in place of `modern_host`.
    #[serde(default)]
    pub host: Option<String>,
    /// Parameters of the host model other than its own.
    #[serde(default)]
    pub host_parameters: BTreeMap<String, f64>,
    /// read_ahead_kb of what the files lie on; the kernel's own choice for a drive or an array when absent.
    #[serde(default)]
    pub read_ahead_kib: Option<u32>,
    /// Settings of the queues other than the kernel's own: fields of [`QueueSpec`] besides those that stand here.
    #[serde(default)]
    pub queue: Map<String, Value>,
    /// Processors of a host that no model describes; one when absent.
    #[serde(default)]
    pub processors: Option<u32>,
    pub load: LoadSpec,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// Through the page cache, which is empty at the start and far smaller than the files.
    pub buffered: bool,
    pub random: bool,
    pub write: bool,
    pub threads: u32,
    pub block_bytes: u64,
    #[serde(default)]
    pub start_bytes: u64,
    /// Of each thread's own file.
    pub file_bytes: u64,
    /// The run ends after this long, or when each thread has gone through its file once.
    #[serde(default)]
    pub span_ns: u64,
    /// Samples at even distances over the volume, as gnome-disks takes them, in place of files: `random` and `file_bytes` mean nothing then.
    #[serde(default)]
    pub samples: Option<u64>,
    /// Files of a file system, through a page cache with limited memory: `random`, `write` and `span_ns` are its phases' own then.
    #[serde(default)]
    pub files: Option<FilesSpec>,
}

/// libata keeps one of the drive's commands for itself up to 4.18 (libata-scsi.c: depth at most ATA_MAX_QUEUE - 1).
const KEPT_BACK: u32 = 1;
/// read_ahead_kb of a drive: 128 KiB.
const READ_AHEAD_PAGES: u64 = 32;
/// A bio holds at most 256 pages (BIO_MAX_PAGES up to 5.0).
const BIO_PAGES: u64 = 256;
/// Threads are started one after the other.
const FORK: Nanos = Nanos::from_micros(200);

/// Runs a spec. The error is one sentence that says what cannot be.
pub fn run(spec: &StorageSpec) -> Result<Value, String> {
    let report = spec.load.files.as_ref().map_or(0, |files| files.report);
    Ok(run_phases(spec)?.swap_remove(report))
}

/// The figures of each phase; one for loads without files.
pub(crate) fn run_phases(spec: &StorageSpec) -> Result<Vec<Value>, String> {
    check(spec)?;
    let single_queue = super::of_single_queue(&spec.scheduler)?;
    let mut below = match &spec.controller {
        Some(name) => behind_controller(spec, name, single_queue)?,
        None => drives(spec, single_queue)?,
    };
    check_room(spec, &below)?;
    let host = host(spec, below.light, single_queue)?;
    let queue = queue_spec(spec, below.command_kib)?;
    let (depth, rotational) = (below.depth, below.rotational);
    let units = core::mem::take(&mut below.units);
    let count = units.len() as u32;
    if single_queue {
        let (queues, kernel) = super::legacy_members(&queue, depth, count, rotational)?;
        run_over(spec, below, units, queues, kernel, &host, true)
    } else {
        let members = super::MqMembers {
            count,
            depth,
            rotational,
            budget: below.budget,
            tags: host.tags.unwrap_or(depth),
        };
        let (queues, kernel) = super::mq_members(&queue, &members)?;
        run_over(spec, below, units, queues, kernel, &host, false)
    }
}

fn queue_spec(spec: &StorageSpec, command_kib: Option<u32>) -> Result<QueueSpec, String> {
    let mut fields = spec.queue.clone();
    fields.insert("scheduler".to_owned(), json!(spec.scheduler));
    fields.insert("kernel".to_owned(), json!(spec.kernel));
    fields.insert("hz".to_owned(), json!(spec.hz));
    let mut queue: QueueSpec = serde_json::from_value(Value::Object(fields))
        .map_err(|error| format!("settings of the queues: {error}"))?;
    queue.max_sectors_kb = match (queue.max_sectors_kb, command_kib) {
        (Some(set), Some(most)) => Some(set.min(most)),
        (set, most) => set.or(most),
    };
    Ok(queue)
}

fn check_room(spec: &StorageSpec, below: &Below) -> Result<(), String> {
    let load = &spec.load;
    let capacity = below.volume.0.capacity().bytes().0;
    let from = load.start_bytes / PAGE_BYTES * PAGE_BYTES;
    let files = (load.file_bytes / PAGE_BYTES * PAGE_BYTES).saturating_mul(u64::from(load.threads));
    if from.saturating_add(files) > capacity {
        return Err(format!(
            "{} files of {} bytes are larger than the volume",
            load.threads, load.file_bytes
        ));
    }
    if let Some(count) = load.samples {
        if below.depth >= below.units[0].depth().0 {
            return Err(
                "samples need a depth below the drive's own: a flush is one command more"
                    .to_owned(),
            );
        }
        if load.block_bytes > capacity / count {
            return Err(format!(
                "{count} samples of {} bytes are larger than the volume",
                load.block_bytes
            ));
        }
    }
    Ok(())
}

/// The machine around the storage.
struct Host {
    costs: StepCosts,
    processors: u32,
    /// Requests of a queue when its disk was made, where the host's driver says so.
    tags: Option<u32>,
}

fn host(spec: &StorageSpec, light: bool, single_queue: bool) -> Result<Host, String> {
    let mut found = match &spec.host {
        None => Host {
            costs: costs_without_model(spec, light, single_queue),
            processors: spec.processors.unwrap_or(1),
            tags: None,
        },
        Some(name) => {
            let mut model = HostModel::shipped(name)?;
            if model.by_step() {
                for (name, value) in &spec.host_parameters {
                    model.set(name, *value)?;
                }
                Host {
                    costs: model.costs(&spec.scheduler)?,
                    processors: model.processors.unwrap_or(1),
                    tags: None,
                }
            } else {
                measured_host(spec, name)?
            }
        }
    };
    if spec.controller.is_some() {
        // A card takes a command by one register.
        found.costs.port_command = Nanos::ZERO;
    }
    Ok(found)
}

/// On blk-mq what cells take for the same kernels, so that a file and a region cost alike.
fn costs_without_model(spec: &StorageSpec, light: bool, single_queue: bool) -> StepCosts {
    if !single_queue {
        let request = if light {
            CpuCost::light()
        } else {
            CpuCost::default()
        };
        let scheduler = scheduler_cost(&spec.scheduler);
        StepCosts::of_cells(&request, &CacheCost::default(), scheduler)
    } else if spec.modern_host {
        StepCosts::modern()
    } else {
        StepCosts::default()
    }
}

/// A host whose costs were measured kernel by kernel, by requests of the load's direction and length.
fn measured_host(spec: &StorageSpec, name: &str) -> Result<Host, String> {
    let kernel = Kernel::parse(&spec.kernel, HZ_DEFAULT)?;
    let wanted = HostSpec {
        model: Some(name.to_owned()),
        ..HostSpec::default()
    };
    let measured = OperationCosts::of(&wanted, &kernel, &spec.scheduler, CpuCost::default())?;
    let load = &spec.load;
    let write = match &load.files {
        Some(files) => files.phases[files.report].write,
        None => load.write,
    };
    let request = measured.request(!write, load.block_bytes as f64 / PAGE_BYTES as f64);
    Ok(Host {
        costs: StepCosts::of_cells(&request, &measured.cache(), request.scheduler),
        processors: spec.processors.unwrap_or(1),
        tags: measured.tags(),
    })
}

fn run_over<Q: BlockQueue>(
    spec: &StorageSpec,
    below: Below,
    units: Vec<Unit>,
    queues: Vec<Q>,
    kernel: Kernel,
    host: &Host,
    single_queue: bool,
) -> Result<Vec<Value>, String> {
    let load = &spec.load;
    let Below {
        volume,
        depth,
        command_kib,
        ..
    } = below;
    let (from, file) = (load.start_bytes / PAGE_BYTES, load.file_bytes / PAGE_BYTES);
    let pages = load.block_bytes / PAGE_BYTES;
    let members = queues
        .into_iter()
        .zip(units)
        .map(|(queue, unit)| (queue, Spindle::new(unit, depth)))
        .collect();
    let of = (
        u32::from(kernel.version.0),
        u32::from(kernel.version.1),
        u32::from(kernel.version.2),
    );
    let window = match (spec.read_ahead_kib, &volume) {
        (Some(kib), _) => u64::from(kib) * 1024 / PAGE_BYTES,
        (None, (_, Some(geometry))) => geometry.read_ahead().0 / 8,
        (None, _) => READ_AHEAD_PAGES,
    };
    let read_ahead = ReadAhead::new(ReadAheadGeneration::of(of), window);
    let plan = |thread: u32| {
        let from = from + u64::from(thread) * file;
        let kind = if let Some(count) = load.samples {
            ReaderKind::Samples(SamplesPlan {
                write: load.write,
                count,
                pages,
            })
        } else if load.buffered && !load.random {
            ReaderKind::Buffered { from, pages }
        } else {
            // A random read through the cache misses and fetches what it asks for, no more.
            ReaderKind::Direct {
                write: load.write,
                random: load.random,
                from,
                file,
                pages,
                calls: (file / pages).max(1),
            }
        };
        ReaderPlan {
            kind,
            starts: Nanos(FORK.0 * u64::from(thread)),
        }
    };
    let readers = if load.files.is_some() {
        0
    } else {
        load.threads
    };
    let plans: Vec<ReaderPlan> = (0..readers).map(plan).collect();
    let span = Nanos(load.span_ns);
    // No bio is longer than a command of the device.
    let bio_pages = command_kib.map_or(BIO_PAGES, |kib| BIO_PAGES.min(u64::from(kib) / 4));
    let capacity = volume.0.capacity();
    let parity = volume.0.parity();
    let mut machine = FileEngine::over(
        members, volume.0, read_ahead, bio_pages, host.costs, &plans, spec.seed,
    );
    machine.host.kick_after_mark = of >= (2, 6, 32);
    if !single_queue {
        machine.max_sectors = machine.member_sectors_max();
    }
    if let Some(parity) = parity {
        machine.write_stripes(parity, &spec.kernel, kernel)?;
    }
    if let Some(wanted) = &load.files {
        let around = files::Around {
            capacity,
            kernel: of,
            hz: kernel.hz,
            single_queue,
            buffered: load.buffered,
            start_bytes: load.start_bytes,
            file_bytes: load.file_bytes,
            block_bytes: load.block_bytes,
            threads: load.threads,
            processors: host.processors,
            read_ahead,
            read_ahead_pages: window,
            seed: spec.seed,
        };
        return files::run(&mut machine, wanted, &around);
    }
    let readers = machine.run_until(span);
    let bytes: u64 = readers.iter().map(|reader| reader.bytes).sum();
    let calls: u64 = readers.iter().map(|reader| reader.calls).sum();
    let ended = readers.iter().map(|reader| reader.ended).max();
    let latency: u64 = readers.iter().map(|reader| reader.latency_total.0).sum();
    let latency_max = readers.iter().map(|reader| reader.latency_max.0).max();
    if calls == 0 {
        return Err("no call was done in the time given".to_owned());
    }
    let sample_rate: f64 = readers.iter().map(|reader| reader.sample_rate).sum();
    Ok(vec![json!({
        "sample_rate": sample_rate,
        "bytes": bytes,
        "calls": calls,
        "elapsed_ns": ended.map_or(0, |end| end.0),
        "latency_mean_ns": latency as f64 / calls as f64,
        "latency_max_ns": latency_max,
    })])
}

/// What the host finds below its queues.
struct Below {
    units: Vec<Unit>,
    volume: (Volume, Option<Geometry>),
    /// Commands that the host keeps outstanding on each unit.
    depth: u32,
    rotational: bool,
    /// Largest command, where the driver's is below the kernel's own limit.
    command_kib: Option<u32>,
    /// SCSI and SATA: a slot of the drive is taken before the scheduler is asked.
    budget: bool,
    /// A short driver path (NVMe).
    light: bool,
}

/// Spindles of a storage do not turn in step, and stand elsewhere in each repeat: the number of the first one.
fn first_instance(spec: &StorageSpec) -> u32 {
    (spec.seed as u32).wrapping_mul(spec.drives)
}

fn checked_depth(asked: Option<u32>, own: u32, default: u32) -> Result<u32, String> {
    match asked {
        Some(depth) if depth == 0 || depth > own => {
            Err(format!("depth is {depth} commands, outside 1 to {own}"))
        }
        Some(depth) => Ok(depth),
        None => Ok(default),
    }
}

fn drive_model(spec: &StorageSpec) -> Result<Model, String> {
    let mut model = Model::shipped(&spec.drive).map_err(|error| error.to_string())?;
    for (key, &value) in &spec.drive_parameters {
        model.set(key, value).map_err(|error| error.to_string())?;
    }
    Ok(model)
}

/// Drives with a queue each, alone or under md.
fn drives(spec: &StorageSpec, single_queue: bool) -> Result<Below, String> {
    let model = drive_model(spec)?;
    let rotational = model.kind.rotational();
    let mut units = Vec::new();
    for place in 0..spec.drives {
        let drive = model
            .build(first_instance(spec).wrapping_add(place))
            .map_err(|error| error.to_string())?;
        units.push(Unit::Drive(drive));
    }
    let own = units[0].depth().0;
    let sata = model.attachment == Attachment::Sata;
    let light = matches!(model.attachment, Attachment::Nvme | Attachment::None);
    let version = Kernel::parse(&spec.kernel, HZ_DEFAULT)?;
    let kept_back = if single_queue || (sata && !version.at_least(4, 19, 0)) {
        KEPT_BACK
    } else {
        0
    };
    let depth = checked_depth(spec.depth, own, own.saturating_sub(kept_back).max(1))?;
    let whole = units[0].capacity();
    let capacity = spec
        .member_bytes
        .map_or(whole, |bytes| Sectors(bytes / 512).min(whole));
    Ok(Below {
        units,
        volume: volume(spec, capacity, rotational)?,
        depth,
        rotational,
        command_kib: None,
        budget: sata,
        light,
    })
}

/// A unit of a controller: one disk with one queue.
fn behind_controller(spec: &StorageSpec, name: &str, single_queue: bool) -> Result<Below, String> {
    let drive = drive_model(spec)?;
    let described = ControllerSpec {
        model: name.to_owned(),
        toml: spec.controller_toml.clone(),
        level: spec.level.clone(),
        drives: spec.drives,
        member_bytes: spec.member_bytes,
        choices: Choices {
            chunk_kib: spec.chunk_kib.or(spec.controller_choices.chunk_kib),
            ..spec.controller_choices
        },
        parameters: spec.controller_parameters.clone(),
    };
    let (unit, model) = controller::build(&described, &drive, first_instance(spec))?;
    // On blk-mq flushes reach the card, and one of its commands is kept for them.
    let kept_back = u32::from(!single_queue);
    let own = unit.depth().0.saturating_sub(kept_back).max(1);
    let capacity = unit.capacity();
    Ok(Below {
        units: vec![Unit::Controller(Box::new(unit))],
        volume: (Volume::Single { capacity }, None),
        depth: checked_depth(spec.depth, own, own)?,
        // Kernels ask a controller's unit whether it turns from 2.6.29 on; cards of the time did not say, which counts as turning.
        rotational: drive.kind.rotational(),
        command_kib: Some(model.get("command_kib") as u32),
        // A SCSI disk to the kernel.
        budget: true,
        light: false,
    })
}

fn check(spec: &StorageSpec) -> Result<(), String> {
    let load = &spec.load;
    if load.block_bytes == 0 || load.block_bytes % PAGE_BYTES != 0 {
        return Err(format!(
            "block_bytes is {}, no multiple of {PAGE_BYTES}",
            load.block_bytes
        ));
    }
    if load.file_bytes < load.block_bytes {
        return Err(format!(
            "file_bytes is {}, less than a block",
            load.file_bytes
        ));
    }
    if let Some(wanted) = &load.files {
        files::check(wanted)?;
    } else if load.buffered && load.write {
        return Err("writing through the page cache is not modelled".to_owned());
    }
    if let Some(count) = load.samples {
        check_samples(spec, count)?;
    }
    for (name, value, most) in [
        ("threads", load.threads, 1024),
        ("drives", spec.drives, 384),
    ] {
        if !(1..=most).contains(&value) {
            return Err(format!("{name} is {value}, outside 1 to {most}"));
        }
    }
    if spec.level.is_none() && spec.drives != 1 {
        return Err(format!("{} drives without a level", spec.drives));
    }
    Ok(())
}

fn check_samples(spec: &StorageSpec, count: u64) -> Result<(), String> {
    const MOST: u64 = 1_000_000;
    if !(1..=MOST).contains(&count) {
        return Err(format!("samples is {count}, outside 1 to {MOST}"));
    }
    if spec.load.buffered || spec.load.files.is_some() || spec.load.threads != 1 {
        return Err("samples are taken by one thread, without page cache and files".to_owned());
    }
    if spec.controller.is_some() || matches!(spec.level.as_deref(), Some("raid5" | "raid6")) {
        return Err("samples of a controller's unit or of RAID 5 or 6 are not modelled".to_owned());
    }
    Ok(())
}

fn volume(
    spec: &StorageSpec,
    capacity: Sectors,
    rotational: bool,
) -> Result<(Volume, Option<Geometry>), String> {
    let level = match spec.level.as_deref() {
        None => return Ok((Volume::Single { capacity }, None)),
        Some("raid0") => Level::Raid0,
        Some("raid1") => Level::Raid1,
        Some("raid5") => Level::Raid5(ParityLayout::LeftSymmetric),
        Some("raid6") => Level::Raid6(ParityLayout::LeftSymmetric),
        Some("raid10") => Level::Raid10(Raid10Layout {
            near: 2,
            far: 1,
            offset: false,
        }),
        Some(other) => return Err(format!("level {other} is not modelled")),
    };
    let generation = md::MdGeneration::of_kernel(&spec.kernel)
        .ok_or_else(|| format!("kernel {} is not understood", spec.kernel))?;
    let chunk = match (spec.chunk_kib, level) {
        (Some(kib), _) => Sectors::from_kib(kib),
        (None, Level::Raid1) => Sectors::from_kib(64),
        (None, _) => Sectors::from_kib(default_chunk_kib(generation)),
    };
    let geometry = Geometry::new(level, spec.drives, chunk, capacity).map_err(|error| error.0)?;
    Ok((Volume::md(geometry, generation, rotational), Some(geometry)))
}

impl StorageSpec {
    /// Equal for specs whose runs are the same.
    fn run_key(&self) -> String {
        let mut all = self.clone();
        if let Some(files) = &mut all.load.files {
            files.report = 0;
            // Decided by the phases.
            (all.load.random, all.load.write, all.load.span_ns) = (false, false, 0);
        }
        format!("{all:?}")
    }
}

/// Runs specs on `threads` workers; results in their order. Specs that ask for different phases of one run share it.
///
/// `progress(done, of)` counts specs and is called from the calling thread; false stops taking further runs, whose specs become
/// `{"error": "stopped"}`.
pub fn run_all(
    specs: &[StorageSpec],
    threads: usize,
    mut progress: impl FnMut(usize, usize) -> bool,
) -> Vec<Value> {
    let mut sharing: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, spec) in specs.iter().enumerate() {
        sharing.entry(spec.run_key()).or_default().push(place);
    }
    let mut runs: Vec<Vec<usize>> = sharing.into_values().collect();
    // Many threads take longest: they go first, so that no processor is left waiting for the last run.
    runs.sort_by_key(|places| (std::cmp::Reverse(specs[places[0]].load.threads), places[0]));
    let share = |places: &Vec<usize>| -> Vec<(usize, Value)> {
        let outcome = run_phases(&specs[places[0]]);
        let value = |place: usize| match &outcome {
            Ok(phases) => {
                let files = specs[place].load.files.as_ref();
                phases[files.map_or(0, |files| files.report)].clone()
            }
            Err(error) => json!({"error": error}),
        };
        places.iter().map(|&place| (place, value(place))).collect()
    };
    let mut done = 0;
    let outcomes = parallel::each(&runs, threads, share, |run| {
        done += runs[run].len();
        progress(done, specs.len())
    });
    let mut results = vec![parallel::stopped(); specs.len()];
    for (place, value) in outcomes.into_iter().flatten().flatten() {
        results[place] = value;
    }
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(level: Option<&str>, drives: u32, write: bool) -> StorageSpec {
        StorageSpec {
            seed: 1,
            kernel: "4.1".into(),
            scheduler: "deadline".into(),
            hz: None,
            drive: "samsung_850_evo".into(),
            drives,
            level: level.map(Into::into),
            chunk_kib: level.map(|_| 32),
            depth: None,
            member_bytes: None,
            controller: None,
            controller_toml: None,
            controller_choices: Choices::default(),
            drive_parameters: BTreeMap::new(),
            controller_parameters: BTreeMap::new(),
            modern_host: true,
            host: None,
            host_parameters: BTreeMap::new(),
            read_ahead_kib: None,
            queue: Map::new(),
            processors: None,
            load: LoadSpec {
                buffered: false,
                random: true,
                write,
                threads: 1,
                block_bytes: 128 << 10,
                start_bytes: 0,
                file_bytes: 64 << 20,
                span_ns: 60_000_000_000,
                samples: None,
                files: None,
            },
        }
    }

    fn latency_ns(spec: &StorageSpec) -> f64 {
        run(spec).unwrap()["latency_mean_ns"].as_f64().unwrap()
    }

    #[test]
    fn a_run_is_its_spec_and_moves_each_byte_once() {
        let spec = spec(Some("raid10"), 4, true);
        let result = run(&spec).unwrap();
        assert_eq!(result, run(&spec).unwrap());
        assert_eq!(result["bytes"], 64 << 20);
        assert_eq!(result["calls"], 512);
    }

    #[test]
    fn one_run_serves_all_its_phases() {
        let ask = |random: bool, write: bool, report: usize| {
            let mut spec = spec(Some("raid1"), 2, write);
            spec.load.random = random;
            spec.load.files = Some(FilesSpec {
                filesystem: "ext3".into(),
                memory_bytes: 256 << 20,
                phases: vec![],
                report,
                written: false,
                span_bytes: None,
            });
            spec
        };
        let first = ask(false, true, 0);
        assert_eq!(first.run_key(), ask(true, false, 3).run_key());
        let mut other = ask(false, true, 0);
        other.seed += 1;
        assert_ne!(first.run_key(), other.run_key());
    }

    #[test]
    fn a_wider_read_ahead_reads_more_drives_of_a_stripe_at_once() {
        let rate = |kib: Option<u32>| {
            let mut spec = spec(Some("raid0"), 4, false);
            (spec.drive, spec.chunk_kib) = ("st3250620ns".into(), Some(64));
            (spec.load.buffered, spec.load.random) = (true, false);
            spec.load.block_bytes = 4096;
            spec.read_ahead_kib = kib;
            let result = run(&spec).unwrap();
            result["bytes"].as_f64().unwrap() / result["elapsed_ns"].as_f64().unwrap()
        };
        let (none, one, stripes) = (rate(Some(0)), rate(Some(32)), rate(None));
        // Drives whose turn it is not read on as their buffers empty, so that even one at a time comes near what they give together.
        assert!(none < one && 1.2 * one < stripes, "{none} {one} {stripes}");
        // md's own choice: two stripes.
        assert_eq!(stripes, rate(Some(2 * 4 * 64)));
    }

    #[test]
    fn a_written_sample_waits_for_the_drives_caches_and_a_read_one_does_not() {
        let sampled = |write: bool, flush_us: f64| {
            let mut spec = spec(Some("raid10"), 4, write);
            spec.load.samples = Some(20);
            spec.load.block_bytes = 1 << 20;
            spec.drive_parameters.insert("flush_us".into(), flush_us);
            run(&spec).unwrap()
        };
        let (short, long) = (sampled(true, 1_000.0), sampled(true, 3_000.0));
        assert_eq!(short["calls"], 20);
        let mean = |result: &Value| result["latency_mean_ns"].as_f64().unwrap();
        // Only the first of the two flushes finds something to do.
        let difference = mean(&long) - mean(&short);
        assert!((difference - 2e6).abs() < 2e4, "{difference}");
        assert_eq!(
            mean(&sampled(false, 1_000.0)),
            mean(&sampled(false, 3_000.0))
        );
        // The mean of the rates, which is never below all bytes over all time.
        let rate = short["sample_rate"].as_f64().unwrap();
        let together = f64::from(1 << 20) * 1e9 / mean(&short);
        assert!(
            rate > 0.999_999 * together && rate < 1.05 * together,
            "{rate} {together}"
        );
    }

    #[test]
    fn samples_that_cannot_be_taken_are_refused() {
        let refused = |change: &dyn Fn(&mut StorageSpec)| {
            let mut spec = spec(None, 1, true);
            spec.load.samples = Some(20);
            change(&mut spec);
            run(&spec).unwrap_err()
        };
        assert!(refused(&|spec| spec.load.samples = Some(0)).contains("samples"));
        assert!(refused(&|spec| spec.load.threads = 2).contains("one thread"));
        assert!(refused(&|spec| spec.depth = Some(32)).contains("flush"));
        assert!(refused(&|spec| {
            (spec.load.samples, spec.load.block_bytes) = (Some(1_000_000), 1 << 20);
        })
        .contains("larger than"));
    }

    #[test]
    fn a_mirrored_write_goes_to_both_copies_and_ends_with_the_slower() {
        let alone = latency_ns(&spec(None, 1, true));
        let mirrored = latency_ns(&spec(Some("raid1"), 2, true));
        assert!(mirrored >= alone, "{mirrored} against {alone}");
        assert!(mirrored < 1.2 * alone, "{mirrored} against {alone}");
    }

    #[test]
    fn parity_is_written_through_the_stripe_cache_and_small_writes_cost_most() {
        let mut five = spec(Some("raid5"), 4, true);
        five.load.file_bytes = 8 << 20;
        five.load.block_bytes = 4 << 10;
        let result = run(&five).unwrap();
        assert_eq!(result["bytes"], 8 << 20);
        assert_eq!(result, run(&five).unwrap());
        let mut ten = spec(Some("raid10"), 4, true);
        ten.load.file_bytes = 8 << 20;
        ten.load.block_bytes = 4 << 10;
        assert!(latency_ns(&five) > 1.5 * latency_ns(&ten));
    }

    #[test]
    fn a_read_of_four_chunks_uses_all_four_drives_and_one_of_a_chunk_only_one() {
        let mut array = spec(Some("raid10"), 4, false);
        assert!(latency_ns(&array) < 0.6 * latency_ns(&spec(None, 1, false)));
        array.load.block_bytes = 32 << 10;
        let mut alone = spec(None, 1, false);
        alone.load.block_bytes = 32 << 10;
        let (array, alone) = (latency_ns(&array), latency_ns(&alone));
        assert!((array / alone - 1.0).abs() < 0.1, "{array} against {alone}");
    }

    fn behind(controller: &str, level: &str, drives: u32, write: bool) -> StorageSpec {
        StorageSpec {
            kernel: "2.6.24".into(),
            drive: "st3250620ns".into(),
            controller: Some(controller.into()),
            chunk_kib: None,
            modern_host: false,
            host: None,
            ..spec(Some(level), drives, write)
        }
    }

    #[test]
    fn a_controller_is_one_disk_that_moves_each_byte_once() {
        for (controller, level, drives) in [
            ("9650-2LP", "raid1", 2),
            ("9650-4LP", "raid5", 3),
            ("9550SXU-8LP", "raid10", 4),
            ("megaraid", "raid6", 6),
            ("fake", "raid0", 2),
        ] {
            for write in [false, true] {
                let mut spec = behind(controller, level, drives, write);
                spec.load.threads = 3;
                spec.load.file_bytes = 4 << 20;
                let result = run(&spec).unwrap();
                assert_eq!(result, run(&spec).unwrap());
                assert_eq!(result["bytes"], 3 * (4 << 20), "{controller} {level}");
            }
        }
    }

    #[test]
    fn a_write_back_cache_answers_before_the_drives_do() {
        let mut spec = behind("9650-4LP", "raid5", 3, true);
        spec.load.block_bytes = 4096;
        spec.load.file_bytes = 1 << 20;
        let back = latency_ns(&spec);
        spec.controller_choices.write_back = Some(false);
        let through = latency_ns(&spec);
        assert!(back < 0.5e6 && through > 4e6, "{back} and {through}");
    }

    #[test]
    fn without_ncq_a_deep_queue_of_random_reads_is_slower() {
        let mut spec = behind("9650-4LP", "raid1", 2, false);
        spec.load.block_bytes = 4096;
        spec.load.threads = 16;
        spec.load.file_bytes = 64 << 20;
        spec.load.span_ns = 4_000_000_000;
        let rate = |spec: &StorageSpec| {
            let result = run(spec).unwrap();
            result["bytes"].as_f64().unwrap() / result["elapsed_ns"].as_f64().unwrap()
        };
        let with = rate(&spec);
        spec.controller_choices.ncq = Some(false);
        let without = rate(&spec);
        assert!(with > 1.2 * without, "{with} against {without}");
    }

    #[test]
    fn a_parameter_of_the_drive_or_the_controller_can_be_another_one() {
        let mut slower = spec(None, 1, false);
        let usual = latency_ns(&slower);
        slower.drive_parameters.insert("link_mb_s".into(), 100.0);
        assert!(latency_ns(&slower) > 1.5 * usual);
        let mut unit = behind("9650-4LP", "raid5", 3, false);
        let usual = latency_ns(&unit);
        unit.controller_parameters
            .insert("command_us".into(), 5000.0);
        let slow = latency_ns(&unit);
        assert!(slow > usual + 3e6, "{slow} after {usual}");
        unit.controller_parameters.insert("speed".into(), 1.0);
        assert!(run(&unit).unwrap_err().contains("speed"));
    }

    #[test]
    fn what_is_not_modelled_or_does_not_fit_is_one_sentence() {
        let refuse = |change: &dyn Fn(&mut StorageSpec)| {
            let mut spec = spec(Some("raid10"), 4, true);
            change(&mut spec);
            run(&spec).unwrap_err()
        };
        for error in [
            refuse(&|s| s.level = Some("raid7".into())),
            refuse(&|s| s.level = None),
            refuse(&|s| s.load.buffered = true),
            refuse(&|s| s.load.block_bytes = 1000),
            refuse(&|s| s.load.threads = 0),
            refuse(&|s| s.load.file_bytes = 1 << 60),
            refuse(&|s| s.depth = Some(99)),
            refuse(&|s| s.kernel = "new".into()),
            refuse(&|s| s.scheduler = "bfq".into()),
            refuse(&|s| s.drive = "floppy".into()),
            refuse(&|s| s.chunk_kib = Some(0)),
            refuse(&|s| s.controller = Some("9999".into())),
            refuse(&|s| s.controller = Some("9650-2LP".into())),
            refuse(&|s| {
                s.controller = Some("megaraid".into());
                s.level = Some("raid50".into());
            }),
        ] {
            assert!(!error.is_empty() && !error.contains('\n'), "{error}");
        }
    }
}
