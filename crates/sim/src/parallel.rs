//! Many cells over the cores: whole runs side by side, never events.
//!
//! Workers take the next cell by an atomic counter; results stand in the order of the specs whatever finished first.

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
    let threads = threads.clamp(1, specs.len().max(1));
    let next = AtomicUsize::new(0);
    let mut results: Vec<Option<Value>> = vec![None; specs.len()];
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(spec) = specs.get(index) else { return };
                let value = cell::run(spec)
                    .unwrap_or_else(|error| json!({"name": spec.name, "error": error}));
                if sender.send((index, value)).is_err() {
                    return;
                }
            });
        }
        drop(sender);
        let mut done = 0;
        for (index, value) in receiver {
            results[index] = Some(value);
            done += 1;
            if !progress(done, specs.len()) {
                next.store(specs.len(), Ordering::Relaxed);
            }
        }
    });
    results
        .into_iter()
        .map(|r| r.unwrap_or_else(|| json!({"error": "stopped"})))
        .collect()
}
