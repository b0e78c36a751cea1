//! Programs of a recorded trace: each sends what it sent, when what it had waited for is done here.
//!
//! ```text
//!   done ─interrupt─▶ notified ──gap──▶ due ─submit─▶ queue ─▶ drive ─▶ done
//!                      ▲ at most `own` of its requests under way, and enough requests of another program complete
//! ```
//!
//! A request's time runs from `due` to `notified`: what the kernel's trace events see. The gap is what the program took in the recording,
//! with waking up, so the processor is booked for that within the gap.
//!
//! Not modelled:  requests of a program that would have been others (a database that groups commits by their latency); time slices.
//! Source:        the counts and gaps are inferred in `python/seekwise/trace/depend.py` and `load.py`.

pub mod rows;

use crate::cost::OperationCosts;
use crate::engine::{Engine, Tasks, Threads};
use crate::result::ThreadEnd;
use crate::spec::traced::TracedSpec;
use crate::storage::{Stack, FLUSHED};
use crate::task::flushes::Flushes;
use rows::{Rows, TraceRow, TraceRowKind, FLUSH_FIRST, FORCED, META, NO_PROGRAM, OPEN, SYNC};
use seekwise_host::block::{Bio, Done, Observer};
use seekwise_host::cpu::CpuCost;
use seekwise_sched::{Direction, ProcessId};
use seekwise_units::{Lba, Nanos, Sectors, PAGE_BYTES};
use slab::Slab;
use std::collections::VecDeque;

/// Entries of the agenda: program number and what it does, in one word.
const DUE: u32 = 0;
const SUBMIT: u32 = 1;
const RETRY: u32 = 2;
/// Requests up to so many pages have their costs looked up.
const PAGES_KNOWN: usize = 1025;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Its next request stands in the agenda, or is on its way into the queue.
    Sends,
    WaitsForOwn,
    WaitsForOther,
    Ended,
}

#[derive(Debug)]
struct Program {
    group: u32,
    process: ProcessId,
    processor: usize,
    rows: Rows,
    next: Option<TraceRow>,
    state: State,
    in_flight: u32,
    done: u64,
    due: Nanos,
    /// When it was last notified of a request's end.
    notified: Nanos,
    /// Rests of requests that found no free one in the queue: of the call under way, and of those that had to flush first.
    pending: VecDeque<Pending>,
    /// Programs that wait for requests of this one.
    waiters: Vec<u32>,
    ended: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    token: u32,
    at: Lba,
    left: Sectors,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    FlushBefore,
    Data,
    FlushBehind,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    program: u32,
    row: TraceRow,
    stage: Stage,
    bios: u32,
    unsubmitted: u64,
    due: Nanos,
}

#[derive(Debug)]
pub struct TracedPrograms {
    programs: Vec<Program>,
    calls: Slab<Call>,
    finished: Vec<u32>,
    flushes: Flushes<u32>,
    open: bool,
    capacity: Sectors,
    costs: OperationCosts,
    /// Of reads and writes by pages.
    known: [Vec<Option<CpuCost>>; 2],
}

impl TracedPrograms {
    /// Begins a phase. `file`: the rows of all programs; `capacity`: that of the storage.
    pub fn new<S: Stack, O: Observer>(
        engine: &mut Engine<S, O>,
        spec: &TracedSpec,
        file: &std::sync::Arc<std::fs::File>,
        capacity: Sectors,
        costs: OperationCosts,
    ) -> Self {
        let count = spec.programs.len();
        engine.begin_phase(count * 2, count);
        let start = engine.now;
        let processors = engine.processors.count();
        let programs = spec.programs.iter().enumerate().map(|(index, program)| {
            let mut rows = Rows::new(file.clone(), program, count);
            Program {
                group: program.group,
                process: ProcessId(index as u32 + 1),
                processor: index % processors,
                next: rows.take(),
                rows,
                state: State::Sends,
                in_flight: 0,
                done: 0,
                due: start,
                notified: start,
                pending: VecDeque::new(),
                waiters: Vec::new(),
                ended: start,
            }
        });
        let mut all = Self {
            programs: programs.collect(),
            calls: Slab::new(),
            finished: Vec::with_capacity(64),
            flushes: Flushes::default(),
            open: spec.open,
            capacity,
            costs,
            known: [vec![None; PAGES_KNOWN], vec![None; PAGES_KNOWN]],
        };
        for index in 0..count as u32 {
            all.begin(engine, index, start);
        }
        all
    }

    /// The first request of a program that waits for nothing comes at its time, whatever else there is.
    fn begin<S: Stack, O: Observer>(&mut self, engine: &mut Engine<S, O>, index: u32, at: Nanos) {
        match self.programs[index as usize].next {
            Some(row) if row.other == NO_PROGRAM || self.open => {
                let due = engine.phase_start + Nanos(row.at_ns);
                self.put(engine, index, due);
            }
            _ => self.consider(engine, index, at),
        }
    }

    fn put<S: Stack, O: Observer>(&mut self, engine: &mut Engine<S, O>, index: u32, due: Nanos) {
        let program = &mut self.programs[index as usize];
        program.state = State::Sends;
        program.due = due;
        engine.agenda.push(due.max(engine.now), index << 2 | DUE);
    }

    /// What a program sends next, and whether it has to wait for that. Its last request was sent at `from`.
    fn consider<S: Stack, O: Observer>(
        &mut self,
        engine: &mut Engine<S, O>,
        index: u32,
        from: Nanos,
    ) {
        let program = &self.programs[index as usize];
        let Some(row) = program.next else {
            self.end_if_done(engine, index);
            return;
        };
        if self.open || row.flags & OPEN != 0 {
            // Late because the queue was full, it has waited since then.
            let due = engine.phase_start + Nanos(row.at_ns);
            self.put(engine, index, due);
            return;
        }
        if program.in_flight > row.own {
            self.programs[index as usize].state = State::WaitsForOwn;
            return;
        }
        let mut after = from;
        if row.other != NO_PROGRAM {
            let other = &mut self.programs[row.other as usize];
            if other.done < u64::from(row.other_count) && other.state != State::Ended {
                other.waiters.push(index);
                self.programs[index as usize].state = State::WaitsForOther;
                return;
            }
            if other.done == u64::from(row.other_count) {
                after = after.max(other.notified);
            }
        }
        self.put(engine, index, after + Nanos(row.gap_ns));
    }

    /// What a program waited for was notified of at `notified`: it wakes up, thinks, and sends.
    fn woken<S: Stack, O: Observer>(
        &mut self,
        engine: &mut Engine<S, O>,
        index: u32,
        notified: Nanos,
    ) {
        let program = &self.programs[index as usize];
        let Some(row) = program.next else {
            return;
        };
        let waits_for_own = program.in_flight > row.own;
        let other = (row.other != NO_PROGRAM).then(|| &self.programs[row.other as usize]);
        let waits_for_other = other.is_some_and(|other| {
            other.done < u64::from(row.other_count) && other.state != State::Ended
        });
        match program.state {
            State::WaitsForOwn if waits_for_own => return,
            State::WaitsForOwn if waits_for_other => {
                self.programs[index as usize].state = State::WaitsForOther;
                self.programs[row.other as usize].waiters.push(index);
                return;
            }
            State::WaitsForOther if waits_for_other => {
                self.programs[row.other as usize].waiters.push(index);
                return;
            }
            State::WaitsForOwn | State::WaitsForOther => {}
            State::Sends | State::Ended => return,
        }
        let cost = self.cost(&row);
        let processor = self.programs[index as usize].processor;
        let awake = engine
            .processors
            .book(processor, notified, cost.wake + cost.user);
        self.put(engine, index, awake.max(notified + Nanos(row.gap_ns)));
    }

    #[inline]
    fn cost(&mut self, row: &TraceRow) -> CpuCost {
        let read = row.kind == TraceRowKind::Read;
        let pages = (u64::from(row.sectors) * 512).div_ceil(PAGE_BYTES) as usize;
        match self.known[usize::from(read)].get_mut(pages) {
            Some(Some(cost)) => *cost,
            Some(place) => *place.insert(self.costs.request(read, pages as f64)),
            None => self.costs.request(read, pages as f64),
        }
    }

    /// A program's request is due: the system call, on its processor.
    fn due<S: Stack, O: Observer>(&mut self, engine: &mut Engine<S, O>, index: u32) {
        let program = &self.programs[index as usize];
        let Some(row) = program.next else {
            return;
        };
        let processor = program.processor;
        let cost = self.cost(&row);
        let at = engine
            .processors
            .book(processor, engine.now, cost.submit + cost.scheduler);
        if at == engine.now {
            self.send(engine, index);
        } else {
            engine.agenda.push(at, index << 2 | SUBMIT);
        }
    }

    fn send<S: Stack, O: Observer>(&mut self, engine: &mut Engine<S, O>, index: u32) {
        let program = &mut self.programs[index as usize];
        let Some(row) = program.next else {
            return;
        };
        program.next = program.rows.take();
        program.in_flight += 1;
        let stage = if row.kind == TraceRowKind::Flush || row.flags & FLUSH_FIRST != 0 {
            Stage::FlushBefore
        } else {
            Stage::Data
        };
        let call = Call {
            program: index,
            row,
            stage,
            bios: 0,
            unsubmitted: u64::from(row.sectors),
            due: program.due,
        };
        let processor = program.processor;
        let token = self.calls.insert(call) as u32;
        if stage == Stage::FlushBefore {
            self.flushes.ask(engine, token);
        } else {
            self.submit_data(engine, token);
            let behind = self.cost(&row).behind;
            if behind > Nanos::ZERO {
                engine.processors.book(processor, engine.now, behind);
            }
        }
        if stage == Stage::FlushBefore || self.calls[token as usize].unsubmitted == 0 {
            let from = self.programs[index as usize].due;
            self.consider(engine, index, from);
        }
    }

    fn submit_data<S: Stack, O: Observer>(&mut self, engine: &mut Engine<S, O>, token: u32) {
        let row = self.calls[token as usize].row;
        let sectors = Sectors(u64::from(row.sectors).min(self.capacity.0));
        // What lay beyond the end of this storage lies somewhere inside it, in the same order.
        let room = self.capacity.0 - sectors.0;
        let start = if row.sector > room {
            row.sector % (room + 1) / 8 * 8
        } else {
            row.sector
        };
        self.calls[token as usize].unsubmitted = sectors.0;
        self.submit(engine, token, Lba(start), sectors);
    }

    fn submit<S: Stack, O: Observer>(
        &mut self,
        engine: &mut Engine<S, O>,
        token: u32,
        at: Lba,
        left: Sectors,
    ) {
        let Call { program, row, .. } = self.calls[token as usize];
        let program = &mut self.programs[program as usize];
        let direction = Direction::of(row.kind == TraceRowKind::Write);
        let sync = row.kind == TraceRowKind::Read || row.flags & (SYNC | FORCED) != 0;
        let several = left > engine.max_sectors;
        if several {
            engine.storage.begin_plug();
        }
        let (bios, at, left) = engine.hand_down(Bio {
            sync,
            metadata: row.flags & META != 0,
            unplug: sync,
            ..Bio::new(token, direction, at, left, program.process)
        });
        let call = &mut self.calls[token as usize];
        call.bios += bios;
        call.unsubmitted = left.0;
        if left.0 > 0 {
            program.pending.push_back(Pending { token, at, left });
        }
        if several {
            engine.storage.end_plug(engine.now, &mut engine.observer);
        }
    }

    /// A program that slept for a request of the queue tries again.
    fn retry<S: Stack, O: Observer>(&mut self, engine: &mut Engine<S, O>, index: u32) {
        let Some(Pending { token, at, left }) = self.programs[index as usize].pending.pop_front()
        else {
            return;
        };
        self.submit(engine, token, at, left);
        let call = &self.calls[token as usize];
        // A program goes on while a request of its waits for a flush.
        if call.unsubmitted == 0 && call.row.flags & FLUSH_FIRST == 0 {
            self.consider(engine, index, engine.now);
        }
    }

    /// One drive's cache is empty.
    #[cold]
    fn drive_flushed<S: Stack, O: Observer>(&mut self, engine: &mut Engine<S, O>) {
        for token in self.flushes.drive_flushed(engine) {
            let call = &mut self.calls[token as usize];
            if call.stage == Stage::FlushBefore && call.row.kind != TraceRowKind::Flush {
                call.stage = Stage::Data;
                self.submit_data(engine, token);
            } else {
                self.finish(engine, token);
            }
        }
    }

    /// All of a request's data are there.
    fn data_done<S: Stack, O: Observer>(&mut self, engine: &mut Engine<S, O>, token: u32) {
        let call = &mut self.calls[token as usize];
        if call.row.flags & FORCED != 0 && call.row.kind == TraceRowKind::Write {
            call.stage = Stage::FlushBehind;
            self.flushes.ask(engine, token);
        } else {
            self.finish(engine, token);
        }
    }

    fn finish<S: Stack, O: Observer>(&mut self, engine: &mut Engine<S, O>, token: u32) {
        let now = engine.now;
        let Call {
            program: index,
            row,
            due,
            ..
        } = self.calls.remove(token as usize);
        let cost = self.cost(&row);
        let program = &mut self.programs[index as usize];
        let notified = engine
            .processors
            .book(program.processor, now, cost.interrupt);
        program.in_flight -= 1;
        program.done += 1;
        program.notified = notified;
        if row.kind != TraceRowKind::Flush {
            let sectors = Sectors(u64::from(row.sectors));
            let direction = Direction::of(row.kind == TraceRowKind::Write);
            engine.jobs[program.group as usize].record(direction, sectors, notified - due);
            engine.windows.record(now, sectors.0, notified - due);
        }
        engine.last_return = engine.last_return.max(notified);
        let waiters = core::mem::take(&mut program.waiters);
        if program.state == State::WaitsForOwn {
            self.woken(engine, index, notified);
        } else {
            self.end_if_done(engine, index);
        }
        for waiter in waiters {
            self.woken(engine, waiter, notified);
        }
    }

    fn end_if_done<S: Stack, O: Observer>(&mut self, engine: &mut Engine<S, O>, index: u32) {
        let program = &mut self.programs[index as usize];
        if program.next.is_some()
            || program.in_flight > 0
            || !program.pending.is_empty()
            || program.state == State::Ended
        {
            return;
        }
        program.state = State::Ended;
        program.ended = program.notified;
        let (process, notified) = (program.process, program.notified);
        let waiters = core::mem::take(&mut program.waiters);
        engine.running -= 1;
        engine
            .storage
            .process_exits(engine.now, process, &mut engine.observer);
        for waiter in waiters {
            self.woken(engine, waiter, notified);
        }
    }

    #[cold]
    fn wake_sleepers<S: Stack, O: Observer>(&mut self, engine: &mut Engine<S, O>) {
        while let Some(process) = engine.storage.take_woken() {
            let index = process.0.wrapping_sub(1);
            let Some(program) = self.programs.get(index as usize) else {
                continue;
            };
            let wake = self.costs.usual().wake;
            let at = engine.processors.book(program.processor, engine.now, wake);
            engine.agenda.push(at, index << 2 | RETRY);
        }
    }
}

impl<S: Stack, O: Observer> Tasks<S, O> for TracedPrograms {
    #[inline(always)]
    fn at_work(&mut self, engine: &mut Engine<S, O>) -> bool {
        engine.running > 0
    }

    fn storage_due(&mut self, engine: &mut Engine<S, O>) {
        let now = engine.now;
        let (calls, finished) = (&mut self.calls, &mut self.finished);
        let mut drives_flushed = 0;
        engine.events +=
            engine
                .storage
                .advance(now, &mut engine.observer, |Done { token, .. }| {
                    if token == FLUSHED {
                        drives_flushed += 1;
                        return;
                    }
                    let call = &mut calls[token as usize];
                    call.bios -= 1;
                    if call.bios == 0 && call.unsubmitted == 0 {
                        finished.push(token);
                    }
                });
        if engine.storage.has_woken() {
            self.wake_sleepers(engine);
        }
        let mut finished = core::mem::take(&mut self.finished);
        for &token in &finished {
            self.data_done(engine, token);
        }
        finished.clear();
        self.finished = finished;
        for _ in 0..drives_flushed {
            self.drive_flushed(engine);
        }
    }

    fn timer_fired(&mut self, engine: &mut Engine<S, O>) {
        self.wake_sleepers(engine);
    }

    fn act(&mut self, engine: &mut Engine<S, O>) {
        let Some(entry) = engine.agenda.pop() else {
            return;
        };
        let index = entry >> 2;
        match entry & 3 {
            DUE => self.due(engine, index),
            SUBMIT => self.send(engine, index),
            _ => self.retry(engine, index),
        }
    }
}

impl<S: Stack, O: Observer> Threads<S, O> for TracedPrograms {
    /// One for each group, with the end of its last program: a trace may have very many.
    fn ends(&self, started: Nanos, _now: Nanos) -> Vec<ThreadEnd> {
        let mut ends: Vec<ThreadEnd> = Vec::new();
        for program in &self.programs {
            let ended = program.ended - started;
            match ends.iter_mut().find(|end| end.job == program.group) {
                Some(end) => end.ended = end.ended.max(ended),
                None => ends.push(ThreadEnd {
                    job: program.group,
                    process: program.process.0,
                    ended,
                }),
            }
        }
        ends
    }
}
