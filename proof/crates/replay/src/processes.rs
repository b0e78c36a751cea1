//! What the processes of a legacy recording are and submit: `requests/<workload>.processes.csv` and `.requests.csv`.

use crate::queue::Priorities;
use seekwise_sched::{Priority, PriorityClass};
use std::collections::BTreeMap;

/// Processes of a workload.
#[derive(Clone, Debug, Default)]
pub struct Processes {
    pub priorities: Priorities,
    /// Sectors that each process submits in its whole life; it ends once they are completed.
    pub sectors: BTreeMap<u32, u64>,
}

fn number(text: &str) -> Option<u32> {
    text.strip_prefix('p')?.parse().ok()
}

/// Splits a table into rows of fields by the names of its header.
fn table<'a>(text: &'a str, columns: &[&str]) -> Result<Vec<Vec<&'a str>>, String> {
    let mut lines = text.lines();
    let header: Vec<_> = lines
        .next()
        .unwrap_or_default()
        .trim_end()
        .split(',')
        .collect();
    let places: Vec<_> = columns
        .iter()
        .map(|column| {
            header
                .iter()
                .position(|name| name == column)
                .ok_or_else(|| format!("no column {column}"))
        })
        .collect::<Result<_, _>>()?;
    let mut rows = Vec::new();
    for (index, line) in lines
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let fields: Vec<_> = line.trim_end().split(',').collect();
        let row: Option<Vec<_>> = places
            .iter()
            .map(|place| fields.get(*place).copied())
            .collect();
        rows.push(row.ok_or_else(|| format!("line {} has too few fields", index + 2))?);
    }
    Ok(rows)
}

impl Processes {
    /// Reads the text of both files: `.processes.csv` and `.requests.csv`. The error is one sentence that names the process.
    pub fn parse(processes: &str, requests: &str) -> Result<Self, String> {
        let mut all = Self::default();
        for row in table(processes, &["proc", "ioprio_class", "ioprio_level"])? {
            let class = match row[1] {
                "0" => PriorityClass::None,
                "1" => PriorityClass::RealTime,
                "2" => PriorityClass::BestEffort,
                "3" => PriorityClass::Idle,
                other => return Err(format!("ioprio_class {other} of {} is not 0 to 3", row[0])),
            };
            let level = row[2].parse().ok().filter(|level| *level < 8);
            let level = level
                .ok_or_else(|| format!("ioprio_level {} of {} is not 0 to 7", row[2], row[0]))?;
            let process = number(row[0])
                .ok_or_else(|| format!("process {} is not p and a number", row[0]))?;
            // A process without a priority is served by its nice value: 0, which is best effort 4.
            let level = if class == PriorityClass::None {
                4
            } else {
                level
            };
            all.priorities.insert(process, Priority { class, level });
        }
        for row in table(requests, &["proc", "sectors"])? {
            let process = number(row[0])
                .ok_or_else(|| format!("process {} is not p and a number", row[0]))?;
            // A row that only waits (`all`) submits nothing.
            let sectors: u64 = match row[1] {
                "" => 0,
                text => text
                    .parse()
                    .map_err(|_| format!("sectors {text} of {} is not a number", row[0]))?,
            };
            *all.sectors.entry(process).or_default() += sectors;
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_ends_after_all_sectors_it_submits() {
        let processes = "proc,ioprio_class,ioprio_level,start_ns\np1,0,0,0\np2,1,2,20000\n";
        let requests = "proc,seq,after_ns,at_ns,op,sector,sectors,wait\np1,1,0,,R,8,8,no\np1,2,0,,R,64,16,no\np1,3,0,,,,,all\n";
        let all = Processes::parse(processes, requests).unwrap();
        assert_eq!(all.sectors[&1], 24);
        assert_eq!(
            all.priorities[&1],
            Priority {
                class: PriorityClass::None,
                level: 4
            }
        );
        assert_eq!(
            all.priorities[&2],
            Priority {
                class: PriorityClass::RealTime,
                level: 2
            }
        );
        assert!(Processes::parse("proc,ioprio_class,ioprio_level\np1,9,0\n", requests).is_err());
        assert!(Processes::parse("proc,level\np1,9\n", requests).is_err());
    }
}
