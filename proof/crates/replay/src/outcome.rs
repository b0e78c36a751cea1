//! What came of a file: points, misses, and what a person wants to see of one row.

use serde::Serialize;

/// Right answers of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Score {
    pub passed: u64,
    pub total: u64,
}

impl Score {
    /// Counts one point.
    pub fn count(&mut self, right: bool) {
        self.total += 1;
        self.passed += u64::from(right);
    }

    /// Adds the points of another score.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.total += other.total;
    }
}

/// A point at which the model decided otherwise than the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Miss {
    /// Line of the file, the header being line 1.
    pub row: usize,
    pub time_ns: u64,
    /// `issue`: a request was dispatched. `nothing`: none was.
    pub point: &'static str,
    /// What the kernel dispatched: operation, sector, length, process; `nothing` at a nothing point.
    pub recorded: String,
    pub chosen: String,
    pub waiting: usize,
    /// The model before it was asked, in words; with the first miss of a file only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

/// A look at one row (`--explain`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Look {
    pub row: usize,
    pub time_ns: u64,
    /// The row itself.
    pub text: String,
    pub in_driver: usize,
    /// Waiting requests, oldest first.
    pub waiting: Vec<String>,
    /// The scheduler's inner state before the row, a fact a line.
    pub state: String,
    /// What the model would dispatch now.
    pub would_choose: String,
}

/// What came of a file.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FileOutcome {
    pub file: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scheduler: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kernel: String,
    pub passed: u64,
    pub total: u64,
    pub contested: Score,
    /// Points at which the kernel runs no hardware queue, so that the model is not asked; they count as right.
    pub unasked: u64,
    pub misses: Vec<Miss>,
    /// Why the file could not be read or replayed to the end; all its points are missed then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub look: Option<Look>,
}

/// Counts points and keeps misses while a file is replayed.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub score: Score,
    pub contested: Score,
    /// Issue points among all.
    pub issues: u64,
    /// Points at which nothing ran the queue, so that the model was not asked: they count as right.
    pub unasked: u64,
    pub misses: Vec<Miss>,
}

impl Tally {
    /// The kernel dispatched a request. `contested`: at least two were waiting.
    pub fn issue_point(&mut self, right: bool, contested: bool) {
        self.issues += 1;
        self.point(right, contested);
    }

    /// The queue was run and nothing came of it.
    pub fn nothing_point(&mut self, right: bool, asked: bool) {
        self.unasked += u64::from(!asked);
        self.point(right, true);
    }

    fn point(&mut self, right: bool, contested: bool) {
        self.score.count(right);
        if contested {
            self.contested.count(right);
        }
    }
}
