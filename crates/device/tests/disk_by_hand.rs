//! Single commands on a disk whose times can be added up on paper, and on paper only.
//!
//! 6000 rpm: a turn takes 10 ms. 100 sectors on every track: 0.1 ms each. Two heads, groups of four tracks. A track
//! starts 36 degrees, 1 ms, after the one before. Every seek takes 2 ms plus 0.01 ms a track. A command is decoded in
//! 0.5 ms, and the link adds nothing.

use seekwise_device::{Command, CommandKind, Device, Drive, Model, Tag};
use seekwise_units::{Lba, Nanos, Sectors};

const MODEL: &str = r#"
id = "paper"
name = "paper disk"
kind = "hdd"
[parameters]
rpm = { value = 6000, source = "example", confidence = "definition" }
heads = { value = 2, source = "example", confidence = "definition" }
tracks_per_surface = { value = 4000, source = "example", confidence = "definition" }
spt_outer = { value = 100, source = "example", confidence = "definition" }
spt_inner = { value = 100, source = "example", confidence = "definition" }
serpentine_tracks = { value = 4, source = "example", confidence = "definition" }
zones = { value = 1, source = "example", confidence = "definition" }
track_skew_deg = { value = 36, source = "example", confidence = "definition" }
capacity_sectors = { value = 800000, source = "example", confidence = "definition" }
seek_track_to_track_ms = { value = 2.01, source = "example", confidence = "definition" }
seek_settle_tracks = { value = 1, source = "example", confidence = "definition" }
seek_a_ms = { value = 2.01, source = "example", confidence = "definition" }
seek_b_ms_per_sqrt_track = { value = 0, source = "example", confidence = "definition" }
seek_d0_tracks = { value = 1, source = "example", confidence = "definition" }
seek_c_ms = { value = 2.0, source = "example", confidence = "definition" }
seek_e_ms_per_track = { value = 0.01, source = "example", confidence = "definition" }
write_settle_extra_ms = { value = 1.0, source = "example", confidence = "definition" }
command_overhead_ms = { value = 0.5, source = "example", confidence = "definition" }
cached_overhead_ms = { value = 0.2, source = "example", confidence = "definition" }
interface_mb_s = { value = 10000, source = "example", confidence = "definition" }
link_per_command_us = { value = 0, source = "example", confidence = "definition" }
ncq_depth = { value = 32, source = "example", confidence = "definition" }
read_ahead_kib = { value = 100, source = "example", confidence = "definition" }
write_cache = { value = 0, source = "example", confidence = "definition" }
"#;

/// The link moves a sector in 51 ns; phase and seek are kept in steps of some nanoseconds.
const CLOSE: u64 = 2_000;

fn disk(changes: &[(&str, f64)]) -> Drive {
    let mut model = Model::parse(MODEL).unwrap();
    for (key, value) in changes {
        model.set(key, *value).unwrap();
    }
    Drive::new(&model, 0).unwrap()
}

fn submit(drive: &mut Drive, at: f64, tag: u32, kind: CommandKind, start: u64, sectors: u64) {
    let command = Command {
        tag: Tag(tag),
        kind,
        start: Lba(start),
        sectors: Sectors(sectors),
    };
    drive.submit(Nanos((at * 1e6) as u64), command);
}

fn read(drive: &mut Drive, at: f64, start: u64, sectors: u64) -> f64 {
    submit(drive, at, 0, CommandKind::Read, start, sectors);
    let done = drive.next_completion().unwrap();
    drive.complete_next(done);
    done.as_millis_f64()
}

#[track_caller]
fn assert_ms(got: f64, expected: f64) {
    assert!(
        (got - expected).abs() * 1e6 < CLOSE as f64,
        "{got} ms, on paper {expected} ms"
    );
}

const WRITE: CommandKind = CommandKind::Write {
    force_unit_access: false,
};

#[test]
fn one_rotation() {
    // Ready after 0.5 ms at angle 0.5 ms; sector 30 is at 3.0 ms; ten sectors.
    assert_ms(read(&mut disk(&[]), 0.0, 30, 10), 3.0 + 1.0);
    // Sector 2 has passed at 0.2 ms and comes again a turn later.
    assert_ms(read(&mut disk(&[]), 0.0, 2, 10), 10.2 + 1.0);
}

#[test]
fn one_seek() {
    // Track 8 of head 0 is the second band: cylinder 4, four tracks away, and 8 skews on: 8.0 ms. Sector 0 there.
    // Ready 0.5, seek 2.04, so at 2.54; the sector is at 8.0 ms.
    assert_ms(read(&mut disk(&[]), 0.0, 800, 1), 8.0 + 0.1);
    // Sector 50 is at 8 + 5 = 13, that is 3.0 ms in the turn: just in time.
    assert_ms(read(&mut disk(&[]), 0.0, 850, 1), 3.0 + 0.1);
    // At sector 44 the head would have to be there at 2.4 ms: a turn later.
    assert_ms(read(&mut disk(&[]), 0.0, 844, 1), 12.4 + 0.1);
}

#[test]
fn one_track_switch() {
    // From sector 95: 0.5 ms left of the track, the skew of 1 ms, half a millisecond of the next track.
    assert_ms(read(&mut disk(&[]), 0.0, 95, 10), 9.5 + 0.5 + 1.0 + 0.5);
}

#[test]
fn a_write_settles_longer_after_a_seek_and_not_without_one() {
    let mut drive = disk(&[]);
    // The head gets to the track of sector 850 at 2.54 ms, settles until 3.54 and has missed 3.0.
    submit(&mut drive, 0.0, 0, WRITE, 850, 1);
    assert_ms(drive.next_completion().unwrap().as_millis_f64(), 13.0 + 0.1);
    let mut drive = disk(&[]);
    submit(&mut drive, 0.0, 0, WRITE, 10, 1);
    assert_ms(drive.next_completion().unwrap().as_millis_f64(), 1.0 + 0.1);
}

#[test]
fn reading_on_makes_the_next_read_as_fast_as_the_platter() {
    let mut drive = disk(&[]);
    assert_ms(read(&mut drive, 0.0, 10, 10), 2.0);
    // A millisecond later the head is ten sectors further; fifteen more end 2.5 ms after the first read.
    assert_ms(read(&mut drive, 3.0, 20, 25), 4.5);
    // What has passed is in the cache: 0.2 ms of firmware.
    assert_ms(read(&mut drive, 6.0, 45, 10), 6.2);
}

#[test]
fn reading_on_stops_at_its_limit_and_the_rest_is_positioned_for() {
    let mut drive = disk(&[("read_ahead_kib", 10.0)]); // 20 sectors
    assert_ms(read(&mut drive, 0.0, 10, 10), 2.0);
    // At 6 ms sectors up to 40 are there; 40 comes round at 14.0 ms.
    assert_ms(read(&mut drive, 6.0, 30, 20), 14.0 + 1.0);
}

#[test]
fn reading_on_begins_again_when_there_is_room() {
    let mut drive = disk(&[("read_ahead_kib", 10.0)]); // 20 sectors
    assert_ms(read(&mut drive, 0.0, 10, 10), 2.0);
    // Sectors up to 40 are there. Ten of them taken, there is room for ten more: 40 comes round at 14.0 ms.
    assert_ms(read(&mut drive, 6.0, 20, 10), 6.2);
    // By 15.0 ms they are all there, and the next are taken from the buffer.
    assert_ms(read(&mut drive, 15.5, 30, 20), 15.7);
    // While it is on its way the next reader waits for no more than that.
    let mut drive = disk(&[("read_ahead_kib", 10.0)]);
    read(&mut drive, 0.0, 10, 10);
    read(&mut drive, 6.0, 20, 10);
    assert_ms(read(&mut drive, 7.0, 30, 20), 14.0 + 1.0);
    // Elsewhere it is as if nothing had been begun: sector 80 is at 18.0 ms.
    let mut drive = disk(&[("read_ahead_kib", 10.0)]);
    read(&mut drive, 0.0, 10, 10);
    read(&mut drive, 6.0, 20, 10);
    assert_ms(read(&mut drive, 10.0, 80, 10), 18.0 + 1.0);
}

#[test]
fn the_nearest_of_those_that_wait_is_next() {
    let mut drive = disk(&[("ncq_efficiency", 1.0)]);
    submit(&mut drive, 0.0, 0, CommandKind::Read, 30, 1);
    // While it is served come one half a turn on and one a quarter of a turn on, on the same track.
    submit(&mut drive, 0.1, 1, CommandKind::Read, 80, 1);
    submit(&mut drive, 0.2, 2, CommandKind::Read, 55, 1);
    let mut order = vec![];
    while let Some(time) = drive.next_completion() {
        let Tag(tag) = drive.complete_next(time);
        order.push((tag, (time.as_millis_f64() * 10.0).round() / 10.0));
    }
    assert_eq!(order, [(0, 3.1), (2, 5.6), (1, 8.1)]);
}

/// Completions as (tag, tenths of a millisecond).
fn finish(drive: &mut Drive) -> Vec<(u32, f64)> {
    let mut done = vec![];
    while let Some(time) = drive.next_completion() {
        let Tag(tag) = drive.complete_next(time);
        done.push((tag, (time.as_millis_f64() * 10.0).round() / 10.0));
    }
    done
}

#[test]
fn a_queued_read_that_the_stream_passes_while_it_is_decoded_loses_no_turn() {
    let mut drive = disk(&[("ncq_efficiency", 1.0)]);
    // Sectors 30 to 39 end at 4.0 ms. The next ten come 0.1 ms before: decoded at 4.4 ms, passed at 5.0.
    submit(&mut drive, 0.0, 0, CommandKind::Read, 30, 10);
    submit(&mut drive, 3.9, 1, CommandKind::Read, 40, 10);
    // Two sectors that have passed long before they are decoded: firmware, 0.2 ms, behind the stream's own command.
    submit(&mut drive, 3.95, 2, CommandKind::Read, 50, 2);
    assert_eq!(finish(&mut drive), [(0, 4.0), (1, 5.0), (2, 5.2)]);
}

#[test]
fn a_queued_read_of_what_has_just_been_read_needs_no_platter() {
    let mut drive = disk(&[]);
    submit(&mut drive, 0.0, 0, CommandKind::Read, 30, 10);
    submit(&mut drive, 1.0, 1, CommandKind::Read, 32, 4);
    assert_eq!(finish(&mut drive), [(0, 4.0), (1, 4.0)]);
}

#[test]
fn a_stream_is_nearer_than_a_seek_until_the_other_command_is_overdue() {
    for (limit, order) in [(0.0, [0, 1, 3, 2]), (2.0, [0, 2, 1, 3])] {
        let mut drive = disk(&[("ncq_efficiency", 1.0), ("ncq_age_limit_ms", limit)]);
        submit(&mut drive, 0.0, 0, CommandKind::Read, 30, 10);
        // Waits from 0.1 ms on, so it is overdue at 4.0 ms if the limit is 2 ms.
        submit(&mut drive, 0.1, 2, CommandKind::Read, 4000, 1);
        submit(&mut drive, 3.0, 1, CommandKind::Read, 40, 10);
        submit(&mut drive, 3.1, 3, CommandKind::Read, 50, 10);
        let tags: Vec<u32> = finish(&mut drive).iter().map(|(tag, _)| *tag).collect();
        assert_eq!(tags, order, "age limit {limit} ms");
    }
}

#[test]
fn what_lies_between_two_reads_of_a_stream_is_kept() {
    let mut drive = disk(&[("ncq_efficiency", 1.0)]);
    submit(&mut drive, 0.0, 0, CommandKind::Read, 30, 10);
    submit(&mut drive, 1.0, 1, CommandKind::Read, 60, 10);
    assert_eq!(finish(&mut drive), [(0, 4.0), (1, 7.0)]);
    assert_ms(read(&mut drive, 8.0, 45, 10), 8.2);
}

#[test]
fn without_skill_the_order_is_that_of_arrival() {
    let mut drive = disk(&[("ncq_efficiency", 0.0)]);
    submit(&mut drive, 0.0, 0, CommandKind::Read, 30, 1);
    submit(&mut drive, 0.1, 1, CommandKind::Read, 80, 1);
    submit(&mut drive, 0.2, 2, CommandKind::Read, 55, 1);
    let mut order = vec![];
    while let Some(time) = drive.next_completion() {
        order.push(drive.complete_next(time).0);
    }
    assert_eq!(order, [0, 1, 2]);
}

#[test]
fn a_flush_waits_until_the_dirty_data_are_on_the_platter() {
    let mut drive = disk(&[("write_cache", 1.0), ("destage_delay_ms", 100_000.0)]);
    submit(&mut drive, 0.0, 0, WRITE, 30, 10);
    let accepted = drive.next_completion().unwrap();
    assert_ms(accepted.as_millis_f64(), 0.2);
    drive.complete_next(accepted);
    submit(&mut drive, 1.0, 1, CommandKind::Flush, 0, 0);
    assert_ms(drive.next_completion().unwrap().as_millis_f64(), 4.0);
}

#[test]
fn a_read_of_dirty_data_needs_no_platter() {
    let mut drive = disk(&[("write_cache", 1.0), ("destage_delay_ms", 100_000.0)]);
    submit(&mut drive, 0.0, 0, WRITE, 5000, 10);
    let accepted = drive.next_completion().unwrap();
    drive.complete_next(accepted);
    assert_ms(read(&mut drive, 1.0, 5002, 4), 1.2);
}

#[test]
fn writes_to_a_full_cache_wait_for_the_platter() {
    let mut drive = disk(&[
        ("write_cache", 1.0),
        ("write_cache_commands", 2.0),
        ("destage_delay_ms", 100_000.0),
    ]);
    for (tag, start) in [(0, 1000), (1, 2000), (2, 3000)] {
        submit(&mut drive, 0.0, tag, WRITE, start, 1);
    }
    let mut done = vec![];
    while let Some(time) = drive.next_completion() {
        done.push((drive.complete_next(time).0, time.as_millis_f64()));
    }
    assert_eq!(
        done.iter().map(|(tag, _)| *tag).collect::<Vec<_>>(),
        [0, 1, 2]
    );
    assert!(done[1].1 < 0.3, "two fit");
    assert!(done[2].1 > 2.0, "the third waits for a seek");
}

#[test]
fn a_write_of_half_a_physical_sector_costs_a_turn_more() {
    let whole = disk(&[
        ("capacity_sectors", 90_000.0),
        ("spt_inner", 12.0),
        ("spt_outer", 12.0),
        ("sector_bytes_physical", 4096.0),
    ]);
    let mut times = vec![];
    for start in [16, 17] {
        let mut drive = whole.clone();
        submit(&mut drive, 0.0, 0, WRITE, start, 8);
        times.push(drive.next_completion().unwrap().as_millis_f64());
    }
    assert!((times[1] - times[0] - 10.0).abs() < 0.2, "{times:?}");
}
