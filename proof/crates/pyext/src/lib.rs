//! The Python extension `seekwise_proof._proof`: thin bindings, no logic. Its typed face is `proof/seekwise_proof/_proof.pyi`.

mod bench;
mod drives;
mod mapping;
mod rates;
mod vectors;

use pyo3::prelude::*;

#[pymodule]
fn _proof(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(bench::bench_cases, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench, module)?)?;
    module.add_function(wrap_pyfunction!(drives::measure_chain, module)?)?;
    module.add_function(wrap_pyfunction!(mapping::verify_mapping, module)?)?;
    module.add_function(wrap_pyfunction!(rates::verify_machine_rates, module)?)?;
    module.add_function(wrap_pyfunction!(rates::verify_core_rates, module)?)?;
    module.add_function(wrap_pyfunction!(vectors::verify_vectors, module)?)?;
    Ok(())
}
