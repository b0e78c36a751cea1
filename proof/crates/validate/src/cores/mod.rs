//! Rows of the study of schedulers on fast drives with many cores: case and scheduler → operations per second and access times.
//!
//! Format, machine and source: `tests/vectors/nvme-many-cores/README.md`. Every row is simulated by [`seekwise_sim::cores`] as the machine was.

mod table;

use seekwise_device::Model;
use seekwise_sim::cores::{self, HostCosts, Outcome, Plan};
use seekwise_sim::parallel;
use seekwise_sim::spec::QueueSpec;
use seekwise_units::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;
pub use table::{parse, Case, CaseRow, Load, HEADER};

/// Of throughput and p99 relative to `none` of the same case, and of both as they are.
pub const RELATIVE_RATE: f64 = 0.15;
pub const RELATIVE_P99: f64 = 0.25;
pub const ABSOLUTE: f64 = 0.25;
/// Schedulers whose measured rates differ by no more are tied.
pub const TIE: f64 = 0.05;

/// The machine of the study.
const MODEL: &str = "samsung_980_pro_1tb/preconditioned";
const KERNEL: &str = "6.3";
const ONLINE: u32 = 10;

/// What is simulated once, whichever of its loads a row tells of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    cores: u32,
    drives: u32,
    loads: Vec<Load>,
    mixed: bool,
    scheduler: String,
    tunables: Vec<(String, i64)>,
}

#[derive(Clone, Copy, Debug)]
pub struct Figures {
    pub iops: f64,
    pub p99_us: f64,
}

/// One comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    pub name: String,
    /// What is compared.
    pub kind: &'static str,
    pub passed: bool,
    pub measured: f64,
    pub simulated: f64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Outcomes {
    pub passed: u64,
    pub total: u64,
    /// Cases in which the order of the schedulers is right.
    pub orders_passed: u64,
    pub orders_total: u64,
    /// By kind: passed and total.
    pub kinds: BTreeMap<&'static str, (u64, u64)>,
    pub points: Vec<Point>,
    pub misses: Vec<String>,
}

impl CaseRow {
    fn run(&self) -> Run {
        let mut loads = vec![self.case.load.clone()];
        let mut mixed = false;
        if let Some(beside) = &self.case.beside {
            mixed = beside.processes == 0;
            loads.push(beside.clone());
        }
        if mixed {
            for load in &mut loads {
                load.processes = self.case.load.processes;
            }
        }
        loads.sort();
        Run {
            cores: self.case.cores,
            drives: self.case.drives,
            loads,
            mixed,
            scheduler: self.scheduler.clone(),
            tunables: self.tunables.clone(),
        }
    }

    fn name(&self) -> String {
        let Case {
            cores,
            drives,
            load,
            beside,
            ..
        } = &self.case;
        let beside = match beside {
            Some(beside) if beside.processes == 0 => format!(" mixed with {}", beside.operation),
            Some(beside) => format!(" beside {}", beside.words()),
            None => String::new(),
        };
        let tuned: Vec<String> = self
            .tunables
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let tuned = if tuned.is_empty() {
            String::new()
        } else {
            format!(" ({})", tuned.join(" "))
        };
        format!(
            "line {}: {cores} cores, {drives} drives, {}{beside}, {}{tuned}",
            self.line,
            load.words(),
            self.scheduler
        )
    }
}

/// Long enough for the slowest thing that decides: slices of the fair scheduler, kyber's timer, pauses of a drive that is written to.
fn spans(run: &Run) -> (Nanos, Nanos) {
    let processes: u32 = run.loads.iter().map(|load| load.processes).sum();
    let ms = |ramp, span| (Nanos::from_millis(ramp), Nanos::from_millis(span));
    if !run.tunables.is_empty() || run.scheduler == "kyber" && run.loads.len() > 1 {
        ms(1_500, 2_500)
    } else if run.loads.iter().any(Load::writes) {
        ms(200, 1_200)
    } else if processes > run.cores && run.cores > 1 {
        ms(60, 400)
    } else {
        ms(40, 250)
    }
}

/// What the rows are simulated with.
#[derive(Clone, Debug)]
pub struct Machine {
    pub model: Model,
    pub costs: HostCosts,
}

impl Machine {
    /// The machine of the study.
    pub fn measured() -> Result<Self, String> {
        Ok(Self {
            model: Model::shipped(MODEL).map_err(|error| error.to_string())?,
            costs: HostCosts::default(),
        })
    }
}

fn simulate(machine: &Machine, run: &Run, seed: u64) -> Result<Outcome, String> {
    const HALF: u64 = 1 << 31;
    let (ramp, span) = spans(run);
    let mut queue = QueueSpec::of(&run.scheduler, KERNEL);
    queue.tunables = run.tunables.iter().cloned().collect();
    if run.scheduler == "bfq" {
        // The ramps of the study (30 s and more) outlast the raising of new queues' weights, which a simulated second does not.
        queue.tunables.entry("low_latency".into()).or_insert(0);
    }
    let groups = if run.mixed {
        vec![run.loads[0].group(HALF)]
    } else {
        let chance = |load: &Load| if load.writes() { 0 } else { 2 * HALF };
        run.loads
            .iter()
            .map(|load| load.group(chance(load)))
            .collect()
    };
    cores::run(&Plan {
        model: machine.model.clone(),
        queue,
        cores: run.cores,
        online: ONLINE.max(run.cores),
        drives: run.drives,
        groups,
        costs: machine.costs,
        // The source's kernel submits synchronously.
        worker: [false; 2],
        ramp,
        span,
        seed,
    })
}

fn figures(run: &Run, outcome: &Outcome, load: &Load) -> Figures {
    let group = if run.mixed {
        0
    } else {
        run.loads.iter().position(|each| each == load).unwrap_or(0)
    };
    let served = &outcome.served[group][usize::from(load.writes())];
    Figures {
        iops: outcome.rate(group, load.writes()),
        p99_us: served.latency.percentile(99.0).0 as f64 / 1e3,
    }
}

/// Measured and simulated, and whether they agree.
struct Compared {
    kind: &'static str,
    tolerance: f64,
    measured: f64,
    simulated: f64,
}

fn compared(row: &CaseRow, own: Figures, none: Option<(&CaseRow, Figures)>) -> Vec<Compared> {
    let point = |kind, tolerance, measured, simulated| Compared {
        kind,
        tolerance,
        measured,
        simulated,
    };
    let rate = point("throughput", ABSOLUTE, row.iops, own.iops);
    match none {
        Some((beside, reference)) if row.scheduler != "none" => vec![
            point(
                "throughput relative to none",
                RELATIVE_RATE,
                row.iops / beside.iops,
                own.iops / reference.iops,
            ),
            rate,
            point(
                "p99 relative to none",
                RELATIVE_P99,
                row.p99_us / beside.p99_us,
                own.p99_us / reference.p99_us,
            ),
        ],
        _ => vec![rate, point("p99", ABSOLUTE, row.p99_us, own.p99_us)],
    }
}

/// Does the simulated order contradict the measured one nowhere?
fn order_is_right(rows: &[(f64, f64)]) -> bool {
    rows.iter().enumerate().all(|(place, first)| {
        rows[place + 1..].iter().all(|second| {
            let measured = first.0 / second.0;
            let ahead = measured > 1.0 + TIE;
            let behind = measured < 1.0 / (1.0 + TIE);
            !(ahead && first.1 <= second.1 || behind && first.1 >= second.1)
        })
    })
}

/// Every row of the table against its simulation.
pub fn verify(text: &str, seed: u64) -> Result<Outcomes, String> {
    verify_on(&Machine::measured()?, text, seed)
}

/// The same on another machine.
pub fn verify_on(machine: &Machine, text: &str, seed: u64) -> Result<Outcomes, String> {
    let rows = parse(text)?;
    let mut runs: Vec<Run> = rows.iter().map(CaseRow::run).collect();
    runs.sort();
    runs.dedup();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let results = parallel::each(&runs, threads, |run| simulate(machine, run, seed), |_| true);
    let of = |row: &CaseRow| {
        let run = row.run();
        let place = runs
            .binary_search(&run)
            .map_err(|_| "not simulated".to_owned())?;
        match &results[place] {
            Some(Ok(outcome)) => Ok(figures(&run, outcome, &row.case.load)),
            Some(Err(error)) => Err(error.clone()),
            None => Err("not simulated".to_owned()),
        }
    };
    let mut outcomes = Outcomes::default();
    let mut orders: BTreeMap<&Case, Vec<(f64, f64)>> = BTreeMap::new();
    for row in &rows {
        let own = of(row).map_err(|error| format!("line {}: {error}", row.line))?;
        if row.tunables.is_empty() {
            orders
                .entry(&row.case)
                .or_default()
                .push((row.iops, own.iops));
        }
        let reference = rows.iter().find(|other| {
            other.scheduler == "none" && other.case == row.case && row.tunables.is_empty()
        });
        let reference = match reference {
            Some(other) => Some((other, of(other)?)),
            None => None,
        };
        for point in compared(row, own, reference) {
            outcomes.add(row, &point);
        }
    }
    for order in orders.values().filter(|order| order.len() > 1) {
        outcomes.orders_total += 1;
        outcomes.orders_passed += u64::from(order_is_right(order));
    }
    Ok(outcomes)
}

impl Outcomes {
    fn add(&mut self, row: &CaseRow, point: &Compared) {
        let Compared {
            kind,
            tolerance,
            measured,
            simulated,
        } = *point;
        let passed = (simulated / measured - 1.0).abs() <= tolerance;
        let count = self.kinds.entry(kind).or_default();
        count.0 += u64::from(passed);
        count.1 += 1;
        self.passed += u64::from(passed);
        self.total += 1;
        let name = row.name();
        if !passed {
            let excess = 100.0 * (simulated / measured - 1.0);
            let shown = |value: f64| {
                if value < 10.0 {
                    format!("{value:.2}")
                } else {
                    format!("{value:.0}")
                }
            };
            let unit = match kind {
                "throughput" => "IOPS",
                "p99" => "µs",
                _ => "times",
            };
            self.misses.push(format!(
                "{name}: {kind} measured {} {unit}, simulated {} {unit} ({excess:+.0} %)",
                shown(measured),
                shown(simulated)
            ));
        }
        self.points.push(Point {
            name,
            kind,
            passed,
            measured,
            simulated,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_schedulers_is_wrong_only_where_they_were_apart() {
        assert!(order_is_right(&[(100.0, 90.0), (103.0, 80.0)]));
        assert!(order_is_right(&[(100.0, 90.0), (120.0, 91.0)]));
        assert!(!order_is_right(&[(100.0, 90.0), (120.0, 90.0)]));
        assert!(!order_is_right(&[(120.0, 80.0), (100.0, 90.0)]));
    }
}
