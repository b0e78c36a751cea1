//! `seekwise-drive MODEL [COUNT [STORE]]`, or `seekwise-drive --json` with the options as JSON on standard input: for machines without Python.
//!
//! `seekwise drive` is the same server with more to say.

use seekwise_drive::options::Options;
use seekwise_drive::{serve, Notice};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

fn options() -> Result<Options, String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "--json") {
        return serde_json::from_reader(std::io::stdin())
            .map_err(|error| format!("the options cannot be read: {error}"));
    }
    let model = words
        .first()
        .filter(|word| !word.starts_with('-'))
        .ok_or("usage: seekwise-drive MODEL [COUNT [STORE]]")?;
    let count = words
        .get(1)
        .map_or(Ok(1), |word| word.parse())
        .map_err(|_| "COUNT is not a number")?;
    let mut options = Options::new(model, count);
    options.store = words.get(2).map(Into::into);
    Ok(options)
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(sentence) => {
            eprintln!("error: {sentence}");
            return ExitCode::from(2);
        }
    };
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        if let Err(error) = signal_hook::flag::register(signal, ended.clone()) {
            eprintln!("error: the signal {signal} cannot be caught: {error}");
            return ExitCode::FAILURE;
        }
    }
    let served = serve(&options, |notice| {
        match notice {
            Notice::Tick => {}
            Notice::Ready { .. } => println!("{}", serde_json::json!(notice)),
            Notice::Event { drive, sentence } => eprintln!("drive {drive}: {sentence}"),
        }
        !ended.load(Ordering::Relaxed)
    });
    match served {
        Ok(report) => {
            println!("{}", serde_json::json!(report));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(match error.why {
                seekwise_drive::options::Why::Usage => 2,
                seekwise_drive::options::Why::Refused => 3,
                seekwise_drive::options::Why::Failed => 1,
            })
        }
    }
}
