//! The Python extension `seekwise._core`: thin bindings, no logic but that of `special`. Every function takes and gives plain data
//! (JSON text where it is structured); its typed face is `python/seekwise/_core.pyi`.

mod drives;
mod models;
mod schedulers;
mod simulate;
mod special;

use pyo3::prelude::*;

/// Version of the compiled core; equal to the Python package's.
#[pyfunction]
fn version() -> String {
    // As Python writes it: `0.2.0-dev.0` is `0.2.0.dev0`.
    env!("CARGO_PKG_VERSION").replace("-dev.", ".dev")
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::simulate_cells, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::describe_cell, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::model_version, module)?)?;
    module.add_function(wrap_pyfunction!(schedulers::schedulers, module)?)?;
    module.add_function(wrap_pyfunction!(drives::drive_models, module)?)?;
    module.add_function(wrap_pyfunction!(drives::drive_model, module)?)?;
    module.add_function(wrap_pyfunction!(models::controller_models, module)?)?;
    module.add_function(wrap_pyfunction!(models::controller_model, module)?)?;
    module.add_function(wrap_pyfunction!(models::host_models, module)?)?;
    module.add_function(wrap_pyfunction!(models::host_model, module)?)?;
    module.add_function(wrap_pyfunction!(drives::measure_drives, module)?)?;
    module.add_function(wrap_pyfunction!(special::poisson_at_most, module)?)?;
    module.add_function(wrap_pyfunction!(special::binomial_at_most, module)?)?;
    module.add_function(wrap_pyfunction!(special::t_quantile, module)?)?;
    module.add_function(wrap_pyfunction!(special::gamma_quantiles, module)?)?;
    module.add_function(wrap_pyfunction!(special::beta_quantiles, module)?)?;
    module.add_function(wrap_pyfunction!(special::digamma, module)?)?;
    module.add_function(wrap_pyfunction!(special::trigamma, module)?)?;
    Ok(())
}
