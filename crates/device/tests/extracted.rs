//! This test will serve commands on a small extracted disk whose times can be worked out by hand: 10 ms a turn, 100 sectors a track
//! (0.1 ms each), two surfaces, 1 ms to the next cylinder, no skew unless said.

use proptest::prelude::*;
use seekwise_device::{Command, CommandKind, Device, Drive, Model, Tag};
use seekwise_units::{Lba, Nanos, Sectors};

const MODEL: &str = r#"
id = "small"
name = "Small"
kind = "extracted"
[extracted.mechanics]
rpm = 6000
head_switch_ms = 0.5
write_settle_ms = 0.25
seek = [[1, 1.0], [9, 5.0]]
[extracted.buffer]
segments = 2
write_segments = 1
segment_sectors = 64
separate_write_segment = false
caching = true
read_hits_on_written = true
read_ahead = "to_segment_end"
read_ahead_min_sectors = 0
read_ahead_max_sectors = 32
read_ahead_on_idle_hit = false
read_watermark = 0.0
write_watermark = 0.0
watermark_by_request = true
fast_write = FAST
combine_writes = true
zero_latency_read = ZERO
zero_latency_write = false
stop_read_ahead_in_sector = true
partial_hit_at_once = true
hold_bus_read = false
hold_bus_write = false
never_disconnect = false
[extracted.overhead]
read_miss_after_read = 0.3
read_hit_after_read = 0.2
write_hit_after_read = 0.4
write_miss_after_read = 0.4
[extracted.bus]
read_sector_ms = 0.01
write_sector_ms = 0.01
[extracted.layout]
surfaces = 2
cylinders = 10
[[extracted.layout.zones]]
first_cylinder = 0
last_cylinder = 9
sectors_per_track = 100
track_skew_sectors = 10
cylinder_skew_sectors = 20
"#;

fn drive(fast: bool, zero_latency: bool) -> Drive {
    let text = MODEL
        .replace("FAST", &fast.to_string())
        .replace("ZERO", &zero_latency.to_string());
    Drive::new(&Model::parse(&text).unwrap(), 0).unwrap()
}

fn serve(drive: &mut Drive, at_us: u64, write: bool, start: u64, sectors: u64) -> f64 {
    let kind = if write {
        CommandKind::Write {
            force_unit_access: false,
        }
    } else {
        CommandKind::Read
    };
    let now = Nanos(at_us * 1000);
    drive.submit(
        now,
        Command {
            tag: Tag(0),
            kind,
            start: Lba(start),
            sectors: Sectors(sectors),
        },
    );
    let done = drive.next_completion().unwrap();
    drive.complete_next(done);
    (done - now).as_millis_f64()
}

fn near(left: f64, right: f64) {
    assert!(
        (left - right).abs() < 0.001,
        "{left} ms instead of {right} ms"
    );
}

#[test]
fn a_read_waits_for_its_sector_and_the_bus_follows_the_platter() {
    // Overhead to 0.3 ms, sector 50 starts to pass at 5 ms; the bus ends a sector after the platter.
    near(serve(&mut drive(false, false), 0, false, 50, 4), 5.4 + 0.01);
}

#[test]
fn a_seek_of_one_cylinder_takes_its_time_and_the_skews_move_the_sectors() {
    // On track from 1.3 ms. The first sector of cylinder 1: one change of track and one of cylinder later, at 3 ms.
    near(
        serve(&mut drive(false, false), 0, false, 200, 1),
        3.1 + 0.01,
    );
}

#[test]
fn what_was_read_ahead_comes_out_of_the_buffer() {
    let mut drive = drive(false, false);
    serve(&mut drive, 0, false, 0, 4);
    // 32 sectors more are there after 20 ms.
    near(serve(&mut drive, 40_000, false, 4, 8), 0.2 + 0.08);
    // The rest of what was read ahead; beyond it the platter must come round.
    assert!(serve(&mut drive, 80_000, false, 500, 4) > 1.0);
}

#[test]
fn a_fast_write_is_done_when_its_data_are_in_the_buffer_and_the_next_read_waits_for_the_platter() {
    let mut drive = drive(true, false);
    near(serve(&mut drive, 0, true, 50, 4), 0.4 + 0.04);
    // The arm is busy until 5.4 ms; then the way to cylinder 1, ready at 6.4 ms, its first sector at 13 ms.
    near(serve(&mut drive, 1000, false, 200, 1), 12.1 + 0.01);
    // Written sectors are read from the buffer.
    near(serve(&mut drive, 40_000, false, 200, 1), 0.2 + 0.01);
}

#[test]
fn a_slow_write_is_done_when_it_is_on_the_platter() {
    near(serve(&mut drive(false, false), 0, true, 50, 4), 5.4);
}

#[test]
fn a_drive_that_reads_from_anywhere_needs_one_turn_for_a_whole_track() {
    // At 0.3 ms sector 3 is next: 3 to 99, then 0 to 2, and all of it is there; the bus has two sectors behind it by then.
    let whole = serve(&mut drive(false, true), 0, false, 0, 100);
    near(whole, 10.3 + 0.98);
    let waits = serve(&mut drive(false, false), 0, false, 0, 100);
    near(waits, 20.0 + 0.01);
}

#[test]
fn a_model_that_cannot_be_is_refused_with_its_reason() {
    for (from, to, said) in [
        ("rpm = 6000", "rpm = 6", "rpm is 6"),
        ("seek = [[1, 1.0], [9, 5.0]]", "seek = []", "no points"),
        (
            "seek = [[1, 1.0], [9, 5.0]]",
            "seek = [[9, 1.0], [1, 5.0]]",
            "goes from 9 to 1",
        ),
        ("segments = 2", "segments = 0", "segments is 0"),
        (
            "last_cylinder = 9",
            "last_cylinder = 10",
            "has 10 cylinders",
        ),
        (
            "read_hit_after_read = 0.2",
            "read_hit_after_read = nan",
            "read_hit_after_read",
        ),
    ] {
        let text = MODEL
            .replace("FAST", "true")
            .replace("ZERO", "true")
            .replace(from, to);
        let error = Model::parse(&text).unwrap_err().0;
        assert!(error.contains(said) && error.contains("small"), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Every command completes once, after it came, in bounded time, whatever the load.
    #[test]
    fn every_command_completes_once_and_in_time(
        fast: bool,
        zero: bool,
        requests in prop::collection::vec((any::<bool>(), 0u64..1990, 1u64..10, 0u64..20_000), 1..60),
    ) {
        let mut drive = drive(fast, zero);
        let mut now = 0;
        for (write, start, sectors, gap) in requests {
            let ms = serve(&mut drive, now, write, start, sectors);
            prop_assert!(ms > 0.0 && ms < 100.0, "{ms}");
            now += (ms * 1000.0) as u64 + gap + 1;
        }
        prop_assert_eq!(drive.next_completion(), None);
    }
}
