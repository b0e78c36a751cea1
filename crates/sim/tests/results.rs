//! Histogram and windows of a phase.

use seekwise_host::random::Random;
use seekwise_sim::result::histogram::Histogram;
use seekwise_sim::result::{Windows, WINDOWS_MAX};
use seekwise_units::Nanos;

#[test]
fn bins_are_those_of_hdrhistogram() {
    let mut ours = Histogram::new();
    let mut oracle = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1 << 42, 2).unwrap();
    let mut random = Random::new(3, 0);
    for i in 0..200_000u64 {
        let value = random.bits() >> (22 + i % 42);
        ours.record(Nanos(value));
        oracle.record(value).unwrap();
    }
    let expected: Vec<(u64, u64)> = oracle
        .iter_recorded()
        .map(|v| (v.value_iterated_to(), v.count_at_value()))
        .collect();
    let got: Vec<(u64, u64)> = ours.occupied().collect();
    assert_eq!(got.len(), expected.len());
    for ((upper, n), (oracle_value, oracle_n)) in got.iter().zip(&expected) {
        assert_eq!(*upper, oracle.highest_equivalent(*oracle_value));
        assert_eq!(n, oracle_n);
    }
}

#[test]
fn mean_is_exact_and_longer_values_stand_in_the_last_bin() {
    let mut h = Histogram::new();
    h.record(Nanos(1));
    h.record(Nanos(1 << 50));
    assert_eq!(h.mean_ns(), (1.0 + (1u64 << 50) as f64) / 2.0);
    assert_eq!(h.occupied().count(), 2);
    assert_eq!(h.max, Nanos(1 << 50));
}

#[test]
fn windows_merge_in_pairs_and_lose_nothing() {
    let mut w = Windows::new(Nanos::ZERO);
    for i in 0..1000u64 {
        w.record(Nanos::from_millis(i * 10), 2, Nanos(5));
    }
    let total: f64 = w
        .rows()
        .iter()
        .map(|(rate, _)| rate * w.width().as_secs_f64())
        .sum();
    assert!(w.rows().len() < WINDOWS_MAX);
    let full = w.rows().len() as f64 * w.width().as_millis_f64() / 10.0;
    assert_eq!(total, full * 1024.0);
}
