//! Quotients of whole numbers without the machine's division of 64-bit numbers: on many processors that takes several times as long as
//! one of doubles, and compilers put a branch before it that is hard to foresee.

/// Below this a double holds every whole number.
const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;

/// `dividend / divisor`, rounded down. Cut off, the quotient of two doubles that are whole numbers is that of the whole numbers: unless it is one
/// itself it lies at least 1/divisor below the next one, and a double rounds by less as long as the dividend is below 2^53.
#[inline]
pub fn quotient(dividend: u64, divisor: u64) -> u64 {
    debug_assert!(divisor > 0);
    if (dividend | divisor) < EXACT {
        // Signed numbers are one instruction away from doubles.
        (dividend as i64 as f64 / divisor as i64 as f64) as i64 as u64
    } else {
        dividend / divisor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_whole_quotient_next_to_every_whole_number() {
        let mut state = 1u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 11
        };
        for round in 0..200_000 {
            let divisor = (random() >> (round % 53)).max(1);
            let whole = (random() >> (round % 47)) / divisor * divisor;
            for dividend in [
                whole.saturating_sub(1),
                whole,
                whole + 1,
                whole + divisor - 1,
                EXACT - 1,
                EXACT,
                u64::MAX,
            ] {
                assert_eq!(
                    quotient(dividend, divisor),
                    dividend / divisor,
                    "{dividend} / {divisor}"
                );
            }
        }
    }
}
