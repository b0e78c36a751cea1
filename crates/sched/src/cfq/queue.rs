//! A queue of cfq: the requests of one process (sync), or of everybody at one priority (async).

use super::requests::Waiting;
use crate::decay::Mean;
use crate::request::{Priority, PriorityClass, ProcessId};
use crate::seeks::Seeks;
use seekwise_units::Lba;

/// Priority class, in order of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    RealTime,
    BestEffort,
    Idle,
}

/// Class and level in force: no class is best effort; the idle class has one level.
pub fn effective(priority: Priority) -> (Class, u8) {
    let level = priority.level.min(7);
    match priority.class {
        PriorityClass::None => (Class::BestEffort, 4),
        PriorityClass::RealTime => (Class::RealTime, level),
        PriorityClass::BestEffort => (Class::BestEffort, level),
        PriorityClass::Idle => (Class::Idle, 7),
    }
}

/// `base`, a fifth more per level above 4 and a fifth less per level below.
pub fn scaled_slice(base: u64, level: u8) -> i64 {
    base as i64 + (base / 5) as i64 * (4 - level as i64)
}

/// Async queues: by class and level.
#[derive(Clone, Debug, Default)]
pub struct AsyncQueues([[Option<usize>; 8]; 3]);

impl AsyncQueues {
    /// The queue of a class and a level 0 to 7; None until its first request.
    pub fn at(&mut self, class: Class, level: u8) -> &mut Option<usize> {
        &mut self.0[class as usize][level as usize]
    }
}

/// What is common to both designs.
#[derive(Clone, Debug)]
pub struct Queue {
    pub sync: bool,
    pub class: Class,
    pub level: u8,
    pub waiting: Waiting,
    /// Requests on the dispatch list or with the driver.
    pub in_flight: u32,
    /// Processes that put their requests here, those that are about to among them.
    pub users: u32,
    /// Process for which it was made, to name it by.
    pub process: ProcessId,

    /// Stands in the order of service.
    pub busy: bool,
    pub key: i64,
    /// What its last slice left over; negative when it overran.
    pub residual: i64,
    pub slice_ends: u64,
    /// No completion in this slice yet: the slice has no end.
    pub fresh: bool,
    /// Requests dispatched in this slice.
    pub taken: u32,
    /// The oldest request has been looked at in this slice.
    pub fifo_checked: bool,

    /// Idling for it makes sense.
    pub idle_window: bool,
    /// Waits for a request (kept until the slice ends).
    pub awaited: bool,
    /// Must be served before it is looked whether its slice is used.
    pub must_dispatch: bool,

    /// End of the request that came last, for its seeks.
    pub last_end: Lba,
    pub seek: Mean,
    /// Its next user is to use that one instead.
    pub merge_into: Option<usize>,
    /// Several processes have shared it.
    pub shared: bool,
    /// Since when a shared queue has been seeky (2.6.32).
    pub seeky_since: Option<u64>,

    /// Tree in which it stands (2.6.33 on).
    pub tree: usize,
    /// When the slice began: at its first completion.
    pub slice_began: Option<u64>,
    /// A bit for each of the last 32 requests: it was a seek.
    pub seek_history: Seeks,
    /// Has had four requests waiting at once since an idle time last failed.
    pub deep: bool,
    /// The slice was prolonged because no other queue is busy.
    pub wait_busy: bool,
    /// To be split at its next request.
    pub split: bool,
}

impl Queue {
    /// An empty queue with one user; a process without a priority counts as best effort 4.
    pub fn new(process: ProcessId, sync: bool, priority: Priority) -> Self {
        let (class, level) = effective(priority);
        Self {
            sync,
            class,
            level,
            waiting: Waiting::default(),
            in_flight: 0,
            users: 1,
            process,
            busy: false,
            key: 0,
            residual: 0,
            slice_ends: 0,
            fresh: false,
            taken: 0,
            fifo_checked: false,
            idle_window: sync && class != Class::Idle,
            awaited: false,
            must_dispatch: false,
            last_end: Lba(0),
            seek: Mean::of_seeks(),
            merge_into: None,
            shared: false,
            seeky_since: None,
            tree: 0,
            slice_began: None,
            seek_history: Seeks::default(),
            deep: false,
            wait_busy: false,
            split: false,
        }
    }

    /// Most of its last requests were seeks (2.6.33 on): more than an eighth of 32.
    pub fn seeks(&self) -> bool {
        self.seek_history.count() > 32 / 8
    }

    /// Is the slice over at `time`? Never before its first completion.
    #[inline]
    pub fn slice_used(&self, time: u64) -> bool {
        !self.fresh && time >= self.slice_ends
    }

    /// A slice begins: nothing taken, no end until its first completion.
    pub fn begin_slice(&mut self) {
        self.slice_ends = 0;
        self.slice_began = None;
        self.taken = 0;
        self.fresh = true;
        self.fifo_checked = false;
        self.awaited = false;
        self.must_dispatch = false;
    }

    /// Its name for `--explain`: the process, or class and level.
    pub fn name(&self) -> String {
        if self.sync {
            format!("p{}", self.process.0)
        } else {
            format!("async {:?} {}", self.class, self.level)
        }
    }
}

/// A process as cfq knows it.
#[derive(Clone, Debug)]
pub struct Process {
    pub id: ProcessId,
    pub exited: bool,
    pub sync_queue: Option<usize>,
    pub async_queue: Option<usize>,
    pub think: Mean,
    /// Time of its last sync completion, or of its first request.
    pub last_completion: u64,
    pub last_end: Lba,
    pub seek: Mean,
}

impl Process {
    /// A process without queues; `time`, of its first request, counts as its last completion.
    pub fn new(id: ProcessId, time: u64) -> Self {
        Self {
            id,
            exited: false,
            sync_queue: None,
            async_queue: None,
            think: Mean::of_think_times(),
            last_completion: time,
            last_end: Lba(0),
            seek: Mean::of_seeks(),
        }
    }
}

/// Enough samples to rely on: from the third on.
pub fn is_valid(mean: &Mean) -> bool {
    mean.samples > 80
}

/// Mean seek beyond which a process or queue is seeky, and the distance within which a request is close.
pub const CLOSE_SECTORS: u64 = 8 * 1024;

/// The mean seek is longer than [`CLOSE_SECTORS`].
pub fn is_seeky(mean: &Mean) -> bool {
    mean.mean > CLOSE_SECTORS
}

/// The processes of two queues are to share one from their next request on: that with more of them.
pub fn plan_merge(queues: &mut [Queue], index: usize, mut other: usize) {
    if queues[index].merge_into.is_some() || queues[other].users == 0 {
        return;
    }
    while let Some(next) = queues[other].merge_into {
        if next == index {
            return;
        }
        other = next;
    }
    let (own, others) = (queues[index].users, queues[other].users);
    if own == 0 || others == 0 || index == other {
        return;
    }
    let (from, to) = if others >= own {
        (index, other)
    } else {
        (other, index)
    };
    queues[from].merge_into = Some(to);
    queues[to].users += queues[from].users;
}
