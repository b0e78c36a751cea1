//! A small harness for the tests of a policy: processes that submit, a clock, a device that is told what to complete.

#![allow(dead_code)] // Every test file uses a part of it.

use seekwise_sched::{
    find_scheduler, AnyScheduler, Direction, Kernel, Priority, PriorityClass, ProcessId, Request,
    RequestId, Scheduler, Setup,
};
use seekwise_units::{Lba, Nanos, Sectors};

pub struct Harness {
    pub policy: AnyScheduler,
    pub now: Nanos,
    requests: Vec<Request>,
    priorities: [Priority; 16],
}

/// A kernel ticking at 1000 Hz, or at N with `-hzN`.
pub fn setup(kernel: &str) -> Setup {
    Setup::new(Kernel::parse(kernel, 1000).expect("kernel of a test"))
}

impl Harness {
    pub fn new(scheduler: &str, kernel: &str) -> Self {
        Self::with(scheduler, setup(kernel), &[])
    }

    pub fn with(scheduler: &str, mut setup: Setup, tunables: &[(&str, i128)]) -> Self {
        let entry = find_scheduler(scheduler).expect("scheduler of a test");
        for (name, value) in tunables {
            let kernel = setup.kernel;
            setup
                .values
                .set(scheduler, entry.parameters, &kernel, name, *value)
                .expect("tunable of a test");
        }
        let policy = entry.build(&setup).expect("policy of a test");
        Self {
            policy,
            now: Nanos(0),
            requests: Vec::new(),
            priorities: [Priority::default(); 16],
        }
    }

    /// Class and level of a process from now on.
    pub fn priority(&mut self, process: u32, class: PriorityClass, level: u8) {
        self.priorities[process as usize] = Priority { class, level };
    }

    /// Time goes on to `millis`; timers fire on the way.
    pub fn at(&mut self, millis: f64) -> &mut Self {
        let to = Nanos((millis * 1e6) as u64);
        assert!(to >= self.now, "time goes forward");
        while let Some(due) = self.policy.timer().filter(|due| *due <= to) {
            self.policy.fire(due);
        }
        self.now = to;
        self
    }

    pub fn submit(
        &mut self,
        process: u32,
        direction: Direction,
        sync: bool,
        sector: u64,
        sectors: u64,
    ) -> RequestId {
        let request = Request {
            id: RequestId(self.requests.len() as u32),
            start: Lba(sector),
            sectors: Sectors(sectors),
            direction,
            sync,
            no_idle: false,
            metadata: false,
            process: ProcessId(process),
            priority: self.priorities[process as usize],
            allocated: self.now,
        };
        self.insert(request)
    }

    pub fn insert(&mut self, request: Request) -> RequestId {
        let request = Request {
            id: RequestId(self.requests.len() as u32),
            allocated: self.now,
            ..request
        };
        self.requests.push(request);
        self.policy.insert(self.now, &request);
        request.id
    }

    /// A read of 8 sectors.
    pub fn read(&mut self, process: u32, sector: u64) -> RequestId {
        self.submit(process, Direction::Read, true, sector, 8)
    }

    /// An asynchronous write of 8 sectors.
    pub fn write(&mut self, process: u32, sector: u64) -> RequestId {
        self.submit(process, Direction::Write, false, sector, 8)
    }

    /// A synchronous write of 8 sectors.
    pub fn sync_write(&mut self, process: u32, sector: u64) -> RequestId {
        self.submit(process, Direction::Write, true, sector, 8)
    }

    /// Start sector of the request dispatched now.
    pub fn next(&mut self) -> Option<u64> {
        self.policy
            .dispatch(self.now)
            .map(|id| self.requests[id.0 as usize].start.0)
    }

    /// Start sectors of all that are dispatched now.
    pub fn all(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.next()).collect()
    }

    /// The device is done with the request at `sector`.
    pub fn done(&mut self, sector: u64) {
        let request = self
            .requests
            .iter()
            .rev()
            .find(|request| request.start.0 == sector)
            .copied();
        self.policy
            .complete(self.now, &request.expect("a request at that sector"));
    }

    /// Serves whatever is dispatched, one at a time, each for `millis`; gives the order. Stops when nothing is.
    pub fn serve(&mut self, millis: f64) -> Vec<u64> {
        let mut order = Vec::new();
        while let Some(sector) = self.next() {
            order.push(sector);
            self.at(self.now.as_millis_f64() + millis);
            self.done(sector);
        }
        order
    }

    pub fn request(&self, id: RequestId) -> &Request {
        &self.requests[id.0 as usize]
    }

    /// A waiting request grows to the given place.
    pub fn grow(&mut self, id: RequestId, sector: u64, sectors: u64) {
        let request = &mut self.requests[id.0 as usize];
        (request.start, request.sectors) = (Lba(sector), Sectors(sectors));
        self.policy
            .grown(self.now, id, Lba(sector), Sectors(sectors));
    }

    pub fn exits(&mut self, process: u32) {
        self.policy.process_exits(self.now, ProcessId(process));
    }

    pub fn waiting(&self) -> usize {
        self.policy.waiting()
    }
}
