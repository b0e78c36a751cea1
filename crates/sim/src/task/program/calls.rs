//! Calls one after the other; those that read.

use super::{Io, ProgramEngine, ProgramState, Programs, Queued, State};
use crate::spec::programs::{CallKind, PROGRAMS_MAX};
use crate::storage::Stack;
use crate::task::program::UnderWay;
use seekwise_host::cache::page_cache::{CachedPage, Run};
use seekwise_host::cache::read_ahead::Window;
use seekwise_units::Nanos;

/// Linux v6.1 mm/filemap.c: MMAP_LOTSAMISS; so many misses of mapped pages, and nothing is read around them any more.
const LOTS_OF_MISSES: u32 = 100;
/// Numbers of processes come again after so many: those of programs stay below the flusher's.
const FORKS_MAX: u32 = 1 << 9;
/// After so long SQLite asks for a lock again, each time after the next (main.c: sqliteDefaultBusyCallback).
const BUSY_MS: [u64; 12] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100];

impl Programs {
    pub(super) fn next<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, index: usize) {
        let program = &mut self.programs[index];
        let call = self.recordings[program.recording][program.at];
        let through = program.foreground && engine.now >= self.deadline;
        if through && call.kind() == CallKind::BeginUnit {
            return self.end(engine, index);
        }
        program.doing = ProgramState::Begin;
        match (call.kind(), call.think()) {
            (_, Nanos::ZERO) => self.begin(engine, index),
            (CallKind::Sleep, sleep) => {
                let at = engine.now + sleep;
                engine.agenda.push(at, (index as u32) << 2 | super::STEP);
            }
            (_, think) => self.resume(engine, index, think),
        }
    }

    pub(super) fn begin<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, index: usize) {
        let program = &mut self.programs[index];
        let call = self.recordings[program.recording][program.at];
        let file = program.files.get(call.1 as usize).copied();
        if let Some(file) = file {
            program.file = (call.1 as usize, file);
            program.page = file.0 + call.2;
            program.end = program.page + call.3;
        }
        let whole = file.map(|file| Run {
            file: 0,
            start: file.0,
            pages: file.1,
        });
        match (call.kind(), whole) {
            (CallKind::Read, _) => {
                program.doing = ProgramState::Reading;
                self.read(engine, index);
            }
            (CallKind::Fault, _) => {
                program.doing = ProgramState::Faulting;
                self.fault(engine, index);
            }
            (CallKind::Write, _) => {
                program.doing = ProgramState::Writing;
                self.write(engine, index);
            }
            (CallKind::Sync, Some(file)) => {
                program.doing = ProgramState::SyncPages;
                program.page = file.start;
                program.end = file.start + file.pages;
                self.sync_pages(engine, index);
            }
            (CallKind::Forget, Some(_)) if call.3 > 0 => {
                // Dirty pages there begin to be written; the program does not wait for them (Linux v6.12 mm/fadvise.c, generic_fadvise).
                self.flusher.begin_with(program.page, self.cache.dirty());
                self.wake_flusher(engine);
                self.done(engine, index);
            }
            (kind @ (CallKind::Forget | CallKind::Discard), Some(file)) => {
                self.cache.forget(file, kind == CallKind::Discard);
                self.group.cleaned(file.pages, self.cache.unwritten());
                self.done(engine, index);
            }
            (kind @ (CallKind::DirectRead | CallKind::DirectWrite), _) => {
                self.direct(engine, index, kind)
            }
            (CallKind::Lock, _) => self.lock(engine, index, call.1, call.3),
            (CallKind::Unlock, _) => {
                self.locks.remove(&(program.job, call.1));
                self.done(engine, index);
            }
            (CallKind::BeginUnit, _) => {
                program.began = Some(engine.now);
                self.done(engine, index);
            }
            (CallKind::EndUnit, _) => {
                self.unit(engine, index, Some(call.2));
                self.done(engine, index);
            }
            (kind @ (CallKind::Fork | CallKind::Exit), _) => self.fork_or_exit(engine, index, kind),
            (CallKind::Sleep | CallKind::Sync | CallKind::Forget | CallKind::Discard, _) => {
                self.done(engine, index)
            }
        }
    }

    fn fork_or_exit<S: Stack>(
        &mut self,
        engine: &mut ProgramEngine<S>,
        index: usize,
        kind: CallKind,
    ) {
        let now = engine.now;
        let program = &mut self.programs[index];
        if program.process != program.own {
            self.undisturbed = false;
            let process = program.process;
            engine
                .storage
                .process_exits(now, process, &mut engine.observer);
        }
        program.process = program.own;
        if kind == CallKind::Fork {
            program.forks = program.forks % FORKS_MAX + 1;
            program.process.0 += program.forks * PROGRAMS_MAX as u32;
        }
        self.done(engine, index);
    }

    fn lock<S: Stack>(
        &mut self,
        engine: &mut ProgramEngine<S>,
        index: usize,
        number: u32,
        pause_ns: u64,
    ) {
        let program = &mut self.programs[index];
        let holder = self.locks.entry((program.job, number)).or_insert(index);
        if *holder == index {
            program.asked = 0;
            return self.done(engine, index);
        }
        let wait = match pause_ns {
            0 => Nanos::from_millis(BUSY_MS[program.asked.min(BUSY_MS.len() - 1)]),
            // Programs that ask at once would do so for ever.
            mean => Nanos(mean / 2 + self.random.below(mean)),
        };
        program.asked += 1;
        let at = engine.now + wait;
        engine.agenda.push(at, (index as u32) << 2 | super::STEP);
    }

    /// Place within the call's file of a page of the device.
    fn file_of(&self, index: usize) -> (usize, u64, u64) {
        let (number, file) = self.programs[index].file;
        (number, file.0, file.1)
    }

    pub(super) fn read<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, index: usize) {
        let (file, base, _) = self.file_of(index);
        loop {
            let program = &mut self.programs[index];
            let (page, end) = (program.page, program.end);
            if page == end {
                return self.done(engine, index);
            }
            let plain = self.cache.plain_run(0, page, end - page);
            if plain > 0 {
                program.page += plain;
                program.ahead[file].took(page + plain - 1 - base);
                self.used(page, plain);
                continue;
            }
            let wanted = end - page;
            match self.cache.find(0, page) {
                CachedPage::Absent => {
                    // As far back as the read-ahead goes (Linux v6.1 mm/readahead.c, try_context_readahead).
                    let history = (self.plan.read_ahead / 2).min(page - base);
                    let before = self.cache.cached_before(0, page, history);
                    let window = program.ahead[file].on_miss(page - base, wanted, before);
                    return self.make_window(engine, index, window);
                }
                _ if self.cache.take_mark(0, page) => {
                    if let Some(window) = self.window_at_mark(index, page, wanted) {
                        return self.make_window(engine, index, window);
                    }
                }
                _ => return self.wait(engine, index, State::WaitsForPage(page)),
            }
        }
    }

    fn used(&mut self, start: u64, pages: u64) {
        self.cache.touch(Run {
            file: 0,
            start,
            pages,
        });
    }

    fn window_at_mark(&mut self, index: usize, page: u64, wanted: u64) -> Option<Window> {
        let (file, base, pages) = self.file_of(index);
        let most = (page + 1 + self.plan.read_ahead / 2).min(base + pages);
        let uncached = self.cache.next_absent(0, page + 1, most);
        let uncached = (uncached < most).then_some(uncached - base);
        self.programs[index].ahead[file].on_mark(page - base, wanted, uncached)
    }

    /// A mapped page is touched: what lies around it is read as well (Linux v6.1 mm/filemap.c, do_sync_mmap_readahead).
    pub(super) fn fault<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, index: usize) {
        let (file, base, _) = self.file_of(index);
        let around = self.plan.read_ahead / 2;
        let program = &mut self.programs[index];
        let page = program.page;
        if page == program.end {
            return self.done(engine, index);
        }
        match self.cache.find(0, page) {
            CachedPage::Absent => {
                program.misses[file] = (program.misses[file] + 1).min(10 * LOTS_OF_MISSES);
                let alone = program.misses[file] > LOTS_OF_MISSES || around == 0;
                let start = if alone {
                    page - base
                } else {
                    (page - base).saturating_sub(around / 2)
                };
                let pages = if alone { 1 } else { around };
                let mark = (!alone).then_some(start + pages - around / 4);
                self.make_window(engine, index, Window { start, pages, mark });
            }
            _ if self.cache.take_mark(0, page) => {
                program.misses[file] = program.misses[file].saturating_sub(1);
                match self.window_at_mark(index, page, 1) {
                    Some(window) => self.make_window(engine, index, window),
                    None => self.resume(engine, index, Nanos::ZERO),
                }
            }
            CachedPage::There => {
                let program = &mut self.programs[index];
                program.misses[file] = program.misses[file].saturating_sub(1);
                program.page += 1;
                self.used(page, 1);
                self.go_on(engine, index);
            }
            CachedPage::Coming => self.wait(engine, index, State::WaitsForPage(page)),
        }
    }

    /// The pages of a window that are not there are made first, then handed down.
    fn make_window<S: Stack>(
        &mut self,
        engine: &mut ProgramEngine<S>,
        index: usize,
        window: Window,
    ) {
        let (_, base, pages) = self.file_of(index);
        let end = base + (window.start + window.pages).min(pages);
        let mut at = base + window.start;
        let (mut made, mut reclaimed, mut runs) = (0, 0, 0);
        while at < end {
            let start = self.cache.next_absent(0, at, end);
            at = self.cache.next_present(0, start, end);
            if at > start {
                let run = Run {
                    file: 0,
                    start,
                    pages: at - start,
                };
                reclaimed += self.cache.add(run, true);
                made += run.pages;
                runs += 1;
                self.programs[index].queue.push_back(Queued {
                    run,
                    io: Io::Read,
                    write: false,
                    sync: true,
                });
            }
        }
        if let Some(mark) = window
            .mark
            .map(|mark| base + mark)
            .filter(|mark| *mark < end)
        {
            if made > 0 {
                self.cache.mark(0, mark);
            }
        }
        let cost = self.plan.cost;
        let request = self.costs.request(true, 0.0);
        let each = request.submit + request.scheduler;
        let pages = Nanos(cost.new_page * made + cost.reclaim_page * reclaimed);
        self.resume(engine, index, pages + Nanos(each.0 * runs));
    }

    pub(super) fn pages_read<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, token: u32) {
        let UnderWay { run, .. } = self.under_way.remove(token as usize);
        self.cache.read_done(run);
        for index in 0..self.programs.len() {
            let program = &mut self.programs[index];
            let State::WaitsForPage(page) = program.state else {
                continue;
            };
            if !(run.start..run.start + run.pages).contains(&page) {
                continue;
            }
            if program.doing != ProgramState::Writing {
                // Who waits for a page holds it: it is there for him even if reclaim takes it before he runs.
                program.page = page + 1;
                if program.doing == ProgramState::Reading {
                    let (file, base, _) = self.file_of(index);
                    self.programs[index].ahead[file].took(page - base);
                }
                self.used(page, 1);
            }
            self.wake(engine, index);
        }
    }

    fn direct<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, index: usize, kind: CallKind) {
        let write = kind == CallKind::DirectWrite;
        let program = &mut self.programs[index];
        let run = Run {
            file: 0,
            start: program.page,
            pages: program.end - program.page,
        };
        program.doing = ProgramState::Direct;
        program.queue.push_back(Queued {
            run,
            io: Io::Direct(index as u32),
            write,
            sync: true,
        });
        let cost = self.costs.request(!write, run.pages as f64);
        self.resume(engine, index, cost.submit + cost.scheduler);
    }

    pub(super) fn direct_wait<S: Stack>(&mut self, engine: &mut ProgramEngine<S>, index: usize) {
        if self.programs[index].direct == 0 {
            return self.done(engine, index);
        }
        self.wait(engine, index, State::WaitsForDirect);
    }
}
