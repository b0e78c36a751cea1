//! Runs storage specs from a file (a JSON list) and prints figures and processor time of each: `storage SPECS`.

use seekwise_sim::array::storage::{run, StorageSpec};
use std::time::Instant;

fn main() {
    let path = std::env::args().nth(1).expect("a file of specs");
    let text = std::fs::read_to_string(path).expect("a readable file");
    let specs: Vec<StorageSpec> = serde_json::from_str(&text).expect("a list of storage specs");
    for spec in specs {
        let began = Instant::now();
        let result = run(&spec);
        println!("{:?} {:?}", began.elapsed(), result);
    }
}
