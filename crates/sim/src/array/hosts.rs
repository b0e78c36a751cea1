//! Host models: what each step costs a processor, from `models/host-*.toml`, each number with its range and source.

use super::machine::HostCosts;
use seekwise_host::cpu::scheduler_cost;
use seekwise_units::Nanos;
use serde::Deserialize;
use serde_json::{json, Value};
use std::collections::BTreeMap;

const SHIPPED: [&str; 4] = [
    include_str!("../../../../models/host-recording.toml"),
    include_str!("../../../../models/host-opteron-2212.toml"),
    include_str!("../../../../models/host-i7-6700k.toml"),
    include_str!("../../../../models/host-i7-1165g7.toml"),
];

/// What each number is the time of.
const STEPS: [(&str, &str); 13] = [
    ("user", "the program's own work a call"),
    ("call", "entry and exit of a system call"),
    ("page_copy", "finding a page of 4 KiB and copying it"),
    ("page_add", "allocating a page and adding it to the cache"),
    (
        "page_write",
        "the file system's work for a page written: journal handle, block, buffer",
    ),
    (
        "page_send",
        "finding a dirty page and making it ready to be sent",
    ),
    ("page_end", "each page that ends with a request"),
    (
        "page_pin",
        "pinning a page of the caller for a direct request",
    ),
    ("bio", "making a bio, merging it or making a request of it"),
    (
        "md_bio",
        "md's part of a bio: looking it up, choosing a copy, cloning it",
    ),
    ("port_command", "giving a command to an on-board SATA port"),
    ("interrupt", "interrupt and completion of a request"),
    ("switch", "waking a process and switching to it"),
];
/// Not a time but a factor on the published cost of a scheduler's functions per request.
const FACTOR: &str = "scheduler_factor";
/// A millisecond a step, or a hundred times the published processor: beyond that it is no host.
const STEP_NS_MAX: f64 = 1e6;
const FACTOR_MAX: f64 = 100.0;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostModel {
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub aliases: Vec<String>,
    pub processors: u32,
    scheduler_factor: Factor,
    nanoseconds: BTreeMap<String, Number>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Factor {
    value: f64,
    range: [f64; 2],
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Number {
    value: u64,
    range: [u64; 2],
    source: String,
    confidence: String,
}

impl HostModel {
    pub fn parse(text: &str) -> Result<Self, String> {
        let model: Self =
            toml::from_str(text).map_err(|error| format!("a host model: {}", error.message()))?;
        for (name, number) in &model.nanoseconds {
            let [least, most] = number.range;
            if !(least..=most).contains(&number.value)
                || number.source.is_empty()
                || number.confidence.is_empty()
            {
                return Err(format!(
                    "host {}: {name} is {} ns, without source or outside {least} to {most} ns",
                    model.id, number.value
                ));
            }
        }
        let [least, most] = model.scheduler_factor.range;
        if !(least..=most).contains(&model.scheduler_factor.value) {
            return Err(format!(
                "host {}: scheduler_factor is out of range",
                model.id
            ));
        }
        Ok(model)
    }

    pub fn shipped(name: &str) -> Result<Self, String> {
        let wanted = name.to_lowercase();
        SHIPPED
            .iter()
            .map(|text| Self::parse(text).expect("shipped models are checked by a test"))
            .find(|model| model.id == wanted || model.aliases.contains(&wanted))
            .ok_or_else(|| format!("there is no host model {name}"))
    }

    pub fn ids() -> Vec<String> {
        SHIPPED
            .iter()
            .map(|text| {
                Self::parse(text)
                    .expect("shipped models are checked by a test")
                    .id
            })
            .collect()
    }

    /// Another number than the model's own; its own range does not bind, what can be at all does.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), String> {
        let most = if name == FACTOR {
            FACTOR_MAX
        } else {
            STEP_NS_MAX
        };
        if !(0.0..=most).contains(&value) {
            return Err(format!(
                "`{name}` of host {} is {value}; it must lie between 0 and {most}",
                self.id
            ));
        }
        if name == FACTOR {
            self.scheduler_factor.value = value;
            return Ok(());
        }
        match self.nanoseconds.get_mut(name) {
            Some(number) => number.value = value.round() as u64,
            None => return Err(format!("host {} has no parameter `{name}`", self.id)),
        }
        Ok(())
    }

    /// Id, name and every number with unit, meaning, range and source, in the form of the other models.
    pub fn document(&self) -> Value {
        let mut parameters: BTreeMap<&str, Value> = STEPS
            .iter()
            .filter_map(|&(name, meaning)| {
                let number = self.nanoseconds.get(name)?;
                let [lo, hi] = number.range;
                let row = json!({
                    "value": number.value, "unit": "ns", "lo": lo, "hi": hi, "meaning": meaning,
                    "source": number.source, "confidence": number.confidence,
                });
                Some((name, row))
            })
            .collect();
        let Factor { value, range } = &self.scheduler_factor;
        let row = json!({
            "value": value, "unit": "1", "lo": range[0], "hi": range[1],
            "meaning": "a scheduler's functions per request, against the published ones",
            "source": "Intel i7-2760QM in the kernel's documentation of BFQ, 6.1", "confidence": "low",
        });
        parameters.insert(FACTOR, row);
        json!({"id": self.id, "name": self.name, "processors": self.processors, "parameters": parameters})
    }

    /// `scheduler`: whose functions each request passes.
    pub fn costs(&self, scheduler: &str) -> Result<HostCosts, String> {
        let of = |name: &str| {
            self.nanoseconds
                .get(name)
                .map(|number| Nanos(number.value))
                .ok_or_else(|| format!("host {} does not say {name}", self.id))
        };
        let own = scheduler_cost(scheduler).0 as f64 * self.scheduler_factor.value;
        Ok(HostCosts {
            user: of("user")?,
            call: of("call")?,
            page_copy: of("page_copy")?,
            page_add: of("page_add")?,
            bio: of("bio")?,
            md_bio: of("md_bio").unwrap_or(Nanos::ZERO),
            port_command: of("port_command").unwrap_or(Nanos::ZERO),
            scheduler: Nanos(own as u64),
            interrupt: of("interrupt")?,
            page_end: of("page_end")?,
            switch: of("switch")?,
            page_pin: of("page_pin")?,
            page_write: of("page_write")?,
            page_send: of("page_send")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_host_is_whole() {
        for text in SHIPPED {
            let model = HostModel::parse(text).unwrap();
            assert!(model.processors >= 1);
            model.costs("cfq").unwrap();
            for name in model.nanoseconds.keys() {
                assert!(
                    STEPS.iter().any(|step| step.0 == name),
                    "{}: {name}",
                    model.id
                );
            }
            assert_eq!(HostModel::shipped(&model.id).unwrap().name, model.name);
        }
    }

    #[test]
    fn the_recordings_processor_is_that_of_the_rates() {
        let costs = HostModel::shipped("recording")
            .unwrap()
            .costs("noop")
            .unwrap();
        let default = HostCosts::default();
        assert_eq!(costs.page_write, default.page_write);
        assert_eq!(costs.interrupt, default.interrupt);
        let modern = HostModel::shipped("i7_6700k")
            .unwrap()
            .costs("noop")
            .unwrap();
        assert_eq!(modern.call, HostCosts::modern().call);
    }

    #[test]
    fn a_number_can_be_another_one_within_reason() {
        let mut model = HostModel::shipped("opteron_2212").unwrap();
        let usual = model.costs("cfq").unwrap();
        model.set("page_write", 9600.0).unwrap();
        model.set("scheduler_factor", 2.8).unwrap();
        let costs = model.costs("cfq").unwrap();
        assert_eq!(costs.page_write, Nanos(9600));
        assert_eq!(costs.scheduler.0, 2 * usual.scheduler.0);
        assert_eq!(model.document()["parameters"]["page_write"]["hi"], 9600);
        for (name, value) in [("page_write", -1.0), ("page_write", 1e7), ("abacus", 1.0)] {
            assert!(model.set(name, value).unwrap_err().contains(name));
        }
    }

    #[test]
    fn a_number_outside_its_range_is_refused() {
        let text = SHIPPED[0].replace("call = { value = 400", "call = { value = 4");
        assert!(HostModel::parse(&text)
            .unwrap_err()
            .contains("call is 4 ns"));
        assert!(HostModel::shipped("abacus").is_err());
    }
}
