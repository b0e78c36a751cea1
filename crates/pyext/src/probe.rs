//! A drive model that answers one call after the other, for the prober of `seekwise characterize` and its tests.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use seekwise_device::{Command, CommandKind, Device, Drive, Model, Tag};
use seekwise_units::{Lba, Nanos, Sectors};
use std::collections::BTreeMap;

/// A drive in simulated time: time passes while it works, and when it is told to wait.
#[pyclass(unsendable)]
pub struct ModelDrive {
    drive: Drive,
    now: u64,
}

#[pymethods]
impl ModelDrive {
    /// `model` is the name of a shipped model, or the text of a model file. Raises ValueError with one sentence.
    #[new]
    fn new(model: &str, parameters: BTreeMap<String, f64>) -> PyResult<Self> {
        let failed = |error: seekwise_device::ModelError| PyValueError::new_err(error.0);
        let mut found = if model.contains('\n') {
            Model::parse(model)
        } else {
            Model::shipped(model)
        }
        .map_err(failed)?;
        for (key, value) in &parameters {
            found.set(key, *value).map_err(failed)?;
        }
        let drive = Drive::new(&found, 0).map_err(failed)?;
        Ok(Self { drive, now: 0 })
    }

    fn capacity_sectors(&self) -> u64 {
        self.drive.capacity().0
    }

    fn wait(&mut self, ns: u64) {
        self.now += ns;
    }

    /// Reads one after the other; when each began and ended, in ns.
    fn reads(&mut self, starts: Vec<u64>, sectors: u64) -> PyResult<Vec<(u64, u64)>> {
        let mut times = Vec::with_capacity(starts.len());
        for start in starts {
            self.check(start, sectors)?;
            let began = self.now;
            self.submit(0, start, sectors);
            self.now = self.complete()?.1;
            times.push((began, self.now));
        }
        Ok(times)
    }

    /// The same with `depth` outstanding; latency of each in ns in the order of completion, and the time for all.
    fn reads_at_depth(
        &mut self,
        starts: Vec<u64>,
        sectors: u64,
        depth: u32,
    ) -> PyResult<(Vec<u64>, u64)> {
        let depth = depth.clamp(1, self.drive.depth().0) as usize;
        for start in &starts {
            self.check(*start, sectors)?;
        }
        let began = self.now;
        let mut sent = vec![0; depth];
        let mut left = starts.into_iter();
        let mut outstanding = 0;
        for (tag, at) in sent.iter_mut().enumerate() {
            if let Some(start) = left.next() {
                *at = self.now;
                self.submit(tag as u32, start, sectors);
                outstanding += 1;
            }
        }
        let mut latencies = vec![];
        while outstanding > 0 {
            let (tag, done) = self.complete()?;
            self.now = done;
            latencies.push(done - sent[tag as usize]);
            outstanding -= 1;
            if let Some(start) = left.next() {
                sent[tag as usize] = self.now;
                self.submit(tag, start, sectors);
                outstanding += 1;
            }
        }
        Ok((latencies, self.now - began))
    }
}

impl ModelDrive {
    fn check(&self, start: u64, sectors: u64) -> PyResult<()> {
        let capacity = self.drive.capacity().0;
        if sectors == 0 || start.checked_add(sectors).is_none_or(|end| end > capacity) {
            return Err(PyValueError::new_err(format!(
                "{sectors} sectors from {start} lie outside a drive of {capacity}"
            )));
        }
        Ok(())
    }

    fn submit(&mut self, tag: u32, start: u64, sectors: u64) {
        let command = Command {
            tag: Tag(tag),
            kind: CommandKind::Read,
            start: Lba(start),
            sectors: Sectors(sectors),
        };
        self.drive.submit(Nanos(self.now), command);
    }

    fn complete(&mut self) -> PyResult<(u32, u64)> {
        let lost = || PyValueError::new_err("the drive lost a command");
        let done = self.drive.next_completion().ok_or_else(lost)?;
        Ok((self.drive.complete_next(done).0, done.0))
    }
}
