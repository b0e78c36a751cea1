//! Access times, log-linear: the layout of HdrHistogram with two significant digits.
//!
//! Values below 256 ns have a bin each; above, every power of two is cut into 128 bins, so a bin is at most 1/128 of its value wide.
//! Recording is a shift, an add and an increment; memory is fixed. The crate `hdrhistogram` is the oracle in the tests.
//! Source: HdrHistogram (Gil Tene), "unit magnitude 0, sub-bucket count 256".

use seekwise_units::Nanos;
use serde_json::{Map, Value};

const SUB_BITS: u32 = 8;
const HALF: usize = 1 << (SUB_BITS - 1);
/// Up to 2^42 ns, 73 minutes; longer ones stand in the last bin.
const OCTAVES: usize = 42 - SUB_BITS as usize;
const BINS: usize = (OCTAVES + 2) * HALF;

#[derive(Clone, Debug)]
pub struct Histogram {
    bins: Box<[u64; BINS]>,
    pub count: u64,
    pub sum: u128,
    pub max: Nanos,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// No value recorded; all memory is taken now.
    pub fn new() -> Self {
        Self {
            bins: Box::new([0; BINS]),
            count: 0,
            sum: 0,
            max: Nanos::ZERO,
        }
    }

    #[inline]
    fn index(value: u64) -> usize {
        // Octave 0 covers 0..256 whole; octave k covers 2^(7+k)..2^(8+k) in steps of 2^k.
        let octave =
            (64 - SUB_BITS).saturating_sub((value | (2 * HALF as u64 - 1)).leading_zeros());
        ((octave as usize) << (SUB_BITS - 1)) + (value >> octave) as usize
    }

    /// Largest value of a bin.
    fn upper(index: usize) -> u64 {
        if index < 2 * HALF {
            return index as u64;
        }
        let octave = index / HALF - 1;
        let sub = index - octave * HALF;
        ((sub as u64 + 1) << octave) - 1
    }

    /// Counts one value; the last bin takes all that are too large.
    #[inline]
    pub fn record(&mut self, value: Nanos) {
        self.bins[Self::index(value.0).min(BINS - 1)] += 1;
        self.count += 1;
        self.sum += u128::from(value.0);
        self.max = self.max.max(value);
    }

    /// The same value so many times.
    pub fn record_many(&mut self, value: Nanos, count: u64) {
        if count == 0 {
            return;
        }
        self.bins[Self::index(value.0).min(BINS - 1)] += count;
        self.count += count;
        self.sum += u128::from(value.0) * u128::from(count);
        self.max = self.max.max(value);
    }

    /// Adds all values of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.bins.iter_mut().zip(other.bins.iter()) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// Exact mean in ns, not that of the bins; 0 without values.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.sum as f64 / self.count as f64
        }
    }

    /// The value that `percent` of all do not exceed, to the width of a bin; zero when there is none.
    pub fn percentile(&self, percent: f64) -> Nanos {
        let wanted = (self.count as f64 * percent / 100.0).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.occupied().find(|(_, count)| {
            seen += count;
            seen >= wanted
        });
        Nanos(found.map_or(0, |(upper, _)| upper))
    }

    /// (upper bound in ns, count) of every bin that holds something.
    pub fn occupied(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.bins
            .iter()
            .enumerate()
            .filter(|(_, &n)| n > 0)
            .map(|(i, &n)| (Self::upper(i), n))
    }

    /// Occupied bins: upper bound in ns as key, count as value.
    pub fn to_json(&self) -> Value {
        Value::Object(
            self.occupied()
                .map(|(upper, n)| (upper.to_string(), Value::from(n)))
                .collect::<Map<_, _>>(),
        )
    }
}
