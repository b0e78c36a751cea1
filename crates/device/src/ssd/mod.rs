//! A solid-state drive: a controller, a link, flash dies behind channels, a write buffer, a translation layer.
//!
//! ```text
//!   read   controller ─► die: t_read ─► channel ─► link ─► done          (read ahead: data wait in the buffer)
//!   write  controller ─► link ─► buffer has room ─► done                  the buffer is emptied behind it:
//!                                   └─► units of pages ─► next die: t_prog, fast (SLC) while that cache lasts,
//!                                       and whatever the translation layer must copy (ftl.rs)
//! ```
//!
//! A command books what it needs when it arrives, so its end is known at once: one event per command. Dies are booked
//! in order of arrival. Link and channels are booked as rates: what they have been given since they were last idle must
//! have passed before a command is done, but a command that waits long for its die does not hold up others.
//!
//! Modelled:      pages and planes as program units, planes read together, read while programming (suspend), write buffer, SLC cache that
//!                fills and drains when idle, cleaning under sustained random writes, trim, flush and forced writes,
//!                sequential detection, commands per second of the controller.
//! Not modelled:  contents, wear, thermal throttling, the mapping table's own reads, host memory buffers.
//! Source of the structure: NVMeVirt (USENIX FAST 2023), MQSim (USENIX FAST 2018).

mod cleaned;
pub mod ftl;

use crate::device::{Command, CommandKind, Device, ReportedCache, Tag};
use crate::measure::Addresses;
use ftl::{Ftl, PAGE_BYTES};
use seekwise_units::{Depth, Lba, Nanos, Sectors};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Clone, Debug)]
pub struct SsdParameters {
    pub capacity: Sectors,
    pub depth: Depth,
    /// Bytes per second in each direction.
    pub link_bytes_per_second: f64,
    /// What the data of one read move at, where one command alone does not fill the link.
    pub command_bytes_per_second: f64,
    /// One direction at a time, as SATA.
    pub half_duplex: bool,
    /// Time of the link that each command takes besides its data.
    pub link_overhead: Nanos,
    /// The controller starts a command every so often at most.
    pub read_interval: Nanos,
    pub write_interval: Nanos,
    /// Firmware time of a read that goes to the flash, of one whose data wait in the buffer, of a write.
    pub read_firmware: Nanos,
    pub cached_firmware: Nanos,
    pub write_firmware: Nanos,
    /// What reads above a size cost besides.
    pub large_read_extra: Nanos,
    pub large_read_bytes: u64,
    /// Each further logical page of a read costs the controller this much (one entry of the map each).
    pub read_page_interval: Nanos,
    /// What writes below a size cost besides unless they are sequential.
    pub small_write_extra: Nanos,
    pub small_write_bytes: u64,
    pub channels: u32,
    pub dies: u32,
    pub page_bytes: u64,
    /// The least that is moved over a channel.
    pub channel_unit_bytes: u64,
    pub channel_bytes_per_second: f64,
    pub read_time: Nanos,
    /// The three kinds of pages of a three-bit cell: each takes this much longer than the one before.
    pub read_time_step: Nanos,
    /// Time of the die for a page of a read above `large_read_bytes`, and the planes of a die that are read at once for such reads.
    pub large_read_time: Nanos,
    pub planes: u32,
    /// What one programming of a die takes in, and how long it takes.
    pub program_bytes: u64,
    pub program_time: Nanos,
    pub slc_program_time: Nanos,
    /// Part of the units that go to the fast cache are programmed this quickly until it is full.
    pub slc_bytes: u64,
    pub erase_time: Nanos,
    pub block_bytes: u64,
    /// How long a read waits for a die that programs or erases.
    pub suspend_time: Nanos,
    pub buffer_bytes: u64,
    /// Cleaned space in hand at most, and how much more is cleaned per second; 0: cleaning is told by the dies alone.
    pub cleaned_bytes: u64,
    pub cleaning_bytes_per_second: f64,
    /// While no data are taken.
    pub paused_cleaning_bytes_per_second: f64,
    /// How long a die is busy cleaning what one programming takes in.
    pub cleaning_time: Nanos,
    pub prefetch_bytes: u64,
    pub flush_time: Nanos,
    /// A write may be forced (NVMe), and how much longer that takes.
    pub takes_forced_writes: bool,
    pub forced_write_time: Nanos,
    /// Written data are safe once in the buffer.
    pub power_loss_protection: bool,
    pub spare: f64,
    /// Media that are overwritten in place need no cleaning.
    pub in_place: bool,
    /// Filled and randomly overwritten before the first command.
    pub aged: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Die {
    reads_until: Nanos,
    programs_until: Nanos,
    /// When it begins what it programs then, where that waits for clean space.
    programs_from: Nanos,
    /// When the read that ends at `reads_until` begins, and the planes that it leaves free.
    reads_from: Nanos,
    free_planes: u64,
}

const STREAMS: usize = 16;
const DIES_LOOKED_AT: usize = 8;

#[derive(Clone, Debug)]
pub struct Ssd {
    parameters: SsdParameters,
    link_ps_per_byte: u64,
    command_ps_per_byte: u64,
    channel_ns_per_page_unit: Nanos,
    dies: Vec<Die>,
    channels: Vec<Nanos>,
    reads_controller: Nanos,
    writes_controller: Nanos,
    link_in: Nanos,
    link_out: Nanos,
    ftl: Ftl,
    /// End of each of the last programmings, as many as the buffer has units.
    cleaned: Option<cleaned::Cleaned>,
    victims: Addresses,
    units: Vec<Nanos>,
    unit: usize,
    /// Bytes in the unit that is being filled.
    filling: u64,
    next_die: usize,
    programs_until: Nanos,
    last_write: Nanos,
    /// Written since the last flush.
    dirty: bool,
    slc_used: u64,
    copies_owed: f64,
    erase_owed: u64,
    read_streams: [Lba; STREAMS],
    /// When the data of each stream's last two reads have moved, the last one first.
    moved: [[Nanos; 2]; STREAMS],
    write_streams: [Lba; STREAMS],
    next_stream: usize,
    /// When, in which order and which: in one number, because that is compared the fastest.
    completions: BinaryHeap<Reverse<u128>>,
    serial: u32,
}

impl Ssd {
    /// An idle drive. With `aged` its flash has been filled and overwritten at random, otherwise it is empty.
    pub fn new(parameters: SsdParameters) -> Self {
        let pages = parameters.capacity.bytes().0 / PAGE_BYTES;
        let mut ftl = Ftl::new(pages, parameters.spare);
        if parameters.aged && !parameters.in_place {
            ftl.age();
        }
        let units = (parameters.buffer_bytes / parameters.program_bytes).max(1) as usize;
        Self {
            link_ps_per_byte: (1e12 / parameters.link_bytes_per_second) as u64,
            command_ps_per_byte: (1e12 / parameters.command_bytes_per_second) as u64,
            channel_ns_per_page_unit: Nanos(
                (parameters.channel_unit_bytes as f64 * 1e9 / parameters.channel_bytes_per_second)
                    as u64,
            ),
            dies: vec![Die::default(); parameters.dies as usize],
            channels: vec![Nanos::ZERO; parameters.channels as usize],
            reads_controller: Nanos::ZERO,
            writes_controller: Nanos::ZERO,
            link_in: Nanos::ZERO,
            link_out: Nanos::ZERO,
            ftl,
            cleaned: cleaned::Cleaned::of(
                parameters.cleaned_bytes,
                (
                    parameters.cleaning_bytes_per_second,
                    parameters.paused_cleaning_bytes_per_second,
                ),
                parameters.program_bytes,
            ),
            victims: Addresses::new(1),
            units: vec![Nanos::ZERO; units],
            unit: 0,
            filling: 0,
            next_die: 0,
            programs_until: Nanos::ZERO,
            last_write: Nanos::ZERO,
            dirty: false,
            slc_used: if parameters.aged {
                parameters.slc_bytes
            } else {
                0
            },
            copies_owed: 0.0,
            erase_owed: 0,
            read_streams: [Lba(u64::MAX); STREAMS],
            moved: [[Nanos::ZERO; 2]; STREAMS],
            write_streams: [Lba(u64::MAX); STREAMS],
            next_stream: 0,
            completions: BinaryHeap::with_capacity(parameters.depth.0 as usize),
            serial: 0,
            parameters,
        }
    }

    fn link_time(&self, bytes: u64) -> Nanos {
        Nanos(bytes * self.link_ps_per_byte / 1000)
    }

    /// Books the link for reads or writes from `from` on; when it has moved everything up to this command.
    fn book_link(&mut self, read: bool, from: Nanos, bytes: u64) -> Nanos {
        let span = self.link_time(bytes) + self.parameters.link_overhead;
        let link = if read || self.parameters.half_duplex {
            &mut self.link_in
        } else {
            &mut self.link_out
        };
        *link = (*link).max(from) + span;
        *link
    }

    /// Whether the command goes on where an earlier one ended, and in which stream; notes its own end.
    fn sequential(
        streams: &mut [Lba; STREAMS],
        next: &mut usize,
        start: Lba,
        sectors: Sectors,
    ) -> (bool, usize) {
        let end = start + sectors;
        if let Some(stream) = streams.iter().position(|stream| *stream == start) {
            streams[stream] = end;
            return (true, stream);
        }
        *next = (*next + 1) % STREAMS;
        streams[*next] = end;
        (false, *next)
    }

    fn read(&mut self, now: Nanos, start: Lba, sectors: Sectors) -> Nanos {
        self.clean(now);
        let begin = now.max(self.reads_controller);
        let bytes = sectors.bytes().0;
        let further = bytes.div_ceil(PAGE_BYTES).saturating_sub(1);
        let further = Nanos(self.parameters.read_page_interval.0 * further);
        self.reads_controller = begin + self.parameters.read_interval + further;
        let (ahead, stream) = if self.parameters.prefetch_bytes > 0 {
            Self::sequential(
                &mut self.read_streams,
                &mut self.next_stream,
                start,
                sectors,
            )
        } else {
            (false, 0)
        };
        // Data read ahead were asked for as long ago as it takes the link to move them.
        let (firmware, lead) = if ahead {
            (
                self.parameters.cached_firmware,
                self.link_time(self.parameters.prefetch_bytes),
            )
        } else {
            (self.parameters.read_firmware, Nanos::ZERO)
        };
        let large = !ahead && bytes > self.parameters.large_read_bytes;
        let ready = begin
            + further
            + firmware
            + if large {
                self.parameters.large_read_extra
            } else {
                Nanos::ZERO
            };
        let passed = self.book_link(true, ready, bytes);
        let page_bytes = self.parameters.page_bytes;
        let (first, last) = (start.0 * 512, start.0 * 512 + bytes);
        // Where one command does not fill the link, those of a stream move one after another, from the third under way on at the link's rate.
        let alone = self.command_ps_per_byte == self.link_ps_per_byte;
        let [latest, before] = if ahead && !alone {
            self.moved[stream]
        } else {
            [Nanos::ZERO; 2]
        };
        let ps_per_byte = if before > now {
            self.link_ps_per_byte
        } else {
            self.command_ps_per_byte
        };
        let mut moved = ready.max(latest);
        let dies = self.dies.len() as u64;
        let mut page = first / page_bytes;
        let (mut row, mut die) = (page / dies, (page % dies) as usize);
        // Pages but the first and last are whole, so what depends on their size is not divided again.
        let (mut size, mut span) = (0, Nanos::ZERO);
        while page * page_bytes < last {
            let part = last.min((page + 1) * page_bytes) - first.max(page * page_bytes);
            if part != size {
                let units = part.div_ceil(self.parameters.channel_unit_bytes);
                (size, span) = (part, Nanos(self.channel_ns_per_page_unit.0 * units));
            }
            let there = self.read_page(die, row, span, ready, large);
            let there = there.saturating_sub(lead);
            moved = moved.max(there) + Nanos(part * ps_per_byte / 1000);
            page += 1;
            die += 1;
            if die == self.dies.len() {
                (row, die) = (row + 1, 0);
            }
        }
        self.moved[stream] = [moved, latest];
        (moved + self.parameters.link_overhead).max(passed)
    }

    /// Books die and channel for a page from `from` on; when its data are in the controller. `row`: its place on the die, `span`: what its data take
    /// on the channel.
    #[inline]
    fn read_page(
        &mut self,
        index: usize,
        row: u64,
        span: Nanos,
        from: Nanos,
        large: bool,
    ) -> Nanos {
        let read_time = self.page_time(row, large);
        let plane = if large {
            1 << (row % u64::from(self.parameters.planes))
        } else {
            0
        };
        let die = &mut self.dies[index];
        if large && die.reads_from > from && die.free_planes & plane != 0 {
            // The read before has not begun: this plane is read with it.
            die.free_planes &= !plane;
            die.reads_until = die.reads_until.max(die.reads_from + read_time);
        } else {
            let mut begin = from.max(die.reads_until);
            if die.programs_until > begin && die.programs_from <= begin {
                begin += (die.programs_until - begin).min(self.parameters.suspend_time);
                // What was interrupted ends later by as much.
                die.programs_until += read_time;
            }
            die.reads_from = begin;
            die.reads_until = begin + read_time;
            die.free_planes = if large { !plane } else { 0 };
        }
        let done = die.reads_until;
        let channels = self.channels.len();
        let channel = &mut self.channels[index % channels];
        *channel = (*channel).max(from) + span;
        (done + span).max(*channel)
    }

    /// Dies begin what is due of cleaning, each where the block with the least valid data happens to lie.
    #[inline]
    fn clean(&mut self, now: Nanos) {
        let Some(cleaned) = &mut self.cleaned else {
            return;
        };
        for _ in 0..cleaned.begun(now) {
            let chosen = self.victims.below(self.dies.len() as u64) as usize;
            let die = &mut self.dies[chosen];
            let mut begin = now.max(die.reads_until);
            if die.programs_from <= begin {
                begin = begin.max(die.programs_until);
                die.programs_until = begin + self.parameters.cleaning_time;
            } else {
                // What waits for clean space stays where it is.
                die.reads_until = begin + self.parameters.cleaning_time;
            }
        }
    }

    /// How long the die reads a page: by its kind, where that matters.
    #[inline]
    fn page_time(&self, row: u64, large: bool) -> Nanos {
        let parameters = &self.parameters;
        let time = if large {
            parameters.large_read_time
        } else {
            parameters.read_time
        };
        if parameters.read_time_step == Nanos::ZERO {
            return time;
        }
        let kind = row % 3;
        time + Nanos(parameters.read_time_step.0 * kind)
    }

    fn write(&mut self, now: Nanos, start: Lba, sectors: Sectors, forced: bool) -> Nanos {
        self.clean(now);
        let begin = now.max(self.writes_controller);
        self.writes_controller = begin + self.parameters.write_interval;
        let bytes = sectors.bytes().0;
        let (sequential, _) = Self::sequential(
            &mut self.write_streams,
            &mut self.next_stream,
            start,
            sectors,
        );
        let small = bytes < self.parameters.small_write_bytes && !sequential;
        let ready = begin
            + self.parameters.write_firmware
            + if small {
                self.parameters.small_write_extra
            } else {
                Nanos::ZERO
            };
        let passed = self.book_link(false, ready, bytes);
        self.drain_slc(now);
        if !self.parameters.in_place {
            let page = start.0 * 512 / PAGE_BYTES;
            let end = (start.0 * 512 + bytes).div_ceil(PAGE_BYTES);
            self.ftl.write(page, end - page);
        }
        let room = self.buffer(passed, bytes);
        let done = passed.max(room);
        self.last_write = self.last_write.max(done);
        if forced && !self.parameters.power_loss_protection {
            self.pad(done);
            return (done + self.parameters.forced_write_time).max(self.programs_until);
        }
        self.dirty = true;
        done
    }

    /// Puts data into the buffer from `time` on; when there was room for them.
    fn buffer(&mut self, time: Nanos, bytes: u64) -> Nanos {
        let mut room = match &mut self.cleaned {
            Some(cleaned) => cleaned.take(time, bytes),
            None => time,
        };
        let mut left = bytes;
        while left > 0 {
            if self.filling == 0 {
                // A unit is free when the programming that used it last has ended.
                room = room.max(self.units[self.unit]);
            }
            let part = left.min(self.parameters.program_bytes - self.filling);
            self.filling += part;
            left -= part;
            if self.filling == self.parameters.program_bytes {
                self.program(room);
            }
        }
        room
    }

    /// Programs the unit that is being filled, from `time` on.
    fn program(&mut self, time: Nanos) {
        let bytes = self.parameters.program_bytes;
        let fast = self.slc_used + bytes <= self.parameters.slc_bytes;
        let span = if fast {
            self.slc_used += bytes;
            self.parameters.slc_program_time
        } else {
            self.parameters.program_time
        };
        self.copies_owed += self.ftl.copies_per_write();
        let copies = libm::floor(self.copies_owed);
        self.copies_owed -= copies;
        // A copied unit is read page by page and programmed like any other.
        let reads = bytes.div_ceil(self.parameters.page_bytes);
        let copy = Nanos(self.parameters.read_time.0 * reads) + self.parameters.program_time;
        let erased = self.erase_owed + (1 + copies as u64) * bytes;
        let erases = if self.parameters.in_place {
            0
        } else {
            erased / self.parameters.block_bytes
        };
        self.erase_owed = erased % self.parameters.block_bytes;
        let chosen = self.idlest();
        let die = &mut self.dies[chosen];
        let begin = time
            .max(die.programs_until)
            .max(die.reads_until.min(time + self.parameters.suspend_time));
        if self.cleaned.is_some() && begin > die.programs_until {
            die.programs_from = begin;
        }
        let done = begin + span;
        // Copying and erasing hold up the die, not the data that were programmed before.
        let behind = Nanos(copy.0 * copies as u64 + self.parameters.erase_time.0 * erases);
        die.programs_until = done + behind;
        self.units[self.unit] = done;
        self.unit = (self.unit + 1) % self.units.len();
        self.filling = 0;
        self.programs_until = self.programs_until.max(done);
    }

    /// The die that is free first among the next few in turn: one that erases is passed over.
    fn idlest(&mut self) -> usize {
        let count = self.dies.len();
        let next = (0..DIES_LOOKED_AT.min(count)).map(|ahead| (self.next_die + ahead) % count);
        let chosen = next
            .min_by_key(|&die| self.dies[die].programs_until)
            .unwrap_or(self.next_die);
        self.next_die = (chosen + 1) % count;
        chosen
    }

    /// Programs a unit that is not full, so that its data are on the medium.
    fn pad(&mut self, time: Nanos) {
        if self.filling > 0 {
            self.program(time);
        }
    }

    /// While the host is silent the fast cache is copied to its final place, at half the rate of programming.
    fn drain_slc(&mut self, now: Nanos) {
        let idle = now.saturating_sub(self.last_write.max(self.programs_until));
        if self.slc_used > 0 && idle > Nanos::from_millis(10) {
            let rate = self.dies.len() as f64 * self.parameters.program_bytes as f64
                / self.parameters.program_time.0 as f64;
            self.slc_used = self
                .slc_used
                .saturating_sub((idle.0 as f64 * rate / 2.0) as u64);
        }
    }

    fn flush(&mut self, now: Nanos) -> Nanos {
        if self.parameters.power_loss_protection {
            return now + self.parameters.flush_time;
        }
        self.pad(now);
        if std::mem::take(&mut self.dirty) {
            (now + self.parameters.flush_time).max(self.programs_until)
        } else {
            now + self.parameters.write_firmware
        }
    }
}

impl Device for Ssd {
    fn capacity(&self) -> Sectors {
        self.parameters.capacity
    }

    fn depth(&self) -> Depth {
        self.parameters.depth
    }

    fn write_cache(&self) -> ReportedCache {
        if self.parameters.power_loss_protection {
            ReportedCache::Safe
        } else if self.parameters.takes_forced_writes {
            ReportedCache::Forced
        } else {
            ReportedCache::Flushed
        }
    }

    fn submit(&mut self, now: Nanos, command: Command) {
        let Command {
            tag,
            kind,
            start,
            sectors,
        } = command;
        let done = match kind {
            CommandKind::Read => self.read(now, start, sectors),
            CommandKind::Write { force_unit_access } => {
                self.write(now, start, sectors, force_unit_access)
            }
            CommandKind::Flush => self.flush(now),
            CommandKind::Trim => {
                let first = (start.0 * 512).div_ceil(PAGE_BYTES);
                let end = (start.0 + sectors.0) * 512 / PAGE_BYTES;
                self.ftl.trim(first, end.saturating_sub(first));
                now.max(self.writes_controller) + self.parameters.write_firmware
            }
        };
        let order = u64::from(self.serial) << 32 | u64::from(tag.0);
        let completion = u128::from(done.0) << 64 | u128::from(order);
        self.completions.push(Reverse(completion));
        self.serial = self.serial.wrapping_add(1);
    }

    #[inline]
    fn next_completion(&self) -> Option<Nanos> {
        let first = self.completions.peek()?;
        Some(Nanos((first.0 >> 64) as u64))
    }

    #[inline]
    fn complete_next(&mut self, _now: Nanos) -> Tag {
        let first = self.completions.pop();
        let Reverse(completion) =
            first.expect("next_completion said that a command is outstanding");
        Tag(completion as u32)
    }
}
