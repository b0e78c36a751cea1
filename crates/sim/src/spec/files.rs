//! Files of a trial, and calls that are made of steps.

use seekwise_units::PAGE_BYTES;
use serde::Deserialize;

/// What the files of the jobs lie on: each thread's own file, or one for all threads of a job without `own_regions`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilesSpec {
    /// `raw` (regions one after the other), `ext3`, `ext4` or, for readers, `xfs`.
    pub filesystem: String,
    /// Where it begins on the volume.
    #[serde(default)]
    pub start_bytes: u64,
    /// The files lie there already. Otherwise a first phase whose jobs all write in order makes them.
    #[serde(default)]
    pub written: bool,
}

/// Idleness so many times as long as an earlier phase took.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Idle {
    pub phase: usize,
    pub times: f64,
}

/// A step of a call: the call begins at an even distance from the one before, and consists of this many steps in a row.
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

const CALLS_MAX: u64 = 1_000_000;
const STEPS_MAX: u64 = 64;
const STEP_BYTES_MAX: u64 = 1 << 30;

/// Refuses what no sequence of steps can be, made so many times.
pub fn check_steps(steps: &[StepSpec], calls: u64) -> Result<(), String> {
    let within = |name: &str, value: u64, most: u64| match value {
        value if (1..=most).contains(&value) => Ok(()),
        value => Err(format!("{name} is {value}, outside 1 to {most}")),
    };
    within("calls of steps", calls, CALLS_MAX)?;
    within("steps of a call", steps.len() as u64, STEPS_MAX)?;
    for step in steps {
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
    if steps.iter().any(|step| step.starts_clock) {
        Ok(())
    } else {
        Err("no step of a call starts the clock".to_owned())
    }
}
