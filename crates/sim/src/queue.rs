//! The host's queues as a spec says, with the defaults of their kernel: numbers, policy, plug, write-back throttling.

use crate::cost::{CacheCost, DirectPage, OperationCosts, Services};
use crate::spec::check::{check, check_each};
use crate::spec::kernel::is_modelled;
use crate::spec::QueueSpec;
use seekwise_host::block::base::Limits;
use seekwise_host::block::either::EitherQueue;
use seekwise_host::block::legacy::{LegacyLimits, LegacyPlug, LegacyQueue, Pools};
use seekwise_host::block::merge::MergeRule;
use seekwise_host::block::mq::{MqLimits, MqQueue};
use seekwise_host::block::wbt::Throttle;
use seekwise_host::cpu::CpuCost;
use seekwise_sched::{registry, AnyScheduler, Kernel, Scheduler, Setup};
use seekwise_units::{Nanos, Sectors};

/// Numbers of the queue after defaults.
#[derive(Clone, Copy, Debug)]
pub struct QueueNumbers {
    pub nr_requests: u32,
    pub max_sectors: Sectors,
    pub nomerges: u8,
    pub budget: bool,
    pub wbt: Option<Nanos>,
    pub legacy: bool,
}

/// Parts of a machine that do not depend on its types.
#[derive(Clone)]
pub struct Frame {
    pub costs: OperationCosts,
    pub processors: u32,
    pub numbers: QueueNumbers,
    pub kernel: Kernel,
    pub merge_rule: MergeRule,
    pub direct: bool,
    pub depth: u32,
    /// What write-back throttling takes for the queue's depth.
    pub throttled: u32,
    /// Writes that nobody waits for are the flusher's.
    pub flusher: bool,
    /// What the requests of an array's members cost the machine's one processor.
    pub services: Option<Services>,
}

impl Frame {
    /// A machine of one processor whose queue is that of `entry`'s schedulers.
    pub fn of(
        entry: &registry::SchedulerEntry,
        kernel: Kernel,
        numbers: QueueNumbers,
        depth: u32,
    ) -> Self {
        Self {
            costs: OperationCosts::Same(
                CpuCost::default(),
                DirectPage::default(),
                CacheCost::default(),
                [false; 2],
            ),
            processors: 1,
            numbers,
            kernel,
            merge_rule: entry.merge_rule,
            direct: entry.name == "none",
            depth,
            throttled: depth,
            flusher: false,
            services: None,
        }
    }

    fn limits(&self) -> Limits {
        Limits {
            nr_requests: self.numbers.nr_requests,
            max_sectors: self.numbers.max_sectors,
            nomerges: self.numbers.nomerges,
            merge_rule: self.merge_rule,
        }
    }
}

/// `queue/max_sectors_kb` by default. Linux include/linux/blkdev.h: SAFE_MAX_SECTORS to BLK_DEF_MAX_SECTORS, 512 KiB up to 2.6.32; 1280 KiB from
/// 4.x on; BLK_DEF_MAX_SECTORS_CAP, 4096 KiB from 6.17 on.
pub(crate) fn max_sectors_kib(kernel: &Kernel) -> u32 {
    if kernel.at_least(6, 17, 0) {
        4096
    } else if kernel.at_least(4, 0, 0) {
        1280
    } else {
        512
    }
}

/// Linux 4.14 to 6.12 block/blk-mq-sched.c, blk_mq_init_sched: a scheduler gets two requests for each tag, of at most BLKDEV_DEFAULT_RQ.
const TAGS_DOUBLED_MAX: u32 = 128;

/// `queue/nr_requests` that blk-mq gives a scheduler over so many tags.
pub fn requests_of_scheduler(tags: u32) -> u32 {
    2 * tags.min(TAGS_DOUBLED_MAX)
}

/// A queue of the kind that the policy belongs to.
pub fn either_queue(policy: AnyScheduler, frame: &Frame) -> EitherQueue<AnyScheduler> {
    if frame.numbers.legacy {
        EitherQueue::Legacy(legacy_queue(policy, frame))
    } else {
        EitherQueue::Mq(mq_queue(policy, frame))
    }
}

/// The single request queue of the frame's kernel under `policy`: task plug from 2.6.39, pools by sync from 2.6.32.
pub fn legacy_queue<S: Scheduler>(policy: S, frame: &Frame) -> LegacyQueue<S> {
    let kernel = frame.kernel;
    let limits = LegacyLimits {
        requests: frame.limits(),
        // The per-task plug replaced the queue's in 2.6.39 (block/blk-core.c: blk_start_plug).
        plug: if kernel.at_least(2, 6, 39) {
            LegacyPlug::Task
        } else {
            LegacyPlug::Queue { hz: kernel.hz }
        },
        pools: if kernel.at_least(2, 6, 32) {
            Pools::BySync
        } else {
            Pools::ByDirection
        },
    };
    LegacyQueue::new(policy, limits, frame.depth)
}

/// The blk-mq queue of the frame's kernel under `policy`, with write-back throttling where it is on.
pub fn mq_queue<S: Scheduler>(policy: S, frame: &Frame) -> MqQueue<S> {
    let numbers = frame.numbers;
    let limits = MqLimits {
        requests: frame.limits(),
        budget: numbers.budget,
        direct: frame.direct,
        kernel: frame.kernel,
    };
    let throttle = numbers.wbt.map(|target| {
        let mut throttle = Throttle::new(target, frame.throttled);
        throttle.background = frame.flusher;
        throttle
    });
    MqQueue::new(policy, limits, frame.depth, throttle)
}

/// What a queue is told of what lies below it.
#[derive(Clone, Copy, Debug)]
pub struct Below {
    /// Commands that the host keeps outstanding.
    pub depth: u32,
    /// Tags of the host's set: what requests are made from.
    pub tags: u32,
    /// What write-back throttling takes for the queue's depth.
    pub throttled: u32,
    pub rotational: bool,
    /// SCSI and SATA: a slot of the drive is taken before the scheduler is asked.
    pub budget: bool,
    /// Largest command, where the driver's is below the kernel's own limit.
    pub command_kib: Option<u32>,
}

/// Queues that are set alike: of a trial, or of the members of a storage.
pub struct MemberQueues {
    pub(crate) entry: &'static registry::SchedulerEntry,
    pub(crate) setup: Setup,
    pub(crate) frame: Frame,
}

impl MemberQueues {
    /// A write without a waiting program comes from the flusher; `tags`: what write-back throttling takes for the queue's depth.
    pub fn of(queue: &QueueSpec, below: &Below, tags: Option<u32>) -> Result<Self, String> {
        let mut queues = Self::alike(queue, below)?;
        queues.frame.flusher = true;
        queues.frame.throttled = tags.unwrap_or(below.throttled);
        Ok(queues)
    }

    /// The kernel that all of them belong to.
    pub fn kernel(&self) -> Kernel {
        self.frame.kernel
    }

    /// True for the single request queue, false for blk-mq.
    pub fn single_queue(&self) -> bool {
        self.frame.numbers.legacy
    }

    /// One more single request queue. The error is one sentence: the policy refuses its tunables.
    pub fn legacy(&self) -> Result<LegacyQueue<AnyScheduler>, String> {
        Ok(legacy_queue(self.policy()?, &self.frame))
    }

    /// One more blk-mq queue. The error is one sentence: the policy refuses its tunables.
    pub fn mq(&self) -> Result<MqQueue<AnyScheduler>, String> {
        Ok(mq_queue(self.policy()?, &self.frame))
    }

    /// `queue/nr_requests`.
    pub fn requests(&self) -> u32 {
        self.frame.numbers.nr_requests
    }

    pub(crate) fn policy(&self) -> Result<AnyScheduler, String> {
        self.entry.build(&self.setup)
    }

    /// Queues whose writers all wait.
    pub fn alike(queue: &QueueSpec, below: &Below) -> Result<Self, String> {
        let kernel = kernel_of(queue)?;
        let entry = entry_of(&queue.scheduler)?;
        let legacy = entry.kernels.until.is_some();
        let mut numbers = numbers(queue, &kernel, legacy, below)?;
        if let Some(kib) = below.command_kib {
            numbers.max_sectors = numbers.max_sectors.min(Sectors::from_kib(u64::from(kib)));
        }
        let mut setup = Setup::new(kernel);
        setup.rotational = below.rotational;
        setup.depth_device = below.depth;
        setup.host_tags = below.tags;
        setup.nr_requests = numbers.nr_requests;
        setup.cgroup = queue.cgroup;
        for (name, &value) in &queue.tunables {
            let value = i128::from(value);
            let known = entry.parameters;
            setup.values.set(entry.name, known, &kernel, name, value)?;
        }
        let mut frame = Frame::of(entry, kernel, numbers, below.depth);
        frame.throttled = below.throttled;
        Ok(Self {
            entry,
            setup,
            frame,
        })
    }
}

/// Whether a scheduler is one of the single queue, and not of blk-mq.
pub fn of_single_queue(scheduler: &str) -> Result<bool, String> {
    Ok(entry_of(scheduler)?.kernels.until.is_some())
}

/// The registry's row of a scheduler by its exact name. The error lists the known ones.
pub fn entry_of(scheduler: &str) -> Result<&'static registry::SchedulerEntry, String> {
    registry::find(scheduler).ok_or_else(|| {
        let known: Vec<&str> = registry::ENTRIES.iter().map(|e| e.name).collect();
        let known = known.join(", ");
        format!("there is no scheduler \"{scheduler}\" (known: {known})")
    })
}

/// Linux kernel/Kconfig.hz: HZ_250 is the default (2.6.13 on).
pub(crate) fn kernel_of(queue: &QueueSpec) -> Result<Kernel, String> {
    let hz = queue.hz.unwrap_or(seekwise_sched::kernel::HZ_DEFAULT);
    let kernel = Kernel::parse(&queue.kernel, hz)?;
    is_modelled(kernel.version)?;
    Ok(kernel)
}

fn numbers(
    queue: &QueueSpec,
    kernel: &Kernel,
    legacy: bool,
    below: &Below,
) -> Result<QueueNumbers, String> {
    // 128 per pool (Linux 2.6.23 include/linux/blkdev.h: BLKDEV_MAX_RQ). blk-mq: a scheduler's from the host's tags; without one these tags
    // themselves (v6.1 block/blk-mq-sched.c: blk_mq_init_sched). `device/queue_depth` changes none of them, nor does setting it later.
    let default = match (legacy, queue.scheduler.as_str()) {
        (true, _) => 128,
        (false, "none") => below.tags,
        (false, _) => requests_of_scheduler(below.tags),
    };
    let nr_requests = queue.nr_requests.unwrap_or(default);
    // Linux block/blk-sysfs.c: at least BLKDEV_MIN_RQ = 4 may be written; a device of depth 1 has fewer of its own.
    let (asked, least) = (f64::from(nr_requests), if legacy { 4.0 } else { 1.0 });
    check("nr_requests", asked, "requests", least, 65_536.0)?;
    let nr_requests = if queue.scheduler == "none" {
        nr_requests.min(below.tags)
    } else {
        nr_requests
    };
    let kb = queue.max_sectors_kb.unwrap_or(max_sectors_kib(kernel));
    let nomerges = f64::from(queue.nomerges);
    check_each(&[
        ("max_sectors_kb", f64::from(kb), "KiB", 4.0, 1_048_576.0),
        ("nomerges", nomerges, "(0, 1 or 2)", 0.0, 2.0),
    ])?;
    let wbt = queue.wbt_lat_usec.unwrap_or(wbt_default(
        &queue.scheduler,
        kernel,
        below.rotational,
        legacy,
    ));
    check("wbt_lat_usec", wbt as f64, "us", 0.0, 10_000_000.0)?;
    Ok(QueueNumbers {
        nr_requests,
        max_sectors: Sectors::from_kib(u64::from(kb)),
        nomerges: queue.nomerges,
        budget: queue.budget.unwrap_or(below.budget),
        wbt: (wbt > 0).then_some(Nanos::from_micros(wbt)),
        legacy,
    })
}

/// Linux v6.1 block/blk-wbt.c, wbt_enable_default: on by default for blk-mq except under bfq; none on the single queue.
fn wbt_default(scheduler: &str, kernel: &Kernel, rotational: bool, legacy: bool) -> u64 {
    if legacy || scheduler == "bfq" || !kernel.at_least(4, 10, 0) {
        0
    } else if rotational {
        75_000
    } else {
        2_000
    }
}
