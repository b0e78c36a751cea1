//! A machine, whatever it is made of.

use crate::engine::PhaseOutcome;
use crate::result::probe::TraceEvent;
use seekwise_units::Nanos;

/// A machine ready to run the phases of its spec.
pub trait Running: Send {
    /// Start and outcome of phase `index`.
    fn run_phase(&mut self, index: usize) -> Result<(Nanos, PhaseOutcome), String>;
    fn trace(&self) -> Option<(&[TraceEvent], u64)>;
}
