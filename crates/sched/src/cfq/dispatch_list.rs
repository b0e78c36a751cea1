//! The queue's dispatch list, filled by a policy that moves several requests at once.
//!
//! Sorted one way from where the driver stands: ascending from the end of the request it took last, then ascending from
//! sector zero. Sorting stops at a request of the other direction.

use crate::request::{Direction, RequestId};
use seekwise_units::Lba;
use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
pub struct DispatchList(VecDeque<(RequestId, Lba, Direction)>);

impl DispatchList {
    /// Nothing is left for the driver.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Requests left for the driver.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a request in order; `boundary`: end of the request that the driver took last.
    pub fn sort_in(&mut self, id: RequestId, start: Lba, direction: Direction, boundary: Lba) {
        let ahead = |sector: Lba| sector >= boundary;
        let mut at = self.0.len();
        while at > 0 {
            let (_, other, other_direction) = self.0[at - 1];
            let stop = if direction != other_direction || (!ahead(start) && ahead(other)) {
                true
            } else {
                // A request ahead of the driver passes all those that wait for the turn.
                (ahead(start) == ahead(other)) && start >= other
            };
            if stop {
                break;
            }
            at -= 1;
        }
        self.0.insert(at, (id, start, direction));
    }

    /// The request that the driver gets next; None if the list is empty.
    pub fn pop(&mut self) -> Option<RequestId> {
        self.0.pop_front().map(|(id, ..)| id)
    }

    /// Takes one out of turn. False: it was not here.
    pub fn remove(&mut self, id: RequestId) -> bool {
        let before = self.0.len();
        self.0.retain(|(other, ..)| *other != id);
        self.0.len() < before
    }

    /// The requests in the order in which they leave.
    pub fn iter(&self) -> impl Iterator<Item = RequestId> + '_ {
        self.0.iter().map(|(id, ..)| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascends_from_the_boundary_and_then_from_zero() {
        let mut list = DispatchList::default();
        for (id, sector) in [(0, 500), (1, 50), (2, 900), (3, 20), (4, 600)] {
            list.sort_in(RequestId(id), Lba(sector), Direction::Read, Lba(100));
        }
        assert_eq!(
            list.iter().map(|id| id.0).collect::<Vec<_>>(),
            [0, 4, 2, 3, 1]
        );
        // The other direction is a wall.
        list.sort_in(RequestId(5), Lba(700), Direction::Write, Lba(100));
        list.sort_in(RequestId(6), Lba(550), Direction::Read, Lba(100));
        assert_eq!(
            list.iter().map(|id| id.0).collect::<Vec<_>>(),
            [0, 4, 2, 3, 1, 5, 6]
        );
    }
}
