//! A policy that can take back its last choice although other things have happened since.
//!
//! blk-mq takes one request ahead of its issue. When it turns out that the kernel had taken another one, the model goes
//! back to the moment of its choice, takes the recorded request instead and lives through the calls since then again.

use seekwise_sched::tag_words::{Asking, TagWords};
use seekwise_sched::{ProcessId, Request, RequestId, Scheduler};
use seekwise_units::{Lba, Nanos, Sectors};

#[derive(Clone, Debug)]
enum Call {
    Insert(Nanos, Request),
    /// The policy was asked and dispatched nothing.
    Asked(Nanos),
    Issued(Nanos, RequestId),
    Complete(Nanos, Request),
    Fire(Nanos),
    Grown(Nanos, RequestId, Lba, Sectors),
    Joined(Nanos, RequestId, RequestId),
    Exit(Nanos, ProcessId),
}

/// The choice that stands: who, when, what the policy was before, what it was told since.
#[derive(Clone)]
struct Choice<S> {
    id: RequestId,
    at: Nanos,
    before: S,
    since: Vec<Call>,
}

#[derive(Clone)]
pub struct Journal<S> {
    policy: S,
    /// Unconfirmed choices, the first one first.
    choices: Vec<Choice<S>>,
}

impl<S: Scheduler> Journal<S> {
    /// A journal over `policy`, without a choice so far.
    pub fn new(policy: S) -> Self {
        Self {
            policy,
            choices: Vec::new(),
        }
    }

    /// The request that was taken ahead.
    pub fn chosen(&self) -> Option<RequestId> {
        self.choices.first().map(|choice| choice.id)
    }

    /// How many were taken ahead.
    pub fn taken_ahead(&self) -> usize {
        self.choices.len()
    }

    fn was_taken(&self, id: RequestId) -> bool {
        self.choices.iter().any(|choice| choice.id == id)
    }

    /// The policy as it was when it made the choice that stands, and when; otherwise as it is.
    pub fn at_choice(&self, now: Nanos) -> (&S, Nanos) {
        match self.choices.first() {
            Some(choice) => (&choice.before, choice.at),
            None => (&self.policy, now),
        }
    }

    /// Asks for a request; one that is dispatched is a choice that stands, behind those that stand already.
    pub fn choose(&mut self, now: Nanos) -> Option<RequestId> {
        let before = self.policy.clone();
        let Some(id) = self.policy.dispatch(now) else {
            self.note(|| Call::Asked(now), &[]);
            return None;
        };
        self.choices.push(Choice {
            id,
            at: now,
            before,
            since: Vec::new(),
        });
        Some(id)
    }

    /// The first choice was right: it is history.
    pub fn confirm(&mut self) {
        if !self.choices.is_empty() {
            self.choices.remove(0);
        }
    }

    /// The first choice was wrong: as though it and those behind it had not been made.
    pub fn undo_first(&mut self) {
        if let Some(choice) = self.take_first() {
            self.policy = choice.before;
            for call in choice.since {
                self.call(call);
            }
        }
    }

    fn take_first(&mut self) -> Option<Choice<S>> {
        self.choices.drain(..).next()
    }

    /// Takes `id` instead of the choice that stands: at that moment if it waited already, otherwise now.
    pub fn take_instead(&mut self, now: Nanos, id: RequestId) {
        let Some(choice) = self.take_first() else {
            self.policy.dispatch_forced(now, id);
            return;
        };
        let came_later = choice.since.iter().any(|call| match call {
            Call::Insert(_, request) => request.id == id,
            // Its size changed, so the kernel still had it waiting then.
            Call::Grown(_, grown, ..) => *grown == id,
            _ => false,
        });
        self.policy = choice.before;
        if !came_later {
            self.policy.dispatch_forced(choice.at, id);
        }
        for call in choice.since {
            self.call(call);
        }
        if came_later {
            self.policy.dispatch_forced(now, id);
        }
    }

    fn call(&mut self, call: Call) {
        match call {
            Call::Insert(now, request) => self.policy.insert(now, &request),
            // After another choice the answer may be another one; it would be taken back.
            Call::Asked(now) => {
                let before = self.policy.clone();
                if self.policy.dispatch(now).is_some() {
                    self.policy = before;
                }
            }
            Call::Issued(now, id) => self.policy.issued(now, id),
            Call::Complete(now, request) => self.policy.complete(now, &request),
            // A timer that the other choice did not set, or set later, does not fire.
            Call::Fire(now) => {
                if self.policy.timer().is_some_and(|due| due <= now) {
                    self.policy.fire(now);
                }
            }
            Call::Grown(now, id, start, sectors) => self.policy.grown(now, id, start, sectors),
            Call::Joined(now, kept, gone) => self.policy.joined(now, kept, gone),
            Call::Exit(now, process) => self.policy.process_exits(now, process),
        }
    }

    /// Notes the call for each choice that stands; false when it concerns a chosen request, which the policy no longer has.
    fn note(&mut self, call: impl Fn() -> Call, concerns: &[RequestId]) -> bool {
        for choice in &mut self.choices {
            choice.since.push(call());
        }
        !concerns.iter().any(|id| self.was_taken(*id))
    }
}

impl<S: Scheduler> Scheduler for Journal<S> {
    fn insert(&mut self, now: Nanos, request: &Request) {
        self.note(|| Call::Insert(now, *request), &[]);
        self.policy.insert(now, request);
    }

    fn dispatch(&mut self, now: Nanos) -> Option<RequestId> {
        self.choose(now)
    }

    fn dispatch_forced(&mut self, now: Nanos, id: RequestId) {
        self.take_instead(now, id);
    }

    fn issued(&mut self, now: Nanos, id: RequestId) {
        self.note(|| Call::Issued(now, id), &[]);
        self.policy.issued(now, id);
    }

    fn complete(&mut self, now: Nanos, request: &Request) {
        self.note(|| Call::Complete(now, *request), &[]);
        self.policy.complete(now, request);
    }

    fn waiting(&self) -> usize {
        self.policy.waiting()
    }

    fn has_work(&self) -> bool {
        self.policy.has_work()
    }

    fn timer(&self) -> Option<Nanos> {
        self.policy.timer()
    }

    fn fire(&mut self, now: Nanos) -> bool {
        self.note(|| Call::Fire(now), &[]);
        self.policy.fire(now)
    }

    fn may_merge(&self, request: &Request, bio: &Request) -> bool {
        !self.was_taken(request.id) && self.policy.may_merge(request, bio)
    }

    fn neighbour_after(&self, id: RequestId) -> Option<RequestId> {
        if self.was_taken(id) {
            return None;
        }
        self.policy.neighbour_after(id)
    }

    fn neighbour_before(&self, id: RequestId) -> Option<RequestId> {
        if self.was_taken(id) {
            return None;
        }
        self.policy.neighbour_before(id)
    }

    fn front_merge_candidate(&self, bio: &Request) -> Option<RequestId> {
        self.policy.front_merge_candidate(bio)
    }

    fn grown(&mut self, now: Nanos, id: RequestId, start: Lba, sectors: Sectors) {
        if self.note(|| Call::Grown(now, id, start, sectors), &[id]) {
            self.policy.grown(now, id, start, sectors);
        }
    }

    fn joined(&mut self, now: Nanos, kept: RequestId, gone: RequestId) {
        if self.note(|| Call::Joined(now, kept, gone), &[kept, gone]) {
            self.policy.joined(now, kept, gone);
        }
    }

    fn tag_depth(&self, asking: Asking, words: TagWords) -> Option<u32> {
        self.policy.tag_depth(asking, words)
    }

    fn tag_depth_min(&self, words: TagWords) -> Option<u32> {
        self.policy.tag_depth_min(words)
    }

    fn take_queue_kick(&mut self) -> bool {
        self.policy.take_queue_kick()
    }

    fn describe(&self, now: Nanos, out: &mut String) {
        self.policy.describe(now, out);
    }

    fn process_exits(&mut self, now: Nanos, process: ProcessId) {
        self.note(|| Call::Exit(now, process), &[]);
        self.policy.process_exits(now, process);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_sched::Direction;
    use seekwise_sched::{registry, AnyScheduler, Kernel, Priority, Setup};

    fn read(id: u32, sector: u64) -> Request {
        Request {
            id: RequestId(id),
            start: Lba(sector),
            sectors: Sectors(8),
            direction: Direction::Read,
            sync: true,
            no_idle: false,
            metadata: false,
            process: ProcessId(0),
            priority: Priority::default(),
            allocated: Nanos(0),
        }
    }

    fn journal() -> Journal<AnyScheduler> {
        let setup = Setup::new(Kernel::parse("6.1", 250).unwrap());
        Journal::new(
            registry::find("mq-deadline")
                .unwrap()
                .build(&setup)
                .unwrap(),
        )
    }

    fn drain(journal: &mut Journal<AnyScheduler>) -> Vec<u32> {
        core::iter::from_fn(|| {
            let id = journal.choose(Nanos(9));
            journal.confirm();
            id
        })
        .map(|id| id.0)
        .collect()
    }

    #[test]
    fn a_choice_put_back_waits_again_and_later_requests_stay() {
        let mut journal = journal();
        journal.insert(Nanos(0), &read(0, 500));
        assert_eq!(journal.choose(Nanos(1)), Some(RequestId(0)));
        journal.insert(Nanos(2), &read(1, 900));
        journal.undo_first();
        assert_eq!(journal.chosen(), None);
        assert_eq!(drain(&mut journal), [0, 1]);
    }

    #[test]
    fn another_request_is_taken_at_the_moment_of_the_choice() {
        let mut journal = journal();
        for (id, sector) in [(0, 500), (1, 900), (2, 100)] {
            journal.insert(Nanos(0), &read(id, sector));
        }
        assert_eq!(journal.choose(Nanos(1)), Some(RequestId(0)));
        // Comes behind 900: not the successor that 6.1 remembers if 900 was taken before.
        journal.insert(Nanos(2), &read(3, 950));
        journal.take_instead(Nanos(3), RequestId(1));
        assert_eq!(
            drain(&mut journal),
            [0, 3, 2],
            "the sweep found nothing behind 900: the oldest begins a new one"
        );
    }
}
