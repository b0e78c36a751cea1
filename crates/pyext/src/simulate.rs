//! Bindings of the simulator.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use seekwise_sim::spec::TrialSpec;

/// Runs trials on `threads` workers with the interpreter lock released; `progress(done, of)` is called as they finish.
///
/// `specs_json`: a JSON list of trials. Returns a JSON list of results in the same order; a trial that cannot run is `{"error": …}`.
/// A text that is no list of trials raises ValueError with one sentence; an exception in `progress` stops the run and passes through.
#[pyfunction]
#[pyo3(signature = (specs_json, threads = 1, progress = None))]
pub fn simulate_cells(
    py: Python<'_>,
    specs_json: &str,
    threads: usize,
    progress: Option<PyObject>,
) -> PyResult<String> {
    let specs: Vec<TrialSpec> = read(specs_json, "the list of trials")?;
    told(py, progress, |tell| {
        seekwise_sim::trial::run_all(&specs, threads, tell)
    })
}

/// What a text says; the error names it as `what`.
fn read<T: serde::de::DeserializeOwned>(text: &str, what: &str) -> PyResult<T> {
    serde_json::from_str(text)
        .map_err(|error| PyValueError::new_err(format!("{what} cannot be read: {error}")))
}

/// Runs `work` with the interpreter lock released; it tells `progress(done, of)`, whose exception, or a signal's, stops it and passes through.
fn told(
    py: Python<'_>,
    progress: Option<PyObject>,
    work: impl FnOnce(&mut (dyn FnMut(usize, usize) -> bool + Send)) -> Vec<serde_json::Value> + Send,
) -> PyResult<String> {
    let mut failed: Option<PyErr> = None;
    let results = py.allow_threads(|| {
        work(&mut |done, of| {
            let told = Python::with_gil(|py| {
                py.check_signals()?;
                match &progress {
                    Some(callable) => callable.call1(py, (done, of)).map(|_| ()),
                    None => Ok(()),
                }
            });
            match told {
                Ok(()) => true,
                Err(error) => {
                    failed.get_or_insert(error);
                    false
                }
            }
        })
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(serde_json::Value::from(results).to_string()),
    }
}

/// Version of the simulator's physics: raised with every change that can alter a number.
#[pyfunction]
pub fn model_version() -> u32 {
    seekwise_sim::MODEL_VERSION
}

/// What a trial would be, without running it: settings in force after defaults, schedulers of its kernel, capacity.
#[pyfunction]
pub fn describe_cell(spec_json: &str) -> PyResult<String> {
    let spec: TrialSpec = read(spec_json, "the trial")?;
    seekwise_sim::trial::describe(&spec)
        .map(|value| value.to_string())
        .map_err(PyValueError::new_err)
}
