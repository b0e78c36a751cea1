//! Prints how md's model does on recordings: `cargo run --release --example mapping -- tests/vectors/md`.

fn main() {
    let paths: Vec<std::path::PathBuf> = std::env::args_os().skip(1).map(Into::into).collect();
    let outcome = seekwise_replay::mapping::verify_mapping(&paths);
    for file in &outcome.files {
        println!("{} of {}  ordered {} of {}  {}", file.passed, file.total, file.ordered.passed, file.ordered.total, file.file);
        file.misses.iter().take(3).for_each(|miss| println!("    {miss}"));
    }
    println!("{} of {}  ordered {} of {}", outcome.passed, outcome.total, outcome.ordered.passed, outcome.ordered.total);
}
