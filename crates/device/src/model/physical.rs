//! A model's numbers in the units and types of the devices.

use super::{Attachment, Model, GOLDEN};
use crate::hdd::geometry::Layout;
use crate::hdd::seek::SeekTimes;
use crate::hdd::HddParameters;
use crate::ssd::SsdParameters;
use seekwise_units::{Depth, Nanos, Sectors};

impl Model {
    pub(super) fn ssd_parameters(&self) -> SsdParameters {
        let us = |key| Nanos((self.get(key) * 1e3) as u64);
        let kib = |key| (self.get(key) * 1024.0) as u64;
        let on = |key| self.get(key) != 0.0;
        SsdParameters {
            capacity: Sectors(self.get("capacity_sectors") as u64),
            depth: Depth(self.get("queue_depth") as u32),
            link_bytes_per_second: self.get("link_mb_s") * 1e6,
            command_bytes_per_second: match self.get("command_mb_s") {
                0.0 => self.get("link_mb_s") * 1e6,
                // No slower than the slowest link.
                rate => rate.max(1.0) * 1e6,
            },
            half_duplex: self.attachment != Attachment::Nvme,
            link_overhead: us("link_per_command_us"),
            read_interval: us("controller_read_us"),
            write_interval: us("controller_write_us"),
            read_firmware: us("fw_read_us"),
            cached_firmware: us("fw_cached_us"),
            write_firmware: us("fw_write_us"),
            large_read_extra: us("fw_large_read_us"),
            large_read_bytes: kib("fw_large_read_kib"),
            small_write_extra: us("fw_small_write_us"),
            small_write_bytes: kib("fw_small_write_kib"),
            read_page_interval: us("controller_read_page_us"),
            channels: self.get("channels") as u32,
            dies: self.get("dies") as u32,
            page_bytes: kib("nand_page_kib"),
            channel_unit_bytes: kib("channel_unit_kib"),
            channel_bytes_per_second: self.get("nand_io_mb_s") * 1e6,
            read_time: us("t_read_us"),
            read_time_step: us("t_read_step_us"),
            large_read_time: match us("t_read_large_us") {
                Nanos::ZERO => us("t_read_us"),
                own => own,
            },
            planes: self.get("planes") as u32,
            program_bytes: kib("program_unit_kib"),
            program_time: us("t_prog_us"),
            slc_program_time: us("t_prog_slc_us"),
            slc_bytes: (self.get("slc_cache_gb") * 1e9) as u64,
            erase_time: Nanos((self.get("t_erase_ms") * 1e6) as u64),
            block_bytes: kib("nand_block_mib") * 1024,
            suspend_time: us("suspend_us"),
            buffer_bytes: kib("write_buffer_kib"),
            cleaned_bytes: kib("cleaned_kib"),
            cleaning_bytes_per_second: self.get("cleaning_mb_s") * 1e6,
            paused_cleaning_bytes_per_second: self.get("cleaning_paused_mb_s") * 1e6,
            cleaning_time: us("t_clean_us"),
            prefetch_bytes: kib("prefetch_kib"),
            flush_time: us("flush_us"),
            takes_forced_writes: self.attachment == Attachment::Nvme,
            forced_write_time: match us("fua_write_us") {
                Nanos::ZERO => us("flush_us"),
                own => own,
            },
            power_loss_protection: on("power_loss_protection"),
            spare: self.get("spare_fraction"),
            in_place: on("in_place"),
            aged: on("aged"),
        }
    }

    pub(super) fn hdd_parameters(&self, instance: u32) -> HddParameters {
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
            sorts_from: self.get("ncq_sorts_from") as usize,
            segments: self.get("cache_segments") as usize,
            segment: kib("cache_segment_kib"),
            read_ahead: kib("read_ahead_kib"),
            read_ahead_min: kib("read_ahead_min_kib"),
            stay: Some(kib("stay_kib")).filter(|stay| stay.0 > 0),
            dirty_extents: if write_cache {
                self.get("write_cache_commands") as usize
            } else {
                0
            },
            dirty_sectors: kib("write_cache_kib"),
            destage_delay: ms("destage_delay_ms"),
            logged_write: match self.get("logged_writes_per_turn") {
                0.0 => Nanos::ZERO,
                writes => Nanos((60e9 / self.get("rpm") / writes) as u64),
            },
            physical_sectors: per_physical as u64,
            start_angle: f64::from(instance) * GOLDEN,
        }
    }
}
