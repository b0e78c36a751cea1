//! A whole run beside its recording: order, total time, end of each process.

use crate::whole::input::{self, Input, Recorded};
use crate::whole::run;
use seekwise_sim::result::probe::{Moment, TraceEvent};
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Share by which the total time may be off (median over the stable files of a scheduler and kernel).
const TOTAL_WITHIN: f64 = 0.02;
/// Share by which the end of each process may be off.
const END_WITHIN: f64 = 0.05;
/// Schedulers that must give the recorded order.
const ORDERED: [&str; 3] = ["noop", "deadline", "mq-deadline"];

/// What came of one file.
pub struct Verdict {
    pub file: String,
    pub scheduler: String,
    pub kernel: String,
    /// Same order in all repeats of the recording; `None` when no summary tells.
    pub stable: Option<bool>,
    pub order_same: bool,
    pub first_difference: Option<usize>,
    pub issues: usize,
    pub total_ns: u64,
    pub total_recorded_ns: u64,
    /// (process, model, recorded) where furthest off.
    pub worst_end: Option<(u32, u64, u64)>,
    pub ends_within: bool,
    pub error: Option<String>,
}

impl Verdict {
    fn deviation(&self) -> f64 {
        off(self.total_ns, self.total_recorded_ns)
    }

    fn met(&self) -> bool {
        if self.error.is_some() {
            return false;
        }
        if ORDERED.contains(&self.scheduler.as_str()) {
            return self.order_same || self.stable == Some(false);
        }
        self.ends_within
    }

    fn to_json(&self) -> Value {
        let mut value = json!({
            "file": self.file,
            "scheduler": self.scheduler,
            "kernel": self.kernel,
            "stable": self.stable,
            "issues": self.issues,
            "order_same": self.order_same,
            "first_difference": self.first_difference,
            "total_ns": self.total_ns,
            "total_recorded_ns": self.total_recorded_ns,
            "total_off": self.deviation(),
            "ends_within": self.ends_within,
            "worst_end": self.worst_end.map(|(p, model, recorded)| {
                json!({"process": p, "ns": model, "recorded_ns": recorded, "off": off(model, recorded)})
            }),
            "met": self.met(),
        });
        if let Some(error) = &self.error {
            value["error"] = json!(error);
        }
        value
    }
}

fn off(model: u64, recorded: u64) -> f64 {
    if recorded == 0 {
        return 0.0;
    }
    (model as f64 - recorded as f64) / recorded as f64
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

/// In a folder, only what has a recording's header counts; a file named outright is taken at its word.
fn is_recording(path: &Path) -> bool {
    use std::io::{BufRead, BufReader};
    let mut line = String::new();
    std::fs::File::open(path).is_ok_and(|file| {
        BufReader::new(file).read_line(&mut line).is_ok()
            && line.starts_with("time_ns,event,op,sector,sectors,proc")
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

fn one(path: &Path) -> Result<Verdict, String> {
    let input = input::input(path)?;
    let recorded = input::recorded(path)?;
    let events = run::run(&input, &recorded)?;
    Ok(compare(path, &input, &recorded, &events))
}

/// The file on `images` images of its kernel, whose calls take up to 0.4 us more or less each: how near its outcome is to chance.
pub fn images(path: &Path, images: u64) -> Result<Vec<Verdict>, String> {
    let mut input = input::input(path)?;
    let recorded = input::recorded(path)?;
    (1..=images)
        .map(|seed| {
            input.image = Some(seed);
            let events = run::run(&input, &recorded)?;
            Ok(compare(path, &input, &recorded, &events))
        })
        .collect()
}

fn compare(path: &Path, input: &Input, recorded: &Recorded, events: &[TraceEvent]) -> Verdict {
    let issues = run::issues(events);
    let first_difference = (0..issues.len().max(recorded.issues.len()))
        .find(|&i| issues.get(i) != recorded.issues.get(i));
    let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
    for event in events.iter().filter(|e| e.moment == Moment::Complete) {
        ends.insert(event.process, event.time.0);
    }
    // p0 stands for a process that is not known.
    let worst_end = recorded
        .ends
        .iter()
        .filter(|(process, _)| **process != 0 || !input.legacy)
        .map(|(&process, &end)| (process, ends.get(&process).copied().unwrap_or(0), end))
        .max_by(|a, b| off(a.1, a.2).abs().total_cmp(&off(b.1, b.2).abs()));
    Verdict {
        file: path.display().to_string(),
        scheduler: input.scheduler.clone(),
        kernel: input.kernel_name.clone(),
        stable: stability(path, input),
        order_same: first_difference.is_none(),
        first_difference,
        issues: recorded.issues.len(),
        total_ns: ends.values().copied().max().unwrap_or(0),
        total_recorded_ns: recorded.last_complete,
        ends_within: worst_end
            .is_none_or(|(_, model, recorded)| off(model, recorded).abs() <= END_WITHIN),
        worst_end,
        error: None,
    }
}

/// All files: a row each, and a row per scheduler and kernel.
pub fn verify(paths: &[PathBuf]) -> Value {
    let verdicts: Vec<Verdict> = files(paths)
        .iter()
        .map(|path| {
            one(path).unwrap_or_else(|error| Verdict {
                file: path.display().to_string(),
                scheduler: String::new(),
                kernel: String::new(),
                stable: None,
                order_same: false,
                first_difference: None,
                issues: 0,
                total_ns: 0,
                total_recorded_ns: 0,
                worst_end: None,
                ends_within: false,
                error: Some(error),
            })
        })
        .collect();
    let mut groups: BTreeMap<(String, String), Vec<&Verdict>> = BTreeMap::new();
    for verdict in &verdicts {
        groups
            .entry((verdict.scheduler.clone(), verdict.kernel.clone()))
            .or_default()
            .push(verdict);
    }
    let rows: Vec<Value> = groups
        .iter()
        .map(|((scheduler, kernel), members)| group(scheduler, kernel, members))
        .collect();
    let met = !verdicts.is_empty() && rows.iter().all(|row| row["met"] == json!(true));
    json!({
        "files": verdicts.iter().map(Verdict::to_json).collect::<Vec<_>>(),
        "groups": rows,
        "met": met,
    })
}

fn group(scheduler: &str, kernel: &str, members: &[&Verdict]) -> Value {
    // What no summary calls unstable counts as stable.
    let stable: Vec<&&Verdict> = members.iter().filter(|v| v.stable != Some(false)).collect();
    let mut deviations: Vec<f64> = stable
        .iter()
        .filter(|v| v.error.is_none())
        .map(|v| v.deviation().abs())
        .collect();
    deviations.sort_by(f64::total_cmp);
    let median = match deviations.len() {
        0 => 0.0,
        n if n % 2 == 1 => deviations[n / 2],
        n => (deviations[n / 2 - 1] + deviations[n / 2]) / 2.0,
    };
    let same = stable.iter().filter(|v| v.order_same).count();
    let within = members.iter().filter(|v| v.ends_within).count();
    let errors = members.iter().filter(|v| v.error.is_some()).count();
    let ordered = ORDERED.contains(&scheduler);
    let met = errors == 0
        && if ordered {
            same == stable.len()
        } else {
            median <= TOTAL_WITHIN && within == members.len()
        };
    json!({
        "scheduler": scheduler,
        "kernel": kernel,
        "files": members.len(),
        "stable": stable.len(),
        "order_same": same,
        "order_required": ordered,
        "total_off_median": median,
        "ends_within": within,
        "errors": errors,
        "met": met,
    })
}
