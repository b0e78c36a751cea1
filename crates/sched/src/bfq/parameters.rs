//! Tunables of bfq under their kernel names, and the constants that no file in sysfs shows.

use crate::kernel::Kernel;
use crate::parameter::{row, Parameter, Setup, TunableUnit};
use seekwise_units::Nanos;

/// The kernel's INT_MAX: what sysfs accepts at most.
const INT_MAX: u64 = i32::MAX as u64;

/// Defaults: Linux 5.10 to 6.12 block/bfq-iosched.c, top of the file and bfq_init_queue.
pub const PARAMETERS: &[Parameter] = &[
    row("slice_idle", TunableUnit::Millis, |_| 8, (0, INT_MAX), "how long to wait for the next request of a queue that became empty"),
    row("slice_idle_us", TunableUnit::Micros, |_| 8_000, (0, u32::MAX as u64), "the same as slice_idle, in microseconds; counts if it differs from its default"),
    row("fifo_expire_sync", TunableUnit::Millis, |_| 125, (1, INT_MAX), "age from which the oldest reads and sync writes of a queue go first, once per slot"),
    row("fifo_expire_async", TunableUnit::Millis, |_| 250, (1, INT_MAX), "age from which the oldest asynchronous writes of a queue go first, once per slot"),
    row("back_seek_max", TunableUnit::KiB, |_| 16 * 1024, (0, INT_MAX), "how far behind the last position a request may lie and still be taken before the end of the sweep"),
    row("back_seek_penalty", TunableUnit::Count, |_| 2, (1, INT_MAX), "how much more a seek back costs than one of the same length ahead"),
    row("timeout_sync", TunableUnit::Millis, |setup| setup.kernel.millis_from_ticks(timeout_ticks(&setup.kernel) as u64), (1, INT_MAX), "longest time a queue is served in a row, synchronous or not"),
    row("max_budget", TunableUnit::Sectors, |_| 0, (0, INT_MAX), "most sectors a queue is served in a row; 0 follows the estimated rate of the drive"),
    row("strict_guarantees", TunableUnit::Switch, |_| 0, (0, 1), "one request with the drive at a time, and always wait for the queue in service"),
    row("low_latency", TunableUnit::Switch, |_| 1, (0, 1), "prefer processes that just started or that read at a slow steady rate"),
];

/// HZ/8. Linux 5.10 to 6.12: bfq_timeout.
pub fn timeout_ticks(kernel: &Kernel) -> i64 {
    i64::from(kernel.hz) / 8
}

/// Most sectors in a row until the rate is known. Linux 5.10 to 6.12: bfq_default_max_budget.
pub const BUDGET_MAX_DEFAULT: i64 = 16 * 1024;
/// The smallest budget is this part of the largest one. Linux 5.10 to 6.12: bfq_min_budget.
pub const BUDGET_MIN_PART: i64 = 32;
/// Decaying count (256 is full) of slots from which the largest budget is believed. Linux 5.10 to 6.12: bfq_stats_min_budgets.
pub const SLOTS_ENOUGH: u32 = 194;
/// Asynchronous sectors count this many times. Linux 5.10 to 6.12: bfq_async_charge_factor.
pub const ASYNC_CHARGE: i64 = 3;
/// Think times below this are none. Linux 5.10 to 6.12: BFQ_MIN_TT.
pub const THINK_TIME_NONE: Nanos = Nanos::from_millis(2);
/// Weight of priority level 7; each level above adds as much. Linux 5.10 to 6.12: BFQ_WEIGHT_CONVERSION_COEFF.
pub const WEIGHT_STEP: u32 = 10;
/// Weight of the default level 4, the only one that is raised (Linux 5.12 on).
pub const WEIGHT_DEFAULT: u32 = 40;

/// What differs between kernels, by the release that changed it.
#[derive(Clone, Copy, Debug)]
pub struct BfqGeneration {
    /// 5.12: think time only of queues with nothing queued or in flight, held against half of slice_idle; time busy within a window
    /// tells who is I/O-bound; a queue that is busy alone is not expired; wakers are found after three wake-ups within 4 ms and
    /// woken queues are injected; only the default weight is raised; a soft real-time queue that turns out
    /// seeky goes on as interactive; the queue in service yields once waiting for it no longer pays.
    pub since_5_12: bool,
    /// 5.13: queues of one burst are merged for good; merged ones no longer count as wakers.
    pub since_5_13: bool,
    /// 5.17: a queue that holds more tags than its weight's share gets one bit of each word only.
    pub since_5_17: bool,
    /// 5.19: the first request of a process counts, not of a queue, when wakers and service times are watched; only waiting requests are
    /// work, not busy queues without any (bfq_has_work).
    pub since_5_19: bool,
    /// 6.2: a group that is alone with requests is no reason to wait, and the root counts as one (Y. Kuai, "do not idle if only one group is
    /// activated").
    pub since_6_2: bool,
    /// 6.9: time stands still from the allocation of a request to its dispatch, so that a queue is created and gets its first
    /// request in the same nanosecond, one before its imagined last completion: that counts as an endless think time.
    pub since_6_9: bool,
}

impl BfqGeneration {
    /// The changes that a kernel has.
    pub fn of(kernel: &Kernel) -> Self {
        Self {
            since_5_12: kernel.at_least(5, 12, 0),
            since_5_13: kernel.at_least(5, 13, 0),
            since_5_17: kernel.at_least(5, 17, 0),
            since_5_19: kernel.at_least(5, 19, 0),
            since_6_2: kernel.at_least(6, 2, 0),
            since_6_9: kernel.at_least(6, 9, 0),
        }
    }
}

/// Tunables in the units in which they are used. Spans ending in `ticks` are in jiffies.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub rotational: bool,
    pub cgroup: bool,
    pub slice_idle: Nanos,
    /// In whole ticks.
    pub slice_idle_ticks: i64,
    pub fifo_expire_sync: Nanos,
    pub fifo_expire_async: Nanos,
    pub back_sectors_max: u64,
    pub back_cost: u64,
    pub timeout_ticks: i64,
    /// The default time-out in whole milliseconds, at least one: what time is charged by.
    pub slot_millis: i64,
    /// As chosen by the user; `None` follows the drive.
    pub max_budget: Option<i64>,
    pub strict_guarantees: bool,
    pub low_latency: bool,
    pub hz: i64,
    /// Spans that no tunable shows. Linux 5.10 to 6.12: bfq_init_queue and constants before it.
    pub merge_ticks: i64,
    pub stable_merge_ticks: i64,
    pub burst_ticks: i64,
    pub raise_soft_ticks: i64,
    pub raise_idle_ticks: i64,
    pub raise_async_ticks: i64,
    pub raise_min_ticks: i64,
    pub raise_max_ticks: i64,
    pub inject_reset_ticks: i64,
    pub inject_pause_ticks: i64,
    pub inject_think_ticks: i64,
    pub burst_forget_ticks: i64,
    pub split_rest_ticks: i64,
}

impl Settings {
    /// Tunables in the units of the policy: ticks, sectors, nanoseconds.
    pub fn new(setup: &Setup) -> Self {
        let get = |name| setup.get(PARAMETERS, name);
        let ticks = |millis| setup.kernel.ticks_from_millis(millis) as i64;
        let strict_guarantees = get("strict_guarantees") == 1;
        let mut slice_idle = Nanos::from_millis(get("slice_idle"));
        if get("slice_idle_us") != 8_000 {
            slice_idle = Nanos::from_micros(get("slice_idle_us"));
        }
        if strict_guarantees {
            // Guarantees need time for the next request to arrive. Linux 5.10 to 6.12: bfq_strict_guarantees_store.
            slice_idle = slice_idle.max(Nanos::from_millis(8));
        }
        Self {
            rotational: setup.rotational,
            cgroup: setup.cgroup,
            slice_idle,
            slice_idle_ticks: setup.kernel.jiffies(slice_idle) as i64,
            fifo_expire_sync: Nanos::from_millis(get("fifo_expire_sync")),
            fifo_expire_async: Nanos::from_millis(get("fifo_expire_async")),
            back_sectors_max: get("back_seek_max") * 2,
            back_cost: get("back_seek_penalty"),
            timeout_ticks: ticks(get("timeout_sync")),
            slot_millis: (timeout_ticks(&setup.kernel) * 1_000 / i64::from(setup.kernel.hz)).max(1),
            max_budget: Some(get("max_budget") as i64).filter(|budget| *budget > 0),
            strict_guarantees,
            low_latency: get("low_latency") == 1,
            hz: i64::from(setup.kernel.hz),
            merge_ticks: i64::from(setup.kernel.hz) / 10,
            stable_merge_ticks: ticks(600),
            burst_ticks: ticks(180),
            raise_soft_ticks: ticks(300),
            raise_idle_ticks: ticks(2_000),
            raise_async_ticks: ticks(500),
            raise_min_ticks: ticks(3_000),
            raise_max_ticks: ticks(25_000),
            inject_reset_ticks: ticks(1_000),
            inject_pause_ticks: ticks(10),
            inject_think_ticks: ticks(100),
            burst_forget_ticks: ticks(10_000),
            split_rest_ticks: ticks(10),
        }
    }
}
