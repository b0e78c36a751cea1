//! RAID 10 of md: `near` copies beside each other, `far` copies in other zones of the disks or, `offset`, in the next row.
//!
//! Source: Linux 2.6.23 to 6.12 drivers/md/raid10.c (far sets not modelled).

use seekwise_units::{Lba, Sectors};

/// Copies of each chunk in RAID 10: beside each other (`near`), in other zones of the disks (`far`), or in the next
/// stripe (`offset`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raid10Layout {
    pub near: u32,
    pub far: u32,
    pub offset: bool,
}

impl Raid10Layout {
    /// From md's layout number: near copies in bits 0–7, far copies in bits 8–15, bit 16 for offset.
    pub fn from_md(number: u32) -> Self {
        Self {
            near: number & 0xff,
            far: (number >> 8) & 0xff,
            offset: number & 0x1_0000 != 0,
        }
    }

    /// From mdadm's name: `n2`, `f2`, `o3`.
    pub fn from_name(name: &str) -> Option<Self> {
        let copies: u32 = name.get(1..)?.parse().ok()?;
        Some(match name.as_bytes()[0] {
            b'n' => Self {
                near: copies,
                far: 1,
                offset: false,
            },
            b'f' => Self {
                near: 1,
                far: copies,
                offset: false,
            },
            b'o' => Self {
                near: 1,
                far: copies,
                offset: true,
            },
            _ => return None,
        })
    }

    /// Copies of each chunk, near ones times far ones.
    pub const fn copies(&self) -> u32 {
        self.near * self.far
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raid10 {
    pub members: u32,
    pub layout: Raid10Layout,
    pub chunk: Sectors,
    /// Data area of a member.
    pub member: Sectors,
}

impl Raid10 {
    /// Distance between far copies on a member.
    fn stride(&self) -> u64 {
        if self.layout.offset {
            self.chunk.0
        } else {
            let chunks = self.member.0 / self.chunk.0 / u64::from(self.layout.far);
            chunks * self.chunk.0
        }
    }

    /// Calls `each` with member and member sector of every copy of an array sector, the first copy first.
    pub fn copies(&self, sector: Lba, mut each: impl FnMut(u32, Lba)) {
        let members = u64::from(self.members);
        let near = u64::from(self.layout.near);
        let (chunk, offset) = (sector.0 / self.chunk.0, sector.0 % self.chunk.0);
        let place = chunk * near;
        let (mut row, mut member) = (place / members, place % members);
        if self.layout.offset {
            row *= u64::from(self.layout.far);
        }
        for _ in 0..near {
            let at = row * self.chunk.0 + offset;
            for far in 0..u64::from(self.layout.far) {
                // A far copy of the k-th kind stands `k · near` members on.
                let shifted = (member + far * near) % members;
                each(shifted as u32, Lba(at + far * self.stride()));
            }
            member += 1;
            if member == members {
                member = 0;
                row += if self.layout.offset {
                    u64::from(self.layout.far)
                } else {
                    1
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(array: &Raid10, chunk: u64) -> Vec<(u32, u64)> {
        let mut copies = Vec::new();
        array.copies(Lba(chunk * array.chunk.0), |member, at| {
            copies.push((member, at.0 / array.chunk.0))
        });
        copies
    }

    fn array(name: &str, members: u32) -> Raid10 {
        Raid10 {
            members,
            layout: Raid10Layout::from_name(name).unwrap(),
            chunk: Sectors(8),
            member: Sectors(800),
        }
    }

    #[test]
    fn near_copies_stand_beside_each_other() {
        let four = array("n2", 4);
        assert_eq!(all(&four, 0), [(0, 0), (1, 0)]);
        assert_eq!(all(&four, 1), [(2, 0), (3, 0)]);
        assert_eq!(all(&four, 2), [(0, 1), (1, 1)]);
    }

    #[test]
    fn near_copies_on_an_odd_number_of_members_wrap_to_the_next_row() {
        let three = array("n2", 3);
        assert_eq!(all(&three, 0), [(0, 0), (1, 0)]);
        assert_eq!(all(&three, 1), [(2, 0), (0, 1)]);
        assert_eq!(all(&three, 2), [(1, 1), (2, 1)]);
    }

    #[test]
    fn far_copies_lie_in_the_second_half_one_member_on() {
        let four = array("f2", 4);
        assert_eq!(all(&four, 0), [(0, 0), (1, 50)]);
        assert_eq!(all(&four, 3), [(3, 0), (0, 50)]);
        assert_eq!(all(&four, 4), [(0, 1), (1, 51)]);
    }

    #[test]
    fn offset_copies_lie_in_the_next_row_one_member_on() {
        let three = array("o2", 3);
        assert_eq!(all(&three, 0), [(0, 0), (1, 1)]);
        assert_eq!(all(&three, 2), [(2, 0), (0, 1)]);
        assert_eq!(all(&three, 3), [(0, 2), (1, 3)]);
    }
}
