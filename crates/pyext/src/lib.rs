//! The Python extension `seekwise._core`: thin bindings, no logic. Every function takes and gives plain data
//! (JSON text where it is structured); its typed face is `python/seekwise/_core.pyi`.

mod drives;
mod mapping;
mod models;
mod probe;
mod rates;
mod simulate;
mod vectors;
mod virtual_drives;

use pyo3::prelude::*;

/// Version of the compiled core; equal to the Python package's.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::simulate_cells, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::describe_cell, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::model_version, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::bench_cases, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::bench, module)?)?;
    module.add_function(wrap_pyfunction!(mapping::verify_mapping, module)?)?;
    module.add_function(wrap_pyfunction!(rates::verify_machine_rates, module)?)?;
    module.add_function(wrap_pyfunction!(rates::verify_core_rates, module)?)?;
    module.add_function(wrap_pyfunction!(vectors::verify_vectors, module)?)?;
    module.add_function(wrap_pyfunction!(vectors::schedulers, module)?)?;
    module.add_function(wrap_pyfunction!(vectors::check_tunables, module)?)?;
    module.add_function(wrap_pyfunction!(drives::drive_models, module)?)?;
    module.add_function(wrap_pyfunction!(drives::drive_model, module)?)?;
    module.add_function(wrap_pyfunction!(models::controller_models, module)?)?;
    module.add_function(wrap_pyfunction!(models::controller_model, module)?)?;
    module.add_function(wrap_pyfunction!(models::host_models, module)?)?;
    module.add_function(wrap_pyfunction!(models::host_model, module)?)?;
    module.add_function(wrap_pyfunction!(models::check_parameter, module)?)?;
    module.add_function(wrap_pyfunction!(drives::measure_drives, module)?)?;
    module.add_class::<probe::ModelDrive>()?;
    module.add_function(wrap_pyfunction!(virtual_drives::serve_drives, module)?)?;
    Ok(())
}
