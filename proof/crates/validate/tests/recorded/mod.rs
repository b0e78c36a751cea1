//! Rows of the recorded machines, held against the simulator.

use seekwise_validate::rates::{self, TableOutcome};

/// The rows of `table` (tests/vectors/machine) that contain `words`.
pub fn rows(table: &str, words: &str) -> TableOutcome {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../tests/vectors/machine")
        .join(table);
    let text = std::fs::read_to_string(path).expect("the recorded table");
    let rows: Vec<&str> = text
        .lines()
        .enumerate()
        .filter(|(index, line)| *index == 0 || line.contains(words))
        .map(|(_, line)| line)
        .collect();
    rates::verify(&rows.join("\n"), 1).expect("a table")
}
