//! An array as a user describes it: a level, members, a chunk, a layout, and the state it is in.
//!
//! ```json
//! { "level": "raid5", "members": 4, "chunk_kib": 64, "layout": "left-symmetric", "missing": [1] }
//! ```

use seekwise_raid::md::resync::{Speed, MAX_KIB_S, MIN_KIB_S};
use seekwise_raid::md::MdGeneration;
use seekwise_raid::{Geometry, Level, ParityLayout, Raid10Layout};
use seekwise_sched::Kernel;
use seekwise_units::{Sectors, Version};
use serde::Deserialize;
use serde_json::{json, Value};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArraySpec {
    /// `raid0`, `raid1`, `raid5`, `raid6`, `raid10`.
    pub level: String,
    pub members: u32,
    /// mdadm's default when absent: 64 KiB before 2.6.39 (mdadm 2), 512 KiB later (mdadm 3.1 on).
    pub chunk_kib: Option<u64>,
    /// As mdadm names it: `left-symmetric` … for RAID 5 and 6, `n2`, `f2`, `o2` … for RAID 10.
    pub layout: Option<String>,
    /// Part of each member in use, in bytes.
    pub member_bytes: Option<u64>,
    /// Members that have failed and are not replaced.
    #[serde(default)]
    pub missing: Vec<u32>,
    pub stripe_cache_size: Option<u32>,
    pub rmw_level: Option<u8>,
    /// Write-intent bitmap: `none`, `internal` or `lockless`; none when absent, whatever mdadm would make.
    pub bitmap: Option<String>,
    /// What a bit stands for (`--bitmap-chunk`); as mdadm picks it when absent.
    pub bitmap_chunk_kib: Option<u64>,
    /// A resync runs beside the load; with a missing member, a rebuild onto its replacement.
    pub resync: Option<ResyncSpec>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResyncSpec {
    /// `sync_speed_min`; md's own when absent.
    pub min_kib_s: Option<u64>,
    /// `sync_speed_max`; md's own when absent.
    pub max_kib_s: Option<u64>,
    /// All copies, or all members of a stripe, are read and compared; nothing is written.
    #[serde(default)]
    pub check: bool,
}

/// mdadm from 3.1 on makes the bits of an internal bitmap no finer (mdadm 4.2, man mdadm: --bitmap-chunk).
const BITMAP_CHUNK_KIB: u64 = 64 << 10;
/// Room for the bitmap behind the superblock of format 0.90: 60 KiB (man mdadm; mdadm 2 takes the finest power of two that fits).
const BITMAP_BITS_0_90: u64 = 60 * 1024 * 8;

/// It came with 6.18, which is asked as 6.17, the newest kernel that is known.
const LOCKLESS_FROM: Version = Version(6, 17, 0);
/// drivers/md/md-llbitmap.c: its bytes lie within 128 KiB less the superblock, in blocks of 512 bytes.
const LOCKLESS_BYTES: u64 = 127 << 10;
const LOCKLESS_BLOCK: u64 = 512;

/// md's own default (drivers/md/raid5.c, NR_STRIPES).
const STRIPE_CACHE_DEFAULT: u32 = 256;

/// The chunk that mdadm takes when none is named, of the time of a kernel (mdadm 3.1, 2009: 512 KiB, before 64).
pub fn default_chunk_kib(generation: MdGeneration) -> u64 {
    if generation < MdGeneration::Linux4_4 {
        64
    } else {
        512
    }
}

impl ArraySpec {
    fn level(&self) -> Result<Level, String> {
        let layout = self.layout.as_deref();
        let no_layout = |level: Level| match layout {
            None => Ok(level),
            Some(layout) => Err(format!(
                "{} has no layouts, so {layout} cannot be one",
                level.name()
            )),
        };
        let parity = |of: fn(ParityLayout) -> Level| {
            let name = layout.unwrap_or("left-symmetric");
            ParityLayout::from_name(name).map(of).ok_or_else(|| {
                format!("layout {name} is not left-symmetric, left-asymmetric, right-symmetric or right-asymmetric")
            })
        };
        match self.level.as_str() {
            "raid0" => no_layout(Level::Raid0),
            "raid1" => no_layout(Level::Raid1),
            "raid5" => parity(Level::Raid5),
            "raid6" => parity(Level::Raid6),
            "raid10" => {
                let name = layout.unwrap_or("n2");
                Raid10Layout::from_name(name)
                    .map(Level::Raid10)
                    .ok_or_else(|| {
                        format!("layout {name} of RAID 10 is not n, f or o with a number of copies")
                    })
            }
            other => Err(format!(
                "there is no RAID level {other} (known: raid0, raid1, raid5, raid6, raid10)"
            )),
        }
    }

    /// The array over members of this size, refused as mdadm would.
    pub fn geometry(&self, kernel: Kernel, member: Sectors) -> Result<Geometry, String> {
        let level = self.level()?;
        let generation = MdGeneration::of(kernel.version);
        if level == Level::Raid1 && self.chunk_kib.is_some() {
            return Err("RAID 1 has no chunks, so a chunk size means nothing to it".to_owned());
        }
        let chunk = self
            .chunk_kib
            .unwrap_or_else(|| default_chunk_kib(generation));
        if chunk > 1 << 30 {
            return Err(format!("a chunk is 4 KiB to 1 GiB, not {chunk} KiB"));
        }
        let member = self
            .member_bytes
            .map_or(member, |bytes| Sectors(bytes / 512).min(member));
        let geometry = Geometry::new(level, self.members, Sectors::from_kib(chunk), member)
            .map_err(|error| error.0)?;
        self.check_missing(&geometry)?;
        if !(17..=32_768).contains(&self.stripe_cache_size()) {
            return Err(format!(
                "stripe_cache_size is {} stripes, outside 17 to 32768 stripes",
                self.stripe_cache_size()
            ));
        }
        if let Some(resync) = &self.resync {
            if geometry.losses_survived() == 0 {
                return Err(format!("{} has nothing to resync", geometry.level.name()));
            }
            if resync.check && !self.missing.is_empty() {
                return Err("md does not check an array that lacks a member".to_owned());
            }
            let speed = resync.speed();
            if !(1..=speed.max_kib_s).contains(&speed.min_kib_s) {
                return Err(format!(
                    "the least speed of a resync is {} KiB/s, outside 1 KiB/s to its greatest, {} KiB/s",
                    speed.min_kib_s, speed.max_kib_s
                ));
            }
        }
        self.bitmap_chunk(&geometry, kernel.version)?;
        if self.rmw_level.is_some_and(|level| level > 2) {
            return Err("rmw_level is 0, 1 or 2".to_owned());
        }
        Ok(geometry)
    }

    /// Sectors that a bit of the bitmap stands for; None without a bitmap.
    pub(crate) fn bitmap_chunk(
        &self,
        geometry: &Geometry,
        kernel: Version,
    ) -> Result<Option<Sectors>, String> {
        match self.bitmap.as_deref() {
            None | Some("none") if self.bitmap_chunk_kib.is_some() => {
                return Err(
                    "bitmap_chunk_kib means nothing without bitmap = \"internal\"".to_owned(),
                );
            }
            None | Some("none") => return Ok(None),
            Some("internal" | "lockless") => {}
            Some(other) => {
                return Err(format!(
                    "bitmap {other} is not modelled (known: none, internal, lockless)"
                ));
            }
        }
        let lockless = self.is_lockless();
        if lockless && kernel < LOCKLESS_FROM {
            return Err(format!(
                "the lockless bitmap came with Linux 6.18 (modelled as {LOCKLESS_FROM}), and this host has {kernel}"
            ));
        }
        if lockless && self.bitmap_chunk_kib.is_some() {
            return Err("a lockless bitmap has no chunk to choose".to_owned());
        }
        if geometry.losses_survived() == 0 {
            return Err(format!(
                "{} has no copies to bring in line after a crash, so a write-intent bitmap means nothing to it",
                geometry.level.name()
            ));
        }
        let covered = match geometry.level {
            Level::Raid10(_) => geometry.capacity(),
            _ => geometry.member,
        };
        if let Some(kib) = self.bitmap_chunk_kib {
            if kib < 4 || !kib.is_power_of_two() || kib > 1 << 30 {
                return Err(format!(
                    "bitmap_chunk_kib is {kib} KiB, no power of two of at least 4 KiB"
                ));
            }
            return Ok(Some(Sectors::from_kib(kib)));
        }
        let kib = if lockless {
            // A byte for each piece of 64 KiB, doubled until they fit; a write that dirties one may dirty all of its block.
            let mut kib = 64;
            while covered.0.div_ceil(Sectors::from_kib(kib).0) > LOCKLESS_BYTES {
                kib *= 2;
            }
            kib * LOCKLESS_BLOCK
        } else if MdGeneration::of(kernel) < MdGeneration::Linux4_4 {
            let mut kib = 4;
            while covered.0.div_ceil(Sectors::from_kib(kib).0) > BITMAP_BITS_0_90 {
                kib *= 2;
            }
            kib
        } else {
            BITMAP_CHUNK_KIB
        };
        Ok(Some(Sectors::from_kib(kib)))
    }

    pub(crate) fn is_lockless(&self) -> bool {
        self.bitmap.as_deref() == Some("lockless")
    }

    pub(crate) fn stripe_cache_size(&self) -> u32 {
        self.stripe_cache_size.unwrap_or(STRIPE_CACHE_DEFAULT)
    }

    fn check_missing(&self, geometry: &Geometry) -> Result<(), String> {
        if let Some(member) = self
            .missing
            .iter()
            .find(|member| **member >= geometry.members)
        {
            return Err(format!(
                "member {member} is missing, but members are numbered 0 to {}",
                geometry.members - 1
            ));
        }
        let mut lost = self.missing.clone();
        lost.sort_unstable();
        lost.dedup();
        if lost.len() < self.missing.len() {
            return Err("a member is named missing twice".to_owned());
        }
        if !geometry.survives(&lost) {
            return Err(format!(
                "{} of {} members does not survive the loss of {}",
                geometry.level.name(),
                geometry.members,
                lost.iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(" and ")
            ));
        }
        Ok(())
    }
}

impl ResyncSpec {
    pub(crate) fn speed(&self) -> Speed {
        Speed {
            min_kib_s: self.min_kib_s.unwrap_or(MIN_KIB_S),
            max_kib_s: self.max_kib_s.unwrap_or(MAX_KIB_S),
        }
    }
}

/// How many drives may still fail, whatever their place. Until a first resync is through parity is not there to compute from.
fn failures_left(spec: &ArraySpec, geometry: &Geometry) -> u32 {
    let parity = matches!(geometry.level, Level::Raid5(_) | Level::Raid6(_));
    let first = spec.resync.as_ref().is_some_and(|resync| !resync.check);
    if parity && first && spec.missing.is_empty() {
        return 0;
    }
    geometry
        .losses_survived_without(&spec.missing)
        .unwrap_or_default()
}

/// What an array is, in plain numbers. `rebuild_s`: None where a failure is not survived.
pub fn describe(spec: &ArraySpec, geometry: &Geometry, rebuild_s: Option<f64>) -> Value {
    let state = match (&spec.resync, spec.missing.is_empty()) {
        (None, true) => "clean",
        (None, false) => "degraded",
        (Some(resync), true) if resync.check => "check",
        (Some(_), true) => "resync",
        (Some(_), false) => "rebuild",
    };
    json!({
        "level": geometry.level.name(),
        "members": geometry.members,
        "layout": spec.layout,
        "state": state,
        "missing": spec.missing,
        "chunk_kib": geometry.chunk.0 / 2,
        "bitmap": spec.bitmap.as_deref().unwrap_or("none"),
        "member_bytes": geometry.member.bytes().0,
        "capacity_bytes": geometry.capacity().bytes().0,
        "survives_failures": failures_left(spec, geometry),
        "rebuild_s": rebuild_s,
        "read_ahead_kb": geometry.read_ahead().0 / 2,
    })
}
