//! The task plug that the RAID thread holds while it works through stripes: 4 KiB pages grow into requests there.
//!
//! Flushed at 32 requests (64 over several queues) or when the newest has 128 KiB. Two generations:
//! up to 6.11 a bio is tried against the newest plugged request of its queue, and queues leave in the order of their newest
//! request; from 6.12 (as packaged) it is tried against the newest request of all if that is of its queue, else against the oldest of
//! its queue, and queues leave in the order of their oldest. Within a queue requests leave oldest first in both.
//! Source: Linux 6.1 block/blk-core.c (blk_start_plug, blk_finish_plug) and the recorded order of member requests (`tests/vectors/md`, 6.1 and 6.12).

use super::MdGeneration;
use seekwise_units::{Lba, Sectors};

/// A request to one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberRequest {
    pub member: u32,
    pub write: bool,
    pub start: Lba,
    pub sectors: Sectors,
}

/// A request in the plug, and what its sender knows its beginning by.
pub type Plugged = (MemberRequest, u32);

const FLUSH_BYTES: u64 = 128 << 10;
const REQUESTS_ONE_QUEUE: usize = 32;
const REQUESTS_QUEUES: usize = 64;

/// A plug over the queues of all members.
#[derive(Clone, Debug)]
pub struct Plug {
    requests: Vec<Plugged>,
    several_queues: bool,
    newest_first: bool,
    pub sectors_max: Sectors,
}

impl Plug {
    /// An empty plug; no request in it grows beyond `sectors_max`.
    pub fn new(generation: MdGeneration, sectors_max: Sectors) -> Self {
        let newest_first = generation < MdGeneration::Linux6_12;
        Self {
            requests: Vec::new(),
            several_queues: false,
            newest_first,
            sectors_max,
        }
    }

    /// The one plugged request that a bio to `member` is tried against.
    fn candidate(&mut self, member: u32) -> Option<&mut Plugged> {
        let of_member = |(request, _): &&mut Plugged| request.member == member;
        let newest = self.requests.last();
        if self.newest_first || newest.is_some_and(|(request, _)| request.member == member) {
            self.requests.iter_mut().rev().find(of_member)
        } else {
            self.requests.iter_mut().find(of_member)
        }
    }

    /// Takes a bio; what has to leave the plug first goes to `out`.
    pub fn add(&mut self, (bio, place): Plugged, out: &mut Vec<Plugged>) {
        let sectors_max = self.sectors_max;
        if let Some((request, first)) = self
            .candidate(bio.member)
            .filter(|(request, _)| request.write == bio.write)
        {
            let grown = Sectors(request.sectors.0 + bio.sectors.0);
            if grown <= sectors_max {
                if request.start + request.sectors == bio.start {
                    request.sectors = grown;
                    return;
                }
                if bio.start + bio.sectors == request.start {
                    (request.start, request.sectors) = (bio.start, grown);
                    *first = place;
                    return;
                }
            }
        }
        let limit = if self.several_queues {
            REQUESTS_QUEUES
        } else {
            REQUESTS_ONE_QUEUE
        };
        let newest = self.requests.last().map(|(request, _)| *request);
        if self.requests.len() >= limit
            || newest.is_some_and(|request| request.sectors.bytes().0 >= FLUSH_BYTES)
        {
            self.flush(|plugged| out.push(plugged));
        }
        if newest.is_some_and(|request| request.member != bio.member) {
            self.several_queues = true;
        }
        self.requests.push((bio, place));
    }

    /// Nothing is plugged.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Hands out everything, member by member, each member's requests oldest first.
    pub fn flush(&mut self, mut out: impl FnMut(Plugged)) {
        // Small writes leave two requests, of two members.
        if let &[first, second] = self.requests.as_slice() {
            let swapped = self.newest_first && first.0.member != second.0.member;
            self.requests.clear();
            if swapped {
                out(second);
                out(first);
            } else {
                out(first);
                out(second);
            }
            return;
        }
        let next = |requests: &[Plugged], newest: bool| {
            if newest {
                requests.last().copied()
            } else {
                requests.first().copied()
            }
        };
        while let Some((MemberRequest { member, .. }, _)) = next(&self.requests, self.newest_first)
        {
            self.requests.retain(|plugged| {
                let leaves = plugged.0.member == member;
                if leaves {
                    out(*plugged);
                }
                !leaves
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(member: u32, start: u64) -> Plugged {
        let request = MemberRequest {
            member,
            write: true,
            start: Lba(start),
            sectors: Sectors(8),
        };
        (request, start as u32)
    }

    #[test]
    fn neighbouring_pages_of_a_member_become_one_request() {
        let (mut plug, mut out) = (Plug::new(MdGeneration::Linux6_1, Sectors(2560)), Vec::new());
        for start in [0, 8, 16] {
            plug.add(page(1, start), &mut out);
            plug.add(page(0, start), &mut out);
        }
        plug.flush(|plugged| out.push(plugged));
        let sizes: Vec<_> = out
            .iter()
            .map(|(request, _)| (request.member, request.sectors.0))
            .collect();
        assert_eq!(sizes, [(0, 24), (1, 24)]);
    }

    #[test]
    fn a_request_of_128_kib_sends_the_plug_off_before_the_next() {
        let (mut plug, mut out) = (Plug::new(MdGeneration::Linux6_1, Sectors(2560)), Vec::new());
        (0..32).for_each(|place| plug.add(page(0, place * 8), &mut out));
        assert!(out.is_empty());
        plug.add(page(0, 4096), &mut out);
        assert_eq!(out.len(), 1);
        assert_eq!(out[0].0.sectors, Sectors(256));
    }
}
