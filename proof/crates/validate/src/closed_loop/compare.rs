//! Runs beside their recordings: order, total time, end of each process.

use crate::closed_loop::input::{self, Input};
use crate::closed_loop::recording::{self, Recording};
use crate::closed_loop::run;
use seekwise_sim::result::probe::{Moment, TraceEvent};
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Largest error of the total time (median over the stable files of a scheduler and kernel).
const TOTAL_WITHIN: f64 = 0.02;
/// Largest error of the end of each process.
const END_WITHIN: f64 = 0.05;

/// Share of files in which every process ends within [`END_WITHIN`]. anticipatory and bfq decide by times some microseconds apart: one decision
/// that differs moves the end of a process by a whole slice.
fn required_share(scheduler: &str) -> f64 {
    match scheduler {
        "bfq" => 0.4,
        "anticipatory" => 0.7,
        "cfq" => 0.85,
        _ => 1.0,
    }
}

/// The run of one file and its recording.
struct Comparison {
    scheduler: String,
    kernel: String,
    /// Same order in all repeats of the recording; `None` when no summary tells.
    stable: Option<bool>,
    first_difference: Option<usize>,
    issues: usize,
    total_ns: u64,
    total_recorded_ns: u64,
    /// The process whose end is furthest off.
    worst_end: Option<ProcessEnd>,
}

struct ProcessEnd {
    process: u32,
    simulated_ns: u64,
    recorded_ns: u64,
}

impl ProcessEnd {
    fn error(&self) -> f64 {
        relative_error(self.simulated_ns, self.recorded_ns)
    }
}

impl Comparison {
    fn total_error(&self) -> f64 {
        relative_error(self.total_ns, self.total_recorded_ns)
    }

    fn ends_within(&self) -> bool {
        let worst = self.worst_end.as_ref();
        worst.is_none_or(|end| end.error().abs() <= END_WITHIN)
    }

    fn to_json(&self, file: &str) -> Value {
        json!({
            "file": file,
            "scheduler": self.scheduler,
            "kernel": self.kernel,
            "stable": self.stable,
            "issues": self.issues,
            "order_same": self.first_difference.is_none(),
            "first_difference": self.first_difference,
            "total_ns": self.total_ns,
            "total_recorded_ns": self.total_recorded_ns,
            "total_off": self.total_error(),
            "ends_within": self.ends_within(),
            "worst_end": self.worst_end.as_ref().map(|end| {
                json!({"process": end.process, "ns": end.simulated_ns, "recorded_ns": end.recorded_ns, "off": end.error()})
            }),
            "met": self.ends_within(),
        })
    }
}

fn relative_error(simulated: u64, recorded: u64) -> f64 {
    if recorded == 0 {
        return 0.0;
    }
    (simulated as f64 - recorded as f64) / recorded as f64
}

/// Files of `paths`, folders searched recursively, in order of their names.
fn files(paths: &[PathBuf]) -> Vec<PathBuf> {
    fn search(path: &Path, found: &mut Vec<PathBuf>) {
        if path.is_dir() {
            let mut inside: Vec<PathBuf> = std::fs::read_dir(path)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
                .collect();
            inside.sort();
            for each in inside {
                search(&each, found);
            }
        } else if path.extension().is_some_and(|e| e == "csv") && is_recording(path) {
            found.push(path.to_owned());
        }
    }
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            search(path, &mut found);
        } else {
            found.push(path.clone());
        }
    }
    found
}

/// In a folder, only files with a recording's header count; a file named on the command line always does.
fn is_recording(path: &Path) -> bool {
    use std::io::{BufRead, BufReader};
    let mut line = String::new();
    std::fs::File::open(path).is_ok_and(|file| {
        BufReader::new(file).read_line(&mut line).is_ok()
            && line
                .trim_start_matches('\u{feff}')
                .starts_with(recording::HEADER)
    })
}

/// Stability by (kernel, scheduler, workload, device), from every summary beside or above a file.
fn stability(path: &Path, input: &Input) -> Option<bool> {
    for folder in path.ancestors().skip(1) {
        for name in ["summary-legacy.csv", "summary-legacy-hz250.csv"] {
            let Ok(text) = std::fs::read_to_string(folder.join(name)) else {
                continue;
            };
            for line in text.lines().skip(1) {
                let f: Vec<&str> = line.split(',').collect();
                if f.len() >= 9
                    && f[0] == input.kernel_name
                    && f[1] == input.scheduler
                    && f[2] == input.workload
                    && f[3] == input.device_name
                {
                    return Some(f[8] == "yes");
                }
            }
        }
    }
    None
}

fn comparison(path: &Path) -> Result<Comparison, String> {
    let input = input::input(path)?;
    let recording = recording::recording(path)?;
    let events = run::run(&input, &recording)?;
    Ok(compare(path, &input, &recording, &events))
}

fn compare(path: &Path, input: &Input, recording: &Recording, events: &[TraceEvent]) -> Comparison {
    let issues = run::issues(events);
    let first_difference = (0..issues.len().max(recording.issues.len()))
        .find(|&i| issues.get(i) != recording.issues.get(i));
    let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
    for event in events.iter().filter(|e| e.moment == Moment::Complete) {
        ends.insert(event.process, event.time.0);
    }
    // p0 stands for a process that is not known.
    let worst_end = recording
        .ends
        .iter()
        .filter(|(process, _)| **process != 0 || !input.single_queue)
        .map(|(&process, &recorded_ns)| ProcessEnd {
            process,
            simulated_ns: ends.get(&process).copied().unwrap_or(0),
            recorded_ns,
        })
        .max_by(|a, b| a.error().abs().total_cmp(&b.error().abs()));
    Comparison {
        scheduler: input.scheduler.clone(),
        kernel: input.kernel_name.clone(),
        stable: stability(path, input),
        first_difference,
        issues: recording.issues.len(),
        total_ns: ends.values().copied().max().unwrap_or(0),
        total_recorded_ns: recording.last_complete,
        worst_end,
    }
}

/// All files: a row each, and a row per scheduler and kernel. A file that cannot be read is a row with its error, and nothing is met then.
pub fn verify(paths: &[PathBuf]) -> Value {
    let (mut rows, mut errors) = (Vec::new(), 0);
    let mut groups: BTreeMap<(String, String), Vec<Comparison>> = BTreeMap::new();
    for path in files(paths) {
        let file = path.display().to_string();
        match comparison(&path) {
            Ok(found) => {
                rows.push(found.to_json(&file));
                let key = (found.scheduler.clone(), found.kernel.clone());
                groups.entry(key).or_default().push(found);
            }
            Err(error) => {
                errors += 1;
                rows.push(json!({"file": file, "error": error, "met": false}));
            }
        }
    }
    let groups: Vec<Value> = groups
        .iter()
        .map(|((scheduler, kernel), members)| group(scheduler, kernel, members))
        .collect();
    let met = errors == 0 && !groups.is_empty() && groups.iter().all(|row| row["met"] == true);
    json!({"files": rows, "groups": groups, "errors": errors, "met": met})
}

fn group(scheduler: &str, kernel: &str, members: &[Comparison]) -> Value {
    // A file that no summary calls unstable counts as stable.
    let stable = || members.iter().filter(|found| found.stable != Some(false));
    let mut errors: Vec<f64> = stable().map(|found| found.total_error().abs()).collect();
    errors.sort_by(f64::total_cmp);
    let median = match errors.len() {
        0 => 0.0,
        n if n % 2 == 1 => errors[n / 2],
        n => (errors[n / 2 - 1] + errors[n / 2]) / 2.0,
    };
    let same = stable().filter(|found| found.first_difference.is_none());
    let within = members.iter().filter(|found| found.ends_within()).count();
    let required = required_share(scheduler);
    json!({
        "scheduler": scheduler,
        "kernel": kernel,
        "files": members.len(),
        "stable": stable().count(),
        "order_same": same.count(),
        "total_off_median": median,
        "ends_within": within,
        "ends_required": required,
        "met": median <= TOTAL_WITHIN && within as f64 >= required * members.len() as f64,
    })
}
