//! What a drive has done, and how well it kept the model's time.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Lateness of answers: from the instant that the model gives until the answer has been handed to the socket.
pub struct Statistics {
    pub counts: Counts,
    lateness: Histogram<u64>,
    overrun_ns: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub reads: u64,
    pub writes: u64,
    pub flushes: u64,
    pub trims: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Answers that were an error of the medium: bad sector, or no space in the store.
    pub medium_errors: u64,
    pub no_space: u64,
    /// Requests refused because they make no sense: outside the drive, not whole sectors, too long.
    pub invalid: u64,
    pub power_cuts: u64,
    /// Answers later than the limit.
    pub overruns: u64,
}

/// A drive's line in the report.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    pub drive: usize,
    pub state: &'static str,
    #[serde(flatten)]
    pub counts: Counts,
    pub overrun_limit_us: f64,
    pub late_us_p50: f64,
    pub late_us_p99: f64,
    pub late_us_max: f64,
}

const LATE_NS_MAX: u64 = 100_000_000_000;

impl Statistics {
    /// All counts at zero; an answer more than `overrun_ns` late counts as an overrun.
    pub fn new(overrun_ns: u64) -> Self {
        Self {
            counts: Counts::default(),
            lateness: Histogram::new_with_bounds(1, LATE_NS_MAX, 2)
                .expect("bounds and digits are constants in range"),
            overrun_ns,
        }
    }

    /// Counts an answer that was `late_ns` later than the model says.
    pub fn answered(&mut self, late_ns: u64) {
        self.lateness.saturating_record(late_ns.max(1));
        self.counts.overruns += u64::from(late_ns > self.overrun_ns);
    }

    /// The report line of the drive numbered `drive`; `state` is a word such as "on".
    pub fn summary(&self, drive: usize, state: &'static str) -> Summary {
        let us = |ns: u64| ns as f64 / 1e3;
        Summary {
            drive,
            state,
            counts: self.counts,
            overrun_limit_us: us(self.overrun_ns),
            late_us_p50: us(self.lateness.value_at_quantile(0.5)),
            late_us_p99: us(self.lateness.value_at_quantile(0.99)),
            late_us_max: us(self.lateness.max()),
        }
    }
}
