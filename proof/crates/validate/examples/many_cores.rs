//! Every point of a table of schedulers on many cores, with parameters of the drive other than the model's:
//! `cargo run --release --features examples --example many_cores -- FILE [t_prog_us=1500]…`.

use seekwise_validate::cores::{verify_on, Machine};

fn main() {
    let path = std::env::args().nth(1).expect("a file");
    let text = std::fs::read_to_string(path).expect("a table");
    let mut machine = Machine::measured().expect("a machine");
    for argument in std::env::args().skip(2) {
        let (name, value) = argument.split_once('=').expect("name=value");
        let value = value.parse().expect("a number");
        machine.model.set(name, value).expect("a parameter");
    }
    let outcome = verify_on(&machine, &text, 1).expect("rows");
    for point in &outcome.points {
        let excess = 100.0 * (point.simulated / point.measured - 1.0);
        let mark = if point.passed { "  " } else { "! " };
        println!(
            "{mark}{}: {} {:.2} {:.2} {excess:+.0} %",
            point.name, point.kind, point.measured, point.simulated
        );
    }
    println!("{:?}", outcome.kinds);
    println!(
        "{} of {}; orders {} of {}",
        outcome.passed, outcome.total, outcome.orders_passed, outcome.orders_total
    );
}
