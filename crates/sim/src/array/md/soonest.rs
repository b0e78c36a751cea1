//! One time per place, and the earliest of them at hand: it is asked for at every event, changed by some.

use seekwise_units::Nanos;

#[derive(Clone, Debug)]
pub struct Soonest {
    times: Vec<Nanos>,
    first: Nanos,
    place: usize,
}

impl Soonest {
    /// All of them never.
    pub fn new(places: usize) -> Self {
        Self {
            times: vec![Nanos::NEVER; places],
            first: Nanos::NEVER,
            place: 0,
        }
    }

    #[inline]
    pub fn first(&self) -> Nanos {
        self.first
    }

    /// The lowest place of those that have the earliest time.
    #[inline]
    pub fn place(&self) -> usize {
        self.place
    }

    #[inline]
    pub fn set(&mut self, place: usize, time: Nanos) {
        let before = core::mem::replace(&mut self.times[place], time);
        if before == time {
            return;
        }
        if time < self.first || (time == self.first && place < self.place) {
            (self.first, self.place) = (time, place);
        } else if place == self.place {
            self.search();
        }
    }

    fn search(&mut self) {
        let (mut first, mut place) = (self.times[0], 0);
        for (index, &time) in self.times.iter().enumerate().skip(1) {
            // A choice between values: which it is cannot be foreseen, so a jump would be mistaken every other time.
            let earlier = u64::from(time < first).wrapping_neg();
            first = Nanos((time.0 & earlier) | (first.0 & !earlier));
            place = (index & earlier as usize) | (place & !(earlier as usize));
        }
        (self.first, self.place) = (first, place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
}
