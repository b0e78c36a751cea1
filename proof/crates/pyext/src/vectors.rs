//! Bindings of the schedulers' proof: recordings in, outcome out.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use seekwise_replay::{verify_vectors as verify, Options};
use std::path::PathBuf;

/// Replays recordings; see `seekwise_replay::vectors`. `options_json`: `{"explain": LINE}` or `{}`. Gives the outcome as JSON text.
#[pyfunction]
pub fn verify_vectors(py: Python<'_>, paths: Vec<PathBuf>, options_json: &str) -> PyResult<String> {
    let options: Options = serde_json::from_str(options_json)
        .map_err(|error| PyValueError::new_err(format!("the options cannot be read: {error}")))?;
    let outcome = py.allow_threads(|| verify(&paths, &options));
    serde_json::to_string(&outcome).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
