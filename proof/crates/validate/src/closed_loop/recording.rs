//! What was recorded: issues in order, the last completion, the end of each process.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

pub const HEADER: &str = "time_ns,event,op,sector,sectors,proc";

/// The facts of a recording that a run is held against.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// (direction is write, first sector, sectors) of every issue, in order.
    pub issues: Vec<(bool, u64, u64)>,
    pub last_complete: u64,
    /// Last completion by process.
    pub ends: BTreeMap<u32, u64>,
    pub first_submit: BTreeMap<u32, u64>,
}

/// Reads the events that count.
pub fn recording(path: &Path) -> Result<Recording, String> {
    let text = read(path)?;
    let mut lines = text.lines();
    if lines.next().map(str::trim_end) != Some(HEADER) {
        return Err(format!(
            "{} is no recording: its header is not {HEADER}",
            path.display()
        ));
    }
    let mut found = Recording::default();
    for (index, line) in lines.enumerate() {
        let fields: Vec<&str> = line.trim_end().split(',').collect();
        if fields.len() != 6 {
            return Err(format!(
                "{} line {}: {} fields instead of 6",
                path.display(),
                index + 2,
                fields.len()
            ));
        }
        let time: u64 = number(fields[0], "time_ns")?;
        // The kernel's own threads (periodic write-back in two files) are none of the list's processes.
        let process = process_number(fields[5]).ok();
        match fields[1] {
            "issue" => {
                found.issues.push((
                    fields[2].starts_with('W'),
                    number(fields[3], "sector")?,
                    number(fields[4], "sectors")?,
                ));
            }
            "complete" => {
                found.last_complete = time;
                if let Some(process) = process {
                    found.ends.insert(process, time);
                }
            }
            "submit" | "insert" => {
                if let Some(process) = process {
                    found.first_submit.entry(process).or_insert(time);
                }
            }
            _ => {}
        }
    }
    if found.issues.is_empty() || found.last_complete == 0 {
        return Err(format!("{} has no issue or no completion", path.display()));
    }
    Ok(found)
}

pub(super) fn read(path: &Path) -> Result<String, String> {
    let text =
        fs::read_to_string(path).map_err(|e| format!("{} cannot be read: {e}", path.display()))?;
    // As `seekwise_replay::text_file` does.
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

pub(super) fn number<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("{what} is \"{text}\", not a number"))
}

pub(super) fn process_number(text: &str) -> Result<u32, String> {
    number(text.trim_start_matches('p'), "a process")
}
