//! Whole runs of recordings: `cargo run --release --example whole -- tests/vectors`.

fn main() {
    let paths: Vec<std::path::PathBuf> = std::env::args().skip(1).map(Into::into).collect();
    let outcome = seekwise_sim::whole::verify(&paths);
    for group in outcome["groups"].as_array().into_iter().flatten() {
        println!("{group}");
    }
    for file in outcome["files"].as_array().into_iter().flatten() {
        if file["met"] != true {
            println!("{file}");
        }
    }
}
