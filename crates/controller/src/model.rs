//! A controller model: named numbers, each a fact, an assumption with its range, or set from a published observation.

use crate::controller::{Controller, Setup};
use crate::mapping::{Level, Mapping};
use seekwise_device::{Drive, Model as DriveModel, ModelError};
use seekwise_units::{Bytes, Nanos, Sectors};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The files `models/controller-*.toml`, by id.
const SHIPPED: &[(&str, &str)] = seekwise_models::CONTROLLERS;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ControllerKind {
    /// A processor and memory of its own.
    Hardware,
    /// Ports and a BIOS; the driver does the rest on the host.
    Fake,
}

/// What a number rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Printed by the maker, a driver, or somebody who looked.
    Fact,
    /// Worked out from facts.
    Derived,
    /// Believed; has a range.
    Assumption,
    /// Chosen so that a published observation comes out; agreeing with that one proves nothing.
    Set,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    pub value: f64,
    pub unit: String,
    pub basis: Basis,
    pub source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lo: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hi: Option<f64>,
    /// Observation that the number was set from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation: Option<String>,
}

/// Something known that is no number.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    pub value: String,
    pub source: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    pub id: String,
    pub name: String,
    pub kind: ControllerKind,
    #[serde(default)]
    pub aliases: Vec<String>,
    #[serde(default)]
    pub notes: Vec<String>,
    #[serde(default)]
    pub facts: BTreeMap<String, Fact>,
    pub parameters: BTreeMap<String, Parameter>,
}

/// Key, unit, least and most. Every model states all of them.
const RULES: &[(&str, &str, f64, f64)] = &[
    ("ports", "ports", 1.0, 256.0),
    ("queue_depth", "commands", 1.0, 4096.0),
    ("command_kib", "KiB", 4.0, 4096.0),
    ("command_us", "us", 0.0, 10_000.0),
    ("bus_to_host_mb_s", "MB/s", 1.0, 100_000.0),
    ("bus_from_host_mb_s", "MB/s", 1.0, 100_000.0),
    ("bus_half_duplex", "0 or 1", 0.0, 1.0),
    ("port_mb_s", "MB/s", 1.0, 10_000.0),
    ("cache_mib", "MiB", 0.0, 65_536.0),
    ("write_back", "0 or 1", 0.0, 1.0),
    ("battery", "0 or 1", 0.0, 1.0),
    ("dirty_percent", "% of the cache", 1.0, 100.0),
    ("destage_delay_ms", "ms", 0.0, 100_000.0),
    ("chunk_kib", "KiB", 4.0, 4096.0),
    ("xor_mb_s", "MB/s", 1.0, 1_000_000.0),
    ("read_ahead_kib", "KiB of each stream", 0.0, 65_536.0),
    ("mirror_section_kib", "KiB", 0.0, 1_048_576.0),
    ("ncq", "0 or 1", 0.0, 1.0),
];

/// What a study may choose; the model's own where absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Choices {
    /// NCQ of the drives (3ware: `qpolicy`).
    pub ncq: Option<bool>,
    pub write_back: Option<bool>,
    pub battery: Option<bool>,
    pub read_ahead_kib: Option<u64>,
    pub chunk_kib: Option<u64>,
}

impl Model {
    /// Every model that comes with the program, read once.
    pub fn all() -> &'static [Self] {
        static ALL: LazyLock<Vec<Model>> = LazyLock::new(|| {
            let texts = SHIPPED.iter();
            texts
                .map(|(_, text)| Model::parse(text).expect("shipped models are checked by a test"))
                .collect()
        });
        &ALL
    }

    /// A model that comes with the program, by id or another of its names.
    pub fn shipped(name: &str) -> Result<Self, ModelError> {
        let wanted = plain(name);
        let mut known = vec![];
        for model in Self::all() {
            let mut names = core::iter::once(&model.id).chain(&model.aliases);
            if names.any(|one| plain(one) == wanted) {
                return Ok(model.clone());
            }
            known.push(model.id.as_str());
        }
        Err(ModelError(format!(
            "no controller model is called `{name}`; there are {}",
            known.join(", ")
        )))
    }

    /// Reads a model from TOML and checks each number against its range. The error is one sentence.
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        let model: Self = toml::from_str(text).map_err(|error| {
            ModelError(format!(
                "the controller model cannot be read: {}",
                error.to_string().trim()
            ))
        })?;
        model.check()?;
        Ok(model)
    }

    fn check(&self) -> Result<(), ModelError> {
        let refuse = |what: String| {
            Err(ModelError(format!(
                "controller model `{}`: {what}",
                self.id
            )))
        };
        for (key, parameter) in &self.parameters {
            let Some(&(_, unit, lo, hi)) = RULES.iter().find(|rule| rule.0 == key) else {
                return refuse(format!("there is no parameter `{key}`"));
            };
            if !(lo..=hi).contains(&parameter.value) {
                return refuse(format!(
                    "`{key}` is {} {unit}; it must lie between {lo} and {hi}",
                    parameter.value
                ));
            }
            let range = parameter.lo.zip(parameter.hi);
            match parameter.basis {
                Basis::Assumption | Basis::Set if range.is_none() => {
                    return refuse(format!("`{key}` is no fact and has no range"));
                }
                Basis::Set if parameter.observation.is_none() => {
                    return refuse(format!("`{key}` is set and names no observation"));
                }
                _ => {}
            }
            if range.is_some_and(|(lo, hi)| !(lo..=hi).contains(&parameter.value)) {
                return refuse(format!("`{key}` lies outside its own range"));
            }
            if range.is_some_and(|(least, most)| least < lo || most > hi) {
                return refuse(format!(
                    "the range of `{key}` reaches beyond {lo} to {hi} {unit}, what can be at all"
                ));
            }
        }
        for (key, unit, ..) in RULES {
            if !self.parameters.contains_key(*key) {
                return refuse(format!("it lacks `{key}` ({unit})"));
            }
        }
        Ok(())
    }

    /// Value of the parameter `key` in its own unit; panics for a key that no model has.
    pub fn get(&self, key: &str) -> f64 {
        self.parameters[key].value
    }

    /// Another value than the model's own; its own range does not bind, what can be at all does.
    pub fn set(&mut self, key: &str, value: f64) -> Result<(), ModelError> {
        let refuse = |what: String| {
            Err(ModelError(format!(
                "controller model `{}`: {what}",
                self.id
            )))
        };
        let Some(&(_, unit, lo, hi)) = RULES.iter().find(|rule| rule.0 == key) else {
            return refuse(format!("there is no parameter `{key}`"));
        };
        if !(lo..=hi).contains(&value) {
            return refuse(format!(
                "`{key}` is {value} {unit}; it must lie between {lo} and {hi}"
            ));
        }
        match self.parameters.get_mut(key) {
            Some(parameter) => parameter.value = value,
            None => return refuse(format!("it lacks `{key}` ({unit})")),
        }
        Ok(())
    }

    fn is(&self, key: &str) -> bool {
        self.get(key) != 0.0
    }

    /// A controller with a unit of `drives` of a model on it. `member`: the part of each drive in use; `instance`: of the first drive.
    pub fn build(
        &self,
        level: Level,
        drive: &DriveModel,
        drives: u32,
        member: Option<Sectors>,
        instance: u32,
        choices: &Choices,
    ) -> Result<Controller, ModelError> {
        let ports = self.get("ports") as u32;
        if drives > ports {
            return Err(ModelError(format!(
                "{} has {ports} ports, too few for {drives} drives",
                self.name
            )));
        }
        let mut drive = drive.clone();
        // The slower end of the cable decides.
        for key in ["interface_mb_s", "link_mb_s"] {
            if drive.known_parameters().any(|known| known.0 == key) {
                let slower = drive.get(key).min(self.get("port_mb_s"));
                drive.set(key, slower)?;
            }
        }
        let built = (0..drives)
            .map(|place| Drive::new(&drive, instance.wrapping_add(place)))
            .collect::<Result<Vec<_>, _>>()?;
        let own = seekwise_device::Device::capacity(&built[0]);
        let chunk = choices.chunk_kib.unwrap_or(self.get("chunk_kib") as u64);
        let member = member.unwrap_or(own).min(own);
        let mapping =
            Mapping::new(level, drives, Sectors::from_kib(chunk), member).map_err(ModelError)?;
        let ncq = choices.ncq.unwrap_or(self.is("ncq"));
        let cache = Bytes::from_mib(self.get("cache_mib") as u64);
        let setup = Setup {
            depth: self.get("queue_depth") as u32,
            sectors_max: Sectors::from_kib(self.get("command_kib") as u64),
            per_command: Nanos((self.get("command_us") * 1e3) as u64),
            to_host_bytes_per_second: self.get("bus_to_host_mb_s") * 1e6,
            from_host_bytes_per_second: self.get("bus_from_host_mb_s") * 1e6,
            half_duplex: self.is("bus_half_duplex"),
            cache,
            write_back: choices.write_back.unwrap_or(self.is("write_back")) && cache.0 > 0,
            dirty_percent: self.get("dirty_percent") as u32,
            destage_delay: Nanos((self.get("destage_delay_ms") * 1e6) as u64),
            heeds_flush: !choices.battery.unwrap_or(self.is("battery")),
            read_ahead: if cache.0 > 0 {
                let own = self.get("read_ahead_kib") as u64;
                Sectors::from_kib(choices.read_ahead_kib.unwrap_or(own))
            } else {
                Sectors(0)
            },
            mirror_section: Sectors::from_kib(self.get("mirror_section_kib") as u64),
            xor_bytes_per_second: self.get("xor_mb_s") * 1e6,
            on_host: self.kind == ControllerKind::Fake,
            drive_depth: if ncq { u32::MAX } else { 1 },
        };
        Ok(Controller::new(setup, mapping, built))
    }
}

/// Names are compared without case, spaces and signs.
fn plain(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_model_is_whole_and_says_what_each_number_rests_on() {
        for (_, text) in SHIPPED {
            let model = Model::parse(text).unwrap();
            assert_eq!(Model::shipped(&model.id).unwrap().id, model.id);
            let set = model
                .parameters
                .values()
                .filter(|one| one.basis == Basis::Set)
                .count();
            assert!(set <= 3, "{} has {set} numbers set from results", model.id);
        }
    }

    #[test]
    fn the_names_of_the_published_studies_are_understood() {
        for (name, id) in [
            ("9550SXU-8LP", "3ware_9550sxu_8lp"),
            ("9650-2LP", "3ware_9650se_2lp"),
            ("9650-4LP", "3ware_9650se_4lpml"),
            ("9650SE-4LPML", "3ware_9650se_4lpml"),
        ] {
            assert_eq!(Model::shipped(name).unwrap().id, id);
        }
    }

    #[test]
    fn what_is_wrong_with_a_model_is_one_sentence() {
        let (_, good) = SHIPPED[1];
        for (old, new) in [
            ("queue_depth", "depth_of_queue"),
            ("value = 254", "value = 0"),
            ("basis = \"set\"", "basis = \"guess\""),
            ("observation = ", "unit = "),
            ("lo = 40", "lo = 100"),
        ] {
            assert!(good.contains(old), "{old}");
            assert!(Model::parse(&good.replacen(old, new, 1)).is_err(), "{new}");
        }
        assert!(Model::shipped("9999").unwrap_err().0.contains("3ware"));
    }

    #[test]
    fn a_unit_with_more_drives_than_ports_is_refused() {
        let model = Model::shipped("9650SE-2LP").unwrap();
        let drive = DriveModel::shipped("wd2500ys").unwrap();
        let built =
            |level, drives| model.build(level, &drive, drives, None, 0, &Choices::default());
        assert!(built(Level::Raid1, 2).is_ok());
        assert!(built(Level::Raid5, 3).unwrap_err().0.contains("2 ports"));
    }
}
