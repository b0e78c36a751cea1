//! Random reads of 4 KiB at depths 1 to 32, and the rate at both edges, for each disk: `cargo run --release --features examples --example ladder`.
use seekwise_device::measure::{run, Load, Pattern};
use seekwise_device::{CommandKind, Device, Drive, Model};
use seekwise_units::{Depth, Lba, Nanos, Sectors};

fn main() {
    for id in Model::ids() {
        let mut model = Model::shipped(id).unwrap();
        if model.set("ncq_efficiency", 1.0).is_err() {
            continue;
        }
        model.set("ncq_age_limit_ms", 0.0).unwrap();
        let drive = Drive::new(&model, 0).unwrap();
        let span = drive.capacity();
        let load = Load {
            pattern: Pattern::Random,
            kind: CommandKind::Read,
            block: Sectors(8),
            depth: 1,
            first: Lba(0),
            span,
            turnaround: Nanos::from_micros(20),
            core: Nanos::ZERO,
            warm_up: 100,
            commands: 20_000,
            seed: 1,
        };
        print!("{id:18}");
        let mut one = 0.0;
        for depth in [1, 2, 4, 8, 16, 32] {
            let Depth(most) = drive.depth();
            if depth > most {
                break;
            }
            let result = run(&mut drive.clone(), Nanos::ZERO, &Load { depth, ..load });
            if depth == 1 {
                one = result.iops();
            }
            print!(
                " {:6.1} ({:.2}, max {:5.0} ms)",
                result.iops(),
                result.iops() / one,
                result.latency_max.as_millis_f64()
            );
        }
        for (name, first) in [("outer", 0), ("inner", span.0 - 40_000)] {
            let load = Load {
                pattern: Pattern::Sequential,
                block: Sectors(256),
                first: Lba(first),
                span: Sectors(40_000.min(span.0)),
                commands: 140,
                warm_up: 10,
                ..load
            };
            let reading = run(&mut drive.clone(), Nanos::ZERO, &load);
            let load = Load {
                kind: CommandKind::Write {
                    force_unit_access: false,
                },
                ..load
            };
            let writing = run(&mut drive.clone(), Nanos::ZERO, &load);
            print!(
                "  {name} {:.1} / {:.1}",
                reading.mb_per_second(),
                writing.mb_per_second()
            );
        }
        println!();
    }
}
