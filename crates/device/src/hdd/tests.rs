use super::*;
use crate::{Drive, Model};
use proptest::prelude::*;

proptest! {
    #[test]
    fn steps_lead_to_the_completions_that_are_foretold(
        commands in prop::collection::vec((0u64..2_000_000, 1u64..600, 0u8..10, 0u64..30_000_000), 50..300),
    ) {
        let model = Model::shipped("st3250620ns").unwrap();
        let Drive::Hdd(mut disk) = Drive::new(&model, 1).unwrap() else {
            panic!("a hard disk")
        };
        let mut stepping = disk.clone();
        let mut free: Vec<u32> = (0..disk.depth().0).collect();
        let mut now = Nanos::ZERO;
        for (start, sectors, kind, pause) in commands {
            let until = now + Nanos(pause);
            while let Some(due) = disk.next_completion().filter(|due| *due <= until || free.is_empty()) {
                let tag = disk.complete_next(due);
                let mut stepped = None;
                while stepped.is_none() {
                    let step = stepping.next_event().unwrap();
                    prop_assert!(step <= due);
                    stepped = stepping.advance(step).map(|tag| (tag, step));
                }
                prop_assert_eq!(stepped, Some((tag, due)));
                prop_assert_eq!(disk.next, stepping.next);
                free.push(tag.0);
                now = due;
            }
            now = now.max(until);
            let kind = match kind {
                0..=4 => CommandKind::Read,
                9 => CommandKind::Flush,
                _ => CommandKind::Write { force_unit_access: false },
            };
            let command = Command { tag: Tag(free.pop().unwrap()), kind, start: Lba(start * 8), sectors: Sectors(sectors) };
            disk.submit(now, command);
            // Steps that are due by now come first, as the event loop takes them.
            while let Some(step) = stepping.next_event().filter(|step| *step <= now) {
                prop_assert_eq!(stepping.advance(step), None);
            }
            stepping.submit(now, command);
        }
        prop_assert_eq!(format!("{:?}", disk.state), format!("{:?}", stepping.state));
    }
}

proptest! {
    #[test]
    fn an_arm_that_turns_away_does_what_it_would_with_a_stream(
        commands in prop::collection::vec((0u64..400_000, 1u64..300, 0u8..10, 0u64..12_000_000), 50..300),
    ) {
        let model = Model::shipped("st3250620ns").unwrap();
        let Drive::Hdd(mut disk) = Drive::new(&model, 1).unwrap() else {
            panic!("a hard disk")
        };
        let mut free: Vec<u32> = (0..disk.depth().0).collect();
        let mut now = Nanos::ZERO;
        for (start, sectors, kind, pause) in commands {
            let until = now + Nanos(pause);
            while let Some(due) = disk.next_completion().filter(|due| *due <= until || free.is_empty()) {
                let mut long = disk.clone();
                let tag = disk.complete_next(due);
                free.push(tag.0);
                now = due;
                long.state.advance(&long.mechanics, due);
                if let ArmWork::Command { read: true, start, end, media_end, completion, segment, .. } = long.state.work {
                    if completion == due && completion < long.state.link.next() {
                        let (mechanics, state) = (&long.mechanics, &mut *long.state);
                        (state.work, state.free_at) = (ArmWork::Idle, media_end);
                        let segment = state.segments.store(start, end, segment);
                        state.begin_stream(mechanics, end, segment, media_end);
                        state.decide(mechanics);
                        prop_assert_eq!(format!("{:?}", long.state), format!("{:?}", disk.state));
                    }
                }
            }
            now = now.max(until);
            let kind = match kind {
                0..=6 => CommandKind::Read,
                9 => CommandKind::Flush,
                _ => CommandKind::Write { force_unit_access: false },
            };
            // Every third one goes on where the one before it may have ended: streams are recognised.
            let start = if start % 3 == 0 { start / 3 % 64 * sectors } else { start };
            disk.submit(now, Command { tag: Tag(free.pop().unwrap()), kind, start: Lba(start * 8), sectors: Sectors(sectors) });
        }
    }
}

proptest! {
    #[test]
    fn what_is_foreseen_is_what_a_copy_does(
        steps in prop::collection::vec((0u64..2_000_000, 1u64..600, 0u8..10, 0u64..4), 50..400),
        reads in 0u8..4,
    ) {
        let model = Model::shipped("st3250620ns").unwrap();
        let Drive::Hdd(mut disk) = Drive::new(&model, 1).unwrap() else {
            panic!("a hard disk")
        };
        let depth = disk.depth().0;
        let mut free: Vec<u32> = (0..depth).collect();
        let mut now = Nanos::ZERO;
        for (start, sectors, kind, pause) in steps {
            if free.is_empty() || pause == 0 && free.len() < depth as usize {
                now = disk.next_completion().unwrap();
                free.push(disk.complete_next(now).0);
            }
            let kind = match kind {
                _ if kind < reads => CommandKind::Read,
                9 => CommandKind::Flush,
                _ => CommandKind::Write { force_unit_access: false },
            };
            let tag = Tag(free.pop().unwrap());
            disk.submit(now, Command { tag, kind, start: Lba(start * 8), sectors: Sectors(sectors) });
            if disk.look_ahead_at_writes().is_some() && disk.state.has_waiting() {
                prop_assert_eq!(disk.look_ahead(), disk.run_ahead());
            }
        }
    }
}
