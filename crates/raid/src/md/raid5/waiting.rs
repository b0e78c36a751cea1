//! Requests that found no free stripe, or whose row is part of a batch on its way out.
//!
//! Whenever something may have come free, all of them would be tried once, oldest first. With thousands of them (a flusher that goes on while
//! its rows wait) most tries would be in vain, so each stands where the thing it waits for finds it; the order of tries and what follows from a
//! vain one are as if all had been tried.

use super::{BioId, Raid5};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Rows that a write meets, in the order of the visits, and the pages which it covers there. Used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Visits {
    /// Row, and where its pages end in `pages`.
    pub rows: Vec<(u64, u32)>,
    /// Member, and whether the page is covered wholly.
    pub pages: Vec<(u32, bool)>,
    /// Visits made.
    pub done: usize,
}

impl Visits {
    /// Empties it for the next write and keeps its memory.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.pages.clear();
        self.done = 0;
    }

    /// Row of the next visit and its range of `pages`.
    pub fn next(&self) -> Option<(u64, core::ops::Range<usize>)> {
        let &(row, end) = self.rows.get(self.done)?;
        let from = match self.done {
            0 => 0,
            done => self.rows[done - 1].1,
        };
        Some((row, from as usize..end as usize))
    }
}

/// What is left of a request.
#[derive(Debug)]
pub(super) enum Rest {
    Write {
        id: BioId,
        visits: Visits,
        sync: bool,
        /// Who submits it, and sleeps until all of it has its stripes.
        task: Option<u32>,
    },
    /// Rows of a missing member, from one to before the other.
    Read {
        id: BioId,
        member: u32,
        row: u64,
        end: u64,
    },
}

impl Rest {
    fn task(&self) -> Option<u32> {
        match self {
            Self::Write { task, .. } => *task,
            Self::Read { .. } => None,
        }
    }

    /// The row that cannot be had now.
    fn row(&self) -> u64 {
        match self {
            Self::Write { visits, .. } => visits.next().expect("something is left").0,
            Self::Read { row, .. } => *row,
        }
    }
}

/// What has to happen before a try can succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// Nothing: its row is in the cache and takes it.
    Tried,
    /// A stripe of the list is free, or its row comes into the cache on another's behalf.
    ListHasOne(usize),
    /// The batch that its row is part of is written.
    BatchIsOut,
}

#[derive(Debug, Default)]
pub(super) struct WaitingForStripes {
    /// By the order of their coming.
    requests: BTreeMap<u64, (Rest, Until)>,
    came: u64,
    /// (row, request): who waits at which row.
    rows: BTreeSet<(u64, u64)>,
    ready: BTreeSet<u64>,
    lists: Vec<BTreeSet<u64>>,
    scratch: Vec<u64>,
}

impl WaitingForStripes {
    /// No request waits for a stripe; `lists` is the number of free lists of stripes.
    pub fn new(lists: usize) -> Self {
        Self {
            lists: vec![BTreeSet::new(); lists],
            ..Self::default()
        }
    }

    /// No request waits.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// The number of a request that waits for the first time.
    pub fn number(&mut self) -> u64 {
        self.came += 1;
        self.came
    }

    fn enlist(&mut self, request: u64, until: Until) {
        match until {
            Until::Tried => self.ready.insert(request),
            Until::ListHasOne(list) => self.lists[list].insert(request),
            Until::BatchIsOut => true,
        };
    }

    fn leave(&mut self, request: u64, until: Until) {
        match until {
            Until::Tried => self.ready.remove(&request),
            Until::ListHasOne(list) => self.lists[list].remove(&request),
            Until::BatchIsOut => true,
        };
    }

    /// The request numbered `request` waits for what `until` says.
    pub fn insert(&mut self, request: u64, rest: Rest, until: Until) {
        self.rows.insert((rest.row(), request));
        self.requests.insert(request, (rest, until));
        self.enlist(request, until);
    }

    /// Takes a waiting request out for a try; panics if it does not wait.
    pub fn take(&mut self, request: u64) -> Rest {
        let (rest, until) = self.requests.remove(&request).expect("it waits");
        self.rows.remove(&(rest.row(), request));
        self.leave(request, until);
        rest
    }

    /// What those at a row wait for has changed.
    pub fn change(&mut self, row: u64, until: Until) {
        let mut here = core::mem::take(&mut self.scratch);
        let all = (row, 0)..=(row, u64::MAX);
        here.extend(self.rows.range(all).map(|(_, request)| *request));
        for request in here.drain(..) {
            let state = &mut self.requests.get_mut(&request).expect("it waits").1;
            let before = core::mem::replace(state, until);
            self.leave(request, before);
            self.enlist(request, until);
        }
        self.scratch = here;
    }

    /// The oldest from `from` on whose row is in the cache and takes it.
    fn next_ready(&self, from: u64) -> Option<u64> {
        self.ready.range(from..).next().copied()
    }

    /// The oldest from `from` on that needs a stripe of the list.
    fn next_of_list(&self, from: u64, list: usize) -> Option<u64> {
        self.lists[list].range(from..).next().copied()
    }

    /// Somebody stands between the two.
    fn any_between(&self, from: u64, to: u64) -> bool {
        self.requests.range(from..to).next().is_some()
    }
}

impl Raid5 {
    fn until(&self, row: u64) -> Until {
        match self.stripe_of(row) {
            None => Until::ListHasOne(self.list_of(row)),
            Some(stripe) if self.stripes[stripe as usize].in_batch() => Until::BatchIsOut,
            Some(_) => Until::Tried,
        }
    }

    /// Something happened to a row that those who wait at it may care for.
    #[inline]
    pub(super) fn row_changed(&mut self, row: u64) {
        if !self.waiting.is_empty() {
            let until = self.until(row);
            self.waiting.change(row, until);
        }
    }

    /// A request that could not go on waits; `number` is its place among those that do.
    pub(super) fn wait(&mut self, number: u64, rest: Rest) {
        let until = self.until(rest.row());
        self.blocked |= matches!(until, Until::ListHasOne(_));
        if let Some(task) = rest.task() {
            self.asleep.entry(task).or_default();
        }
        self.waiting.insert(number, rest, until);
    }

    fn next_to_try(&mut self, from: u64) -> Option<u64> {
        let mut next = self.waiting.next_ready(from);
        for list in 0..self.free.len() {
            if let Some(request) = self.waiting.next_of_list(from, list) {
                if next.is_none_or(|next| request < next) && self.has_free(list) {
                    next = Some(request);
                }
            }
        }
        next
    }

    /// Everybody who waits tries once, in the order of their coming. Whoever tries in vain unplugs.
    #[inline]
    pub(super) fn retry_waiting(&mut self) {
        if !self.waiting.is_empty() {
            self.retry_all();
        }
        self.unplug();
    }

    #[cold]
    fn retry_all(&mut self) {
        let mut from = 0;
        while !self.waiting.is_empty() {
            let Some(request) = self.next_to_try(from) else {
                break;
            };
            if self.waiting.any_between(from, request) {
                self.unplug();
            }
            let rest = self.waiting.take(request);
            let task = rest.task();
            match self.attach(rest) {
                Some(rest) => self.wait(request, rest),
                None => self.goes_on(task),
            }
            from = request + 1;
        }
        debug_assert!(self.stand_where_they_are_found());
    }

    /// A task that slept submits what it was asked for meanwhile, until it sleeps again (raid5_get_active_stripe sleeps in the submitter).
    fn goes_on(&mut self, task: Option<u32>) {
        let Some(task) = task else { return };
        while let Some(rest) = self.asleep.get_mut(&task).and_then(VecDeque::pop_front) {
            if let Some(rest) = self.attach(rest) {
                let number = self.waiting.number();
                self.wait(number, rest);
                return;
            }
        }
        self.asleep.remove(&task);
    }

    /// Whether everybody stands where what happens next finds him. Looks at a few only: a flusher lets thousands wait.
    fn stand_where_they_are_found(&self) -> bool {
        let few = self.waiting.requests.values().take(64);
        few.into_iter()
            .all(|(rest, until)| *until == self.until(rest.row()))
    }
}
