//! One whole storage from its spec to its rates: drives of one model, alone or under md, read through the page cache or used directly.
//!
//! Files of the threads lie one after the other from `start_bytes` on, as on a fresh file system; blocks of the file system itself are
//! not read. With `files` they lie where a file system puts them, and are read through the page cache or directly.
//!
//! Queues are of the kind that the scheduler belongs to: the single queue's (up to 4.20) or blk-mq's.

use crate::assemble::drive::{self, AnyDrive};
use crate::assemble::md::md;
use crate::cost::{CacheCost, HostModel, MdCosts, OperationCosts, StepCosts};
use crate::files::machine::FileEngine;
use crate::files::{run as files, BIO_PAGES};
use crate::parallel;
use crate::queue::{self, kernel_of, max_sectors_kib, of_single_queue, MemberQueues};
use crate::spec::array::ArraySpec;
pub use crate::spec::storage::StorageSpec;
use crate::spec::DeviceSpec;
use crate::storage::attached::AttachedDrive;
use crate::storage::md::Md;
use crate::storage::unit::Unit;
use seekwise_device::Device;
use seekwise_host::block::BlockQueue;
use seekwise_host::cache::read_ahead::{ReadAhead, ReadAheadGeneration};
use seekwise_host::cpu::CpuCost;
use seekwise_raid::Geometry;
use seekwise_sched::Kernel;
use seekwise_units::{Nanos, Sectors, PAGE_BYTES};
use serde_json::{json, Value};
use std::collections::BTreeMap;

/// Runs a spec. The error is one sentence that says what cannot be.
pub fn run(spec: &StorageSpec) -> Result<Value, String> {
    let report = spec.load.files().report;
    Ok(run_phases(spec)?.swap_remove(report))
}

/// The figures of each phase; one for loads without files.
pub(crate) fn run_phases(spec: &StorageSpec) -> Result<Vec<Value>, String> {
    spec.check()?;
    let single_queue = of_single_queue(&spec.queue.scheduler)?;
    let mut below = below(spec, single_queue)?;
    check_room(spec, &below)?;
    let host = host(spec, &below, single_queue)?;
    let units = core::mem::take(&mut below.units);
    let queues = MemberQueues::of(&spec.queue, &below.queue, host.tags)?;
    if single_queue {
        let queue = || queues.legacy();
        run_over(spec, below, units, queue, queues.kernel(), &host, true)
    } else {
        let queue = || queues.mq();
        run_over(spec, below, units, queue, queues.kernel(), &host, false)
    }
}

fn check_room(spec: &StorageSpec, below: &Below) -> Result<(), String> {
    let load = &spec.load;
    let capacity = below.capacity.bytes().0;
    let from = load.start_bytes / PAGE_BYTES * PAGE_BYTES;
    let files = (load.file_bytes / PAGE_BYTES * PAGE_BYTES).saturating_mul(u64::from(load.threads));
    if from.saturating_add(files) > capacity {
        return Err(format!(
            "{} files of {} bytes are larger than the volume",
            load.threads, load.file_bytes
        ));
    }
    if let Some(spread) = &load.spread {
        if below.queue.depth >= below.units[0].depth().0 {
            return Err(
                "`spread` needs a depth below the drive's own: a flush is one command more"
                    .to_owned(),
            );
        }
        if spread.bytes_max() > capacity / spread.calls {
            return Err(format!(
                "{} calls of {} bytes are larger than the volume",
                spread.calls,
                spread.bytes_max()
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

fn host(spec: &StorageSpec, below: &Below, single_queue: bool) -> Result<Host, String> {
    let host = &spec.host;
    let model = HostModel::named(host)?;
    let (mut costs, tags) = match &model {
        Some(model) if model.by_step() => (model.costs(&spec.queue.scheduler)?, None),
        Some(_) => measured(spec)?,
        // On blk-mq what cells take for the same kernels, so that a file and a region cost alike.
        None if !single_queue => {
            let request = super::cost(host, &spec.queue.scheduler, below.light)?;
            (StepCosts::of_cells(&request, &CacheCost::default()), None)
        }
        // Disks stand in machines of their time.
        None if below.queue.rotational => (StepCosts::default(), None),
        None => (StepCosts::modern(), None),
    };
    if spec.device.controller.is_some() {
        // A card takes a command by one register.
        costs.port_command = Nanos::ZERO;
    }
    Ok(Host {
        costs,
        processors: super::processors(host)?,
        tags,
    })
}

/// A host whose costs were measured kernel by kernel, by requests of the load's direction and length; and its queues' requests.
fn measured(spec: &StorageSpec) -> Result<(StepCosts, Option<u32>), String> {
    let kernel = kernel_of(&spec.queue)?;
    let own = CpuCost::default();
    let measured = OperationCosts::of(&spec.host, &kernel, &spec.queue.scheduler, own)?;
    let load = &spec.load;
    let files = load.files();
    let write = files.phases[files.report].write;
    let request = measured.request(!write, load.block_bytes as f64 / PAGE_BYTES as f64);
    let costs = StepCosts::of_cells(&request, &measured.cache());
    Ok((costs, measured.tags()))
}

fn run_over<Q: BlockQueue>(
    spec: &StorageSpec,
    below: Below,
    units: Vec<Unit>,
    queue: impl Fn() -> Result<Q, String>,
    kernel: Kernel,
    host: &Host,
    single_queue: bool,
) -> Result<Vec<Value>, String> {
    let load = &spec.load;
    let Below {
        capacity,
        geometry,
        queue: of_queue,
        ..
    } = below;
    let mut members = Vec::new();
    for unit in units {
        members.push((queue()?, AttachedDrive::new(unit, of_queue.depth)));
    }
    let request_kib = spec.queue.max_sectors_kb;
    let request_kib = request_kib.unwrap_or(max_sectors_kib(&kernel));
    let request_kib = request_kib.min(of_queue.command_kib.unwrap_or(u32::MAX));
    let largest = Sectors::from_kib(u64::from(request_kib));
    let of_drive =
        || super::read_ahead_kib(&kernel, of_queue.rotational, largest) * 1024 / PAGE_BYTES;
    let window = match (spec.read_ahead_kib, &geometry) {
        (Some(kib), _) => u64::from(kib) * 1024 / PAGE_BYTES,
        // RAID 1 has no optimal size of its own.
        (None, Some(geometry)) if geometry.chunk.0 > 0 => geometry.read_ahead().0 / 8,
        (None, _) => of_drive(),
    };
    let read_ahead = ReadAhead::new(ReadAheadGeneration::of(kernel.version), window)
        .with_requests(largest.bytes().0 / PAGE_BYTES);
    // No bio is longer than a command of the device.
    let bio_pages = of_queue
        .command_kib
        .map_or(BIO_PAGES, |kib| BIO_PAGES.min(u64::from(kib) / 4));
    let array = spec.device.array.as_ref().zip(geometry.as_ref());
    let mut machine = file_engine(
        members,
        (array, capacity),
        kernel,
        of_queue.rotational,
        host.costs,
    )?;
    if !single_queue {
        machine.max_sectors = machine.member_sectors_max();
    }
    let around = files::Surroundings {
        load,
        capacity,
        kernel,
        single_queue,
        file_bytes: match load.spread {
            Some(_) => capacity.bytes().0,
            None => load.file_bytes,
        },
        processors: host.processors,
        read_ahead,
        read_ahead_pages: window,
        bio_pages,
        seed: spec.seed,
    };
    let phases = files::run(&mut machine, &around)?;
    if load.files.is_none() && phases[0]["calls"] == 0 {
        return Err("no call was done in the time given".to_owned());
    }
    Ok(phases)
}

/// Tasks with files over members of an array, or over a drive alone.
pub fn file_engine<Q: BlockQueue, D: Device>(
    mut members: Vec<(Q, AttachedDrive<D>)>,
    (array, capacity): (Option<(&ArraySpec, &Geometry)>, Sectors),
    kernel: Kernel,
    rotational: bool,
    costs: StepCosts,
) -> Result<FileEngine<Q, D>, String> {
    let volume = match array {
        Some((array, geometry)) => {
            let most = members[0].0.max_sectors();
            let of_md = Some(MdCosts::of_kernel(kernel.version));
            md(array, geometry, kernel, rotational, most, members, of_md)?
        }
        None => {
            let (queue, drive) = members.swap_remove(0);
            Md::alone(queue, drive, capacity)
        }
    };
    let mut machine = FileEngine::over(volume, costs);
    machine.host.kick_after_mark = kernel.at_least(2, 6, 32);
    machine.host.queue_plug = !kernel.at_least(2, 6, 39);
    Ok(machine)
}

/// What the host finds below its queues.
struct Below {
    units: Vec<Unit>,
    capacity: Sectors,
    geometry: Option<Geometry>,
    queue: queue::Below,
    /// A short driver path (NVMe).
    light: bool,
}

/// Drives with a queue each, alone or under md, or a unit of a controller: one disk with one queue.
fn below(spec: &StorageSpec, single_queue: bool) -> Result<Below, String> {
    let device = &spec.device;
    let kernel = kernel_of(&spec.queue)?;
    // Spindles of a storage do not turn in step, and stand elsewhere in each repeat.
    let first = (spec.seed as u32).wrapping_mul(device.drives());
    let drive = drive::build(device, first)?;
    let traits = drive.traits;
    let rotational = spec.queue.rotational.unwrap_or(traits.rotational);
    let mut depth = super::depth(device, &drive, &kernel)?;
    if device.controller.is_some() && !single_queue {
        // Flushes reach the card, and one of its commands is kept for them.
        depth = depth.min(drive.depth().0 - 1).max(1);
    }
    let geometry = match &device.array {
        None => None,
        Some(array) => Some(array.geometry(kernel, drive.capacity())?),
    };
    let capacity = match &geometry {
        None => device.in_use(drive.capacity()),
        Some(geometry) => geometry.capacity(),
    };
    let command_kib = drive.command_kib;
    let mut units = vec![unit(device, drive)?];
    let members = device.array.as_ref().map_or(1, |array| array.members);
    for place in 1..members {
        units.push(unit(
            device,
            drive::build(device, first.wrapping_add(place))?,
        )?);
    }
    Ok(Below {
        units,
        capacity,
        geometry,
        queue: queue::Below {
            depth,
            tags: traits.host.tags(&kernel, depth),
            throttled: traits.host.throttled(&kernel, depth),
            rotational,
            budget: traits.budget,
            command_kib,
        },
        light: traits.light,
    })
}

fn unit(device: &DeviceSpec, drive: AnyDrive) -> Result<Unit, String> {
    let fits = drive.modelled || (device.controller.is_some() && device.array.is_none());
    if fits {
        return Ok(drive.unit);
    }
    Err(format!(
        "{} below files or under an array is not modelled",
        drive.name
    ))
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
            Ok(phases) => phases[specs[place].load.files().report].clone(),
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
    use crate::spec::controller::ControllerSpec;
    use crate::spec::files::{FilesSpec, SpreadSpec};

    fn spec(level: Option<&str>, drives: u32, write: bool) -> StorageSpec {
        let array = level.map(|level| {
            let chunk_kib = (level != "raid1").then_some(32);
            json!({"level": level, "members": drives, "chunk_kib": chunk_kib})
        });
        let spec = json!({
            "seed": 1,
            "device": {"model": "samsung_850_evo", "array": array},
            "queue": {"scheduler": "deadline", "kernel": "4.1"},
            "load": {
                "buffered": false, "random": true, "write": write, "threads": 1,
                "block_bytes": 128 << 10, "file_bytes": 64 << 20, "span_ns": 60_000_000_000u64,
            },
        });
        serde_json::from_value(spec).unwrap()
    }

    /// A page, then a megabyte that is timed; written back with two flushes behind it.
    fn spread(calls: u64, write: bool) -> SpreadSpec {
        let read =
            |bytes: u64| json!({"call": "read", "bytes": bytes, "starts_clock": bytes > 4096});
        let mut steps = vec![read(4096), read(1 << 20)];
        if write {
            let flush = json!({"call": "flush"});
            let written = json!({"call": "write", "bytes": 1 << 20, "starts_clock": true});
            steps.extend([read(4096), written, flush.clone(), flush]);
        }
        serde_json::from_value(json!({"calls": calls, "steps": steps})).unwrap()
    }

    fn array(spec: &mut StorageSpec) -> &mut ArraySpec {
        spec.device.array.as_mut().unwrap()
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
            spec.device.model = "st3250620ns".into();
            array(&mut spec).chunk_kib = Some(64);
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
    fn a_call_with_flushes_waits_for_the_drives_caches_and_one_of_reads_does_not() {
        let sampled = |write: bool, flush_us: f64| {
            let mut spec = spec(Some("raid10"), 4, write);
            spec.load.block_bytes = 1 << 20;
            spec.load.spread = Some(spread(20, write));
            spec.device.parameters.insert("flush_us".into(), flush_us);
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
        let rate = short["call_rate_mean"].as_f64().unwrap();
        let together = f64::from(1 << 20) * 1e9 / mean(&short);
        assert!(
            rate > 0.999_999 * together && rate < 1.05 * together,
            "{rate} {together}"
        );
    }

    #[test]
    fn spread_calls_that_cannot_be_made_are_refused() {
        let refused = |change: &dyn Fn(&mut StorageSpec)| {
            let mut spec = spec(None, 1, true);
            spec.load.spread = Some(spread(20, true));
            change(&mut spec);
            run(&spec).unwrap_err()
        };
        let set = |change: fn(&mut SpreadSpec)| {
            refused(&|spec| change(spec.load.spread.as_mut().unwrap()))
        };
        assert!(set(|spread| spread.calls = 0).contains("calls of spread"));
        assert!(set(|spread| spread.steps.clear()).contains("steps of spread"));
        assert!(set(|spread| spread.steps[0].bytes = 100).contains("multiple"));
        assert!(set(|spread| spread.steps.truncate(1)).contains("clock"));
        assert!(refused(&|spec| spec.load.threads = 2).contains("one thread"));
        assert!(refused(&|spec| spec.device.depth = Some(32)).contains("flush"));
        assert!(set(|spread| spread.calls = 1_000_000).contains("larger than"));
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
        let mut spec = spec(None, 1, write);
        spec.queue.kernel = "2.6.24".into();
        spec.device.model = "st3250620ns".into();
        let unit = json!({"model": controller, "level": level, "drives": drives});
        spec.device.controller = Some(serde_json::from_value(unit).unwrap());
        spec
    }

    fn unit(spec: &mut StorageSpec) -> &mut ControllerSpec {
        spec.device.controller.as_mut().unwrap()
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
        unit(&mut spec).choices.write_back = Some(false);
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
        unit(&mut spec).choices.ncq = Some(false);
        let without = rate(&spec);
        assert!(with > 1.2 * without, "{with} against {without}");
    }

    #[test]
    fn a_parameter_of_the_drive_or_the_controller_can_be_another_one() {
        let mut slower = spec(None, 1, false);
        let usual = latency_ns(&slower);
        slower.device.parameters.insert("link_mb_s".into(), 100.0);
        assert!(latency_ns(&slower) > 1.5 * usual);
        let mut card = behind("9650-4LP", "raid5", 3, false);
        let usual = latency_ns(&card);
        let mut set = |name: &str, value: f64| {
            unit(&mut card).parameters.insert(name.into(), value);
            card.clone()
        };
        let slow = latency_ns(&set("command_us", 5000.0));
        assert!(slow > usual + 3e6, "{slow} after {usual}");
        assert!(run(&set("speed", 1.0)).unwrap_err().contains("speed"));
    }

    #[test]
    fn what_is_not_modelled_or_does_not_fit_is_one_sentence() {
        let refuse = |change: &dyn Fn(&mut StorageSpec)| {
            let mut spec = spec(Some("raid10"), 4, true);
            change(&mut spec);
            run(&spec).unwrap_err()
        };
        for error in [
            refuse(&|s| array(s).level = "raid7".into()),
            refuse(&|s| array(s).members = 0),
            refuse(&|s| array(s).missing = vec![1]),
            refuse(&|s| array(s).chunk_kib = Some(0)),
            refuse(&|s| s.load.buffered = true),
            refuse(&|s| s.load.block_bytes = 1000),
            refuse(&|s| s.load.threads = 0),
            refuse(&|s| s.load.file_bytes = 1 << 60),
            refuse(&|s| s.device.depth = Some(99)),
            refuse(&|s| s.queue.kernel = "new".into()),
            refuse(&|s| s.queue.scheduler = "bfq".into()),
            refuse(&|s| s.device.model = "floppy".into()),
            refuse(&|s| s.device.model = "fixed".into()),
            refuse(&|s| *s = behind("9999", "raid10", 4, true)),
            refuse(&|s| *s = behind("9650-2LP", "raid10", 4, true)),
            refuse(&|s| *s = behind("megaraid", "raid50", 4, true)),
            refuse(&|s| {
                s.device.controller = behind("megaraid", "raid10", 4, true).device.controller
            }),
        ] {
            assert!(!error.is_empty() && !error.contains('\n'), "{error}");
        }
    }
}
