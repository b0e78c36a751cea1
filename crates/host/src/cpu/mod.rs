//! What input and output cost the processors, and when they are free.
//!
//! Modelled:      a cost per operation (user, submission, interrupt, wake-up, scheduler, work behind), one first-come first-served
//!                processor per thread slot; the interrupt is charged to the submitter's processor (rq_affinity 1). Interrupts of
//!                programs that compute for long are taken at once ([`Processors::interrupt`]).
//! Not modelled:  time slices, frequency, caches. What depends on direction and size is decided above, once per job.

pub mod time;

pub use time::{Payer, Times};

use seekwise_units::Nanos;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Processor time of one operation by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuCost {
    /// The program's own work per operation.
    pub user: Nanos,
    /// System call, bio, request and hand-over to the driver.
    pub submit: Nanos,
    /// Interrupt and soft interrupt at completion.
    pub interrupt: Nanos,
    /// Waking the waiting thread and switching to it.
    pub wake: Nanos,
    /// The scheduler's own functions per request (insert, dispatch, complete).
    pub scheduler: Nanos,
    /// Work of the host after the drive has the request, which the drive's own time hides: only others wait for it.
    pub behind: Nanos,
}

impl Default for CpuCost {
    /// Host turnaround of 20 µs in all for a synchronous operation through a SATA stack.
    ///
    /// Source: the order of 20 µs from the project's drive facts ("host turnaround of 20 µs and more"); its split between the kinds is
    /// an estimate in the proportion of the recorded 2.6.32 path (submission about 2/5, completion 3/5), confidence low.
    fn default() -> Self {
        Self {
            user: Nanos(1_000),
            submit: Nanos(6_000),
            interrupt: Nanos(5_000),
            wake: Nanos(8_000),
            scheduler: Nanos::ZERO,
            behind: Nanos::ZERO,
        }
    }
}

impl CpuCost {
    /// A short driver path (NVMe, null): 6 µs of a synchronous operation, 2.7 of one whose task does not sleep.
    ///
    /// Source: `crates/sim/src/cores/costs.rs`, from a study of one NVMe drive (Ren et al., ICPE 2024): 354 to 383 thousand operations/s of a core whose one task
    /// never sleeps, 162 of one whose tasks always do. What of it is the program's own is an estimate.
    pub fn light() -> Self {
        Self {
            user: Nanos(500),
            submit: Nanos(1_000),
            interrupt: Nanos(1_220),
            wake: Nanos(3_300),
            scheduler: Nanos::ZERO,
            behind: Nanos::ZERO,
        }
    }

    /// From the moment at which a thread starts on its next operation until the request is in the queue.
    pub fn to_submit(&self) -> Nanos {
        self.user + self.submit + self.scheduler
    }
    /// From the drive's completion until the waiting thread runs.
    pub fn to_return(&self) -> Nanos {
        self.interrupt + self.wake
    }
}

/// Cost of a scheduler's functions per request on the processor of the published figures, an Intel i7-2760QM; each scheduler names its source.
pub fn scheduler_cost(name: &str) -> Nanos {
    Nanos(seekwise_sched::find_scheduler(name).map_or(0, |entry| entry.cost_ns))
}

/// When each processor is next free. Work is booked in the order of simulated time and never split.
#[derive(Clone, Debug)]
pub struct Processors {
    free_at: Vec<Nanos>,
    /// When each has served the interrupts that were taken at once.
    interrupted_until: Vec<Nanos>,
    shared: Option<SharedProcessor>,
    pub busy: Nanos,
}

/// A machine's only processor, which others book, too.
#[derive(Clone, Debug, Default)]
pub struct SharedProcessor(Arc<AtomicU64>);

impl SharedProcessor {
    /// Books `work`, not before `now`; gives the end.
    pub fn book(&self, now: Nanos, work: Nanos) -> Nanos {
        // One machine runs in one thread: shared by its parts, never between threads.
        let end = now.max(Nanos(self.0.load(Ordering::Relaxed))) + work;
        self.0.store(end.0, Ordering::Relaxed);
        end
    }

    /// The same at this moment, booked by nobody else.
    pub fn alone(&self) -> Self {
        Self(Arc::new(AtomicU64::new(self.0.load(Ordering::Relaxed))))
    }
}

impl Processors {
    /// `count` idle processors, at least one.
    pub fn new(count: u32) -> Self {
        Self {
            free_at: vec![Nanos::ZERO; count.max(1) as usize],
            interrupted_until: vec![Nanos::ZERO; count.max(1) as usize],
            shared: None,
            busy: Nanos::ZERO,
        }
    }

    /// One processor, which others book as well.
    pub fn shared(processor: SharedProcessor) -> Self {
        Self {
            shared: Some(processor),
            ..Self::new(1)
        }
    }

    /// As many, with nothing booked; a shared one as it is.
    pub fn idle(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            ..Self::new(self.free_at.len() as u32)
        }
    }

    /// Number of processors.
    pub fn count(&self) -> usize {
        self.free_at.len()
    }

    /// Books `work` on a processor, not before `now`; gives the end.
    #[inline]
    pub fn book(&mut self, processor: usize, now: Nanos, work: Nanos) -> Nanos {
        self.busy += work;
        if let Some(shared) = &self.shared {
            return shared.book(now, work);
        }
        let free = &mut self.free_at[processor];
        let end = now.max(*free) + work;
        *free = end;
        end
    }

    /// An interrupt at `now`: it pushes aside what computes there, which then needs the processor for so much longer; gives its end.
    pub fn interrupt(&mut self, processor: usize, now: Nanos, work: Nanos) -> Nanos {
        let served = now.max(self.interrupted_until[processor]) + work;
        self.interrupted_until[processor] = served;
        self.book(processor, now, work);
        served
    }

    /// Whether something is booked there at `now`.
    #[inline]
    pub fn is_busy(&self, processor: usize, now: Nanos) -> bool {
        let shared = self
            .shared
            .as_ref()
            .map(|shared| Nanos(shared.0.load(Ordering::Relaxed)));
        shared.unwrap_or_else(|| self.free_at[processor]) > now
    }

    /// The processor that is free first: where a thread that no processor keeps is woken.
    pub fn free_first(&self) -> usize {
        let found = self.free_at.iter().enumerate().min_by_key(|each| each.1);
        found.map_or(0, |(processor, _)| processor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_on_one_processor_queues_up() {
        let mut cpus = Processors::new(2);
        assert_eq!(cpus.book(0, Nanos(100), Nanos(10)), Nanos(110));
        assert_eq!(cpus.book(0, Nanos(100), Nanos(10)), Nanos(120));
        assert_eq!(cpus.book(1, Nanos(100), Nanos(10)), Nanos(110));
        assert_eq!(cpus.busy, Nanos(30));
    }

    #[test]
    fn interrupts_do_not_wait_for_computing() {
        let mut cpus = Processors::new(2);
        cpus.book(0, Nanos(100), Nanos(1_000));
        assert_eq!(cpus.interrupt(0, Nanos(200), Nanos(5)), Nanos(205));
        assert_eq!(cpus.interrupt(0, Nanos(202), Nanos(5)), Nanos(210));
        assert_eq!(cpus.book(0, Nanos(300), Nanos(1)), Nanos(1_111));
        assert_eq!(cpus.free_first(), 1);
    }
}
