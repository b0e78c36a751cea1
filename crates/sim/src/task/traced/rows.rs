//! The rows of a recorded load: what each program sends, and after what.
//!
//! One file for all programs, each program's rows together and in the order in which it sent them; 48 bytes a row, little endian:
//!
//! ```text
//!   u64 sector   u64 at_ns   u64 gap_ns   u32 sectors   u32 own   u32 other   u32 other_count   u8 kind   u8 flags   6 bytes unused
//! ```
//!
//! `at_ns` is when it was sent, from the trace's start; `gap_ns` how long after what it waited for. It waits until no more than `own` of its
//! program's requests are under way, and until program `other` has `other_count` requests done. A program holds a few of its rows at a time,
//! so memory does not grow with the trace.

use crate::spec::traced::{ProgramSpec, ROW_BYTES};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Rows that all programs together hold, and what each holds at most and at least.
const ROWS_HELD: usize = 1 << 17;
const ROWS_EACH: (usize, usize) = (8, 4096);
/// Stands where a row waits for no other program.
pub const NO_PROGRAM: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceRowKind {
    Read,
    Write,
    Flush,
}

pub const SYNC: u8 = 1;
pub const META: u8 = 2;
/// The data are to be on the platters when it is done.
pub const FORCED: u8 = 4;
/// What the caches hold is to be on the platters before it.
pub const FLUSH_FIRST: u8 = 8;
/// It comes at its time, whatever was done by then.
pub const OPEN: u8 = 128;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRow {
    pub sector: u64,
    pub at_ns: u64,
    pub gap_ns: u64,
    pub sectors: u32,
    pub own: u32,
    pub other: u32,
    pub other_count: u32,
    pub kind: TraceRowKind,
    pub flags: u8,
}

impl TraceRow {
    fn parse(bytes: &[u8; ROW_BYTES]) -> Self {
        let wide = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
        let narrow =
            |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
        Self {
            sector: wide(0),
            at_ns: wide(8),
            gap_ns: wide(16),
            sectors: narrow(24),
            own: narrow(28),
            other: narrow(32),
            other_count: narrow(36),
            kind: match bytes[40] {
                0 => TraceRowKind::Read,
                1 => TraceRowKind::Write,
                _ => TraceRowKind::Flush,
            },
            flags: bytes[41],
        }
    }
}

/// One program's rows, some at a time.
#[derive(Debug)]
pub struct Rows {
    file: Arc<File>,
    /// The next row that is not held, and the one behind the last.
    next: u64,
    end: u64,
    held: Vec<u8>,
    at: usize,
    each: usize,
}

impl Rows {
    /// The rows of `program`, read when needed; `programs` of them share the memory for rows.
    pub fn new(file: Arc<File>, program: &ProgramSpec, programs: usize) -> Self {
        let each = (ROWS_HELD / programs.max(1)).clamp(ROWS_EACH.0, ROWS_EACH.1);
        Self {
            file,
            next: program.first,
            end: program.first + program.rows,
            held: Vec::new(),
            at: 0,
            each,
        }
    }

    /// The next row; None behind the last, and where the file has become shorter meanwhile.
    #[inline]
    pub fn take(&mut self) -> Option<TraceRow> {
        if self.at >= self.held.len() && !self.fill() {
            return None;
        }
        let row = self.held[self.at..].first_chunk::<ROW_BYTES>()?;
        self.at += ROW_BYTES;
        Some(TraceRow::parse(row))
    }

    #[cold]
    fn fill(&mut self) -> bool {
        let rows = (self.end - self.next).min(self.each as u64);
        self.at = 0;
        self.held.resize(rows as usize * ROW_BYTES, 0);
        if rows == 0
            || self
                .file
                .read_exact_at(&mut self.held, self.next * ROW_BYTES as u64)
                .is_err()
        {
            self.held.clear();
            self.end = self.next;
            return false;
        }
        self.next += rows;
        true
    }
}
