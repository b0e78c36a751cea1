//! md held against recordings of real arrays: which member gets which sectors.
//!
//! Protocol: `tests/vectors/REPLAY.md`, section md. Arrays that balance reads by pending requests (RAID 1, RAID 10) are asked at
//! each `remap` row; RAID 5 and 6 are compared by member pages within a window, as a multiset, and by their order in each row.

mod array_file;
mod copies;
mod pages;

pub use array_file::{ArrayConf, ArrayEvent, ArrayRow};

use crate::outcome::Score;
use crate::text_file;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A file's outcome. `ordered` is empty where order is not counted (RAID 0, 1, 10).
#[derive(Clone, Debug, Default, Serialize)]
pub struct MappingFile {
    pub file: String,
    pub passed: u64,
    pub total: u64,
    pub ordered: Score,
    pub misses: Vec<String>,
    /// It could not be compared: all its points are missed.
    pub broken: bool,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct MappingOutcome {
    pub passed: u64,
    pub total: u64,
    pub ordered: Score,
    pub files: Vec<MappingFile>,
}

/// Verifies recordings of arrays; a folder is searched for every CSV with a `.conf` beside it.
pub fn verify_mapping(paths: &[PathBuf]) -> MappingOutcome {
    let mut files = Vec::new();
    paths.iter().for_each(|path| find(path, &mut files));
    let mut outcome = MappingOutcome::default();
    for path in files {
        let mut file = verify_file(&path);
        file.file = path.display().to_string();
        outcome.passed += file.passed;
        outcome.total += file.total;
        outcome.ordered.add(file.ordered);
        outcome.files.push(file);
    }
    outcome
}

fn find(path: &Path, files: &mut Vec<PathBuf>) {
    if !path.is_dir() {
        files.push(path.to_path_buf());
        return;
    }
    let Ok(entries) = std::fs::read_dir(path) else {
        return;
    };
    let mut entries: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            find(&entry, files);
        } else if entry
            .extension()
            .is_some_and(|extension| extension == "csv")
            && is_array_recording(&entry)
        {
            files.push(entry);
        }
    }
}

/// In a folder only recordings of arrays are looked at; a file named outright is always.
fn is_array_recording(path: &Path) -> bool {
    text_file::read(path).is_ok_and(|text| text.starts_with(array_file::HEADER))
}

fn verify_file(path: &Path) -> MappingFile {
    let failed = |total: u64, reason: String| MappingFile {
        total: total.max(1),
        misses: vec![reason],
        broken: true,
        ..MappingFile::default()
    };
    let text = match text_file::read(path) {
        Ok(text) => text,
        Err(error) => return failed(1, format!("cannot be read: {error}")),
    };
    let points = text.lines().filter(|line| line.contains(",remap,")).count() as u64;
    let conf = match text_file::read(&path.with_extension("conf")) {
        Ok(conf) => conf,
        Err(error) => return failed(points, format!("its .conf cannot be read: {error}")),
    };
    let read = ArrayConf::parse(&conf, path).and_then(|conf| Ok((conf, array_file::parse(&text)?)));
    match read {
        Ok((conf, rows)) => match conf.level.as_str() {
            "raid0" | "raid1" | "raid10" => copies::verify(&conf, &rows),
            "raid4" | "raid5" | "raid6" => pages::verify(&conf, &rows),
            other => Err(format!("level {other} is not modelled")),
        }
        .unwrap_or_else(|reason| failed(points.max(array_file::count_pages(&rows)), reason)),
        Err(reason) => failed(points, reason),
    }
}
