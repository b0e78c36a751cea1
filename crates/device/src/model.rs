//! A drive model: named numbers, each with unit, source and confidence, and the checks they must pass.
//!
//! Models are TOML files in `models/`, one per drive. Every parameter that a device reads is named in a table of this
//! module with its unit and the range in which it makes sense; anything outside is refused with a sentence.

mod physical;

use crate::hdd::seek::SEEK_TURNS_MAX;
use crate::hdd::Hdd;
use crate::null::Null;
use crate::ssd::Ssd;
use crate::Drive;
use seekwise_units::{Depth, Nanos, Sectors};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

/// The files of `models/`, by id.
pub const SHIPPED: &[(&str, &str)] = seekwise_models::DRIVES;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DriveKind {
    Hdd,
    Ssd,
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
    /// Published figures that this number was solved from: agreeing with them proves little.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fits: Vec<String>,
    /// Published figure that this number is, under another name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    pub id: String,
    pub name: String,
    pub kind: DriveKind,
    #[serde(default = "sata")]
    pub attachment: Attachment,
    /// It is the store of a guest's disk: `NAME/virtio` asks for that.
    #[serde(skip)]
    pub guest: bool,
    /// Other names under which it is found.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// What a reader should know about it, in sentences.
    #[serde(default)]
    pub notes: Vec<String>,
    #[serde(default)]
    pub parameters: BTreeMap<String, Parameter>,
    /// Other capacities or editions: what differs, by name. `NAME/VARIANT` asks for one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variants: BTreeMap<String, BTreeMap<String, Parameter>>,
}

/// A shipped model, read once: an array asks for the same one for each of its drives.
fn parsed(place: usize) -> Result<&'static Model, ModelError> {
    static READ: [OnceLock<Model>; SHIPPED.len()] = [const { OnceLock::new() }; SHIPPED.len()];
    if let Some(model) = READ[place].get() {
        return Ok(model);
    }
    let model = Model::parse(SHIPPED[place].1)?;
    Ok(READ[place].get_or_init(|| model))
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

/// Multiples of the golden ratio never come close to each other: where the spindles of an array stand at time zero.
const GOLDEN: f64 = 0.618_033_988_749_895;

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
    // A drive that sorts late: while fewer commands wait the oldest is next, and others only on the way to it.
    optional("ncq_sorts_from", "commands; 0 = always", 0.0, 32.0, 0.0),
    optional("cache_segments", "segments", 0.0, 32.0, 16.0),
    optional("cache_segment_kib", "KiB", 1.0, 32_768.0, 1024.0),
    optional("read_ahead_kib", "KiB", 0.0, 32_768.0, 512.0),
    optional("read_ahead_min_kib", "KiB", 0.0, 32_768.0, 64.0),
    // How far the arm goes on for reads that came after it: 0 for as long as they follow each other.
    optional("stay_kib", "KiB; 0 = no limit", 0.0, 32_768.0, 0.0),
    optional("write_cache", "0 or 1", 0.0, 1.0, 1.0),
    optional("write_cache_commands", "commands", 1.0, 128.0, 64.0),
    optional("write_cache_kib", "KiB", 4.0, 1_048_576.0, 8192.0),
    optional("destage_delay_ms", "ms", 0.0, 100_000.0, 8.0),
    optional(
        "logged_writes_per_turn",
        "writes; 0 = none are logged",
        0.0,
        64.0,
        0.0,
    ),
];

const SSD_RULES: &[Rule] = &[
    rule("capacity_sectors", "512 B sectors", 2048.0, 2e11),
    rule("queue_depth", "commands", 1.0, 65_536.0),
    rule("link_mb_s", "MB/s", 1.0, 100_000.0),
    optional("link_per_command_us", "us", 0.0, 10_000.0, 0.0),
    // Rate at which the data of a single read move; 0 where one command fills the link, or where it was not measured.
    optional(
        "command_mb_s",
        "MB/s; 0 = that of the link",
        0.0,
        100_000.0,
        0.0,
    ),
    optional("controller_read_us", "us", 0.0, 10_000.0, 0.0),
    optional("controller_write_us", "us", 0.0, 10_000.0, 0.0),
    rule("fw_read_us", "us", 0.0, 100_000.0),
    rule("fw_cached_us", "us", 0.0, 100_000.0),
    rule("fw_write_us", "us", 0.0, 100_000.0),
    optional("fw_large_read_us", "us", 0.0, 100_000.0, 0.0),
    optional("fw_large_read_kib", "KiB", 0.0, 1e6, 64.0),
    optional("controller_read_page_us", "us", 0.0, 10_000.0, 0.0),
    optional("fw_small_write_us", "us", 0.0, 100_000.0, 0.0),
    optional("fw_small_write_kib", "KiB", 0.0, 1e6, 32.0),
    rule("channels", "channels", 1.0, 256.0),
    rule("dies", "dies", 1.0, 4096.0),
    rule("nand_page_kib", "KiB", 0.5, 64.0),
    optional("channel_unit_kib", "KiB", 0.5, 64.0, 4.0),
    rule("nand_io_mb_s", "MB/s per channel", 1.0, 100_000.0),
    rule("t_read_us", "us", 0.1, 10_000.0),
    optional("t_read_step_us", "us", 0.0, 10_000.0, 0.0),
    // 0: as every other.
    optional("t_read_large_us", "us; 0 = t_read_us", 0.0, 10_000.0, 0.0),
    // 1: each read of a page by itself.
    optional("planes", "planes at once", 1.0, 64.0, 1.0),
    rule("program_unit_kib", "KiB", 0.5, 4096.0),
    rule("t_prog_us", "us", 0.1, 100_000.0),
    optional("t_prog_slc_us", "us", 0.1, 100_000.0, 250.0),
    optional("slc_cache_gb", "GB", 0.0, 10_000.0, 0.0),
    optional("t_erase_ms", "ms", 0.0, 1000.0, 4.0),
    optional("nand_block_mib", "MiB", 0.25, 1024.0, 24.0),
    optional("suspend_us", "us", 0.0, 100_000.0, 100.0),
    optional("write_buffer_kib", "KiB", 4.0, 1e7, 4096.0),
    optional("cleaned_kib", "KiB; 0 = told by the dies", 0.0, 1e7, 0.0),
    optional("cleaning_mb_s", "MB/s", 0.0, 100_000.0, 0.0),
    // 0: as beside writes.
    optional("cleaning_paused_mb_s", "MB/s", 0.0, 100_000.0, 0.0),
    optional("t_clean_us", "us", 0.0, 1e6, 0.0),
    optional("prefetch_kib", "KiB", 0.0, 1e6, 1024.0),
    rule("flush_us", "us", 0.0, 1e7),
    optional("fua_write_us", "us", 0.0, 1e7, 0.0),
    optional("power_loss_protection", "0 or 1", 0.0, 1.0, 0.0),
    optional("spare_fraction", "fraction of capacity", 0.02, 4.0, 0.07),
    optional("in_place", "0 or 1", 0.0, 1.0, 0.0),
    optional("aged", "0 or 1", 0.0, 1.0, 0.0),
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

impl DriveKind {
    /// What the kernel reports as `queue/rotational` for a drive of this kind.
    pub fn rotational(self) -> bool {
        self == Self::Hdd
    }

    fn rules(self) -> &'static [Rule] {
        match self {
            Self::Hdd => HDD_RULES,
            Self::Ssd => SSD_RULES,
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
        match name.rsplit_once('/') {
            Some((store, "virtio")) => {
                let mut model = Self::shipped(store)?;
                model.id = name.to_owned();
                model.name += ", under a guest's virtio disk";
                model.guest = true;
                Ok(model)
            }
            Some((name, variant)) => match name.strip_suffix("/virtio") {
                Some(store) => Err(ModelError(format!(
                    "`/virtio` stands last: write `{store}/{variant}/virtio`"
                ))),
                None => Self::named(name)?.variant(variant),
            },
            None => Self::named(name),
        }
    }

    /// The edition of this model called `name`.
    pub fn variant(mut self, name: &str) -> Result<Self, ModelError> {
        let Some(changes) = self.variants.remove(name) else {
            let known: Vec<&str> = self.variants.keys().map(String::as_str).collect();
            let known = if known.is_empty() {
                "it has none".into()
            } else {
                format!("it has {}", known.join(", "))
            };
            return Err(ModelError(format!(
                "the drive model `{}` has no edition `{name}`; {known}",
                self.id
            )));
        };
        self.parameters.extend(changes);
        self.name = format!("{}, edition {name}", self.name);
        self.variants.clear();
        self.check()?;
        Ok(self)
    }

    fn named(name: &str) -> Result<Self, ModelError> {
        let plain = plain(name);
        let same = |other: &str| self::plain(other) == plain;
        if let Some(place) = SHIPPED.iter().position(|(id, _)| same(id)) {
            return parsed(place).cloned();
        }
        let mut known: Vec<&str> = vec![];
        for place in 0..SHIPPED.len() {
            let model = parsed(place)?;
            if model.aliases.iter().any(|alias| same(alias)) {
                return Ok(model.clone());
            }
            known.push(&model.id);
            known.extend(model.aliases.iter().map(String::as_str));
        }
        Err(ModelError(match nearest(name, known.into_iter()) {
            Some(meant) => format!("no drive model is called `{name}`; did you mean `{meant}`"),
            None => format!(
                "no drive model is called `{name}`; there are {}",
                Self::ids().collect::<Vec<_>>().join(", ")
            ),
        }))
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
        for name in model.variants.keys() {
            model.clone().variant(name)?;
        }
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
            fits: vec![],
            reference: None,
        };
        self.parameters.insert(key.into(), parameter);
        self.check()
    }

    /// Every parameter that a device of this kind reads: key, unit, least, most, and its default if it has one.
    pub fn known_parameters(
        &self,
    ) -> impl Iterator<Item = (&'static str, &'static str, f64, f64, Option<f64>)> {
        self.kind
            .rules()
            .iter()
            .map(|rule| (rule.key, rule.unit, rule.lo, rule.hi, rule.default))
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
            // What a stated range holds is tried by who asks how much hangs on the parameter.
            let (low, high) = (
                parameter.lo.unwrap_or(parameter.value),
                parameter.hi.unwrap_or(parameter.value),
            );
            if !(low <= parameter.value && parameter.value <= high) {
                return Err(ModelError(format!(
                    "`{key}` of drive model `{}` is {}, outside its own range of {low} to {high} {}",
                    self.id, parameter.value, rule.unit
                )));
            }
            if low < rule.lo || high > rule.hi {
                return Err(ModelError(format!(
                    "the range of `{key}` of drive model `{}` is {low} to {high} {}; it must lie between {} and {} {}",
                    self.id, rule.unit, rule.lo, rule.hi, rule.unit
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
            DriveKind::Hdd => self.check_hdd(),
            DriveKind::Ssd | DriveKind::Null => Ok(()),
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
            DriveKind::Hdd => Drive::Hdd(Hdd::new(&self.hdd_parameters(instance))),
            DriveKind::Ssd => Drive::Ssd(Ssd::new(self.ssd_parameters())),
            DriveKind::Null => Drive::Null(Null::new(
                Sectors(self.get("capacity_sectors") as u64),
                Depth(self.get("queue_depth") as u32),
                Nanos((self.get("latency_us") * 1e3) as u64),
            )),
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_model_is_valid_and_found_by_each_of_its_names() {
        for id in Model::ids() {
            let model = Model::shipped(id).unwrap();
            assert_eq!(model.id, id);
            for alias in &model.aliases {
                assert_eq!(Model::shipped(alias).unwrap().id, id, "{alias}");
            }
            model.build(0).unwrap();
        }
    }

    #[test]
    fn a_misspelt_model_gets_a_suggestion() {
        let error = Model::shipped("exos_x81").unwrap_err();
        assert_eq!(
            error.0,
            "no drive model is called `exos_x81`; did you mean `exos_x18`"
        );
    }

    #[test]
    fn absurd_parameters_are_refused_by_name_and_unit() {
        for (model, key, value, said) in [
            (
                "wd2500ys",
                "rpm",
                0.0,
                "`rpm` of drive model `wd2500ys` is 0 rev/min",
            ),
            (
                "wd2500ys",
                "rpm",
                f64::NAN,
                "`rpm` of drive model `wd2500ys` is NaN rev/min",
            ),
            (
                "wd2500ys",
                "ncq_depth",
                33.0,
                "33 commands; it must lie between 1 and 32 commands",
            ),
            ("wd2500ys", "capacity_sectors", 1e11, "its tracks hold only"),
            ("wd2500ys", "spt_inner", 2000.0, "more than `spt_outer`"),
            (
                "wd2500ys",
                "seek_e_ms_per_track",
                1.0,
                "turns, can be modelled",
            ),
            (
                "samsung_850_evo",
                "t_read_us",
                -1.0,
                "`t_read_us` of drive model `samsung_850_evo` is -1 us",
            ),
            ("null", "latency_us", 1e30, "us; it must lie between"),
        ] {
            let error = Model::shipped(model).unwrap().set(key, value).unwrap_err();
            assert!(error.0.contains(said), "{key} = {value}: {error}");
        }
        let error = Model::shipped("wd2500ys")
            .unwrap()
            .set("ncq_dept", 4.0)
            .unwrap_err();
        assert!(error.0.ends_with("did you mean `ncq_depth`"), "{error}");
    }

    #[test]
    fn both_ends_of_every_stated_range_can_be_tried() {
        let mut tried = 0;
        for (name, _) in SHIPPED {
            let model = Model::shipped(name).unwrap();
            for (key, parameter) in &model.parameters {
                for end in parameter.lo.into_iter().chain(parameter.hi) {
                    // Surfaces, tracks and sectors hang together: fewer of one need more of another.
                    let short = |error: &ModelError| error.0.contains("its tracks hold only");
                    if let Some(error) = model.clone().set(key, end).err().filter(|e| !short(e)) {
                        panic!("{name}: {key} = {end}: {error}");
                    }
                    tried += 1;
                }
            }
        }
        assert!(tried > 100, "{tried}");
    }

    #[test]
    fn a_range_that_cannot_be_tried_is_refused() {
        let text = SHIPPED.iter().find(|(name, _)| *name == "wd2500ys");
        let with = |range| {
            let text = text.unwrap().1.replace("lo = 32, hi = 128", range);
            Model::parse(&text).map(|_| ()).unwrap_err().0
        };
        let beyond = with("lo = 32, hi = 129");
        assert!(
            beyond.contains("is 32 to 129 commands; it must lie between 1 and 128"),
            "{beyond}"
        );
        let beside = with("lo = 65, hi = 128");
        assert!(
            beside.contains("is 64, outside its own range of 65 to 128"),
            "{beside}"
        );
    }

    #[test]
    fn a_variant_changes_what_it_names_only() {
        let whole = Model::shipped("samsung_850_evo").unwrap();
        let half = Model::shipped("850 EVO/250").unwrap();
        assert_eq!(half.get("dies"), 16.0);
        assert_eq!(half.get("t_read_us"), whole.get("t_read_us"));
        assert!(Model::shipped("850 EVO/300").is_err());
    }
}
