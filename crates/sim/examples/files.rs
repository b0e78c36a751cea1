//! Recorded rows of files against the simulator, side by side: `files TABLE [kernel]`.

use seekwise_sim::array::files::recorded;
use seekwise_sim::array::rates;
use std::collections::BTreeMap;

fn main() {
    let table = std::env::args().nth(1).expect("the recorded table");
    let text = std::fs::read_to_string(table).expect("a readable table");
    let mut known = BTreeMap::new();
    let mut errors: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in rates::parse(&text).expect("a table").into_iter().flatten() {
        let (conditions, recorded_rate) = row;
        let Some(place) = recorded::PHASES
            .iter()
            .position(|name| *name == conditions.phase)
        else {
            continue;
        };
        if conditions.target != "ext3 files" {
            continue;
        }
        let key = format!(
            "{} {} {} {} {}",
            conditions.kernel,
            conditions.array,
            conditions.queue_depth,
            conditions.scheduler,
            conditions.processes
        );
        let rates = known
            .entry(key.clone())
            .or_insert_with(|| recorded::megabytes_per_second(&conditions, 1));
        match rates {
            Ok(rates) => {
                let error = rates[place] / recorded_rate - 1.0;
                errors
                    .entry(format!("{} {}", conditions.queue_depth, conditions.phase))
                    .or_default()
                    .push(error.abs());
                println!(
                    "{key:40} {:9} {recorded_rate:8.3} {:8.3} {:+6.1} %",
                    conditions.phase,
                    rates[place],
                    error * 100.0
                );
            }
            Err(reason) => println!("{key}: {reason}"),
        }
    }
    for (name, mut list) in errors {
        list.sort_by(f64::total_cmp);
        println!("median {name}: {:.1} %", list[list.len() / 2] * 100.0);
    }
}
