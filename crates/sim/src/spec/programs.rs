//! What a phase of recorded programs is: files on the device, calls on them, and who makes these calls over and over.

use seekwise_units::{Nanos, Sectors, PAGE_SECTORS};
use serde::Deserialize;

pub(crate) const PROGRAMS_MAX: usize = 1 << 10;
const CALLS_MAX: usize = 1 << 22;
/// A year, in ns.
const THINK_MAX: u64 = 1 << 54;

/// First page on the device, and pages.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub struct Extent(pub u64, pub u64);

impl Extent {
    /// The page of the device after its last one.
    pub fn end(&self) -> u64 {
        self.0 + self.1
    }
}

/// Numbers stand in recordings: the order stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    Read,
    /// A page that is mapped is touched.
    Fault,
    Write,
    /// fsync or fdatasync; `pages`: blocks that the file system's commit has in its log, 0 when nothing is to be committed.
    Sync,
    /// posix_fadvise, POSIX_FADV_DONTNEED: of the whole file, whose clean pages leave the cache, or of `pages`, which begin to be written.
    Forget,
    /// All pages leave it unwritten: the file is deleted or cut.
    Discard,
    DirectRead,
    DirectWrite,
    /// `file` is the number of a lock here, of all programs of the job. `pages`: about how many ns later it is asked for again; 0: as SQLite does.
    Lock,
    Unlock,
    /// The time before it is slept, not computed.
    Sleep,
    BeginUnit,
    /// `page`: the unit's bytes.
    EndUnit,
    /// What follows is done by a process that it starts, until that ends.
    Fork,
    Exit,
}

const KINDS: [CallKind; 15] = [
    CallKind::Read,
    CallKind::Fault,
    CallKind::Write,
    CallKind::Sync,
    CallKind::Forget,
    CallKind::Discard,
    CallKind::DirectRead,
    CallKind::DirectWrite,
    CallKind::Lock,
    CallKind::Unlock,
    CallKind::Sleep,
    CallKind::BeginUnit,
    CallKind::EndUnit,
    CallKind::Fork,
    CallKind::Exit,
];

/// Number of its kind, file, first page within the file, pages, and what the program computed before it in ns.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Call(u8, pub u32, pub u64, pub u64, u64);

impl Call {
    /// What the call does; panics for a number that the spec's check refuses.
    pub fn kind(&self) -> CallKind {
        KINDS[usize::from(self.0)]
    }
    /// What the program computed, or slept, before the call.
    pub fn think(&self) -> Nanos {
        Nanos(self.4)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramSpec {
    pub job: u32,
    pub recording: u32,
    pub files: Vec<Extent>,
    #[serde(default)]
    pub start_ns: u64,
    /// It ends with a unit. Others go on as long as such programs do.
    #[serde(default)]
    pub foreground: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramsSpec {
    /// Names of the jobs whose units are told apart.
    pub jobs: Vec<String>,
    pub recordings: Vec<Vec<Call>>,
    pub programs: Vec<ProgramSpec>,
    /// Of the file system.
    pub journal: Extent,
    /// Units that began within the phase's time are waited for so long.
    pub patience_ns: u64,
}

impl ProgramsSpec {
    /// Refuses what cannot be carried out.
    pub fn check(&self, capacity: Sectors) -> Result<(), String> {
        let pages = capacity.0 / PAGE_SECTORS;
        let inside = |extent: &Extent| {
            extent.1 > 0
                && extent
                    .0
                    .checked_add(extent.1)
                    .is_some_and(|end| end <= pages)
        };
        if self.programs.is_empty() || self.programs.len() > PROGRAMS_MAX {
            return Err(format!(
                "a phase has 1 to {PROGRAMS_MAX} recorded programs, not {}",
                self.programs.len()
            ));
        }
        if !self.programs.iter().any(|program| program.foreground) {
            return Err("no recorded program is in the foreground, so none ends".to_owned());
        }
        if !inside(&self.journal) || self.journal.1 < 64 {
            return Err(
                "the journal of recorded programs has fewer than 64 pages on the device".to_owned(),
            );
        }
        for (number, program) in self.programs.iter().enumerate() {
            let wrong = |what: &str| Err(format!("recorded program {number} {what}"));
            if program.job as usize >= self.jobs.len() {
                return wrong("is of no job");
            }
            if !program.files.iter().all(inside) {
                return wrong("has a file that is not on the device");
            }
            let Some(calls) = self.recordings.get(program.recording as usize) else {
                return wrong("has no recording");
            };
            check_calls(calls, program).or_else(|what| wrong(&what))?;
        }
        Ok(())
    }
}

fn check_calls(calls: &[Call], program: &ProgramSpec) -> Result<(), String> {
    let mut began = false;
    let mut units = 0u32;
    if calls.len() > CALLS_MAX {
        return Err(format!("makes more than {CALLS_MAX} calls"));
    }
    for (place, call) in calls.iter().enumerate() {
        if usize::from(call.0) >= KINDS.len() || call.4 > THINK_MAX {
            return Err(format!("makes call {place}, which is none"));
        }
        match call.kind() {
            CallKind::BeginUnit if !began => began = true,
            CallKind::EndUnit if began => {
                began = false;
                units += 1;
            }
            CallKind::BeginUnit | CallKind::EndUnit => {
                return Err(format!(
                    "begins or ends a unit within another at call {place}"
                ))
            }
            CallKind::Lock
            | CallKind::Unlock
            | CallKind::Sleep
            | CallKind::Fork
            | CallKind::Exit => {}
            kind => {
                let file = program.files.get(call.1 as usize);
                let whole = matches!(kind, CallKind::Sync | CallKind::Forget | CallKind::Discard);
                let fits = |file: &Extent| {
                    whole
                        || call.3 > 0 && call.2.checked_add(call.3).is_some_and(|end| end <= file.1)
                };
                if !file.is_some_and(fits) {
                    return Err(format!("reaches beyond its files at call {place}"));
                }
            }
        }
    }
    if began || program.foreground && units == 0 {
        return Err("has no whole unit".to_owned());
    }
    Ok(())
}
