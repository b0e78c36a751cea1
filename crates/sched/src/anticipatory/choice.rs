//! Batches, and the request to dispatch.

use super::*;

impl Anticipatory {
    pub(super) fn batch_expired(&self, jiffies: u64) -> bool {
        if self.changing || self.untimed {
            return false;
        }
        jiffies as i64 > self.batch_ends || (self.batch == ASYNC && self.async_left == 0)
    }

    /// The oldest request of a class if it has expired; looked at once per expiry time.
    pub(super) fn expired_head(&mut self, jiffies: u64, class: usize) -> Option<RequestId> {
        if jiffies - self.fifo_checked[class] < self.expire_ticks[class] {
            return None;
        }
        self.fifo_checked[class] = jiffies;
        self.fifo[class]
            .head()
            .filter(|head| jiffies > self.slot(*head).expires)
    }

    /// What the batch goes on with; `Err` when the device is left idle, `Ok(None)` when the batch has nothing.
    pub(super) fn continue_batch(
        &mut self,
        jiffies: u64,
        reads: bool,
        writes: bool,
    ) -> Result<Option<RequestId>, ()> {
        let best = self.next[self.batch];
        if self.batch == SYNC && self.antic_ticks > 0 {
            if let Some(expired) = self.expired_head(jiffies, SYNC) {
                return Ok(Some(expired));
            }
            if self.may_wait(jiffies, best) {
                if self.waiting_for == Waiting::Off {
                    if self.completed {
                        self.wait_for_next(jiffies);
                    } else {
                        self.waiting_for = Waiting::ItsCompletion;
                    }
                }
                return Err(());
            }
        }
        if best.is_some() && reads && !writes {
            self.batch_ends = (jiffies + self.batch_ticks[SYNC]) as i64;
        }
        Ok(best.map(|id| self.expired_head(jiffies, self.batch).unwrap_or(id)))
    }

    /// A new batch: sync unless the last one was and async requests wait.
    pub(super) fn begin_batch(
        &mut self,
        jiffies: u64,
        reads: bool,
        writes: bool,
    ) -> Option<RequestId> {
        let class = if reads && !(writes && self.batch == SYNC) {
            SYNC
        } else {
            ASYNC
        };
        let oldest = self.fifo[class].head();
        self.switch_to(class);
        self.fifo_checked[class] = jiffies;
        let first = if class == ASYNC && !self.async_from_oldest {
            self.next[ASYNC].or(oldest)
        } else {
            oldest
        };
        self.expired_head(jiffies, class).or(first)
    }

    pub(super) fn switch_to(&mut self, class: usize) {
        if class != self.batch {
            self.changing = true;
        }
        if class == ASYNC {
            if self.batch == SYNC {
                self.untimed = false;
            }
            self.async_left = self.async_budget;
            self.async_idled = false;
        }
        self.batch = class;
    }

    /// The change of class is through: its clock starts.
    pub(super) fn changed(&mut self, jiffies: u64) {
        if self.batch == ASYNC {
            self.batch_ends = (jiffies + self.batch_ticks[ASYNC]) as i64;
        } else {
            self.untimed = true;
        }
        self.changing = false;
    }

    pub(super) fn choose(&mut self, jiffies: u64) -> Option<RequestId> {
        let (reads, writes) = (!self.fifo[SYNC].is_empty(), !self.fifo[ASYNC].is_empty());
        if self.batch == ASYNC && !reads && (self.async_left == 0 || !writes) {
            self.async_idled = true;
        }
        let holds = matches!(self.waiting_for, Waiting::ItsCompletion | Waiting::ItsNext);
        if !(reads || writes) || holds || self.changing {
            return None;
        }
        let mut choice = None;
        if !(reads && writes && self.batch_expired(jiffies)) {
            choice = self.continue_batch(jiffies, reads, writes).ok()?;
        }
        let choice = match choice {
            Some(id) => id,
            None => self.begin_batch(jiffies, reads, writes)?,
        };
        if self.changing {
            if self.in_driver > 0 {
                return None;
            }
            self.changed(jiffies);
        }
        Some(choice)
    }

    /// The first sync request after an async batch completes: the budget of async batches follows the time this one took.
    pub(super) fn adapt_async_budget(&mut self, jiffies: u64) {
        let target = self.batch_ticks[ASYNC];
        let took = ((jiffies + target) as i64 - self.batch_ends).max(0) as u64;
        if took > target && !self.async_idled {
            if took > target * 3 {
                self.async_budget /= 2;
            } else {
                self.async_budget -= 1;
            }
        } else if took < target && self.async_left == 0 {
            if target > took * 3 {
                self.async_budget = self.async_budget.saturating_mul(2);
            } else {
                self.async_budget += 1;
            }
        }
        self.async_budget = self.async_budget.max(1);
    }
}
