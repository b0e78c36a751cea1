//! What the server is asked for.

use crate::fault::Fault;
use seekwise_device::{Device, Drive, Model};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The most drives of one server: a thread each.
const COUNT_MAX: usize = 256;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    pub model: String,
    /// Of each drive the socket that it answers on.
    pub sockets: Vec<PathBuf>,
    pub control: PathBuf,
    /// Parameters of the model to change.
    #[serde(default)]
    pub parameters: BTreeMap<String, f64>,
    #[serde(default)]
    pub faults: Vec<String>,
    /// An answer later than this is an overrun.
    #[serde(default = "hundred")]
    pub overrun_us: f64,
    #[serde(default)]
    pub seed: u64,
}

fn hundred() -> f64 {
    100.0
}

impl Options {
    /// The model, the sectors of each drive and the faults, once everything has been checked. An error is one sentence.
    pub(crate) fn check(&self) -> Result<(Model, u64, Vec<Fault>), String> {
        let mut model = Model::shipped(&self.model).map_err(|error| error.0)?;
        for (key, value) in &self.parameters {
            model.set(key, *value).map_err(|error| error.0)?;
        }
        let count = self.sockets.len();
        if !(1..=COUNT_MAX).contains(&count) {
            return Err(format!(
                "{count} sockets were named; one server has 1 to {COUNT_MAX} drives"
            ));
        }
        if !(self.overrun_us > 0.0 && self.overrun_us <= 1e9) {
            return Err("the limit of an overrun is not between 0 and 1e9 us".into());
        }
        let drive = Drive::new(&model, 0).map_err(|error| error.0)?;
        let sectors = drive.capacity().0;
        let faults = self.faults.iter();
        let faults = faults.map(|text| Fault::parse(text, count, sectors));
        let faults = faults.collect::<Result<_, _>>()?;
        Ok((model, sectors, faults))
    }
}
