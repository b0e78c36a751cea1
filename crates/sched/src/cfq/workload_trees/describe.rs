//! The inner state in words.

use super::*;

const KIND_NAMES: [&str; KINDS] = ["async", "sync without idling", "sync"];

impl WorkloadTrees {
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
            let order = self.common.order(&tree.queues);
            let kind = if index == TREE_IDLE {
                "all"
            } else {
                KIND_NAMES[index % KINDS]
            };
            let class = ["best effort", "real-time", "idle"][index / KINDS];
            *out += &format!(
                "{class}, {kind}: {order}; think {} ({})\n",
                tree.think.mean, tree.think.samples
            );
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
            *out += &format!(
                "p{}: thinks {} ({}){}, last completion {}{}\n",
                person.id.0,
                person.think.mean,
                person.think.samples,
                if is_valid(&person.think) {
                    ""
                } else {
                    ", too few samples"
                },
                person.last_completion,
                if person.exited { ", ended" } else { "" }
            );
        }
    }
}
