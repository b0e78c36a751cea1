//! The way of a write: into the memory and acknowledged, or through it; rows go to the drives sorted by address, whole ones at once.

use crate::cache::PAGE;
use crate::controller::{Controller, Event, Owner};
use crate::destage::{PageRuns, RowWrite};
use crate::member::DriveCommand;
use crate::row::{self, Transfer};
use core::ops::Range;
use seekwise_device::CommandKind;
use seekwise_units::{Bytes, Lba, Nanos, Sectors};
use smallvec::SmallVec;

impl Controller {
    fn row_pages(&self) -> u64 {
        self.mapping.row().0 / PAGE
    }

    fn dirty_most(&self) -> usize {
        self.cache.capacity() * self.setup.dirty_percent as usize / 100
    }

    fn pages_of(start: Lba, sectors: Sectors) -> Range<u64> {
        start.0 / PAGE..(start.0 + sectors.0).div_ceil(PAGE)
    }

    pub(crate) fn begin_write(&mut self, now: Nanos, tag: u32) {
        if self.through(tag) {
            self.receive(now, tag);
            return;
        }
        self.blocked.push_back(tag);
        self.admit(now);
    }

    /// Whether a write is acknowledged only when it is on the drives.
    fn through(&mut self, tag: u32) -> bool {
        let command = self.host(tag).command;
        let forced = matches!(
            command.kind,
            CommandKind::Write {
                force_unit_access: true
            }
        );
        let range = Self::pages_of(command.start, command.sectors);
        !self.setup.write_back
            || (forced && self.setup.heeds_flush)
            || (range.end - range.start) as usize > self.dirty_most()
    }

    /// Lets writes into the memory in the order in which they came.
    fn admit(&mut self, now: Nanos) {
        let most = self.dirty_most();
        while let Some(&tag) = self.blocked.front() {
            let command = self.host(tag).command;
            let range = Self::pages_of(command.start, command.sectors);
            if !self.cache.promise((range.end - range.start) as usize, most) {
                break;
            }
            self.blocked.pop_front();
            self.receive(now, tag);
        }
        if !self.blocked.is_empty() {
            self.start_rows(now);
        }
    }

    pub(crate) fn received(&mut self, now: Nanos, tag: u32) {
        if self.through(tag) {
            return self.write_through(now, tag);
        }
        let command = self.host(tag).command;
        let per_row = self.row_pages();
        let mut became_dirty = core::mem::take(&mut self.destage.became_dirty);
        let delay = self.setup.destage_delay;
        let mut aged = false;
        self.cache
            .write(Self::pages_of(command.start, command.sectors), |page| {
                let row = page / per_row;
                match became_dirty.last_mut() {
                    Some((last, count)) if *last == row => *count += 1,
                    _ => became_dirty.push((row, 1)),
                }
            });
        for &(row, pages) in &became_dirty {
            let destage = &mut self.destage;
            let before = destage.dirty.get(row);
            destage.dirty.set(row, before + pages);
            if before == 0 && per_row > 1 {
                destage.young.push_back((now, row));
                aged = true;
            }
            if u64::from(before + pages) == per_row {
                destage.ready.insert(row);
            }
        }
        became_dirty.clear();
        self.destage.became_dirty = became_dirty;
        self.counters.dirty_most = self.counters.dirty_most.max(self.dirty().0);
        if aged {
            self.at(now + delay, Event::Aged);
        }
        self.at(now, Event::Done(tag));
        self.start_rows(now);
    }

    /// Destaging cannot wait: somebody waits for it, or half of what may be dirty is.
    pub(crate) fn pressed(&self) -> bool {
        !self.flushes.is_empty()
            || !self.blocked.is_empty()
            || self.cache.dirty() * 2 > self.dirty_most()
    }

    /// Sends rows to the drives as long as there are some to be written.
    pub(crate) fn start_rows(&mut self, now: Nanos) {
        let pressed = self.pressed();
        while let Some(&(since, row)) = self.destage.young.front() {
            let old = since + self.setup.destage_delay <= now;
            if !(old || pressed && self.destage.ready.is_empty()) {
                break;
            }
            self.destage.young.pop_front();
            if self.destage.dirty.get(row) > 0 {
                self.destage.ready.insert(row);
            }
        }
        // As many rows as keep every drive in work: what a drive holds, and one more waiting.
        let most = self.members[0].depth() + 1;
        while self.destage.under_way < most {
            let destage = &mut self.destage;
            let Some(&row) = destage
                .ready
                .range(destage.cursor..)
                .next()
                .or_else(|| destage.ready.first())
            else {
                break;
            };
            destage.ready.remove(&row);
            destage.cursor = row + 1;
            destage.dirty.set(row, 0);
            self.destage_row(now, row);
        }
    }

    fn destage_row(&mut self, now: Nanos, row: u64) {
        let per_row = self.row_pages();
        let mut pages = PageRuns::new();
        self.cache
            .begin_destage(row * per_row..(row + 1) * per_row, |page| {
                match pages.last_mut() {
                    Some(run) if run.end == page => run.end += 1,
                    _ => pages.push(page..page + 1),
                }
            });
        let extent = |run: &Range<u64>| {
            let pages = run.end - run.start;
            (Lba(run.start * PAGE), Sectors(pages * PAGE))
        };
        let extents: SmallVec<[(Lba, Sectors); 4]> = pages.iter().map(extent).collect();
        if !pages.is_empty() {
            self.begin_row(now, &extents, pages, None);
        }
    }

    fn write_through(&mut self, now: Nanos, tag: u32) {
        let command = self.host(tag).command;
        let per_row = self.mapping.row().0;
        let (mut at, end) = (command.start.0, command.start.0 + command.sectors.0);
        // Counted before the rows begin, lest the first one ends the command.
        self.host(tag).waits = ((end - 1) / per_row - at / per_row + 1) as u32;
        while at < end {
            let stop = end.min((at / per_row + 1) * per_row);
            self.begin_row(
                now,
                &[(Lba(at), Sectors(stop - at))],
                PageRuns::new(),
                Some(tag),
            );
            at = stop;
        }
    }

    fn begin_row(
        &mut self,
        now: Nanos,
        extents: &[(Lba, Sectors)],
        pages: PageRuns,
        command: Option<u32>,
    ) {
        let cache = &self.cache;
        // What is being overwritten is in the memory as new data, not as old.
        let old =
            |start: Lba, sectors: Sectors| cache.holds_drive_data(Self::pages_of(start, sectors));
        let plan = row::plan(&self.mapping, extents, old);
        let number = self.destage.free.pop().unwrap_or_else(|| {
            self.destage.rows.push(RowWrite::default());
            (self.destage.rows.len() - 1) as u32
        });
        self.destage.under_way += 1;
        self.destage.rows[number as usize] = RowWrite {
            pages,
            command,
            reading: true,
            waits: plan.reads.len() as u32,
            xor_bytes: plan.xor_bytes,
            writes: plan.writes,
        };
        if plan.reads.is_empty() {
            return self.work_out_parity(now, number);
        }
        self.transfer(now, &plan.reads, number, CommandKind::Read);
    }

    fn transfer(&mut self, now: Nanos, transfers: &[Transfer], row: u32, kind: CommandKind) {
        let put_off = self.destage.rows[row as usize].command.is_none();
        for one in transfers {
            self.give(
                now,
                one.member as usize,
                DriveCommand {
                    owner: Owner::RowWrite(row),
                    kind,
                    start: one.at,
                    sectors: one.sectors,
                    put_off,
                },
            );
        }
    }

    fn work_out_parity(&mut self, now: Nanos, number: u32) {
        match self.destage.rows[number as usize].xor_bytes {
            0 => self.write_row(now, number),
            bytes => self.xor(now, bytes, number),
        }
    }

    /// Parity is known: everything is written.
    pub(crate) fn write_row(&mut self, now: Nanos, number: u32) {
        let row = &mut self.destage.rows[number as usize];
        let writes = core::mem::take(&mut row.writes);
        row.reading = false;
        row.waits = writes.len() as u32;
        let kind = CommandKind::WRITE;
        self.transfer(now, &writes, number, kind);
    }

    /// A drive has done its part of a row.
    pub(crate) fn row_step(&mut self, now: Nanos, number: u32) {
        let row = &mut self.destage.rows[number as usize];
        row.waits -= 1;
        if row.waits > 0 {
            return;
        }
        if row.reading {
            return self.work_out_parity(now, number);
        }
        let row = core::mem::take(row);
        self.destage.free.push(number);
        self.destage.under_way -= 1;
        let per_row = self.row_pages();
        for run in row.pages {
            let destage = &mut self.destage;
            self.cache.end_destage(run, |page| {
                let of = page / per_row;
                destage.dirty.set(of, destage.dirty.get(of) + 1);
                destage.ready.insert(of);
            });
        }
        if let Some(tag) = row.command {
            if self.waits_less(tag) {
                self.at(now, Event::Done(tag));
            }
        }
        self.admit(now);
        self.start_rows(now);
        self.flush_drives(now);
    }

    pub(crate) fn begin_flush(&mut self, now: Nanos, tag: u32) {
        if !self.setup.heeds_flush {
            return self.at(now, Event::Done(tag));
        }
        self.flushes.push(tag);
        self.start_rows(now);
        self.flush_drives(now);
    }

    /// Once the memory is clean, flushes go on to the drives.
    fn flush_drives(&mut self, now: Nanos) {
        if self.cache.dirty() > 0 {
            return;
        }
        for tag in core::mem::take(&mut self.flushes) {
            self.host(tag).waits = self.members.len() as u32;
            for member in 0..self.members.len() {
                let flush = DriveCommand {
                    owner: Owner::Flush(tag),
                    kind: CommandKind::Flush,
                    start: Lba(0),
                    sectors: Sectors(0),
                    put_off: false,
                };
                self.give(now, member, flush);
            }
        }
    }

    /// Bytes that the host may write before it has to wait, with nothing dirty.
    pub fn write_room(&self) -> Bytes {
        if self.setup.write_back {
            Bytes(self.dirty_most() as u64 * PAGE * 512)
        } else {
            Bytes(0)
        }
    }
}
