//! Bindings of the controller and host models.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use seekwise_controller::Model as Controller;
use seekwise_sim::cost::HostModel as Host;

/// Ids of the controller models that come with the program.
#[pyfunction]
pub fn controller_models() -> Vec<String> {
    let all = Controller::all().iter();
    all.map(|model| model.id.clone()).collect()
}

/// A controller model by any of its names, as JSON. Raises ValueError with one sentence.
#[pyfunction]
pub fn controller_model(name: &str) -> PyResult<String> {
    let model = Controller::shipped(name).map_err(|error| PyValueError::new_err(error.0))?;
    serde_json::to_string(&model).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Ids of the host models that come with the program.
#[pyfunction]
pub fn host_models() -> Vec<String> {
    Host::ids()
}

/// A host model by any of its names, as JSON. Raises ValueError with one sentence.
#[pyfunction]
pub fn host_model(name: &str) -> PyResult<String> {
    let model = Host::shipped(name).map_err(PyValueError::new_err)?;
    if !model.by_step() {
        return Err(PyValueError::new_err(format!(
            "the costs of host {} were measured as a whole, not step by step",
            model.id
        )));
    }
    Ok(model.document().to_string())
}
