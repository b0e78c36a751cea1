//! `seekwise verify vectors`: finds recordings, picks the kind of each, replays it and adds up.

use crate::outcome::{FileOutcome, Score, Tally};
use crate::processes::Processes;
use crate::queue::Priorities;
use crate::{blk_mq, legacy, rows, text_file};
use seekwise_sched::registry;
use seekwise_sched::{Kernel, Setup};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Component, Path, PathBuf};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Line of a file at which the waiting set and the scheduler's state are wanted.
    pub explain: Option<usize>,
}

/// Everything that `verify vectors` says.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    pub passed: u64,
    pub total: u64,
    pub contested: Score,
    /// Points at which no model was asked; they count as right.
    pub unasked: u64,
    /// Every file could be replayed, and every group reaches what is required.
    pub met: bool,
    /// Sums by scheduler and kernel.
    pub groups: Vec<Group>,
    pub files: Vec<FileOutcome>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Group {
    pub scheduler: String,
    pub kernel: String,
    pub files: u64,
    pub passed: u64,
    pub total: u64,
    pub contested: Score,
    pub unasked: u64,
    /// Share that is required of all points and again of the contested ones, in thousandths.
    pub required_per_mille: u64,
    pub met: bool,
}

/// The share of right decisions that a model must reach, in thousandths; an unknown scheduler reaches none.
fn required_per_mille(scheduler: &str) -> u64 {
    seekwise_sched::find_scheduler(scheduler).map_or(1000, |entry| entry.required_per_mille)
}

/// Replays every recording below `paths`.
pub fn verify_vectors(paths: &[PathBuf], options: &Options) -> Outcome {
    let mut files = Vec::new();
    for path in paths {
        find(path, &mut files);
    }
    let files: Vec<_> = files
        .iter()
        .map(|path| verify_file(path, options))
        .collect();
    let mut outcome = Outcome {
        passed: 0,
        total: 0,
        contested: Score::default(),
        unasked: 0,
        met: false,
        groups: Vec::new(),
        files: Vec::new(),
    };
    let mut groups: BTreeMap<(String, String), Group> = BTreeMap::new();
    for file in &files {
        outcome.passed += file.passed;
        outcome.total += file.total;
        outcome.contested.add(file.contested);
        outcome.unasked += file.unasked;
        let group = groups
            .entry((file.scheduler.clone(), file.kernel.clone()))
            .or_insert_with(|| Group {
                scheduler: file.scheduler.clone(),
                kernel: file.kernel.clone(),
                files: 0,
                passed: 0,
                total: 0,
                contested: Score::default(),
                unasked: 0,
                required_per_mille: required_per_mille(&file.scheduler),
                met: false,
            });
        group.files += 1;
        group.passed += file.passed;
        group.total += file.total;
        group.contested.add(file.contested);
        group.unasked += file.unasked;
    }
    outcome.groups = groups.into_values().collect();
    for group in &mut outcome.groups {
        let reached = |passed: u64, total: u64| passed * 1000 >= total * group.required_per_mille;
        group.met = reached(group.passed, group.total)
            && reached(group.contested.passed, group.contested.total);
    }
    outcome.met = !files.is_empty()
        && files.iter().all(|file| file.error.is_none())
        && outcome.groups.iter().all(|group| group.met);
    outcome.files = files;
    outcome
}

/// Folders beside recordings that hold none: what was submitted, other kinds of recordings, rates, summaries.
const NOT_RECORDINGS: [&str; 9] = [
    "requests",
    "lists",
    "machine",
    "md",
    "ladder",
    "ladder-open",
    "ladder-unseen",
    "whatif",
    "nvme-many-cores",
];

/// Recordings below `path`, sorted; a file that was named is one whatever it holds.
fn find(path: &Path, files: &mut Vec<PathBuf>) {
    if !path.is_dir() {
        files.push(path.to_owned());
        return;
    }
    let Ok(entries) = fs::read_dir(path) else {
        files.push(path.to_owned());
        return;
    };
    let mut entries: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for entry in entries {
        let name = entry
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if entry.is_dir() {
            if !NOT_RECORDINGS.contains(&name) {
                find(&entry, files);
            }
        } else if name.ends_with(".csv") && !name.starts_with("summary") {
            files.push(entry);
        }
    }
}

fn verify_file(path: &Path, options: &Options) -> FileOutcome {
    let mut outcome = FileOutcome {
        file: path.display().to_string(),
        ..Default::default()
    };
    let text = match text_file::read(path) {
        Ok(text) => text,
        Err(error) => {
            // How many points it held nobody can tell; at least one is missed.
            outcome.total = 1;
            outcome.error = Some(format!("cannot be read: {error}"));
            return outcome;
        }
    };
    let mut tally = Tally::default();
    // A recording that no kernel could have made must not take the others down with it.
    let result = catch_unwind(AssertUnwindSafe(|| {
        replay_file(path, &text, options, &mut outcome, &mut tally)
    }))
    .unwrap_or_else(|_| Err("the model broke down on it".to_owned()));
    outcome.contested = tally.contested;
    outcome.unasked = tally.unasked;
    (outcome.passed, outcome.total) = (tally.score.passed, tally.score.total);
    outcome.misses = tally.misses;
    if let Err(error) = result {
        // All its points are missed: those met so far, and every `issue` row that was not met.
        let nothing = tally.score.total - tally.issues;
        outcome.total = (rows::count_issues(&text).max(tally.issues) + nothing).max(1);
        outcome.passed = 0;
        outcome.contested.passed = 0;
        outcome.error = Some(error);
    }
    outcome
}

fn replay_file(
    path: &Path,
    text: &str,
    options: &Options,
    outcome: &mut FileOutcome,
    tally: &mut Tally,
) -> Result<(), String> {
    let stem = path
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or_default();
    // As named, so that a link may stand for a file; only `..` needs the real path.
    let full = std::path::absolute(path)
        .ok()
        .filter(|full| full.components().all(|part| part != Component::ParentDir));
    let full = full.or_else(|| path.canonicalize().ok());
    let folder = full
        .as_deref()
        .and_then(Path::parent)
        .and_then(Path::file_name)
        .and_then(|name| name.to_str());
    if !stem.contains("__") {
        return replay_blk_mq(path, stem, text, options, outcome, tally);
    }
    let scheduler = folder.unwrap_or_default();
    let name = legacy::Name::parse(stem)?;
    outcome.scheduler = scheduler.to_owned();
    outcome.kernel = kernel_text(stem, &name.kernel);
    let rows = rows::parse(text)?;
    let entry = registry::find(scheduler)
        .ok_or_else(|| format!("the folder \"{scheduler}\" is no scheduler's name"))?;
    let mut setup = Setup::new(name.kernel);
    (setup.rotational, setup.depth_device) = (name.device.rotational, name.device.depth);
    setup.host_tags = name.device.depth;
    setup.age = Setup::RECORDED_AGE;
    let policy = entry.build(&setup)?;
    let processes = match read_processes(path, &name.workload) {
        Ok(processes) => processes,
        // These two do not look at processes.
        Err(_) if ["noop", "deadline"].contains(&scheduler) => Processes::default(),
        Err(error) => return Err(error),
    };
    let (replayed, look, finished) =
        legacy::replay(policy, &rows, &name, &processes, options.explain);
    *tally = replayed;
    outcome.look = look;
    finished
}

fn replay_blk_mq(
    path: &Path,
    stem: &str,
    text: &str,
    options: &Options,
    outcome: &mut FileOutcome,
    tally: &mut Tally,
) -> Result<(), String> {
    let full = path.canonicalize().map_err(|error| error.to_string())?;
    let kernel = blk_mq::kernel_of(&full);
    outcome.kernel = kernel.to_owned();
    let settings = blk_mq::Settings::parse(&read_settings(&full, stem)?, kernel)?;
    outcome.scheduler = settings.scheduler.clone();
    let rows = rows::parse(text)?;
    let entry = registry::find(&settings.scheduler)
        .ok_or_else(|| format!("\"{}\" is no scheduler", settings.scheduler))?;
    let policy = entry.build(&settings.setup)?;
    // A list in the short format has processes without a priority.
    let priorities = match read_processes(path, stem) {
        Ok(processes) => processes.priorities,
        Err(_) => Priorities::new(),
    };
    let (replayed, look, finished) =
        blk_mq::replay(policy, &rows, &settings, priorities, options.explain);
    *tally = replayed;
    outcome.look = look;
    finished
}

/// `NAME.conf` beside the recording, or, for a second sample, in the folder of the same name above.
fn read_settings(full: &Path, stem: &str) -> Result<String, String> {
    let folder = full.parent().unwrap_or(full);
    let conf = format!("{stem}.conf");
    let own = folder.join(&conf);
    let first_sample = folder
        .file_name()
        .zip(folder.parent().and_then(Path::parent))
        .map(|(name, above)| above.join(name).join(&conf));
    let found = [Some(own), first_sample]
        .into_iter()
        .flatten()
        .find(|file| file.is_file());
    let found = found.ok_or_else(|| format!("there is no {conf} beside it"))?;
    text_file::read(&found).map_err(|error| format!("{} cannot be read: {error}", found.display()))
}

/// The kernel as the file name has it.
fn kernel_text(stem: &str, kernel: &Kernel) -> String {
    stem.split("__")
        .next()
        .map_or_else(|| kernel.to_string(), str::to_owned)
}

/// A file in the folder `sort` beside or above `path`, as named or where a link leads.
pub fn beside(path: &Path, sort: &str, name: &str) -> Result<String, String> {
    let places = [std::path::absolute(path), path.canonicalize()];
    let found = places
        .iter()
        .flatten()
        .flat_map(|place| place.ancestors().skip(1))
        .map(|folder| folder.join(sort).join(name))
        .find(|file| file.is_file())
        .ok_or_else(|| format!("there is no {sort}/{name} beside or above it"))?;
    text_file::read(&found).map_err(|error| format!("{} cannot be read: {error}", found.display()))
}

fn read_processes(path: &Path, workload: &str) -> Result<Processes, String> {
    let processes = beside(path, "requests", &format!("{workload}.processes.csv"))?;
    let requests = beside(path, "requests", &format!("{workload}.requests.csv"))?;
    Processes::parse(&processes, &requests).map_err(|error| format!("requests/{workload}: {error}"))
}
