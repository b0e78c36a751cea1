//! A trial whose load is a recorded trace, over every storage that a trial knows.
//!
//! One machine for all policies and drives: programs of a trace exist a second time for each combination that has a machine of its own, and each
//! costs seconds of compilation.

use crate::assemble::array::Planned;
use crate::assemble::{assemble, Phases};
use crate::cost::OperationCosts;
use crate::engine::{Engine, PhaseOutcome, Running, Stalled};
use crate::queue::{either_queue, Frame};
use crate::spec::traced::TracedSpec;
use crate::spec::{PhaseSpec, TrialSpec};
use crate::storage::unit::StorageUnit;
use crate::storage::Stack;
use crate::task::traced::TracedPrograms;
use crate::task::ThreadPlan;
use seekwise_device::Device;
use seekwise_host::block::{Observer, Unobserved};
use seekwise_sched::AnyScheduler;
use seekwise_units::Sectors;
use std::fs::File;
use std::sync::Arc;

/// Whether a load empties the drives' caches.
pub(crate) fn flushes(spec: &TrialSpec) -> bool {
    let traced = |phase: &PhaseSpec| phase.traced.as_ref().is_some_and(|load| load.flushes);
    spec.phases.iter().any(traced)
}

/// The recorded load of a trial, which is then its only phase.
pub(crate) fn of(spec: &TrialSpec) -> Result<Option<&TracedSpec>, String> {
    if !spec.phases.iter().any(|phase| phase.traced.is_some()) {
        return Ok(None);
    }
    match spec.phases.as_slice() {
        [only] if spec.cache.is_none() && spec.trace_events_max == 0 => Ok(only.traced.as_ref()),
        _ => Err(
            "a recorded load is the only phase of its trial, without page cache and trace"
                .to_owned(),
        ),
    }
}

/// Programs of a trace.
pub(crate) struct Traced {
    load: TracedSpec,
    file: Arc<File>,
    capacity: Sectors,
}

impl<S: Stack, O: Observer> Phases<S, O> for Traced {
    fn run(
        &self,
        engine: &mut Engine<S, O>,
        _phase: &PhaseSpec,
        _plans: Vec<ThreadPlan>,
        costs: &OperationCosts,
    ) -> Result<PhaseOutcome, Stalled> {
        engine.run_phase(self.load.groups.len(), |engine| {
            TracedPrograms::new(engine, &self.load, &self.file, self.capacity, costs.clone())
        })
    }
}

pub(crate) fn machine(
    spec: &TrialSpec,
    load: &TracedSpec,
    frame: &Frame,
    unit: StorageUnit,
    array: Option<&Planned>,
    policy: AnyScheduler,
    rotational: bool,
) -> Result<Box<dyn Running>, String> {
    let capacity = array.map_or_else(
        || spec.device.in_use(unit.capacity()),
        |array| array.geometry.capacity(),
    );
    let phases = Traced {
        load: load.clone(),
        file: load.open_file()?,
        capacity,
    };
    if let Some(array) = array {
        return array.over(frame, rotational, policy, Unobserved, phases);
    }
    let queue = either_queue(policy, frame);
    Ok(assemble(spec, frame, unit, Unobserved, queue, phases))
}
