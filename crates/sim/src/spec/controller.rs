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
    let mut model = Model::shipped(&spec.model).map_err(|error| error.to_string())?;
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
