//! Properties of bfq under random requests, merges, parameters and times.

use proptest::prelude::*;
use seekwise_sched::bfq::{Bfq, PARAMETERS};
use seekwise_sched::{
    registry, Direction, Kernel, Priority, PriorityClass, ProcessId, Request, RequestId, Scheduler,
    Setup,
};
use seekwise_units::{Lba, Nanos, Sectors};

#[derive(Clone, Copy, Debug)]
struct Step {
    /// What happens, by weight.
    choice: u8,
    process: u32,
    start: u64,
    sectors: u64,
    kind: u8,
    class: u8,
    level: u8,
    pause_us: u64,
    pick: usize,
}

fn step() -> impl Strategy<Value = Step> {
    let place = prop_oneof![0..4_000u64, 0..1u64 << 40];
    let pause = prop_oneof![4 => 0..400u64, 2 => 0..20_000u64, 1 => 0..3_000_000u64];
    (
        any::<u8>(),
        0..6u32,
        place,
        1..300u64,
        any::<u8>(),
        0..9u8,
        0..8u8,
        pause,
        any::<usize>(),
    )
        .prop_map(
            |(choice, process, start, sectors, kind, class, level, pause_us, pick)| Step {
                choice,
                process,
                start: start * 8,
                sectors,
                kind,
                class,
                level,
                pause_us,
                pick,
            },
        )
}

fn setup() -> impl Strategy<Value = Setup> {
    let kernel = prop_oneof![
        Just("5.10"),
        Just("5.12"),
        Just("5.15"),
        Just("6.1"),
        Just("6.12")
    ];
    let values = proptest::collection::vec((0..PARAMETERS.len(), any::<u64>()), 0..4);
    (kernel, any::<bool>(), values).prop_map(|(kernel, rotational, values)| {
        let mut setup = Setup::new(Kernel::parse(kernel, 250).unwrap());
        setup.rotational = rotational;
        for (row, bits) in values {
            let row = &PARAMETERS[row];
            // Small values, large ones and the limits.
            let value = match bits % 4 {
                0 => row.min,
                1 => row.max,
                2 => row.min + (bits >> 8) % (row.max - row.min).clamp(1, 50),
                _ => row.min + (bits >> 8) % (row.max - row.min + 1),
            };
            let kernel = setup.kernel;
            setup
                .values
                .set("bfq", PARAMETERS, &kernel, row.name, value.into())
                .unwrap();
        }
        setup
    })
}

/// A queue around the policy that knows what waits and what is with the device.
struct Harness {
    policy: Bfq,
    now: Nanos,
    waiting: Vec<Request>,
    in_driver: Vec<Request>,
    next: u32,
    handed_out: u32,
    absorbed: u32,
}

impl Harness {
    fn new(setup: &Setup) -> Self {
        Self {
            policy: Bfq::new(setup),
            now: Nanos::ZERO,
            waiting: Vec::new(),
            in_driver: Vec::new(),
            next: 0,
            handed_out: 0,
            absorbed: 0,
        }
    }

    fn wait(&mut self, span: Nanos) {
        let until = Nanos(self.now.0 + span.0);
        while let Some(due) = self.policy.timer().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.policy.fire(self.now);
        }
        self.now = until;
    }

    fn request(&self, step: &Step) -> Request {
        let direction = if step.kind & 1 == 0 {
            Direction::Read
        } else {
            Direction::Write
        };
        Request {
            id: RequestId(self.next),
            start: Lba(step.start),
            sectors: Sectors(step.sectors),
            direction,
            sync: direction == Direction::Read || step.kind & 2 == 0,
            no_idle: step.kind & 4 != 0,
            metadata: step.kind & 8 != 0,
            process: ProcessId(step.process),
            priority: match step.class {
                0 => Priority {
                    class: PriorityClass::RealTime,
                    level: step.level,
                },
                1 => Priority {
                    class: PriorityClass::Idle,
                    level: step.level,
                },
                2 => Priority {
                    class: PriorityClass::BestEffort,
                    level: step.level,
                },
                _ => Priority::default(),
            },
            allocated: self.now,
        }
    }

    fn insert(&mut self, request: Request) {
        self.policy.insert(self.now, &request);
        self.waiting.push(request);
        self.next += 1;
    }

    fn take(&mut self, id: RequestId) -> Request {
        let at = self.waiting.iter().position(|request| request.id == id);
        let request = self
            .waiting
            .remove(at.expect("dispatched what does not wait"));
        self.in_driver.push(request);
        self.handed_out += 1;
        request
    }

    fn dispatch(&mut self) -> Option<RequestId> {
        let before = self.policy.clone();
        let id = self.policy.dispatch(self.now)?;
        assert_eq!(
            before.clone().dispatch(self.now),
            Some(id),
            "a clone decides otherwise"
        );
        self.take(id);
        Some(id)
    }

    fn complete(&mut self, at: usize) {
        let request = self.in_driver.remove(at);
        self.policy.complete(self.now, &request);
    }

    /// A bio behind or in front of a waiting request, as the block layer would join it, and what it then touches.
    fn grow(&mut self, step: &Step) {
        let Some(at) = step.pick.checked_rem(self.waiting.len()) else {
            return;
        };
        let mut request = self.waiting[at];
        let back = step.kind & 16 == 0;
        if !back && request.start.0 < step.sectors {
            return;
        }
        let bio_start = if back {
            request.end()
        } else {
            Lba(request.start.0 - step.sectors)
        };
        let bio = Request {
            id: RequestId(u32::MAX),
            start: bio_start,
            sectors: Sectors(step.sectors),
            ..request
        };
        if !self.policy.may_merge(&request, &bio) {
            return;
        }
        if !back {
            request.start = bio_start;
        }
        request.sectors = Sectors(request.sectors.0 + step.sectors);
        self.waiting[at] = request;
        self.policy
            .grown(self.now, request.id, request.start, request.sectors);
        let neighbour = if back {
            self.policy.neighbour_after(request.id)
        } else {
            self.policy.neighbour_before(request.id)
        };
        let Some(other) = neighbour.and_then(|id| self.waiting.iter().position(|r| r.id == id))
        else {
            return;
        };
        let (kept, gone) = if back {
            (request.id, self.waiting[other])
        } else {
            (self.waiting[other].id, request)
        };
        let front = *self.waiting.iter().find(|r| r.id == kept).unwrap();
        if front.direction != gone.direction || front.end() != gone.start {
            return;
        }
        let sectors = Sectors(front.sectors.0 + gone.sectors.0);
        self.policy.grown(self.now, kept, front.start, sectors);
        self.policy.joined(self.now, kept, gone.id);
        self.waiting.retain(|r| r.id != gone.id);
        self.waiting
            .iter_mut()
            .find(|r| r.id == kept)
            .unwrap()
            .sectors = sectors;
        self.absorbed += 1;
    }

    fn step(&mut self, step: &Step) {
        self.wait(Nanos::from_micros(step.pause_us));
        match step.choice {
            0..=109 => self.insert(self.request(step)),
            110..=169 => {
                self.dispatch();
            }
            170..=219 => {
                if let Some(at) = step.pick.checked_rem(self.in_driver.len()) {
                    self.complete(at);
                }
            }
            220..=239 => self.grow(step),
            240..=249 => {
                // Another choice is forced on it, as after a miss in replay.
                if let Some(at) = step.pick.checked_rem(self.waiting.len()) {
                    let id = self.waiting[at].id;
                    self.policy.dispatch_forced(self.now, id);
                    self.take(id);
                }
            }
            _ => {
                let busy = self.waiting.iter().chain(&self.in_driver);
                if !busy
                    .into_iter()
                    .any(|request| request.process.0 == step.process)
                {
                    self.policy.process_exits(self.now, ProcessId(step.process));
                }
            }
        }
        assert_eq!(self.policy.waiting(), self.waiting.len());
    }

    /// Serves everything that is left; fails if the policy holds something back for ever.
    fn drain(&mut self) {
        for _ in 0..100_000 {
            if self.waiting.is_empty() && self.in_driver.is_empty() {
                return;
            }
            if self.dispatch().is_none() {
                if !self.in_driver.is_empty() {
                    self.complete(0);
                } else {
                    let due = self
                        .policy
                        .timer()
                        .expect("idle with requests waiting and no timer");
                    self.wait(due.saturating_sub(self.now));
                }
            }
        }
        panic!("{} requests are never dispatched", self.waiting.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_request_is_handed_out_exactly_once(setup in setup(), steps in proptest::collection::vec(step(), 1..400)) {
        let mut harness = Harness::new(&setup);
        for step in &steps {
            harness.step(step);
        }
        harness.drain();
        prop_assert_eq!(harness.handed_out + harness.absorbed, harness.next);
        let mut state = String::new();
        harness.policy.describe(harness.now, &mut state);
        prop_assert!(!state.is_empty());
    }

    /// Without idling nothing may keep the drive idle while requests wait.
    #[test]
    fn without_slice_idle_it_is_work_conserving(steps in proptest::collection::vec(step(), 1..300), rotational: bool) {
        let mut setup = Setup::new(Kernel::parse("6.1", 250).unwrap());
        setup.rotational = rotational;
        let kernel = setup.kernel;
        setup.values.set("bfq", PARAMETERS, &kernel, "slice_idle", 0).unwrap();
        let mut harness = Harness::new(&setup);
        for step in &steps {
            harness.step(step);
            if harness.in_driver.is_empty() && !harness.waiting.is_empty() {
                prop_assert!(harness.dispatch().is_some());
            }
        }
    }
}

/// This test will give two processes the whole time and find their shares as their weights, 80 to 40.
#[test]
fn sequential_readers_share_by_weight() {
    let mut setup = Setup::new(Kernel::parse("6.1", 250).unwrap());
    let kernel = setup.kernel;
    setup
        .values
        .set("bfq", PARAMETERS, &kernel, "low_latency", 0)
        .unwrap();
    let entry = registry::find("bfq").unwrap();
    let mut policy = entry.build(&setup).unwrap();
    let mut now = Nanos::ZERO;
    let mut served = [0u64; 2];
    let mut at = [0u64, 1 << 30];
    let mut insert = |policy: &mut seekwise_sched::AnyScheduler, now, process: usize| {
        let level = if process == 0 { 0 } else { 4 };
        let request = Request {
            id: RequestId(process as u32),
            start: Lba(at[process]),
            sectors: Sectors(256),
            direction: Direction::Read,
            sync: true,
            no_idle: false,
            metadata: false,
            process: ProcessId(process as u32),
            priority: Priority {
                class: PriorityClass::BestEffort,
                level,
            },
            allocated: now,
        };
        at[process] += 256;
        policy.insert(now, &request);
        request
    };
    let mut requests = [insert(&mut policy, now, 0), insert(&mut policy, now, 1)];
    for _ in 0..40_000 {
        let Some(id) = policy.dispatch(now) else {
            let due = policy.timer().expect("nothing to serve and no timer");
            now = now.max(due);
            policy.fire(now);
            continue;
        };
        let process = id.0 as usize;
        now += Nanos::from_millis(1);
        policy.complete(now, &requests[process]);
        served[process] += 256;
        now += Nanos::from_micros(100);
        requests[process] = insert(&mut policy, now, process);
    }
    let ratio = served[0] as f64 / served[1] as f64;
    assert!((1.8..2.2).contains(&ratio), "{served:?}");
}
