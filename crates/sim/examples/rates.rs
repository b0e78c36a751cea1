//! Recorded and simulated rates side by side: `cargo run --release --example rates -- tests/vectors/machine/legacy.csv [filter…]`.

use seekwise_sim::array::rates;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let text = std::fs::read_to_string(arguments.next().expect("a table")).expect("a readable table");
    let filters: Vec<String> = arguments.collect();
    let mut errors = Vec::new();
    for row in rates::parse(&text).expect("the header") {
        let (conditions, recorded) = row.expect("a row");
        let c = &conditions;
        let name = format!("{},{},{},{},{},{},{}", c.kernel, c.array, c.queue_depth, c.drive, c.phase, c.scheduler, c.processes);
        if c.target != "raw device" || !filters.iter().all(|filter| name.contains(filter.as_str())) {
            continue;
        }
        match rates::megabytes_per_second(c, 1) {
            Ok(rate) => {
                let error = rate / recorded - 1.0;
                errors.push(error.abs());
                println!("{}{name}: recorded {recorded:.3} simulated {rate:.3} ({:+.1} %)", if error.abs() > 0.15 { "! " } else { "  " }, error * 100.0);
            }
            Err(reason) => println!("? {name}: {reason}"),
        }
    }
    errors.sort_by(f64::total_cmp);
    let within = errors.iter().filter(|error| **error <= 0.15).count();
    if !errors.is_empty() {
        println!("{within} of {} within 15 %, median {:.1} %", errors.len(), errors[errors.len() / 2] * 100.0);
    }
}
