//! On-demand read-ahead: which pages are read before they are asked for.
//!
//! ```text
//!   reader ──▶ page not cached ──▶ window [start, start+size)      one page of it carries a mark
//!          └─▶ page with mark  ──▶ next window, read while the reader works through this one
//! ```
//!
//! Modelled:      windows, marks, growth, the rules for a first, a sequential and a random read by kernel generation.
//! Not modelled:  mmap faults (read-around), fadvise, thrashing, huge folios.
//! Source:        Linux 2.6.23, 2.6.24, 2.6.32, 4.10 (commit 9491ae4aade6), 4.19, 6.1: mm/readahead.c.

use seekwise_units::Version;

/// Page of a file, counted from its start.
pub type Page = u64;

/// Kernels whose rules differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadAheadGeneration {
    Linux2_6_23,
    Linux2_6_24,
    /// 2.6.31 and later: looks at what is cached before a read; grows a window whose first page would carry the mark.
    Linux2_6_32,
    /// A call longer than the window may read as much at once as a request of the device holds (bdi->io_pages).
    Linux4_10,
    /// And a window that grows because of its mark stays within that.
    Linux4_19,
}

impl ReadAheadGeneration {
    /// The generation of a kernel.
    pub fn of(version: Version) -> Self {
        match version {
            Version(2, 6, 0..=23) => Self::Linux2_6_23,
            Version(2, 6, 24..=30) => Self::Linux2_6_24,
            Version(4, 10..=18, _) => Self::Linux4_10,
            Version(4, 19.., _) | Version(5.., ..) => Self::Linux4_19,
            _ => Self::Linux2_6_32,
        }
    }
}

/// Pages to read, and the one among them that gets the mark (none when nothing is read ahead).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub start: Page,
    pub pages: u64,
    pub mark: Option<Page>,
}

impl Window {
    fn exactly(start: Page, pages: u64) -> Self {
        Self {
            start,
            pages,
            mark: None,
        }
    }
}

/// Read-ahead state of one open file.
#[derive(Clone, Copy, Debug)]
pub struct ReadAhead {
    generation: ReadAheadGeneration,
    /// `read_ahead_kb` in pages.
    pages_max: u64,
    /// Pages of the device's largest request.
    request_pages: u64,
    /// Random access was advised (FMODE_RANDOM): exactly what is asked for.
    is_random: bool,
    start: Page,
    size: u64,
    ahead: u64,
    previous: Option<Page>,
}

/// Size of a first window for a request of `wanted` pages.
fn first_size(wanted: u64, max: u64) -> u64 {
    let size = wanted.next_power_of_two();
    if size <= max / 32 {
        size * 4
    } else if size <= max / 4 {
        size * 2
    } else {
        max
    }
}

/// Size of the window after one of `size` pages.
fn next_size(size: u64, max: u64) -> u64 {
    (if size < max / 16 { 4 * size } else { 2 * size }).min(max)
}

impl ReadAhead {
    /// `pages_max`: `read_ahead_kb` / 4; 0 turns read-ahead off.
    pub fn new(generation: ReadAheadGeneration, pages_max: u64) -> Self {
        Self {
            generation,
            pages_max,
            request_pages: 0,
            is_random: false,
            start: 0,
            size: 0,
            ahead: 0,
            previous: None,
        }
    }

    /// The state of the same file opened again.
    pub fn fresh(&self) -> Self {
        self.of_pages(self.pages_max)
    }

    /// `pages`: of the device's largest request (`max_sectors_kb`).
    pub fn with_requests(mut self, pages: u64) -> Self {
        self.request_pages = pages;
        self
    }

    /// The same with another limit.
    pub fn of_pages(&self, pages_max: u64) -> Self {
        let mut state = Self::new(self.generation, pages_max).with_requests(self.request_pages);
        state.is_random = self.is_random;
        state
    }

    /// The same after posix_fadvise(POSIX_FADV_RANDOM).
    pub fn random(mut self) -> Self {
        self.is_random = true;
        self
    }

    /// Pages of a window for a call that asks for `wanted` more.
    fn most(&self, wanted: u64) -> u64 {
        let longer = self.request_pages.min(wanted);
        if self.generation >= ReadAheadGeneration::Linux4_10 {
            self.pages_max.max(longer)
        } else {
            self.pages_max
        }
    }

    /// The reader took `page`; what follows it is sequential.
    pub fn took(&mut self, page: Page) {
        self.previous = Some(page);
    }

    /// `page` is not cached and `wanted` pages from it on are asked for. `cached_before`: cached pages right before `page`.
    pub fn on_miss(&mut self, page: Page, wanted: u64, cached_before: u64) -> Window {
        if self.is_random || self.pages_max == 0 {
            // Without read-ahead the kernel reads the one page that is missing, however long the call and whatever was advised (mm/filemap.c, and
            // from 5.10 on mm/readahead.c: req_count = 1).
            return Window::exactly(page, if self.pages_max == 0 { 1 } else { wanted });
        }
        let max = self.most(wanted);
        if page != 0
            && (page == self.start + self.size - self.ahead || page == self.start + self.size)
            && self.size > 0
        {
            return self.slide(max);
        }
        let follows = self
            .previous
            .map_or(page == 0, |previous| page.wrapping_sub(previous) <= 1);
        let begins = page == 0 && self.generation >= ReadAheadGeneration::Linux2_6_32;
        if !(begins || follows || wanted > max) {
            if self.generation < ReadAheadGeneration::Linux2_6_32 || cached_before <= wanted {
                // Random: exactly what is asked for; the state stays for the stream that may go on.
                return Window::exactly(page, wanted);
            }
            // Context: the pages before tell of a stream that this file's state has forgotten.
            let history = if cached_before >= page {
                cached_before * 2
            } else {
                cached_before
            };
            self.start = page;
            self.size = (history + wanted).min(max);
            self.ahead = 1;
            return self.window(page, max);
        }
        self.start = page;
        self.size = first_size(wanted, max);
        self.ahead = if self.size > wanted {
            self.size - wanted
        } else {
            self.size
        };
        self.window(page, max)
    }

    /// The reader came to the marked `page`. `uncached`: the first page after it that is not cached, None when the next `pages_max`
    /// are all there. None: nothing is to be read.
    pub fn on_mark(&mut self, page: Page, wanted: u64, uncached: Option<Page>) -> Option<Window> {
        if self.is_random || self.pages_max == 0 {
            return None;
        }
        let max = self.most(wanted);
        if self.size > 0
            && (page == self.start + self.size - self.ahead || page == self.start + self.size)
        {
            return Some(self.slide(max));
        }
        if self.generation == ReadAheadGeneration::Linux2_6_23 {
            self.start = page + 1;
            self.size = next_size(self.size.max(1), max);
        } else {
            let start = uncached?;
            if start - page > max {
                return None;
            }
            let distance = start - page;
            let known = if self.generation >= ReadAheadGeneration::Linux2_6_32 {
                distance + wanted
            } else {
                distance
            };
            self.start = start;
            self.size = next_size(known, max);
        }
        self.ahead = self.size;
        Some(self.window(page, max))
    }

    fn slide(&mut self, max: u64) -> Window {
        self.start += self.size;
        self.size = next_size(self.size, max);
        self.ahead = self.size;
        self.window(u64::MAX, max)
    }

    /// `page`: where the reader is, for the rule of 2.6.31 that a mark on that very page is used at once.
    fn window(&mut self, page: Page, max: u64) -> Window {
        if self.generation >= ReadAheadGeneration::Linux2_6_32
            && page == self.start
            && self.ahead == self.size
        {
            let next = next_size(self.size, max);
            let stricter = self.generation >= ReadAheadGeneration::Linux4_19;
            (self.size, self.ahead) = if stricter && self.size + next > max {
                (max, max / 2)
            } else {
                (self.size + next, next)
            };
        }
        Window {
            start: self.start,
            pages: self.size,
            mark: Some(self.start + self.size - self.ahead),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows that a sequential reader of `wanted` pages a call causes, as (start, size, mark).
    fn stream(
        generation: ReadAheadGeneration,
        max: u64,
        wanted: u64,
        until: u64,
    ) -> Vec<(u64, u64, u64)> {
        let mut state = ReadAhead::new(generation, max);
        let (mut windows, mut cached, mut marks) = (Vec::new(), 0, Vec::new());
        for page in 0..until {
            let rest = wanted - page % wanted;
            let mut windows_here = Vec::new();
            if page >= cached {
                windows_here.push(state.on_miss(page, rest, cached));
            }
            if marks.contains(&page) {
                windows_here.extend(state.on_mark(page, rest, Some(cached)));
            }
            for window in windows_here {
                cached = window.start + window.pages;
                marks.extend(window.mark);
                windows.push((window.start, window.pages, window.mark.unwrap()));
            }
            state.took(page);
        }
        windows
    }

    #[test]
    fn windows_grow_as_worked_out_by_hand() {
        // (start, size, mark) for a maximum of 32 pages, worked out by hand from mm/readahead.c of 2.6.32 (ondemand_readahead).
        let small = stream(ReadAheadGeneration::Linux2_6_32, 32, 1, 60);
        assert_eq!(
            small[..4],
            [(0, 4, 1), (4, 8, 4), (12, 16, 12), (28, 32, 28)]
        );
        let middle = stream(ReadAheadGeneration::Linux2_6_32, 32, 4, 60);
        assert_eq!(middle[..3], [(0, 8, 4), (8, 16, 8), (24, 32, 24)]);
        let large = stream(ReadAheadGeneration::Linux2_6_32, 32, 16, 60);
        assert_eq!(large[..2], [(0, 32, 16), (32, 32, 32)]);
    }

    #[test]
    fn a_call_longer_than_the_window_reads_what_a_request_holds_from_4_10_on() {
        let windows = |version| {
            let generation = ReadAheadGeneration::of(version);
            let mut state = ReadAhead::new(generation, 32).with_requests(320);
            let first = state.on_miss(0, 256, 0);
            (first.pages, first.mark, state.on_mark(128, 128, None))
        };
        // Worked out by hand from mm/readahead.c of 6.1: 256 pages with the mark in the middle, then what is left of the call.
        let (pages, mark, next) = windows(Version(6, 1, 0));
        assert_eq!((pages, mark), (256, Some(128)));
        let next = next.unwrap();
        assert_eq!((next.start, next.pages, next.mark), (256, 128, Some(256)));
        assert_eq!(windows(Version(4, 4, 0)).0, 64);
    }

    #[test]
    fn windows_grow_by_four_then_two_where_the_maximum_is_large() {
        let sizes: Vec<u64> = stream(ReadAheadGeneration::Linux2_6_24, 2048, 1, 4000)
            .iter()
            .map(|window| window.1)
            .collect();
        assert_eq!(sizes[..7], [4, 16, 64, 256, 512, 1024, 2048]);
    }

    #[test]
    fn a_random_read_brings_what_was_asked_for() {
        for generation in [
            ReadAheadGeneration::Linux2_6_23,
            ReadAheadGeneration::Linux2_6_24,
            ReadAheadGeneration::Linux2_6_32,
        ] {
            let mut state = ReadAhead::new(generation, 32);
            state.took(10);
            assert_eq!(
                state.on_miss(5000, 1, 0),
                Window {
                    start: 5000,
                    pages: 1,
                    mark: None
                }
            );
        }
    }

    #[test]
    fn no_read_ahead_reads_page_by_page() {
        let mut state = ReadAhead::new(ReadAheadGeneration::Linux2_6_32, 0);
        assert_eq!(state.on_miss(0, 16, 0).pages, 1);
        assert_eq!(state.random().on_miss(0, 16, 0).pages, 1);
        let mut advised = state.of_pages(32).random();
        assert_eq!(advised.on_miss(0, 16, 0).pages, 16);
        assert_eq!(advised.on_mark(3, 1, Some(4)), None);
        assert_eq!(state.on_mark(3, 1, Some(4)), None);
    }
}
