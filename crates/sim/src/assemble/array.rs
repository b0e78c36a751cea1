//! A trial over an array: its members, each with a queue of its own, under md.

use crate::assemble::drive::{self, AnyDrive};
use crate::assemble::md::md;
use crate::assemble::{Direct, Phases, Prepared, TraceSink};
use crate::cost::MdCosts;
use crate::engine::{Engine, Running};
use crate::queue::{either_queue, kernel_of, legacy_queue, mq_queue, Frame};
use crate::result::probe::Recorder;
use crate::spec::array::{describe, ArraySpec};
use crate::spec::TrialSpec;
use crate::storage::attached::AttachedDrive;
use crate::storage::md::Md;
use crate::storage::served::Served;
use crate::storage::unit::StorageUnit;
use crate::task::cache_plan::CachePlan;
use seekwise_device::hdd::Hdd;
use seekwise_device::measure::{self, Load, Pattern};
use seekwise_device::{CommandKind, Device, Drive};
use seekwise_host::block::either::EitherQueue;
use seekwise_host::block::{BlockQueue, Observer, Unobserved};
use seekwise_host::cpu::{Processors, SharedProcessor};
use seekwise_raid::md::resync::MAX_KIB_S;
use seekwise_raid::md::volume::Volume;
use seekwise_raid::md::MdGeneration;
use seekwise_raid::{Geometry, Level};
use seekwise_sched::AnyScheduler;
use seekwise_units::{Lba, Nanos, Sectors, PAGE_BYTES};
use serde_json::Value;

/// md's own bound before bios could be split (2.6.32 and older): 255 sectors, in pages of the page cache 248.
/// Linux 2.6.23 drivers/md/md.c and block/ll_rw_blk.c (blk_queue_stack_limits).
const OLD_MD_SECTORS_MAX: Sectors = Sectors(248);
/// RAID 5 and 6 take 256 rows of a chunk at once from 6.0 on (Linux 6.1 drivers/md/raid5.c: RAID5_MAX_REQ_STRIPES), and cut what is longer.
const PARITY_SECTORS_MAX: Sectors = Sectors(2048);
/// Places at which the speed of a member is taken, ends included.
const PLACES: u64 = 5;

/// A queue of either kind under any policy.
pub(super) fn either(policy: AnyScheduler) -> impl Fn(&Frame) -> EitherQueue<AnyScheduler> {
    move |frame| either_queue(policy.clone(), frame)
}

/// Programs and the md thread book one processor.
fn share<Q: BlockQueue, D: Device, O: Observer>(
    engine: &mut Engine<Md<Q, D>, O>,
    processor: SharedProcessor,
) {
    engine.storage.share(processor.clone());
    engine.processors = Processors::shared(processor);
}

/// An array that can be, before its members are built.
pub struct Planned<'a> {
    pub spec: &'a ArraySpec,
    trial: &'a TrialSpec,
    pub geometry: Geometry,
}

impl<'a> Planned<'a> {
    /// None for a trial without an array. The error is one sentence: a drive that cannot be a member, or an array that mdadm would refuse.
    pub fn of(trial: &'a TrialSpec, drive: &AnyDrive) -> Result<Option<Self>, String> {
        let Some(spec) = &trial.device.array else {
            return Ok(None);
        };
        if trial.device.controller.is_some() {
            return Err("md over units of a controller is not simulated".to_owned());
        }
        let geometry = spec.geometry(kernel_of(&trial.queue)?, drive.capacity())?;
        Ok(Some(Self {
            spec,
            trial,
            geometry,
        }))
    }

    /// Capacity, failures survived, time to rebuild a member on an array with nothing else to do.
    pub fn describe(&self) -> Result<Value, String> {
        let geometry = &self.geometry;
        let rebuild_s = if geometry.losses_survived() == 0 {
            None
        } else {
            Some(geometry.member.bytes().0 as f64 / self.rebuild_bytes_per_s()?)
        };
        Ok(describe(self.spec, geometry, rebuild_s))
    }

    /// What a member takes over its whole length, as fast as it reads and writes in order, within md's limit and what its thread computes.
    fn rebuild_bytes_per_s(&self) -> Result<f64, String> {
        let member = self.geometry.member.0;
        let kernel = kernel_of(&self.trial.queue)?.version;
        let limit_kib_s = match &self.spec.resync {
            Some(resync) => resync.speed().max_kib_s,
            None => MAX_KIB_S,
        };
        let mut most = limit_kib_s as f64 * 1024.0;
        let rebuilds = self.spec.resync.is_none() || !self.spec.missing.is_empty();
        if matches!(self.geometry.level, Level::Raid10(_)) && !rebuilds {
            // Then md counts the array's sectors (resync_max_sectors, drivers/md/raid10.c).
            most *= member as f64 / self.geometry.capacity().0 as f64;
        }
        let volume = Volume::md(self.geometry, MdGeneration::of(kernel), false);
        if let Some(parity) = volume.parity() {
            let row = MdCosts::of_kernel(kernel).rebuilt_row(&parity);
            most = most.min(PAGE_BYTES as f64 * 1e9 / row.0 as f64);
        }
        let mut seconds_per_byte = 0.0;
        for place in 0..PLACES {
            let block = Sectors::from_kib(128);
            let commands = 200.min(member / block.0);
            let span = Sectors(commands * block.0);
            let first = Lba((member - span.0) / (PLACES - 1) * place);
            let slower = [CommandKind::Read, CommandKind::WRITE]
                .into_iter()
                .map(|kind| {
                    let load = Load {
                        pattern: Pattern::Sequential,
                        kind,
                        block,
                        depth: 4,
                        first,
                        span,
                        turnaround: Nanos::ZERO,
                        core: Nanos::ZERO,
                        warm_up: 0,
                        commands,
                        seed: 1,
                    };
                    let mut drive = self.built(drive::instance(0))?;
                    Ok(measure::run(&mut drive, Nanos::ZERO, &load).mb_per_second() * 1e6)
                })
                .collect::<Result<Vec<f64>, String>>()?
                .into_iter()
                .fold(most, f64::min);
            seconds_per_byte += 1.0 / slower / PLACES as f64;
        }
        Ok(1.0 / seconds_per_byte)
    }

    /// A member's drive. Spindles of an array do not turn in step, and stand elsewhere in each repeat.
    fn drive(&self, member: u32) -> Result<Drive, String> {
        let seed = self.trial.seed.wrapping_add(u64::from(member) << 20);
        self.built(drive::instance(seed))
    }

    /// Every member's drive.
    fn drives(&self) -> Result<Vec<Drive>, String> {
        (0..self.geometry.members)
            .map(|member| self.drive(member))
            .collect()
    }

    fn built(&self, instance: u32) -> Result<Drive, String> {
        match drive::build(&self.trial.device, instance)?.unit {
            StorageUnit::Drive(drive) => Ok(drive),
            StorageUnit::Controller(_) => unreachable!("refused in `of`"),
            StorageUnit::Guest(_) => Err("md over disks of a guest is not simulated".to_owned()),
        }
    }

    pub(crate) fn machine(
        &self,
        frame: &Frame,
        rotational: bool,
        cache: Option<CachePlan>,
        policy: AnyScheduler,
    ) -> Result<Box<dyn Running>, String> {
        if let Some(plan) = cache {
            let queue = either(policy);
            let trace: Option<Recorder> = None;
            let mut engine = self.assembled(frame, rotational, queue, self.drives()?, trace)?;
            if frame.processors == 1 {
                share(&mut engine, SharedProcessor::default());
            }
            return Ok(self.boxed(engine, frame, plan));
        }
        if self.trial.trace_events_max > 0 {
            let observer = Recorder::new(self.trial.trace_events_max);
            return self.over(frame, rotational, policy, observer, Direct);
        }
        // Hard disks get machines of their own: no choice of the kind of drive at each step, and none of the policy where it is a usual one.
        let disk = |drive| match drive {
            Drive::Hdd(disk) => Some(disk),
            _ => None,
        };
        let disks: Option<Vec<Hdd>> = self.drives()?.into_iter().map(disk).collect();
        let Some(mut disks) = disks.filter(|_| frame.services.is_none()) else {
            return self.over(frame, rotational, policy, Unobserved, Direct);
        };
        if let Some((first, others)) = disks.split_first_mut() {
            for other in others {
                other.share_tables(first);
            }
        }
        macro_rules! own_machine {
            ($($kind:ident: $queue:ident),*) => {
                match policy {
                    $(AnyScheduler::$kind(policy) => {
                        let queue = |frame: &Frame| $queue(policy.clone(), frame);
                        self.boxed(self.assembled(frame, rotational, queue, disks, Unobserved)?, frame, Direct)
                    })*
                    other => self.boxed(self.assembled(frame, rotational, either(other), disks, Unobserved)?, frame, Direct),
                }
            };
        }
        Ok(own_machine!(
            Noop: legacy_queue, Deadline: legacy_queue, Cfq: legacy_queue, None: mq_queue, MqDeadline: mq_queue
        ))
    }

    fn boxed<Q, D, O, P>(
        &self,
        engine: Engine<Md<Q, D>, O>,
        frame: &Frame,
        phases: P,
    ) -> Box<dyn Running>
    where
        Q: BlockQueue + Send + 'static,
        D: Device + Send + 'static,
        O: TraceSink + 'static,
        P: Phases<Md<Q, D>, O> + Send + 'static,
    {
        Prepared::boxed(engine, self.trial, frame, self.geometry.capacity(), phases)
    }

    /// A machine for any drives and policies; its processor serves the drives, too, where it is known what that costs.
    pub(super) fn over<O, P>(
        &self,
        frame: &Frame,
        rotational: bool,
        policy: AnyScheduler,
        observer: O,
        phases: P,
    ) -> Result<Box<dyn Running>, String>
    where
        O: TraceSink + 'static,
        P: Phases<Md<EitherQueue<AnyScheduler>, Drive>, O>
            + Phases<Md<EitherQueue<AnyScheduler>, Served<Drive>>, O>
            + Send
            + 'static,
    {
        let (queue, drives) = (either(policy), self.drives()?);
        let Some(services) = frame.services else {
            let engine = self.assembled(frame, rotational, queue, drives, observer)?;
            return Ok(self.boxed(engine, frame, phases));
        };
        let processor = SharedProcessor::default();
        let drives = drives
            .into_iter()
            .map(|drive| Served::new(drive, processor.clone(), services))
            .collect();
        let mut engine = self.assembled(frame, rotational, queue, drives, observer)?;
        share(&mut engine, processor);
        Ok(self.boxed(engine, frame, phases))
    }

    fn assembled<Q: BlockQueue, D: Device, O: Observer>(
        &self,
        frame: &Frame,
        rotational: bool,
        queue: impl Fn(&Frame) -> Q,
        drives: Vec<D>,
        observer: O,
    ) -> Result<Engine<Md<Q, D>, O>, String> {
        let members = drives
            .into_iter()
            .map(|drive| (queue(frame), AttachedDrive::new(drive, frame.depth)))
            .collect();
        let of_md = MdCosts::of_kernel(frame.kernel.version);
        let costs = frame.costs.md();
        let md = md(
            self.spec,
            &self.geometry,
            frame.kernel,
            rotational,
            frame.numbers.max_sectors,
            members,
            costs.unwrap_or_else(|| of_md.beside(&frame.costs.usual())),
        )?;
        let bio_max = if md.volume.parity().is_some() && frame.kernel.at_least(6, 0, 0) {
            frame.numbers.max_sectors.min(PARITY_SECTORS_MAX)
        } else if frame.kernel.at_least(3, 14, 0) {
            frame.numbers.max_sectors
        } else {
            frame.numbers.max_sectors.min(OLD_MD_SECTORS_MAX)
        };
        Ok(Engine::new(
            md,
            observer,
            Processors::new(frame.processors),
            bio_max,
        ))
    }

    /// A row of chunks, without parity and copies: what md names as the optimal request. Zero for mirrors alone.
    pub fn row_kib(&self) -> u64 {
        let geometry = &self.geometry;
        let data = geometry.capacity().0.div_ceil(geometry.member.0.max(1));
        match self.spec.level.as_str() {
            "raid1" => 0,
            _ => geometry.chunk.bytes().0 / 1024 * data,
        }
    }
}
