//! The machine's processors, and threads that keep to one of them.

use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};

/// Numbers of those that we may use; none where the kernel does not tell.
pub fn allowed() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU)
        .filter(|number| set.is_set(*number))
        .collect()
}

/// Keeps the calling thread to a processor; false where that is refused.
pub fn keep_to(number: usize) -> bool {
    let mut only = CpuSet::new();
    only.set(number);
    sched_setaffinity(None, &only).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_keeps_to_a_processor_may_use_no_other() {
        let all = allowed();
        let last = *all.last().expect("there is a processor");
        let left = std::thread::spawn(move || keep_to(last).then(allowed));
        assert_eq!(left.join().unwrap(), Some(vec![last]));
        assert_eq!(allowed(), all);
    }
}
