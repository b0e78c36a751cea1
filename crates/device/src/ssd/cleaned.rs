//! Cleaning behind writes: what is written has to be made up for, at the pace at which the drive cleans.
//!
//! Every byte that is taken leaves as much to be cleaned. The dies do that whenever something is left, and reads wait for them. Space comes
//! back block by block: of the victim that is being cleaned all at once, when its last page is copied. As long as clean space is in hand, writes
//! go as fast as the buffer empties; when none is left the drive takes no data until the victim is clean. So a drive that is written faster
//! than it cleans answers in turns: quickly for a while, and then not at all for milliseconds; the slower it was written, the further the
//! victim has come meanwhile, and the shorter it stops.

use crate::measure::Addresses;
use seekwise_units::Nanos;

#[derive(Clone, Debug)]
pub struct Cleaned {
    /// What a victim gives back at most, and clean space in hand at most.
    most: f64,
    bytes_per_ns: f64,
    /// While no data are taken.
    paused_bytes_per_ns: f64,
    /// Clean space in hand, as of `at`; below zero: data that wait for it.
    free: f64,
    /// How much the victim gives back, and the part of it that is done.
    victim: f64,
    copied: f64,
    at: Nanos,
    /// Cleaned since the dies last had to do with it.
    done: f64,
    unit: f64,
    /// No data are taken until then.
    pause_until: Nanos,
    /// How much each victim gives back.
    random: Addresses,
}

/// Parts of the most that a victim gives back, least and most.
const GIVEN_BACK: (f64, f64) = (0.4, 1.0);

impl Cleaned {
    /// `rates`: bytes per second cleaned beside writes, and while no data are taken. `unit`: what a die cleans at a time. None where the drive's cleaning is told by its writes alone.
    pub fn of(most: u64, rates: (f64, f64), unit: u64) -> Option<Self> {
        (most > 0 && rates.0 > 0.0).then(|| Self {
            most: most as f64,
            bytes_per_ns: rates.0 / 1e9,
            paused_bytes_per_ns: rates.1.max(rates.0) / 1e9,
            free: most as f64,
            victim: most as f64,
            copied: 0.0,
            at: Nanos::ZERO,
            done: 0.0,
            unit: unit as f64,
            pause_until: Nanos::ZERO,
            random: Addresses::new(0),
        })
    }

    /// Units that dies have begun to clean since this was last asked.
    #[inline]
    pub fn begun(&mut self, now: Nanos) -> u32 {
        let span = now.saturating_sub(self.at);
        let paused = self.pause_until.min(now).saturating_sub(self.at);
        self.at = self.at.max(now);
        if self.free >= self.most {
            return 0;
        }
        let beside = (span - paused).0 as f64 * self.bytes_per_ns;
        self.clean(beside + paused.0 as f64 * self.paused_bytes_per_ns);
        let units = libm::floor(self.done / self.unit);
        self.done -= units * self.unit;
        units as u32
    }

    fn clean(&mut self, mut bytes: f64) {
        while bytes > 0.0 && self.free < self.most {
            let part = bytes.min(self.victim - self.copied);
            self.copied += part;
            self.done += part;
            bytes -= part;
            if self.copied >= self.victim - 0.5 {
                self.free += self.victim;
                self.copied = 0.0;
                let part = self.random.below(1 << 20) as f64 / (1u64 << 20) as f64;
                self.victim = self.most * (GIVEN_BACK.0 + (GIVEN_BACK.1 - GIVEN_BACK.0) * part);
            }
        }
    }

    /// When `bytes` that come now find clean space: at once while there is some, else once the victim is clean.
    pub fn take(&mut self, now: Nanos, bytes: u64) -> Nanos {
        self.free -= bytes as f64;
        if now >= self.pause_until && self.free < 0.0 {
            let left = self.victim - self.copied;
            self.pause_until = now + Nanos((left / self.paused_bytes_per_ns) as u64 + 1);
        }
        now.max(self.pause_until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_many_pauses_data_are_taken_at_the_pace_of_cleaning() {
        let mut cleaned = Cleaned::of(4 << 20, (500e6, 500e6), 48 << 10).unwrap();
        let (mut now, mut longest, mut units) = (Nanos::ZERO, Nanos::ZERO, 0);
        for _ in 0..200_000u64 {
            units += cleaned.begun(now);
            let taken = cleaned.take(now, 4096);
            longest = longest.max(taken.saturating_sub(now));
            now = taken + Nanos(1_000);
        }
        let written = 200_000.0 * 4096.0;
        let rate = written / now.as_secs_f64();
        assert!((rate / 500e6 - 1.0).abs() < 0.03, "{rate}");
        // A whole victim at the pace of cleaning, less what was done of it beside the writes: an eighth.
        assert!(
            longest > Nanos::from_millis(6) && longest < Nanos::from_millis(8),
            "{longest:?}"
        );
        let cleaned = f64::from(units) * f64::from(48 << 10);
        assert!((cleaned / written - 1.0).abs() < 0.03, "{cleaned}");
    }

    #[test]
    fn what_is_cleaned_faster_in_pauses_shortens_them_alone() {
        let rate_and_longest = |rates| {
            let mut cleaned = Cleaned::of(4 << 20, rates, 48 << 10).unwrap();
            let (mut now, mut longest) = (Nanos::ZERO, Nanos::ZERO);
            for _ in 0..200_000u64 {
                cleaned.begun(now);
                let taken = cleaned.take(now, 4096);
                longest = longest.max(taken.saturating_sub(now));
                now = taken + Nanos(4_000);
            }
            (200_000.0 * 4096.0 / now.as_secs_f64(), longest)
        };
        let (slow, long) = rate_and_longest((300e6, 300e6));
        let (fast, short) = rate_and_longest((300e6, 900e6));
        assert!(
            fast > 1.3 * slow && short.0 < long.0 / 2,
            "{slow} {fast} {long:?} {short:?}"
        );
    }

    #[test]
    fn the_slower_it_is_written_the_shorter_it_stops() {
        let mean = |apart| {
            let mut cleaned = Cleaned::of(4 << 20, (300e6, 600e6), 48 << 10).unwrap();
            let (mut now, mut stopped, mut stops) = (Nanos::ZERO, 0, 0);
            for _ in 0..200_000u64 {
                cleaned.begun(now);
                let taken = cleaned.take(now, 4096);
                stopped += taken.saturating_sub(now).0;
                stops += u64::from(taken > now);
                now = taken + Nanos(apart);
            }
            stopped as f64 / stops as f64
        };
        // 1024 and 512 MB/s: of the victim 0.71 and 0.41 are left.
        let ratio = mean(8_000) / mean(4_000);
        assert!((0.5..0.68).contains(&ratio), "{ratio}");
    }

    #[test]
    fn slower_writes_never_wait() {
        let mut cleaned = Cleaned::of(4 << 20, (500e6, 500e6), 48 << 10).unwrap();
        for i in 0..100_000u64 {
            let now = Nanos(i * 10_000);
            cleaned.begun(now);
            assert_eq!(cleaned.take(now, 4096), now);
        }
    }
}
