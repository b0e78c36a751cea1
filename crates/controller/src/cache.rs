//! The controller's memory: pages of 4 KiB that were read, read ahead, or written and not yet on the drives.

use crate::sparse::Sparse;
use core::ops::Range;
use std::collections::VecDeque;

/// Sectors of a page.
pub use seekwise_units::PAGE_SECTORS as PAGE;

/// What is with a page, in one word: memories have tens of thousands of pages, and runs of them are compared and changed one word each.
/// The kind stands in the upper bits, below it the number of the fetch that brings the page, or the stamp of its stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State(u64);

const KIND: u64 = 7 << 61;

impl State {
    const MISSING: Self = Self(0);
    const DIRTY: Self = Self(1 << 61);
    /// On its way to the drives.
    const WRITING: Self = Self(2 << 61);
    /// Written again by the host meanwhile.
    const REWRITTEN: Self = Self(3 << 61);
    const COMING: u64 = 4 << 61;
    const CLEAN: u64 = 5 << 61;

    /// Being read by the fetch of this number.
    fn coming(fetch: u32) -> Self {
        Self(Self::COMING | u64::from(fetch))
    }

    /// Same as on the drives; the stamp tells this stay from an earlier one of the same page.
    fn clean(stamp: u64) -> Self {
        Self(Self::CLEAN | stamp)
    }

    fn is_coming(self) -> bool {
        self.0 & KIND == Self::COMING
    }

    fn is_clean(self) -> bool {
        self.0 & KIND == Self::CLEAN
    }
}

/// What a reader finds at a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageLookup {
    There,
    Coming(u32),
    Missing,
}

#[derive(Clone, Debug)]
pub struct Cache {
    capacity: usize,
    pages: Sparse<State>,
    clean: Clean,
    dirty_count: usize,
    /// Pages promised to writes whose data are on the bus.
    promised: usize,
}

/// Pages in a row that became clean one after the other.
#[derive(Clone, Copy, Debug)]
struct CleanRun {
    page: u64,
    /// Of the first page; the next one's is one more.
    stamp: u64,
    pages: u64,
}

/// Clean pages, oldest first; entries with a stamp of an earlier stay are void.
#[derive(Clone, Debug, Default)]
struct Clean {
    order: VecDeque<CleanRun>,
    count: usize,
    stamp: u64,
}

impl Clean {
    /// The state of a page that is clean from now on.
    #[inline]
    fn keep(&mut self, page: u64) -> State {
        self.stamp += 1;
        self.count += 1;
        let stamp = self.stamp;
        match self.order.back_mut() {
            Some(last) if (last.page + last.pages, last.stamp + last.pages) == (page, stamp) => {
                last.pages += 1;
            }
            _ => self.order.push_back(CleanRun {
                page,
                stamp,
                pages: 1,
            }),
        }
        State::clean(self.stamp)
    }
}

impl Cache {
    /// An empty cache of `capacity_pages` pages of 4 KiB.
    pub fn new(capacity_pages: usize) -> Self {
        Self {
            capacity: capacity_pages,
            pages: Sparse::default(),
            clean: Clean::default(),
            dirty_count: 0,
            promised: 0,
        }
    }

    /// Pages of 4 KiB that it can hold.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Pages acknowledged to the host and not yet on the drives.
    pub fn dirty(&self) -> usize {
        self.dirty_count
    }

    /// Whether the page is there, being fetched (with the fetch's number) or missing.
    pub fn find(&self, page: u64) -> PageLookup {
        match self.pages.get(page) {
            State::MISSING => PageLookup::Missing,
            State(word) if State(word).is_coming() => PageLookup::Coming((word & !KIND) as u32),
            _ => PageLookup::There,
        }
    }

    /// What is found at the first page of the range, and how many pages from there on are found the same.
    pub fn find_run(&self, pages: Range<u64>) -> (PageLookup, u64) {
        let found = self.find(pages.start);
        let same = match found {
            PageLookup::Missing => self.pages.holding(pages, |state| state == State::MISSING),
            PageLookup::Coming(fetch) => {
                let coming = State::coming(fetch);
                self.pages.holding(pages, |state| state == coming)
            }
            PageLookup::There => self
                .pages
                .holding(pages, |state| state != State::MISSING && !state.is_coming()),
        };
        (found, same)
    }

    fn used(&self) -> usize {
        self.pages.filled() + self.promised
    }

    /// Makes room for `pages` more by dropping the oldest clean ones; false when that does not suffice.
    pub fn make_room(&mut self, pages: usize) -> bool {
        if self.used() - self.clean.count + pages > self.capacity {
            return false;
        }
        while self.used() + pages > self.capacity {
            let wanted = (self.used() + pages - self.capacity) as u64;
            let Clean { order, count, .. } = &mut self.clean;
            let oldest = order.front_mut().expect("as many clean pages as counted");
            let CleanRun { page, stamp, .. } = *oldest;
            let gone = oldest.pages.min(wanted);
            if gone == oldest.pages {
                order.pop_front();
            } else {
                oldest.page += gone;
                oldest.stamp += gone;
                oldest.pages -= gone;
            }
            let mut dropped = 0;
            self.pages.change(page..page + gone, |at, state| {
                let stays = *state == State::clean(stamp + (at - page));
                *state = if stays { State::MISSING } else { *state };
                dropped += usize::from(stays);
            });
            *count -= dropped;
        }
        true
    }

    /// The pages are missing and there is room for them.
    pub fn begin_fetch(&mut self, pages: Range<u64>, fetch: u32) {
        self.pages.change(pages, |_, state| {
            debug_assert_eq!(*state, State::MISSING);
            *state = State::coming(fetch);
        });
    }

    /// Data of the fetch have arrived: its pages are clean now, except those that a write has replaced meanwhile.
    pub fn end_fetch(&mut self, pages: Range<u64>, fetch: u32) {
        let clean = &mut self.clean;
        self.pages.change(pages, |page, state| {
            if *state == State::coming(fetch) {
                *state = clean.keep(page);
            }
        });
    }

    /// Room for a write of `pages`, as long as at most `dirty_most` are dirty or promised.
    pub fn promise(&mut self, pages: usize, dirty_most: usize) -> bool {
        if self.dirty_count + self.promised + pages > dirty_most || !self.make_room(pages) {
            return false;
        }
        self.promised += pages;
        true
    }

    /// Data of a promised write have come: `pages` of the promise are these.
    pub fn write(&mut self, pages: Range<u64>, mut became_dirty: impl FnMut(u64)) {
        self.promised -= (pages.end - pages.start) as usize;
        let (clean, dirty_count) = (&mut self.clean.count, &mut self.dirty_count);
        self.pages.change(pages, |page, state| {
            *state = match *state {
                State::WRITING | State::REWRITTEN => State::REWRITTEN,
                State::DIRTY => State::DIRTY,
                other => {
                    *clean -= usize::from(other.is_clean());
                    *dirty_count += 1;
                    became_dirty(page);
                    State::DIRTY
                }
            };
        });
        debug_assert!(self.used() <= self.capacity);
    }

    /// The pages are in memory as they are on the drives.
    pub fn holds_drive_data(&self, pages: Range<u64>) -> bool {
        let count = pages.end - pages.start;
        self.pages.holding(pages, State::is_clean) == count
    }

    /// The dirty ones of the pages go on their way to the drives; `going` hears of each.
    pub fn begin_destage(&mut self, pages: Range<u64>, mut going: impl FnMut(u64)) {
        self.pages.change(pages, |page, state| {
            if *state == State::DIRTY {
                *state = State::WRITING;
                going(page);
            }
        });
    }

    /// The pages are on the drives; `again` hears of those that the host has written again meanwhile.
    pub fn end_destage(&mut self, pages: Range<u64>, mut again: impl FnMut(u64)) {
        let (clean, dirty_count) = (&mut self.clean, &mut self.dirty_count);
        self.pages.change(pages, |page, state| match *state {
            State::REWRITTEN => {
                *state = State::DIRTY;
                again(page);
            }
            other => {
                debug_assert_eq!(other, State::WRITING);
                *dirty_count -= 1;
                *state = clean.keep(page);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_oldest_clean_page_makes_room() {
        let mut cache = Cache::new(3);
        for page in 0..3 {
            assert!(cache.make_room(1));
            cache.begin_fetch(page..page + 1, 0);
            cache.end_fetch(page..page + 1, 0);
        }
        assert!(cache.make_room(1));
        assert_eq!(cache.find(0), PageLookup::Missing);
        assert_eq!(cache.find(1), PageLookup::There);
    }

    #[test]
    fn a_page_written_again_while_it_is_destaged_stays_dirty() {
        let mut cache = Cache::new(8);
        assert!(cache.promise(1, 8));
        cache.write(5..6, |_| ());
        let destage = |cache: &mut Cache, between: &dyn Fn(&mut Cache)| {
            let (mut going, mut again) = (vec![], vec![]);
            cache.begin_destage(4..8, |page| going.push(page));
            between(cache);
            cache.end_destage(5..6, |page| again.push(page));
            (going, again)
        };
        let rewrite = |cache: &mut Cache| {
            assert!(cache.promise(1, 8));
            cache.write(5..6, |_| panic!("it is dirty already"));
        };
        assert_eq!(destage(&mut cache, &rewrite), (vec![5], vec![5]));
        assert_eq!(cache.dirty(), 1);
        assert_eq!(destage(&mut cache, &|_| ()), (vec![5], vec![]));
        assert_eq!(cache.dirty(), 0);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Fetch(u64),
        Write(u64, u64),
        Destage(u64),
    }

    proptest! {
        #[test]
        fn never_more_pages_than_memory(steps in prop::collection::vec(prop_oneof![
            (0u64..40).prop_map(Step::Fetch),
            (0u64..40, 1u64..6).prop_map(|(page, pages)| Step::Write(page, pages)),
            (0u64..40).prop_map(Step::Destage),
        ], 1..300)) {
            let mut cache = Cache::new(16);
            for step in steps {
                match step {
                    Step::Fetch(page) => {
                        if cache.find(page) == PageLookup::Missing && cache.make_room(1) {
                            cache.begin_fetch(page..page + 1, 7);
                            cache.end_fetch(page..page + 1, 7);
                        }
                    }
                    Step::Write(page, pages) => {
                        if cache.promise(pages as usize, 12) {
                            cache.write(page..page + pages, |_| ());
                        }
                    }
                    Step::Destage(page) => {
                        let mut going = false;
                        cache.begin_destage(page..page + 1, |_| going = true);
                        if going {
                            cache.end_destage(page..page + 1, |_| ());
                        }
                    }
                }
                prop_assert!(cache.used() <= 16);
                prop_assert!(cache.dirty() <= 12);
            }
        }
    }
}
