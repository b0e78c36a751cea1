//! The inner state in words.

use super::*;

const KIND_NAMES: [&str; KINDS] = ["async", "sync without idling", "sync"];

impl Trees {
    pub fn describe(&self, now: Nanos, out: &mut String) {
        let now = self.time(now);
        let active = self
            .active
            .map_or("none".to_owned(), |index| self.queues[index].name());
        *out += &format!(
            "time {now}; serving {:?} {} until {}; saved {:?}; active queue {active}; idle timer {:?}; busy queues {} ({} sync); \
             in the driver {}; in flight {:?}; last end {}; device queues: {:?}\n",
            self.serving.class,
            KIND_NAMES[self.serving.kind],
            self.serving.ends,
            self.saved,
            self.idle_timer,
            self.busy,
            self.busy_sync,
            self.in_driver,
            self.in_flight,
            self.requests.last_end.0,
            self.queueing_device,
        );
        for (index, tree) in self
            .trees
            .iter()
            .enumerate()
            .filter(|(_, tree)| !tree.turns.is_empty())
        {
            let order: Vec<_> = tree
                .turns
                .iter()
                .map(|(queue, key)| format!("{} at {key}", self.queues[queue].name()))
                .collect();
            let kind = if index == TREE_IDLE {
                "all"
            } else {
                KIND_NAMES[index % KINDS]
            };
            let class = ["best effort", "real-time", "idle"][index / KINDS];
            *out += &format!(
                "{class}, {kind}: {}; think {} ({})\n",
                order.join(", "),
                tree.think.mean,
                tree.think.samples
            );
        }
        for queue in &self.queues {
            *out += &format!(
                "{}: {:?} {}; {}; in flight {}; slice {}, {} taken; residual {}; idle window {}, awaited {}, must dispatch {}, \
                 wait busy {}, deep {}; seeks {:032b}; users {}{}\n",
                queue.name(),
                queue.class,
                queue.level,
                self.requests.words(&queue.waiting),
                queue.in_flight,
                if queue.fresh { "fresh".to_owned() } else { format!("until {}", queue.slice_ends) },
                queue.taken,
                queue.residual,
                queue.idle_window,
                queue.awaited,
                queue.must_dispatch,
                queue.wait_busy,
                queue.deep,
                queue.seek_history.history(),
                queue.users,
                queue.merge_into.map_or(String::new(), |into| format!(", to be merged into {}", self.queues[into].name())),
            );
        }
        for person in self.processes.iter() {
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
