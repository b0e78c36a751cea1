//! What holds for every drive and every list of commands.

use proptest::prelude::*;
use seekwise_device::{Command, CommandKind, Device, Drive, Model, Tag};
use seekwise_units::{Lba, Nanos, Sectors};
use std::collections::BTreeMap;

/// A command of a list: how long after the one before, where (as a share of the device), how much, and what.
#[derive(Clone, Debug)]
struct Step {
    after_us: u64,
    place: f64,
    sectors: u64,
    kind: CommandKind,
}

fn kinds() -> impl Strategy<Value = CommandKind> {
    prop_oneof![
        5 => Just(CommandKind::Read),
        3 => Just(CommandKind::Write { force_unit_access: false }),
        1 => Just(CommandKind::Write { force_unit_access: true }),
        1 => Just(CommandKind::Flush),
        1 => Just(CommandKind::Trim),
    ]
}

/// Places repeat, so that caches, joins and overwrites are met.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let place = prop_oneof![
        0.0..1.0,
        Just(0.5),
        Just(0.500_001),
        Just(1.0),
        (0..40u32).prop_map(|n| f64::from(n) / 1e6)
    ];
    let step = (0..30_000u64, place, 1..2049u64, kinds());
    prop::collection::vec(
        step.prop_map(|(after_us, place, sectors, kind)| Step {
            after_us,
            place,
            sectors,
            kind,
        }),
        1..120,
    )
}

/// Runs a list, keeping the depth; what was submitted and completed when.
fn play(drive: &mut Drive, steps: &[Step]) -> Vec<(Nanos, Nanos)> {
    let depth = drive.depth().0.min(256);
    let capacity = drive.capacity().0;
    let mut now = Nanos::ZERO;
    let mut free: Vec<u32> = (0..depth).rev().collect();
    let mut outstanding = BTreeMap::new();
    let mut finished = vec![];
    let complete =
        |drive: &mut Drive, outstanding: &mut BTreeMap<u32, Nanos>, finished: &mut Vec<_>| {
            let time = drive.next_completion().expect("commands are outstanding");
            let Tag(tag) = drive.complete_next(time);
            let sent = outstanding
                .remove(&tag)
                .expect("a completed command was outstanding, and completes once");
            assert!(time >= sent, "done before it was sent");
            finished.push((sent, time));
            (time, tag)
        };
    for step in steps {
        let due = now + Nanos::from_micros(step.after_us);
        while drive.next_completion().is_some_and(|time| time <= due) {
            let (time, tag) = complete(drive, &mut outstanding, &mut finished);
            assert!(time >= now, "time runs backwards");
            now = time;
            free.push(tag);
        }
        now = now.max(due);
        if free.is_empty() {
            let (time, tag) = complete(drive, &mut outstanding, &mut finished);
            now = now.max(time);
            free.push(tag);
        }
        let sectors = if step.kind == CommandKind::Flush {
            0
        } else {
            step.sectors.min(capacity)
        };
        let start = ((capacity - sectors) as f64 * step.place) as u64;
        let tag = free.pop().unwrap();
        outstanding.insert(tag, now);
        drive.submit(
            now,
            Command {
                tag: Tag(tag),
                kind: step.kind,
                start: Lba(start),
                sectors: Sectors(sectors),
            },
        );
    }
    while !outstanding.is_empty() {
        let (time, _) = complete(drive, &mut outstanding, &mut finished);
        assert!(time >= now, "time runs backwards");
        now = time;
    }
    assert_eq!(drive.next_completion(), None, "nothing is left");
    finished
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_command_completes_once_and_in_the_order_of_time(steps in steps(), which in 0..64usize, seed in 0..1000u32) {
        let ids: Vec<_> = Model::ids().collect();
        let model = Model::shipped(ids[which % ids.len()]).unwrap();
        let mut drive = Drive::new(&model, seed).unwrap();
        prop_assert_eq!(play(&mut drive, &steps).len(), steps.len());
    }

    #[test]
    fn the_same_list_gives_the_same_times(steps in steps(), which in 0..64usize) {
        let ids: Vec<_> = Model::ids().collect();
        let model = Model::shipped(ids[which % ids.len()]).unwrap();
        let once = play(&mut Drive::new(&model, 3).unwrap(), &steps);
        let again = play(&mut Drive::new(&model, 3).unwrap(), &steps);
        prop_assert_eq!(once, again);
    }

    #[test]
    fn an_arm_is_busy_no_longer_than_time_passes(steps in steps(), cache in 0..2u8, efficiency in 0.0..1.0f64, seed in 0..1000u32) {
        let mut model = Model::shipped("wd2500ys").unwrap();
        model.set("write_cache", f64::from(cache)).unwrap();
        model.set("ncq_efficiency", efficiency).unwrap();
        let mut drive = Drive::new(&model, seed).unwrap();
        let finished = play(&mut drive, &steps);
        let end = finished.iter().map(|(_, done)| *done).max().unwrap();
        let Drive::Hdd(disk) = &drive else { unreachable!() };
        // What the arm has begun when the last command is done may still be on its way: one seek, turn and transfer.
        prop_assert!(disk.busy() <= end + Nanos::from_millis(100), "{:?} of {:?}", disk.busy(), end);
    }

    /// Whatever a user sets, the answer is a device that works or a sentence, never a panic.
    #[test]
    fn any_parameters_give_a_working_drive_or_a_sentence(
        which in 0..64usize,
        changes in prop::collection::vec((0..64usize, 0.0..1.0f64, prop::bool::weighted(0.1)), 1..6),
        steps in steps(),
    ) {
        let ids: Vec<_> = Model::ids().collect();
        let mut model = Model::shipped(ids[which % ids.len()]).unwrap();
        let known: Vec<_> = model.known_parameters().collect();
        for (index, share, absurd) in changes {
            let (key, _, lo, hi, _) = known[index % known.len()];
            // Small values of wide ranges must be met as often as large ones.
            let value = if absurd { hi * 1e6 + 1.0 } else { lo + (hi - lo) * share.powi(6) };
            let mut changed = model.clone();
            match changed.set(key, value) {
                Ok(()) => model = changed,
                Err(error) => prop_assert!(error.0.contains('`') && !error.0.ends_with('.'), "{error}"),
            }
        }
        if let Ok(mut drive) = Drive::new(&model, 0) {
            prop_assert_eq!(play(&mut drive, &steps).len(), steps.len());
        }
    }
}

/// Reads answered from the read-ahead and reads that position must both end after they began, in any mixture with a
/// depth of one.
#[test]
fn a_depth_of_one_is_respected_by_every_model() {
    for id in Model::ids() {
        let mut drive = Drive::new(&Model::shipped(id).unwrap(), 0).unwrap();
        let mut now = Nanos::ZERO;
        for round in 0..500u64 {
            let start = if round % 3 == 0 {
                round * 7919 * 8 % (drive.capacity().0 - 64)
            } else {
                round * 8
            };
            drive.submit(
                now,
                Command {
                    tag: Tag(0),
                    kind: CommandKind::Read,
                    start: Lba(start),
                    sectors: Sectors(8),
                },
            );
            let done = drive.next_completion().unwrap();
            assert!(done >= now);
            assert_eq!(drive.complete_next(done), Tag(0));
            assert_eq!(drive.next_completion(), None);
            now = done;
        }
    }
}
