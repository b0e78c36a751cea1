//! The controller's memory: pages of 4 KiB that were read, read ahead, or written and not yet on the drives.

use std::collections::{BTreeMap, VecDeque};

/// Sectors of a page.
pub const PAGE: u64 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Being read by the fetch of this number.
    Coming(u32),
    /// Same as on the drives; the stamp tells this stay from an earlier one of the same page.
    Clean(u64),
    Dirty,
    /// On its way to the drives.
    Writing,
    /// Written again by the host meanwhile.
    Rewritten,
}

/// What a reader finds at a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    There,
    Coming(u32),
    Missing,
}

#[derive(Clone, Debug)]
pub struct Cache {
    capacity: usize,
    pages: BTreeMap<u64, State>,
    /// Clean pages, oldest first; entries with a stamp of an earlier stay are void.
    clean: VecDeque<(u64, u64)>,
    clean_count: usize,
    dirty_count: usize,
    /// Pages promised to writes whose data are on the bus.
    promised: usize,
    stamp: u64,
}

impl Cache {
    pub fn new(capacity_pages: usize) -> Self {
        Self {
            capacity: capacity_pages,
            pages: BTreeMap::new(),
            clean: VecDeque::new(),
            clean_count: 0,
            dirty_count: 0,
            promised: 0,
            stamp: 0,
        }
    }

    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Pages acknowledged to the host and not yet on the drives.
    pub fn dirty(&self) -> usize {
        self.dirty_count
    }

    pub fn find(&self, page: u64) -> Found {
        match self.pages.get(&page) {
            None => Found::Missing,
            Some(State::Coming(fetch)) => Found::Coming(*fetch),
            Some(_) => Found::There,
        }
    }

    fn used(&self) -> usize {
        self.pages.len() + self.promised
    }

    /// Makes room for `pages` more by dropping the oldest clean ones; false when that does not suffice.
    pub fn make_room(&mut self, pages: usize) -> bool {
        if self.used() - self.clean_count + pages > self.capacity {
            return false;
        }
        while self.used() + pages > self.capacity {
            let (page, stamp) = self
                .clean
                .pop_front()
                .expect("as many clean pages as counted");
            if self.pages.get(&page) == Some(&State::Clean(stamp)) {
                self.pages.remove(&page);
                self.clean_count -= 1;
            }
        }
        true
    }

    /// The page is missing and there is room for it.
    pub fn begin_fetch(&mut self, page: u64, fetch: u32) {
        let before = self.pages.insert(page, State::Coming(fetch));
        debug_assert!(before.is_none());
    }

    pub fn end_fetch(&mut self, page: u64, fetch: u32) {
        if self.pages.get(&page) == Some(&State::Coming(fetch)) {
            self.keep(page);
        }
    }

    fn keep(&mut self, page: u64) {
        self.stamp += 1;
        self.pages.insert(page, State::Clean(self.stamp));
        self.clean.push_back((page, self.stamp));
        self.clean_count += 1;
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
    pub fn write(&mut self, pages: core::ops::Range<u64>, mut became_dirty: impl FnMut(u64)) {
        self.promised -= (pages.end - pages.start) as usize;
        for page in pages {
            let next = match self.pages.get(&page) {
                Some(State::Writing | State::Rewritten) => State::Rewritten,
                Some(State::Dirty) => State::Dirty,
                other => {
                    if matches!(other, Some(State::Clean(_))) {
                        self.clean_count -= 1;
                    }
                    self.dirty_count += 1;
                    became_dirty(page);
                    State::Dirty
                }
            };
            self.pages.insert(page, next);
        }
        debug_assert!(self.used() <= self.capacity);
    }

    pub fn is_dirty(&self, page: u64) -> bool {
        self.pages.get(&page) == Some(&State::Dirty)
    }

    /// The page is in memory as it is on the drives.
    pub fn holds_drive_data(&self, page: u64) -> bool {
        matches!(self.pages.get(&page), Some(State::Clean(_)))
    }

    pub fn begin_destage(&mut self, page: u64) {
        let before = self.pages.insert(page, State::Writing);
        debug_assert_eq!(before, Some(State::Dirty));
    }

    /// The page is on the drives; true when the host has written it again meanwhile.
    pub fn end_destage(&mut self, page: u64) -> bool {
        match self.pages.get(&page) {
            Some(State::Rewritten) => {
                self.pages.insert(page, State::Dirty);
                true
            }
            state => {
                debug_assert_eq!(state, Some(&State::Writing));
                self.dirty_count -= 1;
                self.keep(page);
                false
            }
        }
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
            cache.begin_fetch(page, 0);
            cache.end_fetch(page, 0);
        }
        assert!(cache.make_room(1));
        assert_eq!(cache.find(0), Found::Missing);
        assert_eq!(cache.find(1), Found::There);
    }

    #[test]
    fn a_page_written_again_while_it_is_destaged_stays_dirty() {
        let mut cache = Cache::new(8);
        assert!(cache.promise(1, 8));
        cache.write(5..6, |_| ());
        cache.begin_destage(5);
        assert!(cache.promise(1, 8));
        cache.write(5..6, |_| panic!("it is dirty already"));
        assert!(cache.end_destage(5));
        assert_eq!(cache.dirty(), 1);
        cache.begin_destage(5);
        assert!(!cache.end_destage(5));
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
                        if cache.find(page) == Found::Missing && cache.make_room(1) {
                            cache.begin_fetch(page, 7);
                            cache.end_fetch(page, 7);
                        }
                    }
                    Step::Write(page, pages) => {
                        if cache.promise(pages as usize, 12) {
                            cache.write(page..page + pages, |_| ());
                        }
                    }
                    Step::Destage(page) => {
                        if cache.is_dirty(page) {
                            cache.begin_destage(page);
                            cache.end_destage(page);
                        }
                    }
                }
                prop_assert!(cache.used() <= 16);
                prop_assert!(cache.dirty() <= 12);
            }
        }
    }
}
