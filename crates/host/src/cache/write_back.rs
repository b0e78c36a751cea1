//! When dirty pages are written, by whom, how many at a time, and how writers are held back.
//!
//! ```text
//!   2.6.23, 2.6.24   pdflush above the background limit; a writer above its limit writes pages of any file itself
//!   2.6.32           a flusher per device; a writer above its limit sleeps, and writes itself while dirty pages alone exceed it
//!   3.2 and later    a flusher per device; writers never submit, they sleep so as to dirty as fast as the device writes
//! ```
//!
//! Modelled:      limits by generation, checks of writers, their quota and pauses, pages per turn of a file, the pace of 3.2 and later.
//! Not modelled:  several devices that share the limits (the measured device has all of them), cgroups, laptop mode, dirty_bytes.
//! Source:        Linux 2.6.23, 2.6.24, 2.6.32, 6.1: mm/page-writeback.c, mm/pdflush.c, fs/fs-writeback.c.

use seekwise_units::{Nanos, Version};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WriteBackGeneration {
    Linux2_6_23,
    Linux2_6_24,
    Linux2_6_32,
    /// 3.2 and later: writers are paced, not made to write.
    Linux3_2,
}

/// Pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub background: u64,
    pub foreground: u64,
}

/// What is dirty and under way, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirtyLoad {
    pub dirty: u64,
    pub writing: u64,
    /// Tasks that write now; each one's own share lowers its limit.
    pub writers: u64,
}

/// What a writer that looks at the limits has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duty {
    None,
    /// Write back pages itself.
    WriteBack,
    /// Sleep, as long as [`WriteBackGeneration::nap`] says.
    Sleep,
}

/// dirty_writeback_interval and dirty_expire_interval (all versions).
pub const PERIOD: Nanos = Nanos::from_secs(5);
pub const EXPIRE: Nanos = Nanos::from_secs(30);
/// Pages that a pass takes from a file at a turn (MAX_WRITEBACK_PAGES).
const TURN_PAGES: u64 = 1024;
/// A writer over its limit looks again after this many pages.
const CHECK_OVER_PAGES: u64 = 8;
/// Longest wait of a writer: HZ/10.
const PAUSE_MAX: Nanos = Nanos::from_millis(100);
/// Longest pause of a paced writer (MAX_PAUSE = HZ/5), and the one aimed at.
const PACED_PAUSE_MAX: Nanos = Nanos::from_millis(200);
const PACED_PAUSE: Nanos = Nanos::from_millis(10);
/// Bandwidth that a new device is believed to have (INIT_BW: 100 MiB/s), in pages a second.
const FIRST_BANDWIDTH: f64 = 25_600.0;
/// Estimates follow every 200 ms (BANDWIDTH_INTERVAL = HZ/5).
const ESTIMATE_EVERY: Nanos = Nanos::from_millis(200);

impl WriteBackGeneration {
    /// The generation of a kernel.
    pub fn of(version: Version) -> Self {
        match version {
            Version(2, 6, 0..=23) => Self::Linux2_6_23,
            Version(2, 6, 24..=31) => Self::Linux2_6_24,
            version if version < Version(3, 2, 0) => Self::Linux2_6_32,
            _ => Self::Linux3_2,
        }
    }

    /// `dirtyable`: pages that are free or hold file data. Ratios 5 and 10 % up to 2.6.29, 10 and 20 % later.
    pub fn limits(self, dirtyable: u64) -> Limits {
        let (background, foreground) = match self {
            Self::Linux2_6_23 | Self::Linux2_6_24 => (5, 10),
            _ => (10, 20),
        };
        Limits {
            background: dirtyable * background / 100,
            foreground: (dirtyable * foreground / 100).max(2),
        }
    }

    /// Pages that a writer dirties on a processor between two looks at the limits.
    pub fn check_every(self, total_pages: u64, processors: u64, over: bool) -> u64 {
        if over {
            CHECK_OVER_PAGES
        } else {
            (total_pages / (32 * processors)).clamp(16, 1024)
        }
    }

    /// Pages that a writer has to write back at a look: one and a half times what it may dirty between looks.
    pub fn quota(self, check_every: u64) -> u64 {
        check_every + check_every / 2
    }

    /// Writers go through the elevator themselves.
    pub fn writers_submit(self) -> bool {
        self < Self::Linux3_2
    }

    /// Background passes stop at a congested queue rather than sleep for a request (pdflush).
    pub fn background_avoids_congestion(self) -> bool {
        self < Self::Linux2_6_32
    }

    /// Reclaim goes slowly through active pages however few there are (up to 2.6.27; 2.6.28 to 2.6.31 count as old here).
    pub fn sifts_active_pages(self) -> bool {
        self < Self::Linux2_6_32
    }

    /// Pages under fsync are sent as synchronous writes (2.6.30 on).
    pub fn synchronous_fsync(self) -> bool {
        self >= Self::Linux2_6_32
    }

    /// A writer's own limit: an eighth less for the only writer, shared among several (2.6.24 on).
    fn own_limit(self, limits: &Limits, writers: u64) -> u64 {
        match self {
            Self::Linux2_6_23 => limits.foreground,
            _ => limits.foreground - limits.foreground / (8 * writers.max(1)),
        }
    }

    /// Whether a writer that looks now is over its limit.
    pub fn over(self, limits: &Limits, load: &DirtyLoad) -> bool {
        let used = load.dirty + load.writing;
        let free_run = match self {
            Self::Linux2_6_23 => 0,
            _ => (limits.background + limits.foreground) / 2,
        };
        used > self.own_limit(limits, load.writers) && used >= free_run
    }

    /// What a writer that looks at the limits does next.
    pub fn duty(self, limits: &Limits, load: &DirtyLoad) -> Duty {
        if !self.over(limits, load) {
            return Duty::None;
        }
        match self {
            Self::Linux2_6_23 | Self::Linux2_6_24 if load.dirty > 0 => Duty::WriteBack,
            Self::Linux2_6_23 | Self::Linux2_6_24 => Duty::Sleep,
            _ if load.dirty > self.own_limit(limits, load.writers) => Duty::WriteBack,
            _ => Duty::Sleep,
        }
    }

    /// Sleep of a writer that has slept `looks` times at this look already: HZ/10 or until the queue is less congested up to 2.6.31;
    /// then one tick, doubled each time, HZ/10 at most.
    pub fn nap(self, looks: u32, hz: u32) -> Nanos {
        if self < Self::Linux2_6_32 {
            return PAUSE_MAX;
        }
        let tick = 1_000_000_000 / u64::from(hz);
        Nanos((tick << looks.min(10)).min(PAUSE_MAX.0))
    }

    /// Whether the background pass has to run.
    pub fn background_due(self, limits: &Limits, load: &DirtyLoad) -> bool {
        load.dirty > limits.background
    }

    /// Pages of a file at a turn. From 3.2 on half a second's writing, an eighth of the limit at most, in whole 4 MiB.
    pub fn turn(self, limits: &Limits, bandwidth_pages_s: f64) -> u64 {
        match self {
            Self::Linux3_2 => {
                let half_second = (bandwidth_pages_s / 2.0) as u64;
                let most = half_second.min(limits.foreground / 8) + TURN_PAGES;
                most / TURN_PAGES * TURN_PAGES
            }
            _ => TURN_PAGES,
        }
    }
}

/// The pace of writers since 3.2: rate × position, followed every 200 ms.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Pages a second that one writer may dirty when the device stands at its set point.
    rate: f64,
    bandwidth: f64,
    looked: Nanos,
    dirtied: u64,
    written: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            rate: FIRST_BANDWIDTH,
            bandwidth: FIRST_BANDWIDTH,
            looked: Nanos::ZERO,
            dirtied: 0,
            written: 0,
        }
    }
}

impl Pace {
    /// Pages a second that the device writes, as believed now.
    pub fn bandwidth(&self) -> f64 {
        self.bandwidth
    }

    /// 1 at the set point, 2 when nothing is dirty, 0 at the limit: a cubic between.
    fn position(limits: &Limits, load: &DirtyLoad) -> f64 {
        let used = (load.dirty + load.writing) as f64;
        let limit = limits.foreground as f64;
        let free_run = (limits.background + limits.foreground) as f64 / 2.0;
        let set_point = (free_run + limit) / 2.0;
        let x = (set_point - used) / (limit - set_point + 1.0);
        (1.0 + x * x * x).clamp(0.0, 2.0)
    }

    /// Follows what was dirtied and written in all so far.
    pub fn follow(
        &mut self,
        now: Nanos,
        limits: &Limits,
        load: &DirtyLoad,
        dirtied: u64,
        written: u64,
    ) {
        let span = now.saturating_sub(self.looked);
        if span < ESTIMATE_EVERY {
            return;
        }
        let seconds = span.as_secs_f64();
        let dirty_rate = (dirtied - self.dirtied) as f64 / seconds;
        let write_rate = (written - self.written) as f64 / seconds;
        if write_rate > 0.0 {
            // The average covers about 3 s (write_bandwidth is weighed over 2 s rounded up to a power of two of ticks).
            let weight = (seconds / 3.0).min(1.0);
            self.bandwidth += (write_rate - self.bandwidth) * weight;
        }
        let writers = load.writers.max(1) as f64;
        if dirty_rate > 0.0 {
            let task = self.rate * Self::position(limits, load);
            let balanced = (task * self.bandwidth / dirty_rate).min(self.bandwidth);
            self.rate += (balanced - self.rate) / 4.0;
        }
        self.rate = self
            .rate
            .clamp(self.bandwidth / writers / 8.0, self.bandwidth);
        (self.looked, self.dirtied, self.written) = (now, dirtied, written);
    }

    /// Pause of a writer that dirtied `pages` since its last one; none below half way between the limits.
    pub fn pause(&self, limits: &Limits, load: &DirtyLoad, pages: u64) -> Option<Nanos> {
        if load.dirty + load.writing <= (limits.background + limits.foreground) / 2 {
            return None;
        }
        let rate = self.rate * Self::position(limits, load);
        let pause = Nanos((pages as f64 / rate.max(1.0) * 1e9) as u64);
        Some(pause.min(PACED_PAUSE_MAX))
    }

    /// Pages until the next pause, so that pauses are about 10 ms.
    pub fn pages_between_pauses(&self, limits: &Limits, load: &DirtyLoad) -> u64 {
        let rate = self.rate * Self::position(limits, load);
        ((rate * PACED_PAUSE.as_secs_f64()) as u64).clamp(1, 1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: u64 = 40_000;

    #[test]
    fn limits_follow_the_generation() {
        let old = WriteBackGeneration::of(Version(2, 6, 24)).limits(MEMORY);
        assert_eq!((old.background, old.foreground), (2_000, 4_000));
        let new = WriteBackGeneration::of(Version(2, 6, 32)).limits(MEMORY);
        assert_eq!((new.background, new.foreground), (4_000, 8_000));
    }

    #[test]
    fn writers_of_2_6_24_write_themselves_and_those_of_2_6_32_sleep_while_pages_are_under_way() {
        let load = DirtyLoad {
            dirty: 1_000,
            writing: 9_000,
            writers: 1,
        };
        let old = WriteBackGeneration::Linux2_6_24;
        assert_eq!(old.duty(&old.limits(MEMORY), &load), Duty::WriteBack);
        let new = WriteBackGeneration::Linux2_6_32;
        let limits = new.limits(MEMORY);
        assert_eq!(new.duty(&limits, &load), Duty::Sleep);
        assert_eq!(new.nap(0, 250), Nanos::from_millis(4));
        assert_eq!(new.nap(9, 250), PAUSE_MAX);
        let idle = DirtyLoad {
            writers: 1,
            ..DirtyLoad::default()
        };
        assert_eq!(new.duty(&limits, &idle), Duty::None);
    }

    #[test]
    fn checks_are_rare_below_the_limit_and_frequent_above() {
        let generation = WriteBackGeneration::Linux2_6_32;
        assert_eq!(generation.check_every(65_536, 1, false), 1024);
        assert_eq!(generation.check_every(65_536, 4, false), 512);
        assert_eq!(generation.check_every(65_536, 4, true), 8);
        assert_eq!(generation.quota(1024), 1536);
    }

    #[test]
    fn turns_of_a_file_are_4_mib_and_later_half_a_second() {
        let large = Limits {
            background: 500_000,
            foreground: 1_000_000,
        };
        assert_eq!(
            WriteBackGeneration::Linux2_6_32.turn(&large, FIRST_BANDWIDTH),
            1024
        );
        // 100 MiB/s: 50 MiB and 4 MiB, in whole 4 MiB.
        assert_eq!(
            WriteBackGeneration::Linux3_2.turn(&large, FIRST_BANDWIDTH),
            13 * 1024
        );
    }

    #[test]
    fn a_paced_writer_slows_down_towards_the_limit() {
        let generation = WriteBackGeneration::Linux3_2;
        let limits = generation.limits(MEMORY);
        let pace = Pace::default();
        let at = |dirty| {
            let load = DirtyLoad {
                dirty,
                writing: 0,
                writers: 1,
            };
            pace.pause(&limits, &load, 256)
        };
        assert_eq!(at(5_000), None);
        let (middle, late) = (at(7_000).unwrap(), at(7_900).unwrap());
        assert!(late > middle, "{late:?} against {middle:?}");
        assert!(at(8_000).unwrap() <= PACED_PAUSE_MAX);
    }

    #[test]
    fn the_pace_follows_a_slower_device() {
        let generation = WriteBackGeneration::Linux3_2;
        let limits = generation.limits(MEMORY);
        let mut pace = Pace::default();
        let load = DirtyLoad {
            dirty: 7_000,
            writing: 0,
            writers: 1,
        };
        for step in 1..60u64 {
            let now = Nanos::from_millis(200 * step);
            pace.follow(now, &limits, &load, 1_000 * step, 1_000 * step);
        }
        assert!((pace.bandwidth() / 5_000.0 - 1.0).abs() < 0.1, "{pace:?}");
    }
}
