//! Bindings of the drive models: what they are, and what they deliver in a closed loop.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use seekwise_device::hdd::rotation::TURN;
use seekwise_device::hdd::{parts, Hdd};
use seekwise_device::measure::{self, Load, Pattern};
use seekwise_device::{Command, CommandKind, Device, Drive, Model, Tag};
use seekwise_units::{Lba, Nanos, Sectors};
use serde::Deserialize;
use serde_json::{json, Value};
use std::collections::BTreeMap;

/// One measurement of one model; see `proof/seekwise_proof/validate/drives.py` for what each is used for.
#[derive(Deserialize)]
struct Request {
    model: String,
    #[serde(default)]
    parameters: BTreeMap<String, f64>,
    #[serde(flatten)]
    what: What,
}

#[derive(Deserialize)]
#[serde(tag = "measure", rename_all = "snake_case", deny_unknown_fields)]
enum What {
    Loop(ClosedLoop),
    /// Mean time, in ms, to reach and read one sector at `place` (a part of the capacity) from the last one.
    AccessAt {
        place: f64,
    },
    /// Where sectors lie on a disk: radius (0 outermost, 1 innermost), angle in turns, sectors on their track.
    Places {
        sectors: Vec<u64>,
    },
    /// Time in ms to read each sector right after the one at `from`, each on a drive of its own: the shortest over so many moments of sending,
    /// the first as soon as the read before is done.
    Next {
        from: u64,
        sectors: Vec<u64>,
        #[serde(default = "once")]
        moments: u64,
    },
    /// Order and time of reads that the drive gets all at once (`together`), or each when the one before is done.
    Served {
        sectors: Vec<u64>,
        together: bool,
    },
    /// What the time of each of these commands was made of, in the order in which they were done: `[sector, sectors, write, given ns, done ns]`.
    Parts {
        commands: Vec<(u64, u64, bool, u64, u64)>,
    },
}

/// Threads that each send a command when the one before is done; the place is a part of the capacity.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClosedLoop {
    sequential: bool,
    write: bool,
    block_bytes: u64,
    depth: u32,
    #[serde(default)]
    from: f64,
    #[serde(default = "whole")]
    to: f64,
    turnaround_ns: u64,
    #[serde(default)]
    core_ns: u64,
    #[serde(default)]
    warm_up: u64,
    commands: u64,
}

fn once() -> u64 {
    1
}

fn whole() -> f64 {
    1.0
}

/// Ids of the drive models that come with the program.
#[pyfunction]
pub fn drive_models() -> Vec<&'static str> {
    Model::ids().collect()
}

/// A drive model by any of its names, `NAME/VARIANT` included, as JSON. Raises ValueError with one sentence.
#[pyfunction]
pub fn drive_model(name: &str) -> PyResult<String> {
    let model = Model::shipped(name).map_err(|error| PyValueError::new_err(error.0))?;
    let known: Vec<Value> = model
        .known_parameters()
        .map(|(key, unit, least, most, default)| {
            json!({"key": key, "unit": unit, "least": least, "most": most, "default": default})
        })
        .collect();
    let mut document =
        serde_json::to_value(&model).map_err(|error| PyValueError::new_err(error.to_string()))?;
    document["known_parameters"] = Value::Array(known);
    Ok(document.to_string())
}

/// Measures drive models: a JSON list of requests in, a JSON list of results out; one that cannot be is `{"error": …}`.
#[pyfunction]
pub fn measure_drives(py: Python<'_>, requests_json: &str) -> PyResult<String> {
    let requests: Vec<Request> = serde_json::from_str(requests_json).map_err(|error| {
        PyValueError::new_err(format!("the list of measurements cannot be read: {error}"))
    })?;
    let results: Vec<Value> = py.allow_threads(|| {
        requests
            .iter()
            .map(|one| measure(one).unwrap_or_else(|error| json!({"error": error})))
            .collect()
    });
    Ok(Value::Array(results).to_string())
}

/// Builds the drive and takes the one measurement.
fn measure(request: &Request) -> Result<Value, String> {
    let mut model = Model::shipped(&request.model).map_err(|error| error.0)?;
    for (key, value) in &request.parameters {
        model.set(key, *value).map_err(|error| error.0)?;
    }
    let mut drive = Drive::new(&model, 0).map_err(|error| error.0)?;
    match &request.what {
        What::Loop(wanted) => Ok(closed_loop(&mut drive, wanted)),
        &What::AccessAt { place } => {
            let mean = measure::access_at(&drive, place, 2000, 1);
            Ok(json!({"value": mean.0 as f64 / 1e6}))
        }
        What::Places { sectors } => {
            let disk = disk_with("tracks", &drive, &request.model)?;
            within(&drive, sectors)?;
            Ok(places(disk, sectors))
        }
        What::Next {
            from,
            sectors,
            moments,
        } => {
            within(&drive, &[*from])?;
            within(&drive, sectors)?;
            Ok(next_reads(&drive, *from, sectors, *moments))
        }
        What::Parts { commands } => {
            let disk = disk_with("arm", &drive, &request.model)?;
            Ok(json!({"parts": parts_of(disk, commands)?}))
        }
        What::Served { sectors, together } => {
            within(&drive, sectors)?;
            if sectors.is_empty() || sectors.len() > drive.depth().0 as usize {
                return Err(format!(
                    "the drive takes 1 to {} commands at once",
                    drive.depth().0
                ));
            }
            Ok(json!({"served": served(&mut drive, sectors, *together)}))
        }
    }
}

fn closed_loop(drive: &mut Drive, wanted: &ClosedLoop) -> Value {
    let block = Sectors((wanted.block_bytes / 512).max(1));
    let sectors = drive.capacity().0 as f64;
    let first = (sectors * wanted.from) as u64 / block.0 * block.0;
    let load = Load {
        pattern: if wanted.sequential {
            Pattern::Sequential
        } else {
            Pattern::Random
        },
        kind: if wanted.write {
            CommandKind::WRITE
        } else {
            CommandKind::Read
        },
        block,
        depth: wanted.depth,
        first: Lba(first),
        span: Sectors((sectors * wanted.to) as u64 - first),
        turnaround: Nanos(wanted.turnaround_ns),
        core: Nanos(wanted.core_ns),
        warm_up: wanted.warm_up,
        commands: wanted.commands,
        seed: 1,
    };
    let result = measure::run(drive, Nanos::ZERO, &load);
    json!({
        "iops": result.iops(),
        "mb_per_s": result.mb_per_second(),
        "latency_us": result.latency_mean_ns / 1e3,
        "latency_max_us": result.latency_max.0 as f64 / 1e3,
    })
}

/// The drive as a disk; a drive of another kind has no such `part`.
fn disk_with<'a>(part: &str, drive: &'a Drive, model: &str) -> Result<&'a Hdd, String> {
    match drive {
        Drive::Hdd(disk) => Ok(disk),
        _ => Err(format!("{model} has no {part}")),
    }
}

fn places(disk: &Hdd, sectors: &[u64]) -> Value {
    let geometry = disk.geometry();
    let rows: Vec<Value> = sectors
        .iter()
        .map(|&sector| {
            let place = geometry.place(Lba(sector));
            json!({
                "sector": sector,
                "radius": f64::from(place.cylinder) / f64::from(geometry.cylinders().max(2) - 1),
                "angle": f64::from(place.angle) / f64::from(TURN),
                "sectors_on_track": geometry.sectors_on_track(Lba(sector)),
            })
        })
        .collect();
    json!({"places": rows})
}

fn next_reads(drive: &Drive, from: u64, sectors: &[u64], moments: u64) -> Value {
    let times: Vec<f64> = sectors
        .iter()
        .map(|&sector| measure::quickest(drive, Lba(from), Lba(sector), moments).0 as f64 / 1e6)
        .collect();
    json!({"ms": times})
}

/// Rows of seek, rotation, transfer, the drive's own work (ns), cylinders moved, and whether it was the drive's memory that answered.
fn parts_of(disk: &Hdd, commands: &[(u64, u64, bool, u64, u64)]) -> Result<Vec<Value>, String> {
    let capacity = disk.capacity().0;
    let seen: Vec<parts::ObservedCommand> = commands
        .iter()
        .map(|&(start, sectors, write, given, done)| {
            if sectors == 0 || start.checked_add(sectors).is_none_or(|end| end > capacity) {
                return Err(format!(
                    "{sectors} sectors from {start} do not lie on the drive"
                ));
            }
            Ok(parts::ObservedCommand {
                start: Lba(start),
                sectors: Sectors(sectors),
                write,
                given: Nanos(given),
                done: Nanos(done),
            })
        })
        .collect::<Result<_, _>>()?;
    Ok(parts::parts(disk, &seen)
        .iter()
        .map(|p| {
            json!([
                p.seek.0,
                p.rotation.0,
                p.transfer.0,
                p.own.0,
                p.cylinders,
                p.cached
            ])
        })
        .collect())
}

fn within(drive: &Drive, sectors: &[u64]) -> Result<(), String> {
    match sectors
        .iter()
        .find(|&&sector| sector.saturating_add(BLOCK.0) > drive.capacity().0)
    {
        Some(sector) => Err(format!("sector {sector} is beyond the drive")),
        None => Ok(()),
    }
}

/// Sectors of one read.
const BLOCK: Sectors = Sectors(8);

fn served(drive: &mut Drive, sectors: &[u64], together: bool) -> Vec<Value> {
    let command = |place: usize| {
        let start = Lba(sectors[place]);
        Command::of(place as u32, CommandKind::Read, start, BLOCK)
    };
    let mut next = if together { sectors.len() } else { 1 };
    for place in 0..next {
        drive.submit(Nanos::ZERO, command(place));
    }
    let mut rows = Vec::new();
    while let Some(now) = drive.next_completion() {
        let Tag(tag) = drive.complete_next(now);
        rows.push(json!({"sector": sectors[tag as usize], "ms": now.0 as f64 / 1e6}));
        if next < sectors.len() {
            drive.submit(now, command(next));
            next += 1;
        }
    }
    rows
}
