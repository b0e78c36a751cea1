//! `seekwise-drive`, with its options as JSON on standard input: the drives of a guest of the VM testbed, served until SIGTERM.

use seekwise_drive::{serve, Notice, Options};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

fn run() -> Result<(), String> {
    let options: Options = serde_json::from_reader(std::io::stdin())
        .map_err(|error| format!("the options cannot be read: {error}"))?;
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, ended.clone())
            .map_err(|error| format!("the signal {signal} cannot be caught: {error}"))?;
    }
    let report = serve(&options, |notice| {
        match notice {
            Notice::Tick => {}
            Notice::Ready { .. } => println!("{}", serde_json::json!(notice)),
            Notice::Event { drive, sentence } => eprintln!("drive {drive}: {sentence}"),
        }
        !ended.load(Ordering::Relaxed)
    })?;
    println!("{}", serde_json::json!(report));
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("error: {sentence}");
            ExitCode::FAILURE
        }
    }
}
