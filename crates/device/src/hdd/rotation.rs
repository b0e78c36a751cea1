//! Rotational position of a disk.
//!
//! ```text
//!        index ─┐            The angle of the platter is a function of time alone:
//!               ▼            angle(t) = start + t / turn, of which only the fraction counts.
//!       ┌──s0─s1─s2─ … ─┐    A sector is reached when its start passes the head.
//! ```
//!
//! Angles are wrapping fixed point: one turn is 2^24 [`TICK`s](TURN), about half a nanosecond each at 7200 rpm, so
//! "how far until that sector" is a subtraction and a mask.
//!
//! Modelled:      constant speed, a start angle of its own for each spindle.
//! Not modelled:  spin-up, speed jitter, thermal recalibration.

use seekwise_units::Nanos;

/// Ticks in one turn.
pub const TURN: u32 = 1 << TURN_BITS;
const TURN_BITS: u32 = 24;
/// Keeps the fraction of a turn.
pub const ANGLE_MASK: u32 = TURN - 1;

/// A sector that passed the head less than this ago counts as just arriving. Durations are rounded down, so a stream
/// that should meet its sector arrives early and waits; the slack only covers the last bits of that rounding.
pub const SLACK: u32 = 64;

#[derive(Clone, Copy, Debug)]
pub struct Spindle {
    /// 2^64 / (nanoseconds per turn): multiplied by a time, wrapping, the top bits are the angle.
    turns_per_ns: u64,
    /// Nanoseconds per tick, times 2^32.
    ns_per_tick: u64,
    start: u32,
    turn_ns: f64,
}

impl Spindle {
    /// `start` is the angle at time zero: spindles of an array do not turn in step.
    pub fn new(rpm: f64, start: u32) -> Self {
        let turn_ns = 60e9 / rpm;
        Self {
            turns_per_ns: (18_446_744_073_709_551_616.0 / turn_ns) as u64,
            ns_per_tick: (turn_ns / f64::from(TURN) * 4_294_967_296.0) as u64,
            start: start & ANGLE_MASK,
            turn_ns,
        }
    }

    /// Duration of a revolution, rounded down to nanoseconds.
    pub fn turn(&self) -> Nanos {
        Nanos(self.turn_ns as u64)
    }

    /// Duration of a revolution in nanoseconds, unrounded.
    pub fn turn_ns(&self) -> f64 {
        self.turn_ns
    }

    /// Angle under the head at `time`.
    #[inline]
    pub fn angle_at(&self, time: Nanos) -> u32 {
        let angle = (time.0.wrapping_mul(self.turns_per_ns) >> (64 - TURN_BITS)) as u32;
        angle.wrapping_add(self.start) & ANGLE_MASK
    }

    /// Time of a span of ticks, rounded down.
    #[inline]
    pub fn time_of(&self, ticks: u32) -> Nanos {
        Nanos((u64::from(ticks) * self.ns_per_tick) >> 32)
    }

    /// Ticks of a span of time, rounded to the nearest; spans beyond 250 turns do not fit.
    #[inline]
    pub fn ticks_of(&self, time_ns: f64) -> f64 {
        // Both are far below 2^63: conversions of signed numbers are one instruction.
        time_ns * 4_294_967_296.0 / self.ns_per_tick as i64 as f64
    }

    /// How far the platter turns until `target` is under a head that sees `angle` now.
    #[inline]
    pub fn wait(angle: u32, target: u32) -> u32 {
        (target.wrapping_sub(angle).wrapping_add(SLACK) & ANGLE_MASK).saturating_sub(SLACK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_at_7200_rpm_takes_a_hundred_and_twentieth_of_a_second() {
        let spindle = Spindle::new(7200.0, 0);
        assert_eq!(spindle.turn(), Nanos(8_333_333));
        assert_eq!(spindle.angle_at(Nanos::ZERO), 0);
        let half = spindle.angle_at(Nanos(4_166_667));
        assert!(half.abs_diff(TURN / 2) < 4, "{half}");
    }

    #[test]
    fn the_angle_keeps_true_after_a_day() {
        // 10,368,000 turns of 8,333,333 1/3 ns.
        let spindle = Spindle::new(7200.0, 0);
        let angle = spindle.angle_at(Nanos::from_secs(86_400));
        assert!(Spindle::wait(angle, 0) < 256 || angle < 256, "{angle}");
    }

    #[test]
    fn a_sector_just_missed_costs_nearly_a_turn() {
        assert_eq!(Spindle::wait(1000, 1000), 0);
        assert_eq!(Spindle::wait(1000, 1500), 500);
        assert_eq!(Spindle::wait(1000, 999), 0, "within the rounding slack");
        assert_eq!(Spindle::wait(1000, 900), TURN - 100);
    }

    #[test]
    fn ticks_and_time_are_inverse() {
        let spindle = Spindle::new(7200.0, 0);
        let ticks = spindle.ticks_of(1_000_000.0) as u32;
        assert!(spindle.time_of(ticks).0.abs_diff(1_000_000) <= 1);
    }
}
