//! Bindings of the simulator.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use seekwise_sim::spec::TrialSpec;

/// Runs trials on `threads` workers with the interpreter lock released; `progress(done, of)` is called as they finish.
///
/// `specs_json`: a JSON list of trials. Returns a JSON list of results in the same order; a trial that cannot run is `{"error": …}`.
/// `units`: a list that is given, for each trial, a list of what its programs' units are, as bytes; in the results, `units` of a job is then the
/// place in that. A text that is no list of trials raises ValueError with one sentence; an exception in `progress` stops the run and passes through.
#[pyfunction]
#[pyo3(signature = (specs_json, threads = 1, progress = None, units = None))]
pub fn simulate_cells(
    py: Python<'_>,
    specs_json: &str,
    threads: usize,
    progress: Option<PyObject>,
    units: Option<&Bound<'_, PyList>>,
) -> PyResult<String> {
    let specs: Vec<TrialSpec> = read(specs_json, "the list of trials")?;
    let Some(units) = units else {
        let results = told(py, progress, |tell| {
            seekwise_sim::trial::run_all(&specs, threads, tell)
        })?;
        return Ok(py.allow_threads(|| serde_json::Value::from(results).to_string()));
    };
    let results = told(py, progress, |tell| {
        seekwise_sim::trial::run_all_apart(&specs, threads, tell)
    })?;
    let mut values = Vec::with_capacity(results.len());
    for (value, of_jobs) in results {
        values.push(value);
        // One after the other: no two copies of all of them.
        let bytes = of_jobs.into_iter().map(|each| PyBytes::new(py, &each));
        units.append(PyList::new(py, bytes.collect::<Vec<_>>())?)?;
    }
    Ok(serde_json::Value::from(values).to_string())
}

/// What a text says; the error names it as `what`.
fn read<T: serde::de::DeserializeOwned>(text: &str, what: &str) -> PyResult<T> {
    serde_json::from_str(text)
        .map_err(|error| PyValueError::new_err(format!("{what} cannot be read: {error}")))
}

/// Runs `work` with the interpreter lock released; it tells `progress(done, of)`, whose exception, or a signal's, stops it and passes through.
fn told<R: Send>(
    py: Python<'_>,
    progress: Option<PyObject>,
    work: impl FnOnce(&mut (dyn FnMut(usize, usize) -> bool + Send)) -> R + Send,
) -> PyResult<R> {
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
        None => Ok(results),
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
