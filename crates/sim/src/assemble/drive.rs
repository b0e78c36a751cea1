//! Which drive a trial has: a model by name, alone or behind a controller.

use crate::queue::requests_of_scheduler;
use crate::spec::controller;
use crate::spec::DeviceSpec;
use crate::storage::served::Served;
use crate::storage::unit::StorageUnit;
use seekwise_device::model::Attachment;
use seekwise_device::{Device, Model};
use seekwise_sched::Kernel;
use seekwise_units::{Depth, Sectors};

/// Any drive that a trial can have.
pub struct AnyDrive {
    pub unit: StorageUnit,
    pub traits: Traits,
    /// The model's full name.
    pub name: String,
    /// Largest command of the driver in KiB, where it is below the kernel's own limit.
    pub command_kib: Option<u32>,
}

/// What a kernel knows of a drive before it asks for anything.
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    pub rotational: bool,
    /// The driver takes a budget before it asks the scheduler (SCSI, SATA).
    pub budget: bool,
    /// A short driver path (NVMe, null).
    pub light: bool,
    pub host: Host,
}

/// Whose tags a drive's requests need: the kernel makes its requests from the host's set, however few of them `device/queue_depth`
/// lets into the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// A port of an AHCI host, which is a SCSI host of its own: drives do not share its tags.
    Ahci,
    /// Any other SCSI host, with its `can_queue`.
    Scsi(u32),
    /// A card or eMMC.
    Mmc,
    /// NVMe, null_blk: the drive's own queue.
    Own,
}

/// Linux drivers/ata/ahci.h: AHCI_MAX_CMDS; up to 4.18 libata keeps one of them for itself (ahci_sht: AHCI_MAX_CMDS - 1).
const AHCI_TAGS: u32 = 32;
/// Linux 4.16 to 6.12 drivers/mmc/core/queue.c: MMC_QUEUE_DEPTH, for a card that takes one command at a time.
const MMC_TAGS: u32 = 64;
impl Host {
    /// Tags of its set; `depth`: commands that the drive gets.
    pub fn tags(self, kernel: &Kernel, depth: u32) -> u32 {
        match self {
            Self::Ahci if kernel.at_least(4, 19, 0) => AHCI_TAGS,
            Self::Ahci => AHCI_TAGS - 1,
            Self::Scsi(can_queue) => can_queue,
            Self::Mmc if depth == 1 => MMC_TAGS,
            Self::Mmc | Self::Own => depth,
        }
    }

    /// What write-back throttling takes for the queue's depth. A SCSI driver says `device/queue_depth`; otherwise it is the requests that the
    /// queue had when its disk was made (Linux v6.1 include/linux/blkdev.h: blk_queue_depth), for one hardware queue those of mq-deadline.
    pub fn throttled(self, kernel: &Kernel, depth: u32) -> u32 {
        match self {
            Self::Mmc => requests_of_scheduler(self.tags(kernel, depth)),
            Self::Ahci | Self::Scsi(_) | Self::Own => depth,
        }
    }
}

impl AnyDrive {
    /// Sectors of the whole drive, also of those that the trial leaves unused.
    pub fn capacity(&self) -> Sectors {
        self.unit.capacity()
    }

    /// Commands that the drive takes at once.
    pub fn depth(&self) -> Depth {
        self.unit.depth()
    }
}

/// The seed decides where the platters stand at the start, as chance does in the world.
pub fn instance(seed: u64) -> u32 {
    (seed ^ (seed >> 32)).wrapping_mul(0x9E37_79B9) as u32
}

/// `instance` tells the drives of one system apart ([`Model::build`]).
pub fn build(spec: &DeviceSpec, instance: u32) -> Result<AnyDrive, String> {
    let mut model = Model::shipped(&spec.model).map_err(|e| e.to_string())?;
    for (key, value) in &spec.parameters {
        model.set(key, *value).map_err(|e| e.to_string())?;
    }
    let traits = Traits {
        // Linux drivers/block/virtio_blk.c never says that a disk does not rotate.
        rotational: model.guest || model.kind.rotational(),
        budget: !model.guest && model.attachment == Attachment::Sata,
        light: model.guest || matches!(model.attachment, Attachment::Nvme | Attachment::None),
        host: match model.attachment {
            _ if model.guest => Host::Own,
            Attachment::Sata => Host::Ahci,
            Attachment::Mmc => Host::Mmc,
            Attachment::Nvme | Attachment::None => Host::Own,
        },
    };
    let Some(controller) = &spec.controller else {
        let drive = model.build(instance).map_err(|e| e.to_string())?;
        let unit = if model.guest {
            StorageUnit::Guest(Box::new(Served::in_guest(drive)))
        } else {
            StorageUnit::Drive(drive)
        };
        return Ok(AnyDrive {
            unit,
            traits,
            name: model.name,
            command_kib: None,
        });
    };
    if model.guest {
        return Err("a controller over disks of a guest is not simulated".to_owned());
    }
    let (unit, card) = controller::build(controller, &model, instance)?;
    Ok(AnyDrive {
        // A SCSI disk to the kernel, whose host takes as many commands as the unit.
        traits: Traits {
            budget: true,
            light: false,
            host: Host::Scsi(unit.depth().0),
            ..traits
        },
        unit: StorageUnit::Controller(Box::new(unit)),
        name: format!("{} over {} x {}", card.name, controller.drives, model.name),
        command_kib: Some(card.get("command_kib") as u32),
    })
}
