//! Closed-loop replay: the simulator gets only what was submitted (`requests/`, `lists/`); its queue, scheduler, device and processes determine
//! order and times, which are compared with the recording of a real kernel.
//!
//! ```text
//!   requests/NAME.*.csv, lists/NAME.list ──▶ scripts ──▶ sim: engine, queue, scheduler, fixed or linear drive ──▶ trace
//!   recording (SCHEDULER/….csv) ──▶ order of issues, last completion, end of each process ◀── compared ─────────────┘
//! ```
//!
//! Of the recording the run takes one thing beforehand: when each process submitted first (its README: at a tick of 1000 Hz some
//! processes start later than asked, "take the recorded submit order as the input").

mod compare;
mod input;
mod recording;
mod run;

pub use compare::verify;
