//! What the RAID thread does with one row: read what is missing, compute parity, write; or rebuild a page that a reader wants.

use super::stripe::{bit, highest_first, Chain, StripeList, NONE};
use super::{Outbox, Raid5, RmwLevel, PAGE};
use crate::md::plug::MemberRequest;
use crate::md::MdGeneration;
use seekwise_units::{Lba, Sectors};

/// Pages that one way of writing a row has to read.
#[derive(Clone, Copy, Default)]
struct ToRead {
    present: u32,
    missing: u32,
}

impl ToRead {
    #[inline]
    fn count(&mut self, pages: u64, missing: u64) {
        if pages & missing != 0 {
            self.missing += (pages & missing).count_ones();
        }
        self.present += (pages & !missing).count_ones();
    }

    /// A page on a missing member costs as if it were all of them.
    fn cost(&self, members: u32) -> u32 {
        self.present + self.missing * 2 * members
    }
}

impl Raid5 {
    fn send(&mut self, stripe: u32, member: u32, write: bool) {
        let head = &mut self.stripes[stripe as usize];
        head.io_left += 1;
        self.work.bios += 1;
        let request = MemberRequest {
            member,
            write,
            start: Lba(head.row),
            sectors: Sectors(PAGE),
        };
        self.plug.add((request, stripe), &mut self.plug_out);
        let (word, bit) = bit(member);
        self.pages_of(stripe)[word].locked |= bit;
    }

    pub(super) fn handle_stripe(&mut self, stripe: u32, effects: &mut impl Outbox) {
        let head = &self.stripes[stripe as usize];
        if head.io_left == 0 && !head.computed && !head.writing.is_empty() {
            self.end_writes(stripe, effects);
            let head = &self.stripes[stripe as usize];
            if head.writers.is_empty() && head.readers.is_empty() {
                // Not charged: a whole write of 4 KiB takes fewer instructions than the passes before (benches/results/md-instructions.tsv).
                return;
            }
        }
        self.work.stripes += 1;
        self.work.looks += u64::from(self.map().members);
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

    /// Reads of a degraded array: pages of present members are read; for one of a missing member everything else of the row, then it is computed. False
    /// while reading.
    fn serve_degraded_readers(&mut self, stripe: u32, effects: &mut impl Outbox) -> bool {
        let (mut lost, mut reads) = (false, false);
        for word in (0..self.all.len()).rev() {
            let page = self.pages(stripe)[word];
            let wanted = page.wanted & !page.uptodate;
            lost |= wanted & self.missing[word] != 0;
            for member in highest_first(word, wanted & !self.missing[word]) {
                self.send(stripe, member, false);
                reads = true;
            }
        }
        if reads {
            return false;
        }
        if lost {
            if self.read_to_rebuild(stripe) {
                return false;
            }
            for page in self.pages_of(stripe) {
                page.uptodate |= page.wanted;
            }
            self.work.xor_pages += u64::from(self.map().data_members());
        }
        for page in self.pages_of(stripe) {
            page.wanted = 0;
        }
        let mut readers =
            core::mem::replace(&mut self.stripes[stripe as usize].readers, Chain::EMPTY);
        while let Some(id) = self.links.pop(&mut readers) {
            self.work.copied_pages += 1;
            self.piece_done(id, effects);
        }
        true
    }

    /// Reads what a missing page is computed from, highest member first; false if all of it is there.
    fn read_to_rebuild(&mut self, stripe: u32) -> bool {
        // As many present pages as there is data are enough; P before Q, as md prefers.
        let row = self.stripes[stripe as usize].row;
        let q = self.map().roles_at(row).q;
        let present = |member: &u32| !self.has(&self.missing, *member);
        let others = (0..self.map().members).filter(|&member| Some(member) != q);
        let sources = others.chain(q).filter(present);
        let needed = self.map().data_members() as usize;
        let to_read: Vec<u32> = sources
            .take(needed)
            .filter(|&member| {
                let (word, bit) = bit(member);
                self.pages(stripe)[word].uptodate & bit == 0
            })
            .collect();
        for &member in to_read.iter().rev() {
            self.send(stripe, member, false);
        }
        !to_read.is_empty()
    }

    /// Chooses between read-modify-write and reconstruct-write; reads what is missing, or computes.
    fn prepare_write(&mut self, stripe: u32) {
        let head = &self.stripes[stripe as usize];
        let (members, row) = (self.map().members, head.row);
        let reads_now = head.preread_active;
        // Pages that each way has to read.
        let (mut modify, mut reconstruct) = (ToRead::default(), ToRead::default());
        for ((page, &missing), &all) in self.pages(stripe).iter().zip(&self.missing).zip(&self.all)
        {
            modify.count((page.to_write | page.parity) & !page.uptodate, missing);
            let kept = all & !page.parity & !page.overwritten;
            reconstruct.count(kept & !page.uptodate, missing);
        }
        let (mut rmw, mut rcw) = (modify.cost(members), reconstruct.cost(members));
        let rmw_possible = self.config.rmw_level != RmwLevel::Disabled
            && (self.map().parities == 1 || self.config.generation >= MdGeneration::Linux4_4);
        if row >= self.config.in_sync_until.0 || !rmw_possible {
            // Parity cannot be trusted, or cannot be updated in place.
            (rcw, rmw) = (rcw.min(1), 2 * members + 2);
        }
        let prefer_rmw = rmw < rcw || (rmw == rcw && self.config.rmw_level == RmwLevel::Preferred);
        let preferred = if prefer_rmw { modify } else { reconstruct };
        let any = rmw > 0 && rcw > 0 && preferred.present > 0;
        if !any {
            self.compute(stripe);
        } else if reads_now {
            // Highest member first.
            for word in (0..self.all.len()).rev() {
                let page = self.pages(stripe)[word];
                let wanted = if prefer_rmw {
                    page.to_write | page.parity
                } else {
                    self.all[word] & !page.parity & !page.overwritten
                };
                for member in highest_first(word, wanted & !page.uptodate & !self.missing[word]) {
                    self.send(stripe, member, false);
                }
            }
        }
        // Else the row stays without I/O and `release` holds it back.
    }

    /// Parity is computed; the pages go out when the thread comes round again.
    fn compute(&mut self, first: u32) {
        let data = u64::from(self.map().data_members());
        let words = self.all.len();
        let mut stripe = first;
        while stripe != NONE {
            let (mut written, mut reconstructs) = (0, true);
            let from = stripe as usize * words;
            for (page, &all) in self.pages[from..from + words].iter_mut().zip(&self.all) {
                written += u64::from(page.to_write.count_ones());
                reconstructs &= page.overwritten | page.uptodate | page.parity == all;
                let goes_out = page.to_write | page.parity;
                page.written |= goes_out;
                page.uptodate |= goes_out;
                page.to_write = 0;
                page.overwritten = 0;
            }
            // Reconstructing reads every data page once. Modifying takes the old data out of the parity and the new data in.
            let sources = if reconstructs {
                data
            } else {
                2 * (written + 1)
            };
            self.work.written += 1;
            self.work.copied_pages += written;
            if self.config.parity.parities == 2 {
                // P and Q come of one pass (gen_syndrome and xor_syndrome of lib/raid6).
                self.work.syndrome_pages += sources;
            } else {
                self.work.xor_pages += sources;
            }
            let head = &mut self.stripes[stripe as usize];
            core::mem::swap(&mut head.writing, &mut head.writers);
            head.computed = true;
            stripe = head.next_of_batch;
        }
    }

    fn write_out(&mut self, first: u32, effects: &mut impl Outbox) {
        let mut sent = false;
        // Member by member, of each the whole batch.
        for word in (0..self.all.len()).rev() {
            let takes = self.all[word] & (!self.missing[word] | self.rebuilt[word]);
            let mut written = 0;
            let mut stripe = first;
            while stripe != NONE {
                written |= self.pages(stripe)[word].written;
                stripe = self.stripes[stripe as usize].next_of_batch;
            }
            for member in highest_first(word, written & takes) {
                let (_, bit) = bit(member);
                let mut stripe = first;
                while stripe != NONE {
                    if self.pages(stripe)[word].written & bit != 0 {
                        self.send(stripe, member, true);
                        sent = true;
                    }
                    stripe = self.stripes[stripe as usize].next_of_batch;
                }
            }
        }
        let (mut stripe, mut followers) = (first, 0);
        while stripe != NONE {
            for page in self.pages_of(stripe) {
                page.written = 0;
            }
            let head = &mut self.stripes[stripe as usize];
            head.computed = false;
            if head.preread_active {
                head.preread_active = false;
                self.preread_active -= 1;
            }
            followers += u32::from(stripe != first && head.io_left > 0);
            stripe = head.next_of_batch;
        }
        self.stripes[first as usize].io_left += followers;
        if !sent {
            // Every page of the row lies on missing members.
            self.end_writes(first, effects);
        }
    }

    /// The pages of a row, or of all rows of a batch, are on their members: requests end, and a batch falls apart.
    fn end_writes(&mut self, first: u32, effects: &mut impl Outbox) {
        let mut stripe = first;
        while stripe != NONE {
            let head = &mut self.stripes[stripe as usize];
            let mut writing = core::mem::replace(&mut head.writing, Chain::EMPTY);
            let (row, next) = (head.row, head.next_of_batch);
            (head.next_of_batch, head.batch) = (NONE, NONE);
            if stripe != first {
                head.place = StripeList::Free;
                self.set_free(stripe);
            }
            self.row_changed(row);
            while let Some(id) = self.links.pop(&mut writing) {
                self.piece_done(id, effects);
            }
            stripe = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Effect, Raid5Config, StripeWork};
    use super::*;
    use crate::layout::parity::{Parity, ParityLayout};

    #[test]
    fn p_and_q_come_of_one_pass_and_a_single_page_of_an_exclusive_or() {
        let parity = Parity {
            members: 6,
            parities: 2,
            layout: ParityLayout::LeftSymmetric,
            chunk: Sectors(PAGE),
        };
        let mut array = Raid5::new(Raid5Config {
            generation: MdGeneration::Linux6_1,
            parity,
            stripe_cache_size: 32,
            rmw_level: RmwLevel::Enabled,
            member_sectors_max: Sectors(2560),
            in_sync_until: Lba(u64::MAX),
        });
        let mut effects: Vec<Effect> = Vec::new();
        array.submit(0, Lba(0), Sectors(4 * PAGE), true, true, &mut effects);
        array.unplug();
        array.run_thread(&mut effects);
        let sources = |work: StripeWork| (work.xor_pages, work.syndrome_pages);
        assert_eq!(sources(array.take_work()), (0, 4));
        assert_eq!(
            sources(StripeWork::pass(&parity, 1, 1, 5, true)),
            (4, 0),
            "one new drive"
        );
        assert_eq!(
            sources(StripeWork::pass(&parity, 1, 0, 6, false)),
            (6, 6),
            "a check"
        );
    }

    fn of_four(stripe_cache_size: u32) -> Raid5 {
        Raid5::new(Raid5Config {
            generation: MdGeneration::Linux6_12,
            parity: Parity {
                members: 4,
                parities: 1,
                layout: ParityLayout::LeftSymmetric,
                chunk: Sectors(128),
            },
            stripe_cache_size,
            rmw_level: RmwLevel::Enabled,
            member_sectors_max: Sectors(2560),
            in_sync_until: Lba(u64::MAX),
        })
    }

    #[test]
    fn a_task_that_sleeps_for_a_stripe_submits_nothing_further() {
        // Chunks of 16 rows: two take all 32 heads, the third waits, and the last is another page of the first one's rows.
        let read = |task| {
            let mut array = of_four(32);
            let mut effects: Vec<Effect> = Vec::new();
            array.submits(task);
            for (id, chunk) in [0, 3, 6, 1].into_iter().enumerate() {
                let start = Lba(chunk * 128);
                array.submit(id as u32, start, Sectors(128), true, true, &mut effects);
            }
            array.unplug();
            array.run_thread(&mut effects);
            let pages = effects.iter().map(|effect| match effect {
                Effect::Issue { request, .. } if !request.write => request.sectors.0 / PAGE,
                _ => 0,
            });
            pages.sum::<u64>()
        };
        assert_eq!((read(None), read(Some(1))), (16 + 32, 32 + 32));
    }

    #[test]
    fn requests_end_when_the_thread_comes_to_the_row_and_all_of_a_batch_together() {
        let mut array = of_four(256);
        let mut effects: Vec<Effect> = Vec::new();
        array.submit(0, Lba(0), Sectors(3 * 128), true, true, &mut effects);
        array.unplug();
        array.run_thread(&mut effects);
        let sent = core::mem::take(&mut effects);
        assert_eq!(sent.len(), 4);
        for effect in sent {
            array.run_thread(&mut effects);
            assert!(effects.is_empty());
            let Effect::Issue { request, .. } = effect else {
                unreachable!("nothing is done yet");
            };
            array.complete(request);
        }
        array.run_thread(&mut effects);
        assert_eq!(effects, [Effect::Done(0)]);
    }

    #[test]
    fn a_round_is_eight_stripes_and_the_plug_ends_with_one_that_finds_none() {
        let mut array = of_four(256);
        let mut effects: Vec<Effect> = Vec::new();
        array.submit(0, Lba(0), Sectors(128), true, true, &mut effects);
        array.unplug();
        let mut stripes = Vec::new();
        while array.run_round(&mut effects) {
            stripes.push((array.take_work().stripes, effects.len()));
        }
        assert_eq!(stripes, [(8, 0), (8, 0), (0, 2)]);
    }
}
