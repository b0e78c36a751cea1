//! How writers through the page cache are held back since 3.2, and in a cgroup with limited memory since 4.2.
//!
//! ```text
//!   dirty pages   0 ──────── background ── free run ── set point ── limit        (of the group, and of the machine)
//!   a writer      runs freely ────────────────────┤ sleeps: pages dirtied / (rate × position) ┤ sleeps until there is room
//! ```
//!
//! Modelled:      limits of a cgroup and of the whole machine, whose stricter one holds; position between them; the rate that follows the
//!                drive's bandwidth; pauses and how often a writer looks; all in ticks, as the kernel counts.
//! Not modelled:  several drives that share the limits, dirty_bytes, strict limits (fuse), writers of real-time class.
//! Source:        facts of Linux v5.10, v6.1 and v6.12 mm/page-writeback.c, and what its tracepoints balance_dirty_pages and
//!                bdi_dirty_ratelimit said in the VM testbed (proof/docs/ladder-buffered.md).

/// What a new drive is believed to write: 100 MiB/s in pages (INIT_BW).
const FIRST_BANDWIDTH: u64 = 25_600;
/// Fixed point of positions (RATELIMIT_CALC_SHIFT).
const ONE: i64 = 1 << 10;
/// A writer that begins looks after 128 KiB, and pauses come at least so far apart where that is possible (DIRTY_POLL_THRESH).
const LOOK_PAGES: u64 = 32;
/// While limits are exceeded a writer looks after 32 KiB.
const LOOK_EXCEEDED: u64 = 8;

/// Share of the memory that may be dirty: dirty_background_ratio and dirty_ratio of 10 and 20 %, as the kernel rounds them (to 1/4096).
fn thresholds(dirtyable: u64) -> (u64, u64) {
    (dirtyable * 409 / 4096, dirtyable * 819 / 4096)
}

/// Limits of a group or of the machine.
#[derive(Clone, Copy, Debug)]
pub struct Domain {
    pub background: u64,
    threshold: u64,
    /// Follows the threshold, downwards slowly.
    limit: u64,
}

impl Domain {
    /// `dirtyable`: pages that are free or hold file data.
    pub fn new(dirtyable: u64) -> Self {
        let (background, threshold) = thresholds(dirtyable);
        Self {
            background,
            threshold,
            limit: threshold,
        }
    }

    /// Pages that may be dirty in all: the share that `dirty_ratio` gives.
    pub fn threshold(&self) -> u64 {
        self.threshold
    }

    fn free_run(&self) -> u64 {
        (self.threshold + self.background) / 2
    }

    fn set_point(&self) -> u64 {
        (self.free_run() + self.limit.max(self.threshold)) / 2
    }

    /// How much faster (up to 2, near an idle drive up to 16) or slower (down to 0) than the rate a writer may go.
    fn position(&self, dirty: u64, of_device: u64, has_written: bool, bandwidth: u64) -> i64 {
        let limit = self.limit.max(self.threshold) as i64;
        let dirty = dirty as i64;
        if dirty >= limit {
            return 0;
        }
        let set_point = self.set_point() as i64;
        let x = (set_point - dirty) * ONE / ((limit - set_point) | 1);
        let mut position = (ONE + ((x * x / ONE) * x / ONE)).clamp(0, 2 * ONE);
        // The device's own share: all of it once it has written something.
        let threshold = self.threshold as i64;
        let share = if has_written { threshold } else { 0 };
        let share = share.max((limit - dirty) / 8).min(threshold);
        let part = share as f64 / (threshold | 1) as f64;
        let own_point = (set_point as f64 * part) as i64;
        let span = ((threshold - share + 8 * bandwidth as i64) as f64 * part) as i64;
        let zero = own_point + span;
        let own = of_device as i64;
        if own < zero - span / 4 {
            position = position * (zero - own) / ((zero - own_point) | 1);
        } else {
            position /= 4;
        }
        let low = share / 2;
        if own < low {
            if own > low / 8 {
                position = position * low / own;
            } else {
                position *= 8;
            }
        }
        position
    }

    fn follow(&mut self, dirty: u64) {
        if self.limit < self.threshold {
            self.limit = self.threshold;
        } else {
            let floor = self.threshold.max(dirty);
            if self.limit > floor {
                self.limit -= (self.limit - floor) >> 5;
            }
        }
    }
}

/// What is dirty or being written, in pages.
#[derive(Clone, Copy, Debug, Default)]
pub struct DirtyPages {
    /// Of the group as its counters say, which lag.
    pub group: u64,
    /// Of the machine.
    pub machine: u64,
    /// Bound for this device.
    pub device: u64,
    pub dirtied_ever: u64,
    pub written_ever: u64,
}

impl DirtyPages {
    /// Of a machine that writes to one device; `group`: what the group's counters say.
    pub fn of_device(group: u64, dirty: u64, dirtied_ever: u64, written_ever: u64) -> Self {
        Self {
            group,
            machine: dirty,
            device: dirty,
            dirtied_ever,
            written_ever,
        }
    }
}

/// A program that writes.
#[derive(Clone, Copy, Debug)]
pub struct Writer {
    pub dirtied: u64,
    look_after: u64,
    /// Tick at which its last pause ended; 0 when it has had none.
    paused: u64,
}

impl Default for Writer {
    fn default() -> Self {
        Self {
            dirtied: 0,
            look_after: LOOK_PAGES,
            paused: 0,
        }
    }
}

/// What a writer that has looked does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Below the limits.
    Free,
    /// Goes on, though the flusher has to work.
    GoOn,
    /// Sleeps so many ticks; `again`: then it looks once more, otherwise it goes on.
    Sleep { ticks: u64, again: bool },
}

/// The write-back of one device on behalf of one group.
#[derive(Clone, Debug)]
pub struct Pacing {
    hz: u64,
    pub group: Domain,
    pub machine: Domain,
    bandwidth: u64,
    average: u64,
    rate: u64,
    balanced: u64,
    looked: u64,
    dirtied_then: u64,
    written_then: u64,
    exceeded: bool,
}

impl Pacing {
    /// Begins with the kernel's first guess of the device's bandwidth; `hz` is ticks per second.
    pub fn new(hz: u32, group: Domain, machine: Domain) -> Self {
        Self {
            hz: u64::from(hz),
            group,
            machine,
            bandwidth: FIRST_BANDWIDTH,
            average: FIRST_BANDWIDTH,
            rate: FIRST_BANDWIDTH,
            balanced: FIRST_BANDWIDTH,
            looked: 0,
            dirtied_then: 0,
            written_then: 0,
            exceeded: false,
        }
    }

    /// The flusher has work: more than the background limit is dirty, of the group or of the machine.
    /// Linux v5.10 to v6.12 mm/page-writeback.c, wb_over_bg_thresh: either is enough.
    pub fn over_background(&self, dirty: u64) -> bool {
        dirty > self.group.background.min(self.machine.background)
    }

    /// Pages until a writer looks at the limits.
    pub fn pages_to_look(&self, writer: &Writer) -> u64 {
        let every = if self.exceeded {
            writer.look_after.min(LOOK_EXCEEDED)
        } else {
            writer.look_after
        };
        every.saturating_sub(writer.dirtied)
    }

    /// Estimates are made anew every 200 ms.
    fn estimate_due(&self, tick: u64) -> bool {
        tick > self.looked + self.hz / 5
    }

    /// A flusher's look, which follows the drive only.
    pub fn flusher_looks(&mut self, tick: u64, seen: &DirtyPages) {
        if self.estimate_due(tick) {
            self.estimate(tick, seen, false);
        }
    }

    fn estimate(&mut self, tick: u64, seen: &DirtyPages, rates: bool) {
        let elapsed = (tick - self.looked).max(1);
        if rates {
            let dirty_rate = (seen.dirtied_ever - self.dirtied_then) * self.hz / elapsed;
            self.machine.follow(seen.machine);
            let position = self.position_of(&self.machine, seen.machine, seen);
            self.rate_follows(&self.machine.clone(), seen.machine, position, dirty_rate);
            self.group.follow(seen.group);
            let position = self.position_of(&self.group, seen.group, seen);
            self.rate_follows(&self.group.clone(), seen.group, position, dirty_rate);
        }
        let written = (seen.written_ever - self.written_then) * self.hz;
        let period = (3 * self.hz).next_power_of_two();
        if elapsed > period {
            self.bandwidth = written / elapsed;
            self.average = self.bandwidth;
        } else {
            let old = self.bandwidth;
            let new = (written + old * (period - elapsed)) / period;
            if self.average > old && old >= new {
                self.average -= (self.average - old) >> 3;
            } else if self.average < old && old <= new {
                self.average += (old - self.average) >> 3;
            }
            self.bandwidth = new;
        }
        self.average = self.average.max(1);
        self.dirtied_then = seen.dirtied_ever;
        self.written_then = seen.written_ever;
        self.looked = tick;
    }

    fn position_of(&self, domain: &Domain, dirty: u64, seen: &DirtyPages) -> i64 {
        domain.position(dirty, seen.device, seen.written_ever > 0, self.bandwidth)
    }

    fn rate_follows(&mut self, domain: &Domain, dirty: u64, position: i64, dirty_rate: u64) {
        let task = self.rate * position as u64 / ONE as u64 + 1;
        let balanced = (task * self.average / (dirty_rate | 1)).min(self.average);
        // Only as far as the last and this estimate and the rate of the tasks agree.
        let step = if dirty < domain.set_point() {
            self.balanced
                .min(balanced)
                .min(task)
                .saturating_sub(self.rate)
        } else {
            let high = self.balanced.max(balanced).max(task);
            self.rate.saturating_sub(high)
        };
        let shift = self.rate / (2 * step + 1);
        let step = if shift < 64 {
            (step >> shift).div_ceil(8)
        } else {
            0
        };
        if self.rate < balanced {
            self.rate += step;
        } else {
            self.rate = self.rate.saturating_sub(step);
        }
        self.rate = self.rate.max(1);
        self.balanced = balanced;
    }

    /// A writer looks at the limits.
    pub fn writer_looks(&mut self, tick: u64, writer: &mut Writer, seen: &DirtyPages) -> Verdict {
        let over = seen.group > self.group.free_run() || seen.machine > self.machine.free_run();
        if !over {
            self.let_run(tick, writer, seen);
            return Verdict::Free;
        }
        self.exceeded = seen.device > 0
            && (seen.group > self.group.threshold || seen.machine > self.machine.threshold);
        let machine = self.position_of(&self.machine, seen.machine, seen);
        let position = self.position_of(&self.group, seen.group, seen).min(machine);
        if self.estimate_due(tick) {
            self.estimate(tick, seen, true);
        }
        let task = self.rate * position.max(0) as u64 / ONE as u64;
        let pause_max = self.pause_max(seen.device);
        let (pause_min, look_after) = self.pause_min(pause_max, task);
        if task == 0 {
            writer.look_after = look_after;
            return Verdict::Sleep {
                ticks: pause_max,
                again: true,
            };
        }
        let period = self.hz * writer.dirtied / task;
        let since = if writer.paused == 0 {
            0
        } else {
            tick as i64 - writer.paused as i64
        };
        let pause = period as i64 - since;
        if pause < pause_min as i64 {
            self.skip_pause(tick, writer, period, pause);
            return Verdict::GoOn;
        }
        let mut from = tick;
        let mut pause = pause as u64;
        if pause > pause_max {
            from += (pause - pause_max).min(pause_max);
            pause = pause_max;
        }
        writer.paused = from + pause;
        writer.dirtied = 0;
        writer.look_after = look_after;
        Verdict::Sleep {
            ticks: pause,
            again: false,
        }
    }

    /// Below the limits: the more room there is, the later the writer looks again.
    fn let_run(&self, tick: u64, writer: &mut Writer, seen: &DirtyPages) {
        let room = |domain: &Domain, dirty: u64| match domain.threshold.saturating_sub(dirty) {
            0 => 1,
            room => 1 << (room.ilog2() / 2),
        };
        writer.look_after = room(&self.group, seen.group).min(room(&self.machine, seen.machine));
        writer.dirtied = 0;
        writer.paused = tick;
    }

    /// A pause that is too short counts towards the next one, unless the writer is more than a second behind its rate. Times in ticks.
    fn skip_pause(&self, tick: u64, writer: &mut Writer, period: u64, pause: i64) {
        if pause < -(self.hz as i64) {
            writer.paused = tick;
            writer.dirtied = 0;
        } else if period > 0 {
            writer.paused += period;
            writer.dirtied = 0;
        } else if writer.look_after <= writer.dirtied {
            writer.look_after += writer.dirtied;
        }
    }

    /// So short that the drive does not run dry.
    fn pause_max(&self, of_device: u64) -> u64 {
        let per_look = self.average / (1 + self.hz / 8).next_power_of_two();
        (of_device / (1 + per_look) + 1).min((self.hz / 5).max(1))
    }

    /// The shortest pause worth sleeping for, and pages until the next look.
    fn pause_min(&self, pause_max: u64, task: u64) -> (u64, u64) {
        let second = self.hz.next_power_of_two();
        let mut target = (self.hz / 100).max(1);
        let (fast, slow) = (self.average.max(1).ilog2(), self.rate.max(1).ilog2());
        if fast > slow {
            target += u64::from(fast - slow) * 10 * self.hz / 1024;
        }
        target = target.min(1 + pause_max / 2);
        let mut pages = self.rate * target / second;
        if pages < LOOK_PAGES {
            target = pause_max;
            pages = self.rate * target / second;
            if pages > LOOK_PAGES {
                pages = LOOK_PAGES;
                target = self.hz * LOOK_PAGES / self.rate;
            }
        }
        if self.hz * pages / (task + 1) > pause_max {
            target = pause_max;
            pages = task * target / second;
        }
        let least = if pages >= LOOK_PAGES {
            1 + target / 2
        } else {
            target
        };
        (least, pages)
    }

    /// Pages that the flusher takes at a turn: half a second's writing, an eighth of the machine's limit at most, in whole 4 MiB.
    pub fn turn(&self) -> u64 {
        let most = (self.average / 2).min(self.machine.limit / 8);
        (most + 1024) / 1024 * 1024
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The group of 64 MiB that the VM testbed's tracepoints were read in: free run 2236 pages, limit 2982.
    fn testbed() -> Pacing {
        Pacing::new(250, Domain::new(14_910), Domain::new(144_000))
    }

    fn seen(dirty: u64) -> DirtyPages {
        DirtyPages {
            group: dirty,
            machine: dirty,
            device: dirty,
            dirtied_ever: dirty + 100,
            written_ever: 100,
        }
    }

    #[test]
    fn limits_are_those_that_the_kernel_printed() {
        let pacing = testbed();
        assert_eq!(pacing.group.threshold(), 2981);
        assert_eq!(pacing.group.free_run(), 2234);
    }

    /// Otherwise writers sleep at the machine's limit for room that nobody makes.
    #[test]
    fn the_flusher_works_for_the_limits_of_a_machine_smaller_than_the_group() {
        let pacing = Pacing::new(250, Domain::new(400_000), Domain::new(144_000));
        assert!(pacing.machine.threshold() < pacing.group.background);
        assert!(pacing.over_background(pacing.machine.threshold()));
        assert!(!pacing.over_background(pacing.machine.background));
    }

    #[test]
    fn a_writer_below_free_run_looks_the_more_often_the_nearer_the_limit() {
        let (mut pacing, mut writer) = (testbed(), Writer::default());
        assert_eq!(pacing.pages_to_look(&writer), 32);
        assert_eq!(
            pacing.writer_looks(300, &mut writer, &seen(0)),
            Verdict::Free
        );
        assert_eq!(pacing.pages_to_look(&writer), 32);
        pacing.writer_looks(300, &mut writer, &seen(2200));
        assert_eq!(pacing.pages_to_look(&writer), 16);
    }

    #[test]
    fn at_the_limit_a_writer_sleeps_four_ticks_and_looks_again() {
        let (mut pacing, mut writer) = (testbed(), Writer::default());
        pacing.looked = 300;
        writer.dirtied = 200;
        let verdict = pacing.writer_looks(301, &mut writer, &seen(3076));
        assert_eq!(
            verdict,
            Verdict::Sleep {
                ticks: 4,
                again: true
            }
        );
        assert_eq!(writer.dirtied, 200);
    }

    #[test]
    fn positions_are_those_that_the_kernel_printed() {
        let pacing = testbed();
        // dirty 2357: 133100 of 102400 KiB/s; 2484: 105300; 2681: 101200 (its own numbers are a page or two off ours).
        for (dirty, printed) in [(2357, 1.30), (2484, 1.03), (2681, 0.99)] {
            let position = pacing.position_of(&pacing.group, dirty, &seen(dirty));
            let ratio = position as f64 / ONE as f64;
            assert!((ratio - printed).abs() < 0.06, "{dirty}: {ratio}");
        }
    }

    #[test]
    fn the_rate_follows_a_slower_drive_and_the_flusher_takes_smaller_turns() {
        let mut pacing = testbed();
        assert_eq!(pacing.turn(), 4096);
        let mut writer = Writer::default();
        for second in 1..200u64 {
            let mut now = seen(2700);
            now.dirtied_ever = 400 * second + 2700;
            now.written_ever = 400 * second;
            pacing.writer_looks(250 * second, &mut writer, &now);
        }
        assert!((300..500).contains(&pacing.average), "{pacing:?}");
        assert_eq!(pacing.turn(), 1024);
    }
}
