//! Which thread acts next: (time, thread) pairs in order of time, equal times in order of insertion.
//!
//! A few threads (the usual case) stand in one sorted ring, into which a new entry is sorted from the far end: nearly always where it
//! belongs. More than [`RING`] spill into a binary heap with an insertion counter: logarithmic in the number of threads.

use seekwise_units::Nanos;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Up to this many entries a linear insertion beats a heap (measured with benches/agenda.rs; flat between 32 and 128).
const RING: usize = 64;

#[derive(Clone, Debug, Default)]
pub struct Agenda {
    ring: VecDeque<(Nanos, u32)>,
    heap: BinaryHeap<Reverse<(Nanos, u64, u32)>>,
    inserted: u64,
    heaped: bool,
}

impl Agenda {
    /// `entries`: the most that stand in the agenda at once.
    pub fn new(entries: usize) -> Self {
        let heaped = entries > RING;
        Self {
            ring: VecDeque::with_capacity(if heaped { 0 } else { entries.max(8) }),
            heap: BinaryHeap::with_capacity(if heaped { entries } else { 0 }),
            inserted: 0,
            heaped,
        }
    }

    #[inline]
    pub fn push(&mut self, at: Nanos, thread: u32) {
        if self.heaped {
            self.heap.push(Reverse((at, self.inserted, thread)));
            self.inserted += 1;
            return;
        }
        let mut place = self.ring.len();
        while place > 0 && self.ring[place - 1].0 > at {
            place -= 1;
        }
        if place == self.ring.len() {
            self.ring.push_back((at, thread));
        } else {
            self.ring.insert(place, (at, thread));
        }
    }

    /// `Nanos::NEVER` when empty.
    #[inline]
    pub fn next_at(&self) -> Nanos {
        if self.heaped {
            self.heap
                .peek()
                .map_or(Nanos::NEVER, |Reverse((at, _, _))| *at)
        } else {
            self.ring.front().map_or(Nanos::NEVER, |&(at, _)| at)
        }
    }

    #[inline]
    pub fn pop(&mut self) -> Option<u32> {
        if self.heaped {
            self.heap.pop().map(|Reverse((_, _, thread))| thread)
        } else {
            self.ring.pop_front().map(|(_, thread)| thread)
        }
    }

    pub fn is_empty(&self) -> bool {
        self.ring.is_empty() && self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
