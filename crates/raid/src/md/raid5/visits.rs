//! Which rows a write meets, and in which order md visits them.

use super::waiting::Visits;
use super::{Raid5, PAGE};
use crate::md::MdGeneration;
use seekwise_units::{Lba, Sectors};

impl Raid5 {
    /// The rows that a write meets, in the order in which md visits them.
    pub(super) fn visits_of(&mut self, start: Lba, sectors: Sectors) -> Visits {
        let mut visits = self.spare.pop().unwrap_or_default();
        visits.clear();
        self.list_visits(start, sectors, &mut visits);
        visits
    }

    /// The page of a write that is visited first where each row is visited once with all its pages: a write that starts inside a chunk and goes
    /// on to a member further up starts with the next chunk, whose rows lie lower.
    fn first_turn(&self, first_page: u64, sectors: Sectors) -> u64 {
        let map = self.config.parity;
        let chunk = map.chunk.0;
        let to_next = chunk - first_page % chunk;
        let roles = map.roles(first_page / chunk / u64::from(map.data_members()));
        let (first_member, _) = map.locate(Lba(first_page));
        let goes_up = (first_member + 1..map.members)
            .any(|member| roles.p != member && roles.q != Some(member));
        if to_next < sectors.0 && goes_up {
            to_next / PAGE
        } else {
            0
        }
    }

    fn list_visits(&mut self, start: Lba, sectors: Sectors, visits: &mut Visits) {
        let map = self.config.parity;
        let (begin, end) = (start.0, start.0 + sectors.0);
        let first_page = begin / PAGE * PAGE;
        let count = (end - first_page).div_ceil(PAGE);
        let place = |page: u64| {
            let (member, at) = map.locate(Lba(page));
            (at.0, member, begin <= page && page + PAGE <= end)
        };
        if self.config.generation < MdGeneration::Linux6_1 || count == 1 {
            // Page by page in array order; a row met again is the same stripe head, found in the cache.
            for page in 0..count {
                let (row, member, whole) = place(first_page + page * PAGE);
                visits.pages.push((member, whole));
                visits.rows.push((row, visits.pages.len() as u32));
            }
            return;
        }
        let turn = self.first_turn(first_page, sectors) % count;
        let pages = || {
            (turn..count)
                .chain(0..turn)
                .map(|page| place(first_page + page * PAGE))
        };
        // Rows in the order in which they are met, with as many pages as each has; then the pages at their rows' places.
        self.visit_of_row.clear();
        for (row, ..) in pages() {
            let visit = *self.visit_of_row.entry(row).or_insert_with(|| {
                visits.rows.push((row, 0));
                visits.rows.len() as u32 - 1
            });
            visits.rows[visit as usize].1 += 1;
        }
        let mut at = 0;
        for (_, pages) in &mut visits.rows {
            let places = core::mem::replace(pages, at);
            at += places;
        }
        visits.pages.resize(count as usize, (0, false));
        for (row, member, whole) in pages() {
            let end = &mut visits.rows[self.visit_of_row[&row] as usize].1;
            visits.pages[*end as usize] = (member, whole);
            *end += 1;
        }
    }
}
