//! Host models: what a host's work costs its processor, from `models/host-*.toml`.
//!
//! A file says it step by step (`nanoseconds`, each with range and source), or request by request as measured under some kernels
//! (`kernel`, `md`), or both.

use crate::cost::{CacheCost, MdCosts, StepCosts};
use crate::spec::HostSpec;
use seekwise_host::cpu::{scheduler_cost, CpuCost};
use seekwise_units::{Nanos, PAGE_BYTES};
use serde::Deserialize;
use serde_json::{json, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

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
    /// Of a host that says nothing: as many as the load asks for.
    pub processors: Option<u32>,
    /// Of a host measured as a whole.
    #[serde(default)]
    source: String,
    #[serde(default)]
    confidence: String,
    #[serde(default)]
    scheduler_factor: Option<Number>,
    #[serde(default)]
    nanoseconds: BTreeMap<String, Number>,
    /// Measured under one kernel, taken for all.
    pub(super) md: Option<Md>,
    #[serde(default)]
    kernel: Vec<Measured>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Number {
    pub value: f64,
    range: [f64; 2],
    #[serde(default)]
    source: String,
    #[serde(default)]
    confidence: String,
}

impl Number {
    fn fits(&self) -> bool {
        let [least, most] = self.range;
        // Written so that NaN fails too.
        least >= 0.0 && self.value >= least && self.value <= most
    }

    /// The value rounded down to whole ns.
    pub fn nanos(&self) -> Nanos {
        Nanos(self.value as u64)
    }
}

/// A table of a model whose rows are all numbers, and those in one row.
macro_rules! numbers {
    ($(#[$about:meta])* $table:ident { $($(#[$row_about:meta])* $row:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $table {
            $($(#[$row_about])* pub $row: Number,)*
        }

        impl $table {
            fn numbers(&self) -> impl Iterator<Item = &Number> {
                [$(&self.$row),*].into_iter()
            }
        }
    };
}

/// Nanoseconds of one request in one direction.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    /// Until the drive has it, and from the drive's end until the program goes on: without its pages, and for each page of 4 KiB.
    pub submit: Number,
    pub submit_page: Number,
    pub complete: Number,
    pub complete_page: Number,
    /// The drive's own work on the same processor while the request is under way.
    pub behind: Number,
    pub behind_page: Number,
    /// More than without a scheduler, by its name.
    pub scheduler: BTreeMap<String, Number>,
}

/// A host as it was measured under one kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Measured {
    pub series: String,
    /// The program's own work per operation.
    pub user: Number,
    /// Requests of a queue when its disk was made.
    pub tags: Number,
    pub read: Request,
    pub write: Request,
    pub cache: Option<Cache>,
}

numbers! {
    /// Nanoseconds of md ([`MdCosts`]), and of a page.
    Md {
        /// Of a request's submit and complete together, what the call costs however many requests md makes of it.
        call,
        /// An operation goes through md.
        bio,
        /// More for a read of a member under a scheduler, which is dispatched by a thread of the kernel's: one wake-up for each, where those of one
        /// drive are found together.
        run,
        run_behind,
        stripe,
        request,
        switch,
        xor_page,
        syndrome_page,
        copy_page,
    }
}

impl Md {
    /// The same as rates in bytes per second and times.
    pub fn costs(&self) -> MdCosts {
        let rate = |page: &Number| PAGE_BYTES as f64 / page.value * 1e9;
        MdCosts {
            xor_bytes_per_s: rate(&self.xor_page),
            syndrome_bytes_per_s: rate(&self.syndrome_page),
            copy_bytes_per_s: rate(&self.copy_page),
            stripe: self.stripe.nanos(),
            look: Nanos::ZERO,
            bio: Nanos::ZERO,
            request: self.request.nanos(),
            end: Nanos::ZERO,
            switch: self.switch.nanos(),
            // Part of `bio` and of the members' requests, which are paid for by themselves.
            pass: Nanos::ZERO,
            piece: Nanos::ZERO,
            // A copy costs md the same, whether its thread sends it or the task.
            copy: self.request.nanos(),
            bitmap_lock: Nanos::ZERO,
            read_lock: Nanos::ZERO,
            barrier_lock: Nanos::ZERO,
        }
    }
}

numbers! {
    /// Nanoseconds of the page cache.
    Cache {
        call,
        read_page,
        new_page,
        write_page,
        flush_page,
        clean_page,
        reclaim_page,
    }
}

impl Cache {
    /// The same in whole ns, as the page cache takes it.
    pub fn cost(&self) -> CacheCost {
        CacheCost {
            call: self.call.value as u64,
            read_page: self.read_page.value as u64,
            new_page: self.new_page.value as u64,
            write_page: self.write_page.value as u64,
            flush_page: self.flush_page.value as u64,
            clean_page: self.clean_page.value as u64,
            reclaim_page: self.reclaim_page.value as u64,
        }
    }
}

impl Measured {
    /// Mean cost of an operation of `pages` pages under `scheduler`; `reads` is the share of reads, 0 to 1. Unmeasured schedulers add nothing.
    pub fn operation(&self, scheduler: &str, reads: f64, pages: f64) -> CpuCost {
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
        let requests = [&self.read, &self.write].into_iter();
        let requests = requests.flat_map(|r| {
            let times = [&r.submit, &r.submit_page, &r.complete, &r.complete_page];
            let behind = [&r.behind, &r.behind_page];
            times.into_iter().chain(behind).chain(r.scheduler.values())
        });
        let cache = self.cache.iter().flat_map(Cache::numbers);
        requests.chain([&self.user, &self.tags]).chain(cache)
    }
}

impl HostModel {
    /// The model that a host names, with its parameters.
    pub fn named(host: &HostSpec) -> Result<Option<Cow<'static, Self>>, String> {
        let Some(name) = &host.model else {
            return Ok(None);
        };
        let mut model = Cow::Borrowed(Self::shipped(name)?);
        for (name, value) in &host.parameters {
            model.to_mut().set(name, *value)?;
        }
        Ok(Some(model))
    }

    /// Reads a host model from TOML. The error is one sentence: a number out of range, or a missing source or confidence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let model: Self =
            toml::from_str(text).map_err(|error| format!("a host model: {}", error.message()))?;
        let by_step = model
            .nanoseconds
            .iter()
            .map(|(name, number)| (name.as_str(), number));
        let factor = model.scheduler_factor.iter().map(|number| (FACTOR, number));
        let measured = model.kernel.iter().flat_map(Measured::numbers);
        let measured = measured.chain(model.md.iter().flat_map(Md::numbers));
        let all = by_step
            .chain(factor)
            .chain(measured.map(|number| ("a number", number)));
        for (name, number) in all {
            if !number.fits() {
                let [least, most] = number.range;
                return Err(format!(
                    "host {}: {name} is {}, outside {least} to {most}",
                    model.id, number.value
                ));
            }
        }
        let unsourced = |number: &Number| number.source.is_empty() || number.confidence.is_empty();
        if let Some((name, _)) = model
            .nanoseconds
            .iter()
            .find(|(_, number)| unsourced(number))
        {
            return Err(format!(
                "host {}: {name} has no source or confidence",
                model.id
            ));
        }
        if !model.kernel.is_empty() && (model.source.is_empty() || model.confidence.is_empty()) {
            return Err(format!("host {} has no source or confidence", model.id));
        }
        if model.kernel.is_empty() && model.nanoseconds.is_empty() {
            return Err(format!("host {} says of nothing what it costs", model.id));
        }
        Ok(model)
    }

    /// Every host that comes with the program, read once.
    pub fn all() -> &'static [Self] {
        static ALL: LazyLock<Vec<HostModel>> = LazyLock::new(|| {
            let texts = seekwise_models::HOSTS.iter();
            texts
                .map(|(_, text)| {
                    HostModel::parse(text).expect("shipped models are checked by a test")
                })
                .collect()
        });
        &ALL
    }

    /// The shipped host model with that id or alias, in any case of letters. The error lists the known ones.
    pub fn shipped(name: &str) -> Result<&'static Self, String> {
        let wanted = name.to_lowercase();
        Self::all()
            .iter()
            .find(|model| model.id == wanted || model.aliases.contains(&wanted))
            .ok_or_else(|| {
                let known: Vec<&str> = Self::all().iter().map(|model| model.id.as_str()).collect();
                format!(
                    "there is no host model \"{name}\" (known: {})",
                    known.join(", ")
                )
            })
    }

    /// Its costs are known step by step.
    pub fn by_step(&self) -> bool {
        !self.nanoseconds.is_empty()
    }

    /// Those whose costs are.
    pub fn ids() -> Vec<String> {
        let by_step = Self::all().iter().filter(|model| model.by_step());
        by_step.map(|model| model.id.clone()).collect()
    }

    /// As it was measured under the kernels of `series` (`6.1`); None when nothing was measured request by request.
    pub(super) fn measured(&self, series: &str) -> Option<Result<&Measured, String>> {
        if self.kernel.is_empty() {
            return None;
        }
        let found = self.kernel.iter().find(|kernel| kernel.series == series);
        Some(found.ok_or_else(|| {
            let known: Vec<&str> = self
                .kernel
                .iter()
                .map(|kernel| kernel.series.as_str())
                .collect();
            format!(
                "host model {} was measured under kernels {}, not {series}",
                self.id,
                known.join(", ")
            )
        }))
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
        let number = match &mut self.scheduler_factor {
            Some(factor) if name == FACTOR => {
                factor.value = value;
                return Ok(());
            }
            _ => self.nanoseconds.get_mut(name),
        };
        match number {
            Some(number) => number.value = value.round(),
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
                    "value": number.value as u64, "unit": "ns", "lo": lo as u64, "hi": hi as u64, "meaning": meaning,
                    "source": number.source, "confidence": number.confidence,
                });
                Some((name, row))
            })
            .collect();
        if let Some(Number { value, range, .. }) = &self.scheduler_factor {
            let row = json!({
                "value": value, "unit": "1", "lo": range[0], "hi": range[1],
                "meaning": "a scheduler's functions per request, against the published ones",
                "source": "Intel i7-2760QM in the kernel's documentation of BFQ, 6.1", "confidence": "low",
            });
            parameters.insert(FACTOR, row);
        }
        json!({"id": self.id, "name": self.name, "processors": self.processors, "parameters": parameters})
    }

    /// `scheduler`: whose functions each request passes.
    pub fn costs(&self, scheduler: &str) -> Result<StepCosts, String> {
        let factor = self
            .scheduler_factor
            .as_ref()
            .map_or(1.0, |number| number.value);
        let own = scheduler_cost(scheduler).0 as f64 * factor;
        Ok(StepCosts {
            scheduler: Nanos(own as u64),
            ..self.steps()?
        })
    }

    /// Without the functions of any scheduler.
    pub(super) fn steps(&self) -> Result<StepCosts, String> {
        let of = |name: &str| {
            self.nanoseconds
                .get(name)
                .map(Number::nanos)
                .ok_or_else(|| format!("host {} does not say {name}", self.id))
        };
        Ok(StepCosts {
            user: of("user")?,
            call: of("call")?,
            page_copy: of("page_copy")?,
            page_add: of("page_add")?,
            bio: of("bio")?,
            md_bio: of("md_bio").unwrap_or(Nanos::ZERO),
            port_command: of("port_command").unwrap_or(Nanos::ZERO),
            scheduler: Nanos::ZERO,
            interrupt: of("interrupt")?,
            page_end: of("page_end")?,
            switch: of("switch")?,
            page_pin: of("page_pin")?,
            page_write: of("page_write")?,
            page_send: of("page_send")?,
            by_command: None,
        })
    }
}
