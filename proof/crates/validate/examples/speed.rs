//! Runs one case for a profiler: `cargo run --release --features examples --example speed -- hdd-deadline 1000000 1`.

fn main() {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_else(|| "hdd-deadline".to_owned());
    let ios = args
        .next()
        .map_or(1_000_000, |n| n.parse().expect("a number of I/Os"));
    let seed = args.next().map_or(1, |n| n.parse().expect("a seed"));
    let row = seekwise_validate::bench::run(&name, ios, seed).expect("a case");
    println!(
        "{name}: {} ios in {:.3} CPU seconds, {:.2} million/s, {:.1} ns each",
        row.ios,
        row.cpu_seconds,
        row.ios as f64 / row.cpu_seconds / 1e6,
        row.cpu_seconds * 1e9 / row.ios as f64
    );
    if let Some(members) = row.members {
        println!(
            "{name}: {} commands of drives, {:.2} times what each costs a drive alone, {:.1} ns",
            members.commands,
            members.ratio(row.cpu_seconds),
            members.alone_cpu_seconds * 1e9 / members.alone_ios as f64
        );
    }
}
