//! A request list as load: `time_us,proc,op,sector,sectors` (format of the recordings' `lists/`).
//!
//! `R`, `W`: read, direct write, at this time whatever is outstanding. `A`: write that nobody waits for. `r`, `w`: this long after the
//! same process's previous operation. Lines that begin with `#` are comments.

use crate::task::{ThreadLoad, ThreadPlan};
use seekwise_host::cpu::CpuCost;
use seekwise_host::job::{Script, ScriptedOp, Start, Wait};
use seekwise_sched::{Direction, Priority, ProcessId};
use seekwise_units::{Lba, Nanos, Sectors};

/// Processes that a list may name.
const PROCESSES_MAX: u64 = 65_536;
const REQUEST_SECTORS_MAX: u64 = 1 << 21;

/// One thread per process of the list, in order of their numbers.
pub fn parse(text: &str, capacity: Sectors, cost: CpuCost) -> Result<Vec<ThreadPlan>, String> {
    let mut scripts: Vec<Option<Script>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with('#') || line.starts_with("time_us") {
            continue;
        }
        let (process, operation) =
            parse_line(line, capacity).map_err(|e| format!("list line {}: {e}", index + 1))?;
        let process = process as usize;
        if scripts.len() <= process {
            scripts.resize(process + 1, None);
        }
        scripts[process]
            .get_or_insert_with(Script::default)
            .operations
            .push(operation);
    }
    let threads: Vec<ThreadPlan> = scripts
        .into_iter()
        .enumerate()
        .filter_map(|(process, script)| {
            let script = script?;
            let starts = match script.operations[0].start {
                Start::At(at) | Start::After(at) => at,
            };
            Some(ThreadPlan {
                job: 0,
                process: ProcessId(process as u32),
                priority: Priority::default(),
                processor: 0,
                cost,
                starts,
                operations_max: script.operations.len() as u64,
                sync_every: 0,
                deadline: Nanos::NEVER,
                load: ThreadLoad::Scripted(script),
            })
        })
        .collect();
    if threads.is_empty() {
        return Err("the list has no request".to_owned());
    }
    Ok(threads)
}

fn parse_line(line: &str, capacity: Sectors) -> Result<(u64, ScriptedOp), String> {
    let mut fields = line.split(',');
    let mut next = |name: &str| {
        fields
            .next()
            .map(str::trim)
            .ok_or_else(|| format!("{name} is missing"))
    };
    let number = |name: &str, text: &str| -> Result<u64, String> {
        text.parse()
            .map_err(|_| format!("{name} is \"{text}\", not a whole number"))
    };
    let time = number("time_us", next("time_us")?)?;
    let process = number("proc", next("proc")?)?;
    let letter = next("op")?;
    let sector = number("sector", next("sector")?)?;
    let sectors = number("sectors", next("sectors")?)?;
    if process >= PROCESSES_MAX {
        return Err(format!("proc is {process}, not below {PROCESSES_MAX}"));
    }
    if time > 32_000_000_000_000 {
        return Err(format!("time_us is {time} us, more than a year"));
    }
    if sectors == 0 || sectors > REQUEST_SECTORS_MAX {
        return Err(format!(
            "sectors is {sectors} sectors, outside 1 to {REQUEST_SECTORS_MAX} sectors"
        ));
    }
    if sector.saturating_add(sectors) > capacity.0 {
        return Err(format!(
            "sector {sector} + {sectors} is past the end of the drive, {} sectors",
            capacity.0
        ));
    }
    let time = Nanos::from_micros(time);
    let (start, wait) = match letter {
        "R" | "W" | "A" => (Start::At(time), Wait::No),
        "r" | "w" => (Start::After(time), Wait::Own),
        other => return Err(format!("op is \"{other}\", none of R, W, A, r, w")),
    };
    let operation = ScriptedOp {
        start,
        direction: if matches!(letter, "R" | "r") {
            Direction::Read
        } else {
            Direction::Write
        },
        sync: letter != "A",
        no_idle: false,
        lba: Lba(sector),
        sectors: Sectors(sectors),
        wait,
        processor: Nanos::ZERO,
    };
    Ok((process, operation))
}
