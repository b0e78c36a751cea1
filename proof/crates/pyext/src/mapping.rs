//! Binding of md's proof: recordings of arrays in, outcome out.

use pyo3::prelude::*;
use std::path::PathBuf;

/// Verifies recordings of md arrays; see `seekwise_replay::mapping`. Gives the outcome as JSON text.
#[pyfunction]
pub fn verify_mapping(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<String> {
    let outcome = py.allow_threads(|| seekwise_replay::mapping::verify_mapping(&paths));
    serde_json::to_string(&outcome)
        .map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))
}
