//! Scheduler tags as blk-mq keeps them: a bitmap of words, in which some requests may occupy the low bits of each word only, and
//! eight queues of tasks that wait for a bit.
//!
//! ```text
//!   word 0   ▓▓▓▓▓░░░ … ░      ▓ taken  ▒ freed, not yet known to be free  ░ free
//!   word 1   ▓▒▒░░░░░ … ░      a limited request looks at the first `depth` bits of every word, a sync read at all of them
//! ```
//!
//! So a limit is no number of requests: sync reads, which fill a word from its first bit on, push limited requests out of it. A word's freed
//! bits are found only when a search of that word fails. A task that finds nothing sleeps with the limit that it began with; completions
//! wake in batches, which are the larger the more of the map is open to everybody.
//!
//! Modelled:      place of each tag, deferred clearing, the processor's hint of where to begin, wait queues and wake-up batches up to
//!                6.1 and from 6.2 on.
//! Not modelled:  more than one processor; the random first hint (see [`TagWords::first_hint`]).
//! Source:        behaviour of Linux 5.10 to 6.12 lib/sbitmap.c and block/blk-mq-tag.c.

use super::Bio;
use seekwise_sched::tag_words::{Asking, TagWords};
use seekwise_sched::{Kernel, ProcessId, Scheduler};
use std::collections::VecDeque;

/// Linux 5.10 to 6.12 include/linux/sbitmap.h: SBQ_WAIT_QUEUES, SBQ_WAKE_BATCH.
const WAIT_QUEUES: usize = 8;
const WAKE_BATCH_MAX: u32 = 8;

#[derive(Clone, Copy, Debug)]
struct Word {
    bits: u32,
    taken: u64,
    /// Freed since the word was last searched in vain.
    freed: u64,
}

impl Word {
    /// A free bit below `depth`, searched from `from` on and then from the beginning.
    fn find(&mut self, depth: u32, from: u32) -> Option<u32> {
        let open = if depth >= u64::BITS {
            u64::MAX
        } else {
            (1 << depth) - 1
        };
        loop {
            let free = !self.taken & open;
            let ahead = if from < u64::BITS {
                free & (u64::MAX << from)
            } else {
                0
            };
            let place = if ahead != 0 { ahead } else { free };
            if place != 0 {
                let bit = place.trailing_zeros();
                self.taken |= 1 << bit;
                return Some(bit);
            }
            if self.freed == 0 {
                return None;
            }
            self.taken &= !std::mem::take(&mut self.freed);
        }
    }
}

/// The bitmap.
#[derive(Clone, Debug)]
pub struct TagMap {
    layout: TagWords,
    /// Bits of a word as a power of two.
    shift: u32,
    words: Vec<Word>,
    /// Where the next search begins.
    hint: u32,
}

impl TagMap {
    /// All tags free. The words of `layout` must be a power of two long.
    pub fn new(layout: TagWords) -> Self {
        let words = (0..layout.tags.div_ceil(layout.word))
            .map(|index| Word {
                bits: layout.word.min(layout.tags - index * layout.word),
                taken: 0,
                freed: 0,
            })
            .collect();
        assert!(layout.word.is_power_of_two(), "words of a map are");
        Self {
            layout,
            shift: layout.word.trailing_zeros(),
            words,
            hint: layout.first_hint(),
        }
    }

    /// Bits of a word that a request limited to `depth` may occupy.
    fn open(&self, index: usize, depth: Option<u32>) -> u32 {
        let bits = self.words[index].bits;
        match depth {
            None => bits,
            Some(depth) if !self.layout.whole => depth.min(bits),
            Some(depth) if depth >= self.layout.tags => bits,
            Some(depth) => {
                // What does not divide goes to the first words.
                let (part, rest) = (
                    bits * depth / self.layout.tags,
                    bits * depth % self.layout.tags,
                );
                part + u32::from(rest >= (index as u32 + 1) * bits)
            }
        }
    }

    /// A tag; with a `depth` one of the first bits of a word.
    #[inline]
    pub fn get(&mut self, depth: Option<u32>) -> Option<u32> {
        if depth.is_none() {
            // Mostly the word in which the search begins has a free bit, and it is not where the next search begins.
            let word = &mut self.words[(self.hint >> self.shift) as usize];
            let bit = word.taken.trailing_ones();
            let tag = (self.hint & !(self.layout.word - 1)) + bit;
            if bit < word.bits && tag != self.hint {
                word.taken |= 1 << bit;
                return Some(tag);
            }
        }
        self.search(depth)
    }

    fn search(&mut self, depth: Option<u32>) -> Option<u32> {
        let (count, within) = (self.words.len(), self.layout.word - 1);
        let mut index = (self.hint >> self.shift) as usize;
        // An unlimited search begins with the word's first bit, a limited one at the hint.
        let mut from = if depth.is_some() {
            self.hint & within
        } else {
            0
        };
        for _ in 0..count {
            let bits = self.open(index, depth);
            let place = &mut self.words[index];
            if let Some(bit) = place.find(bits, from) {
                let tag = ((index as u32) << self.shift) + bit;
                if tag == self.hint {
                    self.hint = if tag + 2 >= self.layout.tags {
                        0
                    } else {
                        tag + 1
                    };
                }
                return Some(tag);
            }
            from = 0;
            index = if index + 1 == count { 0 } else { index + 1 };
        }
        self.hint = 0;
        None
    }

    /// The tag is free; the next search begins at it.
    pub fn put(&mut self, tag: u32) {
        let within = self.layout.word - 1;
        self.words[(tag >> self.shift) as usize].freed |= 1 << (tag & within);
        self.hint = tag;
    }
}

/// A task that sleeps for a tag.
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    pub process: ProcessId,
    /// The limit that it began with.
    pub depth: Option<u32>,
}

/// Who waits, and who is woken when.
#[derive(Clone, Debug)]
pub struct Waiters {
    queues: [VecDeque<Waiter>; WAIT_QUEUES],
    /// Up to 6.1: completions until the queue wakes somebody.
    countdown: [u32; WAIT_QUEUES],
    /// 6.2 on: completions since the last batch while anybody waited.
    completed: u32,
    batch: u32,
    all_queues: bool,
    next_wait: usize,
    next_wake: usize,
    count: usize,
}

impl Waiters {
    /// `depth_min`: the least depth that a request may be limited to.
    pub fn new(kernel: &Kernel, layout: TagWords, depth_min: u32) -> Self {
        let batch_of = |open: u32| {
            if layout.whole {
                let usable = open.min(layout.tags);
                return (usable / WAIT_QUEUES as u32).clamp(1, WAKE_BATCH_MAX);
            }
            let usable = layout.tags / layout.word * open + (layout.tags % layout.word).min(open);
            (usable / WAIT_QUEUES as u32).clamp(1, WAKE_BATCH_MAX)
        };
        let batch = batch_of(depth_min.min(layout.all()));
        // A policy whose limit makes the batch another than the map's own sets the countdowns to one.
        let first = if batch == batch_of(layout.all()) {
            batch
        } else {
            1
        };
        Self {
            queues: Default::default(),
            countdown: [first; WAIT_QUEUES],
            completed: 0,
            batch,
            all_queues: kernel.at_least(6, 2, 0),
            next_wait: 0,
            next_wake: 0,
            count: 0,
        }
    }

    /// Puts a task to sleep in the next of the eight queues.
    pub fn sleep(&mut self, waiter: Waiter) {
        self.queues[self.next_wait].push_back(waiter);
        self.next_wait = (self.next_wait + 1) % WAIT_QUEUES;
        self.count += 1;
    }

    /// Who was woken takes the next queue to sleep in before it tries again: one that then finds a tag has passed it by.
    /// Linux 5.10 to 6.12 block/blk-mq-tag.c: blk_mq_get_tag.
    pub fn pass(&mut self) {
        self.next_wait = (self.next_wait + 1) % WAIT_QUEUES;
    }

    /// No task sleeps.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// A tag was freed: hands those who may try again to `woken`.
    pub fn freed(&mut self, mut woken: impl FnMut(Waiter)) {
        if self.count == 0 {
            return;
        }
        if self.all_queues {
            self.completed += 1;
            if self.completed < self.batch {
                return;
            }
            self.completed -= self.batch;
            let mut left = self.batch;
            for _ in 0..WAIT_QUEUES {
                let queue = &mut self.queues[self.next_wake];
                self.next_wake = (self.next_wake + 1) % WAIT_QUEUES;
                while left > 0 {
                    let Some(waiter) = queue.pop_front() else {
                        break;
                    };
                    (left, self.count) = (left - 1, self.count - 1);
                    woken(waiter);
                }
                if left == 0 {
                    break;
                }
            }
            return;
        }
        while self.queues[self.next_wake].is_empty() {
            self.next_wake = (self.next_wake + 1) % WAIT_QUEUES;
        }
        let at = self.next_wake;
        self.countdown[at] -= 1;
        if self.countdown[at] > 0 {
            return;
        }
        self.countdown[at] = self.batch;
        self.next_wake = (at + 1) % WAIT_QUEUES;
        for _ in 0..self.batch {
            let Some(waiter) = self.queues[at].pop_front() else {
                break;
            };
            self.count -= 1;
            woken(waiter);
        }
    }

    /// Nothing is left whose end could wake them.
    pub fn all(&mut self, mut woken: impl FnMut(Waiter)) {
        for queue in &mut self.queues {
            queue.drain(..).for_each(&mut woken);
        }
        self.count = 0;
    }
}

/// Tags, who holds which, who waits for one.
#[derive(Clone, Debug)]
pub struct Tags {
    map: TagMap,
    waiters: Waiters,
    of_slot: Vec<u32>,
    /// Woken and not yet back.
    again: Vec<Waiter>,
}

impl Tags {
    /// `None` for a policy that limits nobody: there only their number counts.
    pub fn new<S: Scheduler>(policy: &S, kernel: &Kernel, tags: u32) -> Option<Self> {
        let layout = TagWords::of(kernel, tags);
        let depth_min = policy.tag_depth_min(layout)?;
        Some(Self {
            map: TagMap::new(layout),
            waiters: Waiters::new(kernel, layout, depth_min),
            of_slot: vec![0; tags as usize],
            again: Vec::new(),
        })
    }

    /// Does `process` come back from its sleep?
    #[inline]
    pub fn tries_again(&self, process: ProcessId) -> bool {
        !self.again.is_empty() && self.again.iter().any(|waiter| waiter.process == process)
    }

    /// How deep in each word a request like `bio` may go: as when it first tried.
    fn depth<S: Scheduler>(&self, policy: &S, bio: &Bio) -> Option<u32> {
        match self.again.iter().find(|w| w.process == bio.process) {
            Some(waiter) => waiter.depth,
            None => policy.tag_depth(Asking::from(bio), self.map.layout),
        }
    }

    /// A free tag for a request like `bio`; None if the policy's limit leaves none.
    #[inline]
    pub fn take<S: Scheduler>(&mut self, policy: &S, bio: &Bio) -> Option<u32> {
        let depth = self.depth(policy, bio);
        let tag = self.map.get(depth)?;
        if !self.again.is_empty() && self.tries_again(bio.process) {
            self.again.retain(|waiter| waiter.process != bio.process);
            self.waiters.pass();
        }
        Some(tag)
    }

    /// The request in `slot` holds `tag`.
    #[inline]
    pub fn give(&mut self, slot: u32, tag: u32) {
        self.of_slot[slot as usize] = tag;
    }

    /// The submitter of `bio` found no tag and sleeps for one, under the limit of its first try.
    pub fn sleep<S: Scheduler>(&mut self, policy: &S, bio: &Bio) {
        let depth = self.depth(policy, bio);
        self.again.retain(|waiter| waiter.process != bio.process);
        self.waiters.sleep(Waiter {
            process: bio.process,
            depth,
        });
    }

    /// The tag of `slot` is free. `last`: nobody holds one any more.
    #[inline]
    pub fn free(&mut self, slot: u32, last: bool, woken: &mut VecDeque<ProcessId>) {
        self.map.put(self.of_slot[slot as usize]);
        if self.waiters.is_empty() {
            return;
        }
        let again = &mut self.again;
        let wake = |waiter: Waiter| {
            again.push(waiter);
            woken.push_back(waiter.process);
        };
        if last {
            self.waiters.all(wake);
        } else {
            self.waiters.freed(wake);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(version: &str, tags: u32) -> TagWords {
        TagWords::of(&Kernel::parse(version, 250).unwrap(), tags)
    }

    #[test]
    fn a_map_has_four_words_at_least() {
        let word = |tags| layout("6.1", tags).word;
        assert_eq!([word(256), word(64), word(62), word(2)], [64, 16, 8, 64]);
    }

    #[test]
    fn reads_push_limited_requests_out_of_a_word() {
        let mut map = TagMap::new(layout("6.1", 256));
        for tag in 0..12 {
            assert_eq!(map.get(None), Some(tag));
        }
        // Twelve bits of each word: the first word's are taken, three words are left.
        let mut taken = 0;
        while map.get(Some(12)).is_some() {
            taken += 1;
        }
        assert_eq!(taken, 36);
        // A freed bit is found when the search of its word fails.
        map.put(3);
        assert_eq!(map.get(Some(12)), Some(3));
        assert_eq!(map.get(Some(12)), None);
    }

    #[test]
    fn a_limit_of_one_is_a_bit_of_each_word_or_of_the_map() {
        for (version, tags) in [("6.1", 4), ("6.12", 1)] {
            let mut map = TagMap::new(layout(version, 256));
            let got = (0..8).filter(|_| map.get(Some(1)).is_some()).count();
            assert_eq!(got, tags, "{version}");
        }
    }

    #[test]
    fn reads_leave_the_only_bit_of_a_limit_on_the_whole_map_alone() {
        let mut map = TagMap::new(layout("6.12", 256));
        for _ in 0..64 {
            assert!(map.get(None).is_some_and(|tag| tag >= 64));
        }
        assert_eq!(map.get(Some(1)), Some(0));
    }

    #[test]
    fn who_comes_back_to_a_tag_has_passed_a_queue_of_sleepers() {
        let kernel = Kernel::parse("6.1", 250).unwrap();
        let mut waiters = Waiters::new(&kernel, layout("6.1", 256), 1);
        let waiter = |process| Waiter {
            process: ProcessId(process),
            depth: Some(1),
        };
        // The first sleeps in the first queue, is woken and finds a tag: the next two sleep in the third and the fourth.
        waiters.sleep(waiter(1));
        waiters.freed(|_| {});
        waiters.pass();
        waiters.sleep(waiter(2));
        waiters.sleep(waiter(3));
        assert_eq!(
            waiters.queues.map(|queue| queue.len()),
            [0, 0, 1, 1, 0, 0, 0, 0]
        );
    }

    #[test]
    fn waiters_are_woken_in_batches() {
        let kernel = Kernel::parse("5.10", 250).unwrap();
        // bfq beside a raised queue: twelve bits of each of four words, an eighth of them at once.
        let mut waiters = Waiters::new(&kernel, TagWords::of(&kernel, 256), 12);
        let waiter = Waiter {
            process: ProcessId(1),
            depth: Some(12),
        };
        let mut freed_until_woken = || {
            waiters.sleep(waiter);
            let mut woken = false;
            let mut freed = 0;
            while !woken {
                waiters.freed(|_| woken = true);
                freed += 1;
            }
            freed
        };
        // Each queue's first countdown is one.
        let counts: Vec<u32> = (0..10).map(|_| freed_until_woken()).collect();
        assert_eq!(counts, [1, 1, 1, 1, 1, 1, 1, 1, 6, 6]);
        assert!(waiters.is_empty());
    }
}
