//! What both designs keep: requests, processes, queues, the active one, and the calls that are answered from these alone.

use super::dispatch_list::DispatchList;
use super::parameters::PARAMETERS;
use super::queue::{effective, AsyncQueues, Process, Queue};
use super::requests::Requests;
use crate::parameter::Setup;
use crate::processes::Processes;
use crate::request::{ProcessId, Request, RequestId};

#[derive(Clone, Debug)]
pub(super) struct Common {
    pub rotational: bool,
    /// A timer's tick has been seen: the clock does not go behind it.
    pub floor: u64,
    pub requests: Requests,
    pub processes: Processes<Process>,
    pub queues: Vec<Queue>,
    pub async_queues: AsyncQueues,
    /// Queues in the order of service.
    pub busy: u32,
    pub waiting: usize,
    pub active: Option<usize>,
    /// Process whose request began the slice.
    pub active_process: Option<usize>,
    pub list: DispatchList,
    pub idle_timer: Option<u64>,
    pub depth_samples: u32,
    pub depth_peak: u32,
    pub queue_kick: bool,
}

impl Common {
    /// `from_removed`: see [`Requests`].
    pub fn new(setup: &Setup, from_removed: bool) -> Self {
        let get = |name| setup.get(PARAMETERS, name);
        Self {
            rotational: setup.rotational,
            floor: 0,
            requests: Requests::new(
                get("back_seek_max").saturating_mul(2),
                get("back_seek_penalty"),
                from_removed,
            ),
            processes: Processes::default(),
            queues: Vec::new(),
            async_queues: AsyncQueues::default(),
            busy: 0,
            waiting: 0,
            active: None,
            active_process: None,
            list: DispatchList::default(),
            idle_timer: None,
            depth_samples: 0,
            depth_peak: 0,
            queue_kick: false,
        }
    }

    /// Asks for the queue to be run at once, unless no queue has requests.
    pub fn want_dispatch(&mut self) {
        if self.busy > 0 {
            self.queue_kick = true;
        }
    }

    /// Index of the request's process, which is made at its first request; `now` in the design's own time.
    #[inline]
    pub fn process_of(&mut self, request: &Request, now: u64) -> usize {
        self.processes
            .index_or_insert(request.process, || Process::new(request.process, now))
    }

    /// Makes a queue with class and level of the request; returns its index.
    pub fn new_queue(&mut self, request: &Request) -> usize {
        self.queues
            .push(Queue::new(request.process, request.sync, request.priority));
        self.queues.len() - 1
    }

    /// A queue of its own for the synchronous requests of a process.
    pub fn new_sync_queue(&mut self, process: usize, request: &Request) -> usize {
        let index = self.new_queue(request);
        self.processes[process].sync_queue = Some(index);
        index
    }

    /// The queue that all asynchronous requests of a priority share.
    pub fn async_queue(&mut self, process: usize, request: &Request) -> usize {
        let (class, level) = effective(request.priority);
        let index = match *self.async_queues.at(class, level) {
            Some(index) => index,
            None => self.new_queue(request),
        };
        *self.async_queues.at(class, level) = Some(index);
        self.processes[process].async_queue = Some(index);
        index
    }

    /// The active queue has neither processes nor requests any more.
    pub fn is_unused(&self, index: usize) -> bool {
        let queue = &self.queues[index];
        queue.users == 0
            && queue.in_flight == 0
            && queue.waiting.is_empty()
            && self.active == Some(index)
    }

    /// A process ends; its queues are given, the asynchronous one first.
    pub fn end_process(&mut self, process: ProcessId) -> impl Iterator<Item = usize> {
        let queues = self.processes.index(process).map(|index| {
            let person = &mut self.processes[index];
            person.exited = true;
            [person.async_queue.take(), person.sync_queue.take()]
        });
        queues.into_iter().flatten().flatten()
    }

    /// The queue that a bio's request would be put into.
    fn queue_of_bio(&self, bio: &Request) -> Option<usize> {
        let person = &self.processes[self.processes.index(bio.process)?];
        if bio.sync {
            person.sync_queue
        } else {
            person.async_queue
        }
    }

    /// Both are of the same queue, and a sync bio does not join an async request.
    pub fn may_merge(&self, request: &Request, bio: &Request) -> bool {
        let slot = self.requests.slot(request.id);
        if slot.gone || (bio.sync && !slot.sync) {
            return false;
        }
        self.queue_of_bio(bio) == Some(slot.queue as usize)
    }

    /// The oldest request of the bio's queue that starts where the bio ends; None if there is none.
    pub fn front_merge_candidate(&self, bio: &Request) -> Option<RequestId> {
        self.queues[self.queue_of_bio(bio)?]
            .waiting
            .starting_at(bio.end())
    }

    /// The next request in sector order in the same queue; None at its end.
    pub fn neighbour_after(&self, id: RequestId) -> Option<RequestId> {
        let queue = &self.queues[self.requests.slot(id).queue as usize];
        self.requests.after(&queue.waiting, id)
    }

    /// The previous request in sector order in the same queue; None at its start.
    pub fn neighbour_before(&self, id: RequestId) -> Option<RequestId> {
        let queue = &self.queues[self.requests.slot(id).queue as usize];
        self.requests.before(&queue.waiting, id)
    }

    /// Into its queue's list of requests to be sorted in next: at its new place after a front merge.
    pub fn move_start(&mut self, id: RequestId, start: seekwise_units::Lba) {
        let index = self.requests.slot(id).queue as usize;
        self.requests
            .move_start(&mut self.queues[index].waiting, id, start);
    }

    /// The name of the active queue.
    pub fn active_name(&self) -> String {
        self.active
            .map_or("none".to_owned(), |index| self.queues[index].name())
    }

    /// Queues of an order of service, each at its key.
    pub fn order(&self, service_tree: &super::service_tree::ServiceTree) -> String {
        let order: Vec<_> = service_tree
            .iter()
            .map(|(index, key)| format!("{} at {key}", self.queues[index].name()))
            .collect();
        order.join(", ")
    }

    /// A queue in words; `own`: what only one design knows of it.
    pub fn queue_in_words(&self, queue: &Queue, own: &str) -> String {
        let slice = if queue.fresh {
            "fresh".to_owned()
        } else {
            format!("until {}", queue.slice_ends)
        };
        let merged = queue.merge_into.map_or(String::new(), |into| {
            format!(", to be merged into {}", self.queues[into].name())
        });
        format!(
            "{}: {:?} {}; {}; in flight {}; slice {slice}, {} taken; residual {}; idle window {}, awaited {}, must dispatch {}{own}; \
             users {}{merged}\n",
            queue.name(),
            queue.class,
            queue.level,
            self.requests.words(&queue.waiting),
            queue.in_flight,
            queue.taken,
            queue.residual,
            queue.idle_window,
            queue.awaited,
            queue.must_dispatch,
            queue.users,
        )
    }
}
