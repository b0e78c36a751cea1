//! Commands of a drive one after the other, as a write and its flush: what data sheets and reviews state of a drive alone.

use seekwise_device::measure::Addresses;
use seekwise_device::{Command, CommandKind, Device, Drive, Model, Tag};
use seekwise_units::{Lba, Nanos, Sectors, SECTOR_BYTES};
use serde::Deserialize;
use serde_json::{json, Value};
use std::collections::BTreeMap;

/// How often the chain is repeated, each time elsewhere.
const REPEATS: u64 = 2000;
/// Where a chain may begin: every 64th sector.
const GRAIN: u64 = 64;

/// Each step is sent when the one before is done and `turnaround_ns` have passed: `write`, `forced_write`, `flush`.
#[derive(Deserialize)]
pub struct Chain {
    model: String,
    #[serde(default)]
    parameters: BTreeMap<String, f64>,
    steps: Vec<String>,
    block_bytes: u64,
    turnaround_ns: u64,
}

impl Chain {
    /// Mean time of the whole chain. The error is one sentence: a model, a parameter or a step that there is not.
    pub fn measure(&self) -> Result<Value, String> {
        let mut model = Model::shipped(&self.model).map_err(|error| error.0)?;
        for (key, value) in &self.parameters {
            model.set(key, *value).map_err(|error| error.0)?;
        }
        let mut drive = Drive::new(&model, 0).map_err(|error| error.0)?;
        let sectors = Sectors((self.block_bytes / SECTOR_BYTES).max(1));
        let write = |force_unit_access| (CommandKind::Write { force_unit_access }, sectors);
        let step = |name: &String| match name.as_str() {
            "write" => Ok(write(false)),
            "forced_write" => Ok(write(true)),
            "flush" => Ok((CommandKind::Flush, Sectors(0))),
            other => Err(format!("a chain has no step `{other}`")),
        };
        let steps = self.steps.iter().map(step).collect::<Result<Vec<_>, _>>()?;
        let mut random = Addresses::new(1);
        let mut now = Nanos::ZERO;
        let places = drive.capacity().0 / GRAIN;
        for _ in 0..REPEATS {
            let start = Lba(random.below(places) * GRAIN);
            for &(kind, sectors) in &steps {
                drive.submit(
                    now,
                    Command {
                        tag: Tag(0),
                        kind,
                        start,
                        sectors,
                    },
                );
                now = drive.next_completion().expect("a command is outstanding");
                drive.complete_next(now);
                now += Nanos(self.turnaround_ns);
            }
        }
        let mean = now.0 / REPEATS;
        Ok(json!({"latency_us": mean as f64 / 1e3, "iops": 1e9 / mean as f64}))
    }
}
