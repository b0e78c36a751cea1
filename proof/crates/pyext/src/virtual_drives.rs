//! Binding of the server of virtual drives.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use seekwise_drive::options::Options;
use seekwise_drive::Notice;

/// Serves until `notify` raises or SIGINT comes, with the interpreter lock released; gives the report as JSON.
///
/// `notify` gets each notice as JSON; None asks for nothing but a look at signals. What it raises ends the service in order and
/// is passed through, the report being lost; false ends it in order. A refusal raises ValueError with `{"why", "sentence"}`.
#[pyfunction]
pub fn serve_drives(py: Python<'_>, options_json: &str, notify: PyObject) -> PyResult<String> {
    let options: Options = serde_json::from_str(options_json).map_err(|error| {
        PyValueError::new_err(format!("the options of the drives cannot be read: {error}"))
    })?;
    let mut raised: Option<PyErr> = None;
    let served = py.allow_threads(|| {
        seekwise_drive::serve(&options, |notice| {
            let told = Python::with_gil(|py| {
                py.check_signals()?;
                let text = match notice {
                    Notice::Tick => None,
                    other => Some(serde_json::json!(other).to_string()),
                };
                notify.call1(py, (text,))?.is_truthy(py)
            });
            told.unwrap_or_else(|error| {
                raised.get_or_insert(error);
                false
            })
        })
    });
    match (raised, served) {
        (Some(error), _) => Err(error),
        (None, Ok(report)) => Ok(serde_json::json!(report).to_string()),
        (None, Err(error)) => Err(PyValueError::new_err(serde_json::json!(error).to_string())),
    }
}
