//! A resync or a rebuild beside the load: what it reads and writes, and how md holds it back.
//!
//! A resync goes through the array in order: of mirrors it reads the first copy and writes the others, of stripes with parity it reads
//! all members (the parity is right, so nothing is written). A rebuild reads what the new member lacks and writes it there.
//! After each 128 KiB the speed since a mark of up to 30 s ago is compared: above the maximum it sleeps half a second; above the minimum,
//! when others used the members meanwhile, it lets its own requests drain (before 4.2: sleeps half a second, too). Others are noticed by sectors that a
//! member has completed less those that the resync has *issued* there: what it has under way hides as much of theirs (up to 6.15).
//! Source: Linux v6.1 and v2.6.23 drivers/md/md.c (md_do_sync, is_mddev_idle, SYNC_MARKS, SYNC_MARK_STEP).
//! Not modelled: checkpoints, the barrier between a resync and writes to the region under way, check and repair runs.

use crate::md::MdGeneration;
use seekwise_units::{Nanos, Sectors};
use std::collections::VecDeque;

/// `speed_limit_min` and `speed_limit_max` of md, per member in KiB/s.
pub const MIN_KIB_S: u64 = 1_000;
pub const MAX_KIB_S: u64 = 200_000;
/// Between two looks at the speed: 32 pages.
const CHECK: Sectors = Sectors::from_kib(128);
const MARKS: usize = 10;
const MARK_STEP: Nanos = Nanos::from_secs(3);
const PAUSE: Nanos = Nanos::from_millis(500);
/// What others may have moved on a member for the array to be idle still; up to 2.6.25 a margin for what the resync has under way.
const IDLE_SECTORS: i64 = 64;
const OLD_IDLE_SECTORS: i64 = 4096;

#[derive(Clone, Copy, Debug)]
pub struct Speed {
    pub min_kib_s: u64,
    pub max_kib_s: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Runs,
    Sleeps,
    /// Until nothing of its own is under way.
    Drains,
    Done,
}

/// Pace and place of the resync; what a step means on the members is the array's business.
pub struct Resync {
    speed: Speed,
    drains: bool,
    state: State,
    pub due: Nanos,
    /// Next place, in the sectors by which the array is gone through, its end, and sectors of a step.
    pub next: u64,
    end: u64,
    pub step: Sectors,
    /// Steps under way, at most `steps_max`.
    in_flight: u32,
    steps_max: u32,
    checked: u64,
    marks: VecDeque<(Nanos, u64)>,
    others: Vec<i64>,
    idle_sectors: i64,
    /// Sectors of each member that it has gone through.
    pub through: u64,
}

impl Resync {
    /// A resync from 0 to `end` in steps of `step`, at most `steps_max` at once; `end` is in the sectors by which the array is gone through.
    pub fn new(
        generation: MdGeneration,
        speed: Speed,
        end: u64,
        step: Sectors,
        steps_max: u32,
    ) -> Self {
        Self {
            speed,
            drains: generation >= MdGeneration::Linux4_4,
            state: State::Runs,
            due: Nanos::ZERO,
            next: 0,
            end,
            step,
            in_flight: 0,
            steps_max,
            checked: 0,
            marks: VecDeque::from([(Nanos::ZERO, 0)]),
            others: Vec::new(),
            idle_sectors: if generation == MdGeneration::Linux2_6_23 {
                OLD_IDLE_SECTORS
            } else {
                IDLE_SECTORS
            },
            through: 0,
        }
    }

    /// A step is to be taken now: where it begins and how long it is. None when it has to wait; then `due` says until when. `others` lists for each
    /// member the sectors that it has completed less those that the resync has issued.
    pub fn begin_step(&mut self, now: Nanos, others: impl Fn(&mut Vec<i64>)) -> Option<(u64, u64)> {
        if self.state == State::Sleeps {
            self.state = State::Runs;
            self.look(now, &others);
        }
        if self.state == State::Drains && self.in_flight == 0 {
            self.state = State::Runs;
        }
        if self.state != State::Runs {
            return None;
        }
        if self.next >= self.end {
            self.state = State::Done;
            self.due = Nanos::NEVER;
            return None;
        }
        if self.in_flight >= self.steps_max {
            self.due = Nanos::NEVER;
            return None;
        }
        let length = self.step.0.min(self.end - self.next);
        let from = self.next;
        self.next += length;
        self.through += length;
        self.in_flight += 1;
        if self.through >= self.checked + CHECK.0 {
            self.checked = self.through;
            self.look(now, &others);
        } else {
            self.due = now;
        }
        Some((from, length))
    }

    /// Whether [`Self::begin_step`] would begin one now, as far as its own pace goes.
    pub fn takes_step(&self, now: Nanos) -> bool {
        let goes_on = match self.state {
            State::Runs => true,
            State::Sleeps => self.due <= now,
            State::Drains => self.in_flight == 0,
            State::Done => false,
        };
        goes_on && self.next < self.end && self.in_flight < self.steps_max
    }

    /// md's look at its speed.
    fn look(&mut self, now: Nanos, others: &impl Fn(&mut Vec<i64>)) {
        let (last, _) = *self.marks.back().expect("a mark from the start on");
        if now >= last + MARK_STEP {
            if self.marks.len() == MARKS {
                self.marks.pop_front();
            }
            self.marks.push_back((now, self.done()));
        }
        let (since, count) = self.marks[0];
        let seconds = (now - since).0 / 1_000_000_000 + 1;
        let kib_s = self.done().saturating_sub(count) / 2 / seconds + 1;
        self.due = now;
        if kib_s <= self.speed.min_kib_s {
            return;
        }
        if kib_s > self.speed.max_kib_s {
            self.sleep(now);
            return;
        }
        let mut moved = Vec::new();
        others(&mut moved);
        let first = self.others.is_empty();
        self.others.resize(moved.len(), 0);
        let mut idle = true;
        for (seen, &now) in self.others.iter_mut().zip(&moved) {
            if now > *seen + self.idle_sectors || first {
                *seen = now;
                idle = false;
            }
        }
        if !idle {
            if self.drains {
                self.state = State::Drains;
                self.due = Nanos::NEVER;
            } else {
                self.sleep(now);
            }
        }
    }

    fn sleep(&mut self, now: Nanos) {
        self.state = State::Sleeps;
        self.due = now + PAUSE;
    }

    /// Sectors whose step is done.
    fn done(&self) -> u64 {
        self.through
            .saturating_sub(u64::from(self.in_flight) * self.step.0)
    }

    /// A step turns out to have nothing on the member that is rebuilt. The progress of a RAID 10's rebuild is counted in sectors of that member
    /// (raid10_sync_request and `max_sectors` of md_do_sync), so the length of this step is taken off again.
    pub fn skip_step(&mut self, now: Nanos, length: u64) {
        self.through -= length;
        self.checked = self.checked.min(self.through);
        self.end_step(now);
    }

    /// A step is through.
    pub fn end_step(&mut self, now: Nanos) {
        self.in_flight -= 1;
        match self.state {
            State::Runs => self.due = self.due.min(now),
            State::Drains if self.in_flight == 0 => self.due = now,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps that take `takes` each, on members where others move `others` sectors per second.
    fn speed_kib_s(limits: Speed, takes: Nanos, others: u64, generation: MdGeneration) -> u64 {
        let mut resync = Resync::new(generation, limits, u64::MAX / 4, CHECK, 4);
        let mut ends: VecDeque<Nanos> = VecDeque::new();
        let mut busy = Nanos::ZERO;
        let mut now;
        let end = Nanos::from_secs(60);
        loop {
            let step_end = ends.front().copied().unwrap_or(Nanos::NEVER);
            now = resync.due.min(step_end);
            if now > end {
                return resync.done() / 2 / 60;
            }
            if step_end <= resync.due {
                ends.pop_front();
                resync.end_step(now);
            } else if resync
                .begin_step(now, |moved| {
                    moved.push((others * now.0 / 1_000_000_000) as i64);
                })
                .is_some()
            {
                busy = busy.max(now) + takes;
                ends.push_back(busy);
            }
        }
    }

    const LIMITS: Speed = Speed {
        min_kib_s: 2_000,
        max_kib_s: 20_000,
    };

    #[test]
    fn an_idle_array_is_gone_through_at_the_maximum() {
        let speed = speed_kib_s(LIMITS, Nanos::from_millis(1), 0, MdGeneration::Linux6_1);
        assert!((18_000..22_000).contains(&speed), "{speed}");
    }

    #[test]
    fn beside_others_it_keeps_at_least_the_minimum() {
        for generation in [MdGeneration::Linux2_6_23, MdGeneration::Linux6_1] {
            let speed = speed_kib_s(LIMITS, Nanos::from_millis(20), 100_000, generation);
            assert!((1_900..7_000).contains(&speed), "{speed}");
        }
    }

    /// Sectors under way hide as many of others: with 1 MiB under way, 1,000 sectors in the meantime are not seen.
    #[test]
    fn what_it_has_under_way_hides_others() {
        let drains = |others: i64| {
            let mut resync = Resync::new(MdGeneration::Linux6_1, LIMITS, u64::MAX / 4, CHECK, 8);
            let mut now = Nanos::ZERO;
            let (mut issued, mut under_way, mut drains) = (0, 0, 0);
            for step in 0..400 {
                now += Nanos::from_millis(10);
                if under_way == 8 {
                    under_way -= 1;
                    resync.end_step(now);
                }
                let seen = if step < 200 { 0 } else { others };
                let hidden = under_way * CHECK.0 as i64;
                if resync
                    .begin_step(now, |list| list.push(seen - hidden))
                    .is_some()
                {
                    issued += 1;
                    under_way += 1;
                } else {
                    drains += 1;
                    for _ in 0..under_way {
                        resync.end_step(now);
                    }
                    under_way = 0;
                }
            }
            assert!(issued > 300);
            drains
        };
        assert_eq!(drains(1_000), drains(0));
        assert!(drains(10_000) > drains(0));
    }

    #[test]
    fn slow_members_alone_set_the_speed_below_the_maximum() {
        let speed = speed_kib_s(LIMITS, Nanos::from_millis(16), 0, MdGeneration::Linux6_1);
        assert!((7_500..8_100).contains(&speed), "{speed}");
    }
}
