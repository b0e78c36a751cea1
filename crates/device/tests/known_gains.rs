//! Three drives of which it is known what shortest-access ordering gains them, built from their own figures.
//!
//! Source: DiskSim 4.0's IBM DNES-309170W, Quantum Atlas III and Seagate ST32171W (model files and seek tables), run in DiskSim with 4 KiB
//! random reads in a closed loop and shortest access first in the drive. What is taken from there: the shape, the
//! times of seeks over one track, a tenth, a third and the whole of the stroke, and the rate at depth 1, which fixes
//! the only thing not published, the time per command. The gains are what the model has to say for itself.
//!
//! What the drives say about that time: all of it stands in front of the arm. If decoding overlapped with the arm's
//! work, depth 2 would gain 4 to 10 % (it gains 0 to 4 %), and depth 32 would gain 2.2 (it gains 1.85).

use seekwise_device::hdd::{geometry::Layout, seek::SeekTimes, Hdd, HddParameters};
use seekwise_device::measure::{run, Load, Pattern};
use seekwise_device::{CommandKind, Device};
use seekwise_units::{Depth, Lba, Nanos, Sectors};

struct Known {
    name: &'static str,
    heads: u32,
    cylinders: u32,
    /// Sectors per track, outside and inside.
    sectors: (f64, f64),
    skew_ms: f64,
    /// Milliseconds over one cylinder, a tenth, a third and the whole of the stroke.
    seeks: [f64; 4],
    single: f64,
    /// Requests a second at depth 2, 4, 8, 16 and 32.
    queued: [f64; 5],
}

const DRIVES: [Known; 3] = [
    Known {
        name: "IBM DNES-309170W",
        heads: 5,
        cylinders: 11_474,
        sectors: (390.0, 247.0),
        skew_ms: 1.24,
        seeks: [1.06, 5.12, 7.73, 12.9],
        single: 80.1,
        queued: [81.7, 102.5, 117.9, 133.6, 152.1],
    },
    Known {
        name: "Quantum Atlas III",
        heads: 10,
        cylinders: 8_057,
        sectors: (256.0, 168.0),
        skew_ms: 2.44,
        seeks: [1.66, 5.66, 8.58, 15.4],
        single: 75.0,
        queued: [75.0, 95.0, 109.8, 122.9, 137.3],
    },
    Known {
        name: "Seagate ST32171W",
        heads: 5,
        cylinders: 5_172,
        sectors: (186.0, 119.0),
        skew_ms: 1.66,
        seeks: [1.94, 6.17, 9.58, 16.7],
        single: 66.0,
        queued: [68.8, 86.0, 98.8, 109.8, 120.3],
    },
];

const DEPTHS: [u32; 5] = [2, 4, 8, 16, 32];

/// The line through a third and the whole of the stroke, and the square root that touches it and passes the tenth.
fn seeks(known: &Known, overhead_ms: f64) -> SeekTimes {
    let stroke = f64::from(known.cylinders);
    let [one, tenth, third, full] = known.seeks;
    let slope = (full - third) / (stroke * 2.0 / 3.0);
    let line = full - slope * stroke;
    let root = (stroke / 10.0).sqrt();
    // Tangent: c = a + b^2 / 4e, with a = tenth - b * root; solved for b.
    let quarter = 1.0 / (4.0 * slope);
    let b = (root + (root * root - 4.0 * quarter * (tenth - line)).sqrt()) / (2.0 * quarter);
    SeekTimes {
        setup_ms: overhead_ms,
        track_to_track_ms: one,
        settle_tracks: 5.0,
        a_ms: tenth - b * root,
        b_ms_per_sqrt_track: b,
        bend_tracks: (b / (2.0 * slope)).powi(2),
        c_ms: line,
        e_ms_per_track: slope,
        write_settle_ms: 0.0,
    }
}

/// The drive with so much time per command in front of the arm, and so much that overlaps with the arm's work.
fn drive(known: &Known, arm_ms: f64, decode_ms: f64) -> Hdd {
    let (outer, inner) = known.sectors;
    let tracks = f64::from(known.cylinders) * f64::from(known.heads);
    Hdd::new(&HddParameters {
        rpm: 7200.0,
        layout: Layout {
            capacity: Sectors((tracks * (outer + inner) / 2.0) as u64),
            heads: known.heads,
            tracks_per_surface: known.cylinders,
            sectors_outer: outer,
            sectors_inner: inner,
            shape: 1.0,
            zones: 11,
            group_tracks: 1,
            skew_degrees: known.skew_ms / 8.333 * 360.0,
            interleave: 1,
        },
        seek: seeks(known, arm_ms),
        command_overhead: Nanos((decode_ms * 1e6) as u64),
        cached_overhead: Nanos::from_micros(100),
        // Wide SCSI at 40 MB/s less protocol.
        link_bytes_per_second: 30e6,
        link_overhead: Nanos::from_micros(8),
        depth: Depth(32),
        ncq_efficiency: 1.0,
        age_limit: Nanos::NEVER,
        sorts_from: 0,
        logged_write: Nanos::ZERO,
        segments: 0,
        segment: Sectors(64),
        read_ahead: Sectors(0),
        read_ahead_min: Sectors(0),
        stay: None,
        dirty_extents: 0,
        dirty_sectors: Sectors(0),
        destage_delay: Nanos::ZERO,
        physical_sectors: 1,
        start_angle: 0.0,
    })
}

fn rate(drive: &Hdd, depth: u32) -> f64 {
    let load = Load {
        pattern: Pattern::Random,
        kind: CommandKind::Read,
        block: Sectors(8),
        depth,
        first: Lba(0),
        span: drive.capacity(),
        turnaround: Nanos::from_micros(20),
        core: Nanos::ZERO,
        warm_up: 200,
        commands: 40_000,
        seed: 3,
    };
    run(&mut drive.clone(), Nanos::ZERO, &load).iops()
}

/// Time per command with which the drive reaches its rate at depth 1.
fn overhead_ms(known: &Known) -> f64 {
    let bare = rate(&drive(known, 0.0, 0.0), 1);
    1000.0 / known.single - 1000.0 / bare
}

#[test]
fn drives_of_known_gain_gain_it_at_every_depth() {
    for known in &DRIVES {
        let drive = drive(known, overhead_ms(known), 0.0);
        let single = rate(&drive, 1);
        assert!((single / known.single - 1.0).abs() < 0.01, "{single}");
        for (depth, expected) in DEPTHS.into_iter().zip(known.queued) {
            let got = rate(&drive, depth);
            assert!(
                (got / expected - 1.0).abs() < 0.085,
                "{} at depth {depth}: {got:.1} a second, known {expected}",
                known.name
            );
        }
    }
}

#[test]
fn overhead_that_overlapped_with_the_arm_would_gain_more_than_drives_do() {
    for known in &DRIVES {
        let overhead = overhead_ms(known);
        let serial = rate(&drive(known, overhead, 0.0), 32) / known.queued[4];
        let overlapped = rate(&drive(known, 0.0, overhead), 32) / known.queued[4];
        assert!(
            overlapped > 1.12 && serial < overlapped - 0.05,
            "{}: {serial:.3} and {overlapped:.3} of the known rate",
            known.name
        );
    }
}
