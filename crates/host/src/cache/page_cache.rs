//! The page cache of a machine with little memory: which pages of which files are there, dirty or under write-back, and who goes first.
//!
//! ```text
//!   new page ─▶ inactive list ──used again──▶ active list
//!                    │  ▲ dirty, being written or read: goes round        │
//!                    ▼  └──────────── active outgrew inactive ◀───────────┘
//!                  reclaimed when memory is short
//! ```
//!
//! Modelled:      presence, reading, dirt, write-back and read-ahead marks by page; dirty pages whose content jbd's task has written (it sends
//!                buffers: fs/jbd/commit.c and __block_write_full_page in fs/buffer.c, 2.6.24 to 2.6.32); two lists with promotion at the second use.
//! Not modelled:  zones, mapped pages, swapping, shadow entries (3.15 on), writing by reclaim (kswapd's page-out).
//! Source:        mm/vmscan.c, mm/swap.c of 2.6.32 (two file lists, mark_page_accessed); 2.6.23 has the same two lists for all pages.

use super::bits::Bits;
use super::read_ahead::Page;
use std::collections::VecDeque;

/// Place of a file in the cache.
pub type FileNumber = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub file: FileNumber,
    pub start: Page,
    pub pages: u64,
}

#[derive(Clone, Debug, Default)]
struct Cached {
    /// In memory, or being read.
    present: Bits,
    /// Being read.
    coming: Bits,
    dirty: Bits,
    writing: Bits,
    used: Bits,
    active: Bits,
    marked: Bits,
    /// Dirty, but what is in them has been sent by the journal's task.
    sent: Bits,
    /// What the journal's task has sent of them is not on the drives yet.
    sending: Bits,
    dirty_pages: u64,
    writing_pages: u64,
}

impl Cached {
    /// The first page in `from..end` that is active, dirty, being written or being read, or `end`.
    fn idle_until(&self, from: Page, end: Page) -> Page {
        [&self.dirty, &self.writing, &self.coming, &self.active]
            .iter()
            .fold(end, |near, bits| bits.next_set(from, near))
    }
}

#[derive(Clone, Debug)]
pub struct PageCache {
    files: Vec<Cached>,
    pages_max: u64,
    pages: u64,
    active_pages: u64,
    dirty: u64,
    writing: u64,
    /// Pages added since the start.
    added: u64,
    inactive: VecDeque<Run>,
    active: VecDeque<Run>,
}

/// What a task that writes back finds in a dirty page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// To be written.
    Dirty,
    /// The journal's task has sent it, and it is under way.
    Sending,
    /// The journal's task has written it: the page only counts as dirty.
    Written,
}

/// What a reader finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachedPage {
    Absent,
    /// Being read.
    Coming,
    There,
}

impl PageCache {
    /// `pages_max`: memory that files can have.
    pub fn new(files: usize, pages_max: u64) -> Self {
        Self {
            files: vec![Cached::default(); files],
            pages_max: pages_max.max(64),
            pages: 0,
            active_pages: 0,
            dirty: 0,
            writing: 0,
            added: 0,
            inactive: VecDeque::new(),
            active: VecDeque::new(),
        }
    }

    /// Pages that files can have in memory.
    pub fn pages_max(&self) -> u64 {
        self.pages_max
    }
    /// Pages in the cache, including those being read.
    pub fn pages(&self) -> u64 {
        self.pages
    }
    /// Pages that count as active: used a second time and not moved back since.
    pub fn active_pages(&self) -> u64 {
        self.active_pages
    }
    /// Pages added since the start.
    pub fn added(&self) -> u64 {
        self.added
    }
    /// Dirty pages of all files that are not under write-back.
    pub fn dirty(&self) -> u64 {
        self.dirty
    }
    /// Pages of all files under write-back.
    pub fn writing(&self) -> u64 {
        self.writing
    }
    /// Dirty or being written.
    pub fn unwritten(&self) -> u64 {
        self.dirty() + self.writing()
    }

    /// Dirty pages of one file that are not under write-back.
    pub fn dirty_of(&self, file: FileNumber) -> u64 {
        self.files[file as usize].dirty_pages
    }
    /// Pages of one file under write-back.
    pub fn writing_of(&self, file: FileNumber) -> u64 {
        self.files[file as usize].writing_pages
    }

    /// What a reader of the page finds.
    #[inline]
    pub fn find(&self, file: FileNumber, page: Page) -> CachedPage {
        let cached = &self.files[file as usize];
        if !cached.present.get(page) {
            CachedPage::Absent
        } else if cached.coming.get(page) {
            CachedPage::Coming
        } else {
            CachedPage::There
        }
    }

    /// Pages from `page` on that are there and carry no mark, `most` at most.
    pub fn plain_run(&self, file: FileNumber, page: Page, most: u64) -> u64 {
        let cached = &self.files[file as usize];
        let end = cached.present.next_clear(page, page + most);
        let end = cached.coming.next_set(page, end);
        cached.marked.next_set(page, end) - page
    }

    /// The first page in `from..end` that is not cached, or `end`.
    pub fn next_absent(&self, file: FileNumber, from: Page, end: Page) -> Page {
        self.files[file as usize].present.next_clear(from, end)
    }

    /// The first cached page in `from..end`, or `end`.
    pub fn next_present(&self, file: FileNumber, from: Page, end: Page) -> Page {
        self.files[file as usize].present.next_set(from, end)
    }

    /// Cached pages right before `page`, `most` at most.
    pub fn cached_before(&self, file: FileNumber, page: Page, most: u64) -> u64 {
        self.files[file as usize].present.set_before(page, most)
    }

    /// Sets the read-ahead mark: a reader that comes to this page starts the next window.
    pub fn mark(&mut self, file: FileNumber, page: Page) {
        self.files[file as usize].marked.set(page, 1);
    }

    /// Takes the read-ahead mark off; true when there was one.
    pub fn take_mark(&mut self, file: FileNumber, page: Page) -> bool {
        self.files[file as usize].marked.clear(page, 1) == 1
    }

    /// Adds pages that are not cached yet; `coming`: they are being read, otherwise they are being written by a program.
    /// Gives the number of pages that had to be reclaimed for them.
    pub fn add(&mut self, run: Run, coming: bool) -> u64 {
        let cached = &mut self.files[run.file as usize];
        let added = cached.present.set(run.start, run.pages);
        if coming {
            cached.coming.set(run.start, run.pages);
        }
        cached.used.clear(run.start, run.pages);
        cached.active.clear(run.start, run.pages);
        self.pages += added;
        self.added += added;
        match self.inactive.back_mut() {
            Some(last) if last.file == run.file && last.start + last.pages == run.start => {
                last.pages += run.pages;
            }
            _ => self.inactive.push_back(run),
        }
        if self.pages > self.pages_max {
            self.reclaim(self.pages - self.pages_max)
        } else {
            0
        }
    }

    /// Adds those pages of a run that are not cached yet and that a program writes. Gives their number, and that of pages reclaimed for them.
    pub fn add_absent(&mut self, run: Run) -> (u64, u64) {
        let Run { file, start, pages } = run;
        let (end, mut at) = (start + pages, start);
        let (mut added, mut reclaimed) = (0, 0);
        while at < end {
            let absent = self.next_absent(file, at, end);
            at = self.next_present(file, absent, end);
            if at > absent {
                let pages = at - absent;
                let start = absent;
                added += pages;
                reclaimed += self.add(Run { file, start, pages }, false);
            }
        }
        (added, reclaimed)
    }

    /// The drive has read the pages: readers may use them.
    pub fn read_done(&mut self, run: Run) {
        self.files[run.file as usize]
            .coming
            .clear(run.start, run.pages);
    }

    /// A program used the pages: at the second use they count as active.
    pub fn touch(&mut self, run: Run) {
        let cached = &mut self.files[run.file as usize];
        let end = run.start + run.pages;
        let mut at = run.start;
        while at < end {
            let again = cached.used.next_set(at, end);
            if again < end {
                let run_end = cached.used.next_clear(again, end);
                self.active_pages += cached.active.set(again, run_end - again);
                at = run_end;
            } else {
                at = end;
            }
        }
        cached.used.set(run.start, run.pages);
    }

    /// A program wrote to the pages, which are cached; how many became dirty by that.
    pub fn make_dirty(&mut self, run: Run) -> u64 {
        let cached = &mut self.files[run.file as usize];
        let new = cached.dirty.set(run.start, run.pages);
        cached.sent.clear(run.start, run.pages);
        cached.dirty_pages += new;
        self.dirty += new;
        new
    }

    /// The first run of dirty pages in `from..end` of which all is in the same state, `most` pages at most.
    pub fn next_dirty(
        &self,
        file: FileNumber,
        from: Page,
        end: Page,
        most: u64,
    ) -> Option<(Run, Content)> {
        let cached = &self.files[file as usize];
        let start = cached.dirty.next_set(from, end);
        if start >= end {
            return None;
        }
        let mut stop = cached.dirty.next_clear(start, end.min(start + most));
        let (sending, sent) = (cached.sending.get(start), cached.sent.get(start));
        for (bits, here) in [(&cached.sending, sending), (&cached.sent, sent)] {
            stop = if here {
                bits.next_clear(start, stop)
            } else {
                bits.next_set(start, stop)
            };
        }
        let content = match (sending, sent) {
            (true, _) => Content::Sending,
            (false, true) => Content::Written,
            (false, false) => Content::Dirty,
        };
        let pages = stop - start;
        Some((Run { file, start, pages }, content))
    }

    /// The journal's task sends what is in dirty pages; the pages stay as they are.
    pub fn begin_send(&mut self, run: Run) {
        let cached = &mut self.files[run.file as usize];
        cached.sent.set(run.start, run.pages);
        cached.sending.set(run.start, run.pages);
    }

    /// The drives have what the journal's task sent; the pages still count as dirty.
    pub fn send_done(&mut self, run: Run) {
        self.files[run.file as usize]
            .sending
            .clear(run.start, run.pages);
    }

    /// Somebody who writes back finds that dirty pages have been written.
    pub fn found_written(&mut self, run: Run) {
        let cached = &mut self.files[run.file as usize];
        cached.sent.clear(run.start, run.pages);
        let cleaned = cached.dirty.clear(run.start, run.pages);
        cached.dirty_pages -= cleaned;
        self.dirty -= cleaned;
    }

    /// Whether the journal's task has sent the page and the drives have not written it.
    pub fn is_sending(&self, file: FileNumber, page: Page) -> bool {
        self.files[file as usize].sending.get(page)
    }

    /// Dirty pages go to the drives.
    pub fn begin_write(&mut self, run: Run) {
        let cached = &mut self.files[run.file as usize];
        let cleaned = cached.dirty.clear(run.start, run.pages);
        cached.dirty_pages -= cleaned;
        self.dirty -= cleaned;
        let begun = cached.writing.set(run.start, run.pages);
        cached.writing_pages += begun;
        self.writing += begun;
    }

    /// The drives have written the pages: they are clean unless written to meanwhile.
    pub fn write_done(&mut self, run: Run) {
        let cached = &mut self.files[run.file as usize];
        let ended = cached.writing.clear(run.start, run.pages);
        cached.writing_pages -= ended;
        self.writing -= ended;
    }

    /// The first page under write-back in `from..end`, or `end`.
    pub fn next_writing(&self, file: FileNumber, from: Page, end: Page) -> Page {
        self.files[file as usize].writing.next_set(from, end)
    }

    /// Forgets the pages of a run that nobody reads or writes; dirty ones only when told so, as those of a deleted file.
    pub fn forget(&mut self, run: Run, dirty_too: bool) {
        let cached = &mut self.files[run.file as usize];
        let end = run.start + run.pages;
        if dirty_too {
            let cleaned = cached.dirty.clear(run.start, run.pages);
            cached.sent.clear(run.start, run.pages);
            cached.dirty_pages -= cleaned;
            self.dirty -= cleaned;
        }
        let mut at = run.start;
        while at < end {
            at = cached.present.next_set(at, end);
            let here = cached.present.next_clear(at, end);
            let stop = [&cached.dirty, &cached.writing, &cached.coming]
                .iter()
                .fold(here, |near, bits| bits.next_set(at, near));
            let pages = stop - at;
            self.pages -= cached.present.clear(at, pages);
            self.active_pages -= cached.active.clear(at, pages);
            cached.marked.clear(at, pages);
            cached.used.clear(at, pages);
            // One busy page at most is looked at again.
            at = if stop < here { stop + 1 } else { here };
        }
    }

    /// Frees `wanted` pages, oldest inactive first. Pages in use for I/O or dirty go round once. Gives the number freed.
    fn reclaim(&mut self, wanted: u64) -> u64 {
        self.balance_lists();
        let mut freed = 0;
        // Each run is looked at once: what stays goes to the back.
        for _ in 0..self.inactive.len() {
            if freed >= wanted {
                break;
            }
            let Some(run) = self.inactive.pop_front() else {
                break;
            };
            freed += self.reclaim_from(run, wanted - freed);
        }
        freed
    }

    /// Frees `wanted` pages at most of a run taken from the inactive list, and puts those that stay into the lists. Gives the number freed.
    fn reclaim_from(&mut self, run: Run, wanted: u64) -> u64 {
        let Run { file, start, pages } = run;
        let end = start + pages;
        let (mut at, mut freed) = (start, 0);
        while at < end && freed < wanted {
            let idle = self.files[file as usize].idle_until(at, end.min(at + (wanted - freed)));
            if idle > at {
                freed += self.evict(file, at, idle);
                at = idle;
            } else {
                at = self.keep_first(file, at, end);
            }
        }
        if at < end {
            self.inactive.push_front(Run {
                file,
                start: at,
                pages: end - at,
            });
        }
        freed
    }

    /// Removes the pages of `start..end`, which are not in use, from the cache. Returns how many there were.
    fn evict(&mut self, file: FileNumber, start: Page, end: Page) -> u64 {
        let cached = &mut self.files[file as usize];
        let pages = end - start;
        let gone = cached.present.clear(start, pages);
        cached.marked.clear(start, pages);
        cached.used.clear(start, pages);
        self.pages -= gone;
        gone
    }

    /// Puts the first pages of `start..end`, which are active or in use, at the back of their list. Gives the first page behind them.
    fn keep_first(&mut self, file: FileNumber, start: Page, end: Page) -> Page {
        let cached = &self.files[file as usize];
        let (list, stop) = if cached.active.get(start) {
            (&mut self.active, cached.active.next_clear(start, end))
        } else {
            let stop = [&cached.dirty, &cached.writing, &cached.coming]
                .iter()
                .map(|bits| bits.next_clear(start, end))
                .max()
                .unwrap_or(end);
            (&mut self.inactive, stop)
        };
        let pages = stop - start;
        list.push_back(Run { file, start, pages });
        stop
    }

    /// Oldest active pages become inactive again while the active list is the longer one (inactive_file_is_low).
    fn balance_lists(&mut self) {
        while self.active_pages * 2 > self.pages {
            let Some(run) = self.active.pop_front() else {
                // Active pages still stand in the inactive list: they move when it is scanned.
                return;
            };
            let cached = &mut self.files[run.file as usize];
            self.active_pages -= cached.active.clear(run.start, run.pages);
            cached.used.clear(run.start, run.pages);
            self.inactive.push_back(run);
        }
    }

    /// Forgets every page that is clean (drop_caches).
    pub fn drop_clean(&mut self) {
        let pages = core::mem::replace(&mut self.pages, 0);
        let mut kept = 0;
        for cached in &mut self.files {
            let mut present = Bits::default();
            for busy in [&cached.dirty, &cached.writing, &cached.coming] {
                let mut at = 0;
                loop {
                    let start = busy.next_set(at, u64::from(u32::MAX));
                    if start == u64::from(u32::MAX) {
                        break;
                    }
                    let stop = busy.next_clear(start, u64::from(u32::MAX));
                    kept += present.set(start, stop - start);
                    at = stop;
                }
            }
            cached.present = present;
            cached.used.clear_all();
            cached.active.clear_all();
            cached.marked.clear_all();
        }
        debug_assert!(kept <= pages);
        self.pages = kept;
        self.active_pages = 0;
        self.active.clear();
        let files = &self.files;
        self.inactive.retain(|run| {
            files[run.file as usize].dirty_pages + files[run.file as usize].writing_pages > 0
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(start: Page, pages: u64) -> Run {
        Run {
            file: 0,
            start,
            pages,
        }
    }

    #[test]
    fn oldest_clean_pages_go_first_when_memory_is_short() {
        let mut cache = PageCache::new(1, 100);
        cache.add(run(0, 100), false);
        assert_eq!(cache.add(run(500, 30), false), 30);
        assert_eq!(cache.find(0, 29), CachedPage::Absent);
        assert_eq!(cache.find(0, 30), CachedPage::There);
        assert_eq!(cache.pages(), 100);
    }

    #[test]
    fn dirty_pages_stay_until_they_are_written() {
        let mut cache = PageCache::new(1, 100);
        cache.add(run(0, 100), false);
        assert_eq!(cache.make_dirty(run(0, 40)), 40);
        cache.add(run(500, 20), false);
        assert_eq!(cache.find(0, 0), CachedPage::There);
        assert_eq!(cache.find(0, 59), CachedPage::Absent);
        let (dirty, content) = cache.next_dirty(0, 0, 1000, 16).unwrap();
        assert_eq!((dirty, content), (run(0, 16), Content::Dirty));
        cache.begin_write(dirty);
        assert_eq!((cache.dirty(), cache.writing()), (24, 16));
        cache.write_done(dirty);
        assert_eq!((cache.dirty_of(0), cache.writing_of(0)), (24, 0));
    }

    #[test]
    fn pages_that_the_journal_wrote_are_dirty_until_somebody_looks() {
        let mut cache = PageCache::new(1, 100);
        cache.add(run(0, 40), false);
        cache.make_dirty(run(0, 40));
        cache.begin_send(run(10, 10));
        assert_eq!((cache.dirty(), cache.writing()), (40, 0));
        let found = |cache: &PageCache, from| cache.next_dirty(0, from, 1000, 100);
        assert_eq!(found(&cache, 0), Some((run(0, 10), Content::Dirty)));
        assert_eq!(found(&cache, 10), Some((run(10, 10), Content::Sending)));
        cache.send_done(run(10, 10));
        assert_eq!(found(&cache, 12), Some((run(12, 8), Content::Written)));
        // Written to again: there is something to send.
        assert_eq!(cache.make_dirty(run(12, 1)), 0);
        assert_eq!(found(&cache, 12), Some((run(12, 1), Content::Dirty)));
        cache.found_written(run(13, 7));
        assert_eq!((cache.dirty(), cache.dirty_of(0)), (33, 33));
        assert_eq!(found(&cache, 13), Some((run(20, 20), Content::Dirty)));
    }

    #[test]
    fn pages_used_twice_outlive_a_stream() {
        let mut cache = PageCache::new(1, 1000);
        cache.add(run(0, 100), false);
        cache.touch(run(0, 100));
        cache.touch(run(0, 100));
        for start in (1000..6000).step_by(32) {
            cache.add(run(start, 32), false);
            cache.touch(run(start, 32));
        }
        assert_eq!(cache.find(0, 50), CachedPage::There);
        assert_eq!(cache.find(0, 1000), CachedPage::Absent);
        assert_eq!(cache.pages(), 1000);
    }

    #[test]
    fn dropping_keeps_only_dirty_pages() {
        let mut cache = PageCache::new(2, 1000);
        cache.add(run(0, 100), false);
        cache.make_dirty(run(10, 5));
        cache.drop_clean();
        assert_eq!(cache.pages(), 5);
        assert_eq!(cache.next_present(0, 0, 100), 10);
        assert_eq!(cache.plain_run(0, 10, 100), 5);
    }
}
