//! The Python extension `seekwise_proof._proof`: thin bindings, no logic. Its typed face is `proof/seekwise_proof/_proof.pyi`.

mod bench;
mod mapping;
mod rates;
mod vectors;
mod virtual_drives;

use pyo3::prelude::*;

#[pymodule]
fn _proof(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(bench::bench_cases, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench, module)?)?;
    module.add_function(wrap_pyfunction!(mapping::verify_mapping, module)?)?;
    module.add_function(wrap_pyfunction!(rates::verify_machine_rates, module)?)?;
    module.add_function(wrap_pyfunction!(rates::verify_core_rates, module)?)?;
    module.add_function(wrap_pyfunction!(vectors::verify_vectors, module)?)?;
    module.add_function(wrap_pyfunction!(virtual_drives::serve_drives, module)?)?;
    Ok(())
}
