//! Rows of the recorded whole-machine table, simulated: kernel, array, depth, drive, load, scheduler, processes → MB/s.
//!
//! Format and loads: `tests/vectors/machine/README.md`. Modelled here: `raw device` on `single`, `raid1`, `raid5xN`.

use crate::exact::{ExactParameters, ServiceOrder};
use crate::machine::{Conditions, RecordedStorage, RECORDED_HZ};
use crate::recorded;
use seekwise_host::cache::read_ahead::{ReadAhead, ReadAheadGeneration};
use seekwise_host::file::{FileSystem, Raw};
use seekwise_raid::md::volume::Volume;
use seekwise_sched::kernel::Version;
use seekwise_sched::Kernel;
use seekwise_sim::cost::StepCosts;
use seekwise_sim::files::{FilesPlan, JobPlan, PhasePlan, Start, BIO_PAGES};
use seekwise_sim::parallel;
use seekwise_units::{Depth, Nanos, PAGE_BYTES, PAGE_SECTORS};
use std::collections::{BTreeMap, HashMap};

/// Processes begin at whole MiB.
const MIB_PAGES: u64 = (1 << 20) / PAGE_BYTES;
/// Forking costs the recordings' processor that long (range 115 to 215 us: the orders that the loads without a sorting scheduler show).
const FORK: Nanos = Nanos::from_micros(120);
/// Length of the random reads before the first run.
const BEFORE: Nanos = Nanos::from_millis(200);

/// What the description of the recordings leaves open, as it is assumed.
#[derive(Clone, Debug)]
pub struct Unknowns {
    pub costs: StepCosts,
    pub fork: Nanos,
    /// Numbers of processes whose runs did not come before.
    pub left_out: Vec<u32>,
}

impl Default for Unknowns {
    fn default() -> Self {
        Self {
            costs: StepCosts::default(),
            fork: FORK,
            left_out: Vec::new(),
        }
    }
}

/// When processes that one parent forks come to their first read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StartOrder {
    /// One after the other. Of 2.6.24 this is known (the child runs first); the recordings at 250 Hz and of 4.4 show it.
    AsForked,
    /// After the last fork, by what the fair scheduler of 2.6.32 charged each at its birth: one share of the period, which is the smaller
    /// the more processes there are (kernel/sched_fair.c: START_DEBIT, latency 5 ms, at least 1 ms each). So with four the last begins.
    ByDebit,
}

impl StartOrder {
    fn of(kernel: Kernel) -> Self {
        match kernel.version {
            Version(2, 6, 28..=34) if kernel.hz == RECORDED_HZ => Self::ByDebit,
            _ => Self::AsForked,
        }
    }

    fn start(self, process: u32, processes: u32, fork: Nanos) -> Nanos {
        match self {
            Self::AsForked => Nanos(fork.0 * u64::from(process)),
            Self::ByDebit => {
                let debit = |process: u32| {
                    let running = u64::from(process) + 2;
                    let period = Nanos::from_millis(running.max(5)).0;
                    (fork.0 * u64::from(process) + period / running, process)
                };
                let mine = debit(process);
                let before = (0..processes).filter(|&other| debit(other) < mine).count();
                Nanos(fork.0 * u64::from(processes) + before as u64)
            }
        }
    }
}
/// Processes that read a raw device.
struct Readers {
    kernel: Kernel,
    /// Of the device.
    pages: u64,
    read_ahead: ReadAhead,
    fork: Nanos,
    seed: u64,
}

impl Readers {
    /// In order from places of their own, or at random over all.
    fn plan(&self, processes: u32, sequential: bool) -> FilesPlan {
        // Raw devices are read page by page up to 3.19; 4.0 made large bios of them (blkdev_readpages).
        let bio_pages = if self.kernel.at_least(4, 0, 0) {
            BIO_PAGES
        } else {
            1
        };
        let order = StartOrder::of(self.kernel);
        let of_process = |process: u32| {
            let share = self.pages * u64::from(process) / u64::from(processes);
            let from = if sequential {
                share / MIB_PAGES * MIB_PAGES
            } else {
                0
            };
            // The device's own pages are read ahead: none but its very first begins a file.
            let page = from.min(MIB_PAGES);
            let after = order.start(process, processes, self.fork);
            (from - page, Start::of(process, after, page))
        };
        let (places, starts) = (0..processes).map(of_process).unzip();
        let system = FileSystem::Raw(Raw { places, bio_pages });
        let pages = if sequential { 16 } else { 1 };
        let job = JobPlan {
            direct: (!sequential).then_some(1),
            ..JobPlan::reads(!sequential, pages, self.read_ahead)
        };
        let files = vec![self.pages; processes as usize];
        let phases = vec![PhasePlan::of(job, starts)];
        FilesPlan {
            written: true,
            keeps_processor: true,
            ..FilesPlan::of(self.kernel, system, files, phases, self.seed)
        }
    }
}

/// The recordings' drive of that name, and the read-ahead in KiB that goes with it: of a drive alone, of md.
fn drive_of(
    name: &str,
    queue_depth: u32,
) -> Result<(ExactParameters, Option<u64>, Option<u64>), String> {
    let satf = ExactParameters {
        depth: Depth(queue_depth),
        ..ExactParameters::RAW_DEVICE
    };
    Ok(match name {
        "satf" => (satf, None, None),
        "fifodrive" => {
            let order = ServiceOrder::Arrival;
            (ExactParameters { order, ..satf }, None, None)
        }
        "nocache" => {
            let read_ahead = false;
            (ExactParameters { read_ahead, ..satf }, None, None)
        }
        "ra512" => (satf, Some(512), None),
        "ra4096" => (satf, None, Some(4096)),
        other => return Err(format!("drive {other} is not modelled")),
    })
}

/// MB/s with 1, 2, 4 … processes up to those of `conditions`, one run after the other over the same drives, queues and md: RAID 1 sends
/// a reader to the copy whose head was nearest when the run before ended, so how readers share the copies is inherited.
pub fn series(conditions: &Conditions, unknowns: &Unknowns, seed: u64) -> Result<Vec<f64>, String> {
    let Conditions {
        target,
        queue_depth,
        drive,
        phase,
        processes,
        ..
    } = conditions;
    if target != "raw device" {
        return Err(format!("{target} is not modelled"));
    }
    let (disk, ra_disk_kb, ra_md_kb) = drive_of(drive, *queue_depth)?;
    let RecordedStorage {
        mut machine,
        window,
        kernel: of,
    } = RecordedStorage::of(conditions, disk, unknowns.costs)?;
    let own_window = match machine.storage.volume() {
        Volume::Single { .. } => ra_disk_kb,
        _ => ra_md_kb,
    };
    let pages_max = own_window.map_or(window, |kib: u64| kib * 1024 / PAGE_BYTES);
    let read_ahead = ReadAhead::new(ReadAheadGeneration::of(of.version), pages_max);
    let pages = machine.storage.volume().capacity().0 / PAGE_SECTORS;
    let sequential = match phase.as_str() {
        "seqread" => true,
        "rndread" => false,
        other => return Err(format!("{other} on a raw device is not modelled")),
    };
    let readers = Readers {
        kernel: of,
        pages,
        read_ahead,
        fork: unknowns.fork,
        seed,
    };
    let span = match drive.as_str() {
        "satf" => Nanos::from_secs(5),
        _ => Nanos::from_secs(4),
    };
    let mut counts: Vec<u32> = (0..)
        .map(|power| 1 << power)
        .take_while(|count| sequential && count < processes)
        .filter(|count| !unknowns.left_out.contains(count))
        .collect();
    counts.push(*processes);
    // What ran before: random reads, as the scheduler before did last.
    machine.run_span(readers.plan(8, false), BEFORE);
    let rate = |count: &u32| {
        let done = machine.run_span(readers.plan(*count, sequential), span);
        done.bytes as f64 / 1e6 / span.as_secs_f64()
    };
    Ok(counts.iter().map(rate).collect())
}

type FileRates = BTreeMap<String, Result<[f64; 4], String>>;

/// MB/s (10^6 bytes) of a row, or what is not modelled; the four phases over the same files are one run.
fn once(
    files: &mut FileRates,
    known: &Known,
    conditions: &Conditions,
    seed: u64,
) -> Result<f64, String> {
    let place = recorded::PHASES
        .iter()
        .position(|name| *name == conditions.phase);
    match place {
        Some(place) if conditions.target == "ext3 files" => {
            let all = Conditions {
                phase: String::new(),
                ..conditions.clone()
            };
            let rates = files
                .entry(all.describe())
                .or_insert_with(|| recorded::megabytes_per_second(conditions, seed));
            rates.clone().map(|rates| rates[place])
        }
        _ => known.rate(conditions),
    }
}

/// Conditions and recorded MB/s, or why a line is no row.
pub type CaseRow = Result<(Conditions, f64), String>;

/// Conditions and recorded MB/s of each row of a table, or why a line is no row.
pub fn parse(text: &str) -> Result<Vec<CaseRow>, String> {
    const HEADER: &str =
        "kernel,target,array,queue_depth,drive,phase,scheduler,processes,mb_per_s,ms_per_op";
    let mut lines = text.lines();
    if lines.next().map(str::trim_end) != Some(HEADER) {
        return Err(format!("line 1 is not the header {HEADER}"));
    }
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let [kernel, target, array, depth, drive, phase, scheduler, processes, rate, _] =
            fields[..]
        else {
            return None;
        };
        let conditions = Conditions {
            kernel: kernel.into(),
            target: target.into(),
            array: array.into(),
            queue_depth: depth.parse().ok().filter(|depth| *depth > 0)?,
            drive: drive.into(),
            phase: phase.into(),
            scheduler: scheduler.into(),
            processes: processes
                .parse()
                .ok()
                .filter(|count| (1..=1024).contains(count))?,
        };
        Some((conditions, rate.parse().ok().filter(|rate| *rate > 0.0)?))
    };
    Ok(lines
        .filter(|line| !line.trim().is_empty())
        .map(|line| row(line.trim_end()).ok_or_else(|| format!("not a row of the table: {line}")))
        .collect())
}

/// What came of a table.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct TableOutcome {
    /// Rows within [`ROW_TOLERANCE`].
    pub passed: u64,
    pub total: u64,
    /// Pairs of schedulers under equal conditions whose recorded rates differ by more than [`PAIR_GAP`]: the same one ahead.
    pub pairs_passed: u64,
    pub pairs_total: u64,
    /// Median of the relative errors of modelled rows; None when there is none.
    pub median_error: Option<f64>,
    pub misses: Vec<String>,
    /// Every row in the order of the table.
    pub rows: Vec<RowOutcome>,
}

/// Conditions of a row, its recorded rate and the simulated one.
type Simulated = (Conditions, f64, Option<f64>);

impl TableOutcome {
    /// The same scheduler ahead, wherever the recorded rates of two differ.
    fn compare_pairs(&mut self, simulated: &[Simulated]) {
        for (index, (first, recorded_first, rate_first)) in simulated.iter().enumerate() {
            for (second, recorded_second, rate_second) in &simulated[index + 1..] {
                let gap =
                    (recorded_first - recorded_second).abs() / recorded_first.min(*recorded_second);
                if !first.differs_in_scheduler_only(second) || gap <= PAIR_GAP {
                    continue;
                }
                self.pairs_total += 1;
                let right = matches!((rate_first, rate_second), (Some(a), Some(b)) if (a > b) == (recorded_first > recorded_second) && a != b);
                self.pairs_passed += u64::from(right);
                if !right {
                    self.misses.push(format!(
                        "order: {} against {}",
                        first.describe(),
                        second.scheduler
                    ));
                }
            }
        }
    }
}

/// Whether one row is within [`ROW_TOLERANCE`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct RowOutcome {
    /// Its conditions in words; empty for a line that is no row.
    pub name: String,
    pub passed: bool,
}

pub const ROW_TOLERANCE: f64 = 0.15;
pub const PAIR_GAP: f64 = 0.10;

/// Rates by series: rows that differ in the number of processes only come from one series of runs.
struct Known(HashMap<String, Result<Vec<f64>, String>>);

impl Known {
    /// The longest series of each kind among `rows`, side by side on all cores.
    fn of(rows: &[CaseRow], seed: u64) -> Self {
        let mut longest: HashMap<String, Conditions> = HashMap::new();
        for (conditions, _) in rows.iter().flatten() {
            if conditions.target == "ext3 files" {
                continue;
            }
            let entry = longest
                .entry(Self::key(conditions))
                .or_insert_with(|| conditions.clone());
            entry.processes = entry.processes.max(conditions.processes);
        }
        let longest: Vec<(String, Conditions)> = longest.into_iter().collect();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let work =
            |(_, conditions): &(String, Conditions)| series(conditions, &Unknowns::default(), seed);
        let rates = parallel::each(&longest, threads, work, |_| true);
        let keys = longest.iter().map(|(key, _)| key.clone());
        Self(keys.zip(rates.into_iter().flatten()).collect())
    }

    /// Sequential reads with 1, 2, 4 … processes are one series; any other row stands alone.
    fn key(conditions: &Conditions) -> String {
        let series = Conditions {
            processes: if conditions.in_doubling_series() {
                1
            } else {
                conditions.processes
            },
            ..conditions.clone()
        };
        series.describe()
    }

    fn rate(&self, conditions: &Conditions) -> Result<f64, String> {
        let rates = self.0[&Self::key(conditions)]
            .as_ref()
            .map_err(Clone::clone)?;
        let place = if conditions.in_doubling_series() {
            conditions.processes.ilog2() as usize
        } else {
            rates.len() - 1
        };
        Ok(rates[place])
    }
}

/// Simulates each row of a table and holds it against the record. Rows that are not modelled are misses.
pub fn verify(text: &str, seed: u64) -> Result<TableOutcome, String> {
    let rows = parse(text)?;
    let mut outcome = TableOutcome::default();
    let mut errors = Vec::new();
    let mut files = BTreeMap::new();
    let mut simulated: Vec<Simulated> = Vec::new();
    let known = Known::of(&rows, seed);
    for row in rows {
        outcome.total += 1;
        let (conditions, recorded) = match row {
            Ok(row) => row,
            Err(reason) => {
                outcome.misses.push(reason);
                outcome.rows.push(RowOutcome {
                    name: String::new(),
                    passed: false,
                });
                continue;
            }
        };
        let name = conditions.describe();
        let passed_before = outcome.passed;
        let rate = match once(&mut files, &known, &conditions, seed) {
            Ok(rate) => {
                let error = rate / recorded - 1.0;
                errors.push(error.abs());
                if error.abs() <= ROW_TOLERANCE {
                    outcome.passed += 1;
                } else {
                    outcome.misses.push(format!(
                        "{name}: recorded {recorded} MB/s, simulated {rate:.3} ({:+.0} %)",
                        error * 100.0
                    ));
                }
                Some(rate)
            }
            Err(reason) => {
                outcome.misses.push(format!("{name}: {reason}"));
                None
            }
        };
        outcome.rows.push(RowOutcome {
            name,
            passed: outcome.passed > passed_before,
        });
        simulated.push((conditions, recorded, rate));
    }
    outcome.compare_pairs(&simulated);
    errors.sort_by(f64::total_cmp);
    outcome.median_error = errors.get(errors.len() / 2).copied();
    Ok(outcome)
}
