//! A drive with its scheduler, its lock and its requests.

use super::costs::{HostCosts, Sections};
use super::lock::SpinLock;
use seekwise_device::{Command, CommandKind, Device};
use seekwise_sched::tag_words::{Asking, TagWords};
use seekwise_sched::{Direction, Priority, ProcessId, Request, RequestId, Scheduler};
use seekwise_units::{Lba, Nanos, Sectors};
use std::collections::VecDeque;

use super::process::Submitting;

/// What is known of a request beside what its scheduler is told.
#[derive(Clone, Copy, Debug)]
pub struct SubmittedRequest {
    pub request: Request,
    pub io: u32,
    pub core: u32,
}

#[derive(Debug)]
pub struct Side<S, D> {
    pub device: D,
    /// None: requests go straight to the drive.
    pub policy: Option<S>,
    pub sections: Sections,
    pub lock: SpinLock,
    entries: Vec<SubmittedRequest>,
    free: Vec<u32>,
    words: TagWords,
    /// Scheduler tags of each hardware queue in use, and who waits for one.
    used: Vec<u32>,
    pub waiters: Vec<VecDeque<u32>>,
    /// When the drive and the policy's timer are heard next.
    pub done_at: Nanos,
    pub timer_at: Nanos,
    /// Of the policy, which is called in the order of time: a section under the lock may lie ahead of the clock.
    clock: Nanos,
}

impl<S: Scheduler, D: Device> Side<S, D> {
    /// A drive with nothing under way. `policy` None: requests go straight to it; `words`: scheduler tags of each hardware queue.
    pub fn new(
        device: D,
        policy: Option<(S, Sections)>,
        costs: &HostCosts,
        cores: usize,
        words: TagWords,
    ) -> Self {
        let none = Sections {
            locked: false,
            merge: Nanos::ZERO,
            insert: Nanos::ZERO,
            dispatch: Nanos::ZERO,
            finish: None,
            merge_skipped: false,
        };
        let (policy, sections) = match policy {
            Some((mut policy, sections)) => {
                policy.open_queues(cores);
                (Some(policy), sections)
            }
            None => (None, none),
        };
        Self {
            device,
            policy,
            sections,
            lock: SpinLock::new(costs.transfer),
            entries: Vec::new(),
            free: Vec::new(),
            words,
            used: vec![0; cores],
            waiters: vec![VecDeque::new(); cores],
            done_at: Nanos::NEVER,
            timer_at: Nanos::NEVER,
            clock: Nanos::ZERO,
        }
    }

    /// Whether the core's hardware queue has a tag for it.
    #[inline]
    pub fn has_tag(&self, core: usize, process: u32, direction: Direction) -> bool {
        let limit = match &self.policy {
            None => self.words.tags,
            Some(policy) => {
                let asking = Asking {
                    process: ProcessId(process),
                    sync: true,
                    direction,
                };
                let words = self.words;
                let all = words.all();
                policy.tag_depth(asking, words).map_or(words.tags, |bits| {
                    (u64::from(words.tags) * u64::from(bits) / u64::from(all)) as u32
                })
            }
        };
        self.used[core] < limit.max(1)
    }

    /// Takes a tag of the core's hardware queue and makes a request; the caller has checked [`Side::has_tag`]. Returns its slot.
    #[inline]
    pub fn allocate(
        &mut self,
        now: Nanos,
        core: usize,
        process: u32,
        submitting: &Submitting,
    ) -> u32 {
        self.used[core] += 1;
        let slot = self.free.pop().unwrap_or(self.entries.len() as u32);
        let entry = SubmittedRequest {
            request: Request {
                id: RequestId(slot),
                start: submitting.start,
                sectors: submitting.sectors,
                direction: submitting.direction,
                sync: true,
                no_idle: false,
                metadata: false,
                process: ProcessId(process),
                priority: Priority::default(),
                allocated: now,
            },
            io: submitting.io,
            core: core as u32,
        };
        match self.entries.get_mut(slot as usize) {
            Some(place) => *place = entry,
            None => self.entries.push(entry),
        }
        slot
    }

    /// The request in `slot`, which must be allocated.
    #[inline]
    pub fn entry(&self, slot: u32) -> &SubmittedRequest {
        &self.entries[slot as usize]
    }

    /// The request is over.
    #[inline]
    pub fn release(&mut self, slot: u32) -> SubmittedRequest {
        let entry = self.entries[slot as usize];
        self.used[entry.core as usize] -= 1;
        self.free.push(slot);
        entry
    }

    /// Calls the policy, no earlier than it was called last.
    #[inline]
    fn asked<T>(
        &mut self,
        now: Nanos,
        ask: impl FnOnce(&mut S, &[SubmittedRequest], Nanos) -> T,
    ) -> Option<T> {
        let policy = self.policy.as_mut()?;
        self.clock = self.clock.max(now);
        let answer = ask(policy, &self.entries, self.clock);
        self.timer_at = policy.timer().unwrap_or(Nanos::NEVER);
        Some(answer)
    }

    /// Gives the request in `slot` to the policy; without a policy nothing happens.
    #[inline]
    pub fn insert(&mut self, now: Nanos, slot: u32) {
        self.asked(now, |policy, entries, now| {
            let entry = &entries[slot as usize];
            policy.turn_to(entry.core as usize);
            policy.insert(now, &entry.request);
        });
    }

    /// Slot of the policy's next request for the core's hardware queue; None without a policy, if nothing waits, or if the policy holds back.
    #[inline]
    pub fn dispatch(&mut self, now: Nanos, core: usize) -> Option<u32> {
        if !self.waits() {
            return None;
        }
        let taken = self.asked(now, |policy, _, now| {
            policy.turn_to(core);
            policy.dispatch(now)
        });
        taken.flatten().map(|id| id.0)
    }

    /// Whether a kick of the policy was meant for the core's hardware queue.
    #[inline]
    pub fn take_woken(&mut self, core: usize) -> bool {
        self.policy
            .as_mut()
            .is_some_and(|policy| policy.take_woken(core))
    }

    /// The drive is done with a request. True: the policy wants its queue run, and something waits.
    #[inline]
    pub fn complete(&mut self, now: Nanos, slot: u32) -> bool {
        let kick = self.asked(now, |policy, entries, now| {
            policy.complete(now, &entries[slot as usize].request);
            policy.take_queue_kick()
        });
        kick.unwrap_or(false) && self.waits()
    }

    /// True: the policy wants its queue run.
    pub fn fire(&mut self, now: Nanos) -> bool {
        let run = self.asked(now, |policy, _, now| {
            policy.timer().is_some_and(|at| at <= now) && policy.fire(now)
        });
        run.unwrap_or(false)
    }

    /// Whether the policy holds a request; false without a policy.
    #[inline]
    pub fn waits(&self) -> bool {
        self.policy
            .as_ref()
            .is_some_and(|policy| policy.waiting() > 0)
    }

    /// The drive gets the request.
    #[inline]
    pub fn start(&mut self, now: Nanos, slot: u32) {
        let request = &self.entries[slot as usize].request;
        let kind = match request.direction {
            Direction::Read => CommandKind::Read,
            Direction::Write => CommandKind::WRITE,
        };
        let (start, sectors): (Lba, Sectors) = (request.start, request.sectors);
        if let Some(policy) = &mut self.policy {
            policy.issued(self.clock.max(now), RequestId(slot));
        }
        self.device
            .submit(now, Command::of(slot, kind, start, sectors));
        self.look();
    }

    /// Notes when the drive is heard next.
    #[inline]
    pub fn look(&mut self) {
        self.done_at = self.device.next_event().unwrap_or(Nanos::NEVER);
    }
}
