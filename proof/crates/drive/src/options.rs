//! What the server is asked for, and why it may refuse.

use crate::fault::Fault;
use seekwise_device::{Device, Drive, Model};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// The most drives of one server: a thread each.
pub const COUNT_MAX: usize = 256;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    pub model: String,
    /// The model as TOML instead of one that comes with the program.
    #[serde(default)]
    pub toml: Option<String>,
    #[serde(default = "one")]
    pub count: usize,
    /// Parameters of the model to change.
    #[serde(default)]
    pub parameters: BTreeMap<String, f64>,
    /// Folder of the drives' content; in memory without.
    #[serde(default)]
    pub store: Option<PathBuf>,
    /// One per drive, or none: then in the store or in a folder of the run.
    #[serde(default)]
    pub sockets: Vec<PathBuf>,
    #[serde(default)]
    pub control: Option<PathBuf>,
    #[serde(default)]
    pub faults: Vec<String>,
    /// A row per request: when it came, when the model said that it is done, when it was answered.
    #[serde(default)]
    pub log: Option<PathBuf>,
    /// An answer later than this is an overrun.
    #[serde(default = "hundred")]
    pub overrun_us: f64,
    /// Before an answer is due the drive's thread no longer sleeps. A timer wakes it tens of microseconds late on real machines, a hundred on virtual ones; in a
    /// virtual machine whose clock counts instructions it does not, and 0 leaves the processor to the load.
    #[serde(default = "sixty")]
    pub awake_us: f64,
    /// What a request and its answer need between client and drive together, in microseconds, and is taken off; measured at the start when not given.
    #[serde(default)]
    pub transport_us: Option<f64>,
    #[serde(default)]
    pub seed: u64,
}

fn one() -> usize {
    1
}

fn hundred() -> f64 {
    100.0
}

fn sixty() -> f64 {
    60.0
}

impl Options {
    /// `count` drives of a model with all other options at their defaults.
    pub fn new(model: &str, count: usize) -> Self {
        Self {
            model: model.into(),
            toml: None,
            count,
            parameters: BTreeMap::new(),
            store: None,
            sockets: vec![],
            control: None,
            faults: vec![],
            log: None,
            overrun_us: hundred(),
            awake_us: sixty(),
            transport_us: None,
            seed: 0,
        }
    }

    /// The model, and the faults, once everything has been checked.
    pub(crate) fn check(&self) -> Result<(Model, Vec<Fault>), ServeError> {
        let mut model = match &self.toml {
            Some(text) => Model::parse(text),
            None => Model::shipped(&self.model),
        }
        .map_err(|error| ServeError::usage(error.0))?;
        for (key, value) in &self.parameters {
            model
                .set(key, *value)
                .map_err(|error| ServeError::usage(error.0))?;
        }
        if !(1..=COUNT_MAX).contains(&self.count) {
            return Err(ServeError::usage(format!(
                "{} drives were asked for; one server has 1 to {COUNT_MAX}",
                self.count
            )));
        }
        if !self.sockets.is_empty() && self.sockets.len() != self.count {
            return Err(ServeError::usage(format!(
                "{} sockets were named for {} drives",
                self.sockets.len(),
                self.count
            )));
        }
        if !(self.overrun_us > 0.0 && self.overrun_us <= 1e9) {
            return Err(ServeError::usage(
                "the limit of an overrun is not between 0 and 1e9 us".into(),
            ));
        }
        if !(0.0..=1e6).contains(&self.awake_us) {
            return Err(ServeError::usage(
                "the time awake before an answer is not between 0 and 1e6 us".into(),
            ));
        }
        if !(0.0..=1e3).contains(&self.transport_us.unwrap_or_default()) {
            return Err(ServeError::usage(
                "the time between client and drive is not between 0 and 1000 us".into(),
            ));
        }
        let sectors = sectors(&model)?;
        let faults = self
            .faults
            .iter()
            .map(|text| Fault::parse(text, self.count, sectors))
            .collect::<Result<_, _>>()
            .map_err(ServeError::usage)?;
        Ok((model, faults))
    }
}

/// How many sectors a drive of this model has.
pub(crate) fn sectors(model: &Model) -> Result<u64, ServeError> {
    Drive::new(model, 0)
        .map(|drive| drive.capacity().0)
        .map_err(|error| ServeError::usage(error.0))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    Usage,
    Refused,
    Failed,
}

/// Why nothing is served: one sentence without period.
#[derive(Clone, Debug, Serialize)]
pub struct ServeError {
    pub why: Why,
    pub sentence: String,
}

impl ServeError {
    /// The options make no sense, whatever the machine.
    pub fn usage(sentence: String) -> Self {
        Self {
            why: Why::Usage,
            sentence,
        }
    }
    /// The options make sense, but the server declines, for example because another one has locked the store.
    pub fn refused(sentence: String) -> Self {
        Self {
            why: Why::Refused,
            sentence,
        }
    }
    /// The operating system did not do what was needed.
    pub fn failed(sentence: String) -> Self {
        Self {
            why: Why::Failed,
            sentence,
        }
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.sentence)
    }
}

impl std::error::Error for ServeError {}
