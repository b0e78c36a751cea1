//! Whole runs: only what was submitted is fed (`requests/`, `lists/`); queue, scheduler, device and processes run on their own, and
//! the outcome is held against the recording of a real kernel.
//!
//! ```text
//!   requests/NAME.*.csv, lists/NAME.list ──▶ scripts ──▶ one processor (one_cpu.rs, its times: cost.rs) ──▶ trace
//!                                                        queue, policy, fixed or linear drive
//!   recording (SCHEDULER/….csv) ──▶ order of issues, last completion, end of each process ◀── compared ─┘
//! ```
//!
//! Of the recording the run takes one thing beforehand: when each process submitted first (its README: at a tick of 1000 Hz some
//! processes start later than asked, "take the recorded submit order as the input").
//!
//! noop, deadline and mq-deadline must issue in the recorded order; for the others the total time and each process's end count.

pub mod compare;
mod cost;
pub mod input;
mod one_cpu;
pub mod run;

pub use compare::{verify, Verdict};
