//! The table's rows, read and checked.

use seekwise_host::job::Pattern;
use seekwise_sim::cores::Group;
use seekwise_units::{Lba, Sectors, SECTOR_BYTES};

pub const HEADER: &str = "source,cores,devices,processes,depth,block_bytes,operation,beside_processes,beside_depth,beside_block_bytes,\
beside_operation,scheduler,tunables,repeats,iops,iops_sd,p50_us,p95_us,p99_us,p999_us";

/// Processes that do the same, as the columns name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Load {
    pub processes: u32,
    pub depth: u32,
    pub block_bytes: u64,
    pub operation: String,
}

/// What was measured, but for the scheduler.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    /// Kind of case: the same load of another kind was measured another day.
    pub source: String,
    pub cores: u32,
    pub drives: u32,
    pub load: Load,
    /// `processes` 0: the same processes do both.
    pub beside: Option<Load>,
}

#[derive(Clone, Debug)]
pub struct CaseRow {
    pub line: usize,
    pub case: Case,
    pub scheduler: String,
    pub tunables: Vec<(String, i64)>,
    pub iops: f64,
    pub p99_us: f64,
}

const OPERATIONS: [&str; 4] = ["randread", "randwrite", "read", "write"];

/// Largest numbers of a row: a machine's, not a mistake's.
const COUNT_MAX: u32 = 4096;
const BLOCK_MAX: u64 = 16 << 20;
/// Requests per second, and microseconds: a thousand times the fastest machine, and a quarter of an hour.
const MEASURED_MAX: f64 = 1e9;

impl Load {
    fn of(processes: &str, depth: &str, block: &str, operation: &str) -> Result<Self, String> {
        let count = |name: &str, text: &str, least: u32| {
            text.parse::<u32>()
                .ok()
                .filter(|count| (least..=COUNT_MAX).contains(count))
                .ok_or_else(|| {
                    format!("{name} is `{text}`, not a number of {least} to {COUNT_MAX}")
                })
        };
        let block_bytes = block.parse::<u64>().ok();
        let block_bytes = block_bytes
            .filter(|bytes| (SECTOR_BYTES..=BLOCK_MAX).contains(bytes) && bytes % SECTOR_BYTES == 0)
            .ok_or_else(|| {
                format!("block_bytes is `{block}`, not a multiple of 512 up to {BLOCK_MAX}")
            })?;
        if !OPERATIONS.contains(&operation) {
            let known = OPERATIONS.join(", ");
            return Err(format!("operation is `{operation}`, not one of {known}"));
        }
        Ok(Self {
            processes: count("processes", processes, 0)?,
            depth: count("depth", depth, 1)?,
            block_bytes,
            operation: operation.into(),
        })
    }

    pub(super) fn writes(&self) -> bool {
        self.operation.ends_with("write")
    }

    pub(super) fn group(&self, read_chance: u64) -> Group {
        Group {
            processes: self.processes,
            depth: self.depth,
            block: Sectors(self.block_bytes / SECTOR_BYTES),
            pattern: if self.operation.starts_with("rand") {
                Pattern::Random
            } else {
                Pattern::Sequential
            },
            read_chance,
            first: Lba(0),
            region: None,
            // Those who read or write in order have places of their own.
            own_regions: !self.operation.starts_with("rand"),
        }
    }

    pub(super) fn words(&self) -> String {
        let kib = self.block_bytes as f64 / 1024.0;
        format!(
            "{} x depth {} {kib} KiB {}",
            self.processes, self.depth, self.operation
        )
    }
}

/// A target of kyber as the table writes it: 0, 2ms, 1s. In ns.
fn target(text: &str) -> Option<i64> {
    let split = text.find(|letter: char| !letter.is_ascii_digit());
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let number: i64 = number.parse().ok()?;
    let factor = match unit {
        "" | "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    number.checked_mul(factor)
}

/// `read target 2ms, write target 0`, or `name=value` each.
fn tunables(text: &str) -> Result<Vec<(String, i64)>, String> {
    let one = |part: &str| {
        let part = part.trim();
        let named = |words: &str| match words {
            "read target" => "read_lat_nsec".to_owned(),
            "write target" => "write_lat_nsec".to_owned(),
            other => other.trim().to_owned(),
        };
        let (name, value) = part.split_once('=').or_else(|| part.rsplit_once(' '))?;
        Some((named(name.trim()), target(value.trim())?))
    };
    text.split(',')
        .filter(|part| !part.trim().is_empty())
        .map(|part| {
            one(part).ok_or_else(|| format!("tunables are `{text}`: `{}` is none", part.trim()))
        })
        .collect()
}

/// Fields of a line; quotes hold commas together.
fn fields(line: &str) -> Vec<String> {
    let (mut all, mut field, mut quoted) = (Vec::new(), String::new(), false);
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    all.push(field);
    all
}

fn row(line: usize, text: &str) -> Result<CaseRow, String> {
    let all = fields(text);
    let [source, cores, drives, processes, depth, block, operation, beside_processes, beside_depth, beside_block, beside_operation, scheduler, tuned, _repeats, iops, _sd, _p50, _p95, p99, _p999] =
        &all[..]
    else {
        return Err(format!(
            "{} fields instead of {}",
            all.len(),
            HEADER.split(',').count()
        ));
    };
    let count = |name: &str, text: &str| {
        let count = text
            .parse::<u32>()
            .ok()
            .filter(|count| (1..=1024).contains(count));
        count.ok_or_else(|| format!("{name} is `{text}`, not a number of 1 to 1024"))
    };
    let measured = |name: &str, text: &str| {
        let value = text.parse::<f64>().ok();
        let value = value.filter(|value| *value > 0.0 && *value <= MEASURED_MAX);
        value.ok_or_else(|| {
            format!("{name} is `{text}`, not a positive number up to {MEASURED_MAX}")
        })
    };
    let load = Load::of(processes, depth, block, operation)?;
    if load.processes == 0 {
        return Err("processes is `0`, and nothing is measured".into());
    }
    let beside = match beside_operation.as_str() {
        "" => None,
        _ => Some(Load::of(
            beside_processes,
            beside_depth,
            beside_block,
            beside_operation,
        )?),
    };
    if seekwise_sched::registry::find(scheduler).is_none() {
        return Err(format!("there is no scheduler `{scheduler}`"));
    }
    Ok(CaseRow {
        line,
        case: Case {
            source: source.clone(),
            cores: count("cores", cores)?,
            drives: count("devices", drives)?,
            load,
            beside,
        },
        scheduler: scheduler.clone(),
        tunables: tunables(tuned)?,
        iops: measured("iops", iops)?,
        p99_us: measured("p99_us", p99)?,
    })
}

/// Rows of a table; the first line that is none is an error that names it.
pub fn parse(text: &str) -> Result<Vec<CaseRow>, String> {
    let mut lines = text.lines().enumerate();
    if lines.next().map(|(_, line)| line.trim_end()) != Some(HEADER) {
        return Err(format!("line 1 is not the header {HEADER}"));
    }
    let rows = lines.filter(|(_, line)| !line.trim().is_empty());
    let rows: Result<Vec<CaseRow>, String> = rows
        .map(|(index, line)| {
            row(index + 1, line.trim_end()).map_err(|error| format!("line {}: {error}", index + 1))
        })
        .collect();
    let rows = rows?;
    if rows.is_empty() {
        return Err("the table has no rows".into());
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(row: &str) -> String {
        format!("{HEADER}\n{row}\n")
    }

    const READ: &str =
        "kept,10,1,4,64,4096,randread,0,,,,none,,1,780808.6,,261.1,733.2,1105.9,1695.7";

    #[test]
    fn a_row_that_is_none_is_named_by_its_line() {
        for (from, to, said) in [
            ("780808.6", "many", "line 2: iops is `many`"),
            (
                "780808.6",
                "1e300",
                "line 2: iops is `1e300`, not a positive number up to 1000000000",
            ),
            ("1105.9", "NaN", "line 2: p99_us is `NaN`"),
            ("randread", "randsleep", "operation is `randsleep`"),
            (",none,", ",abacus,", "no scheduler `abacus`"),
            (",64,4096", ",0,4096", "depth is `0`"),
            ("4096", "4097", "block_bytes is `4097`"),
            (",1695.7", "", "19 fields instead of 20"),
        ] {
            let error = parse(&table(&READ.replacen(from, to, 1))).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        assert!(parse("kernel,target\n").unwrap_err().contains("line 1"));
        assert!(parse(HEADER).unwrap_err().contains("no rows"));
    }

    #[test]
    fn targets_of_kyber_are_read_in_words_and_by_name() {
        let set = |name: &str, value| (name.to_owned(), value);
        assert_eq!(
            tunables("read target 2ms, write target 0").unwrap(),
            [set("read_lat_nsec", 2_000_000), set("write_lat_nsec", 0)]
        );
        assert_eq!(
            tunables("read_lat_nsec=1s").unwrap(),
            [set("read_lat_nsec", 1_000_000_000)]
        );
        assert!(tunables("read target soon")
            .unwrap_err()
            .contains("read target soon"));
    }
}
