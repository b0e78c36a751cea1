//! The recorded machines: a row's conditions, and drives, queues and md as they say.

use crate::exact::{Exact, ExactParameters};
use seekwise_host::block::legacy::LegacyQueue;
use seekwise_host::block::Unobserved;
use seekwise_raid::{Geometry, Level, ParityLayout};
use seekwise_sched::{AnyScheduler, Kernel};
use seekwise_sim::assemble::files::file_engine;
use seekwise_sim::cost::{MdCosts, StepCosts};
use seekwise_sim::files::machine::FileEngine;
use seekwise_sim::files::READ_AHEAD_PAGES;
use seekwise_sim::queue::{Below, MemberQueues};
use seekwise_sim::spec::array::ArraySpec;
use seekwise_sim::spec::QueueSpec;
use seekwise_sim::storage::attached::AttachedDrive;
use seekwise_units::{Sectors, PAGE_SECTORS};

/// Chunk of the recorded RAID 5 (description of the recordings).
const CHUNK: Sectors = Sectors::from_kib(64);
/// Ticks a second of kernels whose name does not tell (description of the recordings).
pub(crate) const RECORDED_HZ: u32 = 1000;

/// A row's conditions, as the table's columns name them.
#[derive(Clone, Debug)]
pub struct Conditions {
    pub kernel: String,
    pub target: String,
    pub array: String,
    pub queue_depth: u32,
    pub drive: String,
    pub phase: String,
    pub scheduler: String,
    pub processes: u32,
}

impl Conditions {
    pub(crate) fn describe(&self) -> String {
        let Self {
            kernel,
            target,
            array,
            queue_depth,
            drive,
            phase,
            scheduler,
            processes,
        } = self;
        format!("{kernel}, {target}, {array}, depth {queue_depth}, {drive}, {phase}, {scheduler}, {processes} processes")
    }

    pub(crate) fn in_doubling_series(&self) -> bool {
        self.phase == "seqread" && self.processes.is_power_of_two()
    }

    pub(crate) fn differs_in_scheduler_only(&self, other: &Self) -> bool {
        let like = Self {
            scheduler: self.scheduler.clone(),
            ..other.clone()
        };
        self.scheduler != other.scheduler && self.describe() == like.describe()
    }
}

/// The queue of a recorded machine.
pub fn recorded_queue(scheduler: &str, kernel: &str) -> QueueSpec {
    QueueSpec {
        hz: Some(RECORDED_HZ),
        ..QueueSpec::of(scheduler, kernel)
    }
}

/// The drives of a recorded machine with their queues, and what md makes of them.
pub(crate) struct RecordedStorage {
    pub machine: FileEngine<LegacyQueue<AnyScheduler>, Exact>,
    /// What its readers read ahead, in pages, unless they are told.
    pub window: u64,
    pub kernel: Kernel,
}

impl RecordedStorage {
    /// `disk`: of each drive.
    pub fn of(
        conditions: &Conditions,
        disk: ExactParameters,
        costs: StepCosts,
    ) -> Result<Self, String> {
        let array = conditions.array.as_str();
        let (count, level) = match array {
            "single" => (1, None),
            "raid1" => (2, Some(Level::Raid1)),
            _ => {
                let members = array
                    .strip_prefix("raid5x")
                    .and_then(|count| count.parse().ok());
                let members = members.ok_or_else(|| format!("array {array} is not modelled"))?;
                (members, Some(Level::Raid5(ParityLayout::LeftSymmetric)))
            }
        };
        let queue = recorded_queue(&conditions.scheduler, &conditions.kernel);
        let depth = conditions.queue_depth;
        let below = Below {
            depth,
            tags: depth,
            throttled: depth,
            rotational: true,
            budget: true,
            command_kib: None,
        };
        let queues = MemberQueues::of(&queue, &below, None)?;
        let kernel = queues.kernel();
        let mut members = Vec::new();
        for _ in 0..count {
            members.push((
                queues.legacy()?,
                AttachedDrive::new(Exact::new(disk), depth),
            ));
        }
        let capacity = disk.capacity;
        let geometry =
            |level| Geometry::new(level, count, CHUNK, capacity).map_err(|error| error.0);
        let geometry = level.map(geometry).transpose()?;
        let array = ArraySpec::default();
        let array = geometry.as_ref().map(|geometry| (&array, geometry));
        Ok(Self {
            machine: file_engine(
                members,
                (array, capacity),
                kernel,
                true,
                (costs, MdCosts::of_kernel(kernel.version)),
                Unobserved,
            )?,
            window: geometry.map_or(READ_AHEAD_PAGES, |geometry| {
                geometry.read_ahead().0 / PAGE_SECTORS
            }),
            kernel,
        })
    }
}
