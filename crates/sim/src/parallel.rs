//! Many runs over the cores: whole runs side by side, never events.
//!
//! Workers take the next one by an atomic counter; results stand in the order of the runs whatever finished first.

use serde_json::{json, Value};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

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
