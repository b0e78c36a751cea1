//! A recorded load, as `seekwise._core` is given it; its rows lie in a file (`task/traced/rows.rs`).

use serde::Deserialize;
use std::fs::File;
use std::sync::Arc;

/// Of a row in the file.
pub const ROW_BYTES: usize = 48;
pub const PROGRAMS_MAX: usize = 1 << 20;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TracedSpec {
    pub path: String,
    /// Names of the groups whose figures are told apart.
    pub groups: Vec<String>,
    pub programs: Vec<ProgramSpec>,
    /// Every request is sent when it was, whatever the storage does.
    #[serde(default)]
    pub open: bool,
    /// Some request empties the drives' caches.
    #[serde(default)]
    pub flushes: bool,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramSpec {
    pub group: u32,
    /// Its rows: the first one in the file, and how many.
    pub first: u64,
    pub rows: u64,
}

impl TracedSpec {
    /// Refuses what the file cannot be.
    pub fn check(&self) -> Result<(), String> {
        let length = std::fs::metadata(&self.path)
            .map_err(|error| format!("{}: cannot be read: {error}", self.path))?
            .len();
        if self.programs.is_empty() || self.programs.len() > PROGRAMS_MAX {
            return Err(format!(
                "a recorded load has 1 to {PROGRAMS_MAX} programs, not {}",
                self.programs.len()
            ));
        }
        for (index, program) in self.programs.iter().enumerate() {
            let end = program.first.saturating_add(program.rows);
            if end > length / ROW_BYTES as u64 || program.rows == 0 {
                return Err(format!(
                    "program {index} of the recorded load has rows outside its file"
                ));
            }
            if program.group as usize >= self.groups.len() {
                return Err(format!(
                    "program {index} of the recorded load is in no group"
                ));
            }
        }
        Ok(())
    }

    /// Opens the file of rows for all programs. The error is a sentence with its path.
    pub fn open_file(&self) -> Result<Arc<File>, String> {
        File::open(&self.path)
            .map(Arc::new)
            .map_err(|error| format!("{}: cannot be read: {error}", self.path))
    }
}
