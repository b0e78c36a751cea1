//! Many runs over the cores: whole runs side by side, never events.
//!
//! Workers take the next one by an atomic counter; results stand in the order of the runs whatever finished first.

use crate::cell;
use crate::spec::CellSpec;
use serde_json::{json, Value};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Runs all cells on `threads` workers. `progress(done, of)` is called from the calling thread; false stops taking further cells.
/// A cell that cannot run becomes `{"error": …}`; one that was not taken any more, `{"error": "stopped"}`.
pub fn run(
    specs: &[CellSpec],
    threads: usize,
    mut progress: impl FnMut(usize, usize) -> bool,
) -> Vec<Value> {
    let cell = |spec: &CellSpec| {
        cell::run(spec).unwrap_or_else(|error| json!({"name": spec.name, "error": error}))
    };
    let mut done = 0;
    let results = each(specs, threads, cell, |_| {
        done += 1;
        progress(done, specs.len())
    });
    results
        .into_iter()
        .map(|result| result.unwrap_or_else(stopped))
        .collect()
}

/// What stands for a run that was not taken any more.
pub(crate) fn stopped() -> Value {
    json!({"error": "stopped"})
}

/// Does `work` for all items on `threads` workers. `progress` is told each item that is done, by the calling thread; once it says false, no
/// further item is taken, and what was not taken has no result.
pub fn each<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
    mut progress: impl FnMut(usize) -> bool,
) -> Vec<Option<R>> {
    let threads = threads.clamp(1, items.len().max(1));
    let next = AtomicUsize::new(0);
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = items.get(index) else { return };
                if sender.send((index, work(item))).is_err() {
                    return;
                }
            });
        }
        drop(sender);
        for (index, value) in receiver {
            results[index] = Some(value);
            if !progress(index) {
                next.store(items.len(), Ordering::Relaxed);
            }
        }
    });
    results
}
