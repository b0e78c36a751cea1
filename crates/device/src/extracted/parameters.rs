//! What an extracted model says about its drive, and whether it can be so.
//!
//! The names say what a number means; DiskSim's own names for them stand in the importer
//! (`python/seekwise/trace/disksim/drive.py`). All times are in ms.

use super::layout::Layout;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extracted {
    pub layout: Layout,
    pub mechanics: Mechanics,
    pub buffer: Buffer,
    pub overhead: Overhead,
    pub bus: Bus,
    /// Commands that the drive takes at once; it serves them in the order of arrival.
    #[serde(default = "one")]
    pub queue_depth: u32,
}

fn one() -> u32 {
    1
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mechanics {
    pub rpm: f64,
    pub head_switch_ms: f64,
    pub write_settle_ms: f64,
    /// Half a turn for every access instead of the way to the sector.
    #[serde(default)]
    pub average_rotation: bool,
    /// Cylinders and the time to move over them, rising; between two points in proportion.
    pub seek: Vec<(u32, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadAhead {
    None,
    ToTrackEnd,
    ToCylinderEnd,
    ToSegmentEnd,
    /// To the end of the track; with a second read in a row from one track to the next, to the end of that one too.
    TrackByTrack,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    pub segments: u32,
    pub write_segments: u32,
    pub segment_sectors: u64,
    pub separate_write_segment: bool,
    pub caching: bool,
    pub read_hits_on_written: bool,
    pub read_ahead: ReadAhead,
    pub read_ahead_min_sectors: u64,
    /// 0: a segment's length.
    pub read_ahead_max_sectors: u64,
    pub read_ahead_on_idle_hit: bool,
    /// Parts of a segment or request that must be there before the drive asks for the bus again.
    pub read_watermark: f64,
    pub write_watermark: f64,
    pub watermark_by_request: bool,
    /// A write is done when its data are in the buffer.
    pub fast_write: bool,
    pub combine_writes: bool,
    pub zero_latency_read: bool,
    pub zero_latency_write: bool,
    pub stop_read_ahead_in_sector: bool,
    pub partial_hit_at_once: bool,
    pub hold_bus_read: bool,
    pub hold_bus_write: bool,
    pub never_disconnect: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Overhead {
    pub request: f64,
    pub read_hit_after_read: f64,
    pub read_hit_after_write: f64,
    pub read_miss_after_read: f64,
    pub read_miss_after_write: f64,
    pub write_hit_after_read: f64,
    pub write_hit_after_write: f64,
    pub write_miss_after_read: f64,
    pub write_miss_after_write: f64,
    pub read_completion: f64,
    pub write_completion: f64,
    pub data_preparation: f64,
    pub first_reselect: f64,
    pub other_reselect: f64,
    pub read_disconnect_after_read: f64,
    pub read_disconnect_after_write: f64,
    pub write_disconnect: f64,
    pub minimum_seek: f64,
    /// A write that follows an unrelated write gives up the bus once more before its data.
    pub extra_disconnect: bool,
    pub extra_command: f64,
    pub extra_first_disconnect: f64,
    pub extra_pause: f64,
    pub extra_second_disconnect: f64,
    pub extra_seek: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bus {
    pub read_sector_ms: f64,
    pub write_sector_ms: f64,
}

fn within(what: &str, value: f64, low: f64, high: f64) -> Result<(), String> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(format!(
        "{what} is {value}; it must lie between {low} and {high}"
    ))
}

impl Extracted {
    /// The reason in one sentence why there can be no such drive.
    pub fn check(&self) -> Result<(), String> {
        let (mechanics, buffer, bus) = (&self.mechanics, &self.buffer, &self.bus);
        let segments = f64::from(buffer.segments);
        let (most, least) = (
            buffer.read_ahead_max_sectors as f64,
            buffer.read_ahead_min_sectors as f64,
        );
        for (what, value, low, high) in [
            ("rpm", mechanics.rpm, 300.0, 30_000.0),
            ("head_switch_ms", mechanics.head_switch_ms, 0.0, 200.0),
            ("write_settle_ms", mechanics.write_settle_ms, -20.0, 100.0),
            ("queue_depth", f64::from(self.queue_depth), 1.0, 256.0),
            ("segments", segments, 1.0, 256.0),
            (
                "write_segments",
                f64::from(buffer.write_segments),
                1.0,
                segments,
            ),
            ("segment_sectors", buffer.segment_sectors as f64, 1.0, 1e7),
            ("read_ahead_max_sectors", most, 0.0, 1e7),
            ("read_ahead_min_sectors", least, 0.0, 1e7),
            ("read_watermark", buffer.read_watermark, 0.0, 1.0),
            ("write_watermark", buffer.write_watermark, 0.0, 1.0),
            ("read_sector_ms", bus.read_sector_ms, 0.0, 100.0),
            ("write_sector_ms", bus.write_sector_ms, 0.0, 100.0),
        ] {
            within(what, value, low, high)?;
        }
        if buffer.separate_write_segment && buffer.segments < 2 {
            return Err("a separate write segment needs a second segment for reads".into());
        }
        if self.mechanics.seek.is_empty() {
            return Err("the seek curve has no points".into());
        }
        for pair in self.mechanics.seek.windows(2) {
            if pair[1].0 <= pair[0].0 {
                return Err(format!(
                    "the seek curve goes from {} to {} cylinders",
                    pair[0].0, pair[1].0
                ));
            }
        }
        for &(cylinders, ms) in &self.mechanics.seek {
            within(
                &format!("the seek time over {cylinders} cylinders"),
                ms,
                0.0,
                500.0,
            )?;
        }
        self.check_overheads()
    }

    fn check_overheads(&self) -> Result<(), String> {
        let o = &self.overhead;
        for (name, ms) in [
            ("request", o.request),
            ("read_hit_after_read", o.read_hit_after_read),
            ("read_hit_after_write", o.read_hit_after_write),
            ("read_miss_after_read", o.read_miss_after_read),
            ("read_miss_after_write", o.read_miss_after_write),
            ("write_hit_after_read", o.write_hit_after_read),
            ("write_hit_after_write", o.write_hit_after_write),
            ("write_miss_after_read", o.write_miss_after_read),
            ("write_miss_after_write", o.write_miss_after_write),
            ("read_completion", o.read_completion),
            ("write_completion", o.write_completion),
            ("data_preparation", o.data_preparation),
            ("first_reselect", o.first_reselect),
            ("other_reselect", o.other_reselect),
            ("read_disconnect_after_read", o.read_disconnect_after_read),
            ("read_disconnect_after_write", o.read_disconnect_after_write),
            ("write_disconnect", o.write_disconnect),
            ("minimum_seek", o.minimum_seek),
            ("extra_command", o.extra_command),
            ("extra_first_disconnect", o.extra_first_disconnect),
            ("extra_pause", o.extra_pause),
            ("extra_second_disconnect", o.extra_second_disconnect),
            ("extra_seek", o.extra_seek),
        ] {
            if !(0.0..=1000.0).contains(&ms) {
                return Err(format!(
                    "the overhead `{name}` is {ms} ms; it must lie between 0 and 1000 ms"
                ));
            }
        }
        Ok(())
    }
}
