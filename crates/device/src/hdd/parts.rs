//! What the time of each access was made of, told afterwards from when commands were given and done: for pictures of a traced run.
//!
//! ```text
//!   given ─ waits for the arm ─┬─ seek ─ rotation ─ transfer ─ done
//!                              └─ previous access done
//! ```
//!
//! Exact: seek (the curve over the tracks between two accesses) and transfer. The rest of the time is rotation, as far as a turn goes, with
//! decoding and the link; what is longer is the drive's own work in between, that is writing cached data to the platters. What was done sooner than seek and transfer
//! take did not come from the platters.
//!
//! Not modelled: where the arm was left by work of the drive's own; the access after it then shows a wrong seek, and a rotation that makes
//! up for it.

use super::ncq::Head;
use super::Hdd;
use seekwise_units::{Lba, Nanos, Sectors};

/// Two ways to the same moment may differ by so much.
const ROUNDING: Nanos = Nanos(1_000);

/// A command as its host saw it.
#[derive(Clone, Copy, Debug)]
pub struct ObservedCommand {
    pub start: Lba,
    pub sectors: Sectors,
    pub write: bool,
    pub given: Nanos,
    pub done: Nanos,
}

/// The parts of the time from when the arm could turn to a command until it was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessParts {
    pub seek: Nanos,
    pub rotation: Nanos,
    pub transfer: Nanos,
    /// Work of the drive's own in between.
    pub own: Nanos,
    /// Cylinders that the arm moved.
    pub cylinders: u32,
    /// Not from the platters: read from the drive's buffer, or taken into its write cache. All other parts are zero.
    pub cached: bool,
}

/// Commands in the order in which they were done.
pub fn parts(disk: &Hdd, commands: &[ObservedCommand]) -> Vec<AccessParts> {
    let mut head = Head::default();
    let mut free = Nanos::ZERO;
    let mechanics = &disk.mechanics;
    commands
        .iter()
        .map(|seen| {
            let extent = mechanics.geometry.extent(seen.start, seen.sectors);
            let cylinders = extent.first.cylinder.abs_diff(head.cylinder);
            let stays = extent.first.track == head.track;
            let settle = if seen.write {
                mechanics.curve.write_settle
            } else {
                0
            };
            let ticks = if stays {
                0
            } else {
                mechanics.curve.ticks(cylinders.max(1)) + settle
            };
            let seek = mechanics.spindle.time_of(ticks);
            let spent = seen.done - free.max(seen.given).min(seen.done);
            // From the drive's memory: command and link take no longer, or the arm could not have been there and back.
            let answer = mechanics.cached_overhead + mechanics.link_time(seen.sectors);
            let moved = !stays && spent < seek + extent.transfer;
            if spent <= answer + ROUNDING || moved {
                return AccessParts {
                    cached: true,
                    ..AccessParts::default()
                };
            }
            free = seen.done;
            head = Head {
                cylinder: extent.last_cylinder,
                track: extent.last_track,
            };
            let seek = seek.min(spent);
            let least = extent.transfer.min(spent - seek);
            let rest = spent - seek - least;
            let turn = mechanics.spindle.turn();
            // Decoding and the link come on top of a turn; what is longer still was work of another kind.
            let command = mechanics.command_overhead + mechanics.link_time(seen.sectors);
            let own = if rest > turn + command {
                rest - turn
            } else {
                Nanos::ZERO
            };
            let rotation = (rest - own).min(turn);
            let transfer = least + (rest - own - rotation);
            AccessParts {
                seek,
                rotation,
                transfer,
                own,
                cylinders,
                cached: false,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Command, CommandKind, Device, Drive, Model};

    fn disk() -> Hdd {
        let model = Model::shipped("st3250620ns").unwrap();
        match Drive::new(&model, 3).unwrap() {
            Drive::Hdd(disk) => disk,
            _ => panic!("a hard disk"),
        }
    }

    /// Reads one after the other, each given when the one before is done.
    fn read(starts: &[u64], sectors: u64) -> Vec<(ObservedCommand, AccessParts)> {
        let mut disk = disk();
        let mut now = Nanos::ZERO;
        let seen: Vec<ObservedCommand> = starts
            .iter()
            .map(|&start| {
                let given = now;
                let (start, sectors) = (Lba(start), Sectors(sectors));
                disk.submit(given, Command::of(0, CommandKind::Read, start, sectors));
                now = disk.next_completion().unwrap();
                disk.complete_next(now);
                ObservedCommand {
                    start,
                    sectors,
                    write: false,
                    given,
                    done: now,
                }
            })
            .collect();
        let parts = parts(&disk, &seen);
        seen.into_iter().zip(parts).collect()
    }

    #[test]
    fn parts_add_up_to_the_time_and_no_rotation_is_longer_than_a_turn() {
        let capacity = disk().geometry().capacity().0;
        let starts: Vec<u64> = (1..200)
            .map(|i| (i * 7_919_111_113) % (capacity - 64))
            .collect();
        for (seen, parts) in read(&starts, 8) {
            assert!(!parts.cached);
            let sum = parts.seek + parts.rotation + parts.transfer + parts.own;
            assert_eq!(sum, seen.done - seen.given);
            assert_eq!(
                parts.own,
                Nanos::ZERO,
                "an idle drive does nothing of its own"
            );
        }
    }

    #[test]
    fn a_read_in_the_buffer_moves_nothing() {
        let found = read(&[4096, 4104, 4112], 8);
        assert!(!found[0].1.cached);
        assert!(found[1].1.cached && found[2].1.cached);
    }

    #[test]
    fn a_far_access_seeks_as_long_as_the_curve_says() {
        let disk = disk();
        let last = disk.geometry().capacity().0 - 64;
        let found = read(&[0, last], 8);
        let tracks = found[1].1.cylinders;
        assert_eq!(
            tracks,
            disk.cylinder_of(Lba(last)) - disk.cylinder_of(Lba(0))
        );
        let curve = disk
            .mechanics
            .spindle
            .time_of(disk.mechanics.curve.ticks(tracks));
        assert_eq!(found[1].1.seek, curve);
    }
}
