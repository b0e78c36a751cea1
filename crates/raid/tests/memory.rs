//! Real bytes through a layout: writes, reads, lost members, parity. Correctness beside timing.
//!
//! Works in sectors of 512 bytes, each carried as its bytes. A lost member is erased; reading reconstructs what it held.
//! Parity P is the XOR of a stripe's data; Q is the Reed-Solomon syndrome over GF(256) with polynomial 0x11d and generator 2
//! (H. P. Anvin, "The mathematics of RAID-6", 2004).

use seekwise_raid::geometry::{Geometry, Level};
use seekwise_raid::layout::parity::Parity;
use seekwise_raid::layout::raid0::Raid0;
use seekwise_raid::layout::raid10::Raid10;
use seekwise_units::{Lba, Sectors, SECTOR_BYTES};

type Sector = [u8; SECTOR_BYTES as usize];
const ZERO: Sector = [0; SECTOR_BYTES as usize];

/// More members are gone than the level survives at this place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataLost;

/// An array that holds its bytes in memory.
#[derive(Clone, Debug)]
pub struct MemoryArray {
    geometry: Geometry,
    /// `members[m]` is None once the member is lost.
    members: Vec<Option<Vec<Sector>>>,
}

/// Multiplication by 2 in GF(256), polynomial 0x11d.
const fn double(value: u8) -> u8 {
    (value << 1) ^ (((value >> 7) & 1) * 0x1d)
}

fn multiply(mut left: u8, mut right: u8) -> u8 {
    let mut product = 0;
    while right != 0 {
        if right & 1 != 0 {
            product ^= left;
        }
        left = double(left);
        right >>= 1;
    }
    product
}

fn power_of_two(exponent: u32) -> u8 {
    (0..exponent).fold(1, |value, _| double(value))
}

/// `a^254 = 1/a` in GF(256).
fn inverse(value: u8) -> u8 {
    (0..253).fold(value, |product, _| multiply(product, value))
}

fn xor_into(into: &mut Sector, from: &Sector) {
    into.iter_mut().zip(from).for_each(|(a, b)| *a ^= b);
}

fn scale_into(into: &mut Sector, factor: u8, from: &Sector) {
    into.iter_mut()
        .zip(from)
        .for_each(|(a, b)| *a ^= multiply(factor, *b));
}

impl MemoryArray {
    /// An array full of zeros, so parity is right from the start.
    pub fn new(geometry: Geometry) -> Self {
        let member = vec![ZERO; geometry.member.0 as usize];
        Self {
            geometry,
            members: vec![Some(member); geometry.members as usize],
        }
    }

    fn parity(&self, parities: u32) -> Parity {
        let (Level::Raid5(layout) | Level::Raid6(layout)) = self.geometry.level else {
            unreachable!("a parity level")
        };
        Parity {
            members: self.geometry.members,
            parities,
            layout,
            chunk: self.geometry.chunk,
        }
    }

    fn raid0(&self) -> Raid0 {
        Raid0::new(
            &vec![self.geometry.member; self.geometry.members as usize],
            self.geometry.chunk,
        )
    }

    /// Every place that holds a copy of the sector (levels without parity).
    fn places(&self, sector: Lba) -> Vec<(u32, Lba)> {
        match self.geometry.level {
            Level::Raid0 => vec![self.raid0().locate(sector)],
            Level::Raid1 => (0..self.geometry.members)
                .map(|member| (member, sector))
                .collect(),
            Level::Raid10(layout) => {
                let map = Raid10 {
                    members: self.geometry.members,
                    layout,
                    chunk: self.geometry.chunk,
                    member: self.geometry.member,
                };
                let mut places = Vec::new();
                map.copies(sector, |member, at| places.push((member, at)));
                places
            }
            Level::Raid5(_) | Level::Raid6(_) => unreachable!("parity levels have no copies"),
        }
    }

    fn get(&self, member: u32, at: Lba) -> Option<&Sector> {
        self.members[member as usize]
            .as_ref()
            .map(|sectors| &sectors[at.0 as usize])
    }

    fn put(&mut self, member: u32, at: Lba, value: &Sector) {
        if let Some(sectors) = &mut self.members[member as usize] {
            sectors[at.0 as usize] = *value;
        }
    }

    /// The data sectors of one row across the stripe, lost ones reconstructed.
    fn row(&self, map: &Parity, at: Lba) -> Result<Vec<Sector>, DataLost> {
        let stripe = at.0 / map.chunk.0;
        let roles = map.roles(stripe);
        let mut data = vec![ZERO; map.data_members() as usize];
        let mut lost = Vec::new();
        for index in 0..map.data_members() {
            match self.get(map.data_member(stripe, index), at) {
                Some(sector) => data[index as usize] = *sector,
                None => lost.push(index as usize),
            }
        }
        let p = self.get(roles.p, at);
        let q = roles.q.and_then(|member| self.get(member, at));
        match (lost.as_slice(), p, q) {
            ([], ..) => {}
            ([x], Some(p), _) => {
                let mut value = *p;
                (0..data.len())
                    .filter(|index| index != x)
                    .for_each(|index| xor_into(&mut value, &data[index]));
                data[*x] = value;
            }
            ([x], None, Some(q)) => {
                let mut rest = *q;
                (0..data.len())
                    .filter(|index| index != x)
                    .for_each(|index| {
                        scale_into(&mut rest, power_of_two(index as u32), &data[index])
                    });
                let factor = inverse(power_of_two(*x as u32));
                data[*x] = ZERO;
                scale_into(&mut data[*x], factor, &rest);
            }
            ([x, y], Some(p), Some(q)) => {
                // Dx + Dy = P', gx·Dx + gy·Dy = Q'  ⇒  Dx = (Q' + gy·P') / (gx + gy).
                let (gx, gy) = (power_of_two(*x as u32), power_of_two(*y as u32));
                let (mut p_rest, mut q_rest) = (*p, *q);
                for index in (0..data.len()).filter(|index| index != x && index != y) {
                    xor_into(&mut p_rest, &data[index]);
                    scale_into(&mut q_rest, power_of_two(index as u32), &data[index]);
                }
                scale_into(&mut q_rest, gy, &p_rest);
                let mut dx = ZERO;
                scale_into(&mut dx, inverse(gx ^ gy), &q_rest);
                let mut dy = p_rest;
                xor_into(&mut dy, &dx);
                data[*x] = dx;
                data[*y] = dy;
            }
            _ => return Err(DataLost),
        }
        Ok(data)
    }

    fn parities(&self) -> Option<u32> {
        match self.geometry.level {
            Level::Raid5(_) => Some(1),
            Level::Raid6(_) => Some(2),
            _ => None,
        }
    }

    fn syndromes(data: &[Sector]) -> (Sector, Sector) {
        let (mut p, mut q) = (ZERO, ZERO);
        for (index, sector) in data.iter().enumerate() {
            xor_into(&mut p, sector);
            scale_into(&mut q, power_of_two(index as u32), sector);
        }
        (p, q)
    }

    /// Writes one sector. Fails where the row cannot be reconstructed any more.
    pub fn write(&mut self, sector: Lba, value: &Sector) -> Result<(), DataLost> {
        let Some(parities) = self.parities() else {
            let places = self.places(sector);
            if places
                .iter()
                .all(|&(member, _)| self.members[member as usize].is_none())
            {
                return Err(DataLost);
            }
            places
                .into_iter()
                .for_each(|(member, at)| self.put(member, at, value));
            return Ok(());
        };
        let map = self.parity(parities);
        let (member, at) = map.locate(sector);
        let stripe = at.0 / map.chunk.0;
        let mut data = self.row(&map, at)?;
        data[map.data_index(stripe, member).expect("a data member") as usize] = *value;
        let (p, q) = Self::syndromes(&data);
        let roles = map.roles(stripe);
        self.put(member, at, value);
        self.put(roles.p, at, &p);
        if let Some(member) = roles.q {
            self.put(member, at, &q);
        }
        Ok(())
    }

    /// Reads one sector, from whatever is left.
    pub fn read(&self, sector: Lba) -> Result<Sector, DataLost> {
        let Some(parities) = self.parities() else {
            return self
                .places(sector)
                .into_iter()
                .find_map(|(member, at)| self.get(member, at).copied())
                .ok_or(DataLost);
        };
        let map = self.parity(parities);
        let (member, at) = map.locate(sector);
        if let Some(value) = self.get(member, at) {
            return Ok(*value);
        }
        let index = map
            .data_index(at.0 / map.chunk.0, member)
            .expect("a data member");
        Ok(self.row(&map, at)?[index as usize])
    }

    /// A member is gone with all it held.
    pub fn lose(&mut self, member: u32) {
        self.members[member as usize] = None;
    }

    /// A new member takes the place of a lost one and is filled from the others.
    pub fn rebuild(&mut self, member: u32) -> Result<(), DataLost> {
        let mut fresh = vec![ZERO; self.geometry.member.0 as usize];
        if let Some(parities) = self.parities() {
            let map = self.parity(parities);
            for at in 0..self.geometry.member.0 {
                let stripe = at / map.chunk.0;
                let data = self.row(&map, Lba(at))?;
                let (p, q) = Self::syndromes(&data);
                fresh[at as usize] = match map.data_index(stripe, member) {
                    Some(index) => data[index as usize],
                    None if map.roles(stripe).p == member => p,
                    None => q,
                };
            }
        } else {
            for sector in 0..self.geometry.capacity().0 {
                for (holder, at) in self.places(Lba(sector)) {
                    if holder == member {
                        fresh[at.0 as usize] = self.read(Lba(sector))?;
                    }
                }
            }
        }
        self.members[member as usize] = Some(fresh);
        Ok(())
    }

    /// True when every parity sector of present members, and every copy, agrees with the data.
    pub fn consistent(&self) -> bool {
        let Some(parities) = self.parities() else {
            return (0..self.geometry.capacity().0).all(|sector| {
                let places = self.places(Lba(sector));
                let mut held = places
                    .iter()
                    .filter_map(|&(member, at)| self.get(member, at));
                let first = held.next();
                held.all(|value| Some(value) == first)
            });
        };
        let map = self.parity(parities);
        (0..self.geometry.member.0).all(|at| {
            let Ok(data) = self.row(&map, Lba(at)) else {
                return false;
            };
            let (p, q) = Self::syndromes(&data);
            let roles = map.roles(at / map.chunk.0);
            self.get(roles.p, Lba(at)).is_none_or(|held| *held == p)
                && roles
                    .q
                    .and_then(|member| self.get(member, Lba(at)))
                    .is_none_or(|held| *held == q)
        })
    }

    /// Sectors of the array that its user can address.
    pub fn capacity(&self) -> Sectors {
        self.geometry.capacity()
    }
}
