//! A storage whose programs read and write files or a region, through the page cache or past it: the JSON that
//! `seekwise._core.simulate_storage` takes.
//!
//! ```json
//! { "seed": 7, "device": { "model": "st3250620ns", "array": { "level": "raid5", "members": 3 } },
//!   "queue": { "scheduler": "cfq", "kernel": "2.6.24" }, "host": { "model": "opteron_2212" },
//!   "load": { "buffered": true, "random": false, "write": false, "threads": 4, "block_bytes": 4096, "file_bytes": 268435456 } }
//! ```
//!
//! Drives, queues and host are described as those of a cell are (`spec/mod.rs`).

use crate::spec::array::ArraySpec;
use crate::spec::files::{self, FilesSpec, PhaseSpec, SpreadSpec};
use crate::spec::{DeviceSpec, HostSpec, QueueSpec};
use seekwise_units::PAGE_BYTES;
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StorageSpec {
    pub seed: u64,
    pub device: DeviceSpec,
    pub queue: QueueSpec,
    #[serde(default)]
    pub host: HostSpec,
    /// read_ahead_kb of what the files lie on; the kernel's own choice for a drive or an array when absent.
    pub read_ahead_kib: Option<u32>,
    pub load: LoadSpec,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// Through the page cache, which is empty at the start and far smaller than the files.
    pub buffered: bool,
    pub random: bool,
    pub write: bool,
    pub threads: u32,
    pub block_bytes: u64,
    #[serde(default)]
    pub start_bytes: u64,
    /// Of each thread's own file.
    pub file_bytes: u64,
    /// The run ends after this long, or when each thread has gone through its file once.
    #[serde(default)]
    pub span_ns: u64,
    /// Calls at even distances over the volume in place of files, by one thread: `random`, `write` and `file_bytes` mean nothing then.
    pub spread: Option<SpreadSpec>,
    /// Files of a file system, through a page cache with limited memory: `random`, `write` and `span_ns` are its phases' own then.
    pub files: Option<FilesSpec>,
}

/// Memory for files where none are spoken of: far less than what is read.
const REGION_MEMORY_BYTES: u64 = 128 << 20;

impl LoadSpec {
    /// Its files; a load without is one phase over regions that lie one after the other.
    pub(crate) fn files(&self) -> FilesSpec {
        self.files.clone().unwrap_or_else(|| FilesSpec {
            filesystem: "raw".to_owned(),
            memory_bytes: REGION_MEMORY_BYTES,
            phases: vec![PhaseSpec {
                write: self.write,
                random: self.random,
                calls: None,
                fsync: false,
                o_sync: false,
                drop_caches: false,
                idle: None,
                depth: 1,
                runtime_ns: Some(self.span_ns),
                calls_max: Some(
                    self.spread
                        .as_ref()
                        .map_or(self.file_bytes / self.block_bytes, |spread| spread.calls),
                ),
                steps: self
                    .spread
                    .as_ref()
                    .map_or_else(Vec::new, |spread| spread.steps.clone()),
            }],
            report: 0,
            written: true,
        })
    }
}

impl StorageSpec {
    /// Equal for specs whose runs are the same.
    pub(crate) fn run_key(&self) -> String {
        let mut all = self.clone();
        if let Some(files) = &mut all.load.files {
            files.report = 0;
            // Decided by the phases.
            (all.load.random, all.load.write, all.load.span_ns) = (false, false, 0);
        }
        format!("{all:?}")
    }

    /// What cannot be, whatever the drives are.
    pub(crate) fn check(&self) -> Result<(), String> {
        let load = &self.load;
        if load.block_bytes == 0 || load.block_bytes % PAGE_BYTES != 0 {
            return Err(format!(
                "block_bytes is {}, no multiple of {PAGE_BYTES}",
                load.block_bytes
            ));
        }
        if load.file_bytes < load.block_bytes {
            return Err(format!(
                "file_bytes is {}, less than a block",
                load.file_bytes
            ));
        }
        if let Some(wanted) = &load.files {
            files::check(wanted)?;
        } else if load.buffered && load.write {
            return Err("writing through the page cache is not modelled".to_owned());
        }
        if let Some(spread) = &load.spread {
            self.check_spread(spread)?;
        }
        for (name, value, most) in [
            ("threads", load.threads, 1024),
            ("drives", self.device.drives(), 384),
        ] {
            if !(1..=most).contains(&value) {
                return Err(format!("{name} is {value}, outside 1 to {most}"));
            }
        }
        Ok(())
    }

    fn check_spread(&self, spread: &SpreadSpec) -> Result<(), String> {
        spread.check()?;
        if self.load.buffered || self.load.files.is_some() || self.load.threads != 1 {
            return Err(
                "calls of `spread` are made by one thread, without page cache and files".to_owned(),
            );
        }
        let parity = |array: &ArraySpec| matches!(array.level.as_str(), "raid5" | "raid6");
        let device = &self.device;
        if device.controller.is_some() || device.array.as_ref().is_some_and(parity) {
            return Err(
                "`spread` over a controller's unit or RAID 5 or 6 is not modelled".to_owned(),
            );
        }
        Ok(())
    }
}
