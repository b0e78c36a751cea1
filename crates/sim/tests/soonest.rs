//! The first of a few times.

use proptest::prelude::*;
use seekwise_sim::storage::md::soonest::Soonest;
use seekwise_units::Nanos;

proptest! {
    #[test]
    fn first_and_place_are_those_of_a_search(steps in prop::collection::vec((0usize..9, 0u64..20), 1..200)) {
        let mut soonest = Soonest::new(9);
        let mut plain = [Nanos::NEVER; 9];
        for (place, time) in steps {
            let time = if time == 0 { Nanos::NEVER } else { Nanos(time) };
            soonest.set(place, time);
            plain[place] = time;
            let first = *plain.iter().min().unwrap();
            prop_assert_eq!(soonest.first(), first);
            prop_assert_eq!(soonest.place(), plain.iter().position(|time| *time == first).unwrap());
        }
    }
}
