//! Tunables of anticipatory, in milliseconds; the kernel divides HZ down to whole ticks for its defaults.

use crate::parameter::{Parameter, Setup, TunableUnit, ALWAYS};

/// Linux 2.6.23 to 2.6.32 block/as-iosched.c: defaults are HZ over a whole number.
fn hz_over(setup: &Setup, divisor: u64, ticks_min: u64) -> u64 {
    setup
        .kernel
        .millis_from_ticks((setup.kernel.hz as u64 / divisor).max(ticks_min))
}

const fn millis(
    name: &'static str,
    default: fn(&Setup) -> u64,
    max: u64,
    meaning: &'static str,
) -> Parameter {
    Parameter {
        name,
        unit: TunableUnit::Millis,
        default,
        min: 0,
        max,
        kernels: ALWAYS,
        meaning,
    }
}

pub const PARAMETERS: &[Parameter] = &[
    millis(
        "read_expire",
        |s| hz_over(s, 8, 0),
        3_600_000,
        "age at which the oldest sync request is taken first, looked at once per such time",
    ),
    millis(
        "write_expire",
        |s| hz_over(s, 4, 0),
        3_600_000,
        "age at which the oldest async request is taken first, looked at once per such time",
    ),
    millis(
        "read_batch_expire",
        |s| hz_over(s, 2, 0),
        3_600_000,
        "length of a batch of sync requests while async ones wait",
    ),
    millis(
        "write_batch_expire",
        |s| hz_over(s, 8, 0),
        3_600_000,
        "length of a batch of async requests while sync ones wait",
    ),
    millis(
        "antic_expire",
        |s| hz_over(s, 150, 1),
        10_000,
        "how long the device is left idle for the process just served; 0 never",
    ),
];
