//! Every policy, one row each: command-line choices, `seekwise explain`, studies and replay read this table.
//!
//! A row names the variant, the type (`TYPE::new(&Setup)` builds it), the kernel's name, the kernels that have it, its
//! tunables (`&[Parameter]`) and a sentence. Dispatch is by `match`, not through a vtable: it sits on the simulator's hot path.

use crate::kernel::Version;
use crate::parameter::{between, since, Kernels, Parameter, Setup};
use crate::request::{ProcessId, Request, RequestId};
use crate::scheduler::Scheduler;
use crate::tag_words::{Asking, TagWords};
use seekwise_units::{Lba, Nanos, Sectors};

/// A policy as the registry shows it.
pub struct Entry {
    /// Name in `queue/scheduler`.
    pub name: &'static str,
    pub kernels: Kernels,
    pub parameters: &'static [Parameter],
    pub summary: &'static str,
    build: fn(&Setup) -> AnyScheduler,
}

impl core::fmt::Debug for Entry {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name)
    }
}

impl Entry {
    /// Starts the policy; an error is one sentence.
    pub fn build(&self, setup: &Setup) -> Result<AnyScheduler, String> {
        if !self.kernels.contains(setup.kernel.version) {
            return Err(format!(
                "Linux {} has no {} (it is in {})",
                setup.kernel.version, self.name, self.kernels
            ));
        }
        let mut checked = crate::parameter::Values::default();
        for (name, value) in setup.values.iter() {
            checked.set(
                self.name,
                self.parameters,
                &setup.kernel,
                name,
                value.into(),
            )?;
        }
        Ok((self.build)(setup))
    }
}

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

macro_rules! schedulers {
    ($($variant:ident, $type:ty, $name:literal, $kernels:expr, $parameters:expr, $summary:literal;)*) => {
        /// Any policy of the registry.
        #[allow(clippy::large_enum_variant)] // One per queue, never moved on the hot path.
        #[derive(Clone)]
        pub enum AnyScheduler { $($variant($type)),* }

        pub const ENTRIES: &[Entry] = &[$(Entry {
            name: $name,
            kernels: $kernels,
            parameters: $parameters,
            summary: $summary,
            build: |setup| AnyScheduler::$variant(<$type>::new(setup)),
        }),*];

        macro_rules! forward {
            ($self:ident, $policy:ident => $call:expr) => {
                match $self { $(AnyScheduler::$variant($policy) => $call),* }
            };
        }
    };
}

/// Single-queue policies went with the single queue in Linux 5.0.
const fn single_queue(since: Version) -> Kernels {
    between(since, Version(5, 0, 0))
}

schedulers! {
    Anticipatory, crate::anticipatory::Anticipatory, "anticipatory", between(Version(2, 6, 0), Version(2, 6, 33)), crate::anticipatory::PARAMETERS, "waits for the process just served, so that a reader is not torn away from its place";
    Cfq, crate::cfq::Cfq, "cfq", single_queue(Version(2, 6, 18)), crate::cfq::PARAMETERS, "a queue per process, time slices by priority, a moment of idling for the process just served";
    Noop, crate::noop::Noop, "noop", single_queue(Version(2, 6, 0)), crate::noop::PARAMETERS, "first come, first served; merges only";
    Deadline, crate::deadline::Deadline, "deadline", single_queue(Version(2, 6, 0)), crate::deadline::PARAMETERS, "sorted batches, reads first, each request with an expiry time";
    None, crate::none::None, "none", since(3, 13, 0), crate::none::PARAMETERS, "no policy: software queues drained in turn";
    MqDeadline, crate::mq_deadline::MqDeadline, "mq-deadline", since(4, 11, 0), crate::mq_deadline::PARAMETERS, "deadline for multi-queue, since 5.14 once per priority class";
    Bfq, crate::bfq::Bfq, "bfq", since(4, 12, 0), crate::bfq::PARAMETERS, "a queue per process, budgets by weight, waits for the process just served where it pays, prefers what just started";
    Kyber, crate::kyber::Kyber, "kyber", since(4, 12, 0), crate::kyber::PARAMETERS, "tokens for reads and writes, adjusted to latency targets";
}

impl Scheduler for AnyScheduler {
    #[inline]
    fn insert(&mut self, now: Nanos, request: &Request) {
        forward!(self, policy => policy.insert(now, request))
    }
    #[inline]
    fn dispatch(&mut self, now: Nanos) -> Option<RequestId> {
        forward!(self, policy => policy.dispatch(now))
    }
    #[inline]
    fn pass(&mut self, now: Nanos, request: &Request) -> bool {
        forward!(self, policy => policy.pass(now, request))
    }
    #[inline]
    fn insert_and_dispatch(&mut self, now: Nanos, request: &Request) -> bool {
        forward!(self, policy => policy.insert_and_dispatch(now, request))
    }
    fn dispatch_forced(&mut self, now: Nanos, id: RequestId) {
        forward!(self, policy => policy.dispatch_forced(now, id))
    }
    #[inline]
    fn issued(&mut self, now: Nanos, id: RequestId) {
        forward!(self, policy => policy.issued(now, id))
    }
    #[inline]
    fn complete(&mut self, now: Nanos, request: &Request) {
        forward!(self, policy => policy.complete(now, request))
    }
    #[inline]
    fn waiting(&self) -> usize {
        forward!(self, policy => policy.waiting())
    }
    #[inline]
    fn timer(&self) -> Option<Nanos> {
        forward!(self, policy => policy.timer())
    }
    fn slots_ended(&self) -> u32 {
        forward!(self, policy => policy.slots_ended())
    }
    fn fire(&mut self, now: Nanos) -> bool {
        forward!(self, policy => policy.fire(now))
    }
    fn may_merge(&self, request: &Request, bio: &Request) -> bool {
        forward!(self, policy => policy.may_merge(request, bio))
    }
    fn neighbour_after(&self, id: RequestId) -> Option<RequestId> {
        forward!(self, policy => policy.neighbour_after(id))
    }
    fn neighbour_before(&self, id: RequestId) -> Option<RequestId> {
        forward!(self, policy => policy.neighbour_before(id))
    }
    fn front_merge_candidate(&self, bio: &Request) -> Option<RequestId> {
        forward!(self, policy => policy.front_merge_candidate(bio))
    }
    fn grown(&mut self, now: Nanos, id: RequestId, start: Lba, sectors: Sectors) {
        forward!(self, policy => policy.grown(now, id, start, sectors))
    }
    fn joined(&mut self, now: Nanos, kept: RequestId, gone: RequestId) {
        forward!(self, policy => policy.joined(now, kept, gone))
    }
    fn tag_depth(&self, asking: Asking, words: TagWords) -> Option<u32> {
        forward!(self, policy => policy.tag_depth(asking, words))
    }
    fn tag_depth_min(&self, words: TagWords) -> Option<u32> {
        forward!(self, policy => policy.tag_depth_min(words))
    }
    #[inline]
    fn run_wish_waits(&self) -> bool {
        forward!(self, policy => policy.run_wish_waits())
    }

    fn take_run_wish(&mut self) -> bool {
        forward!(self, policy => policy.take_run_wish())
    }
    fn describe(&self, now: Nanos, out: &mut String) {
        forward!(self, policy => policy.describe(now, out))
    }
    fn process_exits(&mut self, now: Nanos, process: ProcessId) {
        forward!(self, policy => policy.process_exits(now, process))
    }
}
