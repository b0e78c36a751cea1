//! The simulator's only source of chance: xoshiro256++, seeded through SplitMix64.
//!
//! Every thread of a job has a stream of its own, derived from the trial's seed and the thread's number, so that adding a
//! thread leaves the others' addresses alone. Logarithms come from `libm`, because hardware and systems differ in the last bits.
//! Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47 (2021); crate `rand_xoshiro`.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use seekwise_units::Nanos;

#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// Stream `stream` of a trial with seed `seed`.
    pub fn new(seed: u64, stream: u64) -> Self {
        // Weyl constant of SplitMix64 (2^64 / golden ratio): keeps neighbouring streams apart before seeding mixes them.
        Self(Xoshiro256PlusPlus::seed_from_u64(
            seed ^ stream.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
        ))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..count` (multiply-shift; its bias is below count / 2^64). `count` 0 gives 0.
    pub fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(count)) >> 64) as u64
    }

    /// True with probability `numerator` / 2^32.
    pub fn chance(&mut self, numerator: u64) -> bool {
        (self.bits() >> 32) < numerator
    }

    /// Exponentially distributed with the given mean: gaps of a Poisson process.
    pub fn exponential(&mut self, mean: Nanos) -> Nanos {
        // 53 bits in (0, 1]: the logarithm of zero never occurs.
        let u = ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        Nanos((-libm::log(u) * mean.0 as f64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generator_gives_the_published_sequence() {
        // First outputs of xoshiro256++ from state 1, 2, 3, 4: reference C program at prng.di.unimi.it (test vector of rand_xoshiro).
        let mut seed = [0u8; 32];
        for (i, word) in [1u64, 2, 3, 4].iter().enumerate() {
            seed[i * 8..i * 8 + 8].copy_from_slice(&word.to_le_bytes());
        }
        let mut random = Random(Xoshiro256PlusPlus::from_seed(seed));
        let got: Vec<u64> = (0..4).map(|_| random.bits()).collect();
        assert_eq!(
            got,
            [
                41_943_041,
                58_720_359,
                3_588_806_011_781_223,
                3_591_011_842_654_386
            ]
        );
    }

    #[test]
    fn streams_of_one_seed_differ_and_repeat() {
        let first: Vec<u64> = (0..4).map(|s| Random::new(7, s).bits()).collect();
        let again: Vec<u64> = (0..4).map(|s| Random::new(7, s).bits()).collect();
        assert_eq!(first, again);
        assert!(first.windows(2).all(|w| w[0] != w[1]));
    }

    #[test]
    fn exponential_gaps_have_the_asked_mean() {
        let mut random = Random::new(1, 0);
        let sum: u64 = (0..100_000)
            .map(|_| random.exponential(Nanos(1_000_000)).0)
            .sum();
        let mean = sum as f64 / 100_000.0;
        assert!((mean - 1e6).abs() < 2e4, "mean {mean}");
    }
}
