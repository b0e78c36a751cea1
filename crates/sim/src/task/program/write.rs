//! Writes into the page cache, and the flusher that carries them to the drive.

use super::{Io, ProgramEngine, Programs, Queued, State, CLOCK, EXPIRED, FLUSH, PERIOD, STEP};
use crate::storage::Stack;
use crate::task::flusher::{self, FLUSHER};
use seekwise_host::cache::pacing::{DirtyPages, Verdict};
use seekwise_host::cache::page_cache::{CachedPage, Run};
use seekwise_units::Nanos;

/// The flusher's turn on the processor, about as long as a program's call: both get their half of it in the long run.
const FLUSHER_TURN: Nanos = Nanos::from_micros(100);

impl Programs {
    fn seen(&self) -> DirtyPages {
        let dirty = self.cache.unwritten();
        let group = self.group.pages(dirty);
        DirtyPages::of_device(group, dirty, self.dirtied, self.written)
    }

    pub(super) fn write<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, index: usize) {
        loop {
            let program = &mut self.programs[index];
            let due = self.pacing.pages_to_look(&program.writer);
            if program.looks_again || due == 0 && program.writer.dirtied > 0 {
                if program.owed > Nanos::ZERO {
                    return self.resume(engine, index, Nanos::ZERO);
                }
                program.looks_again = false;
                if self.look(engine, index) {
                    return;
                }
                continue;
            }
            let (page, end) = (program.page, program.end);
            if page == end {
                return self.done(engine, index);
            }
            if self.cache.find(0, page) == CachedPage::Coming {
                return self.wait(engine, index, State::WaitsForPage(page));
            }
            let run = Run {
                file: 0,
                start: page,
                pages: (end - page).min(due.max(1)),
            };
            program.page += run.pages;
            let (_, reclaimed) = self.cache.add_absent(run);
            let new = self.cache.make_dirty(run);
            let program = &mut self.programs[index];
            // What copying costs is in the recording.
            program.owed += Nanos(self.plan.cost.reclaim_page * reclaimed);
            program.writer.dirtied += new;
            self.dirtied += new;
            self.group.dirtied(new, self.cache.unwritten());
        }
    }

    /// A writer looks at the limits; true when it sleeps.
    fn look<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, index: usize) -> bool {
        let seen = self.seen();
        let kernel = self.plan.kernel;
        let tick = kernel.jiffies(engine.now);
        let writer = &mut self.programs[index].writer;
        let verdict = self.pacing.writer_looks(tick, writer, &seen);
        if verdict != Verdict::Free {
            self.wake_flusher(engine);
        }
        match verdict {
            Verdict::Free | Verdict::GoOn => false,
            Verdict::Sleep { ticks, again } => {
                // Linux kernel/time/timer.c: a timer never fires early, so one tick later than asked for at most.
                let at = kernel.tick_start(tick + ticks + 1);
                self.programs[index].looks_again = again;
                engine.agenda.push(at, (index as u32) << 2 | STEP);
                true
            }
        }
    }

    pub(super) fn wake_flusher<S: Stack>(&mut self, engine: &mut ProgramEngine<S>) {
        if self.flusher.state == flusher::State::Idle {
            self.flusher.state = flusher::State::Working;
            engine.agenda.push(engine.now, FLUSH);
        }
    }

    /// Every 5 s: something has been dirty for 30 s.
    pub(super) fn look_for_old<S: Stack>(&mut self, engine: &mut ProgramEngine<S>) {
        let now = engine.now;
        engine.agenda.push(now + PERIOD, CLOCK);
        self.dirty_since = match self.dirty_since {
            _ if self.cache.dirty() == 0 => None,
            None => Some(now),
            Some(since) if now - since >= EXPIRED => {
                self.all = true;
                self.wake_flusher(engine);
                Some(now)
            }
            since => since,
        };
    }

    /// The flusher's step: what it has gathered goes to the queue, then it gathers on.
    pub(super) fn flush<S: Stack>(&mut self, engine: &mut ProgramEngine<S>) {
        let now = engine.now;
        if self.flusher.owed > Nanos::ZERO {
            // It shares the processors with the programs.
            self.flusher_processor = engine.processors.free_first();
            let turn = self.flusher.owed.min(FLUSHER_TURN);
            self.flusher.owed = self.flusher.owed.saturating_sub(turn);
            let at = engine.processors.book(self.flusher_processor, now, turn);
            engine.agenda.push(at, FLUSH);
            return;
        }
        if !self.flusher.batch.is_empty() {
            if self.submit_batch(engine) {
                engine.agenda.push(now, FLUSH);
            }
            return;
        }
        if self.flusher.left == 0 {
            let seen = self.seen();
            let dirty = self.cache.dirty();
            self.all &= dirty > 0;
            if dirty == 0 || !self.all && !self.pacing.over_background(dirty) {
                self.flusher.state = flusher::State::Idle;
                return;
            }
            self.pacing
                .flusher_looks(self.plan.kernel.jiffies(now), &seen);
            self.flusher.left = self.pacing.turn();
        }
        let pages = self.flusher.gather(&mut self.cache, &self.plan);
        self.group.writing(pages, self.cache.unwritten());
        self.flusher.owed = Nanos(self.plan.cost.flush_page * pages.max(1));
        engine.agenda.push(now, FLUSH);
    }

    /// False when the flusher sleeps for a request.
    fn submit_batch<S: Stack>(&mut self, engine: &mut ProgramEngine<S>) -> bool {
        let now = engine.now;
        engine.storage.begin_plug();
        let mut all = true;
        let request = self.costs.request(false, 0.0);
        while let Some(run) = self.flusher.batch.pop_front() {
            let refused = self.flusher.refused.take();
            let what = Queued {
                run,
                io: Io::Write,
                write: true,
                sync: false,
            };
            let (at, refused) = self.hand_down(engine, what, FLUSHER, refused);
            self.flusher.owed += request.submit;
            if refused.is_some() {
                self.flusher.refused = refused;
                self.flusher.batch.push_front(super::rest(what, at).run);
                self.flusher.state = flusher::State::WaitsForRequest;
                all = false;
                break;
            }
        }
        engine.storage.end_plug(now, &mut engine.observer);
        self.flusher.owed += request.scheduler;
        // A request may have come free while the plug was emptied.
        if engine.storage.has_woken() {
            self.wake_sleepers(engine);
        }
        all
    }
}
