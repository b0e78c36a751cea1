//! A small closed loop around one device, to see what a model delivers: no block layer, no scheduler.
//!
//! Each of `depth` threads keeps one command outstanding and sends the next one `turnaround` after the last is done.
//! Used by `seekwise verify drives` and by the tests. Time is simulated, so a result is the same everywhere.

use crate::device::{Command, CommandKind, Device};
use seekwise_units::{Lba, Nanos, Sectors};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    Random,
    Sequential,
}

/// One measurement.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub pattern: Pattern,
    pub kind: CommandKind,
    pub block: Sectors,
    pub depth: u32,
    /// Part of the device in use.
    pub first: Lba,
    pub span: Sectors,
    pub turnaround: Nanos,
    /// Processor time of one command on the one core that all threads share; zero when the host is no limit.
    pub core: Nanos,
    /// Commands to run before counting, and to count.
    pub warm_up: u64,
    pub commands: u64,
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Result {
    pub commands: u64,
    pub elapsed: Nanos,
    pub latency_mean_ns: f64,
    pub latency_max: Nanos,
    pub bytes: u64,
}

impl Result {
    /// Commands per second of simulated time.
    pub fn iops(&self) -> f64 {
        self.commands as f64 / self.elapsed.as_secs_f64()
    }

    /// Throughput in MB/s (10^6 bytes) of simulated time.
    pub fn mb_per_second(&self) -> f64 {
        self.bytes as f64 / 1e6 / self.elapsed.as_secs_f64()
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014): enough for addresses.
#[derive(Clone, Debug)]
pub struct Addresses(u64);

impl Addresses {
    /// Equal seeds give equal addresses.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, evenly distributed over 0 to `bound` - 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ (z >> 31)) * u128::from(bound)) >> 64) as u64
    }
}

/// Where its commands start, one after the other.
fn addresses(load: &Load) -> impl FnMut() -> Lba {
    let Load {
        pattern,
        first,
        block,
        seed,
        ..
    } = *load;
    let blocks = (load.span.0 / block.0).max(1);
    let mut random = Addresses::new(seed);
    let mut position = 0;
    move || {
        let number = match pattern {
            Pattern::Random => random.below(blocks),
            Pattern::Sequential => {
                position += 1;
                (position - 1) % blocks
            }
        };
        first + Sectors(number * block.0)
    }
}

/// Runs a load on a device at `start`; the device is idle before and after.
pub fn run(device: &mut impl Device, start: Nanos, load: &Load) -> Result {
    let depth = load.depth.clamp(1, device.depth().0) as usize;
    let mut addresses = addresses(load);
    let total = load.warm_up + load.commands;
    let mut submitted_at = vec![Nanos::ZERO; depth];
    // Threads that will submit, in order of time: completions leave in order, so this is a queue.
    let mut thinking = std::collections::VecDeque::with_capacity(depth + 1);
    thinking.extend((0..depth as u32).map(|thread| (start, thread)));
    let mut core_free = start;
    let (mut submitted, mut completed) = (0, 0);
    let mut result = Result::default();
    let mut counting_since = start;
    let mut latency_sum = 0u64;
    while completed < total {
        let completion = device.next_completion().unwrap_or(Nanos::NEVER);
        match thinking.front() {
            Some(&(time, thread)) if time < completion || completion == Nanos::NEVER => {
                thinking.pop_front();
                if submitted < total {
                    submitted += 1;
                    submitted_at[thread as usize] = time;
                    let start = addresses();
                    device.submit(time, Command::of(thread, load.kind, start, load.block));
                }
            }
            _ => {
                assert_ne!(completion, Nanos::NEVER, "the device lost a command");
                let tag = device.complete_next(completion);
                completed += 1;
                let latency = completion - submitted_at[tag.0 as usize];
                if completed == load.warm_up {
                    counting_since = completion;
                } else if completed > load.warm_up {
                    latency_sum += latency.0;
                    result.latency_max = result.latency_max.max(latency);
                    result.elapsed = completion - counting_since;
                }
                let ready = (completion + load.turnaround).max(core_free) + load.core;
                core_free = ready;
                thinking.push_back((ready, tag.0));
            }
        }
    }
    result.commands = load.commands;
    result.bytes = load.commands * load.block.bytes().0;
    result.latency_mean_ns = latency_sum as f64 / load.commands as f64;
    result
}

/// Mean time from sending a read of one sector to its end, `distance` (a part of the capacity) further than the sector read
/// before, over `samples` places drawn at random; both directions, whichever fits. Each pair is read by a drive at rest.
pub fn access_at(device: &(impl Device + Clone), distance: f64, samples: u64, seed: u64) -> Nanos {
    let mut random = Addresses::new(seed);
    let capacity = device.capacity().0;
    let step = ((capacity - 1) as f64 * distance.clamp(0.0, 1.0)).max(1.0) as u64;
    let mut total = Nanos::ZERO;
    for _ in 0..samples {
        let near = random.below(capacity - step);
        let (from, to) = match random.below(2) {
            0 => (near, near + step),
            _ => (near + step, near),
        };
        let mut device = device.clone();
        let mut now = Nanos::ZERO;
        for start in [from, to] {
            // The platter stands anywhere when the read is sent.
            now += Nanos(random.below(20_000_000));
            device.submit(
                now,
                Command::of(0, CommandKind::Read, Lba(start), Sectors(1)),
            );
            let done = device.next_completion().expect("a command is outstanding");
            device.complete_next(done);
            if start == to {
                total += done - now;
            }
            now = done;
        }
    }
    Nanos(total.0 / samples)
}

/// Shortest time from sending a read to its end over many moments of sending, with the head `from` before: what is
/// left when the platter happens to stand right, as drives are measured from outside.
pub fn quickest(device: &(impl Device + Clone), from: Lba, to: Lba, moments: u64) -> Nanos {
    let read = |start| Command::of(0, CommandKind::Read, start, Sectors(8));
    let mut best = Nanos::NEVER;
    for moment in 0..moments {
        let mut device = device.clone();
        device.submit(Nanos::ZERO, read(from));
        let there = device.next_completion().expect("a command is outstanding");
        device.complete_next(there);
        let sent = there + Nanos(moment * 20_000_000 / moments);
        device.submit(sent, read(to));
        let done = device.next_completion().expect("a command is outstanding");
        device.complete_next(done);
        best = best.min(done - sent);
    }
    best
}
