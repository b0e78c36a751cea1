//! Runs trials from a file, one JSON object a line (`{"cell": spec}`, `{"rates": [text of a table, seed]}`), and prints
//! the result of each on a line: `trials FILE`. Two builds compared by it show whether a change that shall not change results does
//! (`tools/golden.py`).

use seekwise_sim::spec::TrialSpec;
use seekwise_sim::trial;
use seekwise_validate::rates;
use serde_json::Value;

fn main() {
    let path = std::env::args().nth(1).expect("a file of trials");
    let text = std::fs::read_to_string(path).expect("a readable file");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut trials = Vec::new();
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (line, trial) in text.lines().enumerate() {
        let trial: Value = serde_json::from_str(trial).expect("a JSON object");
        if let Some(spec) = trial.get("cell") {
            let spec: TrialSpec = serde_json::from_value(spec.clone()).expect("a trial");
            trials.push((line, spec));
        } else {
            let (table, seed) = (trial["rates"][0].as_str(), trial["rates"][1].as_u64());
            let outcome = rates::verify(table.expect("a table"), seed.expect("a seed"));
            let outcome = serde_json::to_string(&outcome.expect("a readable table"));
            lines.push((line, outcome.expect("plain data")));
        }
    }
    let (places, specs): (Vec<_>, Vec<_>) = trials.into_iter().unzip();
    let results = trial::run_all(&specs, threads, |_, _| true);
    lines.extend(places.into_iter().zip(results.iter().map(Value::to_string)));
    lines.sort();
    for (_, result) in lines {
        println!("{result}");
    }
}
