//! Maps with numbers as keys that the program makes itself, so that nobody can choose them to collide.

use core::hash::{BuildHasherDefault, Hasher};
use std::collections::HashMap;

/// Nothing may depend on its order.
pub type ByNumber<K, V> = HashMap<K, V, BuildHasherDefault<Multiply>>;

/// Multiplicative hash (Knuth, TAOCP 3, 6.4); the high bits are folded down, for tables look at the low ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Multiply(u64);

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }
    fn write_u64(&mut self, number: u64) {
        let product = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = product ^ (product >> 32);
    }
    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }
}
