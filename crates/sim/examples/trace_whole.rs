//! Prints the events of one whole run in the format of a recording: `… --example trace_whole -- RECORDING`.

fn main() {
    let path = std::path::PathBuf::from(std::env::args().nth(1).expect("a recording"));
    let input = seekwise_sim::whole::input::input(&path).expect("its requests");
    let recorded = seekwise_sim::whole::input::recorded(&path).expect("its events");
    for e in seekwise_sim::whole::run::run(&input, &recorded).expect("a run") {
        println!(
            "{},{},{},{},{},p{}",
            e.time.0,
            e.moment.name(),
            seekwise_sim::cell::operation_name(&e),
            e.start,
            e.sectors,
            e.process
        );
    }
}
