//! Replays recordings and prints the sums: `cargo run --release -p seekwise-replay --features examples --example verify -- FOLDER… [--misses N] [--row LINE]`.

use seekwise_replay::{verify_vectors, Options};

fn main() {
    let (mut paths, mut options, mut shown) = (Vec::new(), Options::default(), 0);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || {
            arguments
                .next()
                .and_then(|text| text.parse().ok())
                .expect("a number follows")
        };
        match argument.as_str() {
            "--misses" => shown = number(),
            "--row" => options.explain = Some(number()),
            _ => paths.push(argument.into()),
        }
    }
    let outcome = verify_vectors(&paths, &options);
    for file in &outcome.files {
        if file.passed < file.total && shown > 0 || file.look.is_some() {
            println!(
                "{} {}/{} contested {}/{} {}",
                file.file,
                file.passed,
                file.total,
                file.contested.passed,
                file.contested.total,
                file.error.as_deref().unwrap_or("")
            );
            for miss in file.misses.iter().take(shown) {
                println!(
                    "  row {} at {} ns: {} point, kernel {}, model {}, {} waiting",
                    miss.row, miss.time_ns, miss.point, miss.recorded, miss.chosen, miss.waiting
                );
                if let Some(state) = &miss.state {
                    for line in state.lines() {
                        println!("      {line}");
                    }
                }
            }
            if let Some(look) = &file.look {
                println!(
                    "  row {} at {} ns: {}; {} with the device; would choose {}",
                    look.row, look.time_ns, look.text, look.in_driver, look.would_choose
                );
                for line in look
                    .waiting
                    .iter()
                    .map(String::as_str)
                    .chain(look.state.lines())
                {
                    println!("      {line}");
                }
            }
        }
    }
    for group in &outcome.groups {
        println!(
            "{:<14}{:<16}{:>4} files {:>7}/{:<7}{:>8.3} %   contested {:>7}/{:<7}{:>8.3} %",
            group.scheduler,
            group.kernel,
            group.files,
            group.passed,
            group.total,
            100.0 * group.passed as f64 / group.total as f64,
            group.contested.passed,
            group.contested.total,
            100.0 * group.contested.passed as f64 / group.contested.total as f64,
        );
    }
    println!(
        "{} of {}, contested {} of {}, {} files with an error",
        outcome.passed,
        outcome.total,
        outcome.contested.passed,
        outcome.contested.total,
        outcome.files.iter().filter(|f| f.error.is_some()).count()
    );
}
