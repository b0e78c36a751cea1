//! What an operation costs a processor, step by step.
//!
//! Every number is one of three kinds, and says so: *fitted* to rows of `given.csv` with one process or one core, *chosen* from what is known
//! of kernel and hardware, or nothing at all of the kind: how several cores share a lock is foretold from them.

use seekwise_host::cpu::CpuCost;
use seekwise_sched::Kernel;
use seekwise_units::Nanos;

/// What a processor does for one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCosts {
    /// Program, system call, bio and request, doorbell; with the program's share of reaping.
    pub submit: Nanos,
    /// Interrupt, completion, waking the process that waits.
    pub interrupt: Nanos,
    /// Sleeping and being put on the processor again.
    pub switch: Nanos,
    /// More for each doubling of the processes of a core beyond those whose data its caches hold.
    pub switch_cold: Nanos,
    pub cached_processes: u32,
    /// More of the path of a request that passes any scheduler: scheduler tags, running the queue. Not under the scheduler's lock.
    pub path: Nanos,
    /// A kernel worker dispatches: waking it and coming back.
    pub worker: Nanos,
    /// A section under a lock whose last holder was another core: its lines (lock, lists, tree, neighbours) are fetched from there.
    pub transfer: Nanos,
}

impl Default for HostCosts {
    fn default() -> Self {
        let light = CpuCost::light();
        Self {
            // Fitted: one process that saturates a core without scheduler, 354 to 383 k/s (depth, one core; processes and depth); how the
            // sum is divided is chosen.
            submit: light.user + light.submit,
            interrupt: light.interrupt,
            // Fitted: 16 processes of depth 1 on one core, 162 k/s; 256 of them, 120 k/s (processes, one core).
            switch: light.wake,
            switch_cold: Nanos(530),
            cached_processes: 16,
            // Chosen: of the 0.58 us that mq-deadline and the 0.7 us that kyber cost more than none on one core.
            path: Nanos(280),
            // Chosen: two switches; the authors say that unpatched kernels reach about half of the rate, which is 3.3 us of mq-deadline's.
            worker: Nanos(3_300),
            // Chosen: eight or nine lines of about 70 ns from another core's cache (Intel mesh, 2 to 2.5 GHz). Independent of any lock case of
            // given.csv, which holds none; the caps that it gives were known when it was chosen.
            transfer: Nanos(600),
        }
    }
}

/// Sections of a scheduler under its lock, once per request each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sections {
    /// There is a lock at all.
    pub locked: bool,
    pub merge: Nanos,
    pub insert: Nanos,
    pub dispatch: Nanos,
    /// None: completion takes no lock.
    pub finish: Option<Nanos>,
    /// The look-up for a merge is skipped while the lock is held by another.
    pub merge_skipped: bool,
}

impl Sections {
    /// Of the scheduler called `name`. The sums are fitted to one process on one core (depth, one core): 0.30 us of mq-deadline, 1.13 us of bfq
    /// and 0.42 us of kyber besides [`HostCosts::path`]; their parts are chosen.
    ///
    /// Which sections there are: Linux 6.3 block/mq-deadline.c (dd_bio_merge, dd_insert_requests, dd_dispatch_request; dd_finish_request takes no
    /// lock unless the drive has zones), block/bfq-iosched.c (bfq_bio_merge, bfq_insert_requests, bfq_dispatch_request,
    /// bfq_finish_requeue_request), block/kyber-iosched.c (its lists have a lock per software queue, which nobody else wants).
    /// Skipping the look-up was posted in January 2024 (J. Axboe, "block/mq-deadline: skip expensive merge lookups if contended") and is in no release up
    /// to 6.12: `merge_skipped` is for kernels with that patch.
    pub fn of(name: &str, _kernel: &Kernel) -> Option<Self> {
        let sections = |merge, insert, dispatch, finish: Option<u64>| Self {
            locked: true,
            merge: Nanos(merge),
            insert: Nanos(insert),
            dispatch: Nanos(dispatch),
            finish: finish.map(Nanos),
            merge_skipped: false,
        };
        match name {
            "mq-deadline" => Some(sections(60, 110, 130, None)),
            "bfq" => Some(sections(130, 400, 370, Some(230))),
            "kyber" => Some(Self {
                locked: false,
                ..sections(80, 120, 220, None)
            }),
            _ => None,
        }
    }

    /// Processor time of all sections of one operation, without waiting for the lock.
    pub fn work(&self) -> Nanos {
        self.merge + self.insert + self.dispatch + self.finish.unwrap_or_default()
    }
}
