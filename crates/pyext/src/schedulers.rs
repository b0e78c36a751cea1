//! Bindings of the schedulers' registry and their tables of tunables.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use seekwise_sched::{Kernel, Module, Setup, ENTRIES};
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
