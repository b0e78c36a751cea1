//! Binding of the drive models: commands one after the other.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use seekwise_validate::chain::Chain;

/// Mean time of a chain of commands on a drive model: `{"latency_us", "iops"}` as JSON, or `{"error": …}`; see `seekwise_validate::chain`.
#[pyfunction]
pub fn measure_chain(py: Python<'_>, request_json: &str) -> PyResult<String> {
    let chain: Chain = serde_json::from_str(request_json)
        .map_err(|error| PyValueError::new_err(format!("the chain cannot be read: {error}")))?;
    let measured = py.allow_threads(|| chain.measure());
    let answer = measured.unwrap_or_else(|error| serde_json::json!({"error": error}));
    Ok(answer.to_string())
}
