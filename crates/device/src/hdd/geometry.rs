//! Where a block lies: zone, track, cylinder, angle.
//!
//! ```text
//!   serpentine (since about 2006): a head keeps a group of neighbouring tracks, the next head takes the same band
//!   in the other direction, and after the last head the next band follows, further in.
//!
//!        band 0        band 1                    group 1 = cylinder-wise, as drives were until the nineties
//!   head 0  ────────►  ────────►
//!   head 1  ◄────────  ◄────────                 sectors per track fall from S0 outside to S1 inside:
//!   head 2  ────────►  ────────►                 S(x) = S0 - (S0 - S1) · x^p, in zones of equal width
//! ```
//!
//! An address is mapped once, when its command arrives; divisions by sectors, group and heads are multiplications with
//! reciprocals.
//!
//! Modelled:      zones, skew (the same for a track and a head change), sector interleave of the first drives.
//! Not modelled:  spare sectors and remapped ones, surfaces of different density.

use super::rotation::{Spindle, ANGLE_MASK, TURN};
use seekwise_units::{Lba, Nanos, Sectors};

/// What a model says about its platters.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    pub capacity: Sectors,
    pub heads: u32,
    pub tracks_per_surface: u32,
    /// In sectors of 512 bytes.
    pub sectors_outer: f64,
    pub sectors_inner: f64,
    pub shape: f64,
    pub zones: u32,
    /// Neighbouring tracks that a head keeps before the next head takes over.
    pub group_tracks: u32,
    /// In degrees.
    pub skew_degrees: f64,
    /// Turns that a whole track needs: 1, or more with interleaved sectors.
    pub interleave: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Zone {
    first_lba: u64,
    /// Of the next zone; the last one goes on for ever.
    next_lba: u64,
    /// Tracks before this zone, over all heads.
    first_track: u32,
    sectors: u32,
    /// floor(2^64 / sectors) + 1.
    reciprocal: u64,
    /// Ticks per sector, times 2^20.
    sector_ticks: u64,
    /// Nanoseconds per sector, times 2^20.
    sector_ns: u64,
}

/// A place under a head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackPlace {
    /// Distance from the outer edge, in tracks.
    pub cylinder: u32,
    /// Number of the track in the order of addresses, over all heads.
    pub track: u32,
    /// Angle at which the first sector starts.
    pub angle: u32,
}

/// A mapped extent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    pub first: TrackPlace,
    /// Track and cylinder of the last sector.
    pub last_track: u32,
    pub last_cylinder: u32,
    /// From the start of the first sector to the end of the last one, track changes included.
    pub transfer: Nanos,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    zones: Vec<Zone>,
    /// Zone in which every 2^shift-th address lies.
    zone_of: Vec<u8>,
    shift: u32,
    capacity: u64,
    heads: u32,
    heads_reciprocal: u64,
    group: u32,
    group_reciprocal: u64,
    skew: u32,
    skew_ns: u64,
    interleave: u32,
    cylinders: u32,
}

const ZONE_TABLE: u64 = 512;

impl Geometry {
    /// Cuts the disk into zones of whole bands: sectors per track fall from the outer to the inner edge.
    pub fn new(layout: &Layout, spindle: &Spindle) -> Self {
        let group = layout.group_tracks.max(1);
        let bands = layout.tracks_per_surface.div_ceil(group);
        let zone_count = layout.zones.clamp(1, bands.min(200));
        let turn_ns = spindle.turn_ns();
        let mut zones = Vec::with_capacity(zone_count as usize);
        let (mut lba, mut track) = (0u64, 0u32);
        for zone in 0..zone_count {
            let bands_before = (u64::from(bands) * u64::from(zone) / u64::from(zone_count)) as u32;
            let bands_after =
                (u64::from(bands) * u64::from(zone + 1) / u64::from(zone_count)) as u32;
            let x = f64::from(bands_before + bands_after) / 2.0 / f64::from(bands);
            let drop = (layout.sectors_outer - layout.sectors_inner) * libm::pow(x, layout.shape);
            let sectors = libm::round(layout.sectors_outer - drop).max(1.0) as u32;
            let per_sector = f64::from(layout.interleave) / f64::from(sectors);
            zones.push(Zone {
                first_lba: lba,
                next_lba: u64::MAX,
                first_track: track,
                sectors,
                reciprocal: u64::MAX / u64::from(sectors) + 1,
                sector_ticks: (f64::from(TURN) * per_sector * 1_048_576.0) as u64,
                sector_ns: (turn_ns * per_sector * 1_048_576.0) as u64,
            });
            let tracks = (bands_after - bands_before) * group * layout.heads;
            track += tracks;
            lba += u64::from(tracks) * u64::from(sectors);
        }
        for zone in 1..zones.len() {
            zones[zone - 1].next_lba = zones[zone].first_lba;
        }
        // Rounding leaves the last zone a few tracks short or long; it simply goes on to the capacity.
        let capacity = layout.capacity.0;
        let shift = (capacity / ZONE_TABLE).max(1).ilog2();
        let zone_of = (0..=(capacity >> shift))
            .map(|entry| zones.partition_point(|zone| zone.first_lba <= entry << shift) as u8 - 1)
            .collect();
        let skew = (layout.skew_degrees / 360.0 * f64::from(TURN)) as u32 & ANGLE_MASK;
        let mut geometry = Self {
            zones,
            zone_of,
            shift,
            capacity,
            heads: layout.heads,
            heads_reciprocal: reciprocal(layout.heads),
            group,
            group_reciprocal: reciprocal(group),
            skew,
            skew_ns: spindle.time_of(skew).0,
            interleave: layout.interleave,
            cylinders: 0,
        };
        geometry.cylinders =
            (geometry.place(Lba(capacity - 1)).cylinder + 1).max(layout.tracks_per_surface);
        geometry
    }

    /// Sectors on all tracks of all heads.
    pub fn capacity(&self) -> Sectors {
        Sectors(self.capacity)
    }

    /// Tracks from the outer edge to the innermost one in use.
    pub fn cylinders(&self) -> u32 {
        self.cylinders
    }

    #[inline]
    fn zone(&self, lba: u64) -> &Zone {
        let mut index = usize::from(self.zone_of[(lba >> self.shift) as usize]);
        while self.zones[index].next_lba <= lba {
            index += 1;
        }
        &self.zones[index]
    }

    #[inline]
    fn cylinder_of(&self, track: u32) -> u32 {
        let group = divide(track, self.group_reciprocal);
        let within = track - group * self.group;
        let band = divide(group, self.heads_reciprocal);
        let head = group - band * self.heads;
        let inward = if head & 1 == 0 {
            within
        } else {
            self.group - 1 - within
        };
        band * self.group + inward
    }

    #[inline]
    fn split(&self, lba: u64) -> (&Zone, u32, u32) {
        let zone = self.zone(lba);
        let offset = lba - zone.first_lba;
        let track = ((u128::from(offset) * u128::from(zone.reciprocal)) >> 64) as u32;
        let sector = (offset - u64::from(track) * u64::from(zone.sectors)) as u32;
        (zone, zone.first_track + track, sector)
    }

    #[inline]
    fn angle(&self, zone: &Zone, track: u32, sector: u32) -> u32 {
        let along = (u64::from(sector) * zone.sector_ticks) >> 20;
        track.wrapping_mul(self.skew).wrapping_add(along as u32) & ANGLE_MASK
    }

    /// Cylinder, track and angle at which a sector starts; `lba` must be within the capacity.
    #[inline]
    pub fn place(&self, lba: Lba) -> TrackPlace {
        let (zone, track, sector) = self.split(lba.0);
        TrackPlace {
            cylinder: self.cylinder_of(track),
            track,
            angle: self.angle(zone, track, sector),
        }
    }

    /// Maps an extent inside the capacity. Always inlined: its fields stay in registers until they are stored where they belong.
    #[inline(always)]
    pub fn extent(&self, lba: Lba, sectors: Sectors) -> Extent {
        let (zone, track, sector) = self.split(lba.0);
        let cylinder = self.cylinder_of(track);
        let first = TrackPlace {
            cylinder,
            track,
            angle: self.angle(zone, track, sector),
        };
        // Wide, because a stream may be followed over a whole drive.
        let mut transfer = ((u128::from(sectors.0) * u128::from(zone.sector_ns)) >> 20) as u64;
        let (mut last_track, mut last_cylinder) = (track, cylinder);
        let end = u64::from(sector) + sectors.0;
        if end > u64::from(zone.sectors) {
            let crossings = ((u128::from(end - 1) * u128::from(zone.reciprocal)) >> 64) as u64;
            transfer += crossings * self.skew_ns;
            last_track += crossings as u32;
            last_cylinder = self.cylinder_of(last_track);
        }
        Extent {
            first,
            last_track,
            last_cylinder,
            transfer: Nanos(transfer),
        }
    }

    /// Sectors that pass the head from `lba` on in `span`, track changes included; at most `limit`.
    pub fn sectors_in(&self, lba: Lba, span: Nanos, limit: Sectors) -> Sectors {
        let (zone, _, sector) = self.split(lba.0);
        let track_ns = ((u64::from(zone.sectors) * zone.sector_ns) >> 20) + self.skew_ns;
        let from_track_start = span.0 + ((u64::from(sector) * zone.sector_ns) >> 20);
        let tracks = from_track_start / track_ns;
        let rest = ((from_track_start - tracks * track_ns) << 20) / zone.sector_ns;
        let passed = tracks * u64::from(zone.sectors) + rest.min(u64::from(zone.sectors));
        Sectors(passed.saturating_sub(u64::from(sector)).min(limit.0))
    }

    /// The way to the head's next track, if `lba` is the first sector of one: an extent that starts there does not pay it.
    #[inline]
    pub fn gap_before(&self, lba: Lba) -> Nanos {
        let (_, track, sector) = self.split(lba.0);
        Nanos(if sector == 0 && track > 0 {
            self.skew_ns
        } else {
            0
        })
    }

    /// Sectors of the track on which `lba` lies.
    pub fn sectors_on_track(&self, lba: Lba) -> u32 {
        self.zone(lba.0).sectors
    }

    /// Turns that a whole track takes to read in order of addresses; 1 without interleave.
    pub fn interleave(&self) -> u32 {
        self.interleave
    }
}

/// Reciprocal for [`divide`].
fn reciprocal(divisor: u32) -> u64 {
    (1u64 << 40).div_ceil(u64::from(divisor))
}

/// Quotient by the divisor of `reciprocal`; exact for numbers below 2^24 and divisors below 2^16.
#[inline]
fn divide(number: u32, reciprocal: u64) -> u32 {
    ((u64::from(number) * reciprocal) >> 40) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> (Geometry, Spindle) {
        let spindle = Spindle::new(6000.0, 0); // 10 ms a turn
        let layout = Layout {
            capacity: Sectors(100 * 2 * 4 * 10),
            heads: 2,
            tracks_per_surface: 40,
            sectors_outer: 100.0,
            sectors_inner: 100.0,
            shape: 1.0,
            zones: 1,
            group_tracks: 4,
            skew_degrees: 36.0,
            interleave: 1,
        };
        (Geometry::new(&layout, &spindle), spindle)
    }

    #[test]
    fn heads_take_bands_of_tracks_in_alternating_direction() {
        let (geometry, _) = small();
        let cylinder = |track: u64| geometry.place(Lba(track * 100)).cylinder;
        let order: Vec<u32> = (0..17).map(cylinder).collect();
        assert_eq!(order, [0, 1, 2, 3, 3, 2, 1, 0, 4, 5, 6, 7, 7, 6, 5, 4, 8]);
    }

    #[test]
    fn a_track_starts_a_skew_later_than_the_one_before() {
        let (geometry, _) = small();
        let tenth = TURN / 10;
        for track in 0..12 {
            let place = geometry.place(Lba(u64::from(track) * 100));
            assert!(
                place.angle.abs_diff((track * tenth) & ANGLE_MASK) < 32,
                "track {track}"
            );
            assert_eq!(place.track, track);
        }
    }

    #[test]
    fn a_transfer_over_one_track_end_pays_the_skew_once() {
        let (geometry, _) = small();
        // 20 sectors of 0.1 ms each, and 1 ms of skew.
        let extent = geometry.extent(Lba(90), Sectors(20));
        assert!(
            extent.transfer.0.abs_diff(3_000_000) < 10,
            "{:?}",
            extent.transfer
        );
        assert_eq!((extent.first.track, extent.last_track), (0, 1));
        let inside = geometry.extent(Lba(80), Sectors(20));
        assert!(inside.transfer.0.abs_diff(2_000_000) < 10);
        assert_eq!(inside.last_track, 0);
    }

    #[test]
    fn sectors_in_a_span_are_the_inverse_of_the_transfer_time() {
        let (geometry, _) = small();
        for start in [0, 37, 99, 100, 1234] {
            for sectors in [1, 50, 100, 101, 333] {
                let span = geometry.extent(Lba(start), Sectors(sectors)).transfer;
                let passed = geometry.sectors_in(Lba(start), span + Nanos(20), Sectors(10_000));
                assert_eq!(passed.0, sectors, "from {start}");
            }
        }
    }

    #[test]
    fn zones_lose_sectors_inwards_and_every_address_has_its_own_place() {
        let spindle = Spindle::new(7200.0, 0);
        let layout = Layout {
            capacity: Sectors(60_000),
            heads: 3,
            tracks_per_surface: 300,
            sectors_outer: 90.0,
            sectors_inner: 45.0,
            shape: 1.3,
            zones: 9,
            group_tracks: 7,
            skew_degrees: 20.0,
            interleave: 1,
        };
        let geometry = Geometry::new(&layout, &spindle);
        let mut before = u32::MAX;
        let mut places = std::collections::HashSet::new();
        for lba in 0..60_000 {
            let sectors = geometry.sectors_on_track(Lba(lba));
            assert!(sectors <= before);
            before = sectors;
            let place = geometry.place(Lba(lba));
            assert!(places.insert((place.track, place.angle)), "{lba}");
        }
        assert!(before < 60);
    }

    #[test]
    fn reciprocals_divide_exactly() {
        for divisor in [1, 2, 3, 7, 18, 20, 64, 65, 1000, 4095] {
            let reciprocal = reciprocal(divisor);
            for number in (0..(1 << 24))
                .step_by(9973)
                .chain([divisor - 1, divisor, (1 << 24) - 1])
            {
                assert_eq!(
                    divide(number, reciprocal),
                    number / divisor,
                    "{number} / {divisor}"
                );
            }
        }
    }
}
