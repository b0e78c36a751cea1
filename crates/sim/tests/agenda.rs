//! The order in which tasks leave the agenda.

use proptest::prelude::*;
use seekwise_sim::engine::agenda::Agenda;
use seekwise_units::Nanos;

proptest! {
    #[test]
    fn many_and_few_leave_in_order_of_time_and_insertion(steps in prop::collection::vec((0u64..50, 0u32..3), 1..600)) {
        let mut agenda = Agenda::new(0);
        let mut plain: Vec<(Nanos, u32)> = Vec::new();
        for (thread, (at, pops)) in steps.into_iter().enumerate() {
            let (at, thread) = (Nanos(at), thread as u32);
            agenda.push(at, thread);
            plain.insert(plain.partition_point(|(other, _)| *other <= at), (at, thread));
            // Pushes prevail first, and then it empties.
            for _ in 0..if thread < 200 { pops / 2 } else { pops } {
                prop_assert_eq!(agenda.next_at(), plain.first().map_or(Nanos::NEVER, |first| first.0));
                let expected = if plain.is_empty() { None } else { Some(plain.remove(0).1) };
                prop_assert_eq!(agenda.pop(), expected);
            }
        }
    }
}

#[test]
fn equal_times_leave_in_insertion_order_in_ring_and_heap() {
    for entries in [8, 1000] {
        let mut agenda = Agenda::new(entries);
        for (at, thread) in [(30, 0), (10, 1), (30, 2), (20, 3), (10, 4), (30, 5)] {
            agenda.push(Nanos(at), thread);
        }
        let order: Vec<u32> = std::iter::from_fn(|| agenda.pop()).collect();
        assert_eq!(order, [1, 4, 3, 0, 2, 5]);
        assert_eq!(agenda.next_at(), Nanos::NEVER);
    }
}
