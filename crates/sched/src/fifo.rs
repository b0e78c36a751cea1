//! Lists of requests in order of arrival, threaded through one array by slot number.
//!
//! Append, remove from the middle and take the place of another are all constant time, and nothing is allocated once
//! the array has grown to the number of slots in use. Several lists may share one [`Links`], each request being in at
//! most one of them.

use crate::request::{words, RequestId};

const NONE: u32 = u32::MAX;

/// Neighbours of every slot.
#[derive(Clone, Debug, Default)]
pub struct Links(Vec<[u32; 2]>);

const BEFORE: usize = 0;
const AFTER: usize = 1;

impl Links {
    #[inline]
    fn reserve(&mut self, id: u32) {
        if self.0.len() <= id as usize {
            self.0.resize(id as usize + 1, [NONE; 2]);
        }
    }
}

/// One list; empty at first.
#[derive(Clone, Debug)]
pub struct Fifo {
    head: u32,
    tail: u32,
    len: u32,
}

impl Default for Fifo {
    fn default() -> Self {
        Self {
            head: NONE,
            tail: NONE,
            len: 0,
        }
    }
}

fn some(slot: u32) -> Option<RequestId> {
    (slot != NONE).then_some(RequestId(slot))
}

impl Fifo {
    /// Requests in the list.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// No request is in the list.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The request that arrived first; None if the list is empty.
    #[inline]
    pub fn head(&self) -> Option<RequestId> {
        some(self.head)
    }

    /// The one that arrived next after `id`.
    pub fn after(&self, links: &Links, id: RequestId) -> Option<RequestId> {
        some(links.0[id.0 as usize][AFTER])
    }

    /// The one that arrived last before `id`.
    pub fn before(&self, links: &Links, id: RequestId) -> Option<RequestId> {
        some(links.0[id.0 as usize][BEFORE])
    }

    /// Appends a request that is in no list of these `links`.
    #[inline]
    pub fn push_back(&mut self, links: &mut Links, id: RequestId) {
        links.reserve(id.0);
        links.0[id.0 as usize] = [self.tail, NONE];
        match self.tail {
            NONE => self.head = id.0,
            tail => links.0[tail as usize][AFTER] = id.0,
        }
        self.tail = id.0;
        self.len += 1;
    }

    /// Removes a request, which must be in this list.
    #[inline]
    pub fn remove(&mut self, links: &mut Links, id: RequestId) {
        let [before, after] = links.0[id.0 as usize];
        match before {
            NONE => self.head = after,
            before => links.0[before as usize][AFTER] = after,
        }
        match after {
            NONE => self.tail = before,
            after => links.0[after as usize][BEFORE] = before,
        }
        links.0[id.0 as usize] = [NONE; 2];
        self.len -= 1;
    }

    /// Removes `gone` and moves `kept` to its place.
    pub fn replace(&mut self, links: &mut Links, gone: RequestId, kept: RequestId) {
        self.remove(links, kept);
        self.insert_after(links, gone, kept);
        self.remove(links, gone);
    }

    /// Puts `id`, which is in no list, right behind `place`.
    pub fn insert_after(&mut self, links: &mut Links, place: RequestId, id: RequestId) {
        links.reserve(id.0);
        let after = links.0[place.0 as usize][AFTER];
        links.0[place.0 as usize][AFTER] = id.0;
        links.0[id.0 as usize] = [place.0, after];
        match after {
            NONE => self.tail = id.0,
            after => links.0[after as usize][BEFORE] = id.0,
        }
        self.len += 1;
    }

    /// Removes the request that arrived first; None if the list is empty.
    pub fn pop_front(&mut self, links: &mut Links) -> Option<RequestId> {
        let head = self.head()?;
        self.remove(links, head);
        Some(head)
    }

    /// All requests in order of arrival.
    pub fn iter<'a>(&'a self, links: &'a Links) -> impl Iterator<Item = RequestId> + 'a {
        core::iter::successors(self.head(), |id| self.after(links, *id))
    }

    /// Its requests in words, oldest first.
    pub fn words(&self, links: &Links) -> String {
        words(self.iter(links))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(fifo: &Fifo, links: &Links) -> Vec<u32> {
        fifo.iter(links).map(|id| id.0).collect()
    }

    #[test]
    fn keeps_arrival_order_through_removal_and_replacement() {
        let (mut fifo, mut links) = (Fifo::default(), Links::default());
        for id in [4, 0, 2, 9] {
            fifo.push_back(&mut links, RequestId(id));
        }
        assert_eq!(ids(&fifo, &links), [4, 0, 2, 9]);
        fifo.remove(&mut links, RequestId(0));
        fifo.replace(&mut links, RequestId(4), RequestId(9));
        assert_eq!(ids(&fifo, &links), [9, 2]);
        fifo.replace(&mut links, RequestId(2), RequestId(9));
        assert_eq!(ids(&fifo, &links), [9]);
        assert_eq!(fifo.pop_front(&mut links), Some(RequestId(9)));
        assert_eq!((fifo.len(), fifo.head()), (0, None));
    }
}
