//! RAID 5 and RAID 6: data and parity rotate over the members.
//!
//! Source: Linux 2.6.23 to 6.12 drivers/md/raid5.c (raid5_compute_sector); the four rotations as `man md` names them.

use seekwise_units::{Lba, Sectors};

/// Where parity stands in each stripe of RAID 5 and 6, and where data goes on after it.
/// Numbers are md's (`ALGORITHM_*`, drivers/md/raid5.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParityLayout {
    LeftAsymmetric,
    RightAsymmetric,
    LeftSymmetric,
    RightSymmetric,
}

impl ParityLayout {
    /// From md's layout number, as `md/layout` in sysfs shows it.
    pub fn from_md(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::LeftAsymmetric,
            1 => Self::RightAsymmetric,
            2 => Self::LeftSymmetric,
            3 => Self::RightSymmetric,
            _ => return None,
        })
    }

    /// From mdadm's name or abbreviation.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "left-asymmetric" | "la" => Self::LeftAsymmetric,
            "right-asymmetric" | "ra" => Self::RightAsymmetric,
            "left-symmetric" | "ls" => Self::LeftSymmetric,
            "right-symmetric" | "rs" => Self::RightSymmetric,
            _ => return None,
        })
    }

    pub const ALL: [Self; 4] = [
        Self::LeftAsymmetric,
        Self::RightAsymmetric,
        Self::LeftSymmetric,
        Self::RightSymmetric,
    ];
}

/// Chunk map with one (RAID 5) or two (RAID 6) parity chunks a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parity {
    pub members: u32,
    /// 1 or 2.
    pub parities: u32,
    pub layout: ParityLayout,
    pub chunk: Sectors,
}

/// Roles of the members in one stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles {
    /// Member that holds P.
    pub p: u32,
    /// Member that holds Q (RAID 6).
    pub q: Option<u32>,
}

/// Quotient and rest. Chunks of an array are few enough for the shorter division, which takes half as long on older processors.
#[inline(always)]
fn divided(number: u64, divisor: u32) -> (u64, u32) {
    match u32::try_from(number) {
        Ok(number) => (u64::from(number / divisor), number % divisor),
        Err(_) => {
            let divisor = u64::from(divisor);
            (number / divisor, (number % divisor) as u32)
        }
    }
}

impl Parity {
    /// Data chunks of a stripe.
    pub const fn data_members(&self) -> u32 {
        self.members - self.parities
    }

    /// Which members hold parity in stripe `stripe` (counted in chunks on a member).
    #[inline]
    pub fn roles(&self, stripe: u64) -> Roles {
        let members = self.members;
        let turn = divided(stripe, members).1;
        let p = match self.layout {
            ParityLayout::LeftAsymmetric | ParityLayout::LeftSymmetric => members - 1 - turn,
            ParityLayout::RightAsymmetric | ParityLayout::RightSymmetric => turn,
        };
        Roles {
            p,
            q: (self.parities == 2).then(|| (p + 1) % members),
        }
    }

    /// Member that holds data chunk `index` (0 up to `data_members`) of the stripe.
    #[inline]
    pub fn data_member(&self, stripe: u64, index: u32) -> u32 {
        let Roles { p, .. } = self.roles(stripe);
        match self.layout {
            // Symmetric: data starts behind the last parity chunk and wraps round.
            ParityLayout::LeftSymmetric | ParityLayout::RightSymmetric => {
                let member = p + self.parities + index;
                if member < self.members {
                    member
                } else {
                    member - self.members
                }
            }
            // Asymmetric: data keeps member order and skips parity.
            ParityLayout::LeftAsymmetric | ParityLayout::RightAsymmetric => {
                if self.parities == 2 && p == self.members - 1 {
                    // P is last and Q first: data fills the middle.
                    index + 1
                } else if index >= p {
                    index + self.parities
                } else {
                    index
                }
            }
        }
    }

    /// Data index of `member` in the stripe, or None where it holds parity.
    pub fn data_index(&self, stripe: u64, member: u32) -> Option<u32> {
        (0..self.data_members()).find(|&index| self.data_member(stripe, index) == member)
    }

    /// Number of the chunk that a sector lies in, and its place there. md has chunks of powers of two here: no division.
    #[inline]
    fn split(&self, sector: u64) -> (u64, u64) {
        let length = self.chunk.0;
        if length.is_power_of_two() {
            (sector >> length.trailing_zeros(), sector & (length - 1))
        } else {
            (sector / length, sector % length)
        }
    }

    /// Whether the sectors lie in one chunk.
    #[inline]
    pub fn in_one_chunk(&self, start: Lba, sectors: Sectors) -> bool {
        self.split(start.0).1 + sectors.0 <= self.chunk.0
    }

    /// Which members hold parity beside the row that begins at a member's sector.
    #[inline]
    pub fn roles_at(&self, row: u64) -> Roles {
        self.roles(self.split(row).0)
    }

    /// Member and member sector of an array sector.
    #[inline]
    pub fn locate(&self, sector: Lba) -> (u32, Lba) {
        let (chunk, offset) = self.split(sector.0);
        let (stripe, index) = divided(chunk, self.data_members());
        (
            self.data_member(stripe, index),
            Lba(stripe * self.chunk.0 + offset),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First stripes as `man 4 md` and the usual drawings show them, D = data chunk number, P = parity.
    fn drawing(layout: ParityLayout, members: u32, stripes: u64) -> Vec<String> {
        let map = Parity {
            members,
            parities: 1,
            layout,
            chunk: Sectors(8),
        };
        let data = u64::from(map.data_members());
        (0..stripes)
            .map(|stripe| {
                (0..members)
                    .map(|member| match map.data_index(stripe, member) {
                        Some(index) => (stripe * data + u64::from(index)).to_string(),
                        None => "P".into(),
                    })
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect()
    }

    #[test]
    fn left_symmetric_continues_behind_parity() {
        assert_eq!(
            drawing(ParityLayout::LeftSymmetric, 4, 4),
            ["0 1 2 P", "4 5 P 3", "8 P 6 7", "P 9 10 11"]
        );
    }

    #[test]
    fn left_asymmetric_keeps_member_order() {
        assert_eq!(
            drawing(ParityLayout::LeftAsymmetric, 4, 4),
            ["0 1 2 P", "3 4 P 5", "6 P 7 8", "P 9 10 11"]
        );
    }

    #[test]
    fn right_layouts_start_with_parity_on_the_first_member() {
        assert_eq!(
            drawing(ParityLayout::RightAsymmetric, 3, 3),
            ["P 0 1", "2 P 3", "4 5 P"]
        );
        assert_eq!(
            drawing(ParityLayout::RightSymmetric, 3, 3),
            ["P 0 1", "3 P 2", "4 5 P"]
        );
    }

    #[test]
    fn raid6_left_symmetric_has_q_behind_p() {
        let map = Parity {
            members: 5,
            parities: 2,
            layout: ParityLayout::LeftSymmetric,
            chunk: Sectors(8),
        };
        assert_eq!(map.roles(0), Roles { p: 4, q: Some(0) });
        assert_eq!(map.data_member(0, 0), 1);
        assert_eq!(map.roles(1), Roles { p: 3, q: Some(4) });
        assert_eq!(map.data_member(1, 0), 0);
    }

    #[test]
    fn every_member_has_one_role_in_every_stripe() {
        for layout in ParityLayout::ALL {
            for (members, parities) in [(3, 1), (4, 1), (7, 1), (4, 2), (5, 2), (8, 2)] {
                let map = Parity {
                    members,
                    parities,
                    layout,
                    chunk: Sectors(8),
                };
                for stripe in 0..u64::from(members) * 2 {
                    let roles = map.roles(stripe);
                    let mut taken: Vec<u32> = (0..map.data_members())
                        .map(|index| map.data_member(stripe, index))
                        .collect();
                    taken.push(roles.p);
                    taken.extend(roles.q);
                    taken.sort_unstable();
                    assert_eq!(
                        taken,
                        (0..members).collect::<Vec<_>>(),
                        "{layout:?} {members} {stripe}"
                    );
                }
            }
        }
    }
}
