//! Reads: from memory or the drives, over the bus; read-ahead of streams; which mirror serves.
//!
//! Mirrors as the maker of the 3ware cards describes them (TwinStor information sheet, 1999 to 2002): sequential reads take turns between the
//! drives in sections of whole tracks, so that what one drive skips costs it little; other reads go to the drive whose arm is nearer. That a drive
//! with nothing to do is taken before one that is at work is this model's: any other choice would leave half of a mirror idle.

use crate::cache::{PageLookup, PAGE};
use crate::controller::{Controller, Owner};
use crate::fetches::Fetch;
use crate::mapping::MemberPart;
use crate::member::DriveCommand;
use crate::streams::ReadPattern;
use seekwise_device::CommandKind;
use seekwise_units::{Lba, Nanos, Sectors};
use smallvec::SmallVec;

impl Controller {
    pub(crate) fn begin_read(&mut self, now: Nanos, tag: u32) {
        let command = self.host(tag).command;
        let end = command.start + command.sectors;
        let seen = if self.setup.read_ahead.0 > 0 {
            self.streams
                .read(command.start, end, self.setup.read_ahead.0)
        } else {
            ReadPattern::Random
        };
        let sequential = seen != ReadPattern::Random;
        self.fetch(now, command.start, end, sequential, Some(tag));
        if let ReadPattern::Sequential { from, until } = seen {
            let until = Lba(until.0.min(self.mapping.capacity().0));
            // Only into free memory: reading ahead must not push out what waits to be written.
            if from < until
                && self
                    .cache
                    .make_room(((until.0 - from.0) / PAGE + 2) as usize)
            {
                self.fetch(now, from, until, true, None);
            }
        }
        if self.host(tag).waits == 0 {
            self.send(now, tag);
        }
    }

    /// Reads what is missing of `start..end`; `reader` waits for it and for what is coming.
    fn fetch(&mut self, now: Nanos, start: Lba, end: Lba, sequential: bool, reader: Option<u32>) {
        let (mut page, last) = (start.0 / PAGE, end.0.div_ceil(PAGE));
        let most = self.setup.sectors_max.0 / PAGE;
        let mut waited = None;
        while page < last {
            let (found, mut pages) = self.cache.find_run(page..last);
            match found {
                PageLookup::There => {}
                PageLookup::Coming(fetch) => {
                    if let (Some(tag), true) = (reader, waited != Some(fetch)) {
                        self.fetches.all[fetch as usize].readers.push(tag);
                        self.host(tag).waits += 1;
                        waited = Some(fetch);
                    }
                }
                PageLookup::Missing => {
                    pages = pages.min(most);
                    self.fetch_run(now, page, pages, sequential, reader);
                }
            }
            page += pages;
        }
    }

    fn fetch_run(
        &mut self,
        now: Nanos,
        first: u64,
        pages: u64,
        sequential: bool,
        reader: Option<u32>,
    ) {
        let kept = self.cache.make_room(pages as usize);
        let number = self.fetches.free.pop().unwrap_or_else(|| {
            self.fetches.all.push(Fetch::default());
            (self.fetches.all.len() - 1) as u32
        });
        if kept {
            self.cache.begin_fetch(first..first + pages, number);
        }
        if let Some(tag) = reader {
            self.host(tag).waits += 1;
        }
        let start = Lba(first * PAGE);
        let sectors = Sectors((pages * PAGE).min(self.mapping.capacity().0 - start.0));
        let mut pieces = SmallVec::<[MemberPart; 4]>::new();
        self.mapping
            .pieces(start, sectors, |piece| pieces.push(piece));
        let fetch = &mut self.fetches.all[number as usize];
        fetch.first = first;
        fetch.pages = pages;
        fetch.kept = kept;
        fetch.waits = pieces.len() as u32;
        fetch.readers.clear();
        fetch.readers.extend(reader);
        for piece in pieces {
            let member = self.choose(&piece, sequential);
            self.give(
                now,
                member,
                DriveCommand {
                    owner: Owner::Fetch(number),
                    kind: CommandKind::Read,
                    start: piece.at,
                    sectors: piece.sectors,
                    put_off: false,
                },
            );
        }
    }

    /// The copy that serves a read.
    fn choose(&self, piece: &MemberPart, sequential: bool) -> usize {
        let first = piece.member as usize;
        if piece.copies == 1 {
            return first;
        }
        let copies = first..first + piece.copies as usize;
        if sequential && self.setup.mirror_section.0 > 0 {
            let section = piece.at.0 / self.setup.mirror_section.0;
            return first + (section % u64::from(piece.copies)) as usize;
        }
        let key = |&index: &usize| {
            let member = &self.members[index];
            (member.busy(), member.head.distance(piece.at))
        };
        copies.min_by_key(key).expect("a piece has a copy")
    }

    /// A drive has read its part.
    pub(crate) fn fetched(&mut self, now: Nanos, number: u32) {
        let fetch = &mut self.fetches.all[number as usize];
        fetch.waits -= 1;
        if fetch.waits > 0 {
            return;
        }
        let fetch = core::mem::take(fetch);
        self.fetches.free.push(number);
        if fetch.kept {
            self.cache
                .end_fetch(fetch.first..fetch.first + fetch.pages, number);
        }
        for tag in fetch.readers {
            if self.waits_less(tag) {
                self.send(now, tag);
            }
        }
    }
}
