//! Rows and settings of a recording of an array: `time_ns,event,dev,op,sector,sectors,md_sector,proc`.

use seekwise_raid::md::raid5::{RmwLevel, PAGE};
use seekwise_raid::md::MdGeneration;
use seekwise_units::{Lba, Sectors, Version};
use std::collections::HashMap;
use std::path::Path;

pub const HEADER: &str = "time_ns,event,dev,op,sector,sectors,md_sector,proc";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayEvent {
    Queue,
    Done,
    Remap,
    Issue,
    Complete,
}

/// One row; `member` is None for the array itself.
#[derive(Clone, Debug)]
pub struct ArrayRow {
    pub line: usize,
    pub event: ArrayEvent,
    pub member: Option<u32>,
    pub write: bool,
    pub sync: bool,
    /// The superblock being written.
    pub metadata: bool,
    pub start: Lba,
    pub sectors: Sectors,
    pub array_start: Option<Lba>,
    /// Who caused it, as recorded; empty or `-` when unknown.
    pub process: String,
}

impl ArrayRow {
    /// The sector after its last one.
    pub fn end(&self) -> Lba {
        self.start + self.sectors
    }

    /// The row in words with its line number, for error messages.
    pub fn describe(&self) -> String {
        let direction = if self.write { "write" } else { "read" };
        let whom = self
            .member
            .map_or("array".into(), |member| format!("member {member}"));
        format!(
            "line {}: {direction} of {} sectors at {} on {whom}",
            self.line, self.sectors.0, self.start.0
        )
    }
}

/// All rows after the header; empty lines are skipped. The error names the line.
pub fn parse(text: &str) -> Result<Vec<ArrayRow>, String> {
    let mut lines = text.lines().enumerate();
    if lines
        .next()
        .is_none_or(|(_, header)| header.trim_end() != HEADER)
    {
        return Err(format!("line 1 is not the header {HEADER}"));
    }
    lines
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| {
            row(index + 1, line)
                .ok_or_else(|| format!("line {} is not a row of a recording: {line}", index + 1))
        })
        .collect()
}

fn row(line: usize, text: &str) -> Option<ArrayRow> {
    let fields: Vec<&str> = text.trim_end().split(',').collect();
    let [time, event, device, op, sector, sectors, array_sector, process] = fields[..] else {
        return None;
    };
    time.parse::<u64>().ok()?;
    let event = match event {
        "queue" => ArrayEvent::Queue,
        "done" => ArrayEvent::Done,
        "remap" => ArrayEvent::Remap,
        "issue" => ArrayEvent::Issue,
        "complete" => ArrayEvent::Complete,
        _ => return None,
    };
    Some(ArrayRow {
        line,
        event,
        member: if device == "md" {
            None
        } else {
            Some(device.parse().ok()?)
        },
        write: op.contains('W'),
        sync: op.contains('S') || !op.contains('W'),
        metadata: op.contains('M'),
        start: Lba(sector.parse().ok()?),
        sectors: Sectors(sectors.parse().ok()?),
        array_start: if array_sector.is_empty() {
            None
        } else {
            Some(Lba(array_sector.parse().ok()?))
        },
        process: process.to_string(),
    })
}

/// Pages that members were given, superblock writes apart.
pub fn count_pages(rows: &[ArrayRow]) -> u64 {
    let issued = rows
        .iter()
        .filter(|row| row.event == ArrayEvent::Issue && !row.metadata);
    issued.map(|row| row.sectors.0.div_ceil(PAGE)).sum()
}

/// The array as its `.conf` and folder tell it.
#[derive(Clone, Debug)]
pub struct ArrayConf {
    pub level: String,
    pub members: u32,
    pub chunk: Sectors,
    pub layout: u32,
    /// Where data begins on each member.
    pub offsets: Vec<Sectors>,
    pub rotational: bool,
    pub stripe_cache_size: u32,
    pub rmw_level: RmwLevel,
    pub member_sectors_max: Sectors,
    /// Data area of a member.
    pub member: Sectors,
    pub generation: MdGeneration,
}

/// Members of the published recordings (`md/README.md`).
const MEMBER_DEFAULT: Sectors = Sectors::from_kib(8 << 20);
const KERNEL_DEFAULT: &str = "6.1";

impl ArrayConf {
    /// Reads `text`, lines `key=value` of a `.conf`; `path` names the kernel where the text does not. The error is one sentence.
    pub fn parse(text: &str, path: &Path) -> Result<Self, String> {
        let values: HashMap<&str, &str> = text
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(key, value)| (key.trim(), value.trim()))
            .collect();
        let number = |key: &str, default: Option<u64>| match (values.get(key), default) {
            (Some(value), _) => value
                .parse::<u64>()
                .map_err(|_| format!("{key} is not a number: {value}")),
            (None, Some(default)) => Ok(default),
            (None, None) => Err(format!("{key} is missing in the .conf")),
        };
        let members = number("raid_disks", None)? as u32;
        let offsets = (0..members)
            .map(|member| number(&format!("dev-m{member}_offset"), Some(0)).map(Sectors))
            .collect::<Result<Vec<_>, _>>()?;
        let largest = offsets.iter().map(|offset| offset.0).max().unwrap_or(0);
        let kernel = values
            .get("kernel")
            .map_or_else(|| kernel_of(path), ToString::to_string);
        Ok(Self {
            level: values
                .get("level")
                .ok_or("level is missing in the .conf")?
                .to_string(),
            members,
            chunk: Sectors(number("chunk_size", Some(0))? / 512),
            layout: number("layout", Some(0))? as u32,
            offsets,
            rotational: number("rotational", Some(1))? != 0,
            stripe_cache_size: number("stripe_cache_size", Some(256))? as u32,
            rmw_level: match number("rmw_level", Some(1))? {
                0 => RmwLevel::Disabled,
                2 => RmwLevel::Preferred,
                _ => RmwLevel::Enabled,
            },
            member_sectors_max: Sectors(number("member_max_sectors_kb", Some(1280))? * 2),
            member: match values.get("component_size_kib") {
                Some(_) => Sectors(number("component_size_kib", None)? * 2),
                None => Sectors(MEMBER_DEFAULT.0 - largest),
            },
            generation: MdGeneration::of(Version::parse(&kernel)?),
        })
    }
}

/// The folder under `other-kernels/`, else 6.1.
fn kernel_of(path: &Path) -> String {
    let parts: Vec<_> = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    let place = parts.iter().position(|part| part == "other-kernels");
    place
        .and_then(|place| parts.get(place + 1).cloned())
        .unwrap_or_else(|| KERNEL_DEFAULT.into())
}
