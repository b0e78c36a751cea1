//! What a policy remembers of each process, in a growing array addressed by small indices.

use crate::request::ProcessId;
use std::collections::BTreeMap;

/// Ids below this are looked up by position; a run numbers its processes from zero, so nearly all are.
const DENSE: u32 = 1 << 12;

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub struct Processes<T> {
    dense: Vec<u32>,
    sparse: BTreeMap<u32, u32>,
    items: Vec<T>,
}

impl<T> Default for Processes<T> {
    fn default() -> Self {
        Self {
            dense: Vec::new(),
            sparse: BTreeMap::new(),
            items: Vec::new(),
        }
    }
}

impl<T> Processes<T> {
    /// The index of a process; None until it is inserted.
    pub fn index(&self, process: ProcessId) -> Option<usize> {
        let found = match process.0 {
            id if id < DENSE => self
                .dense
                .get(id as usize)
                .copied()
                .filter(|index| *index != NONE),
            id => self.sparse.get(&id).copied(),
        };
        found.map(|index| index as usize)
    }

    /// The index of `process`, which is made at its first appearance.
    #[inline]
    pub fn index_or_insert(&mut self, process: ProcessId, make: impl FnOnce() -> T) -> usize {
        if let Some(index) = self.index(process) {
            return index;
        }
        let index = self.items.len();
        self.items.push(make());
        if process.0 < DENSE {
            let at = process.0 as usize;
            if self.dense.len() <= at {
                self.dense.resize(at + 1, NONE);
            }
            self.dense[at] = index as u32;
        } else {
            self.sparse.insert(process.0, index as u32);
        }
        index
    }

    /// All processes in the order of their first appearance.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }
}

impl<T> core::ops::Index<usize> for Processes<T> {
    type Output = T;
    fn index(&self, index: usize) -> &T {
        &self.items[index]
    }
}

impl<T> core::ops::IndexMut<usize> for Processes<T> {
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self.items[index]
    }
}
