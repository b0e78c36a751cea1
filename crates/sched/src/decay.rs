//! Decaying means as the old schedulers keep them: fixed point, 256 to one, each new sample weighing an eighth.
//!
//! Linux 2.6.23 to 2.6.32 block/as-iosched.c and block/cfq-iosched.c use the same arithmetic for think times and seeks.

/// 1.0.
pub const ONE: u64 = 256;

/// Seven eighths of `value` and one eighth of `sample`.
pub const fn decayed(value: u64, sample: u64) -> u64 {
    (7 * value + sample) / 8
}

/// Rounding of the division that makes the mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    /// Half of 1.0 is added: think times.
    HalfOne,
    /// Half the weight is added: seeks.
    HalfWeight,
}

/// A decaying mean of whole numbers.
#[derive(Clone, Copy, Debug)]
pub struct Mean {
    /// Weight of the samples so far: 0, 32, 60, 84 … towards 256.
    pub samples: u64,
    total: u64,
    pub mean: u64,
    round: Round,
}

impl Mean {
    /// No samples yet; think times, in ticks or ns.
    pub const fn of_think_times() -> Self {
        Self {
            samples: 0,
            total: 0,
            mean: 0,
            round: Round::HalfOne,
        }
    }

    /// No samples yet; seek distances in sectors.
    pub const fn of_seeks() -> Self {
        Self {
            samples: 0,
            total: 0,
            mean: 0,
            round: Round::HalfWeight,
        }
    }

    /// Adds a sample with a weight of an eighth.
    pub fn add(&mut self, sample: u64) {
        self.samples = decayed(self.samples, ONE);
        self.total = decayed(self.total, ONE * sample);
        let half = match self.round {
            Round::HalfOne => ONE / 2,
            Round::HalfWeight => self.samples / 2,
        };
        self.mean = (self.total + half) / self.samples;
    }

    /// Adds a seek distance; a single far jump (a page fault, a stray fragment) must not drown the rest.
    pub fn add_seek(&mut self, sectors: u64) {
        let margin = if self.samples <= 60 {
            2 * 1024 * 1024
        } else {
            2 * 1024 * 64
        };
        self.add(sectors.min(self.mean * 4 + margin));
    }
}

/// A decaying mean without a weight of its own: it starts at zero and takes its time.
#[derive(Clone, Copy, Debug, Default)]
pub struct SlowMean {
    total: u64,
    pub mean: u64,
}

impl SlowMean {
    /// Adds a sample with a weight of an eighth.
    pub fn add(&mut self, sample: u64) {
        self.total = decayed(self.total, ONE * sample);
        self.mean = self.total / ONE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weight_grows_as_the_reference_says() {
        let mut mean = Mean::of_think_times();
        let weights: Vec<_> = (0..4).map(|_| (mean.add(10), mean.samples).1).collect();
        assert_eq!(weights, [32, 60, 84, 105]);
        // 10 · 256 / 8 = 320, plus 128, over 32.
        let mut mean = Mean::of_think_times();
        mean.add(10);
        assert_eq!(mean.mean, (320 + 128) / 32);
    }

    #[test]
    fn a_far_seek_is_clipped_sooner_once_the_mean_is_known() {
        let mut mean = Mean::of_seeks();
        mean.add_seek(u64::MAX / 4096);
        assert_eq!(mean.mean, 2 * 1024 * 1024);
        let mut settled = Mean::of_seeks();
        for _ in 0..10 {
            settled.add_seek(0);
        }
        settled.add_seek(1 << 40);
        // One eighth of 128 Ki sectors over the weight of eleven samples.
        assert!(settled.mean < 2 * 1024 * 64 / 4, "{}", settled.mean);
    }
}
