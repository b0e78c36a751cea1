//! The inner state in words.

use super::*;

impl OneTree {
    pub fn describe(&self, now: Nanos, out: &mut String) {
        let now = self.ticks(now);
        let active = self
            .active
            .map_or("none".to_owned(), |index| self.queues[index].name());
        *out += &format!(
            "tick {now}; active queue {active}; idle timer {:?}; class timer {:?}; busy queues {}; in the driver {} sync {} async; \
             last end {}; device queues: {}; last sync completion {}\n",
            self.idle_timer,
            self.class_timer,
            self.busy,
            self.in_driver[SYNC],
            self.in_driver[ASYNC],
            self.requests.last_end.0,
            self.queueing_device,
            self.last_sync_completion,
        );
        let order: Vec<_> = self
            .turns
            .iter()
            .map(|(index, key)| format!("{} at {key}", self.queues[index].name()))
            .collect();
        *out += &format!("order of service: {}\n", order.join(", "));
        if !self.list.is_empty() {
            let ids: Vec<_> = self.list.iter().map(|id| format!("#{}", id.0)).collect();
            *out += &format!("dispatch list: {}\n", ids.join(" "));
        }
        for queue in &self.queues {
            *out += &format!(
                "{}: {:?} {}; {}; in flight {}; slice {}, {} taken; residual {}; idle window {}, awaited {}, must dispatch {}; \
                 mean seek {} ({}); users {}{}\n",
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
                queue.seek.mean,
                queue.seek.samples,
                queue.users,
                queue.merge_into.map_or(String::new(), |into| format!(", to be merged into {}", self.queues[into].name())),
            );
        }
        for person in self.processes.iter() {
            *out += &format!(
                "p{}: thinks {} ticks ({}), seeks {} ({}), last completion {}{}\n",
                person.id.0,
                person.think.mean,
                person.think.samples,
                person.seek.mean,
                person.seek.samples,
                person.last_completion,
                if person.exited { ", ended" } else { "" }
            );
        }
    }
}
