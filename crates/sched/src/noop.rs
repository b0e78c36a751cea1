//! noop: first come, first served.
//!
//! One list. Reordering is left to the device, but requests still merge, so read-ahead and write-back form large ones.
//!
//! Modelled:      the list; neighbours in it are the only ones it can coalesce.
//! Not modelled:  nothing else exists.
//! Source:        behaviour of Linux 2.6.23 to 4.19 block/noop-iosched.c.

use crate::about::{single_queue, About, Chart, MergeRule};
use crate::fifo::{Fifo, Links};
use crate::kernel::Version;
use crate::parameter::{Parameter, Setup};
use crate::request::{Request, RequestId};
use crate::scheduler::Scheduler;
use seekwise_units::{Lba, Nanos, Sectors};

/// Row of the registry.
pub const ABOUT: About = About {
    name: "noop",
    kernels: single_queue(Version(2, 6, 0)),
    parameters: PARAMETERS,
    summary: "first come, first served; merges only",
    cost_ns: 0,
    merge_rule: MergeRule::Hash,
    module: None,
    reset_to: &[],
    chart: Chart {
        colour: "#000000",
        dash: &[1, 0],
        marker: "circle",
    },
    required_per_mille: 995,
    trials: &[],
    settles_at_once: true,
};

/// noop has no tunables.
pub const PARAMETERS: &[Parameter] = &[];

#[derive(Clone, Debug, Default)]
pub struct Noop {
    list: Fifo,
    links: Links,
}

impl Noop {
    /// An empty list; there is nothing to tune.
    pub fn new(_setup: &Setup) -> Self {
        Self::default()
    }
}

impl Scheduler for Noop {
    #[inline]
    fn insert(&mut self, _now: Nanos, request: &Request) {
        self.list.push_back(&mut self.links, request.id);
    }

    #[inline]
    fn dispatch(&mut self, _now: Nanos) -> Option<RequestId> {
        self.list.pop_front(&mut self.links)
    }

    #[inline]
    fn pass(&mut self, _now: Nanos, _request: &Request) -> bool {
        self.list.is_empty()
    }

    fn dispatch_forced(&mut self, _now: Nanos, id: RequestId) {
        self.list.remove(&mut self.links, id);
    }

    #[inline]
    fn complete(&mut self, _now: Nanos, _request: &Request) {}

    #[inline]
    fn waiting(&self) -> usize {
        self.list.len()
    }

    fn neighbour_after(&self, id: RequestId) -> Option<RequestId> {
        self.list.after(&self.links, id)
    }

    fn neighbour_before(&self, id: RequestId) -> Option<RequestId> {
        self.list.before(&self.links, id)
    }

    fn grown(&mut self, _now: Nanos, _id: RequestId, _start: Lba, _sectors: Sectors) {}

    fn joined(&mut self, _now: Nanos, _kept: RequestId, gone: RequestId) {
        self.list.remove(&mut self.links, gone);
    }

    fn describe(&self, _now: Nanos, out: &mut String) {
        *out += &format!("list, oldest first: {}\n", self.list.words(&self.links));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{read, setup};

    #[test]
    fn serves_in_order_of_arrival_whatever_the_sector() {
        let mut noop = Noop::new(&setup("2.6.32"));
        for (id, sector) in [(0, 900), (1, 100), (2, 500)] {
            noop.insert(Nanos(0), &read(id, sector));
        }
        let order: Vec<_> = core::iter::from_fn(|| noop.dispatch(Nanos(0)))
            .map(|id| id.0)
            .collect();
        assert_eq!(order, [0, 1, 2]);
    }

    #[test]
    fn a_joined_request_leaves_and_the_kept_one_stays_in_place() {
        let mut noop = Noop::new(&setup("2.6.32"));
        for (id, sector) in [(0, 0), (1, 8), (2, 500)] {
            noop.insert(Nanos(0), &read(id, sector));
        }
        assert_eq!(noop.neighbour_after(RequestId(0)), Some(RequestId(1)));
        noop.joined(Nanos(0), RequestId(0), RequestId(1));
        assert_eq!(noop.neighbour_after(RequestId(0)), Some(RequestId(2)));
        assert_eq!(noop.neighbour_before(RequestId(2)), Some(RequestId(0)));
        assert_eq!(noop.waiting(), 2);
    }
}
