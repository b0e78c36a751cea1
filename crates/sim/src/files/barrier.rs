//! Flushes of the drives' caches: a commit sends one before its last block and one behind it, fsync of what is committed already one.
//!
//! One is under way at a time; a task that asks meanwhile waits for the next one, which serves all of them.
//!
//! Not modelled:  writes that bypass the cache (FUA), in whose place the second flush stands; the tag that a flush takes from others.
//! Source:        Linux v6.1 fs/jbd2/commit.c (the commit block is written with REQ_PREFLUSH and REQ_FUA), fs/ext4/fsync.c, block/blk-flush.c.

use crate::files::machine::FileEngine;
use crate::files::Files;
use crate::storage::Stack;
use seekwise_device::Device;
use seekwise_host::block::{BlockQueue, Observer};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flushes {
    begun: u64,
    ended: u64,
    wanted: u64,
    /// Drives that have not answered.
    left: u32,
}

impl Flushes {
    /// Flush `number` is done.
    pub fn done(&self, number: u64) -> bool {
        self.ended >= number
    }
}

impl<Q: BlockQueue, D: Device, O: Observer> FileEngine<Q, D, O> {
    /// The number of a flush that begins now or later.
    pub(crate) fn ask_flush(&mut self, files: &mut Files) -> u64 {
        let flushes = &mut files.flushes;
        let number = flushes.begun + 1;
        flushes.wanted = number;
        if flushes.left == 0 {
            self.begin_flush(files);
        }
        number
    }

    fn begin_flush(&mut self, files: &mut Files) {
        files.flushes.begun += 1;
        files.flushes.left = self.storage.md.flush(self.now);
    }

    /// A drive's cache is empty.
    pub(crate) fn flush_done(&mut self) {
        self.spend(self.host.costs.interrupt);
        if let Some(mut files) = self.host.files.take() {
            self.drive_flushed(&mut files);
            self.host.files = Some(files);
        }
    }

    fn drive_flushed(&mut self, files: &mut Files) {
        files.flushes.left -= 1;
        if files.flushes.left > 0 {
            return;
        }
        files.flushes.ended = files.flushes.begun;
        if files.flushes.wanted > files.flushes.begun {
            self.begin_flush(files);
        }
        files.wake(self.wakes_at());
    }
}
