//! Host models: what each step costs a processor, from `models/host-*.toml`, each number with its range and source.

use super::machine::HostCosts;
use seekwise_host::cpu::scheduler_cost;
use seekwise_units::Nanos;
use serde::Deserialize;
use std::collections::BTreeMap;

const SHIPPED: [&str; 4] = [
    include_str!("../../../../models/host-recording.toml"),
    include_str!("../../../../models/host-opteron-2212.toml"),
    include_str!("../../../../models/host-i7-6700k.toml"),
    include_str!("../../../../models/host-i7-1165g7.toml"),
];

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
    fn a_number_outside_its_range_is_refused() {
        let text = SHIPPED[0].replace("call = { value = 400", "call = { value = 4");
        assert!(HostModel::parse(&text)
            .unwrap_err()
            .contains("call is 4 ns"));
        assert!(HostModel::shipped("abacus").is_err());
    }
}
