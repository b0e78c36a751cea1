//! Bindings of the controller models: what they are.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use seekwise_controller::Model;

/// Ids of the controller models that come with the program.
#[pyfunction]
pub fn controller_models() -> Vec<String> {
    Model::all().map(|model| model.id).collect()
}

/// A controller model by any of its names, as JSON. Raises ValueError with one sentence.
#[pyfunction]
pub fn controller_model(name: &str) -> PyResult<String> {
    let model = Model::shipped(name).map_err(|error| PyValueError::new_err(error.0))?;
    serde_json::to_string(&model).map_err(|error| PyValueError::new_err(error.to_string()))
}
