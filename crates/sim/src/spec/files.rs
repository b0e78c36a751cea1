//! Files of a storage spec, and the phases of programs that use them.

use seekwise_units::PAGE_BYTES;
use serde::Deserialize;

/// What kernel and programs take of a small machine's memory in single-user mode: range 20 to 60 MB.
pub(crate) const OTHER_BYTES: u64 = 35_000_000;
const DEPTH_MAX: u32 = 65_536;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilesSpec {
    /// `raw` (regions one after the other), `ext3`, `ext4` or, for readers, `xfs`.
    pub filesystem: String,
    /// All memory of the machine; on blk-mq that of the program's cgroup.
    pub memory_bytes: u64,
    /// In the order in which they run over the same files; page cache and drives keep what the phase before left.
    pub phases: Vec<PhaseSpec>,
    /// The phase whose figures are wanted.
    pub report: usize,
    /// The files lie there already.
    #[serde(default)]
    pub written: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseSpec {
    pub write: bool,
    pub random: bool,
    /// Calls of each thread; once through the file when absent.
    pub calls: Option<u64>,
    #[serde(default)]
    pub fsync: bool,
    #[serde(default)]
    pub o_sync: bool,
    #[serde(default)]
    pub drop_caches: bool,
    /// The machine is idle for some time before the phase begins.
    pub idle: Option<Idle>,
    /// Direct I/O: calls that each thread keeps under way.
    #[serde(default = "one")]
    pub depth: u32,
    /// Threads begin no further call after this long; sequential ones begin again at the file's start until then.
    pub runtime_ns: Option<u64>,
    /// Calls of each thread at most, however long they may take.
    #[serde(skip)]
    pub calls_max: Option<u64>,
    /// Steps of each call, which go over the whole volume then.
    #[serde(skip)]
    pub steps: Vec<StepSpec>,
}

/// Calls at even distances over the whole volume.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpreadSpec {
    pub calls: u64,
    /// Of each call, one after the other.
    pub steps: Vec<StepSpec>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepSpec {
    pub call: StepCall,
    /// Read or written from the call's place on.
    #[serde(default)]
    pub bytes: u64,
    /// The call's latency counts from this step on.
    #[serde(default)]
    pub starts_clock: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepCall {
    Read,
    Write,
    /// Every drive empties its cache.
    Flush,
}

/// What passes before a phase begins: so many times as long as an earlier phase took.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Idle {
    pub phase: usize,
    pub times: f64,
}

const CALLS_SPREAD_MAX: u64 = 1_000_000;
const STEPS_MAX: usize = 64;
const STEP_BYTES_MAX: u64 = 1 << 30;

impl SpreadSpec {
    pub fn check(&self) -> Result<(), String> {
        let within = |name: &str, value: u64, most: u64| match value {
            0 => Err(format!("{name} is 0, outside 1 to {most}")),
            value if value > most => Err(format!("{name} is {value}, outside 1 to {most}")),
            _ => Ok(()),
        };
        within("calls of spread", self.calls, CALLS_SPREAD_MAX)?;
        within("steps of spread", self.steps.len() as u64, STEPS_MAX as u64)?;
        for step in &self.steps {
            if step.call != StepCall::Flush {
                within("bytes of a step", step.bytes, STEP_BYTES_MAX)?;
            }
            if step.bytes % PAGE_BYTES != 0 {
                return Err(format!(
                    "bytes of a step is {}, no multiple of {PAGE_BYTES}",
                    step.bytes
                ));
            }
        }
        if !self.steps.iter().any(|step| step.starts_clock) {
            return Err("no step of spread starts the clock".to_owned());
        }
        Ok(())
    }

    /// The longest step.
    pub fn bytes_max(&self) -> u64 {
        self.steps.iter().map(|step| step.bytes).max().unwrap_or(0)
    }
}

fn one() -> u32 {
    1
}

pub fn check(spec: &FilesSpec) -> Result<(), String> {
    if spec.phases.is_empty() || spec.report >= spec.phases.len() {
        return Err(format!(
            "phase {} of {} is asked for",
            spec.report,
            spec.phases.len()
        ));
    }
    if spec.memory_bytes < OTHER_BYTES + (8 << 20) {
        return Err(format!(
            "memory_bytes is {}, too little for a kernel and a page cache",
            spec.memory_bytes
        ));
    }
    for (number, phase) in spec.phases.iter().enumerate() {
        if !(1..=DEPTH_MAX).contains(&phase.depth) {
            return Err(format!(
                "phase {number}: depth is {} calls, outside 1 to {DEPTH_MAX}",
                phase.depth
            ));
        }
        if phase
            .idle
            .is_some_and(|idle| idle.phase >= number || !(0.0..=1e6).contains(&idle.times))
        {
            return Err(format!(
                "phase {number}: `idle` names an earlier phase and 0 to 1000000 times its length"
            ));
        }
        if phase.depth > 1 && phase.o_sync {
            return Err(format!(
                "phase {number}: O_SYNC with {} calls under way is not modelled",
                phase.depth
            ));
        }
    }
    if !matches!(spec.filesystem.as_str(), "raw" | "ext3" | "ext4" | "xfs") {
        return Err(format!("file system {} is not modelled", spec.filesystem));
    }
    if spec.filesystem == "xfs" && spec.phases.iter().any(|phase| phase.write) {
        return Err("writing on xfs is not modelled: its log is not".to_owned());
    }
    Ok(())
}
