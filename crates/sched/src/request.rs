//! What a scheduler may know of a request.

use seekwise_units::{Lba, Nanos, Sectors};

/// Slot of a request in the queue that owns it: dense, small, reused after completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u32);

impl std::fmt::Display for RequestId {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "#{}", self.0)
    }
}

/// Requests in words, for the description of a scheduler's state.
pub fn words(requests: impl IntoIterator<Item = RequestId>) -> String {
    let names: Vec<String> = requests.into_iter().map(|id| id.to_string()).collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(" "),
    }
}

/// The submitting process (an io context in kernel terms). Never reused within a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub u32);

impl ProcessId {
    /// The first number of the kernel's own threads: md, flusher, journal. Programs have smaller ones.
    pub const KERNEL: u32 = 1 << 20;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    Read,
    Write,
}

impl Direction {
    /// Write if `write`, otherwise read.
    #[inline]
    pub fn of(write: bool) -> Self {
        if write {
            Self::Write
        } else {
            Self::Read
        }
    }
}

/// I/O priority class (ioprio). `None` is a process that never called `ioprio_set`; most policies treat it as best effort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PriorityClass {
    #[default]
    None,
    RealTime,
    BestEffort,
    Idle,
}

/// Class and level (0 highest to 7 lowest; 4 is the default).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority {
    pub class: PriorityClass,
    pub level: u8,
}

impl Default for Priority {
    fn default() -> Self {
        Self {
            class: PriorityClass::None,
            level: 4,
        }
    }
}

/// A request as handed to the scheduler. Sector and length are those at that moment; merges are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub id: RequestId,
    pub start: Lba,
    pub sectors: Sectors,
    pub direction: Direction,
    /// Somebody waits for it: every read, and writes that carry the sync flag.
    pub sync: bool,
    /// A sync write after which nothing more of the process is expected soon (REQ_NOIDLE).
    pub no_idle: bool,
    /// File-system metadata (REQ_META / REQ_PRIO).
    pub metadata: bool,
    pub process: ProcessId,
    pub priority: Priority,
    /// When the request was allocated; Kyber's total latency counts from here.
    pub allocated: Nanos,
}

impl Request {
    /// The sector after its last one.
    pub fn end(&self) -> Lba {
        self.start + self.sectors
    }
}
