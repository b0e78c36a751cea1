//! Every request enters once, is taken once, is accepted once and completes once, and as many sectors go out as came in.

use seekwise_device::null::Null;
use seekwise_host::block::{Bio, BlockQueue, Event, Observer, Submission};
use seekwise_host::cache::read_ahead::{ReadAhead, ReadAheadGeneration};
use seekwise_host::cpu::{CpuCost, Processors};
use seekwise_host::file::{Ext4, FileSystem};
use seekwise_host::job::stream::ALWAYS;
use seekwise_host::job::{Pace, Pattern, Stream};
use seekwise_host::random::Random;
use seekwise_sched::{Direction, Priority, ProcessId, Request};
use seekwise_sim::assemble::files::file_engine;
use seekwise_sim::cost::{MdCosts, StepCosts};
use seekwise_sim::engine::Engine;
use seekwise_sim::files::{FilesPlan, JobPlan, PhasePlan, Start};
use seekwise_sim::queue::{Below, MemberQueues};
use seekwise_sim::spec::array::ArraySpec;
use seekwise_sim::spec::QueueSpec;
use seekwise_sim::storage::attached::AttachedDrive;
use seekwise_sim::storage::Single;
use seekwise_sim::task::direct::DirectThreads;
use seekwise_sim::task::ThreadPlan;
use seekwise_units::{Depth, Lba, Nanos, Sectors};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Absent,
    Waiting,
    Issued,
    Started,
}

/// Follows each slot through its stages; panics with the time at the first wrong step.
#[derive(Clone, Debug, Default)]
struct Once {
    stages: Vec<Stage>,
    sectors_out: u64,
    completed: u64,
    merged: u64,
    clock: Nanos,
}

impl Once {
    fn step(&mut self, now: Nanos, request: &Request, from: Stage, to: Stage) {
        assert!(
            now >= self.clock,
            "time ran back from {} to {} ns",
            self.clock.0,
            now.0
        );
        self.clock = now;
        let slot = request.id.0 as usize;
        if self.stages.len() <= slot {
            self.stages.resize(slot + 1, Stage::Absent);
        }
        // A request that another one swallowed has no end of its own: its slot comes back as new.
        let stage = self.stages[slot];
        let swallowed = to == Stage::Waiting && stage == Stage::Waiting && self.merged > 0;
        assert!(
            stage == from || swallowed,
            "at {} ns request {slot} goes from {stage:?} to {to:?}",
            now.0
        );
        self.stages[slot] = to;
    }
}

impl Observer for Once {
    fn note(&mut self, now: Nanos, event: Event) {
        match event {
            Event::Submitted(_) => {}
            Event::Inserted(request) => self.step(now, request, Stage::Absent, Stage::Waiting),
            Event::Issued(request) => self.step(now, request, Stage::Waiting, Stage::Issued),
            Event::Started(request) => self.step(now, request, Stage::Issued, Stage::Started),
            Event::Completed(request) => {
                self.step(now, request, Stage::Started, Stage::Absent);
                self.sectors_out += request.sectors.0;
                self.completed += 1;
            }
            Event::Merged(..) => self.merged += 1,
        }
    }
}

const DEPTH: u32 = 4;
const THREADS: u32 = 6;
const OPERATIONS: u64 = 50;

/// Readers and writers, in order and at random, four calls of each thread at once.
fn plans() -> Vec<ThreadPlan> {
    let plan = |thread: u32| ThreadPlan {
        job: 0,
        process: ProcessId(thread + 1),
        priority: Priority::default(),
        processor: 0,
        cost: CpuCost::default(),
        starts: Nanos(1_000 * u64::from(thread)),
        stream: Stream::new(
            Random::new(7, u64::from(thread)),
            if thread % 2 == 0 {
                Pattern::Sequential
            } else {
                Pattern::Random
            },
            Lba(u64::from(thread) << 16),
            Sectors(1 << 16),
            Sectors(16),
            if thread < THREADS / 2 { ALWAYS } else { 0 },
        ),
        pace: Pace::Closed {
            depth: 4,
            think: Nanos::ZERO,
        },
        operations_max: OPERATIONS,
        sync_every: 0,
        deadline: Nanos::NEVER,
    };
    (0..THREADS).map(plan).collect()
}

fn watched<Q: BlockQueue>(queue: Q) -> Once {
    let drive = Null::new(Sectors(1 << 24), Depth(DEPTH), Nanos::from_micros(300));
    let storage = Single {
        queue,
        drive: AttachedDrive::new(drive, DEPTH),
    };
    let mut engine = Engine::new(storage, Once::default(), Processors::new(2), Sectors(1024));
    engine
        .run_phase(1, |engine| DirectThreads::new(engine, plans()))
        .expect("a phase that ends");
    engine.observer
}

#[test]
fn under_every_scheduler_each_request_takes_each_step_once_and_no_sector_is_lost() {
    for entry in seekwise_sched::ENTRIES {
        let kernel = if entry.kernels.until.is_some() {
            "2.6.32"
        } else {
            "6.1"
        };
        let below = Below {
            depth: DEPTH,
            tags: DEPTH,
            throttled: DEPTH,
            rotational: true,
            budget: true,
            command_kib: None,
        };
        let queue = QueueSpec::of(entry.name, kernel);
        let queues = MemberQueues::of(&queue, &below, None).unwrap();
        let once = if queues.single_queue() {
            watched(queues.legacy().unwrap())
        } else {
            watched(queues.mq().unwrap())
        };
        let operations = u64::from(THREADS) * OPERATIONS;
        assert_eq!(once.sectors_out, 16 * operations, "{}", entry.name);
        assert!(once.completed <= operations, "{}", entry.name);
        assert!(
            once.stages.iter().all(|stage| *stage != Stage::Started),
            "{}",
            entry.name
        );
    }
}

/// Programs with files on RAID 6 with a missing member and a bitmap: what the first member does.
#[test]
fn under_files_on_a_degraded_array_each_request_takes_each_step_once() {
    let (members, capacity) = (5, Sectors(1 << 21));
    let below = Below {
        depth: DEPTH,
        tags: DEPTH,
        throttled: DEPTH,
        rotational: true,
        budget: true,
        command_kib: None,
    };
    let queue = QueueSpec::of("mq-deadline", "6.1");
    let queues = MemberQueues::of(&queue, &below, None).unwrap();
    let spec: ArraySpec = serde_json::from_value(serde_json::json!({
        "level": "raid6", "members": members, "missing": [3], "bitmap": "internal",
    }))
    .unwrap();
    let geometry = spec.geometry(queues.kernel(), capacity).unwrap();
    let drive = || Null::new(capacity, Depth(DEPTH + 1), Nanos::from_micros(300));
    let attached = |_| (queues.mq().unwrap(), AttachedDrive::new(drive(), DEPTH));
    let mut engine = file_engine(
        (0..members).map(attached).collect(),
        (Some((&spec, &geometry)), geometry.capacity()),
        queues.kernel(),
        true,
        (StepCosts::default(), MdCosts::OLD),
        Once::default(),
    )
    .unwrap();
    let blocks = geometry.capacity().0 / 8;
    let files = vec![2_048; 4];
    let system = FileSystem::Ext4(Ext4::new(blocks, 50_000, 8_192));
    let read_ahead = ReadAhead::new(ReadAheadGeneration::of(queues.kernel().version), 32);
    let reads = JobPlan {
        calls: 512,
        ..JobPlan::reads(false, 4, read_ahead)
    };
    let writes = JobPlan {
        write: true,
        calls: 200,
        direct: Some(4),
        fsync: true,
        ..JobPlan::reads(true, 4, read_ahead)
    };
    let start = |file| Start {
        job: file as usize / 2,
        file,
        ..Start::default()
    };
    let phase = PhasePlan {
        jobs: vec![reads, writes],
        ..PhasePlan::of(reads, (0..4).map(start).collect())
    };
    engine.set_files(FilesPlan {
        written: true,
        barriers: true,
        ..FilesPlan::of(queues.kernel(), system, files, vec![phase], 1)
    });
    let outcomes = engine.run_files(Nanos::from_secs(100)).expect("it ends");
    assert_eq!(outcomes[0].done().count, 2 * (512 + 200));
    let member = outcomes[0].members[0];
    let once = &engine.observer;
    assert!(once.completed > 100);
    // What it was given has gone out, but for what the bitmap's daemon or the flusher has under way.
    let given = member.read.0 + member.written.0;
    assert!(
        once.sectors_out <= given && once.sectors_out + 64 > given,
        "{} {given}",
        once.sectors_out
    );
    assert_eq!(outcomes[0].members[3].commands, 0);
}

/// A write that joins two waiting ones makes one request of them: write-back throttling counts it once when it is done, and the other no longer.
#[test]
fn requests_that_became_one_leave_room_for_further_writes() {
    let below = Below {
        depth: 1,
        tags: 32,
        throttled: 32,
        rotational: true,
        budget: true,
        command_kib: None,
    };
    let queues = MemberQueues::of(&QueueSpec::of("mq-deadline", "6.1"), &below, None).unwrap();
    let mut queue = queues.mq().unwrap();
    let null = Null::new(Sectors(1 << 24), Depth(1), Nanos::from_micros(300));
    let (mut drive, mut once, mut now) = (AttachedDrive::new(null, 1), Once::default(), Nanos(0));
    for round in 0..50 {
        let at = round * 1_000;
        // The drive is busy with the first, so the others wait: two apart, then what lies between them.
        for start in [at + 500, at, at + 16, at + 8] {
            let process = ProcessId(1);
            let bio = Bio::new(0, Direction::Write, Lba(start), Sectors(8), process);
            let submitted = queue.submit(now, &bio, &mut drive, &mut once);
            assert_eq!(submitted, Submission::Accepted, "round {round}");
        }
        while drive.outstanding() > 0 {
            now = drive.next_at();
            if let Some(tag) = drive.advance(now) {
                queue.complete(now, tag, &mut drive, &mut once, |_| ());
            }
        }
    }
    assert_eq!((once.completed, once.merged), (2 * 50, 50));
    assert_eq!(once.sectors_out, 4 * 8 * 50);
}
