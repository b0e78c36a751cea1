//! Read balance: which copy a read goes to.
//!
//! Source: Linux 2.6.23, 2.6.24, 2.6.32, 6.1, 6.12: drivers/md/raid1.c and raid10.c (read_balance).
//! Positions are what md knows: the end of the last *completed* request of a member, not the head of a drive.

use super::MdGeneration;
use seekwise_units::{Lba, Sectors};

/// What md keeps of one member.
#[derive(Clone, Copy, Debug)]
pub struct MemberState {
    /// Takes reads: present, in sync, not write-mostly.
    pub readable: bool,
    pub rotational: bool,
    /// Requests of md under way on the member, superblock writes included.
    pub pending: u32,
    /// End of the last completed request (array sectors for RAID 1, member sectors for RAID 10).
    pub head: Lba,
    /// Where the member's current sequential run began and would go on (RAID 1 since 3.x).
    run_start: Option<Lba>,
    run_next: Option<Lba>,
}

impl MemberState {
    /// A readable member without requests, its head at sector 0. `rotational`: as `queue/rotational` says.
    pub fn new(rotational: bool) -> Self {
        Self {
            readable: true,
            rotational,
            pending: 0,
            head: Lba(0),
            run_start: None,
            run_next: None,
        }
    }

    /// A request that ended at `end` is done.
    pub fn complete(&mut self, end: Lba) {
        self.pending = self.pending.saturating_sub(1);
        self.head = end;
    }
}

/// Read balance of RAID 1.
#[derive(Clone, Debug)]
pub struct Raid1Balance {
    generation: MdGeneration,
    pub members: Vec<MemberState>,
    /// Optimal I/O size of the members, 0 where they report none; ends a sequential run on flash.
    pub optimal_io: Sectors,
    /// First sector not yet in sync; reads beyond it go to the first readable member.
    pub in_sync_until: Lba,
    last_used: usize,
    next_sequential: Lba,
}

impl Raid1Balance {
    /// Balance over `members` equal members, all in sync.
    pub fn new(generation: MdGeneration, members: u32, rotational: bool) -> Self {
        Self {
            generation,
            members: vec![MemberState::new(rotational); members as usize],
            optimal_io: Sectors(0),
            in_sync_until: Lba(u64::MAX),
            last_used: 0,
            next_sequential: Lba(0),
        }
    }

    /// Which member a read goes to; None when none is readable. Changes nothing: tell the choice with [`Self::take`].
    pub fn decide(&self, start: Lba, sectors: Sectors) -> Option<usize> {
        if start + sectors > self.in_sync_until {
            return self.members.iter().position(|member| member.readable);
        }
        match self.generation {
            MdGeneration::Linux2_6_23 | MdGeneration::Linux2_6_32 => self.choose_2_6(start),
            MdGeneration::Linux4_4 | MdGeneration::Linux6_1 => self.choose_4_4(start),
            MdGeneration::Linux6_12 => self.choose_6_12(start),
        }
    }

    /// The read went to `chosen`: it becomes the member last used, and counts as pending there until [`Self::complete`].
    pub fn take(&mut self, chosen: usize, start: Lba, sectors: Sectors) {
        let end = start + sectors;
        self.last_used = chosen;
        self.next_sequential = end;
        let member = &mut self.members[chosen];
        if member.run_next != Some(start) {
            member.run_start = Some(start);
        }
        member.run_next = Some(end);
        member.pending += 1;
    }

    /// A request that ended at `end` (array sectors) is done on `member`.
    pub fn complete(&mut self, member: usize, end: Lba) {
        self.members[member].complete(end);
    }

    /// A sequential read stays; otherwise a member with nothing pending is taken at once, else the nearest.
    fn choose_2_6(&self, start: Lba) -> Option<usize> {
        let count = self.members.len();
        let below = |member: usize| if member == 0 { count - 1 } else { member - 1 };
        let mut stay = self.last_used;
        for _ in 0..count {
            if self.members[stay].readable {
                break;
            }
            stay = below(stay);
        }
        if !self.members[stay].readable {
            return None;
        }
        if start == self.next_sequential || start == self.members[stay].head {
            return Some(stay);
        }
        // md computes distances in 32 bits; arrays beyond 1 TiB wrap (2.6.23).
        let distance = |member: usize| {
            (start.0 as i32)
                .wrapping_sub(self.members[member].head.0 as i32)
                .wrapping_abs()
        };
        let (mut best, mut best_distance) = (stay, distance(stay));
        // The walk ends with the member last used, which is taken too when it is idle.
        let mut member = stay;
        for _ in 0..count {
            member = below(member);
            if self.members[member].readable {
                if self.members[member].pending == 0 {
                    return Some(member);
                }
                if distance(member) < best_distance {
                    (best, best_distance) = (member, distance(member));
                }
            }
        }
        Some(best)
    }

    fn sequential(&self, member: usize, start: Lba) -> bool {
        self.members[member].run_next == Some(start) || self.members[member].head == start
    }

    /// A run on flash that exceeded the optimal I/O size may move to an idle member.
    fn run_is_long(&self, member: usize) -> bool {
        let state = &self.members[member];
        match (state.run_start, state.run_next) {
            (Some(begin), Some(next)) if !state.rotational && self.optimal_io.0 > 0 => {
                next.0 > self.optimal_io.0 && next.0 - self.optimal_io.0 >= begin.0
            }
            _ => false,
        }
    }

    fn fewest_pending_or_nearest(&self, start: Lba) -> Option<usize> {
        let readable = || {
            self.members
                .iter()
                .enumerate()
                .filter(|(_, member)| member.readable)
        };
        let (idlest, least) = readable()
            .map(|(index, member)| (index, member.pending))
            .min_by_key(|&(_, pending)| pending)?;
        if least == 0 || readable().any(|(_, member)| !member.rotational) {
            return Some(idlest);
        }
        readable()
            .min_by_key(|(_, member)| member.head.distance(start))
            .map(|(index, _)| index)
    }

    fn choose_4_4(&self, start: Lba) -> Option<usize> {
        let mut sequential = None;
        for (index, member) in self.members.iter().enumerate() {
            if !member.readable {
                continue;
            }
            if self.sequential(index, start) {
                if !self.run_is_long(index) {
                    return Some(index);
                }
                sequential = Some(index);
            } else if sequential.is_some() && member.pending == 0 {
                // The long run leaves its member for an idle one.
                return Some(index);
            }
        }
        sequential.or_else(|| self.fewest_pending_or_nearest(start))
    }

    fn choose_6_12(&self, start: Lba) -> Option<usize> {
        let mut long_run = None;
        let mut least = u32::MAX;
        for (index, member) in self
            .members
            .iter()
            .enumerate()
            .filter(|(_, member)| member.readable)
        {
            let mut pending = member.pending;
            if self.sequential(index, start) {
                if !self.run_is_long(index) {
                    return Some(index);
                }
                long_run = Some(index);
                pending += 1;
            }
            least = least.min(pending);
        }
        if let (Some(index), true) = (long_run, least != 0) {
            return Some(index);
        }
        self.fewest_pending_or_nearest(start)
    }
}

/// Read balance of RAID 10: `copies` of one chunk, first copy first, as (member, member sector).
///
/// `near` and `far` are the layout's copies. Gives the place within `copies`.
pub fn choose_raid10(
    generation: MdGeneration,
    members: &[MemberState],
    copies: &[(u32, Lba)],
    near: u32,
    far: u32,
) -> Option<usize> {
    let readable = || {
        copies
            .iter()
            .enumerate()
            .filter(|(_, copy)| members[copy.0 as usize].readable)
    };
    // "read balance chooses idlest disk for SSD" came with 5.3 (pull request for 5.3, linux-raid, June 2019).
    if generation >= MdGeneration::Linux6_1
        && readable().any(|(_, copy)| !members[copy.0 as usize].rotational)
    {
        return readable()
            .filter(|(_, copy)| !members[copy.0 as usize].rotational)
            .min_by_key(|(_, copy)| members[copy.0 as usize].pending)
            .map(|(place, _)| place);
    }
    readable()
        .min_by_key(|(_, &(member, at))| {
            let state = &members[member as usize];
            if near > 1 && state.pending == 0 {
                0
            } else if far > 1 && generation >= MdGeneration::Linux2_6_32 {
                // The outer half is faster, and a sequential read then runs over all members like RAID 0.
                at.0
            } else {
                state.head.distance(at)
            }
        })
        .map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decides, takes and completes at once, so that nothing stays pending but what a test sets.
    fn choose(balance: &mut Raid1Balance, start: Lba, sectors: Sectors) -> Option<usize> {
        let chosen = balance.decide(start, sectors)?;
        balance.take(chosen, start, sectors);
        balance.members[chosen].pending -= 1;
        Some(chosen)
    }

    #[test]
    fn one_read_at_a_time_stays_on_the_first_member_since_4_4() {
        let mut balance = Raid1Balance::new(MdGeneration::Linux4_4, 2, true);
        for start in [5000, 100, 90000] {
            assert_eq!(choose(&mut balance, Lba(start), Sectors(8)), Some(0));
        }
    }

    #[test]
    fn a_busy_member_is_avoided_and_the_nearest_serves_when_all_are_busy() {
        let mut balance = Raid1Balance::new(MdGeneration::Linux4_4, 2, true);
        balance.members[0].pending = 1;
        assert_eq!(choose(&mut balance, Lba(5000), Sectors(8)), Some(1));
        balance.members[1].pending = 3;
        balance.members[0].head = Lba(100);
        balance.members[1].head = Lba(9000);
        assert_eq!(choose(&mut balance, Lba(8000), Sectors(8)), Some(1));
        balance.members[0].rotational = false;
        assert_eq!(
            choose(&mut balance, Lba(7000), Sectors(8)),
            Some(0),
            "with flash the fewest pending decide"
        );
    }

    #[test]
    fn a_sequential_stream_keeps_its_member_in_every_generation() {
        for generation in [
            MdGeneration::Linux2_6_23,
            MdGeneration::Linux2_6_32,
            MdGeneration::Linux4_4,
            MdGeneration::Linux6_1,
            MdGeneration::Linux6_12,
        ] {
            let mut balance = Raid1Balance::new(generation, 2, true);
            let first = choose(&mut balance, Lba(1 << 20), Sectors(256)).unwrap();
            balance.members[first].pending = 1;
            assert_eq!(
                choose(&mut balance, Lba((1 << 20) + 256), Sectors(256)),
                Some(first),
                "{generation:?}"
            );
        }
    }

    #[test]
    fn old_kernels_leave_the_last_used_member_for_an_idle_one() {
        let mut balance = Raid1Balance::new(MdGeneration::Linux2_6_23, 2, true);
        let first = choose(&mut balance, Lba(1000), Sectors(8)).unwrap();
        balance.members[first].pending = 1;
        assert_eq!(choose(&mut balance, Lba(5000), Sectors(8)), Some(1 - first));
    }

    #[test]
    fn far_layouts_read_the_outer_copy_since_2_6_32() {
        let members = vec![
            MemberState {
                pending: 1,
                ..MemberState::new(true)
            };
            2
        ];
        let copies = [(0, Lba(900)), (1, Lba(100))];
        assert_eq!(
            choose_raid10(MdGeneration::Linux2_6_32, &members, &copies, 1, 2),
            Some(1)
        );
        let near_head = vec![
            MemberState {
                head: Lba(880),
                ..members[0]
            },
            members[1],
        ];
        assert_eq!(
            choose_raid10(MdGeneration::Linux2_6_23, &near_head, &copies, 1, 2),
            Some(0)
        );
    }

    #[test]
    fn near_copies_on_flash_follow_the_nearest_head_up_to_4_4_and_the_fewest_pending_later() {
        let busy = |pending, head| MemberState {
            pending,
            head: Lba(head),
            ..MemberState::new(false)
        };
        let members = [busy(9, 100), busy(2, 5000)];
        let copies = [(0, Lba(120)), (1, Lba(120))];
        for (generation, place) in [(MdGeneration::Linux4_4, 0), (MdGeneration::Linux6_1, 1)] {
            assert_eq!(
                choose_raid10(generation, &members, &copies, 2, 1),
                Some(place)
            );
        }
    }

    #[test]
    fn reads_beyond_the_resync_point_go_to_the_first_member() {
        let mut balance = Raid1Balance::new(MdGeneration::Linux6_12, 3, false);
        balance.in_sync_until = Lba(1000);
        balance.members[0].pending = 9;
        assert_eq!(choose(&mut balance, Lba(2000), Sectors(8)), Some(0));
        assert_eq!(choose(&mut balance, Lba(100), Sectors(8)), Some(1));
    }
}
