//! What a trial is: the JSON that `seekwise._core.simulate_cells` takes.
//!
//! ```json
//! { "name": "cell 3", "seed": 7,
//!   "device": { "model": "wd-re-wd2500ys", "depth": 31 },
//!   "queue":  { "scheduler": "deadline", "kernel": "2.6.24", "hz": 250, "tunables": {"fifo_batch": 16} },
//!   "host":   { "processors": 2 },
//!   "phases": [ { "operation": "rand_read", "runtime_ns": 10000000000,
//!                 "jobs": [ { "threads": 8, "pattern": "random", "block_bytes": 4096 } ] } ] }
//! ```
//!
//! `device` may have an `array` of such drives (`spec/array.rs`). A job with `"direct": false` needs `"cache": {"limit_bytes": 67108864}`: the
//! device is a file in one piece. With `"files": {"filesystem": "ext4"}` the jobs use files (`assemble/files.rs` for both). Unknown keys are
//! refused by name.

pub mod array;
pub mod cache;
pub mod check;
pub mod controller;
pub mod files;
pub mod kernel;
pub mod programs;
pub mod traced;

use seekwise_sched::Kernel;
use seekwise_units::Sectors;
use serde::Deserialize;
use std::collections::BTreeMap;

fn one() -> u32 {
    1
}
fn yes() -> bool {
    true
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialSpec {
    #[serde(default)]
    pub name: String,
    pub seed: u64,
    pub device: DeviceSpec,
    pub queue: QueueSpec,
    #[serde(default)]
    pub host: HostSpec,
    pub phases: Vec<PhaseSpec>,
    /// Memory of jobs with `"direct": false`, which need it.
    pub cache: Option<crate::spec::cache::CacheSpec>,
    /// Jobs use files instead of regions of the device.
    pub files: Option<crate::spec::files::FilesSpec>,
    /// Keep a trace of at most this many events.
    #[serde(default)]
    pub trace_events_max: usize,
}

impl TrialSpec {
    /// Whether a kernel's worker dispatches direct reads, and writes, of its drive.
    pub fn by_worker(&self, kernel: &Kernel) -> [bool; 2] {
        // md's members are not reached by the program's own bios, and those of files have a plug.
        let of_drive = self.device.array.is_none() && self.cache.is_none() && self.files.is_none();
        let may = of_drive && !self.host.synchronous_dispatch;
        kernel::by_worker(kernel, &self.queue.scheduler).map(|by_worker| may && by_worker)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceSpec {
    /// Name of a model in `models/`.
    pub model: String,
    /// Commands that the host keeps outstanding (NCQ depth, `device/queue_depth`); the device's own depth when absent.
    pub depth: Option<u32>,
    /// Parameters other than the model's own, by name.
    #[serde(default)]
    pub parameters: BTreeMap<String, f64>,
    /// Part of a drive alone in use (a partition); all of it when absent.
    pub bytes: Option<u64>,
    /// With `host.cores`: drives alike, each with a queue of its own, which every process uses in turn.
    pub drives_beside: Option<u32>,
    /// md over several such drives, each with a queue as `queue` says.
    pub array: Option<crate::spec::array::ArraySpec>,
    /// A controller over such drives, whose unit is the one disk that the host sees. `depth` is then the unit's.
    pub controller: Option<crate::spec::controller::ControllerSpec>,
}

impl DeviceSpec {
    /// Drives in all.
    pub fn drives(&self) -> u32 {
        match (&self.array, &self.controller) {
            (Some(array), _) => array.members,
            (None, Some(controller)) => controller.drives,
            (None, None) => 1,
        }
    }

    /// What of a drive alone is in use.
    pub fn in_use(&self, whole: Sectors) -> Sectors {
        self.bytes
            .map_or(whole, |bytes| Sectors(bytes / 512).min(whole))
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueSpec {
    pub scheduler: String,
    /// Kernel whose behaviour is meant: `2.6.24`, `2.6.32`, `4.4`, `6.1` …
    pub kernel: String,
    pub hz: Option<u32>,
    #[serde(default)]
    pub tunables: BTreeMap<String, i64>,
    pub nr_requests: Option<u32>,
    pub max_sectors_kb: Option<u32>,
    #[serde(default)]
    pub nomerges: u8,
    pub rotational: Option<bool>,
    /// The driver takes a budget before it asks the scheduler (SCSI, SATA). Otherwise one request is taken ahead (NVMe, virtio, null_blk).
    pub budget: Option<bool>,
    /// Programs are in a cgroup of their own that the io controller is on for (a systemd service with `IOWeight=`, a container); only bfq has groups.
    #[serde(default)]
    pub cgroup: bool,
    /// Write-back throttling target in µs; 0 turns it off; absent: the kernel's default (75000 rotational, 2000 otherwise; off below 4.10).
    pub wbt_lat_usec: Option<u64>,
}

impl QueueSpec {
    /// A queue with the defaults of its kernel.
    pub fn of(scheduler: &str, kernel: &str) -> Self {
        Self {
            scheduler: scheduler.to_owned(),
            kernel: kernel.to_owned(),
            ..Self::default()
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostSpec {
    /// A host model of `models/` in place of the costs below.
    pub model: Option<String>,
    /// Parameters other than the model's own, by name.
    #[serde(default)]
    pub parameters: BTreeMap<String, f64>,
    pub processors: Option<u32>,
    /// Cores that the processes may use, each simulated with run queue, hardware queue and waiting for locks (`crates/sim/src/cores/`).
    pub cores: Option<u32>,
    /// Who submits a direct request dispatches it, under a kernel that was changed so, or in a plug: no kernel's worker does ([`kernel::by_worker`]).
    #[serde(default)]
    pub synchronous_dispatch: bool,
    pub user_ns: Option<u64>,
    pub submit_ns: Option<u64>,
    pub interrupt_ns: Option<u64>,
    pub wake_ns: Option<u64>,
    pub scheduler_ns: Option<u64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseSpec {
    pub operation: String,
    /// Threads stop issuing after this long.
    pub runtime_ns: Option<u64>,
    /// Of a trial with files: the machine is idle before it, and clean pages leave the cache.
    pub idle: Option<crate::spec::files::Idle>,
    #[serde(default)]
    pub jobs: Vec<JobSpec>,
    /// A recorded load instead of jobs.
    #[serde(default)]
    pub traced: Option<crate::spec::traced::TracedSpec>,
    /// Programs whose calls were recorded, through the page cache; the only phase of its trial.
    pub programs: Option<crate::spec::programs::ProgramsSpec>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum PatternSpec {
    Sequential,
    Random,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ClassSpec {
    None,
    Realtime,
    BestEffort,
    Idle,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobSpec {
    #[serde(default)]
    pub name: String,
    #[serde(default = "one")]
    pub threads: u32,
    /// Operations that each thread keeps outstanding (closed loop).
    #[serde(default = "one")]
    pub depth: u32,
    pub pattern: PatternSpec,
    /// Share of reads, in percent; 100 when absent.
    pub read_percent: Option<f64>,
    pub block_bytes: u64,
    /// Of several sizes: each in bytes, a multiple of `block_bytes`, with its share in percent.
    #[serde(default)]
    pub sizes: Vec<(u64, f64)>,
    /// Direct writes: each thread asks for the flush of the drives' caches after so many, and waits for it; with 1 it is part of the write.
    #[serde(default)]
    pub sync_every: u32,
    #[serde(default = "yes")]
    pub direct: bool,
    #[serde(default)]
    pub think_ns: u64,
    /// Open loop: operations per second of each thread, whatever is outstanding.
    pub rate_iops: Option<f64>,
    /// Gaps of the open loop are exponentially distributed (Poisson arrivals) rather than equal.
    #[serde(default)]
    pub poisson: bool,
    #[serde(default)]
    pub start_ns: u64,
    /// Delay between the starts of the job's threads.
    #[serde(default)]
    pub stagger_ns: u64,
    /// Where the job works; the whole device when absent.
    #[serde(default)]
    pub region_start_bytes: u64,
    pub region_bytes: Option<u64>,
    /// Each thread has its own equal part of the region (own file) instead of all sharing it.
    #[serde(default)]
    pub own_regions: bool,
    pub class: Option<ClassSpec>,
    pub level: Option<u8>,
    /// Operations per thread.
    pub ios: Option<u64>,
    /// On files: an fsync ends a thread's writes; O_SYNC: each write returns when it is on the drive.
    #[serde(default)]
    pub fsync: bool,
    #[serde(default)]
    pub o_sync: bool,
    /// Each call is a sequence of steps, `ios` of them at even distances over the region.
    #[serde(default)]
    pub steps: Vec<crate::spec::files::StepSpec>,
}

impl JobSpec {
    /// Its files: one for each thread, or one for all.
    pub fn files(&self) -> u32 {
        if self.own_regions {
            self.threads
        } else {
            1
        }
    }
}
