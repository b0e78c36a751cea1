//! The journal of ext3 and ext4 (jbd): transactions of metadata, and the data that must be on the drives before them.
//!
//! ```text
//!   running transaction ──5 s, fsync──▶ data written ─▶ log: descriptor, blocks ─▶ commit block ─▶ metadata may go to its place
//! ```
//!
//! Modelled:      one running and one committing transaction, ordered data in the order in which it became dirty, the log as a ring.
//! Not modelled:  checkpoints forced by a full journal, revoked blocks, journalled data, barriers of later defaults.

use super::Block;
use crate::cache::page_cache::Run;
use seekwise_units::Nanos;
use std::collections::BTreeSet;

/// Default of `commit=` (jbd: j_commit_interval).
pub const INTERVAL: Nanos = Nanos::from_secs(5);

/// Where the journal lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    pub start: Block,
    pub blocks: u64,
}

/// Number of a transaction.
pub type TransactionId = u64;

#[derive(Clone, Debug, Default)]
pub struct Transaction {
    pub id: TransactionId,
    /// First change; None while nothing changed.
    pub began: Option<Nanos>,
    pub metadata: BTreeSet<Block>,
    /// In the order in which pages became dirty.
    pub data: Vec<Run>,
    /// Somebody waits for the commit.
    pub synchronous: bool,
}

impl Transaction {
    /// Pages that must be on the drives before the commit; a run right behind the last one extends it.
    pub fn add_data(&mut self, run: Run) {
        match self.data.last_mut() {
            Some(last) if last.file == run.file && last.start + last.pages == run.start => {
                last.pages += run.pages;
            }
            _ => self.data.push(run),
        }
    }
}

/// The ring of the log and its transactions.
#[derive(Clone, Debug)]
pub struct Journal {
    area: Area,
    head: u64,
    pub running: Transaction,
    pub committed: TransactionId,
}

impl Journal {
    /// An empty log in `area`, with transaction 1 running and unchanged.
    pub fn new(area: Area) -> Self {
        Self {
            area,
            head: 1,
            running: Transaction {
                id: 1,
                ..Transaction::default()
            },
            committed: 0,
        }
    }

    /// A handle begins to change something.
    pub fn touch(&mut self, now: Nanos) {
        self.running.began.get_or_insert(now);
    }

    /// When the running transaction is to be committed at the latest.
    pub fn due(&self) -> Option<Nanos> {
        self.running.began.map(|began| began + INTERVAL)
    }

    /// Takes the running transaction for commit.
    pub fn close(&mut self) -> Transaction {
        let next = Transaction {
            id: self.running.id + 1,
            ..Transaction::default()
        };
        core::mem::replace(&mut self.running, next)
    }

    /// Room for `blocks` in the log: one piece, or two when it wraps.
    pub fn room(&mut self, blocks: u64) -> [(Block, u64); 2] {
        let blocks = blocks.min(self.area.blocks - 1);
        let first = blocks.min(self.area.blocks - self.head);
        let start = self.area.start + self.head;
        self.head += first;
        if self.head >= self.area.blocks {
            self.head = 1;
        }
        let rest = blocks - first;
        let second = self.area.start + 1;
        if rest > 0 {
            self.head = 1 + rest;
        }
        [(start, first), (second, rest)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_a_ring() {
        let mut journal = Journal::new(Area {
            start: 1000,
            blocks: 100,
        });
        assert_eq!(journal.room(90)[0], (1001, 90));
        assert_eq!(journal.room(20), [(1091, 9), (1001, 11)]);
        assert_eq!(journal.room(5)[0], (1012, 5));
    }

    #[test]
    fn a_transaction_is_due_five_seconds_after_its_first_change() {
        let mut journal = Journal::new(Area {
            start: 0,
            blocks: 100,
        });
        assert_eq!(journal.due(), None);
        journal.touch(Nanos::from_secs(3));
        journal.touch(Nanos::from_secs(4));
        assert_eq!(journal.due(), Some(Nanos::from_secs(8)));
        assert_eq!(journal.close().id, 1);
        assert_eq!((journal.running.id, journal.due()), (2, None));
    }
}
