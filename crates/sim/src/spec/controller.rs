//! A controller as a spec describes it: a model, a level over drives, how it is set up.
//!
//! ```json
//! { "model": "9650SE-4LPML", "level": "raid5", "drives": 3, "choices": { "ncq": false } }
//! ```

use seekwise_controller::{Choices, Controller, Level, Model};
use seekwise_device::Model as DriveModel;
use seekwise_units::Sectors;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerSpec {
    /// Name of a controller model in `models/`.
    pub model: String,
    /// The text of a model of the user's own, in place of a shipped one.
    pub toml: Option<String>,
    /// `single` (the default), `raid0`, `raid1`, `raid5`, `raid6`, `raid10`.
    pub level: Option<String>,
    pub drives: u32,
    /// Part of each drive in use.
    pub member_bytes: Option<u64>,
    #[serde(default)]
    pub choices: Choices,
    /// Parameters other than the model's own, by name.
    #[serde(default)]
    pub parameters: BTreeMap<String, f64>,
}

/// A unit of the controller, and the controller's model.
pub fn build(
    spec: &ControllerSpec,
    drive: &DriveModel,
    instance: u32,
) -> Result<(Controller, Model), String> {
    let mut model = match &spec.toml {
        Some(text) => Model::parse(text),
        None => Model::shipped(&spec.model),
    }
    .map_err(|error| error.to_string())?;
    for (key, &value) in &spec.parameters {
        model.set(key, value).map_err(|error| error.to_string())?;
    }
    let level = match spec.level.as_deref() {
        None => Level::Single,
        Some(level) => Level::from_name(level)
            .ok_or_else(|| format!("level {level} is not one of a controller's"))?,
    };
    let member = spec.member_bytes.map(|bytes| Sectors(bytes / 512));
    let unit = model
        .build(level, drive, spec.drives, member, instance, &spec.choices)
        .map_err(|error| error.to_string())?;
    Ok((unit, model))
}

#[cfg(test)]
mod tests {
    use crate::cell;
    use crate::spec::CellSpec;
    use serde_json::{json, Value};

    fn run(
        model: &str,
        level: &str,
        drives: u32,
        write: bool,
        kernel: &str,
    ) -> Result<Value, String> {
        let spec: CellSpec = serde_json::from_value(json!({
            "seed": 3,
            "device": {
                "model": "st3250620ns",
                "controller": { "model": model, "level": level, "drives": drives },
            },
            "queue": { "scheduler": if kernel.starts_with('2') { "deadline" } else { "mq-deadline" }, "kernel": kernel },
            "phases": [{ "operation": "load", "jobs": [{
                "threads": 2, "pattern": "sequential", "read_percent": if write { 0.0 } else { 100.0 },
                "block_bytes": 65536, "ios": 200,
            }] }],
        }))
        .map_err(|error| error.to_string())?;
        cell::run(&spec)
    }

    #[test]
    fn a_cell_has_a_controller_under_both_block_layers() {
        for kernel in ["2.6.24", "6.1"] {
            for write in [false, true] {
                let result = run("9650-4LP", "raid5", 3, write, kernel).unwrap();
                let phase = &result["phases"][0];
                assert_eq!(phase["bytes"], 2 * 200 * 65536, "{kernel}");
                assert_eq!(result["settings"]["queue_depth"], 254);
                assert_eq!(result["settings"]["max_sectors_kb"], 128);
            }
        }
    }

    #[test]
    fn only_fake_raid_costs_processor_time_beside_the_requests() {
        let thread = |model: &str| {
            let result = run(model, "raid5", 3, true, "6.1").unwrap();
            result["phases"][0]["cpu"]["thread_s"].as_f64().unwrap()
        };
        assert_eq!(thread("9650-4LP"), 0.0);
        assert!(thread("fake") > 0.0);
    }

    #[test]
    fn what_cannot_be_is_a_sentence() {
        for (model, level, drives) in [
            ("9999", "raid5", 3),
            ("9650-2LP", "raid5", 3),
            ("9650-4LP", "raid5", 2),
            ("9650-4LP", "raid50", 4),
        ] {
            let error = run(model, level, drives, false, "6.1").unwrap_err();
            assert!(!error.contains('\n') && !error.ends_with('.'), "{error}");
        }
    }
}
