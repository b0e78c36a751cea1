//! Runs storage specs from a file (a JSON list) on one worker and prints the figures of each, then the processor time of all: `storage SPECS`.

use cpu_time::ProcessTime;
use seekwise_sim::array::storage::{run_all, StorageSpec};

fn main() {
    let path = std::env::args().nth(1).expect("a file of specs");
    let text = std::fs::read_to_string(path).expect("a readable file");
    let specs: Vec<StorageSpec> = serde_json::from_str(&text).expect("a list of storage specs");
    let began = ProcessTime::now();
    for result in run_all(&specs, 1, |_, _| true) {
        println!("{result}");
    }
    eprintln!("{:.3} CPU seconds", began.elapsed().as_secs_f64());
}
