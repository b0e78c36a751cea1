//! The one trait behind which every policy stands.

use crate::kernel::Kernel;
use crate::request::{Direction, ProcessId, Request, RequestId};
use seekwise_units::{Lba, Nanos, Sectors};

/// How the scheduler tags of a blk-mq queue lie in the words of a bitmap, and what a limit on them counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagWords {
    pub tags: u32,
    /// Bits of a word.
    pub word: u32,
    /// A limit counts bits of the whole map, of which each word gets its part; otherwise bits of each word.
    pub whole: bool,
}

/// Bits of a machine word, and how many words a map has at least.
const WORD_BITS: u32 = 64;
const WORDS_MIN: u32 = 4;

impl TagWords {
    /// Of a map of `tags` bits. Linux 5.10 to 6.12 lib/sbitmap.c: sbitmap_calculate_shift. A limit counts bits of the whole map from 6.18
    /// on, and in the recordings of 6.12.107: there a queue of bfq over its share gets one tag of the map, in those of 6.1 one of each
    /// word.
    pub fn of(kernel: &Kernel, tags: u32) -> Self {
        let word = if tags >= WORDS_MIN {
            1 << (tags / WORDS_MIN).ilog2().min(WORD_BITS.ilog2())
        } else {
            WORD_BITS
        };
        Self {
            tags,
            word,
            whole: kernel.at_least(6, 12, 0),
        }
    }

    /// The largest limit: none.
    pub fn all(&self) -> u32 {
        if self.whole {
            self.tags
        } else {
            self.word
        }
    }
}

/// A scheduling policy. Calls come in the order of simulated time; equal times in the order in which things happened.
///
/// A request is *waiting* from `insert` until `dispatch` hands it out, and *in the driver* from then until `complete`.
/// Cloning gives a policy that decides the same from the same calls: replay uses it to put a wrong choice back.
pub trait Scheduler: Clone {
    /// A request enters the scheduler.
    fn insert(&mut self, now: Nanos, request: &Request);

    /// The queue pulls one request. `None`: nothing waits, or the policy holds back (idling, draining).
    fn dispatch(&mut self, now: Nanos) -> Option<RequestId>;

    /// Nothing waits and the driver has room: may `request` pass at once? True: it did, and the policy stands as after an
    /// `insert` and the `dispatch` that handed it out. A shortcut for quiet queues; false (always right) leaves the long way.
    #[inline]
    fn pass(&mut self, _now: Nanos, _request: &Request) -> bool {
        false
    }

    /// Takes the waiting request `id` as though the policy had just chosen it (replay after a miss).
    fn dispatch_forced(&mut self, now: Nanos, id: RequestId);

    /// A request that was handed out starts on the device. Between the two it may have waited for a tag.
    fn issued(&mut self, _now: Nanos, _id: RequestId) {}

    /// The device is done with a request that was handed out.
    fn complete(&mut self, now: Nanos, request: &Request);

    /// Number of waiting requests.
    fn waiting(&self) -> usize;

    /// When the policy next wants [`Scheduler::fire`]; `None` when no timer runs.
    fn timer(&self) -> Option<Nanos> {
        None
    }

    /// The timer is due. True when the queue should be run now.
    fn fire(&mut self, _now: Nanos) -> bool {
        false
    }

    /// May `bio` be merged into the waiting `request`?
    fn may_merge(&self, _request: &Request, _bio: &Request) -> bool {
        true
    }

    /// The waiting request behind `id` in the policy's own order: the one that a back merge may make it touch.
    /// Sector order for most policies, arrival order for noop. `None`: there is none, or the policy does not coalesce.
    fn neighbour_after(&self, _id: RequestId) -> Option<RequestId> {
        None
    }

    /// The waiting request before `id` in the policy's own order: the one that a front merge may make it touch.
    fn neighbour_before(&self, _id: RequestId) -> Option<RequestId> {
        None
    }

    /// A waiting request that starts where `bio` ends, if the policy looks for front merges by sector.
    fn front_merge_candidate(&self, _bio: &Request) -> Option<RequestId> {
        None
    }

    /// A waiting request grew by a merge to the given place and length.
    fn grown(&mut self, now: Nanos, id: RequestId, start: Lba, sectors: Sectors);

    /// Two waiting requests became one: `gone` is now part of `kept`, which was already told to have grown.
    fn joined(&mut self, now: Nanos, kept: RequestId, gone: RequestId);

    /// Bits of each word of the scheduler tags (or of all, see [`TagWords`]) that a request like this may occupy (blk-mq: shallow depth).
    /// `None`: all.
    fn tag_depth(
        &self,
        _process: ProcessId,
        _sync: bool,
        _direction: Direction,
        _words: TagWords,
    ) -> Option<u32> {
        None
    }

    /// The least that [`Scheduler::tag_depth`] may say. `None`: this policy limits nobody.
    fn tag_depth_min(&self, _words: TagWords) -> Option<u32> {
        None
    }

    /// True once after a call in which the policy wanted the queue run at once, plugged or not (the awaited request came,
    /// a running slice was preempted). The queue asks after `insert`, `complete` and merges; replay need not.
    fn take_run_wish(&mut self) -> bool {
        false
    }

    /// Whether that run has to wait until the submitting task gives up the processor (work handed to a kernel thread).
    fn run_wish_waits(&self) -> bool {
        false
    }

    /// Writes the inner state in words, one fact a line, for `--explain`.
    fn describe(&self, _now: Nanos, _out: &mut String) {}

    /// A process ended; it will submit nothing more.
    fn process_exits(&mut self, _now: Nanos, _process: ProcessId) {}
}
