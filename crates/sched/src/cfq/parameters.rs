//! Tunables of cfq under their kernel names.
//!
//! Times are milliseconds. Before 4.8 the kernel keeps them in ticks and divides HZ down for its defaults.

use crate::kernel::Version;
use crate::parameter::{between, row, row_of, since, Parameter, Setup, TunableUnit};

/// Linux 2.6.23 to 4.7 block/cfq-iosched.c: HZ over a whole number of ticks; from 4.8 on the span itself.
fn hz_over(setup: &Setup, divisor: u64) -> u64 {
    if super::counts_nanoseconds(&setup.kernel) {
        return 1000 / divisor;
    }
    setup
        .kernel
        .millis_from_ticks(setup.kernel.hz as u64 / divisor)
}

/// slice_idle: HZ/125; zero on a drive without a seek penalty since 4.2 (set when the queue registers).
fn slice_idle(setup: &Setup) -> u64 {
    if !setup.rotational && setup.kernel.at_least(4, 2, 0) {
        0
    } else {
        hz_over(setup, 125)
    }
}

const HOUR_MS: u64 = 3_600_000;
/// Slices are multiplied by priorities and counts of queues: a minute is far beyond any use.
const SLICE_MAX_MS: u64 = 60_000;
const IDLE_MAX_MS: u64 = 10_000;

pub const PARAMETERS: &[Parameter] = &[
    row(
        "quantum",
        TunableUnit::Requests,
        |setup| {
            if setup.kernel.at_least(2, 6, 33) {
                8
            } else {
                4
            }
        },
        (1, 1_000_000),
        "requests of one queue that may be with the device while others wait",
    ),
    row(
        "fifo_expire_sync",
        TunableUnit::Millis,
        |s| hz_over(s, 8),
        (1, HOUR_MS),
        "age at which a queue's oldest sync request is taken first, once a slice",
    ),
    row(
        "fifo_expire_async",
        TunableUnit::Millis,
        |s| hz_over(s, 4),
        (1, HOUR_MS),
        "age at which a queue's oldest async request is taken first, once a slice",
    ),
    row(
        "back_seek_max",
        TunableUnit::KiB,
        |_| 16 * 1024,
        (0, 1 << 40),
        "how far behind the last position a request may lie and still be next",
    ),
    row(
        "back_seek_penalty",
        TunableUnit::Count,
        |_| 2,
        (1, 1_000_000),
        "what going back costs in terms of going forward",
    ),
    row(
        "slice_sync",
        TunableUnit::Millis,
        |s| hz_over(s, 10),
        (1, SLICE_MAX_MS),
        "time slice of a queue of sync requests at priority 4",
    ),
    row(
        "slice_async",
        TunableUnit::Millis,
        |s| hz_over(s, 25),
        (1, SLICE_MAX_MS),
        "time slice of a queue of async requests at priority 4",
    ),
    row(
        "slice_async_rq",
        TunableUnit::Requests,
        |_| 2,
        (1, 1_000_000),
        "base of the number of async requests in a slice",
    ),
    row(
        "slice_idle",
        TunableUnit::Millis,
        slice_idle,
        (0, IDLE_MAX_MS),
        "how long the device is left idle for the next request of the process just served; 0 never",
    ),
    row_of(
        since(2, 6, 35),
        "group_idle",
        TunableUnit::Millis,
        |s| hz_over(s, 125),
        (0, IDLE_MAX_MS),
        "how long the device is left idle for the next request of a group of queues; 0 never",
    ),
    row_of(
        since(2, 6, 31),
        "low_latency",
        TunableUnit::Switch,
        |_| 1,
        (0, 1),
        "shorter slices with many readers, and a slow start for async requests",
    ),
    row_of(
        since(3, 4, 0),
        "target_latency",
        TunableUnit::Millis,
        |s| {
            if super::counts_nanoseconds(&s.kernel) {
                300
            } else {
                s.kernel.millis_from_ticks(s.kernel.hz as u64 * 3 / 10)
            }
        },
        (1, SLICE_MAX_MS),
        "within this time every queue should get a slice when low_latency is on",
    ),
    row_of(
        between(Version(2, 6, 33), Version(2, 6, 35)),
        "group_isolation",
        TunableUnit::Switch,
        |_| 0,
        (0, 1),
        "keep seeky queues of a group apart from those of others",
    ),
];
