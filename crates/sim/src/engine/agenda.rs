//! Which thread acts next: (time, thread) pairs in order of time, equal times in order of insertion.
//!
//! Few threads are due at once (the usual case, however many wait for their operations): they stand in one sorted ring, into which a new
//! entry is sorted from the far end, nearly always where it belongs, unless it is the earliest of all: that one goes to the front. More than [`RING`] spill into a binary heap with an insertion counter,
//! logarithmic in their number, until they are few again.

use seekwise_units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Up to this many entries a linear insertion beats a heap (measured with benches/agenda.rs; flat between 32 and 128).
const RING: usize = 64;

/// Places of the ring: a power of two, so that a place is a masked counter and never out of bounds.
const PLACES: usize = 2 * RING;

#[derive(Clone, Debug)]
pub struct Agenda {
    times: Box<[Nanos; PLACES]>,
    threads: Box<[u32; PLACES]>,
    /// Counters of what was taken out and put in; both only grow, and wrap.
    head: u32,
    tail: u32,
    heap: BinaryHeap<Reverse<(Nanos, u64, u32)>>,
    inserted: u64,
    /// All entries stand in the heap, and none in the ring.
    heaped: bool,
}

impl Default for Agenda {
    fn default() -> Self {
        Self::new(0)
    }
}

#[inline(always)]
fn place(counter: u32) -> usize {
    counter as usize & (PLACES - 1)
}

impl Agenda {
    /// `entries`: the most that stand in the agenda at once.
    pub fn new(entries: usize) -> Self {
        Self {
            times: Box::new([Nanos::NEVER; PLACES]),
            threads: Box::new([0; PLACES]),
            head: 0,
            tail: 0,
            heap: BinaryHeap::with_capacity(if entries > RING { entries } else { 0 }),
            inserted: 0,
            heaped: false,
        }
    }

    /// Thread `thread` acts at `at`, after all that were pushed for the same time before.
    #[inline]
    pub fn push(&mut self, at: Nanos, thread: u32) {
        if self.heaped || self.tail.wrapping_sub(self.head) as usize >= RING {
            self.push_heap(at, thread);
            return;
        }
        if at < self.times[place(self.head)] {
            // An empty ring, or one whose programs all compute for longer: twice as many places as entries leave the one in front free.
            self.head = self.head.wrapping_sub(1);
            self.times[place(self.head)] = at;
            self.threads[place(self.head)] = thread;
            return;
        }
        let mut hole = self.tail;
        while hole != self.head && self.times[place(hole.wrapping_sub(1))] > at {
            let before = hole.wrapping_sub(1);
            self.times[place(hole)] = self.times[place(before)];
            self.threads[place(hole)] = self.threads[place(before)];
            hole = before;
        }
        self.times[place(hole)] = at;
        self.threads[place(hole)] = thread;
        self.tail = self.tail.wrapping_add(1);
    }

    #[cold]
    fn push_heap(&mut self, at: Nanos, thread: u32) {
        if !self.heaped {
            // In order, so that equal times keep theirs.
            while self.head != self.tail {
                let from = place(self.head);
                let entry = (self.times[from], self.inserted, self.threads[from]);
                self.times[from] = Nanos::NEVER;
                self.head = self.head.wrapping_add(1);
                self.inserted += 1;
                self.heap.push(Reverse(entry));
            }
            self.heaped = true;
        }
        self.heap.push(Reverse((at, self.inserted, thread)));
        self.inserted += 1;
    }

    /// `Nanos::NEVER` when empty.
    #[inline]
    pub fn next_at(&self) -> Nanos {
        if self.heaped {
            self.heap
                .peek()
                .map_or(Nanos::NEVER, |Reverse((at, _, _))| *at)
        } else {
            // A place that was taken out holds NEVER, so that an empty ring needs no test.
            self.times[place(self.head)]
        }
    }

    /// Takes the earliest entry off and returns its thread; None if nothing is due at any time.
    #[inline]
    pub fn pop(&mut self) -> Option<u32> {
        if self.heaped {
            return self.pop_heap();
        }
        if self.head == self.tail {
            return None;
        }
        let at = place(self.head);
        self.times[at] = Nanos::NEVER;
        self.head = self.head.wrapping_add(1);
        Some(self.threads[at])
    }

    #[cold]
    fn pop_heap(&mut self) -> Option<u32> {
        let popped = self.heap.pop().map(|Reverse((_, _, thread))| thread);
        if self.heap.len() <= RING / 4 {
            self.heaped = false;
            while let Some(Reverse((at, _, thread))) = self.heap.pop() {
                self.push(at, thread);
            }
        }
        popped
    }
}
