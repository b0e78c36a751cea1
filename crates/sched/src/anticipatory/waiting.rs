//! For whom the device is left idle, and what ends the wait.

use super::*;

impl Anticipatory {
    pub(super) fn stop_waiting(&mut self) {
        if matches!(self.waiting_for, Waiting::ItsCompletion | Waiting::ItsNext) {
            self.waiting_for = Waiting::Done;
            self.timer = None;
            self.queue_kick = true;
        }
    }

    pub(super) fn wait_for_next(&mut self, jiffies: u64) {
        self.waiting_for = Waiting::ItsNext;
        // A timer whose tick has passed fires with the next tick.
        self.timer = Some((self.since + self.antic_ticks).max(jiffies + 1));
    }

    pub(super) fn waited_enough(&self, jiffies: u64) -> bool {
        jiffies - self.since >= self.antic_ticks
    }

    /// Does a request so near the last position make waiting pointless? The longer the wait, the wider "near".
    pub(super) fn is_close(&self, jiffies: u64, process: &Process, start: Lba) -> bool {
        let last = self.last_end[self.batch];
        let waited = match self.waiting_for {
            Waiting::Off => 0,
            _ if !self.completed => 0,
            _ => jiffies - self.since,
        };
        let reach = match waited {
            0 => CLOSE_SECTORS,
            ticks if ticks <= 20 * self.kernel.hz as u64 / 1000 && ticks <= self.antic_ticks => {
                // Beyond 2^50 sectors everything is near.
                CLOSE_SECTORS
                    .checked_shl(ticks as u32)
                    .filter(|_| ticks < 38)
                    .unwrap_or(1 << 50)
            }
            _ => return true,
        };
        if last.0 <= start.0 + reach / 2 && start.0 <= last.0 + reach {
            return true;
        }
        let usual = if process.seek.samples == 0 {
            self.crowd.seek.mean
        } else {
            process.seek.mean
        };
        usual > last.distance(start)
    }

    /// Is it pointless to go on waiting for process `awaited`, given that `candidate` could be served instead?
    pub(super) fn waiting_is_pointless(
        &mut self,
        jiffies: u64,
        awaited: u32,
        candidate: Option<RequestId>,
    ) -> bool {
        let candidate = candidate.map(|id| *self.slot(id));
        if candidate.is_some_and(|slot| slot.process == awaited)
            || (self.completed && self.waited_enough(jiffies))
        {
            return true;
        }
        let process = &self.processes[awaited as usize];
        if process.queued > 0 || process.moved > 0 {
            return true;
        }
        if let Some(slot) = candidate.filter(|slot| slot.class as usize == SYNC) {
            if self.is_close(jiffies, process, slot.start) {
                // Somebody else works where the awaited process does: they cooperate.
                if process.exited {
                    self.crowd.spared();
                }
                self.note_request(jiffies, awaited, slot.start, slot.sectors);
                return true;
            }
        }
        let process = &self.processes[awaited as usize];
        if process.exited {
            if process.think.samples == 0 {
                self.crowd.exit_again();
            }
            if self.crowd.exits_alone() {
                return true;
            }
        }
        if process.think.samples == 0 {
            self.crowd.think.mean > self.antic_ticks || self.crowd.newcomers_leave()
        } else {
            process.think.mean > self.antic_ticks
        }
    }

    /// May the device be left idle instead of serving `candidate`?
    pub(super) fn may_wait(&mut self, jiffies: u64, candidate: Option<RequestId>) -> bool {
        match self.awaited {
            Some(awaited) if self.waiting_for != Waiting::Done => {
                !self.waiting_is_pointless(jiffies, awaited, candidate)
            }
            _ => false,
        }
    }

    /// A sync request of a process (or one that stands in for it): think time and seek go into the statistics.
    pub(super) fn note_request(
        &mut self,
        jiffies: u64,
        process: u32,
        start: Lba,
        sectors: Sectors,
    ) {
        let longest = (self.kernel.hz as u64 / 50).saturating_sub(1);
        self.processes[process as usize].note_request(
            &mut self.crowd,
            jiffies,
            longest,
            start,
            sectors,
        );
    }
}
