//! Those who ask a whole storage for data: what each is after, what it has of it, and its next step.

use crate::files::machine::samples::{Samples, SamplesPlan};
use crate::files::machine::{FileEngine, Owner, Piece, Sender, PAGE_SECTORS};
use crate::result::Calls;
use seekwise_device::Device;
use seekwise_host::block::BlockQueue;
use seekwise_host::cache::read_ahead::{Page, ReadAhead, Window};
use seekwise_host::random::Random;
use seekwise_sched::ProcessId;
use seekwise_units::{Lba, Nanos, Sectors, PAGE_BYTES};
use std::collections::VecDeque;

/// What a reader does until the end of the run.
#[derive(Clone, Copy, Debug)]
pub enum ReaderKind {
    /// Through the page cache from page `from` on, `pages` a call.
    Buffered { from: Page, pages: u64 },
    /// Direct, at random over the volume.
    DirectRandom { pages: u64 },
    /// Direct within a file; a call is split into bios and done when all of them are.
    Direct {
        write: bool,
        random: bool,
        /// First page of the file, and its length.
        from: Page,
        file: u64,
        pages: u64,
        /// Calls until the reader ends.
        calls: u64,
    },
    /// Samples over the whole volume, as gnome-disks takes them.
    Samples(SamplesPlan),
}

#[derive(Clone, Copy, Debug)]
pub struct ReaderPlan {
    pub kind: ReaderKind,
    pub starts: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ready(Nanos),
    /// For the page at the read position.
    WaitsForPage,
    /// For a direct read.
    WaitsForAll,
    /// For a free request.
    WaitsForRequest,
    /// All its calls are done.
    Ended,
}

pub(crate) struct Reader {
    pub(crate) kind: ReaderKind,
    pub(crate) state: State,
    pub(crate) read_ahead: ReadAhead,
    /// Next page to take; `call_end` is where the running call ends.
    pub(crate) page: Page,
    pub(crate) call_end: Page,
    pub(crate) call_began: Nanos,
    /// Cached or coming pages from `first` on: true when there.
    pub(crate) first: Page,
    pub(crate) pages: VecDeque<bool>,
    pub(crate) marks: Vec<Page>,
    /// Not yet submitted, because no request was free.
    pub(crate) queued: VecDeque<(Lba, Sectors)>,
    pub(crate) outstanding: u32,
    pub(crate) done: Calls,
    pub(crate) ended: Nanos,
    pub(crate) random: Random,
    pub(crate) samples: Samples,
}

/// What came of a reader.
#[derive(Clone, Copy, Debug)]
pub struct ReaderOutcome {
    pub done: Calls,
    /// End of the last call.
    pub ended: Nanos,
    /// Mean of the samples' rates, in bytes per second; 0 without samples.
    pub sample_rate: f64,
}

pub(crate) fn readers(plans: &[ReaderPlan], read_ahead: ReadAhead, seed: u64) -> Vec<Reader> {
    let reader = |(index, plan): (usize, &ReaderPlan)| {
        let from = match plan.kind {
            ReaderKind::Buffered { from, .. } => from,
            _ => 0,
        };
        Reader {
            kind: plan.kind,
            state: State::Ready(plan.starts),
            read_ahead,
            page: from,
            call_end: from,
            call_began: Nanos::ZERO,
            first: from,
            pages: VecDeque::new(),
            marks: Vec::new(),
            queued: VecDeque::new(),
            outstanding: 0,
            done: Calls::default(),
            ended: Nanos::ZERO,
            random: Random::new(seed, index as u64),
            samples: Samples::default(),
        }
    };
    plans.iter().enumerate().map(reader).collect()
}

impl Reader {
    /// A piece of what it asked for is back.
    pub(crate) fn piece_done(&mut self, piece: &Piece) {
        self.outstanding -= 1;
        if let ReaderKind::Buffered { .. } = self.kind {
            let pages = piece.sectors.0 / PAGE_SECTORS;
            let first = (piece.volume_end.0 - piece.sectors.0) / PAGE_SECTORS;
            for page in first..first + pages {
                if let Some(there) = page
                    .checked_sub(self.first)
                    .and_then(|place| self.pages.get_mut(place as usize))
                {
                    *there = true;
                }
            }
        }
    }

    /// Queues the pages from `at` to `end`, in bios of at most so many.
    pub(crate) fn ask(&mut self, mut at: Page, end: Page, bio_pages_max: u64) {
        while at < end {
            let pages = bio_pages_max.min(end - at);
            self.queued
                .push_back((Lba(at * PAGE_SECTORS), Sectors(pages * PAGE_SECTORS)));
            at += pages;
        }
    }

    /// The running call is through; how long it took.
    pub(crate) fn call_done(&mut self, now: Nanos, pages: u64) -> Nanos {
        let latency = now - self.call_began;
        self.done.record(1, pages * PAGE_BYTES, latency);
        self.ended = now;
        latency
    }

    /// Something that it may wait for is back.
    pub(crate) fn wake(&mut self, at: Nanos) {
        let ready = match self.state {
            State::WaitsForPage => self.pages.front().copied().unwrap_or(false),
            State::WaitsForAll => self.outstanding == 0 && self.queued.is_empty(),
            _ => false,
        };
        if ready {
            self.state = State::Ready(at);
        }
    }
}

impl<Q: BlockQueue, D: Device> FileEngine<Q, D> {
    /// Sends what the reader has queued; false when it has to sleep for a request.
    fn send(&mut self, index: usize) -> bool {
        let kind = self.host.readers[index].kind;
        let write = match kind {
            ReaderKind::Direct { write, .. } => write,
            ReaderKind::Samples(_) => self.host.readers[index].samples.writes(),
            _ => false,
        };
        let sender = Sender {
            owner: Owner::Reader(index as u32),
            process: ProcessId(index as u32),
            write,
            sync: true,
            // Direct writes are marked "no idling after it" (WRITE_ODIRECT).
            no_idle: write,
            bio: match kind {
                ReaderKind::Direct { .. } | ReaderKind::Samples(_) => Nanos::ZERO,
                _ => self.host.costs.bio,
            },
            md: self.md_bio(),
        };
        while let Some((start, sectors)) = self.host.readers[index].queued.pop_front() {
            let (sent, rest) = self.send_range(&sender, start, sectors);
            self.host.readers[index].outstanding += sent;
            if let Some(rest) = rest {
                self.host.readers[index].queued.push_front(rest);
                self.host.readers[index].state = State::WaitsForRequest;
                return false;
            }
        }
        true
    }

    fn submit_window(&mut self, index: usize, window: Window) {
        let per_bio = self.storage.bio_pages_max;
        let reader = &mut self.host.readers[index];
        if reader.pages.is_empty() {
            reader.first = window.start;
        }
        // Pages already there or coming are skipped.
        let have = reader.first + reader.pages.len() as u64;
        let begin = window.start.max(have);
        let end = window.start + window.pages;
        if begin >= end {
            return;
        }
        reader.ask(begin, end, per_bio);
        reader
            .pages
            .extend(core::iter::repeat_n(false, (end - begin) as usize));
        if let Some(mark) = window.mark.filter(|mark| *mark >= begin) {
            reader.marks.push(mark);
        }
        self.spend(Nanos(self.host.costs.page_add.0 * (end - begin)));
        self.begin_plugs();
        self.send(index);
        self.end_plugs();
    }

    /// The reader has the processor: it works until it waits, or for one call.
    pub(crate) fn step(&mut self, index: usize) {
        if !self.host.readers[index].queued.is_empty() {
            match self.host.readers[index].kind {
                ReaderKind::Direct { .. } | ReaderKind::Samples(_) => {
                    return self.send_plugged(index)
                }
                _ => {
                    if !self.send(index) {
                        return;
                    }
                }
            }
        }
        match self.host.readers[index].kind {
            ReaderKind::Buffered { pages, .. } => self.step_buffered(index, pages),
            ReaderKind::DirectRandom { pages } => self.step_direct(index, pages),
            ReaderKind::Direct {
                random,
                from,
                file,
                pages,
                calls,
                ..
            } => self.step_file(index, random, (from, file), pages, calls),
            ReaderKind::Samples(plan) => self.step_samples(index, plan),
        }
    }

    fn step_buffered(&mut self, index: usize, pages: u64) {
        let volume_pages = self.storage.volume.capacity().0 / PAGE_SECTORS;
        if self.host.readers[index].page == self.host.readers[index].call_end {
            let reader = &mut self.host.readers[index];
            if reader.page + pages > volume_pages {
                reader.page = 0;
                reader.pages.clear();
                reader.marks.clear();
            }
            reader.call_began = self.now;
            reader.call_end = reader.page + pages;
            self.spend(self.host.costs.call);
        }
        while self.host.readers[index].page < self.host.readers[index].call_end {
            let reader = &mut self.host.readers[index];
            let page = reader.page;
            let wanted = reader.call_end - page;
            if reader.pages.is_empty() {
                let window = reader.read_ahead.on_miss(page, wanted, 0);
                self.submit_window(index, window);
            }
            let reader = &mut self.host.readers[index];
            if let Some(place) = reader.marks.iter().position(|&mark| mark == page) {
                reader.marks.swap_remove(place);
                let end = reader.first + reader.pages.len() as u64;
                let there = reader.pages.front().copied().unwrap_or(false);
                if let Some(window) = reader.read_ahead.on_mark(page, wanted, Some(end)) {
                    self.submit_window(index, window);
                    if there && self.host.kick_after_mark {
                        // The reader will not wait now, so nobody would unplug.
                        self.unplug_members();
                    }
                }
            }
            if self.host.readers[index].state == State::WaitsForRequest {
                return;
            }
            let reader = &mut self.host.readers[index];
            if !reader.pages.front().copied().unwrap_or(false) {
                reader.state = State::WaitsForPage;
                // Waiting for a page unplugs every drive below the volume.
                self.unplug_members();
                return;
            }
            reader.pages.pop_front();
            reader.first += 1;
            reader.read_ahead.took(page);
            reader.page += 1;
            self.spend(self.host.costs.page_copy);
        }
        let done = self.host.processor_free;
        let reader = &mut self.host.readers[index];
        reader.call_done(done, pages);
        reader.state = State::Ready(done);
    }

    /// Sends what is queued under the task's plug and waits for all of it.
    fn send_plugged(&mut self, index: usize) {
        self.begin_plugs();
        self.host.readers[index].state = State::WaitsForAll;
        self.send(index);
        // A task that sleeps for a request gives its plug up, too.
        self.end_plugs();
        self.unplug_members();
    }

    /// Ends the call that was under way and begins the next one.
    fn step_file(
        &mut self,
        index: usize,
        random: bool,
        (from, file): (Page, u64),
        pages: u64,
        calls: u64,
    ) {
        let reader = &mut self.host.readers[index];
        if reader.call_began > Nanos::ZERO {
            reader.call_done(self.now, pages);
        }
        if reader.done.count >= calls {
            reader.state = State::Ended;
            return;
        }
        reader.call_began = self.now.max(Nanos(1));
        let places = (file / pages).max(1);
        let place = if random {
            reader.random.below(places)
        } else {
            reader.done.count % places
        };
        let at = from + place * pages;
        reader.ask(at, at + pages, self.storage.bio_pages_max);
        let write = matches!(
            self.host.readers[index].kind,
            ReaderKind::Direct { write: true, .. }
        );
        self.spend_direct_call(pages, write);
        self.host.readers[index].state = State::Ready(self.host.processor_free);
    }

    /// The drives see the request once the processor has made its bios: only then is the plug released.
    pub(crate) fn spend_direct_call(&mut self, pages: u64, write: bool) {
        let bios = self
            .storage
            .volume
            .pieces(Sectors(pages * PAGE_SECTORS), write);
        self.spend(self.host.costs.call);
        self.spend(Nanos(
            self.host.costs.page_pin.0 * pages + self.host.costs.bio.0 * bios,
        ));
    }

    fn step_direct(&mut self, index: usize, pages: u64) {
        let volume_pages = self.storage.volume.capacity().0 / PAGE_SECTORS;
        let reader = &mut self.host.readers[index];
        if reader.call_began > Nanos::ZERO {
            reader.call_done(self.now, pages);
        }
        reader.call_began = self.now.max(Nanos(1));
        let page = reader.random.below(volume_pages / pages) * pages;
        reader
            .queued
            .push_back((Lba(page * PAGE_SECTORS), Sectors(pages * PAGE_SECTORS)));
        reader.state = State::WaitsForAll;
        self.spend(self.host.costs.call);
        if !self.send(index) {
            return;
        }
        self.unplug_members();
    }
}
