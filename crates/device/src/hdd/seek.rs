//! Time to move the arm.
//!
//! ```text
//!   t ▲                      ___----   the arm coasts                t = c + e·d,            d > d0
//!     │               __--‾‾
//!     │         _,-‾            it accelerates and settles           t = a + b·sqrt(d),      d <= d0
//!     │      .·
//!     │    /  the servo follows from track to track                  t = t(1) + ramp·(d-1),  if that is less
//!     └────────────────────────────► d, tracks
//! ```
//!
//! Value and slope are continuous at d0, so the line is a tangent. The ramp is there because a drive changes to the
//! next track much faster than any real seek settles; a pure square root through t(1) makes short seeks too cheap,
//! which shows as too high a gain from command queueing. The square root is an IEEE single, which every
//! platform rounds the same way; with it a whole queue is judged in a few vector instructions, and a table is not
//! needed. Not moving at all costs nothing; another head at the same radius costs t(1), since heads of today must find
//! their track again.
//!
//! Modelled:      one curve per drive, preparation of the servo before a seek, extra settling before a write.
//! Not modelled:  difference between inward and outward seeks, run-out, retries.
//! Source of the form: Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994.

use super::rotation::Spindle;

/// Seek times are multiples of so many ticks, 16 ns at 7200 rpm.
const STEP: u32 = 32;
const STEP_RECIPROCAL: f32 = 1.0 / 32.0;
/// Longest seek that can be represented, in turns.
pub const SEEK_TURNS_MAX: f64 = 15.0;

/// Curve with times in ticks of its spindle.
#[derive(Clone, Copy, Debug)]
pub struct SeekCurve {
    first: f32,
    ramp: f32,
    a: f32,
    b: f32,
    bend: f32,
    c: f32,
    e: f32,
    pub write_settle: u32,
}

/// The same curve in the units of the models.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeekTimes {
    /// Preparing the servo, in front of every seek.
    pub setup_ms: f64,
    pub track_to_track_ms: f64,
    /// Distance from which a seek needs the whole settling time.
    pub settle_tracks: f64,
    pub a_ms: f64,
    pub b_ms_per_sqrt_track: f64,
    pub bend_tracks: f64,
    pub c_ms: f64,
    pub e_ms_per_track: f64,
    pub write_settle_ms: f64,
}

impl SeekCurve {
    /// The curve in ticks of `spindle`. Seeks of up to `settle_tracks` rise linearly from the track-to-track time.
    pub fn new(times: &SeekTimes, spindle: &Spindle) -> Self {
        let ticks = |ms: f64| spindle.ticks_of(ms * 1e6) as f32;
        let settled_ms = times.a_ms + times.b_ms_per_sqrt_track * libm::sqrt(times.settle_tracks);
        let ramp_ms = (settled_ms - times.track_to_track_ms) / (times.settle_tracks - 1.0).max(1.0);
        Self {
            first: ticks(times.setup_ms + times.track_to_track_ms - ramp_ms),
            ramp: ticks(ramp_ms),
            a: ticks(times.setup_ms + times.a_ms),
            b: ticks(times.b_ms_per_sqrt_track),
            bend: times.bend_tracks as f32,
            c: ticks(times.setup_ms + times.c_ms),
            e: ticks(times.e_ms_per_track),
            write_settle: ticks(times.write_settle_ms) as u32,
        }
    }

    /// Ticks to move over `distance` tracks; `distance` is at least one.
    #[inline(always)]
    pub fn ticks(&self, distance: u32) -> u32 {
        self.ticks_over(distance as i32 as f32)
    }

    /// The same for a distance that is a whole number below 2^24, which a single holds exactly.
    #[inline(always)]
    pub fn ticks_over(&self, d: f32) -> u32 {
        let step = self.first + self.ramp * d;
        let near = self.a + self.b * d.sqrt();
        let near = if step < near { step } else { near };
        let far = self.c + self.e * d;
        let ticks = if d <= self.bend { near } else { far };
        // Adding 2^23 leaves the whole number in the low bits, rounded. A cast would do too, but its rules for numbers
        // out of range keep the compiler from using vectors.
        ((ticks * STEP_RECIPROCAL + 8_388_608.0).to_bits() & 0x007f_ffff) * STEP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The curve of the WD RE WD2500YS.
    fn wd2500ys() -> (SeekCurve, Spindle) {
        let times = SeekTimes {
            setup_ms: 0.0,
            track_to_track_ms: 0.8,
            settle_tracks: 50.0,
            a_ms: 2.0172,
            b_ms_per_sqrt_track: 0.041817,
            bend_tracks: 23249.0,
            c_ms: 5.2053,
            e_ms_per_track: 0.00013713,
            write_settle_ms: 1.0,
        };
        let spindle = Spindle::new(7200.0, 0);
        (SeekCurve::new(&times, &spindle), spindle)
    }

    fn ms(curve: &SeekCurve, spindle: &Spindle, tracks: u32) -> f64 {
        spindle.time_of(curve.ticks(tracks)).as_millis_f64()
    }

    #[test]
    fn one_track_and_the_full_stroke_are_as_published() {
        let (curve, spindle) = wd2500ys();
        assert!((ms(&curve, &spindle, 1) - 0.8).abs() < 0.001);
        assert!((ms(&curve, &spindle, 86_741) - 17.1).abs() < 0.01);
    }

    #[test]
    fn longer_seeks_never_take_less_time() {
        let (curve, _) = wd2500ys();
        let mut before = 0;
        for tracks in 1..86_742 {
            let now = curve.ticks(tracks);
            assert!(now >= before, "{tracks} tracks");
            before = now;
        }
    }

    #[test]
    fn the_shape_is_that_of_real_arms() {
        // Shares of the full stroke over the drives that came with DiskSim: mean 0.49-0.56, 1 % of the way 0.14-0.23.
        let (curve, spindle) = wd2500ys();
        let full = ms(&curve, &spindle, 86_741);
        let hundredth = ms(&curve, &spindle, 867) / full;
        assert!((0.14..=0.23).contains(&hundredth), "{hundredth}");
        let tracks = 86_742u64;
        let (mut sum, mut pairs) = (0.0, 0.0);
        for distance in (1..tracks).step_by(17) {
            let weight = (tracks - distance) as f64;
            sum += weight * ms(&curve, &spindle, distance as u32);
            pairs += weight;
        }
        let mean = sum / pairs / full;
        assert!((0.49..=0.56).contains(&mean), "{mean}");
    }
}
