//! Where the bios of a volume go: a single drive, or md over members.

use crate::layout::parity::Parity;
use crate::layout::raid0::Raid0;
use crate::layout::raid10::Raid10;
use crate::layout::split_at_chunks;
use crate::md::balance::{choose_raid10, MemberState, Raid1Balance};
use crate::md::MdGeneration;
use crate::{Geometry, Level};
use seekwise_units::{Lba, Sectors};

/// A piece of a read on its way to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub member: u32,
    pub start: Lba,
    pub sectors: Sectors,
    /// End of the piece in the volume's own addresses.
    pub volume_end: Lba,
}

impl Piece {
    /// `sectors` of the volume from `from` on, which lie at `start` of the member.
    fn new(member: u32, start: Lba, from: Lba, sectors: Sectors) -> Self {
        Self {
            member,
            start,
            sectors,
            volume_end: from + sectors,
        }
    }
}

/// The pieces of a range whose chunks each lie on one member, where `locate` says.
fn striped(
    start: Lba,
    sectors: Sectors,
    chunk: Sectors,
    locate: impl Fn(Lba) -> (u32, Lba),
    out: &mut Vec<Piece>,
) {
    out.extend(
        split_at_chunks(start, sectors, chunk).map(|(from, length)| {
            let (member, at) = locate(from);
            Piece::new(member, at, from, length)
        }),
    );
}

pub enum Volume {
    Single {
        capacity: Sectors,
    },
    Raid0 {
        map: Raid0,
        chunk: Sectors,
    },
    Raid1 {
        balance: Box<Raid1Balance>,
        members: u32,
        capacity: Sectors,
    },
    Parity {
        map: Parity,
        capacity: Sectors,
    },
    Raid10 {
        map: Raid10,
        members: Vec<MemberState>,
        generation: MdGeneration,
        capacity: Sectors,
    },
}

impl Volume {
    /// md over equal members.
    pub fn md(geometry: Geometry, generation: MdGeneration, rotational: bool) -> Self {
        let capacity = geometry.capacity();
        let (members, chunk) = (geometry.members, geometry.chunk);
        match geometry.level {
            Level::Raid0 => Self::Raid0 {
                map: Raid0::new(&vec![geometry.member; members as usize], chunk),
                chunk,
            },
            Level::Raid1 => Self::Raid1 {
                balance: Box::new(Raid1Balance::new(generation, members, rotational)),
                members,
                capacity,
            },
            Level::Raid5(layout) | Level::Raid6(layout) => Self::Parity {
                map: Parity {
                    members,
                    parities: if matches!(geometry.level, Level::Raid5(_)) {
                        1
                    } else {
                        2
                    },
                    layout,
                    chunk,
                },
                capacity,
            },
            Level::Raid10(layout) => Self::Raid10 {
                map: Raid10 {
                    members,
                    layout,
                    chunk,
                    member: geometry.member,
                },
                members: vec![MemberState::new(rotational); members as usize],
                generation,
                capacity,
            },
        }
    }

    /// Sectors of the volume that its user can address.
    pub fn capacity(&self) -> Sectors {
        match self {
            Self::Raid0 { map, .. } => map.capacity(),
            Self::Single { capacity }
            | Self::Raid1 { capacity, .. }
            | Self::Parity { capacity, .. }
            | Self::Raid10 { capacity, .. } => *capacity,
        }
    }

    /// Splits a read and chooses members; state follows at once. Pieces go to `out` in order.
    pub fn read(&mut self, start: Lba, sectors: Sectors, out: &mut Vec<Piece>) {
        match self {
            Self::Single { .. } => out.push(Piece::new(0, start, start, sectors)),
            Self::Raid0 { map, chunk } => {
                striped(start, sectors, *chunk, |from| map.locate(from), out);
            }
            Self::Raid1 { balance, .. } => {
                let member = balance
                    .decide(start, sectors)
                    .expect("an array with a member left");
                balance.take(member, start, sectors);
                out.push(Piece::new(member as u32, start, start, sectors));
            }
            Self::Parity { map, .. } => {
                striped(start, sectors, map.chunk, |from| map.locate(from), out);
            }
            Self::Raid10 {
                map,
                members,
                generation,
                ..
            } => {
                for (from, length) in split_at_chunks(start, sectors, map.chunk) {
                    let mut copies = Vec::with_capacity(map.layout.copies() as usize);
                    map.copies(from, |member, at| copies.push((member, at)));
                    let place = choose_raid10(
                        *generation,
                        members,
                        &copies,
                        map.layout.near,
                        map.layout.far,
                    )
                    .expect("an array with a copy left");
                    let (member, at) = copies[place];
                    members[member as usize].pending += 1;
                    out.push(Piece::new(member, at, from, length));
                }
            }
        }
    }

    /// The piece that a read is when it lies within a chunk of a striped level without copies: most small reads do.
    pub fn read_whole(&self, start: Lba, sectors: Sectors) -> Option<Piece> {
        let (member, at) = match self {
            Self::Raid0 { map, chunk } if start.0 % chunk.0 + sectors.0 <= chunk.0 => {
                map.locate(start)
            }
            Self::Parity { map, .. } if map.in_one_chunk(start, sectors) => map.locate(start),
            _ => return None,
        };
        Some(Piece::new(member, at, start, sectors))
    }

    /// Splits a write into its pieces on every copy, in order; parity is not written here.
    pub fn write(&mut self, start: Lba, sectors: Sectors, out: &mut Vec<Piece>) {
        match self {
            Self::Single { .. } => out.push(Piece::new(0, start, start, sectors)),
            Self::Raid0 { map, chunk } => {
                striped(start, sectors, *chunk, |from| map.locate(from), out);
            }
            Self::Raid1 { members, .. } => {
                out.extend((0..*members).map(|member| Piece::new(member, start, start, sectors)));
            }
            Self::Parity { .. } => unreachable!("refused when the storage is built"),
            Self::Raid10 { map, .. } => {
                for (from, length) in split_at_chunks(start, sectors, map.chunk) {
                    map.copies(from, |member, at| {
                        out.push(Piece::new(member, at, from, length))
                    });
                }
            }
        }
    }

    /// Bios that a request of this length becomes, when it begins at a chunk's border.
    pub fn pieces(&self, sectors: Sectors, write: bool) -> u64 {
        let of = |chunk: Sectors| sectors.0.div_ceil(chunk.0);
        match self {
            Self::Single { .. } => 1,
            Self::Raid0 { chunk, .. } => of(*chunk),
            Self::Raid1 { members, .. } => u64::from(if write { *members } else { 1 }),
            Self::Parity { map, .. } => of(map.chunk),
            Self::Raid10 { map, .. } => {
                of(map.chunk)
                    * u64::from(if write {
                        map.layout.near * map.layout.far
                    } else {
                        1
                    })
            }
        }
    }

    /// Where data and parity of RAID 5 and 6 lie.
    pub fn parity(&self) -> Option<Parity> {
        match self {
            Self::Parity { map, .. } => Some(*map),
            _ => None,
        }
    }

    /// Every copy takes every write, and md counts writes as pending on their members.
    pub fn mirrored(&self) -> bool {
        matches!(self, Self::Raid1 { .. } | Self::Raid10 { .. })
    }

    /// A member has failed: it is read no more.
    pub fn lose(&mut self, member: u32) {
        match self {
            Self::Raid1 { balance, .. } => balance.members[member as usize].readable = false,
            Self::Raid10 { members, .. } => members[member as usize].readable = false,
            _ => {}
        }
    }

    /// A mirrored write goes to a member.
    pub fn write_begins(&mut self, piece: &Piece) {
        match self {
            Self::Raid1 { balance, .. } => balance.members[piece.member as usize].pending += 1,
            Self::Raid10 { members, .. } => members[piece.member as usize].pending += 1,
            _ => {}
        }
    }

    /// A piece is back: done writes move the place that md takes for the head's, as reads do.
    pub fn piece_done(&mut self, piece: &Piece) {
        match self {
            Self::Raid1 { balance, .. } => {
                balance.complete(piece.member as usize, piece.volume_end)
            }
            Self::Raid10 { members, .. } => {
                members[piece.member as usize].complete(piece.start + piece.sectors)
            }
            _ => {}
        }
    }
}
