//! Tunables: one table row each, under the kernel's name, with unit, default and range.
//!
//! The tables feed `seekwise explain`, studies and the constructors. A value is checked where it is set, by name and with
//! its unit, so that a policy is never built from an absurd one.

use crate::kernel::{Kernel, Version};
use core::fmt;
use seekwise_units::Nanos;

/// What a tunable's number counts, as in sysfs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunableUnit {
    Millis,
    Micros,
    Nanos,
    KiB,
    Sectors,
    Requests,
    /// A plain number: how often, how many times.
    Count,
    /// 0 or 1.
    Switch,
}

impl TunableUnit {
    /// Short name, for tables.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Millis => "ms",
            Self::Micros => "us",
            Self::Nanos => "ns",
            Self::KiB => "KiB",
            Self::Sectors => "sectors",
            Self::Requests => "requests",
            Self::Count => "times",
            Self::Switch => "0 or 1",
        }
    }
}

impl fmt::Display for TunableUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.symbol())
    }
}

/// One tunable of one policy.
#[derive(Clone, Copy)]
pub struct Parameter {
    /// File name below `queue/iosched/`.
    pub name: &'static str,
    pub unit: TunableUnit,
    /// What the kernel starts with. Depends on the tick (integer division of HZ) and on the kind of drive.
    pub default: fn(&Setup) -> u64,
    pub min: u64,
    pub max: u64,
    /// Which kernels have it.
    pub kernels: Kernels,
    /// One sentence for `seekwise explain`, without a period.
    pub meaning: &'static str,
}

/// One row of a table, for every kernel: name, unit, default, least and most, meaning.
pub(crate) const fn row(
    name: &'static str,
    unit: TunableUnit,
    default: fn(&Setup) -> u64,
    range: (u64, u64),
    meaning: &'static str,
) -> Parameter {
    row_of(ALWAYS, name, unit, default, range, meaning)
}

/// The same, for `kernels` alone.
pub(crate) const fn row_of(
    kernels: Kernels,
    name: &'static str,
    unit: TunableUnit,
    default: fn(&Setup) -> u64,
    (min, max): (u64, u64),
    meaning: &'static str,
) -> Parameter {
    Parameter {
        name,
        unit,
        default,
        min,
        max,
        kernels,
        meaning,
    }
}

/// A span of kernel versions: from the first to before the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernels {
    pub since: Version,
    pub until: Option<Version>,
}

impl Kernels {
    /// Whether a version lies in the span, its first version included and `until` excluded.
    pub fn contains(&self, version: Version) -> bool {
        version >= self.since && self.until.is_none_or(|until| version < until)
    }
}

impl fmt::Display for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.until {
            Some(until) => write!(f, "{} to before {until}", self.since),
            None => write!(f, "{} on", self.since),
        }
    }
}

/// From the version given on, without end.
pub const fn since(major: u16, minor: u16, patch: u16) -> Kernels {
    Kernels {
        since: Version(major, minor, patch),
        until: None,
    }
}

/// From `since` to before `until`.
pub const fn between(since: Version, until: Version) -> Kernels {
    Kernels {
        since,
        until: Some(until),
    }
}

/// Every kernel that has the policy.
pub const ALWAYS: Kernels = since(0, 0, 0);

/// What a policy is told when a queue starts it.
#[derive(Clone, Debug)]
pub struct Setup {
    pub kernel: Kernel,
    /// `queue/rotational`.
    pub rotational: bool,
    /// Commands that the device takes at once.
    pub depth_device: u32,
    /// Tags of the host, from which `queue/nr_requests` is made: a SCSI device may take fewer commands (`device/queue_depth`).
    pub host_tags: u32,
    /// `queue/nr_requests`.
    pub nr_requests: u32,
    /// How long the policy had been running when time began: some of its clocks started then.
    pub age: Nanos,
    /// Programs are in one cgroup with the io controller, the kernel's threads in the root.
    pub cgroup: bool,
    /// Tunables that differ from their default.
    pub values: Values,
}

impl Setup {
    /// [`Setup::age`] in the recordings with one queue: between the switch to the policy and the start of a run. They do not tell; how
    /// many async requests cfq let go at once when a run began, and later in it, leaves 0.53 to 0.60 s for 4.4 and 0.50 to 0.59 s for
    /// 2.6.32.
    pub const RECORDED_AGE: Nanos = Nanos::from_millis(550);

    /// The kernel's defaults over a rotational device that takes one command at a time, running for 10 s.
    pub fn new(kernel: Kernel) -> Self {
        // Linux 2.6.23 to 6.1 include/linux/blkdev.h: BLKDEV_MAX_RQ (BLKDEV_DEFAULT_RQ) is 128.
        Self {
            kernel,
            rotational: true,
            depth_device: 1,
            host_tags: 1,
            nr_requests: 128,
            age: Nanos::from_secs(10),
            cgroup: false,
            values: Values::default(),
        }
    }

    /// The value in force of the tunable `name` in `table`: as set, otherwise the kernel's default.
    /// A name that the table does not have is a mistake of the caller's table and reads 0 in release builds.
    pub fn get(&self, table: &[Parameter], name: &str) -> u64 {
        if let Some(value) = self.values.get(name) {
            return value;
        }
        let row = table.iter().find(|row| row.name == name);
        debug_assert!(row.is_some(), "no row {name}");
        row.map_or(0, |row| (row.default)(self))
    }
}

/// Tunables by name, each already checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values(Vec<(String, u64)>);

impl Values {
    /// The value as set; None for a tunable at its default.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| *value)
    }

    /// The tunables that were set, with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// Sets the tunable `name` of `scheduler`, whose table is given; the error is one sentence.
    pub fn set(
        &mut self,
        scheduler: &str,
        table: &[Parameter],
        kernel: &Kernel,
        name: &str,
        value: i128,
    ) -> Result<(), String> {
        let Some(row) = table.iter().find(|row| row.name == name) else {
            let known: Vec<_> = table.iter().map(|row| row.name).collect();
            let known = if known.is_empty() {
                "no tunables".to_owned()
            } else {
                known.join(", ")
            };
            return Err(format!(
                "{scheduler} has no tunable \"{name}\" (it has {known})"
            ));
        };
        if !row.kernels.contains(kernel.version) {
            return Err(format!(
                "{scheduler} has \"{name}\" in Linux {}, not in {}",
                row.kernels, kernel.version
            ));
        }
        if value < row.min as i128 || value > row.max as i128 {
            return Err(format!(
                "{scheduler} {name} is {value} {}, outside {} to {} {}",
                row.unit, row.min, row.max, row.unit
            ));
        }
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.to_owned(), value as u64));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Parameter] = &[Parameter {
        name: "slice_idle",
        unit: TunableUnit::Millis,
        default: |setup| setup.kernel.millis_from_ticks(setup.kernel.hz as u64 / 125),
        min: 0,
        max: 10_000,
        kernels: since(2, 6, 13),
        meaning: "how long to wait",
    }];

    #[test]
    fn a_default_follows_the_tick() {
        let setup = |hz| Setup::new(Kernel::new(2, 6, 24, hz));
        assert_eq!(setup(250).get(TABLE, "slice_idle"), 8);
        assert_eq!(setup(300).get(TABLE, "slice_idle"), 6);
        assert_eq!(setup(100).get(TABLE, "slice_idle"), 0);
    }

    #[test]
    fn an_absurd_value_is_refused_by_name_and_unit() {
        let kernel = Kernel::new(2, 6, 32, 1000);
        let mut values = Values::default();
        let refused = values
            .set("cfq", TABLE, &kernel, "slice_idle", -1)
            .unwrap_err();
        assert_eq!(refused, "cfq slice_idle is -1 ms, outside 0 to 10000 ms");
        let refused = values.set("cfq", TABLE, &kernel, "quantum", 1).unwrap_err();
        assert_eq!(
            refused,
            "cfq has no tunable \"quantum\" (it has slice_idle)"
        );
        let refused = values
            .set("cfq", TABLE, &Kernel::new(2, 6, 9, 1000), "slice_idle", 1)
            .unwrap_err();
        assert_eq!(
            refused,
            "cfq has \"slice_idle\" in Linux 2.6.13 on, not in 2.6.9"
        );
        assert_eq!(values, Values::default());
        values.set("cfq", TABLE, &kernel, "slice_idle", 3).unwrap();
        values.set("cfq", TABLE, &kernel, "slice_idle", 4).unwrap();
        assert_eq!(values.iter().collect::<Vec<_>>(), [("slice_idle", 4)]);
    }
}
