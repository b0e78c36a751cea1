//! Which of a queue's last 32 requests were far from the one before, and how many: kept beside each other, because it is asked several
//! times for each request.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seeks {
    /// The latest in the lowest bit.
    history: u32,
    count: u32,
}

impl Seeks {
    /// From a bit per request, the latest lowest; set bits are seeks.
    pub fn of(history: u32) -> Self {
        Self {
            history,
            count: history.count_ones(),
        }
    }

    /// Notes whether the next request was far away; the oldest of 32 is forgotten.
    #[inline]
    pub fn push(&mut self, seek: bool) {
        self.count = self.count - (self.history >> 31) + u32::from(seek);
        self.history = self.history << 1 | u32::from(seek);
    }

    /// Seeks among the last 32 requests.
    #[inline]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// A bit per request, the latest lowest; set bits are seeks.
    pub fn history(&self) -> u32 {
        self.history
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_that_of_the_bits_whatever_leaves_them() {
        let mut seeks = Seeks::of(0x8000_0001);
        for step in 0..200u32 {
            seeks.push(step % 3 == 0 || step > 120);
            assert_eq!(seeks, Seeks::of(seeks.history()), "step {step}");
        }
        assert_eq!(seeks.count(), 32);
    }
}
