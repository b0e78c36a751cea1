//! What the RAID thread does with one row: read what is missing, compute parity, write; or rebuild a page that a reader wants.

use super::{Effect, Place, Raid5, RmwLevel, PAGE};
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
            let q = self.map().roles(row / self.map().chunk.0).q;
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
        let readers = core::mem::take(&mut self.stripes[stripe as usize].readers);
        readers
            .into_iter()
            .for_each(|(id, _)| self.piece_done(id, effects));
        true
    }

    /// Chooses between read-modify-write and reconstruct-write; reads what is missing, or computes.
    fn prepare_write(&mut self, stripe: u32) {
        let head = &self.stripes[stripe as usize];
        let (members, row) = (self.map().members, head.row);
        let cost = |member: u32| {
            if self.missing[member as usize] {
                2 * members
            } else {
                1
            }
        };
        let unread = |member: u32| !head.pages[member as usize].uptodate;
        let modify = |member: u32| head.pages[member as usize].to_write || head.is_parity(member);
        let reconstruct =
            |member: u32| !head.is_parity(member) && !head.pages[member as usize].overwritten;
        let mut rmw: u32 = (0..members)
            .filter(|&member| modify(member) && unread(member))
            .map(cost)
            .sum();
        let mut rcw: u32 = (0..members)
            .filter(|&member| reconstruct(member) && unread(member))
            .map(cost)
            .sum();
        let rmw_possible = self.config.rmw_level != RmwLevel::Disabled
            && (self.map().parities == 1 || self.config.generation >= Generation::Linux4_4);
        if row >= self.config.in_sync_until.0 || !rmw_possible {
            // Parity cannot be trusted, or cannot be updated in place.
            (rcw, rmw) = (rcw.min(1), 2 * members + 2);
        }
        let prefer_rmw = rmw < rcw || (rmw == rcw && self.config.rmw_level == RmwLevel::Preferred);
        let pages: Vec<u32> = if rmw == 0 || rcw == 0 {
            Vec::new()
        } else if prefer_rmw {
            (0..members)
                .rev()
                .filter(|&member| {
                    modify(member) && unread(member) && !self.missing[member as usize]
                })
                .collect()
        } else {
            (0..members)
                .rev()
                .filter(|&member| {
                    reconstruct(member) && unread(member) && !self.missing[member as usize]
                })
                .collect()
        };
        if pages.is_empty() {
            self.compute(stripe);
        } else if head.preread_active {
            pages
                .into_iter()
                .for_each(|member| self.send(stripe, member, false));
        }
        // Else the row stays without I/O and `release` holds it back.
    }

    /// Parity is computed; the pages go out when the thread comes round again.
    fn compute(&mut self, stripe: u32) {
        let group: Vec<u32> = core::iter::once(stripe)
            .chain(self.stripes[stripe as usize].batch.iter().copied())
            .collect();
        for stripe in group {
            let data = u64::from(self.map().data_members());
            let head = &mut self.stripes[stripe as usize];
            let written = head.pages.iter().filter(|page| page.to_write).count() as u64;
            let reconstructs =
                head.pages.iter().zip(0..).all(|(page, member)| {
                    page.overwritten || page.uptodate || head.is_parity(member)
                });
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
            let (p, q) = (head.p, head.q);
            for (page, member) in head.pages.iter_mut().zip(0..) {
                if page.to_write || p == member || q == Some(member) {
                    page.written = true;
                    page.uptodate = true;
                }
                page.to_write = false;
                page.overwritten = false;
            }
            debug_assert!(head.writing.is_empty());
            core::mem::swap(&mut head.writing, &mut head.writers);
            head.computed = true;
        }
    }

    fn write_out(&mut self, stripe: u32, effects: &mut Vec<Effect>) {
        let group: Vec<u32> = core::iter::once(stripe)
            .chain(self.stripes[stripe as usize].batch.iter().copied())
            .collect();
        let mut sent = false;
        for member in (0..self.map().members).rev() {
            for &each in &group {
                if self.stripes[each as usize].pages[member as usize].written
                    && (!self.missing[member as usize] || self.rebuilt[member as usize])
                {
                    self.send(each, member, true);
                    sent = true;
                }
            }
        }
        for &each in &group {
            let head = &mut self.stripes[each as usize];
            head.computed = false;
            head.pages.iter_mut().for_each(|page| page.written = false);
            if head.preread_active {
                head.preread_active = false;
                self.preread_active -= 1;
            }
        }
        if group.len() > 1 {
            self.stripes[stripe as usize].batch.clear();
            for &each in &group[1..] {
                self.stripes[each as usize].batch_head = None;
                self.stripes[each as usize].place = Place::Io;
            }
        }
        if !sent {
            // Every page of the row lies on missing members.
            let writing = core::mem::take(&mut self.stripes[stripe as usize].writing);
            writing
                .into_iter()
                .for_each(|id| self.piece_done(id, effects));
        }
    }
}
