//! What holds for every policy, kernel and set of tunables, whatever is thrown at it.

use proptest::collection::vec;
use proptest::prelude::*;
use seekwise_sched::{
    AnyScheduler, Direction, Kernel, Priority, PriorityClass, ProcessId, Request, RequestId,
    Scheduler, SchedulerEntry, Setup, Values, ENTRIES,
};
use seekwise_units::{Lba, Nanos, Sectors};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
enum Step {
    Insert {
        sector: u64,
        sectors: u64,
        process: u32,
        kind: u8,
    },
    /// Joins a bio to the waiting request of this rank, behind or in front of it.
    Merge {
        rank: usize,
        back: bool,
        sectors: u64,
    },
    Pull,
    /// The kernel took another request than the policy would.
    Force {
        rank: usize,
    },
    Complete {
        rank: usize,
    },
    Wait {
        micros: u64,
    },
    Exit {
        process: u32,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0u64..400, 1u64..4, 0u32..6, 0u8..6).prop_map(|(place, pages, process, kind)| Step::Insert {
            sector: place * 8,
            sectors: pages * 8,
            process,
            kind,
        }),
        1 => (0usize..100, any::<bool>(), 1u64..3).prop_map(|(rank, back, pages)| Step::Merge { rank, back, sectors: pages * 8 }),
        6 => Just(Step::Pull),
        1 => (0usize..100).prop_map(|rank| Step::Force { rank }),
        5 => (0usize..100).prop_map(|rank| Step::Complete { rank }),
        3 => prop_oneof![0u64..300, 1_000u64..20_000, 90_000u64..700_000, Just(30_000_000)].prop_map(|micros| Step::Wait { micros }),
        1 => (0u32..6).prop_map(|process| Step::Exit { process }),
    ]
}

const KERNELS: [(u16, u16, u16); 10] = [
    (2, 6, 23),
    (2, 6, 24),
    (2, 6, 28),
    (2, 6, 32),
    (3, 2, 0),
    (4, 4, 0),
    (4, 19, 0),
    (5, 10, 0),
    (6, 1, 0),
    (6, 12, 0),
];

/// A policy of any kernel that has it, each tunable left alone or set anywhere in its range.
fn policy() -> impl Strategy<Value = (&'static SchedulerEntry, Setup)> {
    let tick = prop_oneof![Just(100u32), Just(250), Just(300), Just(1000)];
    (
        0..ENTRIES.len(),
        0..KERNELS.len(),
        tick,
        any::<bool>(),
        vec((0u8..6, any::<u64>()), 16),
    )
        .prop_filter_map(
            "this kernel does not have it",
            |(entry, kernel, hz, rotational, choices)| {
                let (entry, (major, minor, patch)) = (&ENTRIES[entry], KERNELS[kernel]);
                let kernel = Kernel::new(major, minor, patch, hz);
                if !entry.kernels.contains(kernel.version) {
                    return None;
                }
                let mut setup = Setup::new(kernel);
                setup.rotational = rotational;
                let mut values = Values::default();
                for (row, (choice, bits)) in entry.parameters.iter().zip(choices) {
                    let value = match choice {
                        0 => row.min,
                        1 => row.max,
                        2 => row.min + bits % (row.max - row.min).saturating_add(1).max(1),
                        _ => continue,
                    };
                    // A tunable that this kernel lacks is refused; that is fine.
                    let _ = values.set(
                        entry.name,
                        entry.parameters,
                        &kernel,
                        row.name,
                        value.into(),
                    );
                }
                setup.values = values;
                Some((entry, setup))
            },
        )
}

struct Harness {
    policy: AnyScheduler,
    now: Nanos,
    requests: Vec<Request>,
    waiting: BTreeMap<u32, u64>,
    in_driver: Vec<u32>,
    submitted: u64,
    handed_out: u64,
    exited: [bool; 6],
}

impl Harness {
    fn new(policy: AnyScheduler) -> Self {
        Self {
            policy,
            now: Nanos(0),
            requests: Vec::new(),
            waiting: BTreeMap::new(),
            in_driver: Vec::new(),
            submitted: 0,
            handed_out: 0,
            exited: [false; 6],
        }
    }

    fn pull(&mut self) -> bool {
        // Put back by clone, the policy decides the same again.
        let before = self.policy.clone();
        let first = self.policy.dispatch(self.now);
        let after = core::mem::replace(&mut self.policy, before);
        assert_eq!(self.policy.dispatch(self.now), first);
        self.policy = after;
        let Some(id) = first else { return false };
        assert!(
            self.waiting.remove(&id.0).is_some(),
            "{id:?} was not waiting"
        );
        self.in_driver.push(id.0);
        self.handed_out += 1;
        true
    }

    fn ranked(&self, rank: usize) -> Option<u32> {
        let ids: Vec<_> = self.waiting.keys().collect();
        (!ids.is_empty()).then(|| *ids[rank % ids.len()])
    }

    fn wait(&mut self, to: Nanos) {
        let mut fired = 0;
        while let Some(due) = self.policy.timer().filter(|due| *due <= to) {
            self.policy.fire(due.max(self.now));
            fired += 1;
            assert!(fired < 1_000_000, "a timer that never rests");
        }
        self.now = to;
    }

    fn merge(&mut self, rank: usize, back: bool, sectors: u64) {
        let Some(id) = self.ranked(rank) else { return };
        let request = self.requests[id as usize];
        if !back && request.start.0 < sectors {
            return;
        }
        let start = if back {
            request.end()
        } else {
            Lba(request.start.0 - sectors)
        };
        let bio = Request {
            id: RequestId(u32::MAX),
            start,
            sectors: Sectors(sectors),
            ..request
        };
        if !self.policy.may_merge(&request, &bio) {
            return;
        }
        self.grow(
            id,
            if back { request.start } else { start },
            request.sectors.0 + sectors,
        );
        let neighbour = if back {
            self.policy.neighbour_after(RequestId(id))
        } else {
            self.policy.neighbour_before(RequestId(id))
        };
        // After a front merge an older request at the new sector may have left for the dispatch list.
        let Some(neighbour) = neighbour.map(|neighbour| neighbour.0) else {
            return;
        };
        let (front, behind) = if back {
            (id, neighbour)
        } else {
            (neighbour, id)
        };
        let (a, b) = (
            self.requests[front as usize],
            self.requests[behind as usize],
        );
        let both_wait = self.waiting.contains_key(&front) && self.waiting.contains_key(&behind);
        let mergeable = self.policy.may_merge(
            &a,
            &Request {
                start: a.end(),
                ..a
            },
        );
        if both_wait && mergeable && a.direction == b.direction && a.end() == b.start {
            self.grow(front, a.start, a.sectors.0 + b.sectors.0);
            self.policy
                .joined(self.now, RequestId(front), RequestId(behind));
            self.waiting.remove(&behind);
            self.submitted -= 1;
        }
    }

    fn grow(&mut self, id: u32, start: Lba, sectors: u64) {
        let request = &mut self.requests[id as usize];
        (request.start, request.sectors) = (start, Sectors(sectors));
        self.policy
            .grown(self.now, RequestId(id), start, Sectors(sectors));
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Insert {
                sector,
                sectors,
                process,
                kind,
            } => {
                if self.exited[process as usize] {
                    return;
                }
                let class = [
                    PriorityClass::None,
                    PriorityClass::RealTime,
                    PriorityClass::BestEffort,
                    PriorityClass::Idle,
                ];
                let request = Request {
                    id: RequestId(self.requests.len() as u32),
                    start: Lba(sector),
                    sectors: Sectors(sectors),
                    direction: if kind < 3 {
                        Direction::Read
                    } else {
                        Direction::Write
                    },
                    sync: kind < 5,
                    no_idle: kind == 4,
                    metadata: kind == 2,
                    process: ProcessId(process),
                    priority: Priority {
                        class: class[process as usize % 4],
                        level: (process % 8) as u8,
                    },
                    allocated: self.now,
                };
                self.requests.push(request);
                self.waiting.insert(request.id.0, self.submitted);
                self.submitted += 1;
                self.policy.insert(self.now, &request);
            }
            Step::Merge {
                rank,
                back,
                sectors,
            } => self.merge(rank, back, sectors),
            Step::Pull => {
                self.pull();
            }
            Step::Force { rank } => {
                if let Some(id) = self.ranked(rank) {
                    self.policy.dispatch_forced(self.now, RequestId(id));
                    self.waiting.remove(&id);
                    self.in_driver.push(id);
                    self.handed_out += 1;
                }
            }
            Step::Complete { rank } => {
                if !self.in_driver.is_empty() {
                    let id = self.in_driver.swap_remove(rank % self.in_driver.len());
                    self.policy.complete(self.now, &self.requests[id as usize]);
                }
            }
            Step::Wait { micros } => self.wait(self.now + Nanos::from_micros(micros)),
            Step::Exit { process } => {
                let busy = |id: &u32| self.requests[*id as usize].process == ProcessId(process);
                if !self.exited[process as usize]
                    && !self.waiting.keys().any(busy)
                    && !self.in_driver.iter().any(busy)
                {
                    self.exited[process as usize] = true;
                    self.policy.process_exits(self.now, ProcessId(process));
                }
            }
        }
        assert_eq!(self.policy.waiting(), self.waiting.len(), "after {step:?}");
    }

    /// Pulls and completes until nothing waits; every hold of the policy ends with time.
    fn drain(&mut self) {
        let mut idle = 0;
        while !self.waiting.is_empty() || !self.in_driver.is_empty() {
            if self.pull() {
                idle = 0;
                continue;
            }
            if let Some(id) = self.in_driver.pop() {
                self.policy.complete(self.now, &self.requests[id as usize]);
            } else {
                idle += 1;
                assert!(
                    idle < 10_000,
                    "{} requests wait for ever",
                    self.waiting.len()
                );
            }
            // A wait as long as a tunable may make it ends with its timer.
            let soon = self.now + Nanos::from_millis(1);
            let due = self.policy.timer().filter(|_| idle > 100);
            self.wait(due.map_or(soon, |due| due.max(soon)));
        }
        assert_eq!(self.handed_out, self.submitted, "each request once");
        assert_eq!(self.policy.waiting(), 0);
        assert_eq!(self.policy.dispatch(self.now), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_and_each_request_is_handed_out_once((entry, setup) in policy(), steps in vec(step(), 1..250)) {
        let policy = entry.build(&setup).expect("values within their ranges");
        let mut harness = Harness::new(policy);
        for step in steps {
            harness.step(step);
        }
        harness.drain();
    }

    /// The bound of deadline: of `older` requests of its direction, one is served per batch of that direction once the
    /// request has expired, and between two such batches lie at most `writes_starved` batches of the other.
    #[test]
    fn no_request_waits_past_the_bound_of_deadline(
        kernel in prop_oneof![Just("2.6.24"), Just("2.6.32"), Just("4.4")],
        batch in 1u64..20,
        starved in 1u64..4, // With 0 reads have no bound while writes keep coming.
        bits in vec(any::<u32>(), 300..800),
    ) {
        let mut setup = Setup::new(Kernel::parse(kernel, 1000).unwrap());
        let entry = seekwise_sched::find_scheduler("deadline").unwrap();
        let given = [("fifo_batch", batch), ("writes_starved", starved), ("read_expire", 20), ("write_expire", 60)];
        for (name, value) in given {
            setup.values.set("deadline", entry.parameters, &setup.kernel, name, value.into()).unwrap();
        }
        let mut harness = Harness::new(entry.build(&setup).unwrap());
        // Per waiting request: insertion, and once expired the pulls so far and how many older ones stood before it.
        let mut late: BTreeMap<u32, (u64, usize)> = BTreeMap::new();
        for bits in bits {
            let read = bits % 4 != 0;
            if bits % 5 < 3 {
                let place = (bits >> 8) as u64 % 5000;
                harness.step(Step::Insert { sector: place * 8, sectors: 8, process: 1, kind: if read { 0 } else { 5 } });
            }
            if bits % 5 > 1 {
                harness.pull();
                harness.step(Step::Wait { micros: 1000 + (bits >> 20) as u64 });
                harness.step(Step::Complete { rank: 0 });
            }
            let expiry = |request: &Request| Nanos::from_millis(if request.direction == Direction::Read { 22 } else { 62 });
            late.retain(|id, _| harness.waiting.contains_key(id));
            for id in harness.waiting.keys() {
                let request = &harness.requests[*id as usize];
                if harness.now > request.allocated + expiry(request) && !late.contains_key(id) {
                    let older = harness.waiting.keys().filter(|other| *other < id && harness.requests[**other as usize].direction == request.direction);
                    late.insert(*id, (harness.handed_out, older.count()));
                }
            }
            for (id, (since, older)) in &late {
                let bound = (*older as u64 + 2) * (starved + 2) * batch;
                prop_assert!(harness.handed_out - since <= bound, "#{id} passed over {} times, bound {bound}", harness.handed_out - since);
            }
        }
    }

    /// Names and values from a study: refused with a sentence, or a policy that works.
    #[test]
    fn any_value_is_refused_by_name_or_builds_a_policy(entry in 0..ENTRIES.len(), row in 0usize..16, value in any::<i64>()) {
        let entry = &ENTRIES[entry];
        let since = entry.kernels.since;
        let kernel = Kernel::new(since.0.max(2), since.1, since.2.max(18), 250);
        if let Some(row) = entry.parameters.get(row) {
            let mut setup = Setup::new(kernel);
            match setup.values.set(entry.name, entry.parameters, &kernel, row.name, value.into()) {
                Ok(()) => drop(entry.build(&setup)),
                Err(sentence) => {
                    prop_assert!(sentence.contains(row.name) && !sentence.ends_with('.'), "{}", sentence);
                }
            }
        }
    }
}
