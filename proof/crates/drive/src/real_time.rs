//! A thread ahead of all ordinary ones, where the machine allows it.

/// SCHED_FIFO for the calling thread at the lowest of its priorities; false without the privilege (CAP_SYS_NICE or RLIMIT_RTPRIO).
///
/// The kernel keeps a share of each processor for others (`kernel.sched_rt_runtime_us`), and a drive that nobody asks sleeps.
///
/// A real-time class that it was started with (`chrt`) stays: below its own starter a thread could wait for ever.
fn first_in_first_out() -> bool {
    // SAFETY: no memory is involved; 0 is the calling thread.
    let policy = unsafe { libc::sched_getscheduler(0) } & !libc::SCHED_RESET_ON_FORK;
    if policy == libc::SCHED_FIFO || policy == libc::SCHED_RR {
        return true;
    }
    let lowest = libc::sched_param { sched_priority: 1 };
    // Threads that this one starts are ordinary again.
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the call reads one struct that lives through it; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, policy, &lowest) == 0 }
}

/// Puts the calling thread ahead of the machine's other work, where we may: a late answer spoils a measurement.
pub fn ahead(rotational: bool) {
    if !(rotational && first_in_first_out()) {
        // Fair all the same: a drive of flash watches the clock most of the time, and clients get their turn.
        let _ = rustix::process::setpriority_process(None, -20);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_is_real_time_if_and_only_if_it_says_so() {
        let said = std::thread::spawn(|| {
            let said = first_in_first_out();
            // SAFETY: no memory is involved.
            let policy = unsafe { libc::sched_getscheduler(0) } & !libc::SCHED_RESET_ON_FORK;
            assert_eq!(policy == libc::SCHED_FIFO, said);
            said
        });
        let root = rustix::process::geteuid().is_root();
        let said = said.join().unwrap();
        assert!(
            root || !said
                || rustix::process::getrlimit(rustix::process::Resource::Rtprio).current != Some(0)
        );
    }
}
