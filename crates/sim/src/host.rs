//! What a request costs the host's processor, by direction, size and scheduler.
//!
//! Either a few numbers of the cell's own, the same for every request ([`CpuCost`]), or a host model: `models/host-laboratory.toml` is the
//! guest of `seekwise lab`, whose costs were measured in it, kernel by kernel.
//!
//! Not modelled:  an array's members each cost their own request; it is the operation on the array that is paid for.

use crate::buffered::CacheCost;
use crate::spec::{HostSpec, JobSpec};
use seekwise_host::cpu::CpuCost;
use seekwise_sched::Kernel;
use seekwise_units::Nanos;
use serde::Deserialize;
use std::collections::BTreeMap;

const SHIPPED: [&str; 1] = [include_str!("../../../models/host-laboratory.toml")];
const PAGE_BYTES: f64 = 4096.0;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Number {
    value: f64,
    range: [f64; 2],
}

/// Nanoseconds of one request in one direction.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// Until the drive has it, and from the drive's end until the program goes on: without its pages, and for each page of 4 KiB.
    submit: Number,
    submit_page: Number,
    complete: Number,
    complete_page: Number,
    /// The drive's own work on the same processor while the request is under way.
    behind: Number,
    behind_page: Number,
    /// More than without a scheduler, by its name.
    scheduler: BTreeMap<String, Number>,
}

/// A host as it was measured under one kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    series: String,
    /// The program's own work per operation.
    user: Number,
    /// Requests of a queue when its disk was made.
    tags: Number,
    read: Request,
    write: Request,
    cache: Option<Cache>,
}

/// Nanoseconds of the page cache.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cache {
    call: Number,
    read_page: Number,
    new_page: Number,
    write_page: Number,
    flush_page: Number,
    clean_page: Number,
    reclaim_page: Number,
}

impl Cache {
    fn cost(&self) -> CacheCost {
        let [call, read_page, new_page, write_page, flush_page, clean_page, reclaim_page] =
            self.numbers().map(|number| number.value as u64);
        CacheCost {
            call,
            read_page,
            new_page,
            write_page,
            flush_page,
            clean_page,
            reclaim_page,
        }
    }

    fn numbers(&self) -> [&Number; 7] {
        [
            &self.call,
            &self.read_page,
            &self.new_page,
            &self.write_page,
            &self.flush_page,
            &self.clean_page,
            &self.reclaim_page,
        ]
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    id: String,
    name: String,
    source: String,
    confidence: String,
    kernel: Vec<Measured>,
}

/// What each operation of a cell costs.
#[derive(Clone, Debug)]
pub enum HostCost {
    Same(CpuCost),
    /// By the scheduler's name; a write goes to so many copies.
    Measured(Box<Measured>, String, u32),
}

impl HostCost {
    /// `own` is what the cell says by itself, or the default.
    pub fn of(
        spec: &HostSpec,
        kernel: &Kernel,
        scheduler: &str,
        own: CpuCost,
    ) -> Result<Self, String> {
        let Some(name) = &spec.model else {
            return Ok(Self::Same(own));
        };
        let costs = [
            spec.user_ns,
            spec.submit_ns,
            spec.interrupt_ns,
            spec.wake_ns,
            spec.scheduler_ns,
        ];
        if costs.iter().any(Option::is_some) {
            return Err(format!(
                "host model {name} says what a request costs, so no other costs can be given"
            ));
        }
        let model = shipped(name)?;
        let series = format!("{}.{}", kernel.version.0, kernel.version.1);
        let known: Vec<String> = model.kernel.iter().map(|k| k.series.clone()).collect();
        let measured = model
            .kernel
            .into_iter()
            .find(|kernel| kernel.series == series)
            .ok_or_else(|| {
                format!(
                    "host model {name} was measured under kernels {}, not {series}",
                    known.join(", ")
                )
            })?;
        Ok(Self::Measured(Box::new(measured), scheduler.to_owned(), 1))
    }

    /// The same where each write goes to so many drives, one after the other through the same processor.
    pub fn mirrored(self, copies: u32) -> Self {
        match self {
            Self::Measured(host, scheduler, _) => Self::Measured(host, scheduler, copies),
            same => same,
        }
    }

    /// Of an operation that is a read with probability `reads` and has so many pages.
    fn operation(&self, reads: f64, pages: f64) -> CpuCost {
        match self {
            Self::Same(cost) => *cost,
            Self::Measured(host, scheduler, _) => host.operation(scheduler, reads, pages, 1),
        }
    }

    /// Of a job's operations; where it mixes reads and writes, of the mean one.
    pub fn of_job(&self, job: &JobSpec) -> CpuCost {
        let reads = job.read_percent.unwrap_or(100.0) / 100.0;
        let pages = job.block_bytes as f64 / PAGE_BYTES;
        match self {
            Self::Measured(host, scheduler, copies) => {
                host.operation(scheduler, reads, pages, *copies)
            }
            Self::Same(_) => self.operation(reads, pages),
        }
    }

    /// Of one request.
    pub fn request(&self, read: bool, pages: f64) -> CpuCost {
        self.operation(f64::from(u8::from(read)), pages)
    }

    /// Of the page cache.
    pub fn cache(&self) -> CacheCost {
        match self {
            Self::Measured(host, ..) => host.cache.map_or_else(CacheCost::default, |c| c.cost()),
            Self::Same(_) => CacheCost::default(),
        }
    }

    /// Requests of a queue when its disk was made, if the host's driver says so: what write-back throttling counts with.
    pub fn tags(&self) -> Option<u32> {
        match self {
            Self::Measured(host, ..) => Some(host.tags.value as u32),
            Self::Same(_) => None,
        }
    }

    /// Of requests that are not known beforehand: a read of a page.
    pub fn usual(&self) -> CpuCost {
        self.operation(1.0, 1.0)
    }
}

impl Measured {
    fn operation(&self, scheduler: &str, reads: f64, pages: f64, copies: u32) -> CpuCost {
        let writes = (1.0 - reads) * f64::from(copies);
        let both = |of: &dyn Fn(&Request) -> f64| {
            Nanos((reads * of(&self.read) + writes * of(&self.write)) as u64)
        };
        CpuCost {
            user: Nanos(self.user.value as u64),
            submit: both(&|r| r.submit.value + pages * r.submit_page.value),
            interrupt: both(&|r| r.complete.value + pages * r.complete_page.value),
            wake: Nanos::ZERO,
            scheduler: both(&|r| r.scheduler.get(scheduler).map_or(0.0, |more| more.value)),
            behind: both(&|r| r.behind.value + pages * r.behind_page.value),
        }
    }

    fn numbers(&self) -> impl Iterator<Item = &Number> {
        [&self.read, &self.write]
            .into_iter()
            .flat_map(|r| {
                [
                    &r.submit,
                    &r.submit_page,
                    &r.complete,
                    &r.complete_page,
                    &r.behind,
                    &r.behind_page,
                ]
                .into_iter()
                .chain(r.scheduler.values())
            })
            .chain([&self.user, &self.tags])
            .chain(self.cache.iter().flat_map(Cache::numbers))
    }
}

fn parse(text: &str) -> Result<Model, String> {
    let model: Model =
        toml::from_str(text).map_err(|error| format!("a host model: {}", error.message()))?;
    let out = |n: &&Number| !(n.range[0] >= 0.0 && n.value >= n.range[0] && n.value <= n.range[1]);
    if let Some(wrong) = model.kernel.iter().flat_map(Measured::numbers).find(out) {
        return Err(format!(
            "host {}: {} ns is outside {} to {} ns",
            model.id, wrong.value, wrong.range[0], wrong.range[1]
        ));
    }
    for (field, text) in [
        ("name", &model.name),
        ("source", &model.source),
        ("confidence", &model.confidence),
    ] {
        if text.is_empty() {
            return Err(format!("host {}: {field} is empty", model.id));
        }
    }
    Ok(model)
}

fn shipped(name: &str) -> Result<Model, String> {
    let known = SHIPPED.map(|text| parse(text).expect("shipped models are checked by a test"));
    let names = known.each_ref().map(|model| model.id.clone()).join(", ");
    known
        .into_iter()
        .find(|model| model.id == name)
        .ok_or_else(|| format!("there is no host model \"{name}\" (known for cells: {names})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laboratory(scheduler: &str) -> HostCost {
        let kernel = Kernel::parse("6.1", 250).unwrap();
        let spec = HostSpec {
            model: Some("laboratory".to_owned()),
            ..HostSpec::default()
        };
        HostCost::of(&spec, &kernel, scheduler, CpuCost::default()).unwrap()
    }

    fn turnaround(host: &HostCost, reads: f64, pages: f64) -> u64 {
        let cost = host.operation(reads, pages);
        (cost.to_submit() + cost.to_return()).0
    }

    #[test]
    fn a_write_costs_the_laboratory_more_with_each_page_than_a_read() {
        let host = laboratory("none");
        let page = |reads| turnaround(&host, reads, 2.0) - turnaround(&host, reads, 1.0);
        assert!(page(0.0) > 3 * page(1.0), "{} {}", page(0.0), page(1.0));
        assert!(turnaround(&laboratory("bfq"), 1.0, 1.0) > turnaround(&host, 1.0, 1.0));
    }

    #[test]
    fn a_mirrored_write_costs_as_much_for_each_copy_and_a_read_as_before() {
        let submit = |host: &HostCost, percent: f64| {
            let job = serde_json::json!({
                "pattern": "random", "block_bytes": 131_072, "ios": 1, "read_percent": percent
            });
            host.of_job(&serde_json::from_value(job).unwrap()).submit.0
        };
        let (one, two) = (laboratory("none"), laboratory("none").mirrored(2));
        assert_eq!(submit(&two, 0.0), 2 * submit(&one, 0.0));
        assert_eq!(submit(&two, 100.0), submit(&one, 100.0));
    }

    #[test]
    fn a_mixed_job_lies_between_reads_and_writes() {
        let host = laboratory("kyber");
        let [read, half, write] = [1.0, 0.5, 0.0].map(|reads| turnaround(&host, reads, 4.0));
        assert!(read < half && half < write);
        assert!(2 * half - read - write <= 4);
    }

    #[test]
    fn what_is_not_measured_or_contradicts_is_one_sentence() {
        let refuse = |model: &str, kernel: &str, user_ns| {
            let kernel = Kernel::parse(kernel, 250).unwrap();
            let spec = HostSpec {
                model: Some(model.to_owned()),
                user_ns,
                ..HostSpec::default()
            };
            HostCost::of(&spec, &kernel, "none", CpuCost::default()).unwrap_err()
        };
        assert!(refuse("laboratory", "4.19", None).contains("not 4.19"));
        assert!(refuse("abacus", "6.1", None).contains("abacus"));
        assert!(refuse("laboratory", "6.1", Some(1)).contains("no other costs"));
        let wrong = SHIPPED[0].replacen("value = ", "value = 9", 1);
        assert!(parse(&wrong).unwrap_err().contains("outside"));
    }
}
