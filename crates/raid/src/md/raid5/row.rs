//! What the RAID thread does with one row: read what is missing, compute parity, write; or rebuild a page that a reader wants.

use super::{Effect, Page, Place, Raid5, RmwLevel, PAGE};
use crate::md::plug::MemberRequest;
use crate::md::Generation;
use seekwise_units::{Lba, Sectors};

impl Raid5 {
    fn send(&mut self, stripe: u32, member: u32, write: bool) {
        let row = self.stripes[stripe as usize].row;
        let request = MemberRequest {
            member,
            write,
            start: Lba(row),
            sectors: Sectors(PAGE),
        };
        self.plug.add(request, &mut self.plug_out);
        let head = &mut self.stripes[stripe as usize];
        head.pages[member as usize].locked = true;
        head.io_left += 1;
    }

    pub(super) fn handle_stripe(&mut self, stripe: u32, effects: &mut Vec<Effect>) {
        self.work.stripes += 1;
        let head = &self.stripes[stripe as usize];
        if head.io_left > 0 {
            return;
        }
        if head.computed {
            self.write_out(stripe, effects);
            return;
        }
        if !head.readers.is_empty() && !self.serve_degraded_readers(stripe, effects) {
            return;
        }
        if !self.stripes[stripe as usize].writers.is_empty() {
            self.prepare_write(stripe);
        }
    }

    /// Reads of a missing member: everything else of the row is read, then the page is computed. False while reading.
    fn serve_degraded_readers(&mut self, stripe: u32, effects: &mut Vec<Effect>) -> bool {
        let members = self.map().members;
        let wanted: Vec<u32> = (0..members)
            .filter(|&member| self.stripes[stripe as usize].pages[member as usize].wanted)
            .collect();
        if wanted
            .iter()
            .any(|&member| !self.stripes[stripe as usize].pages[member as usize].uptodate)
        {
            // As many present pages as there is data are enough; P before Q, as md prefers.
            let row = self.stripes[stripe as usize].row;
            let q = self.map().roles_at(row).q;
            let mut sources: Vec<u32> = (0..members)
                .filter(|&member| !self.missing[member as usize] && Some(member) != q)
                .collect();
            sources.extend(q.filter(|&member| !self.missing[member as usize]));
            sources.truncate(self.map().data_members() as usize);
            let to_read: Vec<u32> = sources
                .into_iter()
                .rev()
                .filter(|&member| !self.stripes[stripe as usize].pages[member as usize].uptodate)
                .collect();
            if !to_read.is_empty() {
                to_read
                    .into_iter()
                    .for_each(|member| self.send(stripe, member, false));
                return false;
            }
            for &member in &wanted {
                self.stripes[stripe as usize].pages[member as usize].uptodate = true;
            }
            self.work.xor_pages += u64::from(self.map().data_members());
        }
        self.work.copied_pages += self.stripes[stripe as usize].readers.len() as u64;
        for &member in &wanted {
            self.stripes[stripe as usize].pages[member as usize].wanted = false;
        }
        let mut readers = core::mem::take(&mut self.stripes[stripe as usize].readers);
        for (id, _) in readers.drain(..) {
            self.piece_done(id, effects);
        }
        self.stripes[stripe as usize].readers = readers;
        true
    }

    /// Chooses between read-modify-write and reconstruct-write; reads what is missing, or computes.
    fn prepare_write(&mut self, stripe: u32) {
        let head = &self.stripes[stripe as usize];
        let (members, row) = (self.map().members, head.row);
        // Pages that each way has to read; one on a missing member costs as if it were all of them.
        let (mut rmw, mut rcw) = (0, 0);
        for (page, missing) in head.pages.iter().zip(&self.missing) {
            let cost = match (page.uptodate, missing) {
                (true, _) => 0,
                (false, false) => 1,
                (false, true) => 2 * members,
            };
            if page.to_write || page.parity {
                rmw += cost;
            }
            if !page.parity && !page.overwritten {
                rcw += cost;
            }
        }
        let rmw_possible = self.config.rmw_level != RmwLevel::Disabled
            && (self.map().parities == 1 || self.config.generation >= Generation::Linux4_4);
        if row >= self.config.in_sync_until.0 || !rmw_possible {
            // Parity cannot be trusted, or cannot be updated in place.
            (rcw, rmw) = (rcw.min(1), 2 * members + 2);
        }
        let prefer_rmw = rmw < rcw || (rmw == rcw && self.config.rmw_level == RmwLevel::Preferred);
        // What is to be read, highest member first.
        let read = |(page, missing): (&Page, &bool)| {
            let wanted = if prefer_rmw {
                page.to_write || page.parity
            } else {
                !page.parity && !page.overwritten
            };
            wanted && !page.uptodate && !missing
        };
        let any = rmw > 0 && rcw > 0 && head.pages.iter().zip(&self.missing).any(read);
        if !any {
            self.compute(stripe);
        } else if head.preread_active {
            for member in (0..members).rev() {
                let place = member as usize;
                let page = &self.stripes[stripe as usize].pages[place];
                if read((page, &self.missing[place])) {
                    self.send(stripe, member, false);
                }
            }
        }
        // Else the row stays without I/O and `release` holds it back.
    }

    /// Parity is computed; the pages go out when the thread comes round again.
    fn compute(&mut self, stripe: u32) {
        for place in 0..self.group_len(stripe) {
            let stripe = self.of_group(stripe, place);
            let data = u64::from(self.map().data_members());
            let head = &mut self.stripes[stripe as usize];
            let written = head.pages.iter().filter(|page| page.to_write).count() as u64;
            let reconstructs = head
                .pages
                .iter()
                .all(|page| page.overwritten || page.uptodate || page.parity);
            // Reconstructing reads every data page once. Modifying takes the old data out of the parity and the new data in.
            let sources = if reconstructs {
                data
            } else {
                2 * (written + 1)
            };
            self.work.copied_pages += written;
            self.work.xor_pages += sources;
            if self.config.parity.parities == 2 {
                self.work.syndrome_pages += sources;
            }
            for page in &mut head.pages {
                if page.to_write || page.parity {
                    page.written = true;
                    page.uptodate = true;
                }
                page.to_write = false;
                page.overwritten = false;
            }
            core::mem::swap(&mut head.writing, &mut head.writers);
            head.computed = true;
            let row = head.row;
            self.row_changed(row);
        }
    }

    /// Stripes that go out together with this one, itself the first.
    fn group_len(&self, stripe: u32) -> usize {
        1 + self.stripes[stripe as usize].batch.len()
    }

    fn of_group(&self, stripe: u32, place: usize) -> u32 {
        match place {
            0 => stripe,
            _ => self.stripes[stripe as usize].batch[place - 1],
        }
    }

    fn write_out(&mut self, stripe: u32, effects: &mut Vec<Effect>) {
        let mut sent = false;
        let group = self.group_len(stripe);
        for member in (0..self.map().members).rev() {
            if self.missing[member as usize] && !self.rebuilt[member as usize] {
                continue;
            }
            for place in 0..group {
                let each = self.of_group(stripe, place);
                if self.stripes[each as usize].pages[member as usize].written {
                    self.send(each, member, true);
                    sent = true;
                }
            }
        }
        for place in 0..group {
            let each = self.of_group(stripe, place);
            let head = &mut self.stripes[each as usize];
            head.computed = false;
            head.pages.iter_mut().for_each(|page| page.written = false);
            if head.preread_active {
                head.preread_active = false;
                self.preread_active -= 1;
            }
            if place > 0 {
                head.batch_head = None;
                head.place = Place::Io;
            }
        }
        self.stripes[stripe as usize].batch.clear();
        if !sent {
            // Every page of the row lies on missing members.
            let mut writing = core::mem::take(&mut self.stripes[stripe as usize].writing);
            let row = self.stripes[stripe as usize].row;
            self.row_changed(row);
            for id in writing.drain(..) {
                self.piece_done(id, effects);
            }
            self.stripes[stripe as usize].writing = writing;
        }
    }
}
