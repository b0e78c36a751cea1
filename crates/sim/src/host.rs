//! What a request costs the host's processor, by direction, size and scheduler.
//!
//! Either a few numbers of the cell's own, the same for every request ([`CpuCost`]), or a host model: `models/host-laboratory.toml` is the
//! guest of `seekwise lab`, whose costs were measured in it, kernel by kernel.
//!
//! An array's members each cost their own request ([`crate::served`]), and md its own work; the operation on the array costs the call.

use crate::array::md::MdCosts;
use crate::buffered::CacheCost;
use crate::served::{Service, Services};
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

/// Nanoseconds of md ([`MdCosts`]), and of a page.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Md {
    /// Of a request's submit and complete together, what the call costs however many requests md makes of it.
    call: Number,
    /// An operation goes through md.
    bio: Number,
    /// More for a read of a member under a scheduler, which is handed out by a thread of the kernel's: one waking for each, where those of one
    /// drive are found together.
    run: Number,
    run_behind: Number,
    stripe: Number,
    request: Number,
    switch: Number,
    xor_page: Number,
    syndrome_page: Number,
    copy_page: Number,
}

impl Md {
    fn numbers(&self) -> [&Number; 10] {
        [
            &self.call,
            &self.bio,
            &self.run,
            &self.run_behind,
            &self.stripe,
            &self.request,
            &self.switch,
            &self.xor_page,
            &self.syndrome_page,
            &self.copy_page,
        ]
    }

    fn costs(&self) -> MdCosts {
        let rate = |page: &Number| PAGE_BYTES / page.value * 1e9;
        MdCosts {
            xor_bytes_per_s: rate(&self.xor_page),
            syndrome_bytes_per_s: rate(&self.syndrome_page),
            copy_bytes_per_s: rate(&self.copy_page),
            stripe: Nanos(self.stripe.value as u64),
            request: Nanos(self.request.value as u64),
            switch: Nanos(self.switch.value as u64),
        }
    }
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
    /// Measured under one kernel, taken for all.
    md: Md,
    kernel: Vec<Measured>,
}

/// A model's host under one kernel and scheduler.
#[derive(Clone, Debug)]
pub struct Host {
    kernel: Measured,
    md: Md,
    scheduler: String,
}

/// What each operation of a cell costs.
#[derive(Clone, Debug)]
pub enum HostCost {
    Same(CpuCost),
    Measured(Box<Host>),
    /// The same over an array whose members cost their own requests.
    Array(Box<Host>),
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
        Ok(Self::Measured(Box::new(Host {
            kernel: measured,
            md: model.md,
            scheduler: scheduler.to_owned(),
        })))
    }

    /// Over an array: what its members' requests cost, where that was measured, and what is left for the operation.
    pub fn over_members(self) -> (Self, Option<Services>) {
        match self {
            Self::Measured(host) => {
                let services = host.services();
                (Self::Array(host), Some(services))
            }
            same => (same, None),
        }
    }

    /// Whether requests are paid for by an array's members.
    pub fn by_member(&self) -> bool {
        matches!(self, Self::Array(..))
    }

    /// Of md, where that was measured.
    pub fn md(&self) -> Option<MdCosts> {
        match self {
            Self::Measured(host) | Self::Array(host) => Some(host.md.costs()),
            Self::Same(_) => None,
        }
    }

    /// Of an operation that is a read with probability `reads` and has so many pages.
    fn operation(&self, reads: f64, pages: f64) -> CpuCost {
        match self {
            Self::Same(cost) => *cost,
            Self::Measured(host) => host.kernel.operation(&host.scheduler, reads, pages),
            Self::Array(host) => host.call(),
        }
    }

    /// Of a job's operations; where it mixes reads and writes, of the mean one.
    pub fn of_job(&self, job: &JobSpec) -> CpuCost {
        let reads = job.read_percent.unwrap_or(100.0) / 100.0;
        self.operation(reads, job.block_bytes as f64 / PAGE_BYTES)
    }

    /// Of one request.
    pub fn request(&self, read: bool, pages: f64) -> CpuCost {
        self.operation(f64::from(u8::from(read)), pages)
    }

    /// Of the page cache.
    pub fn cache(&self) -> CacheCost {
        match self {
            Self::Measured(host) | Self::Array(host) => {
                let cache = &host.kernel.cache;
                cache.map_or_else(CacheCost::default, |c| c.cost())
            }
            Self::Same(_) => CacheCost::default(),
        }
    }

    /// Requests of a queue when its disk was made, if the host's driver says so: what write-back throttling counts with.
    pub fn tags(&self) -> Option<u32> {
        match self {
            Self::Measured(host) | Self::Array(host) => Some(host.kernel.tags.value as u32),
            Self::Same(_) => None,
        }
    }

    /// Of requests that are not known beforehand: a read of a page.
    pub fn usual(&self) -> CpuCost {
        self.operation(1.0, 1.0)
    }
}

impl Host {
    /// Of an operation through md, whose requests are paid for by themselves.
    fn call(&self) -> CpuCost {
        let half = Nanos((self.md.call.value / 2.0) as u64);
        CpuCost {
            user: Nanos(self.kernel.user.value as u64),
            submit: half + Nanos(self.md.bio.value as u64),
            interrupt: half,
            wake: Nanos::ZERO,
            scheduler: Nanos::ZERO,
            behind: Nanos::ZERO,
        }
    }

    /// Of a member's requests: all but the call.
    fn services(&self) -> Services {
        let half = self.md.call.value / 2.0;
        let service = |of: &Request| {
            let more = of
                .scheduler
                .get(&self.scheduler)
                .map_or(0.0, |more| more.value);
            let ns = |value: f64| Nanos(value.max(0.0) as u64);
            Service {
                send: ns(of.submit.value - half + more),
                send_page: ns(of.submit_page.value),
                receive: ns(of.complete.value - half),
                receive_page: ns(of.complete_page.value),
                behind: ns(of.behind.value),
                behind_page: ns(of.behind_page.value),
            }
        };
        let mut read = service(&self.kernel.read);
        if self.scheduler != "none" {
            read.send += Nanos(self.md.run.value as u64);
            read.behind += Nanos(self.md.run_behind.value as u64);
        }
        Services {
            read,
            write: service(&self.kernel.write),
        }
    }
}

impl Measured {
    fn operation(&self, scheduler: &str, reads: f64, pages: f64) -> CpuCost {
        let writes = 1.0 - reads;
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
    let numbers = model.kernel.iter().flat_map(Measured::numbers);
    if let Some(wrong) = numbers.chain(model.md.numbers()).find(out) {
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
    fn over_an_array_call_and_request_are_what_an_operation_on_a_drive_is() {
        for scheduler in ["none", "bfq"] {
            let single = laboratory(scheduler);
            let cost = single.operation(1.0, 4.0);
            let (array, services) = single.over_members();
            let call = array.operation(1.0, 4.0);
            let read = services.unwrap().read;
            let request =
                read.send.0 + read.receive.0 + 4 * (read.send_page.0 + read.receive_page.0);
            let whole = (cost.to_submit() + cost.to_return()).0;
            let through_md = (call.to_submit() + call.to_return()).0 + request - whole;
            let (most, behind) = if scheduler == "none" {
                (3_000, 0)
            } else {
                (6_000, 6_000)
            };
            assert!((2_000..=most).contains(&through_md), "{through_md}");
            assert_eq!(
                read.behind.0 + 4 * read.behind_page.0,
                cost.behind.0 + behind
            );
        }
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
