//! Runs cell specs from a file, one JSON object a line, and prints each result, then the processor time of each: `cells SPECS`.
//! Two builds compared by it show whether a change that shall not change results does.

use cpu_time::ThreadTime;
use seekwise_sim::{cell, spec::CellSpec};

fn main() {
    let path = std::env::args().nth(1).expect("a file of specs");
    let text = std::fs::read_to_string(path).expect("a readable file");
    for line in text.lines() {
        let spec: CellSpec = serde_json::from_str(line).expect("a cell");
        let began = ThreadTime::now();
        match cell::run(&spec) {
            Ok(result) => println!("{} {result}", spec.name),
            Err(reason) => println!("{} refused: {reason}", spec.name),
        }
        eprintln!("{} {:.3}", spec.name, began.elapsed().as_secs_f64());
    }
}
