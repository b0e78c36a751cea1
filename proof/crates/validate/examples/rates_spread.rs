//! How far recorded rows depend on details that their description leaves open (proof/docs/recorded-machines.md).
//! `rates_spread TABLE WORDS [cost=ns …] [left_out=processes …]`: rows that contain all the words, separated by commas, under other costs of the
//! host, or without the run of so many processes before; sets of them are separated by `/`.

use seekwise_units::Nanos;
use seekwise_validate::rates::{self, Unknowns};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[1]).expect("a readable table");
    for (conditions, recorded) in rates::parse(&text).expect("a table").into_iter().flatten() {
        let all = format!(
            "{} {} {} {} {} {} {}",
            conditions.kernel,
            conditions.array,
            conditions.queue_depth,
            conditions.drive,
            conditions.phase,
            conditions.scheduler,
            conditions.processes
        );
        let meant = |word: &str| all.split(' ').any(|part| part == word);
        if conditions.target != "raw device" || !args[2].split(',').all(meant) {
            continue;
        }
        print!("{all}: recorded {recorded};");
        for set in args[3..].split(|arg| arg == "/") {
            let mut unknowns = Unknowns::default();
            let costs = &mut unknowns.costs;
            for change in set {
                let (name, value) = change.split_once('=').expect("name=number");
                let value: u64 = value.parse().expect("a number");
                let ns = Nanos(value);
                match name {
                    "user" => costs.user = ns,
                    "call" => costs.call = ns,
                    "page_copy" => costs.page_copy = ns,
                    "page_add" => costs.page_add = ns,
                    "bio" => costs.bio = ns,
                    "interrupt" => costs.interrupt = ns,
                    "page_end" => costs.page_end = ns,
                    "switch" => costs.switch = ns,
                    "page_pin" => costs.page_pin = ns,
                    "fork" => unknowns.fork = ns,
                    "left_out" => unknowns.left_out.push(value as u32),
                    other => panic!("there is no cost {other}"),
                }
            }
            match rates::series(&conditions, &unknowns, 1) {
                Ok(rates) => print!(" {:.0}", rates.last().expect("a rate")),
                Err(reason) => print!(" {reason}"),
            }
        }
        println!();
    }
}
