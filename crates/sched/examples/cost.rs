//! What a policy costs per request: N requests always outstanding, one with the device, random 4 KiB reads by eight processes.
//!
//!     cargo run --release -p seekwise-sched --features examples --example cost -- deadline 8

use seekwise_sched::{
    find_scheduler, Direction, Kernel, Priority, ProcessId, Request, RequestId, Scheduler, Setup,
};
use seekwise_units::{Lba, Nanos, Sectors};
use std::time::Instant;

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("deadline", String::as_str);
    let outstanding: u32 = arguments
        .get(1)
        .map_or(8, |text| text.parse().expect("a number"));
    let entry = find_scheduler(name).expect("a scheduler's name");
    let kernel = Kernel::new(
        if name == "anticipatory" { 2 } else { 4 },
        if name == "anticipatory" { 6 } else { 4 },
        32,
        1000,
    );
    let mut policy = entry
        .build(&Setup::new(kernel))
        .expect("a scheduler of this kernel");
    let mut state = 7u64;
    let mut request = |id: u32| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        Request {
            id: RequestId(id),
            start: Lba((state >> 34) * 8),
            sectors: Sectors(8),
            direction: Direction::Read,
            sync: true,
            no_idle: false,
            metadata: false,
            process: ProcessId(id % 8),
            priority: Priority::default(),
            allocated: Nanos(0),
        }
    };
    let mut now = Nanos(0);
    let mut table: Vec<_> = (0..outstanding).map(&mut request).collect();
    for entry in &table {
        policy.insert(now, entry);
    }
    let rounds = 5_000_000u64;
    let start = Instant::now();
    let mut handed_out = 0u64;
    for _ in 0..rounds {
        now = Nanos(now.0 + 4_000_000);
        while let Some(due) = policy.timer().filter(|due| *due <= now) {
            policy.fire(due);
        }
        let Some(id) = policy.dispatch(now) else {
            continue;
        };
        handed_out += 1;
        now = Nanos(now.0 + 4_000_000);
        policy.complete(now, &table[id.0 as usize]);
        table[id.0 as usize] = request(id.0);
        policy.insert(now, &table[id.0 as usize]);
    }
    let nanos = start.elapsed().as_nanos() as f64;
    println!("{name}, {outstanding} outstanding: {:.1} ns a request, {handed_out} of {rounds} rounds served", nanos / handed_out as f64);
}
