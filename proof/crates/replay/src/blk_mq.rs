//! Recordings of kernels with blk-mq: `SCHEDULER/NAME.csv`, settings in `NAME.conf`.
//!
//!   scheduler ──► H ──► device (D at once)      H: at most one request, taken out ahead of time
//!
//! null_blk gives the block layer no budget, so it pulls from the scheduler until a request finds no device tag. That one
//! was decided right after the issue before it, long before a tag comes free for it. When the model is asked and what
//! counts as a point follows the protocol beside the recordings.
//!
//! One thing the protocol leaves open: a completion runs the hardware queue only if a run before it found no driver tag
//! (Linux 5.10 to 6.12 block/blk-mq-sched.c: blk_mq_sched_restart), or if the policy asks for a run. After any other completion
//! the kernel does not ask its scheduler, so the model is not asked either: what it dispatches there is nothing.
//!
//! Kernels before 5.12 pull more than one while the hardware queue was not busy lately ([`seekwise_sched::busyness`]).
//!
//! The processes of these recordings stay alive to the end: bfq waits its full time for each after its last request.

use crate::journal::Journal;
use crate::outcome::{Look, Tally};
use crate::queue::{words, Priorities, Queue};
use crate::rows::{Event, RecordedRow};
use crate::walk::{lost, Walk};
use seekwise_sched::busyness::{takes_many, Busyness};
use seekwise_sched::{Kernel, RequestId, Scheduler, Setup};
use seekwise_units::Nanos;
use std::path::Path;

/// Kernel of recordings that lie in no folder of another one.
const KERNEL_DEFAULT: &str = "6.1";
/// Tick of Debian's kernels (CONFIG_HZ_250).
const HZ: u32 = 250;
/// How long after it was given nothing blk-mq asks again.
const ASK_AGAIN_MILLIS: u64 = 3;
/// From an insertion to the moment when the run that it starts asks the scheduler, in the VM testbed: recordings of null_blk with
/// room have the `issue` row 7.7, 3.9 and 3.6 us behind the `insert` row (6.1, 5.10, 6.12), of which the way to the driver is 1 us.
/// 5.10 and 6.12 run the queue at once, kernels between them leave it to a worker. A slot of bfq begins when it asks.
fn insertion_runs_after(kernel: &Kernel) -> Nanos {
    Nanos(if kernel.at_least(6, 4, 0) || !kernel.at_least(5, 12, 0) {
        2_700
    } else {
        6_000
    })
}
/// From an issue to the look for the next request's tag, with the interrupt of a completion that comes first. Recordings: the next
/// issue follows 2.5 us behind one that finds its tag, an interrupt takes 1.5 us to its `complete` row; 5 us when the queue is run anew.
const LOOKS_FOR_TAG_WITHIN: Nanos = Nanos(4_500);
/// A timer that is due this soon explains an issue.
const TIMER_TOLERANCE: Nanos = Nanos::from_micros(10);

/// The kernel of a recording: the folder under `other-kernels`.
pub fn kernel_of(path: &Path) -> &str {
    let mut parts = path
        .components()
        .map(|part| part.as_os_str().to_str().unwrap_or_default());
    parts.find(|part| *part == "other-kernels");
    parts.next().unwrap_or(KERNEL_DEFAULT)
}

/// What `.conf` says.
#[derive(Clone, Debug)]
pub struct Settings {
    pub scheduler: String,
    pub setup: Setup,
    /// Requests that the device takes at once.
    pub depth_device: u32,
    /// Longest request.
    pub sectors_max: u64,
}

impl Settings {
    /// Reads `text`, lines `key=value` of a `.conf`, for the kernel named `kernel`. The error is one sentence.
    pub fn parse(text: &str, kernel: &str) -> Result<Self, String> {
        let kernel = Kernel::parse(kernel, HZ)?;
        let pairs: Vec<(&str, &str)> = text
            .lines()
            .filter_map(|line| line.trim().split_once('='))
            .collect();
        let find = |key: &str| {
            pairs
                .iter()
                .find(|(name, _)| *name == key)
                .map(|(_, value)| value.trim())
        };
        let number = |key: &str, otherwise: u64| match find(key) {
            Some(value) => value
                .parse::<u64>()
                .map_err(|_| format!("{key} is \"{value}\", not a number")),
            None => Ok(otherwise),
        };
        let offered = find("scheduler").ok_or("no line scheduler= in the settings")?;
        let bracketed = offered
            .split_once('[')
            .and_then(|(_, rest)| rest.split_once(']'));
        let scheduler = bracketed.map_or(offered, |(name, _)| name).to_owned();
        let entry = seekwise_sched::registry::find(&scheduler)
            .ok_or_else(|| format!("\"{scheduler}\" is no scheduler of the registry"))?;
        let depth_device = number("hw_queue_depth", 1)?;
        if !(1..=65_536).contains(&depth_device) {
            return Err(format!(
                "hw_queue_depth is {depth_device}, outside 1 to 65536 requests"
            ));
        }
        let mut setup = Setup::new(kernel);
        setup.rotational = number("rotational", 1)? != 0;
        setup.depth_device = depth_device as u32;
        setup.host_tags = setup.depth_device;
        setup.nr_requests =
            number("nr_requests", setup.nr_requests.into())?.min(u32::MAX.into()) as u32;
        for (name, value) in &pairs {
            let Some(tunable) = name.strip_prefix("iosched/") else {
                continue;
            };
            let value = value
                .parse()
                .map_err(|_| format!("{name} is \"{value}\", not a number"))?;
            setup
                .values
                .set(&scheduler, entry.parameters, &kernel, tunable, value)?;
        }
        Ok(Self {
            scheduler,
            setup,
            depth_device: depth_device as u32,
            sectors_max: number("max_sectors_kb", 1280)?.saturating_mul(2),
        })
    }
}

struct Replay<'a, S> {
    policy: Journal<S>,
    queue: Queue,
    rows: &'a [RecordedRow],
    settings: &'a Settings,
    priorities: Priorities,
    issues: u64,
    completes: u64,
    tally: Tally,
    busyness: Busyness,
    pulls_many: bool,
    /// What was taken ahead found no driver tag.
    waits_for_tag: bool,
    /// A run found no driver tag: the next completion runs the hardware queue again.
    restart: bool,
    /// When blk-mq asks again after it was given nothing.
    ask_again: Nanos,
    /// When the run asks that an insertion started.
    run_due: Nanos,
    /// The last issue, and what was so before the request taken behind it looked for a driver tag.
    before_look: Option<(Nanos, Busyness, bool)>,
}

/// Replays `rows` on `policy`. On an error the tally holds the points up to there.
pub fn replay<S: Scheduler>(
    policy: S,
    rows: &[RecordedRow],
    settings: &Settings,
    priorities: Priorities,
    explain: Option<usize>,
) -> (Tally, Option<Look>, Result<(), String>) {
    let replay = Replay {
        policy: Journal::new(policy),
        queue: Queue::default(),
        rows,
        settings,
        priorities,
        issues: 0,
        completes: 0,
        tally: Tally::default(),
        busyness: Busyness::default(),
        pulls_many: takes_many(&settings.setup.kernel),
        waits_for_tag: false,
        restart: false,
        ask_again: Nanos::NEVER,
        run_due: Nanos::NEVER,
        before_look: None,
    };
    replay.walk(explain)
}

impl<S: Scheduler> Replay<'_, S> {
    /// Requests with the device.
    fn in_flight(&self) -> u64 {
        self.issues - self.completes
    }

    /// While the device is full, one request is taken ahead as soon as there is one.
    fn ask_if_full(&mut self, now: Nanos) {
        if self.is_full() {
            self.ask(now);
            self.look_for_tag();
        }
    }

    /// The hardware queue is run. While the device has room, what the model would dispatch is left to the `issue` row that follows:
    /// only that it has nothing is taken note of.
    fn run(&mut self, now: Nanos) {
        if self.is_full() {
            return self.ask_if_full(now);
        }
        if self.policy.chosen().is_some() || !self.policy.has_work() {
            return;
        }
        let (policy, busyness) = (self.policy.clone(), self.busyness);
        self.ask(now);
        if self.policy.chosen().is_some() {
            (self.policy, self.busyness) = (policy, busyness);
        }
    }

    /// A policy that has work and dispatches nothing is asked again (Linux 5.8 to 6.12 block/blk-mq-sched.c: BLK_MQ_BUDGET_DELAY).
    fn ask_later(&mut self, now: Nanos) {
        let kernel = self.settings.setup.kernel;
        // The timer wheel rounds up by a tick so as never to be early. Linux 4.8 on kernel/time/timer.c: calc_index.
        let ticks = kernel.ticks_from_millis(ASK_AGAIN_MILLIS) + 1;
        self.ask_again = kernel.tick_start(kernel.jiffies(now) + ticks);
    }

    /// What was taken ahead needs a driver tag.
    fn look_for_tag(&mut self) {
        if self.policy.chosen().is_some() && self.is_full() {
            (self.waits_for_tag, self.restart) = (true, true);
        }
    }

    /// A request is done: what was taken behind the last issue had no time yet to look for a tag in vain, and takes this one.
    fn find_tag_after_all(&mut self, now: Nanos) {
        let before = self
            .before_look
            .take()
            .filter(|(issued, ..)| now.saturating_sub(*issued) <= LOOKS_FOR_TAG_WITHIN);
        if let Some((_, busyness, restart)) = before.filter(|_| self.waits_for_tag) {
            (self.waits_for_tag, self.restart) = (false, restart);
            self.busyness = busyness;
            self.busyness.update(false);
        }
    }

    fn is_full(&self) -> bool {
        self.in_flight() == u64::from(self.settings.depth_device)
    }

    fn ask(&mut self, now: Nanos) {
        if self.policy.chosen().is_some() {
            return;
        }
        // Whatever runs the queue takes the place of the delayed run.
        (self.ask_again, self.run_due) = (Nanos::NEVER, Nanos::NEVER);
        if self.policy.choose(now).is_none() {
            if self.policy.has_work() {
                self.ask_later(now);
            }
            return;
        }
        if !self.pulls_many {
            return;
        }
        let most = self.busyness.most(self.settings.setup.nr_requests);
        while self.policy.taken_ahead() < most && self.policy.choose(now).is_some() {}
        let room = u64::from(self.settings.depth_device).saturating_sub(self.in_flight());
        self.busyness
            .update(self.policy.taken_ahead() as u64 > room);
    }

    fn issue_point(&mut self, row: &RecordedRow, recorded: RequestId) {
        let waiting = self.queue.waiting();
        self.ask(row.time);
        if self.policy.chosen().is_none() {
            let soon = row.time + TIMER_TOLERANCE;
            if self.policy.timer().is_some_and(|due| due <= soon) {
                self.policy.fire(row.time);
                self.ask(row.time);
            }
        }
        let chosen = self.policy.chosen();
        let right = chosen.is_some_and(|id| self.queue.matches(id, row));
        self.tally.issue_point(right, waiting >= 2);
        let issued = match chosen {
            Some(id) if right => {
                self.policy.confirm();
                id
            }
            _ => {
                self.miss_point(row, "issue", words(self.queue.get(recorded)));
                self.policy.take_instead(row.time, recorded);
                recorded
            }
        };
        self.queue.issue(issued);
        self.policy.issued(row.time, issued);
    }

    /// After row `at`, with which the hardware queue is run or not.
    fn nothing_point(&mut self, at: usize, is_run: bool) {
        let row = &self.rows[at];
        let free = self.in_flight() < u64::from(self.settings.depth_device);
        if !free || self.queue.waiting() == 0 || self.issue_follows(at) {
            return;
        }
        if is_run {
            self.ask(row.time);
        }
        let right = self.policy.chosen().is_none();
        self.tally.nothing_point(right, is_run);
        if !right {
            self.miss_point(row, "nothing", "nothing".to_owned());
            // What waits for a tag is in the dispatch list: the kernel cannot put it back, its processor is busy with something else.
            if !self.waits_for_tag {
                self.policy.undo_first();
            }
        }
    }

    fn miss_point(&mut self, row: &RecordedRow, point: &'static str, recorded: String) {
        let chosen = self.policy.chosen();
        self.miss(row, point, recorded, chosen, |replay, state| {
            let (before, at) = replay.policy.at_choice(row.time);
            before.describe(at, state);
        });
    }
}

impl<S: Scheduler> Walk for Replay<'_, S> {
    fn rows(&self) -> &[RecordedRow] {
        self.rows
    }

    fn queue(&self) -> &Queue {
        &self.queue
    }

    fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }

    fn fire_timers(&mut self, now: Nanos) {
        loop {
            let timer = self.policy.timer().unwrap_or(Nanos::NEVER);
            let due = timer.min(self.ask_again).min(self.run_due);
            if due > now {
                return;
            }
            if due == timer {
                self.policy.fire(due);
            } else if due == self.run_due {
                self.run_due = Nanos::NEVER;
            } else {
                self.ask_again = Nanos::NEVER;
            }
            self.run(due);
        }
    }

    fn row(&mut self, at: usize) -> Result<(), String> {
        let row = &self.rows[at];
        match row.event {
            Event::Submit | Event::Start => {}
            Event::Insert => {
                let held = self.policy.chosen().is_some();
                self.queue.insert(&mut self.policy, row, &self.priorities);
                if held && self.is_full() {
                    // The queue was run, and what is held found no tag again.
                    self.busyness.update(true);
                }
                let run_due = row.time + insertion_runs_after(&self.settings.setup.kernel);
                self.run_due = self.run_due.min(run_due);
            }
            Event::BackMerge | Event::FrontMerge | Event::Merge => {
                self.queue.merge(
                    &mut self.policy,
                    row,
                    &self.priorities,
                    self.settings.sectors_max,
                );
                self.ask_if_full(row.time);
            }
            Event::Issue => {
                let recorded = self
                    .queue
                    .named(row, true)
                    .or_else(|| self.queue.adopt(&mut self.policy, row));
                let recorded = recorded.ok_or_else(|| lost(row, "that waits"))?;
                let waited_for_tag = core::mem::take(&mut self.waits_for_tag);
                self.issue_point(row, recorded);
                self.issues += 1;
                if waited_for_tag {
                    self.busyness
                        .update(self.policy.chosen().is_some() && self.is_full());
                }
                // What waited for a tag was in the dispatch list when the run began.
                self.restart |= waited_for_tag;
                self.before_look = Some((row.time, self.busyness, self.restart));
                self.ask(row.time);
                self.look_for_tag();
                self.nothing_point(at, true);
            }
            Event::Complete => {
                self.queue
                    .complete(&mut self.policy, row)
                    .ok_or_else(|| lost(row, "with the device"))?;
                self.completes += 1;
                self.find_tag_after_all(row.time);
                let kicked = self.policy.take_queue_kick();
                let started = self.run_due != Nanos::NEVER;
                let is_run = core::mem::take(&mut self.restart) || kicked || started;
                if is_run {
                    self.run(row.time);
                }
                self.nothing_point(at, is_run);
            }
        }
        Ok(())
    }

    fn state(&self, row: &RecordedRow) -> (String, Option<RequestId>) {
        let mut state = String::new();
        let (before, at) = self.policy.at_choice(row.time);
        if self.policy.chosen().is_some() {
            state += &format!("taken ahead at {} ns; the state before that:\n", at.0);
        }
        before.describe(at, &mut state);
        let chosen = self.policy.chosen();
        (
            state,
            chosen.or_else(|| self.policy.clone().choose(row.time)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONF: &str = "scheduler=[mq-deadline] kyber none\nnr_requests=256\nrotational=1\nmax_sectors_kb=127\niosched/fifo_batch=4\nhw_queue_depth=2\n";

    #[test]
    fn the_kernel_is_the_folder_below_other_kernels() {
        assert_eq!(
            kernel_of(Path::new("/a/vectors/other-kernels/5.10/kyber/x.csv")),
            "5.10"
        );
        assert_eq!(
            kernel_of(Path::new("/a/vectors/6.1-second-sample/kyber/x.csv")),
            "6.1"
        );
    }

    #[test]
    fn settings_are_read_and_absurd_ones_named() {
        let settings = Settings::parse(CONF, "6.1").unwrap();
        assert_eq!(
            (
                settings.scheduler.as_str(),
                settings.depth_device,
                settings.sectors_max
            ),
            ("mq-deadline", 2, 254)
        );
        assert_eq!(settings.setup.values.get("fifo_batch"), Some(4));
        let wrong = Settings::parse(&CONF.replace("batch=4", "batch=many"), "6.1").unwrap_err();
        assert_eq!(wrong, "iosched/fifo_batch is \"many\", not a number");
        assert!(Settings::parse(&CONF.replace("[mq-deadline]", "[bogus]"), "6.1").is_err());
        assert!(Settings::parse(&CONF.replace("depth=2", "depth=0"), "6.1").is_err());
    }

    fn run(text: &str) -> (Tally, Result<(), String>) {
        let settings = Settings::parse(&CONF.replace("depth=2", "depth=1"), "6.1").unwrap();
        let entry = seekwise_sched::registry::find(&settings.scheduler).unwrap();
        let policy = entry.build(&settings.setup).unwrap();
        let rows =
            crate::rows::parse(&format!("time_ns,event,op,sector,sectors,proc\n{text}")).unwrap();
        let (tally, _, finished) = replay(policy, &rows, &settings, Priorities::new(), None);
        (tally, finished)
    }

    /// This test will hold a choice made at the moment of an issue against one that a later, better request would win.
    #[test]
    fn a_request_is_taken_right_after_the_issue_before_it() {
        let early = "0,insert,R,100,8,p0\n5,issue,R,100,8,p0\n10,insert,R,900,8,p0\n20,insert,R,200,8,p0\n\
            1000,complete,R,100,8,p0\n1005,issue,R,900,8,p0\n2000,complete,R,900,8,p0\n2005,issue,R,200,8,p0\n3000,complete,R,200,8,p0\n";
        let (tally, finished) = run(early);
        assert_eq!(finished, Ok(()));
        assert_eq!((tally.score.passed, tally.score.total), (3, 3));
        assert_eq!((tally.contested.passed, tally.contested.total), (1, 1));
    }

    #[test]
    fn a_miss_is_counted_and_the_file_goes_on() {
        let swapped = "0,insert,R,100,8,p0\n5,issue,R,100,8,p0\n10,insert,R,900,8,p0\n20,insert,R,200,8,p0\n\
            1000,complete,R,100,8,p0\n1005,issue,R,200,8,p0\n2000,complete,R,200,8,p0\n2005,issue,R,900,8,p0\n3000,complete,R,900,8,p0\n";
        let (tally, finished) = run(swapped);
        assert_eq!(finished, Ok(()));
        assert_eq!((tally.score.passed, tally.score.total), (2, 3));
        assert_eq!(tally.misses[0].chosen, "R 900+8 p0");
    }

    #[test]
    fn a_queue_that_was_run_in_vain_is_a_point() {
        let idle = "0,insert,R,100,8,p0\n5,issue,R,100,8,p0\n10,insert,R,900,8,p0\n1000,complete,R,100,8,p0\n\
            2000000,issue,R,900,8,p0\n3000000,complete,R,900,8,p0\n";
        let (tally, finished) = run(idle);
        assert_eq!(finished, Ok(()));
        assert_eq!(
            (tally.score.passed, tally.score.total),
            (2, 3),
            "mq-deadline never idles"
        );
        assert_eq!((tally.contested.passed, tally.contested.total), (0, 1));
    }

    /// With room in the device no run finds a tag missing, so a completion runs nothing: the insertion's run is what hands on the request.
    #[test]
    fn after_a_completion_that_runs_nothing_the_model_is_not_asked() {
        let settings = Settings::parse(CONF, "6.1").unwrap();
        let entry = seekwise_sched::registry::find("mq-deadline").unwrap();
        let rows = crate::rows::parse(
            "time_ns,event,op,sector,sectors,proc\n0,insert,R,100,8,p0\n8000,issue,R,100,8,p0\n20000,insert,R,900,8,p0\n\
            200000,complete,R,100,8,p0\n900000,issue,R,900,8,p0\n2000000,complete,R,900,8,p0\n",
        )
        .unwrap();
        let policy = entry.build(&settings.setup).unwrap();
        let (tally, _, finished) = replay(policy, &rows, &settings, Priorities::new(), None);
        assert_eq!(finished, Ok(()));
        assert_eq!((tally.score.passed, tally.score.total), (3, 3));
        assert_eq!(tally.unasked, 1);
    }

    #[test]
    fn a_request_merged_at_its_insertion_is_part_of_the_one_before_it() {
        let merged = "0,insert,R,100,8,p0\n8000,issue,R,100,8,p0\n10000,insert,R,900,8,p0\n20000,merge,R,908,8,p1\n\
            1000000,complete,R,100,8,p0\n1008000,issue,R,900,16,p0\n2000000,complete,R,900,16,p0\n";
        let (tally, finished) = run(merged);
        assert_eq!(finished, Ok(()));
        assert_eq!((tally.score.passed, tally.score.total), (2, 2));
    }

    #[test]
    fn an_unfinished_recording_is_an_error() {
        assert!(run("0,insert,R,100,8,p0\n").1.is_err());
        assert!(run("0,issue,R,100,8,p0\n").1.is_err());
    }
}
