//! The cases of `seekwise bench` for criterion: `cargo bench -p seekwise-bench`. 100,000 operations each, so that a sample takes milliseconds.

use criterion::{criterion_group, criterion_main, Criterion, Throughput};

fn cases(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("cases");
    group.sample_size(20);
    for name in seekwise_validate::bench::CASES {
        // Whole runs do more than they are asked for.
        let ios = seekwise_validate::bench::run(name, 100_000, 1).map_or(0, |row| row.ios);
        group.throughput(Throughput::Elements(ios));
        group.bench_function(*name, |bencher| {
            bencher.iter(|| seekwise_validate::bench::run(name, 100_000, 1).map(|row| row.ios));
        });
    }
    group.finish();
}

fn agenda(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("agenda");
    // A thread leaves and comes back a little later: what a closed loop does to it.
    for entries in [8usize, 32, 64, 128, 1024] {
        let mut agenda = seekwise_sim::engine::agenda::Agenda::new(entries);
        let mut now = 0u64;
        for thread in 0..entries as u32 {
            agenda.push(seekwise_units::Nanos(u64::from(thread) * 1000), thread);
        }
        group.bench_function(format!("{entries} entries"), |bencher| {
            bencher.iter(|| {
                let thread = agenda.pop().unwrap_or(0);
                now += 1000;
                agenda.push(seekwise_units::Nanos(now + entries as u64 * 1000), thread);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, cases, agenda);
criterion_main!(benches);
