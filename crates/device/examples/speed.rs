//! Nanoseconds of this machine per simulated command: `cargo run --release --features examples --example speed`.
use seekwise_device::measure::{run, Load, Pattern};
use seekwise_device::{CommandKind, Device, Drive, Model};
use seekwise_units::{Lba, Nanos, Sectors};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let id = arguments.next().expect("usage: speed MODEL [DEPTH]...");
    let depths: Vec<u32> = arguments
        .map(|depth| depth.parse().expect("a depth"))
        .collect();
    {
        let drive = Drive::new(&Model::shipped(&id).unwrap(), 0).unwrap();
        for depth in depths {
            let load = Load {
                pattern: Pattern::Random,
                kind: CommandKind::Read,
                block: Sectors(8),
                depth,
                first: Lba(0),
                span: drive.capacity(),
                turnaround: Nanos::from_micros(20),
                core: Nanos::ZERO,
                warm_up: 100,
                commands: 5_000_000,
                seed: 1,
            };
            let begin = std::time::Instant::now();
            let result = run(&mut drive.clone(), Nanos::ZERO, &load);
            let each = begin.elapsed().as_nanos() as f64 / load.commands as f64;
            println!(
                "{id} depth {depth}: {each:.1} ns a command, {:.1} IOPS",
                result.iops()
            );
        }
    }
}
