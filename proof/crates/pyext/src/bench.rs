//! Binding of the simulator's speed cases.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Names of the speed cases.
#[pyfunction]
pub fn bench_cases() -> Vec<&'static str> {
    seekwise_validate::bench::CASES.to_vec()
}

type BenchRow = (u64, f64, f64, Option<(u64, f64)>);

/// Runs one speed case: (operations simulated, CPU seconds of this thread, of which building the trial; of an array, commands of its drives
/// and their cost in that of a drive alone).
#[pyfunction]
pub fn bench(py: Python<'_>, case: &str, ios: u64, seed: u64) -> PyResult<BenchRow> {
    py.allow_threads(|| seekwise_validate::bench::run(case, ios, seed))
        .map(|row| {
            let members = row
                .members
                .map(|members| (members.commands, members.ratio(row.cpu_seconds)));
            (row.ios, row.cpu_seconds, row.start_seconds, members)
        })
        .map_err(PyValueError::new_err)
}
