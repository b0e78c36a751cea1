//! One time per place, and the earliest of them at hand: it is asked for at every event, changed by some.

use seekwise_units::Nanos;

/// Keys of a search that are looked at side by side.
const LANES: usize = 4;

/// A time and its place are one number, so that the least of them says both, without a jump: which drive is next cannot be foreseen.
#[derive(Clone, Debug)]
pub struct Soonest {
    /// Time and place each; a multiple of [`LANES`], later than never from the last place on.
    keys: Vec<u64>,
    first: u64,
    /// Low bits of a key that are its place.
    place_bits: u32,
}

impl Soonest {
    /// All of them never.
    pub fn new(places: usize) -> Self {
        let place_bits = places.next_power_of_two().trailing_zeros();
        let mut keys = vec![u64::MAX; places.next_multiple_of(LANES)];
        for (place, key) in keys[..places].iter_mut().enumerate() {
            *key = Self::key(place_bits, place, Nanos::NEVER);
        }
        Self {
            first: keys[0],
            keys,
            place_bits,
        }
    }

    /// With a place of three bits there is room for 73 years.
    #[inline(always)]
    fn key(place_bits: u32, place: usize, time: Nanos) -> u64 {
        debug_assert!(time == Nanos::NEVER || time.0 < u64::MAX >> place_bits);
        time.0 << place_bits | place as u64
    }

    /// The earliest time of all places; never if no place has one.
    #[inline]
    pub fn first(&self) -> Nanos {
        let time = self.first >> self.place_bits;
        if time == u64::MAX >> self.place_bits {
            Nanos::NEVER
        } else {
            Nanos(time)
        }
    }

    /// The lowest place of those that have the earliest time.
    #[inline]
    pub fn place(&self) -> usize {
        (self.first & ((1 << self.place_bits) - 1)) as usize
    }

    /// Sets the time of a place; [`Nanos::NEVER`] for none.
    #[inline]
    pub fn set(&mut self, place: usize, time: Nanos) {
        let key = Self::key(self.place_bits, place, time);
        let before = core::mem::replace(&mut self.keys[place], key);
        if before == key {
            return;
        }
        if before == self.first {
            self.search();
        } else {
            self.first = self.first.min(key);
        }
    }

    fn search(&mut self) {
        let mut least = [u64::MAX; LANES];
        for keys in self.keys.chunks_exact(LANES) {
            for (least, &key) in least.iter_mut().zip(keys) {
                *least = key.min(*least);
            }
        }
        let [a, b, c, d] = least;
        self.first = a.min(b).min(c.min(d));
    }
}
