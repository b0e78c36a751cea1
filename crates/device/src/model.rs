//! A drive model: named numbers, each with unit, source and confidence, and the checks they must pass.
//!
//! Models are TOML files in `models/`, one per drive. Every parameter that a device reads is named in a table of this
//! module with its unit and the range in which it makes sense; anything outside is refused with a sentence.

use crate::exact::{Exact, ExactParameters, Order};
use crate::hdd::geometry::Layout;
use crate::hdd::seek::{SeekTimes, SEEK_TURNS_MAX};
use crate::hdd::{Hdd, HddParameters};
use crate::null::Null;
use crate::Drive;
use seekwise_units::{Depth, Nanos, Sectors};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The files of `models/`, by id.
pub const SHIPPED: &[(&str, &str)] = &[
    ("wd2500ys", include_str!("../../../models/wd2500ys.toml")),
    (
        "st3250620ns",
        include_str!("../../../models/st3250620ns.toml"),
    ),
    (
        "st31000340sv",
        include_str!("../../../models/st31000340sv.toml"),
    ),
    (
        "generic_1tb_sata",
        include_str!("../../../models/generic_1tb_sata.toml"),
    ),
    ("exos_x18", include_str!("../../../models/exos_x18.toml")),
    ("exos_x20", include_str!("../../../models/exos_x20.toml")),
    (
        "ultrastar_hc550",
        include_str!("../../../models/ultrastar_hc550.toml"),
    ),
    ("st225", include_str!("../../../models/st225.toml")),
    ("exact", include_str!("../../../models/exact.toml")),
    (
        "exact_files",
        include_str!("../../../models/exact_files.toml"),
    ),
    ("null", include_str!("../../../models/null.toml")),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Hdd,
    Exact,
    Null,
}

/// Where a number comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Vendor figure, direct or reprinted.
    Datasheet,
    /// Measurement or log of a third party.
    Review,
    /// Computed from other figures.
    Fitted,
    /// General knowledge that was not checked.
    Memory,
    /// Defined, not measured.
    Definition,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    pub value: f64,
    #[serde(default)]
    pub unit: String,
    pub source: String,
    pub confidence: Confidence,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lo: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hi: Option<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    pub id: String,
    pub name: String,
    pub kind: Kind,
    #[serde(default = "sata")]
    pub attachment: Attachment,
    /// Other names under which it is found.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// What a reader should know about it, in sentences.
    #[serde(default)]
    pub notes: Vec<String>,
    pub parameters: BTreeMap<String, Parameter>,
}

fn sata() -> Attachment {
    Attachment::Sata
}

/// Why a model cannot be used: one sentence without period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError(pub String);

impl fmt::Display for ModelError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for ModelError {}

/// A parameter that devices of a kind read.
struct Rule {
    key: &'static str,
    unit: &'static str,
    lo: f64,
    hi: f64,
    /// `None` when a model must state it.
    default: Option<f64>,
}

const fn rule(key: &'static str, unit: &'static str, lo: f64, hi: f64) -> Rule {
    Rule {
        key,
        unit,
        lo,
        hi,
        default: None,
    }
}

const fn optional(key: &'static str, unit: &'static str, lo: f64, hi: f64, default: f64) -> Rule {
    Rule {
        key,
        unit,
        lo,
        hi,
        default: Some(default),
    }
}

const HDD_RULES: &[Rule] = &[
    rule("rpm", "rev/min", 300.0, 30_000.0),
    rule("heads", "surfaces", 1.0, 64.0),
    rule("tracks_per_surface", "tracks", 2.0, 800_000.0),
    rule("spt_outer", "sectors", 1.0, 8_000.0),
    rule("spt_inner", "sectors", 1.0, 8_000.0),
    optional("spt_shape_p", "1", 0.1, 10.0, 1.0),
    optional("sector_bytes_physical", "B", 512.0, 4096.0, 512.0),
    rule("track_skew_deg", "deg", 0.0, 359.0),
    rule("capacity_sectors", "512 B sectors", 8.0, 2e11),
    optional("zones", "zones", 1.0, 100.0, 24.0),
    optional("serpentine_tracks", "tracks", 1.0, 65_535.0, 64.0),
    optional("interleave", "turns per track", 1.0, 16.0, 1.0),
    rule("seek_track_to_track_ms", "ms", 0.0, 200.0),
    optional("seek_settle_tracks", "tracks", 1.0, 10_000.0, 50.0),
    rule("seek_a_ms", "ms", 0.0, 200.0),
    rule("seek_b_ms_per_sqrt_track", "ms/sqrt(track)", 0.0, 100.0),
    rule("seek_d0_tracks", "tracks", 1.0, 800_000.0),
    rule("seek_c_ms", "ms", 0.0, 500.0),
    rule("seek_e_ms_per_track", "ms/track", 0.0, 10.0),
    optional("write_settle_extra_ms", "ms", 0.0, 100.0, 1.0),
    optional("command_overhead_ms", "ms", 0.0, 50.0, 0.3),
    optional("arm_setup_ms", "ms", 0.0, 50.0, 0.0),
    optional("cached_overhead_ms", "ms", 0.0, 50.0, 0.1),
    rule("interface_mb_s", "MB/s", 0.1, 10_000.0),
    optional("link_per_command_us", "us", 0.0, 10_000.0, 8.0),
    rule("ncq_depth", "commands", 1.0, 32.0),
    optional("ncq_efficiency", "fraction of ideal gain", 0.0, 1.0, 1.0),
    optional("ncq_age_limit_ms", "ms", 0.0, 1e7, 0.0),
    optional("cache_segments", "segments", 0.0, 32.0, 16.0),
    optional("cache_segment_kib", "KiB", 1.0, 32_768.0, 1024.0),
    optional("read_ahead_kib", "KiB", 0.0, 32_768.0, 512.0),
    optional("write_cache", "0 or 1", 0.0, 1.0, 1.0),
    optional("write_cache_commands", "commands", 1.0, 128.0, 64.0),
    optional("write_cache_kib", "KiB", 4.0, 1_048_576.0, 8192.0),
    optional("destage_delay_ms", "ms", 0.0, 100_000.0, 8.0),
];

const EXACT_RULES: &[Rule] = &[
    rule("capacity_sectors", "512 B sectors", 8.0, 1e12),
    rule("sectors_per_track", "sectors", 1.0, 1e6),
    optional("queue_depth", "commands", 1.0, 31.0, 31.0),
    optional("earliest_end_first", "0 or 1", 0.0, 1.0, 1.0),
    optional("read_ahead", "0 or 1", 0.0, 1.0, 1.0),
];

const NULL_RULES: &[Rule] = &[
    rule("capacity_sectors", "512 B sectors", 8.0, 2e11),
    rule("queue_depth", "commands", 1.0, 65_536.0),
    optional("latency_us", "us", 0.0, 1e7, 0.0),
];

/// How a drive is attached, which decides the kernel's path to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Attachment {
    Sata,
    Nvme,
    /// Memory cards: one command at a time.
    Mmc,
    /// No driver of its own: null_blk.
    None,
}

impl Kind {
    pub fn rotational(self) -> bool {
        matches!(self, Self::Hdd | Self::Exact)
    }

    fn rules(self) -> &'static [Rule] {
        match self {
            Self::Hdd => HDD_RULES,
            Self::Exact => EXACT_RULES,
            Self::Null => NULL_RULES,
        }
    }
}

impl Model {
    /// Ids of the models that come with the program.
    pub fn ids() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(id, _)| *id)
    }

    /// A model that comes with the program, by id or another of its names.
    pub fn shipped(name: &str) -> Result<Self, ModelError> {
        let plain = plain(name);
        let parsed = |text: &str| Self::parse(text);
        if let Some((_, text)) = SHIPPED.iter().find(|(id, _)| self::plain(id) == plain) {
            return parsed(text);
        }
        let mut known: Vec<String> = vec![];
        for (_, text) in SHIPPED {
            let model = parsed(text)?;
            if model
                .aliases
                .iter()
                .any(|alias| self::plain(alias) == plain)
            {
                return Ok(model);
            }
            known.push(model.id.clone());
            known.extend(model.aliases);
        }
        Err(ModelError(
            match nearest(name, known.iter().map(String::as_str)) {
                Some(meant) => format!("no drive model is called `{name}`; did you mean `{meant}`"),
                None => format!(
                    "no drive model is called `{name}`; there are {}",
                    Self::ids().collect::<Vec<_>>().join(", ")
                ),
            },
        ))
    }

    /// Reads a model file and checks it.
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        let model: Self = toml::from_str(text).map_err(|error| {
            ModelError(format!(
                "the drive model cannot be read: {}",
                error.to_string().trim()
            ))
        })?;
        model.check()?;
        Ok(model)
    }

    /// Changes a parameter, as a study or a test may; the rules of the model's file hold.
    pub fn set(&mut self, key: &str, value: f64) -> Result<(), ModelError> {
        let rules = self.kind.rules();
        let Some(rule) = rules.iter().find(|rule| rule.key == key) else {
            let meant = nearest(key, rules.iter().map(|rule| rule.key));
            let hint = meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`"));
            return Err(ModelError(format!(
                "the drive model `{}` has no parameter `{key}`{hint}",
                self.id
            )));
        };
        let parameter = Parameter {
            value,
            unit: rule.unit.into(),
            source: "set by the user".into(),
            confidence: Confidence::Definition,
            lo: None,
            hi: None,
        };
        self.parameters.insert(key.into(), parameter);
        self.check()
    }

    /// A parameter, or its default.
    pub fn get(&self, key: &str) -> f64 {
        let rule = self.kind.rules().iter().find(|rule| rule.key == key);
        debug_assert!(rule.is_some(), "{key} is read but has no rule");
        let stated = self.parameters.get(key).map(|parameter| parameter.value);
        stated
            .or(rule.and_then(|rule| rule.default))
            .unwrap_or(f64::NAN)
    }

    fn check(&self) -> Result<(), ModelError> {
        let rules = self.kind.rules();
        for (key, parameter) in &self.parameters {
            let Some(rule) = rules.iter().find(|rule| rule.key == key) else {
                let meant = nearest(key, rules.iter().map(|rule| rule.key));
                let hint =
                    meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`"));
                return Err(ModelError(format!(
                    "the drive model `{}` has no parameter `{key}`{hint}",
                    self.id
                )));
            };
            if !(rule.lo..=rule.hi).contains(&parameter.value) {
                return Err(ModelError(format!(
                    "`{key}` of drive model `{}` is {} {}; it must lie between {} and {} {}",
                    self.id, parameter.value, rule.unit, rule.lo, rule.hi, rule.unit
                )));
            }
        }
        for rule in rules {
            if rule.default.is_none() && !self.parameters.contains_key(rule.key) {
                return Err(ModelError(format!(
                    "the drive model `{}` lacks `{}` ({})",
                    self.id, rule.key, rule.unit
                )));
            }
        }
        match self.kind {
            Kind::Hdd => self.check_hdd(),
            Kind::Exact | Kind::Null => Ok(()),
        }
    }

    fn check_hdd(&self) -> Result<(), ModelError> {
        let (outer, inner) = (self.get("spt_outer"), self.get("spt_inner"));
        if inner > outer {
            return Err(ModelError(format!(
                "`spt_inner` of drive model `{}` is {inner} sectors, more than `spt_outer` with {outer}",
                self.id
            )));
        }
        // The last track in use must exist, or nearly: the zone curve is an approximation.
        let tracks = self.get("tracks_per_surface") * self.get("heads");
        let mean = outer - (outer - inner) / (self.get("spt_shape_p") + 1.0);
        let holds = tracks * mean * self.get("sector_bytes_physical") / 512.0;
        let capacity = self.get("capacity_sectors");
        if capacity > holds * 1.03 {
            return Err(ModelError(format!(
                "`capacity_sectors` of drive model `{}` is {capacity:.0}, but its tracks hold only {holds:.0} sectors",
                self.id
            )));
        }
        let full_ms = self.get("seek_c_ms")
            + self.get("seek_e_ms_per_track") * self.get("tracks_per_surface");
        let longest_ms = SEEK_TURNS_MAX * 60e3 / self.get("rpm");
        for (key, ms) in [
            ("seek_e_ms_per_track", full_ms),
            ("seek_a_ms", self.get("seek_a_ms") + self.near_ms()),
        ] {
            if ms > longest_ms {
                return Err(ModelError(format!(
                    "`{key}` of drive model `{}` makes a seek of {ms:.1} ms; at most {longest_ms:.0} ms, {SEEK_TURNS_MAX} turns, can be modelled",
                    self.id
                )));
            }
        }
        if tracks >= f64::from(1 << 24) {
            return Err(ModelError(format!(
                "drive model `{}` has {tracks:.0} tracks over all heads; at most {} can be modelled",
                self.id,
                1 << 24
            )));
        }
        Ok(())
    }

    /// Acceleration part of the longest seek on the square-root side of the curve.
    fn near_ms(&self) -> f64 {
        let tracks = self
            .get("seek_d0_tracks")
            .min(self.get("tracks_per_surface"));
        self.get("seek_b_ms_per_sqrt_track") * libm::sqrt(tracks)
    }

    /// The running device; `instance` tells the drives of one system apart.
    pub fn build(&self, instance: u32) -> Result<Drive, ModelError> {
        self.check()?;
        Ok(match self.kind {
            Kind::Hdd => Drive::Hdd(Hdd::new(&self.hdd_parameters(instance))),
            Kind::Exact => Drive::Exact(Exact::new(ExactParameters {
                capacity: Sectors(self.get("capacity_sectors") as u64),
                sectors_per_track: self.get("sectors_per_track") as u64,
                depth: Depth(self.get("queue_depth") as u32),
                order: if self.get("earliest_end_first") == 0.0 {
                    Order::Arrival
                } else {
                    Order::EarliestEnd
                },
                read_ahead: self.get("read_ahead") != 0.0,
            })),
            Kind::Null => Drive::Null(Null::new(
                Sectors(self.get("capacity_sectors") as u64),
                Depth(self.get("queue_depth") as u32),
                Nanos((self.get("latency_us") * 1e3) as u64),
            )),
        })
    }

    fn hdd_parameters(&self, instance: u32) -> HddParameters {
        let ms = |key| Nanos((self.get(key) * 1e6) as u64);
        let kib = |key| Sectors((self.get(key) * 2.0) as u64);
        let per_physical = self.get("sector_bytes_physical") / 512.0;
        let age = ms("ncq_age_limit_ms");
        let write_cache = self.get("write_cache") != 0.0;
        HddParameters {
            rpm: self.get("rpm"),
            layout: Layout {
                capacity: Sectors(self.get("capacity_sectors") as u64),
                heads: self.get("heads") as u32,
                tracks_per_surface: self.get("tracks_per_surface") as u32,
                sectors_outer: self.get("spt_outer") * per_physical,
                sectors_inner: self.get("spt_inner") * per_physical,
                shape: self.get("spt_shape_p"),
                zones: self.get("zones") as u32,
                group_tracks: self.get("serpentine_tracks") as u32,
                skew_degrees: self.get("track_skew_deg"),
                interleave: self.get("interleave") as u32,
            },
            seek: SeekTimes {
                setup_ms: self.get("arm_setup_ms"),
                track_to_track_ms: self.get("seek_track_to_track_ms"),
                settle_tracks: self.get("seek_settle_tracks"),
                a_ms: self.get("seek_a_ms"),
                b_ms_per_sqrt_track: self.get("seek_b_ms_per_sqrt_track"),
                bend_tracks: self.get("seek_d0_tracks"),
                c_ms: self.get("seek_c_ms"),
                e_ms_per_track: self.get("seek_e_ms_per_track"),
                write_settle_ms: self.get("write_settle_extra_ms"),
            },
            command_overhead: ms("command_overhead_ms"),
            cached_overhead: ms("cached_overhead_ms"),
            link_bytes_per_second: self.get("interface_mb_s") * 1e6,
            link_overhead: Nanos((self.get("link_per_command_us") * 1e3) as u64),
            depth: Depth(self.get("ncq_depth") as u32),
            ncq_efficiency: self.get("ncq_efficiency"),
            age_limit: if age == Nanos::ZERO {
                Nanos::NEVER
            } else {
                age
            },
            segments: self.get("cache_segments") as usize,
            segment: kib("cache_segment_kib"),
            read_ahead: kib("read_ahead_kib"),
            dirty_extents: if write_cache {
                self.get("write_cache_commands") as usize
            } else {
                0
            },
            dirty_sectors: kib("write_cache_kib"),
            destage_delay: ms("destage_delay_ms"),
            physical_sectors: per_physical as u64,
            // Multiples of the golden ratio never come close to each other.
            start_angle: f64::from(instance) * 0.618_033_988_749_895,
        }
    }
}

/// Lower case letters and digits only: `WD RE WD2500YS` and `wd2500ys` differ in nothing that matters.
fn plain(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect()
}

/// The name closest to `wanted`, if one is close.
fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = plain(wanted);
    let scored = names.map(|name| (edits(&wanted, &plain(name)), name));
    let (distance, name) = scored.min_by_key(|(distance, _)| *distance)?;
    (distance <= wanted.len().max(3) / 3 + 1).then_some(name)
}

/// Levenshtein distance.
fn edits(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, letter) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}
