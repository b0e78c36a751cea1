//! Exact layout of a disk: zones, spare sectors, slipped and remapped sectors, skews.
//!
//! ```text
//!   address ──► zone ──► place within the zone, over all surfaces ──► track and sector on it ──► angle
//!                        spare sectors skipped, slipped sectors passed over
//! ```
//!
//! A zone is cut into units (a track, a cylinder, some cylinders, or the whole zone); each ends or begins with spare
//! sectors. A bad sector that was found in the factory is slipped: all later addresses of its unit move on by one. One found
//! later is remapped: its address lies on a spare sector.
//!
//! Source of the schemes and their numbers: DiskSim 4.0 reference manual (Bucy, Schindler, Schlosser, Ganger: CMU-PDL-08-101),
//! "layout g1".

use serde::{Deserialize, Serialize};

/// Numbering of the sparing schemes in DiskSim's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LayoutUnit {
    Zone,
    Track,
    Cylinder,
    Range,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    pub surfaces: u32,
    pub cylinders: u32,
    /// 0: every cylinder starts on the first surface; 1 and 2: every other one on the last, counted in the zone or on the disk.
    #[serde(default)]
    pub mapping: u32,
    /// DiskSim's number of the sparing scheme, 0 to 10.
    #[serde(default)]
    pub sparing: u32,
    /// Cylinders that share spare sectors in scheme 8.
    #[serde(default = "one")]
    pub range_cylinders: u32,
    pub zones: Vec<Zone>,
}

fn one() -> u32 {
    1
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    pub first_cylinder: u32,
    pub last_cylinder: u32,
    pub sectors_per_track: u32,
    /// Angle of the zone's first sector, in its sectors.
    #[serde(default)]
    pub offset_sectors: f64,
    /// Sectors at the front of the zone without an address.
    #[serde(default)]
    pub empty_sectors: u64,
    pub track_skew_sectors: f64,
    pub cylinder_skew_sectors: f64,
    /// Spare sectors of a unit; tracks in scheme 1.
    #[serde(default)]
    pub spares: u64,
    /// Slipped sectors, counted from the start of the zone; tracks in scheme 1.
    #[serde(default)]
    pub slips: Vec<u64>,
    /// Pairs: remapped sector, and where its data are.
    #[serde(default)]
    pub defects: Vec<(u64, u64)>,
}

impl Zone {
    /// What is wrong with it on a disk of so many cylinders, of which those before `next` are taken.
    fn check(&self, next: u32, cylinders: u32) -> Result<(), String> {
        let (first, last) = (self.first_cylinder, self.last_cylinder);
        let skews = [
            self.offset_sectors,
            self.track_skew_sectors,
            self.cylinder_skew_sectors,
        ];
        if first < next || last < first {
            return Err(format!(
                "has cylinders {first} to {last}, not after the zone before"
            ));
        }
        if last >= cylinders {
            return Err(format!(
                "ends at cylinder {last}, but the disk has {cylinders} cylinders"
            ));
        }
        if self.sectors_per_track == 0 || self.sectors_per_track > 100_000 {
            return Err(format!("has {} sectors per track", self.sectors_per_track));
        }
        if skews.iter().any(|number| !number.is_finite()) {
            return Err("has a skew that is not a number".into());
        }
        Ok(())
    }
}

/// A track and the sectors of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Track {
    pub zone: u32,
    pub cylinder: u32,
    pub head: u32,
}

/// Where an address lies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SectorPlace {
    pub track: Track,
    pub sector: u32,
    /// The address lies on a spare sector.
    pub remapped: bool,
}

/// The layout, ready to be asked.
#[derive(Clone, Debug)]
pub struct Map {
    layout: Layout,
    /// First address of each zone, and the capacity.
    starts: Vec<u64>,
    unit: LayoutUnit,
    at_front: bool,
    slip_to_end: bool,
    tracks: bool,
}

impl Map {
    /// Checks the layout; the reason in one sentence.
    pub fn new(layout: &Layout) -> Result<Self, String> {
        let tracks = layout.sparing == 1;
        let unit = match layout.sparing {
            0 | 1 | 9 | 10 => LayoutUnit::Zone,
            2 | 4 | 5 | 6 | 7 => LayoutUnit::Cylinder,
            3 => LayoutUnit::Track,
            8 => LayoutUnit::Range,
            other => {
                return Err(format!(
                    "sparing scheme {other} is not known; there are 0 to 10"
                ))
            }
        };
        if layout.surfaces == 0 || layout.surfaces > 64 {
            return Err(format!("a disk cannot have {} surfaces", layout.surfaces));
        }
        if layout.zones.is_empty() {
            return Err("the layout has no zones".into());
        }
        if layout.range_cylinders == 0 {
            return Err("a range for spare sectors needs at least one cylinder".into());
        }
        let mut map = Self {
            layout: layout.clone(),
            starts: vec![0],
            unit,
            at_front: matches!(layout.sparing, 5 | 6),
            slip_to_end: matches!(layout.sparing, 4 | 6 | 7 | 10),
            tracks,
        };
        let mut next_cylinder = 0;
        for (number, zone) in map.layout.zones.iter_mut().enumerate() {
            zone.check(next_cylinder, layout.cylinders)
                .map_err(|what| format!("zone {number} of the layout {what}"))?;
            next_cylinder = zone.last_cylinder + 1;
            zone.slips.sort_unstable();
            zone.defects.sort_unstable();
        }
        for number in 0..map.layout.zones.len() {
            let sectors = map.addresses(number).ok_or_else(|| {
                format!("zone {number} of the layout has more spare or empty sectors than sectors")
            })?;
            let start = map.starts[number];
            map.starts.push(start + sectors);
        }
        Ok(map)
    }

    /// Addresses of a zone; none when its spare sectors take more than it has.
    fn addresses(&self, number: usize) -> Option<u64> {
        let zone = &self.layout.zones[number];
        let cylinders = u64::from(zone.last_cylinder - zone.first_cylinder + 1);
        let spt = u64::from(zone.sectors_per_track);
        let all = cylinders * spt * u64::from(self.layout.surfaces);
        let slips = zone.slips.len() as u64;
        let spare = match self.layout.sparing {
            0 => 0,
            1 => zone.spares.checked_mul(spt)?,
            2 | 5 => zone.spares.checked_mul(cylinders)?,
            4 | 6 => zone.spares.checked_mul(cylinders)?.checked_add(slips)?,
            3 => zone
                .spares
                .checked_mul(cylinders * u64::from(self.layout.surfaces))?,
            7 => slips,
            8 => zone
                .spares
                .checked_mul(cylinders / u64::from(self.layout.range_cylinders))?,
            9 => zone.spares,
            _ => zone.spares.checked_add(slips)?,
        };
        all.checked_sub(zone.empty_sectors)?
            .checked_sub(spare)
            .filter(|left| *left > 0)
    }

    /// Addresses of the disk in sectors, spare ones left out.
    pub fn capacity(&self) -> u64 {
        self.starts[self.layout.zones.len()]
    }

    /// Cylinders of the disk, spare ones included.
    pub fn cylinders(&self) -> u32 {
        self.layout.cylinders
    }

    /// Sectors of a track, spare ones included.
    pub fn sectors_on(&self, track: Track) -> u32 {
        self.layout.zones[track.zone as usize].sectors_per_track
    }

    /// Sectors of a unit, and how many of them have addresses.
    fn unit_sectors(&self, zone: &Zone) -> (u64, u64) {
        let spt = u64::from(zone.sectors_per_track);
        let cylinder = spt * u64::from(self.layout.surfaces);
        let sectors = match self.unit {
            LayoutUnit::Zone => return (u64::MAX, u64::MAX),
            LayoutUnit::Track => spt,
            LayoutUnit::Cylinder => cylinder,
            LayoutUnit::Range => cylinder * u64::from(self.layout.range_cylinders),
        };
        let spares = if self.layout.sparing == 7 {
            0
        } else {
            zone.spares
        };
        (sectors, sectors.saturating_sub(spares).max(1))
    }

    /// Zone of an address, and the place of the address in it, spares and slips counted, counted from the zone's first sector.
    fn physical(&self, address: u64) -> (usize, u64) {
        let number = self.starts.partition_point(|start| *start <= address) - 1;
        let number = number.min(self.layout.zones.len() - 1);
        let zone = &self.layout.zones[number];
        let offset = address - self.starts[number] + zone.empty_sectors;
        if self.tracks {
            let spt = u64::from(zone.sectors_per_track);
            let track = slipped(&zone.slips, offset / spt, 0);
            return (number, track * spt + offset % spt);
        }
        let (unit, usable) = self.unit_sectors(zone);
        if unit == u64::MAX {
            return (number, slipped(&zone.slips, offset, 0));
        }
        let (mut index, mut within) = (offset / usable, offset % usable);
        let from = zone.slips.partition_point(|slip| *slip < index * unit);
        let earlier = if self.slip_to_end { from as u64 } else { 0 };
        within = slipped(&zone.slips[from..], within + earlier, index * unit);
        if self.slip_to_end {
            // Pushed out of its unit by the slips of those before.
            index += within / usable;
            within %= usable;
        }
        let front = if self.at_front { zone.spares } else { 0 };
        (number, index * unit + front + within)
    }

    /// Where an address lies.
    pub fn place(&self, address: u64) -> SectorPlace {
        let (number, mut sector) = self.physical(address);
        let zone = &self.layout.zones[number];
        let spt = u64::from(zone.sectors_per_track);
        let bad = if self.tracks { sector / spt } else { sector };
        let defect = zone.defects.binary_search_by_key(&bad, |(bad, _)| *bad);
        if let Ok(defect) = defect {
            let to = zone.defects[defect].1;
            sector = if self.tracks {
                to * spt + sector % spt
            } else {
                to
            };
        }
        let track = sector / spt;
        let surfaces = u64::from(self.layout.surfaces);
        let cylinder = (track / surfaces) as u32;
        SectorPlace {
            track: Track {
                zone: number as u32,
                cylinder: (zone.first_cylinder + cylinder).min(self.layout.cylinders - 1),
                head: self.turned((track % surfaces) as u32, zone.first_cylinder, cylinder),
            },
            sector: (sector % spt) as u32,
            remapped: defect.is_ok() && !self.tracks,
        }
    }

    /// Surface of the n-th track of a cylinder, and the other way round.
    fn turned(&self, head: u32, first: u32, cylinder: u32) -> u32 {
        let odd = match self.layout.mapping {
            1 => cylinder % 2 == 1,
            2 => (first + cylinder) % 2 == 1,
            _ => false,
        };
        if odd {
            self.layout.surfaces - 1 - head
        } else {
            head
        }
    }

    /// Angle at which a sector of a track starts, in turns.
    pub fn angle(&self, track: Track, sector: u32) -> f64 {
        let zone = &self.layout.zones[track.zone as usize];
        let cylinder = track.cylinder - zone.first_cylinder;
        let head = self.turned(track.head, zone.first_cylinder, cylinder);
        let switches = u64::from(head) + u64::from(self.layout.surfaces - 1) * u64::from(cylinder);
        let mut sectors = zone.offset_sectors
            + switches as f64 * zone.track_skew_sectors
            + f64::from(cylinder) * zone.cylinder_skew_sectors
            + f64::from(sector);
        // With spare sectors in each cylinder or track, the drive lays the skew out from the sectors in use.
        if matches!(self.layout.sparing, 2..=6) {
            let mut tracks = u64::from(cylinder) * u64::from(self.layout.surfaces);
            if self.unit == LayoutUnit::Track {
                tracks += u64::from(head);
            }
            let before = tracks * u64::from(zone.sectors_per_track);
            sectors += zone.slips.partition_point(|slip| *slip < before) as f64;
        }
        let turns = sectors / f64::from(zone.sectors_per_track);
        turns - libm::floor(turns)
    }

    /// The address after the last one that lies on the same track in one piece with `address`, at most `limit`.
    pub fn run_end(&self, address: u64, limit: u64) -> u64 {
        let first = self.place(address);
        if first.remapped {
            return address + 1;
        }
        let together = |other: u64| {
            let place = self.place(other);
            !place.remapped && place.track == first.track && place.sector >= first.sector
        };
        // A track holds no more addresses than sectors; past its end all addresses lie elsewhere, but for remapped ones.
        let most = u64::from(self.sectors_on(first.track) - first.sector);
        let (mut low, mut high) = (address + 1, (address + most).min(limit));
        let zone = &self.layout.zones[first.track.zone as usize];
        if !zone.defects.is_empty() {
            while low < high && together(low) {
                low += 1;
            }
            return low;
        }
        while low < high {
            let middle = low.midpoint(high);
            if together(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// First address after the track on which `address` lies.
    pub fn track_end(&self, address: u64) -> u64 {
        self.run_end(address, self.capacity())
    }
}

/// Place of the n-th good sector after `base`; bad ones are sorted.
fn slipped(slips: &[u64], n: u64, base: u64) -> u64 {
    // Slip k moves the sector if it lies at or before n + k.
    let (mut low, mut high) = (0, slips.len());
    while low < high {
        let middle = (low + high) / 2;
        if slips[middle] - base <= n + middle as u64 {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    n + low as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(sparing: u32, spares: u64, slips: &[u64]) -> Layout {
        Layout {
            surfaces: 2,
            cylinders: 10,
            mapping: 0,
            sparing,
            range_cylinders: 1,
            zones: vec![Zone {
                first_cylinder: 0,
                last_cylinder: 9,
                sectors_per_track: 10,
                offset_sectors: 0.0,
                empty_sectors: 0,
                track_skew_sectors: 2.0,
                cylinder_skew_sectors: 3.0,
                spares,
                slips: slips.to_vec(),
                defects: vec![],
            }],
        }
    }

    /// Every scheme: the addresses of a disk take different places, in the order of the platter, and none of them is a slipped one.
    #[test]
    fn addresses_have_places_of_their_own_in_every_sparing_scheme() {
        for (sparing, spares, slips) in [
            (0, 0, &[][..]),
            (1, 2, &[3, 7]),
            (2, 3, &[4, 45, 46]),
            (3, 2, &[5, 33]),
            (4, 3, &[4, 45]),
            (5, 3, &[4, 45]),
            (6, 3, &[4, 45]),
            (7, 0, &[4, 45, 46]),
            (8, 3, &[4, 45]),
            (9, 5, &[4, 45, 46]),
            (10, 5, &[4, 45, 46]),
        ] {
            let map = Map::new(&layout(sparing, spares, slips)).unwrap();
            let mut before = None;
            for address in 0..map.capacity() {
                let place = map.place(address);
                let at = (place.track.cylinder * 2 + place.track.head) * 10 + place.sector;
                assert!(
                    before < Some(at),
                    "scheme {sparing}: address {address} at {at}"
                );
                if matches!(sparing, 9 | 10 | 2 | 8) {
                    assert!(
                        !slips.contains(&u64::from(at)),
                        "scheme {sparing}: {at} is slipped"
                    );
                }
                before = Some(at);
            }
        }
    }

    #[test]
    fn skew_is_that_of_the_track_changes_on_the_way() {
        let map = Map::new(&layout(0, 0, &[])).unwrap();
        let angle = |address| {
            let place = map.place(address);
            (map.angle(place.track, place.sector) * 10.0 * 1e6).round() / 1e6
        };
        assert_eq!((angle(0), angle(3), angle(10)), (0.0, 3.0, 2.0));
        // One change of track and one of cylinder.
        assert_eq!(angle(20), 5.0);
    }

    #[test]
    fn a_run_ends_with_its_track_and_at_a_remapped_sector() {
        let mut with = layout(9, 5, &[4]);
        assert_eq!(Map::new(&with).unwrap().run_end(0, 100), 9);
        with.zones[0].defects = vec![(7, 197)];
        let map = Map::new(&with).unwrap();
        assert_eq!(map.run_end(0, 100), 6);
        assert_eq!(map.run_end(6, 100), 7);
        assert_eq!(map.place(6).track.cylinder, 9);
        assert_eq!(map.run_end(7, 100), 9);
    }

    #[test]
    fn impossible_layouts_are_refused() {
        let mut wrong = layout(9, 500, &[]);
        assert!(Map::new(&wrong).unwrap_err().contains("more spare"));
        wrong = layout(11, 0, &[]);
        assert!(Map::new(&wrong).unwrap_err().contains("sparing scheme 11"));
        wrong = layout(0, 0, &[]);
        wrong.zones[0].last_cylinder = 10;
        assert!(Map::new(&wrong).unwrap_err().contains("has 10 cylinders"));
        wrong.zones[0].sectors_per_track = 0;
        wrong.zones[0].last_cylinder = 9;
        assert!(Map::new(&wrong).is_err());
    }
}
