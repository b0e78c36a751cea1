//! Rows of a recording: `time_ns,event,op,sector,sectors,proc`.

use seekwise_sched::Direction;
use seekwise_units::{Lba, Nanos, Sectors};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Submit,
    Insert,
    Issue,
    Start,
    Complete,
    BackMerge,
    FrontMerge,
    /// A request became part of the one that ends where it begins: it was waiting, or it was just to be inserted.
    Merge,
}

impl Event {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "submit" => Self::Submit,
            "insert" => Self::Insert,
            "issue" => Self::Issue,
            "start" => Self::Start,
            "complete" => Self::Complete,
            "backmerge" => Self::BackMerge,
            "frontmerge" => Self::FrontMerge,
            "merge" => Self::Merge,
            _ => return None,
        })
    }
}

/// One row. `line` is its line in the file, the header being line 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedRow {
    pub line: usize,
    pub time: Nanos,
    pub event: Event,
    pub direction: Direction,
    pub sync: bool,
    pub no_idle: bool,
    pub metadata: bool,
    pub start: Lba,
    pub sectors: Sectors,
    /// Number of the process: 3 for `p3`. Others (`kworker/u4:1`) are numbered from [`THREADS_FROM`] as they appear.
    pub process: u32,
}

impl RecordedRow {
    /// The sector after its last one.
    pub fn end(&self) -> Lba {
        self.start + self.sectors
    }
}

/// Processes of other names than `p` and a number: threads of the kernel.
pub const THREADS_FROM: u32 = 1 << 20;

const HEADER: &str = "time_ns,event,op,sector,sectors,proc";

/// Reads every row; the error names the line.
pub fn parse(text: &str) -> Result<Vec<RecordedRow>, String> {
    let mut lines = text.lines().enumerate();
    match lines.next() {
        Some((_, header)) if header.trim_end() == HEADER => {}
        _ => return Err(format!("line 1 is not the header {HEADER}")),
    }
    let mut rows: Vec<RecordedRow> = Vec::new();
    let mut threads = Vec::new();
    for (index, text) in lines {
        if text.trim().is_empty() {
            continue;
        }
        let line = index + 1;
        let row = row(line, text, &mut threads)
            .ok_or_else(|| format!("line {line} is not a row of a recording: {text}"))?;
        if rows.last().is_some_and(|last| row.time < last.time) {
            return Err(format!("line {line} goes back in time"));
        }
        rows.push(row);
    }
    Ok(rows)
}

/// Rows that say `issue`, for a file that cannot be read as a whole: each was a point.
pub fn count_issues(text: &str) -> u64 {
    text.lines()
        .filter(|line| line.split(',').nth(1) == Some("issue"))
        .count() as u64
}

/// The number of a process by its name.
fn process<'a>(name: &'a str, threads: &mut Vec<&'a str>) -> Option<u32> {
    let number = name.strip_prefix('p').and_then(|rest| rest.parse().ok());
    if let Some(number) = number.filter(|number| *number < THREADS_FROM) {
        return Some(number);
    }
    if name.is_empty() || number.is_some() {
        return None;
    }
    let known = threads.iter().position(|thread| *thread == name);
    let index = known.unwrap_or_else(|| {
        threads.push(name);
        threads.len() - 1
    });
    Some(THREADS_FROM + index as u32)
}

fn row<'a>(line: usize, text: &'a str, threads: &mut Vec<&'a str>) -> Option<RecordedRow> {
    let mut fields = text.trim_end().split(',');
    let mut field = || fields.next();
    let time = Nanos(field()?.parse().ok()?);
    let event = Event::parse(field()?)?;
    let op = field()?;
    let start = Lba(field()?.parse().ok()?);
    let sectors = Sectors(field()?.parse().ok()?);
    let process = process(field()?, threads)?;
    if field().is_some() || sectors.0 == 0 || start.0.checked_add(sectors.0).is_none() {
        return None;
    }
    let mut letters = op.chars();
    let direction = match letters.next()? {
        'R' => Direction::Read,
        'W' => Direction::Write,
        _ => return None,
    };
    let (mut sync, mut no_idle, mut metadata) = (direction == Direction::Read, false, false);
    for letter in letters {
        match letter {
            'S' => sync = true,
            'N' => no_idle = true,
            'M' => metadata = true,
            'A' | 'F' | 'B' | 'H' => {}
            _ => return None,
        }
    }
    Some(RecordedRow {
        line,
        time,
        event,
        direction,
        sync,
        no_idle,
        metadata,
        start,
        sectors,
        process,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_op_tell_direction_and_flags() {
        let text =
            "time_ns,event,op,sector,sectors,proc\n5,insert,WSN,80,8,p3\n6,issue,R,8,16,p0\n";
        let rows = parse(text).unwrap();
        assert!(rows[0].sync && rows[0].no_idle && rows[0].direction == Direction::Write);
        assert_eq!(
            (rows[0].process, rows[0].line, rows[0].end()),
            (3, 2, Lba(88))
        );
        assert!(rows[1].sync && !rows[1].no_idle);
    }

    /// Write-back of buffered writes is done by threads of the kernel.
    #[test]
    fn a_thread_of_the_kernel_is_a_process_too() {
        let text = "time_ns,event,op,sector,sectors,proc\n5,insert,W,80,8,kworker/u4:1\n\
            6,insert,W,8,8,p1\n7,insert,W,16,8,kworker/0:0\n8,insert,W,24,8,kworker/u4:1\n";
        let processes: Vec<_> = parse(text).unwrap().iter().map(|row| row.process).collect();
        assert_eq!(processes, [THREADS_FROM, 1, THREADS_FROM + 1, THREADS_FROM]);
    }

    #[test]
    fn a_torn_row_is_named_by_its_line() {
        let head = "time_ns,event,op,sector,sectors,proc\n";
        for torn in [
            "5,insert,R,80",
            "x,insert,R,8,8,p1",
            "5,leave,R,8,8,p1",
            "5,issue,Q,8,8,p1",
            "5,issue,R,8,0,p1",
        ] {
            let error = parse(&format!("{head}{torn}\n")).unwrap_err();
            assert!(error.starts_with("line 2 "), "{error}");
        }
        assert!(parse("").is_err());
        assert!(
            parse(&format!("{head}5,issue,R,8,8,p1\n4,issue,R,8,8,p1\n"))
                .unwrap_err()
                .contains("back in time")
        );
    }
}
