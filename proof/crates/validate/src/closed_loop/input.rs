//! What a recording's name and neighbours say: kernel, scheduler, device, and what each process submitted.

use crate::closed_loop::recording::{number, process_number, read};
use seekwise_host::cpu::CpuCost;
use seekwise_host::job::{Script, ScriptedOp, Start, Wait};
use seekwise_sched::{Direction, Kernel, Priority, PriorityClass};
use seekwise_units::{Lba, Nanos, Sectors};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Device under the recorded kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    Fixed { depth: u32, service: Nanos },
    Linear,
}

/// A process and what it submits.
#[derive(Clone, Debug)]
pub struct Submitter {
    pub process: u32,
    pub priority: Priority,
    pub starts: Nanos,
    pub script: Script,
}

/// Everything that a run needs.
#[derive(Clone, Debug)]
pub struct Input {
    pub scheduler: String,
    pub kernel: Kernel,
    pub kernel_name: String,
    pub workload: String,
    pub device_name: String,
    pub device: Device,
    pub rotational: bool,
    pub single_queue: bool,
    /// Settings of the queue: nr_requests, max_sectors_kb, nomerges, iosched/NAME.
    pub settings: BTreeMap<String, String>,
    pub submitters: Vec<Submitter>,
}

/// `folder/name` in `start` or one of the folders above it.
fn beside(start: &Path, folder: &str, name: &str) -> Result<PathBuf, String> {
    start
        .ancestors()
        .map(|at| at.join(folder).join(name))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            format!(
                "{folder}/{name} is not found beside or above {}",
                start.display()
            )
        })
}

/// Reads what belongs to the recording `path`.
pub fn input(path: &Path) -> Result<Input, String> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let stem = path
        .file_stem()
        .and_then(|s| s.to_str())
        .unwrap_or_default();
    let own = path.with_extension("conf");
    // A second sample has the settings of the folder of the same name (README of the recordings).
    let twin = folder.file_name().map(|name| {
        let above = folder
            .parent()
            .and_then(Path::parent)
            .unwrap_or(Path::new("."));
        above.join(name).join(format!("{stem}.conf"))
    });
    if let Some(conf) = [Some(own), twin]
        .into_iter()
        .flatten()
        .find(|conf| conf.is_file())
    {
        return blk_mq(folder, stem, &conf);
    }
    let parts: Vec<&str> = stem.split("__").collect();
    let [kernel_name, workload, device_name] = parts[..] else {
        return Err(format!(
            "{} has neither a .conf beside it nor a name KERNEL__WORKLOAD__DEVICE",
            path.display()
        ));
    };
    let scheduler = folder
        .file_name()
        .and_then(|s| s.to_str())
        .unwrap_or_default()
        .to_owned();
    let kernel = Kernel::parse(kernel_name, 1000)?;
    let (device, rotational) = legacy_device(device_name)?;
    Ok(Input {
        scheduler,
        kernel,
        kernel_name: kernel_name.to_owned(),
        workload: workload.to_owned(),
        device_name: device_name.to_owned(),
        device,
        rotational,
        single_queue: true,
        settings: BTreeMap::new(),
        submitters: listed_submitters(folder, workload, &kernel)?,
    })
}

/// README of the legacy recordings, "Devices".
fn legacy_device(name: &str) -> Result<(Device, bool), String> {
    let fixed = |depth: u32| Device::Fixed {
        depth,
        service: Nanos::from_millis(5),
    };
    if name == "linear1" {
        return Ok((Device::Linear, true));
    }
    let (kind, rest) = match (name.strip_prefix("fixed"), name.strip_prefix("nullblk")) {
        (Some(rest), _) => ("fixed", rest),
        (_, Some(rest)) => ("nullblk", rest),
        _ => {
            return Err(format!(
                "device {name} is none of fixedN, linear1, nullblkNrotM"
            ))
        }
    };
    let (depth, rotational) = match rest.split_once("rot") {
        Some((depth, flag)) if kind == "nullblk" => (depth, flag == "1"),
        _ => (rest, true),
    };
    Ok((
        fixed(number(depth, "the depth in the device's name")?),
        rotational,
    ))
}

/// The processes of `requests/WORKLOAD.*.csv`.
fn listed_submitters(
    folder: &Path,
    workload: &str,
    kernel: &Kernel,
) -> Result<Vec<Submitter>, String> {
    let requests = read(&beside(
        folder,
        "requests",
        &format!("{workload}.requests.csv"),
    )?)?;
    let processes = read(&beside(
        folder,
        "requests",
        &format!("{workload}.processes.csv"),
    )?)?;
    legacy_submitters(&requests, &processes, kernel)
}

fn legacy_submitters(
    requests: &str,
    processes: &str,
    kernel: &Kernel,
) -> Result<Vec<Submitter>, String> {
    let mut found: BTreeMap<u32, Submitter> = BTreeMap::new();
    for line in processes.lines().skip(1) {
        let f: Vec<&str> = line.trim_end().split(',').collect();
        if f.len() < 4 {
            return Err(format!("a process needs 4 fields, not \"{line}\""));
        }
        let class = match f[1] {
            "1" => PriorityClass::RealTime,
            "2" => PriorityClass::BestEffort,
            "3" => PriorityClass::Idle,
            _ => PriorityClass::None,
        };
        // Without a class the level means nothing: 4, the middle.
        let level = if class == PriorityClass::None {
            4
        } else {
            number(f[2], "ioprio_level")?
        };
        let process = process_number(f[0])?;
        let starts = Nanos(number(f[3], "start_ns")?);
        found.insert(
            process,
            Submitter {
                process,
                priority: Priority { class, level },
                starts,
                script: Script::default(),
            },
        );
    }
    for line in requests.lines().skip(1) {
        let (process, operation) = legacy_request(line, kernel)?;
        let submitter = found
            .get_mut(&process)
            .ok_or_else(|| format!("process p{process} is not in the list of processes"))?;
        submitter.script.operations.push(operation);
    }
    Ok(found.into_values().collect())
}

/// A line of a list of requests: whose it is, and what it asks for.
fn legacy_request(line: &str, kernel: &Kernel) -> Result<(u32, ScriptedOp), String> {
    let f: Vec<&str> = line.trim_end().split(',').collect();
    if f.len() < 8 {
        return Err(format!("a request needs 8 fields, not \"{line}\""));
    }
    let process = process_number(f[0])?;
    let start = match f[3] {
        "" => Start::After(Nanos(if f[2].is_empty() {
            0
        } else {
            number(f[2], "after_ns")?
        })),
        at => Start::At(Nanos(number(at, "at_ns")?)),
    };
    let wait = match f[7] {
        "own" => Wait::Own,
        "no" => Wait::No,
        "all" => Wait::All,
        other => return Err(format!("wait is \"{other}\", none of own, no, all")),
    };
    let (lba, sectors) = match wait {
        Wait::All => (0, 0),
        _ => (number(f[5], "sector")?, number(f[6], "sectors")?),
    };
    let operation = ScriptedOp {
        start,
        direction: if f[4].starts_with('W') {
            Direction::Write
        } else {
            Direction::Read
        },
        sync: f[4] != "W",
        // REQ_NOIDLE came with 2.6.30; 2.6.24 has none (README).
        no_idle: f[4] == "WSN" && kernel.at_least(2, 6, 30),
        lba: Lba(lba),
        sectors: Sectors(sectors),
        wait,
        processor: Nanos::ZERO,
    };
    Ok((process, operation))
}

fn blk_mq(folder: &Path, stem: &str, conf: &Path) -> Result<Input, String> {
    let mut settings = BTreeMap::new();
    for line in read(conf)?.lines() {
        if let Some((key, value)) = line.split_once('=') {
            settings.insert(key.to_owned(), value.trim().to_owned());
        }
    }
    let setting = |key: &str| {
        settings
            .get(key)
            .cloned()
            .ok_or_else(|| format!("{} lacks {key}", conf.display()))
    };
    let offered = setting("scheduler")?;
    let scheduler = offered
        .split_whitespace()
        .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
        .ok_or_else(|| format!("{} marks no scheduler with brackets", conf.display()))?
        .to_owned();
    let mut above = folder.iter().filter_map(|part| part.to_str());
    let kernel_name = above
        .by_ref()
        .find(|part| *part == "other-kernels")
        .and_then(|_| above.next())
        .unwrap_or("6.1");
    let device = Device::Fixed {
        depth: number(&setting("hw_queue_depth")?, "hw_queue_depth")?,
        service: Nanos(number(&setting("completion_nsec")?, "completion_nsec")?),
    };
    let kernel = Kernel::parse(kernel_name, 250)?;
    let submitters = match beside(folder, "lists", &format!("{stem}.list")) {
        Ok(list) => list_submitters(&read(&list)?, stem)?,
        Err(missing) => listed_submitters(folder, stem, &kernel).map_err(|_| missing)?,
    };
    Ok(Input {
        scheduler,
        kernel,
        kernel_name: kernel_name.to_owned(),
        workload: stem.to_owned(),
        device_name: format!(
            "null_blk depth {}",
            settings.get("hw_queue_depth").cloned().unwrap_or_default()
        ),
        device,
        rotational: settings.get("rotational").is_some_and(|v| v == "1"),
        single_queue: false,
        settings,
        submitters,
    })
}

/// The processes of a list in the short format.
fn list_submitters(list: &str, stem: &str) -> Result<Vec<Submitter>, String> {
    let threads =
        seekwise_sim::assemble::list::parse(list, Sectors(u64::MAX >> 9), CpuCost::default())
            .map_err(|e| format!("{stem}.list: {e}"))?;
    Ok(threads
        .into_iter()
        .filter_map(|plan| match plan.load {
            seekwise_sim::task::ThreadLoad::Scripted(script) => Some(Submitter {
                process: plan.process.0,
                priority: plan.priority,
                starts: plan.starts,
                script,
            }),
            seekwise_sim::task::ThreadLoad::Generated { .. } => None,
        })
        .collect())
}
