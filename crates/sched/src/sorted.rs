//! Waiting requests in sector order.
//!
//! A drive rarely has more than some tens of requests waiting, and then one short array in order beats every tree: it
//! sits in a few cache lines and is searched without a mispredicted branch. With thousands waiting (a trace, an
//! asynchronous writer) the array is cut into blocks of at most [`BLOCK`] entries, so that insertion moves a bounded
//! number of entries and cost grows with the number of blocks, which are again searched by halving.
//!
//! Requests at the same sector stand in order of arrival.

use crate::request::RequestId;
use seekwise_units::Lba;

/// Entries of a block: 4 KiB of them, so moving half a block costs less than a cache miss or two.
const BLOCK: usize = 256;

/// Up to this length counting is quicker than halving: it has no branch to mispredict.
const SHORT: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    start: u64,
    id: u32,
}

#[derive(Clone, Debug)]
pub struct Sorted {
    /// Never empty; only a sole block may hold nothing.
    blocks: Vec<Vec<Place>>,
    len: usize,
}

impl Default for Sorted {
    fn default() -> Self {
        Self {
            blocks: vec![Vec::new()],
            len: 0,
        }
    }
}

#[inline]
fn count_below(block: &[Place], start: u64) -> usize {
    if block.len() <= SHORT {
        block
            .iter()
            .map(|place| usize::from(place.start < start))
            .sum()
    } else {
        block.partition_point(|place| place.start < start)
    }
}

#[inline]
fn count_up_to(block: &[Place], start: u64) -> usize {
    if block.len() <= SHORT {
        block
            .iter()
            .map(|place| usize::from(place.start <= start))
            .sum()
    } else {
        block.partition_point(|place| place.start <= start)
    }
}

impl Sorted {
    /// Waiting requests.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// No request waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first block whose last entry is not below `start`.
    #[inline]
    fn block_of(&self, start: u64) -> usize {
        if self.blocks.len() == 1 {
            return 0;
        }
        self.blocks
            .partition_point(|block| block[block.len() - 1].start < start)
    }

    /// Adds a request behind those at the same sector.
    #[inline]
    pub fn insert(&mut self, start: Lba, id: RequestId) {
        // Behind everything at the same sector: in the last block that begins at or before it.
        let block = match self.blocks.len() {
            1 => 0,
            _ => self
                .blocks
                .partition_point(|block| block[0].start <= start.0)
                .saturating_sub(1),
        };
        let entries = &mut self.blocks[block];
        let place = Place {
            start: start.0,
            id: id.0,
        };
        match entries.last() {
            Some(last) if last.start > start.0 => {
                let at = count_up_to(entries, start.0);
                entries.insert(at, place);
            }
            _ => entries.push(place),
        }
        if entries.len() >= BLOCK {
            let upper = entries.split_off(BLOCK / 2);
            self.blocks.insert(block + 1, upper);
        }
        self.len += 1;
    }

    #[inline]
    fn find(&self, start: Lba, id: RequestId) -> (usize, usize) {
        let mut block = self.block_of(start.0);
        let mut at = count_below(&self.blocks[block], start.0);
        loop {
            if at == self.blocks[block].len() {
                (block, at) = (block + 1, 0);
                continue;
            }
            if self.blocks[block][at].id == id.0 {
                return (block, at);
            }
            at += 1;
        }
    }

    /// Removes a request, which must be there with this `start`.
    #[inline]
    pub fn remove(&mut self, start: Lba, id: RequestId) {
        if let ([only], 1) = (self.blocks.as_mut_slice(), self.len) {
            only.clear();
            self.len = 0;
            return;
        }
        let (block, at) = self.find(start, id);
        self.take(block, at);
    }

    #[inline]
    fn take(&mut self, block: usize, at: usize) {
        self.blocks[block].remove(at);
        if self.blocks[block].is_empty() && self.blocks.len() > 1 {
            self.blocks.remove(block);
        }
        self.len -= 1;
    }

    /// Removes an entry and tells which one stood behind it.
    #[inline]
    pub fn remove_and_next(&mut self, start: Lba, id: RequestId) -> Option<RequestId> {
        let (block, at) = self.find(start, id);
        let next = self.at(block, at + 1);
        self.take(block, at);
        next
    }

    /// Removes an entry and tells which ones stood before and behind it.
    #[inline]
    pub fn remove_with_neighbours(
        &mut self,
        start: Lba,
        id: RequestId,
    ) -> (Option<RequestId>, Option<RequestId>) {
        let (block, at) = self.find(start, id);
        let neighbours = (self.preceding(block, at), self.at(block, at + 1));
        self.take(block, at);
        neighbours
    }

    #[inline]
    fn preceding(&self, block: usize, at: usize) -> Option<RequestId> {
        match (block, at) {
            (0, 0) => None,
            (block, 0) => self.blocks[block - 1]
                .last()
                .map(|place| RequestId(place.id)),
            (block, at) => Some(RequestId(self.blocks[block][at - 1].id)),
        }
    }

    #[inline]
    fn at(&self, block: usize, at: usize) -> Option<RequestId> {
        match self.blocks[block].get(at) {
            Some(place) => Some(RequestId(place.id)),
            None => self.blocks.get(block + 1).map(|next| RequestId(next[0].id)),
        }
    }

    /// The one behind an entry; `None` at the end of the disk.
    #[inline]
    pub fn after(&self, start: Lba, id: RequestId) -> Option<RequestId> {
        let (block, at) = self.find(start, id);
        self.at(block, at + 1)
    }

    /// The one before an entry; `None` at the start of the disk.
    #[inline]
    pub fn before(&self, start: Lba, id: RequestId) -> Option<RequestId> {
        let (block, at) = self.find(start, id);
        self.preceding(block, at)
    }

    /// The request at the lowest sector; None if none waits.
    #[inline]
    pub fn first(&self) -> Option<RequestId> {
        self.blocks[0].first().map(|place| RequestId(place.id))
    }

    /// The first one that starts at or beyond `start`.
    pub fn at_or_after(&self, start: Lba) -> Option<RequestId> {
        let block = self.block_of(start.0);
        let entries = self.blocks.get(block)?;
        self.at(block, count_below(entries, start.0))
    }

    /// The last one that starts below `start`.
    pub fn below(&self, start: Lba) -> Option<RequestId> {
        let block = self.block_of(start.0);
        let at = self
            .blocks
            .get(block)
            .map_or(0, |entries| count_below(entries, start.0));
        match at {
            0 => self.blocks[..block]
                .last()?
                .last()
                .map(|place| RequestId(place.id)),
            at => Some(RequestId(self.blocks[block][at - 1].id)),
        }
    }

    /// The oldest one that starts exactly at `start`.
    pub fn starting_at(&self, start: Lba) -> Option<RequestId> {
        let block = self.block_of(start.0);
        let entries = self.blocks.get(block)?;
        let place = entries.get(count_below(entries, start.0))?;
        (place.start == start.0).then_some(RequestId(place.id))
    }

    /// All requests in sector order, those at one sector in order of arrival.
    pub fn iter(&self) -> impl Iterator<Item = RequestId> + '_ {
        self.blocks
            .iter()
            .flatten()
            .map(|place| RequestId(place.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn equal_sectors_stand_in_order_of_arrival() {
        let mut sorted = Sorted::default();
        for (start, id) in [(8, 3), (0, 1), (8, 2), (16, 0), (8, 9)] {
            sorted.insert(Lba(start), RequestId(id));
        }
        assert_eq!(
            sorted.iter().map(|id| id.0).collect::<Vec<_>>(),
            [1, 3, 2, 9, 0]
        );
        assert_eq!(sorted.starting_at(Lba(8)), Some(RequestId(3)));
        assert_eq!(
            sorted.remove_and_next(Lba(8), RequestId(2)),
            Some(RequestId(9))
        );
    }

    /// Holds every answer against a map, far beyond one block, with many equal sectors.
    #[test]
    fn answers_as_a_map_does_with_thousands_waiting() {
        let mut sorted = Sorted::default();
        let mut map = BTreeMap::new();
        let mut state = 1u64;
        let mut random = |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for round in 0..20_000u32 {
            let grow = if round < 8_000 { 3 } else { 1 };
            if random(4) < grow || map.is_empty() {
                let start = random(3_000);
                sorted.insert(Lba(start), RequestId(round));
                map.insert((start, round), ());
            } else {
                let at = random(3_000);
                let (&(start, id), ()) = map.range((at, 0)..).next().or(map.iter().next()).unwrap();
                let next = map
                    .range((start, id + 1)..)
                    .next()
                    .map(|(k, ())| RequestId(k.1));
                let before = map
                    .range(..(start, id))
                    .next_back()
                    .map(|(k, ())| RequestId(k.1));
                assert_eq!(sorted.after(Lba(start), RequestId(id)), next);
                assert_eq!(sorted.before(Lba(start), RequestId(id)), before);
                if round % 2 == 0 {
                    assert_eq!(sorted.remove_and_next(Lba(start), RequestId(id)), next);
                } else {
                    let neighbours = sorted.remove_with_neighbours(Lba(start), RequestId(id));
                    assert_eq!(neighbours, (before, next));
                }
                map.remove(&(start, id));
            }
            let at = random(3_100);
            let beyond = map.range((at, 0)..).next();
            assert_eq!(
                sorted.at_or_after(Lba(at)),
                beyond.map(|(k, ())| RequestId(k.1))
            );
            assert_eq!(
                sorted.below(Lba(at)),
                map.range(..(at, 0))
                    .next_back()
                    .map(|(k, ())| RequestId(k.1))
            );
            assert_eq!(
                sorted.starting_at(Lba(at)),
                beyond
                    .filter(|(k, ())| k.0 == at)
                    .map(|(k, ())| RequestId(k.1))
            );
            assert_eq!(
                (sorted.len(), sorted.first()),
                (map.len(), map.keys().next().map(|k| RequestId(k.1)))
            );
        }
        assert!(sorted.iter().map(|id| id.0).eq(map.keys().map(|k| k.1)));
    }
}
