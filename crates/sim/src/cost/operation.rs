//! What a request costs the host's processor, by direction, size and scheduler.
//!
//! Either a few numbers of the trial's own, the same for every request ([`CpuCost`]), or a host model: `models/host-laboratory.toml` is the
//! guest of `seekwise lab`, whose costs were measured in it, kernel by kernel.
//!
//! An array's members each cost their own request ([`crate::storage::served`]), and md its own work; the operation on the array costs the call.

use crate::cost::model::{Cache, Md, Measured, Number, Request};
use crate::cost::{CacheCost, HostModel, MdCosts, Service, Services};
use crate::spec::{HostSpec, JobSpec};
use seekwise_host::cpu::CpuCost;
use seekwise_sched::Kernel;
use seekwise_units::{Nanos, PAGE_BYTES};

/// A kernel's worker dispatches a request: half of it before the drive has it, half behind. 5,600 instructions and a switch on Linux 6.1
/// (`benches/results/worker-instructions.tsv`), at the pace at which a request without a scheduler takes 10,500 and [`CpuCost::light`] 6.0 us.
const WORKER: Nanos = Nanos(3_200);
/// Larger direct requests have a plug of their own. Linux block/fops.c: blkdev_direct_IO, more pages than BIO_MAX_VECS.
const PLUGGED_ABOVE: u64 = 256 * PAGE_BYTES;

/// A model's host under one kernel and scheduler.
#[derive(Clone, Debug)]
pub struct Measurement {
    kernel: Measured,
    md: Option<Md>,
    scheduler: String,
}

/// A page of a request past the page cache.
#[derive(Clone, Copy, Debug, Default)]
pub struct DirectPage {
    /// Pinning the caller's.
    pub pin: Nanos,
    /// Its end with the request.
    pub end: Nanos,
}

/// What each operation of a trial costs.
#[derive(Clone, Debug)]
pub enum OperationCosts {
    /// The same for every request, and besides for each of its pages; of the page cache; whether a kernel's worker dispatches reads, and writes.
    Same(CpuCost, DirectPage, CacheCost, [bool; 2]),
    Measured(Box<Measurement>),
    /// The same over an array whose members cost their own requests.
    Array(Box<Measurement>),
}

impl OperationCosts {
    /// `own` is what the trial says by itself, or the default.
    pub fn of(
        spec: &HostSpec,
        kernel: &Kernel,
        scheduler: &str,
        own: CpuCost,
        by_worker: [bool; 2],
    ) -> Result<Self, String> {
        let Some(model) = HostModel::named(spec)? else {
            return Ok(Self::Same(
                own,
                DirectPage::default(),
                CacheCost::default(),
                by_worker,
            ));
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
                "host model {} says what a request costs, so no other costs can be given",
                model.id
            ));
        }
        let series = format!("{}.{}", kernel.version.0, kernel.version.1);
        Ok(match model.measured(&series) {
            Some(measured) => Self::Measured(Box::new(Measurement {
                kernel: measured?.clone(),
                md: model.md.clone(),
                scheduler: scheduler.to_owned(),
            })),
            None => {
                let steps = model.costs(scheduler)?;
                let page = DirectPage {
                    pin: steps.page_pin,
                    end: steps.page_end,
                };
                Self::Same(steps.request(), page, steps.cache(), by_worker)
            }
        })
    }

    /// Over an array: what its members' requests cost, where that was measured, and what is left for the operation; `pass` is md's part of it where
    /// that was not measured with the rest.
    pub fn over_members(self, pass: Nanos) -> (Self, Option<Services>) {
        match self {
            Self::Measured(host) => {
                let services = host.services();
                (Self::Array(host), Some(services))
            }
            Self::Same(cost, page, cache, by_worker) => {
                let submit = cost.submit + pass;
                (
                    Self::Same(CpuCost { submit, ..cost }, page, cache, by_worker),
                    None,
                )
            }
            array @ Self::Array(..) => (array, None),
        }
    }

    /// Whether requests are paid for by an array's members.
    pub fn by_member(&self) -> bool {
        matches!(self, Self::Array(..))
    }

    /// Of md, where that was measured.
    pub fn md(&self) -> Option<MdCosts> {
        match self {
            Self::Measured(host) | Self::Array(host) => host.md.as_ref().map(Md::costs),
            Self::Same(..) => None,
        }
    }

    /// Of an operation that is a read with probability `reads` and has so many pages.
    pub fn operation(&self, reads: f64, pages: f64) -> CpuCost {
        match self {
            Self::Same(cost, page, ..) => CpuCost {
                submit: cost.submit + Nanos((page.pin.0 as f64 * pages) as u64),
                interrupt: cost.interrupt + Nanos((page.end.0 as f64 * pages) as u64),
                ..*cost
            },
            Self::Measured(host) => host.kernel.operation(&host.scheduler, reads, pages),
            Self::Array(host) => host.call(),
        }
    }

    /// Of a job's operations; where it mixes reads and writes, of the mean one.
    pub fn of_job(&self, job: &JobSpec) -> CpuCost {
        let reads = job.read_percent.unwrap_or(100.0) / 100.0;
        let mut cost = self.operation(reads, job.block_bytes as f64 / PAGE_BYTES as f64);
        let Self::Same(.., [by_read, by_write]) = self else {
            // Measured with the rest.
            return cost;
        };
        if job.block_bytes <= PLUGGED_ABOVE {
            let share = f64::from(u8::from(*by_read)) * reads
                + f64::from(u8::from(*by_write)) * (1.0 - reads);
            let half = Nanos((WORKER.0 as f64 * share / 2.0) as u64);
            cost.scheduler += half;
            cost.behind += half;
        }
        cost
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
                cache.as_ref().map_or_else(CacheCost::default, Cache::cost)
            }
            Self::Same(_, _, cache, _) => *cache,
        }
    }

    /// Requests of a queue when its disk was made, if the host's driver says so: what write-back throttling counts with.
    pub fn tags(&self) -> Option<u32> {
        match self {
            Self::Measured(host) | Self::Array(host) => Some(host.kernel.tags.value as u32),
            Self::Same(..) => None,
        }
    }

    /// Of requests that are not known beforehand: a read of a page.
    pub fn usual(&self) -> CpuCost {
        self.operation(1.0, 1.0)
    }
}

impl Measurement {
    /// A time of md's; nothing where it was not measured.
    fn of_md(&self, number: impl Fn(&Md) -> &Number) -> f64 {
        self.md.as_ref().map_or(0.0, |md| number(md).value)
    }

    /// Of an operation through md, whose requests are paid for by themselves.
    fn call(&self) -> CpuCost {
        let half = Nanos((self.of_md(|md| &md.call) / 2.0) as u64);
        CpuCost {
            user: Nanos(self.kernel.user.value as u64),
            submit: half + Nanos(self.of_md(|md| &md.bio) as u64),
            interrupt: half,
            wake: Nanos::ZERO,
            scheduler: Nanos::ZERO,
            behind: Nanos::ZERO,
        }
    }

    /// Of a member's requests: all but the call.
    fn services(&self) -> Services {
        let half = self.of_md(|md| &md.call) / 2.0;
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
            read.send += Nanos(self.of_md(|md| &md.run) as u64);
            read.behind += Nanos(self.of_md(|md| &md.run_behind) as u64);
        }
        Services {
            read,
            write: service(&self.kernel.write),
        }
    }
}
