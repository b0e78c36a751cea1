//! Those who use a storage, as the event loop sees them: what runs a phase implements it.

use crate::engine::Engine;
use crate::result::ThreadEnd;
use crate::storage::Storage;
use seekwise_units::Nanos;

/// Those who use a storage, as the event loop sees them.
pub trait Tasks<S: Storage, O, H = ()> {
    /// Somebody still has something to do.
    fn at_work(&mut self, engine: &mut Engine<S, O, H>) -> bool;
    /// When [`Tasks::act`] is due next.
    #[inline(always)]
    fn next_at(&self, engine: &Engine<S, O, H>) -> Nanos {
        engine.agenda.next_at()
    }
    /// When a timer of the storage's is heard.
    #[inline(always)]
    fn timer(&self, engine: &Engine<S, O, H>) -> Nanos {
        engine.storage.timer()
    }
    /// The storage's next step is due: it is taken, and tasks that waited for it are woken.
    fn storage_due(&mut self, engine: &mut Engine<S, O, H>);
    /// A timer of the storage's has fired.
    fn timer_fired(&mut self, engine: &mut Engine<S, O, H>);
    /// The next task's step is due.
    fn act(&mut self, engine: &mut Engine<S, O, H>);
}

/// The threads of a phase.
pub trait Threads<S: Storage, O, H = ()>: Tasks<S, O, H> {
    /// When each ended, counted from `started`; those that did not, `now`.
    fn ends(&self, started: Nanos, now: Nanos) -> Vec<ThreadEnd>;
}
