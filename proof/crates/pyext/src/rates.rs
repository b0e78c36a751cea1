//! Bindings of the tables of measured rates: text in, outcome as JSON out.

use pyo3::prelude::*;

/// Simulates each row of a recorded table (`tests/vectors/machine`); see `seekwise_validate::rates`.
/// Raises ValueError if the text is no such table.
#[pyfunction]
pub fn verify_machine_rates(py: Python<'_>, text: String, seed: u64) -> PyResult<String> {
    let outcome = py.allow_threads(|| seekwise_validate::rates::verify(&text, seed));
    let outcome = outcome.map_err(pyo3::exceptions::PyValueError::new_err)?;
    serde_json::to_string(&outcome)
        .map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))
}

/// Simulates each row of a table of schedulers on fast drives with many cores; see `seekwise_validate::cores`.
/// Raises ValueError with the line that is wrong.
#[pyfunction]
pub fn verify_core_rates(py: Python<'_>, text: String, seed: u64) -> PyResult<String> {
    let outcome = py.allow_threads(|| seekwise_validate::cores::verify(&text, seed));
    let outcome = outcome.map_err(pyo3::exceptions::PyValueError::new_err)?;
    serde_json::to_string(&outcome)
        .map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))
}
