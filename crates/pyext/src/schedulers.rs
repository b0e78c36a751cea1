//! Bindings of the schedulers' registry and their tables of tunables.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use seekwise_sched::{find_scheduler, Kernel, Module, Setup, Values, ENTRIES};
use serde_json::json;

fn kernel_of(text: &str) -> PyResult<Kernel> {
    Kernel::parse(text, seekwise_sched::kernel::HZ_DEFAULT).map_err(PyValueError::new_err)
}

/// The registry as JSON: every scheduler with kernels, summary and tunables; `default` is that of `kernel` (a version such as
/// `6.1` or `2.6.24-hz250`) on a drive that rotates or not. `available`: this kernel has it.
/// `module`: of today's kernels, empty where built in, null for those of the single queue; `reset_to`: tunables as the kernel sets them when it
/// switches to it.
#[pyfunction]
#[pyo3(signature = (kernel, rotational = true))]
pub fn schedulers(kernel: &str, rotational: bool) -> PyResult<String> {
    let kernel = kernel_of(kernel)?;
    let mut setup = Setup::new(kernel);
    setup.rotational = rotational;
    let entries: Vec<_> = ENTRIES
        .iter()
        .map(|entry| {
            let tunables: Vec<_> = entry
                .parameters
                .iter()
                .map(|row| {
                    json!({
                        "name": row.name,
                        "unit": row.unit.symbol(),
                        "default": (row.default)(&setup),
                        "min": row.min,
                        "max": row.max,
                        "kernels": row.kernels.to_string(),
                        "available": row.kernels.contains(kernel.version),
                        "meaning": row.meaning,
                    })
                })
                .collect();
            let (module, loaded) = match entry.module {
                None => (None, false),
                Some(Module::BuiltIn) => (Some(""), false),
                Some(Module::BuiltInByDebian(name)) => (Some(name), false),
                Some(Module::Loaded(name)) => (Some(name), true),
            };
            let reset_to: serde_json::Map<_, _> = entry
                .reset_to
                .iter()
                .map(|(name, values)| ((*name).to_owned(), json!(values)))
                .collect();
            let trials: serde_json::Map<_, _> = entry
                .trials
                .iter()
                .map(|(name, values)| ((*name).to_owned(), json!(values)))
                .collect();
            let chart = &entry.chart;
            json!({
                "name": entry.name,
                "summary": entry.summary,
                "kernels": entry.kernels.to_string(),
                "available": entry.kernels.contains(kernel.version),
                "multi_queue": entry.kernels.until.is_none(),
                "tunables": tunables,
                "cost_ns": entry.cost_ns,
                "module": module,
                "loaded_by_testbed": loaded,
                "reset_to": reset_to,
                "trials": trials,
                "settles_at_once": entry.settles_at_once,
                "chart": {"colour": chart.colour, "dash": chart.dash, "marker": chart.marker},
            })
        })
        .collect();
    Ok(json!({ "kernel": kernel.to_string(), "schedulers": entries }).to_string())
}

/// Checks tunables (`{name: value}` as JSON text) of a scheduler and kernel; raises ValueError with one sentence.
#[pyfunction]
pub fn check_tunables(scheduler: &str, kernel: &str, tunables_json: &str) -> PyResult<()> {
    let kernel = kernel_of(kernel)?;
    let entry = find_scheduler(scheduler)
        .ok_or_else(|| PyValueError::new_err(format!("there is no scheduler \"{scheduler}\"")))?;
    let given: serde_json::Map<String, serde_json::Value> = serde_json::from_str(tunables_json)
        .map_err(|error| PyValueError::new_err(format!("the tunables cannot be read: {error}")))?;
    let mut setup = Setup::new(kernel);
    setup.values = Values::default();
    for (name, value) in &given {
        let number = value
            .as_i64()
            .map(i128::from)
            .or_else(|| value.as_u64().map(i128::from));
        let number = number.ok_or_else(|| {
            PyValueError::new_err(format!("{scheduler} {name} is {value}, not a whole number"))
        })?;
        setup
            .values
            .set(scheduler, entry.parameters, &kernel, name, number)
            .map_err(PyValueError::new_err)?;
    }
    entry
        .build(&setup)
        .map(|_| ())
        .map_err(PyValueError::new_err)
}
