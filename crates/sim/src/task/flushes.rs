//! Flushes of the drives' caches that tasks ask for: one at a time; who asks while one runs waits for the next (Linux block/blk-flush.c).

use crate::engine::Engine;
use crate::storage::Stack;
use seekwise_host::block::Observer;

#[derive(Debug)]
pub struct Flushes<T> {
    drives_left: u32,
    running: Vec<T>,
    waiting: Vec<T>,
}

impl<T> Default for Flushes<T> {
    fn default() -> Self {
        Self {
            drives_left: 0,
            running: Vec::new(),
            waiting: Vec::new(),
        }
    }
}

impl<T> Flushes<T> {
    /// `who` wants all caches empty: a flush begins now, or after the one that runs.
    pub fn ask<S: Stack, O: Observer, H>(&mut self, engine: &mut Engine<S, O, H>, who: T) {
        self.waiting.push(who);
        if self.drives_left == 0 {
            self.begin(engine);
        }
    }

    fn begin<S: Stack, O: Observer, H>(&mut self, engine: &mut Engine<S, O, H>) {
        core::mem::swap(&mut self.running, &mut self.waiting);
        self.drives_left = engine.storage.flush(engine.now);
    }

    /// One drive's cache is empty; who asked, when it was the last one's.
    pub fn drive_flushed<S: Stack, O: Observer, H>(
        &mut self,
        engine: &mut Engine<S, O, H>,
    ) -> Vec<T> {
        self.drives_left -= 1;
        if self.drives_left > 0 {
            return Vec::new();
        }
        let done = core::mem::take(&mut self.running);
        if !self.waiting.is_empty() {
            self.begin(engine);
        }
        done
    }
}
