//! The inner state in words. Its parts are `inline` for the crate's sake: as functions of their own they change how the compiler divides the
//! crate, and bfq takes 1.3 % more instructions.

use super::*;
use crate::cfq::queue::Process;

const KIND_NAMES: [&str; KINDS] = ["async", "sync without idling", "sync"];

impl WorkloadTrees {
    /// Appends the state at `now` to `out`, one fact a line.
    pub fn describe(&self, now: Nanos, out: &mut String) {
        let now = self.time(now);
        let active = self.common.active_name();
        *out += &format!(
            "time {now}; serving {:?} {} until {}; saved {:?}; active queue {active}; idle timer {:?}; busy queues {} ({} sync); \
             in the driver {}; in flight {:?}; last end {}; device queues: {:?}\n",
            self.serving.class,
            KIND_NAMES[self.serving.kind],
            self.serving.ends,
            self.saved,
            self.common.idle_timer,
            self.common.busy,
            self.busy_sync,
            self.in_driver,
            self.in_flight,
            self.common.requests.last_end.0,
            self.queueing_device,
        );
        for (index, tree) in self
            .trees
            .iter()
            .enumerate()
            .filter(|(_, tree)| !tree.queues.is_empty())
        {
            *out += &self.tree_in_words(index, tree);
        }
        for queue in &self.common.queues {
            let own = format!(
                ", wait busy {}, deep {}; seeks {:032b}",
                queue.wait_busy,
                queue.deep,
                queue.seek_history.history()
            );
            *out += &self.common.queue_in_words(queue, &own);
        }
        for person in self.common.processes.iter() {
            *out += &process_in_words(person);
        }
    }

    /// The service tree at `index`: workload, order of service, think time.
    #[inline]
    fn tree_in_words(&self, index: usize, tree: &Tree) -> String {
        let order = self.common.order(&tree.queues);
        let kind = if index == TREE_IDLE {
            "all"
        } else {
            KIND_NAMES[index % KINDS]
        };
        let class = ["best effort", "real-time", "idle"][index / KINDS];
        format!(
            "{class}, {kind}: {order}; think {} ({})\n",
            tree.think.mean, tree.think.samples
        )
    }
}

/// What is known of a process.
#[inline]
fn process_in_words(process: &Process) -> String {
    format!(
        "p{}: thinks {} ({}){}, last completion {}{}\n",
        process.id.0,
        process.think.mean,
        process.think.samples,
        if is_valid(&process.think) {
            ""
        } else {
            ", too few samples"
        },
        process.last_completion,
        if process.exited { ", ended" } else { "" }
    )
}
