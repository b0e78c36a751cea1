//! The inner state in words.

use super::*;
use crate::request::words;

impl SingleTree {
    /// Appends the state at `now` to `out`, one fact a line.
    pub fn describe(&self, now: Nanos, out: &mut String) {
        let now = self.ticks(now);
        let active = self.common.active_name();
        *out += &format!(
            "tick {now}; active queue {active}; idle timer {:?}; class timer {:?}; busy queues {}; in the driver {} sync {} async; \
             last end {}; device queues: {}; last sync completion {}\n",
            self.common.idle_timer,
            self.class_timer,
            self.common.busy,
            self.in_driver[SYNC],
            self.in_driver[ASYNC],
            self.common.requests.last_end.0,
            self.queueing_device,
            self.last_sync_completion,
        );
        *out += &format!(
            "order of service: {}\n",
            self.common.order(&self.service_tree)
        );
        *out += &format!("dispatch list: {}\n", words(self.common.list.iter()));
        for queue in &self.common.queues {
            let own = format!("; mean seek {} ({})", queue.seek.mean, queue.seek.samples);
            *out += &self.common.queue_in_words(queue, &own);
        }
        for person in self.common.processes.iter() {
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
