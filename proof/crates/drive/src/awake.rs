//! Processors that stay awake while a drive has something to do.
//!
//! An idle processor is late: out of a deep sleep by tens of microseconds, and that of a virtual machine, which its host has to
//! schedule first, by hundreds. Drive and client sleep in turns and pay for it both ways. So while requests are outstanding a
//! thread of the lowest class (SCHED_IDLE) turns in place on each processor; whatever else wants the processor takes it at once.

use crate::clock::monotonic;
use crate::processors::{allowed, keep_to};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

/// No more than these: drives and their clients that work at the same time find one of them.
const PROCESSORS_MAX: usize = 8;
/// A client's next request is usually there within this time.
const LINGER_NS: u64 = 2_000_000;
/// Turns between two looks at the clock, some microseconds.
const TURNS: u32 = 200;

#[derive(Default)]
struct Shared {
    working: AtomicUsize,
    ended: AtomicBool,
    /// Threads that sleep.
    asleep: AtomicUsize,
    /// Taken for sleeping and waking only.
    gate: Mutex<()>,
    begun: Condvar,
}

/// The threads; dropping it ends them.
pub struct Awake {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// One drive's word on whether it has something to do.
pub struct Watch {
    shared: Arc<Shared>,
    working: bool,
}

impl Awake {
    /// A thread per processor that we may use, if there are several; where the class is refused there is none, and answers are later.
    pub fn new() -> Self {
        let shared = Arc::new(Shared::default());
        let allowed = allowed();
        // A single one is the load's: it would only be kept from what it has to do (and a guest's clock that counts instructions
        // from jumping over idle time).
        let several = allowed.len() > 1;
        let threads = allowed
            .into_iter()
            .filter(|_| several)
            .take(PROCESSORS_MAX)
            .filter_map(|number| {
                let shared = shared.clone();
                std::thread::Builder::new()
                    .name(format!("awake{number}"))
                    .spawn(move || keep(&shared, number))
                    .ok()
            })
            .collect();
        Self { shared, threads }
    }

    /// One drive's say in whether the processors stay awake; at first it does not need them.
    pub fn watch(&self) -> Watch {
        Watch {
            shared: self.shared.clone(),
            working: false,
        }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        self.shared.wake();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Watch {
    /// Whether the drive has requests outstanding; the processors stay awake while any drive has.
    #[inline]
    pub fn set(&mut self, working: bool) {
        if working != self.working {
            self.working = working;
            if !working {
                self.shared.working.fetch_sub(1, Ordering::SeqCst);
            } else if self.shared.working.fetch_add(1, Ordering::SeqCst) == 0 {
                self.shared.wake();
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.set(false);
    }
}

impl Shared {
    fn wake(&self) {
        // With the gate: a thread that has just looked and not yet slept would miss it.
        drop(self.gate.lock());
        self.begun.notify_all();
    }

    fn idle(&self) -> bool {
        self.working.load(Ordering::SeqCst) == 0 && !self.ended.load(Ordering::SeqCst)
    }
}

fn keep(shared: &Shared, processor: usize) {
    let none = libc::sched_param { sched_priority: 0 };
    // SAFETY: the call reads one struct that lives through it; 0 is the calling thread.
    let lowest = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &none) } == 0;
    if !keep_to(processor) || !lowest {
        return;
    }
    let mut idle_since = None;
    while !shared.ended.load(Ordering::Relaxed) {
        if shared.working.load(Ordering::Relaxed) > 0 {
            idle_since = None;
        } else {
            let since = *idle_since.get_or_insert_with(monotonic);
            if monotonic() - since > LINGER_NS {
                if let Ok(gate) = shared.gate.lock() {
                    shared.asleep.fetch_add(1, Ordering::SeqCst);
                    drop(shared.begun.wait_while(gate, |()| shared.idle()));
                    shared.asleep.fetch_sub(1, Ordering::SeqCst);
                }
                idle_since = None;
            }
        }
        for _ in 0..TURNS {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn drives_are_counted_once_each_and_threads_end_with_their_owner() {
        let awake = Awake::new();
        let mut watch = awake.watch();
        watch.set(true);
        watch.set(true);
        assert_eq!(awake.shared.working.load(Ordering::SeqCst), 1);
        let mut other = awake.watch();
        other.set(true);
        drop(other);
        assert_eq!(awake.shared.working.load(Ordering::SeqCst), 1);
        watch.set(false);
        assert!(awake.shared.idle());
        let shared = awake.shared.clone();
        drop(awake);
        // Ours and the watch's: the threads have let go of theirs.
        assert_eq!(Arc::strong_count(&shared), 2);
    }

    #[test]
    fn threads_sleep_when_nobody_has_anything_to_do_and_wake_when_somebody_has() {
        let awake = Awake::new();
        let mut watch = awake.watch();
        let reaches = |wanted: usize| {
            (0..10_000).any(|_| {
                std::thread::sleep(Duration::from_millis(1));
                awake.shared.asleep.load(Ordering::SeqCst) == wanted
            })
        };
        assert!(reaches(awake.threads.len()));
        watch.set(true);
        assert!(reaches(0));
        watch.set(false);
        assert!(reaches(awake.threads.len()));
    }
}
