//! Several sequential readers on one disk, and what waits behind them.

use seekwise_device::{Command, CommandKind, Device, Drive, Model, Tag};
use seekwise_units::{Lba, Nanos, Sectors};
use std::collections::VecDeque;

const TURNAROUND: Nanos = Nanos::from_micros(20);
const FORCED: CommandKind = CommandKind::Write {
    force_unit_access: true,
};
const CACHED: CommandKind = CommandKind::Write {
    force_unit_access: false,
};

fn drive(id: &str, changes: &[(&str, f64)]) -> Drive {
    let mut model = Model::shipped(id).unwrap();
    for (key, value) in changes {
        model.set(key, *value).unwrap();
    }
    Drive::new(&model, 0).unwrap()
}

fn command(tag: u32, kind: CommandKind, start: u64, sectors: u64) -> Command {
    Command {
        tag: Tag(tag),
        kind,
        start: Lba(start),
        sectors: Sectors(sectors),
    }
}

/// Readers with one command outstanding each, `apart` sectors apart, for twenty seconds, since a stream that comes first keeps its lead for some; MB/s of each.
fn readers(drive: &mut Drive, count: u32, block: u64, apart: u64) -> Vec<f64> {
    let mut done = vec![0u64; count as usize];
    let mut ready: VecDeque<(Nanos, u32)> = (0..count)
        .map(|reader| (Nanos(u64::from(reader)), reader))
        .collect();
    let mut now = Nanos::ZERO;
    while now < Nanos::from_millis(20_000) {
        let completion = drive.next_completion().unwrap_or(Nanos::NEVER);
        if let Some(&(time, reader)) = ready.front().filter(|(time, _)| *time < completion) {
            ready.pop_front();
            let at = u64::from(reader) * apart + done[reader as usize] * block;
            drive.submit(time, command(reader, CommandKind::Read, at, block));
            now = time;
        } else {
            now = completion;
            let reader = drive.complete_next(now).0;
            done[reader as usize] += 1;
            ready.push_back((now + TURNAROUND, reader));
        }
    }
    let mb_s = |blocks: u64| (blocks * block) as f64 * 512.0 / 1e6 / now.as_secs_f64();
    done.into_iter().map(mb_s).collect()
}

/// Runs deep adjacent reads with one other command among them, and says how long that one took.
fn wait_behind_reads(drive: &mut Drive, prepare: &[Command], other: Command) -> Nanos {
    const DEPTH: u32 = 8;
    let mut now = Nanos::ZERO;
    for write in prepare {
        drive.submit(now, *write);
        now = drive.next_completion().unwrap();
        drive.complete_next(now);
    }
    let mut next = 1_000_000;
    let mut read = |drive: &mut Drive, now: Nanos, tag: u32| {
        drive.submit(now, command(tag, CommandKind::Read, next, 128));
        next += 128;
    };
    for tag in 0..DEPTH {
        read(drive, now, tag);
    }
    let sent = now;
    drive.submit(sent, other);
    loop {
        now = drive.next_completion().unwrap();
        let tag = drive.complete_next(now);
        if tag == other.tag {
            return now - sent;
        }
        assert!(
            now - sent < Nanos::from_millis(30_000),
            "still waiting after half a minute"
        );
        read(drive, now, tag.0);
    }
}

#[test]
fn a_write_behind_deep_adjacent_reads_is_served_when_it_reaches_the_age_limit() {
    for write_cache in [0.0, 1.0] {
        let mut drive = drive(
            "wd2500ys",
            &[("ncq_age_limit_ms", 400.0), ("write_cache", write_cache)],
        );
        let took = wait_behind_reads(&mut drive, &[], command(20, FORCED, 400_000_000, 8));
        assert!(took < Nanos::from_millis(450), "{took:?}");
    }
}

#[test]
fn a_flush_behind_deep_adjacent_reads_is_served_when_it_reaches_the_age_limit() {
    let mut drive = drive("wd2500ys", &[("ncq_age_limit_ms", 400.0)]);
    let dirty: Vec<Command> = (0..10)
        .map(|n| command(0, CACHED, n * 40_000_000 + 8, 8))
        .collect();
    let took = wait_behind_reads(&mut drive, &dirty, command(20, CommandKind::Flush, 0, 0));
    // Ten places, each at most a whole stroke and a turn.
    assert!(took > Nanos::from_millis(20), "{took:?}");
    assert!(took < Nanos::from_millis(400 + 10 * 27), "{took:?}");
}

#[test]
fn a_write_that_waits_for_room_is_let_in_when_it_reaches_the_age_limit() {
    let changes = [
        ("ncq_age_limit_ms", 400.0),
        ("write_cache_commands", 4.0),
        ("destage_delay_ms", 100.0),
    ];
    let mut drive = drive("wd2500ys", &changes);
    let dirty: Vec<Command> = (0..4)
        .map(|n| command(0, CACHED, n * 40_000_000 + 8, 8))
        .collect();
    let took = wait_behind_reads(&mut drive, &dirty, command(20, CACHED, 450_000_000, 8));
    assert!(took < Nanos::from_millis(450), "{took:?}");
}

#[test]
fn readers_far_apart_share_the_disk_and_none_is_forgotten() {
    for (id, block) in [("wd2500ys", 8), ("generic_1tb_sata", 256), ("exos_x18", 32)] {
        for count in [2, 4, 8, 31] {
            let rates = readers(&mut drive(id, &[]), count, block, 4_000_000);
            let (least, most) = rates
                .iter()
                .fold((f64::MAX, 0.0_f64), |(least, most), rate| {
                    (least.min(*rate), most.max(*rate))
                });
            assert!(
                least > 0.1 * most,
                "{id}, {count} readers: {least:.2} to {most:.2} MB/s"
            );
        }
    }
}

/// What the drive reads on, before it turns to the next reader, is there for this one's next commands.
#[test]
fn small_sequential_reads_of_several_readers_live_on_the_read_ahead() {
    let rate = |kib: f64| -> f64 {
        let mut drive = drive("wd2500ys", &[("read_ahead_min_kib", kib)]);
        readers(&mut drive, 4, 8, 4_000_000).iter().sum()
    };
    let (none, some, more) = (rate(0.0), rate(64.0), rate(256.0));
    assert!(
        some > 8.0 * none && more > 2.0 * some,
        "{none:.1}, {some:.1}, {more:.1} MB/s"
    );
}

/// Two readers of 128 KiB: each command waits for the other's, and then for the platter to come round again.
#[test]
fn two_sequential_readers_fall_to_a_turn_for_each_command() {
    let mut drive = drive("generic_1tb_sata", &[("read_ahead_min_kib", 0.0)]);
    let rates = readers(&mut drive, 2, 256, 4_000_000);
    let turns = rates.iter().sum::<f64>() * 1e6 / 131_072.0 / 120.0;
    assert!(
        (0.75..1.1).contains(&turns),
        "{turns:.2} commands a turn, {rates:.1?} MB/s"
    );
}

/// A reader who takes less than the platters give is never waited for, wherever they stand at first.
#[test]
fn a_slower_reader_reads_at_his_own_pace_at_every_phase() {
    const THINKS: Nanos = Nanos::from_micros(2_500);
    for phase in 0..16 {
        let mut drive = Drive::new(&Model::shipped("st3250620ns").unwrap(), phase).unwrap();
        let mut now = Nanos::ZERO;
        for block in 0..2_000 {
            drive.submit(now, command(0, CommandKind::Read, block * 256, 256));
            let done = drive.next_completion().unwrap();
            drive.complete_next(done);
            now = done + THINKS;
        }
        let alone = THINKS.as_millis_f64() * 2_000.0;
        let waited = now.as_millis_f64() / alone - 1.0;
        assert!(
            waited < 0.4,
            "phase {phase}: {:.0} % longer",
            waited * 100.0
        );
    }
}

#[test]
fn random_reads_do_not_pay_for_the_read_ahead_of_streams() {
    use seekwise_device::measure::{run, Load, Pattern};
    let rate = |kib: f64| {
        let mut drive = drive("wd2500ys", &[("read_ahead_min_kib", kib)]);
        let load = Load {
            pattern: Pattern::Random,
            kind: CommandKind::Read,
            block: Sectors(8),
            depth: 8,
            first: Lba(0),
            span: drive.capacity(),
            turnaround: TURNAROUND,
            core: Nanos::ZERO,
            warm_up: 100,
            commands: 5_000,
            seed: 5,
        };
        run(&mut drive, Nanos::ZERO, &load).iops()
    };
    let (without, with) = (rate(0.0), rate(512.0));
    assert!(
        (with / without - 1.0).abs() < 0.005,
        "{without:.1} and {with:.1} a second"
    );
}

/// A hit far beyond the read-ahead that is running, in another segment, does not lead it there: it ends where it would have ended.
#[test]
fn a_hit_in_another_segment_does_not_lead_the_read_ahead_to_it() {
    const FAR: u64 = 400_000_000;
    let held_after = |hit: bool| {
        let mut drive = drive("exos_x18", &[]);
        let mut now = Nanos::ZERO;
        let mut read = |drive: &mut Drive, wait: u64, at: u64| {
            now += Nanos::from_millis(wait);
            drive.submit(now, command(0, CommandKind::Read, at, 256));
            let from = now;
            now = drive.next_completion().unwrap();
            drive.complete_next(now);
            now - from
        };
        read(&mut drive, 0, FAR);
        read(&mut drive, 50, 0);
        if hit {
            assert!(read(&mut drive, 1, FAR + 256) < Nanos::from_millis(1));
        }
        // The last of what it reads ahead; had it gone on for so long, its segment would have forgotten that.
        read(&mut drive, 100, 2_048)
    };
    assert!(held_after(false) < Nanos::from_millis(1));
    assert!(held_after(true) < Nanos::from_millis(1));
}
