//! cfq: a queue per process, time slices by priority, a moment of idling for the process just served.
//!
//! Two designs stand behind the name, each with generations of its own:
//!
//!   until 2.6.32   [`single_tree`]: queues stand in one order of service (rounds of several requests until 2.6.29).
//!   2.6.33 on      [`workload_trees`]: an order of service per class and kind of load, slices scaled to a target latency.
//!
//! What both share: requests of a queue ([`requests`]), the order of service ([`service_tree`]), tunables ([`parameters`]).

mod clock;
mod common;
mod dispatch_list;
mod parameters;
mod queue;
mod requests;
mod service_tree;
mod single_tree;
mod workload_trees;

use crate::about::{single_queue, About, Chart, MergeRule};
use crate::kernel::{Kernel, Version};
use crate::parameter::Setup;
use crate::request::{ProcessId, Request, RequestId};
use crate::scheduler::Scheduler;
pub use parameters::PARAMETERS;
use seekwise_units::{Lba, Nanos, Sectors};
use single_tree::SingleTree;
use workload_trees::WorkloadTrees;

/// Row of the registry.
pub const ABOUT: About = About {
    name: "cfq",
    kernels: single_queue(Version(2, 6, 18)),
    parameters: PARAMETERS,
    summary: "a queue per process, time slices by priority, a moment of idling for the process just served",
    // No published figure: bfq's is taken (queues per process, timers).
    cost_ns: 1900,
    merge_rule: MergeRule::Hash,
    module: None,
    reset_to: &[],
    chart: Chart { colour: "#D55E00", dash: &[2, 2], marker: "triangle-up" },
    required_per_mille: 980,
    trials: &[],
    // It measures think times and seeks of each process.
    settles_at_once: false,
};

/// From 4.8 on cfq keeps time in nanoseconds, before in ticks.
fn counts_nanoseconds(kernel: &Kernel) -> bool {
    kernel.at_least(4, 8, 0)
}

#[allow(clippy::large_enum_variant)] // One per block device.
#[derive(Clone, Debug)]
enum Design {
    SingleTree(SingleTree),
    WorkloadTrees(WorkloadTrees),
}

#[derive(Clone, Debug)]
pub struct Cfq(Design);

impl Cfq {
    /// An empty scheduler of the design that the kernel of `setup` has.
    pub fn new(setup: &Setup) -> Self {
        if setup.kernel.at_least(2, 6, 33) {
            Self(Design::WorkloadTrees(WorkloadTrees::new(setup)))
        } else {
            Self(Design::SingleTree(SingleTree::new(setup)))
        }
    }
}

macro_rules! forward {
    ($self:ident, $design:ident => $call:expr) => {
        match &$self.0 {
            Design::SingleTree($design) => $call,
            Design::WorkloadTrees($design) => $call,
        }
    };
    (mut $self:ident, $design:ident => $call:expr) => {
        match &mut $self.0 {
            Design::SingleTree($design) => $call,
            Design::WorkloadTrees($design) => $call,
        }
    };
}

impl Scheduler for Cfq {
    #[inline]
    fn insert(&mut self, now: Nanos, request: &Request) {
        forward!(mut self, design => design.insert(now, request))
    }
    #[inline]
    fn dispatch(&mut self, now: Nanos) -> Option<RequestId> {
        forward!(mut self, design => design.dispatch(now))
    }
    fn dispatch_forced(&mut self, now: Nanos, id: RequestId) {
        forward!(mut self, design => design.dispatch_forced(now, id))
    }
    #[inline]
    fn complete(&mut self, now: Nanos, request: &Request) {
        forward!(mut self, design => design.complete(now, request))
    }
    #[inline]
    fn waiting(&self) -> usize {
        forward!(self, design => design.common.waiting)
    }
    #[inline]
    fn timer(&self) -> Option<Nanos> {
        forward!(self, design => design.timer())
    }
    fn fire(&mut self, now: Nanos) -> bool {
        forward!(mut self, design => design.fire(now))
    }
    fn may_merge(&self, request: &Request, bio: &Request) -> bool {
        forward!(self, design => design.common.may_merge(request, bio))
    }
    fn neighbour_after(&self, id: RequestId) -> Option<RequestId> {
        forward!(self, design => design.common.neighbour_after(id))
    }
    fn neighbour_before(&self, id: RequestId) -> Option<RequestId> {
        forward!(self, design => design.common.neighbour_before(id))
    }
    fn front_merge_candidate(&self, bio: &Request) -> Option<RequestId> {
        forward!(self, design => design.common.front_merge_candidate(bio))
    }
    fn grown(&mut self, now: Nanos, id: RequestId, start: Lba, sectors: Sectors) {
        forward!(mut self, design => design.grown(now, id, start, sectors))
    }
    fn joined(&mut self, now: Nanos, kept: RequestId, gone: RequestId) {
        forward!(mut self, design => design.joined(now, kept, gone))
    }
    fn take_queue_kick(&mut self) -> bool {
        forward!(mut self, design => core::mem::take(&mut design.common.queue_kick))
    }
    fn describe(&self, now: Nanos, out: &mut String) {
        forward!(self, design => design.describe(now, out))
    }
    fn process_exits(&mut self, now: Nanos, process: ProcessId) {
        forward!(mut self, design => design.process_exits(now, process))
    }
}
