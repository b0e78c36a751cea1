//! Which drive a cell has: a model by name or as TOML, or one of the reference drives of the recordings.

use crate::assemble::check;
use crate::spec::controller;
use crate::spec::DeviceSpec;
use crate::storage::reference::{Fixed, Linear};
use seekwise_controller::Controller;
use seekwise_device::model::Attachment;
use seekwise_device::{Device, Drive, Model};
use seekwise_units::{Depth, Nanos, Sectors};

/// Any drive that a cell can have.
// One a cell, moved once: boxing would cost the hot path a pointer.
#[allow(clippy::large_enum_variant)]
pub enum AnyDrive {
    Fixed(Fixed),
    Linear(Linear),
    Model(Drive, Traits, String),
    /// With its largest command in KiB.
    Controller(Box<Controller>, Traits, String, u32),
}

/// What a kernel knows of a drive before it asks for anything.
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    pub rotational: bool,
    /// The driver takes a budget before it asks the scheduler (SCSI, SATA).
    pub budget: bool,
    /// A short driver path (NVMe, null).
    pub light: bool,
    /// SATA: kernels before 4.19 keep one of the 32 tags for themselves (drivers/ata/libata-scsi.c: ATA_MAX_QUEUE - 1).
    pub sata: bool,
}

/// Capacity of the recordings' model disk (README of the recordings, "Devices").
const REFERENCE_SECTORS: f64 = 1_953_525_168.0;
/// 5 ms (ibid.).
const REFERENCE_SERVICE_NS: f64 = 5_000_000.0;

impl AnyDrive {
    fn device(&self) -> &dyn Device {
        match self {
            Self::Fixed(device) => device,
            Self::Linear(device) => device,
            Self::Model(device, ..) => device,
            Self::Controller(device, ..) => &**device,
        }
    }

    pub fn capacity(&self) -> Sectors {
        self.device().capacity()
    }

    pub fn depth(&self) -> Depth {
        self.device().depth()
    }

    /// The model's full name.
    pub fn name(&self) -> &str {
        match self {
            Self::Fixed(_) => "reference drive: fixed service time",
            Self::Linear(_) => "reference drive: service time linear in distance",
            Self::Model(_, _, name) | Self::Controller(_, _, name, _) => name,
        }
    }

    /// Largest command of the driver in KiB, where it is below the kernel's own limit.
    pub fn command_kib(&self) -> Option<u32> {
        match self {
            Self::Controller(_, _, _, kib) => Some(*kib),
            _ => None,
        }
    }

    pub fn traits(&self) -> Traits {
        match self {
            Self::Model(_, traits, _) | Self::Controller(_, traits, ..) => *traits,
            _ => Traits {
                rotational: true,
                budget: false,
                light: false,
                sata: false,
            },
        }
    }
}

/// The seed decides where the platters stand at the start, as chance does in the world.
pub fn instance(seed: u64) -> u32 {
    (seed ^ (seed >> 32)).wrapping_mul(0x9E37_79B9) as u32
}

/// `instance` tells the drives of one system apart ([`Model::build`]).
pub fn build(spec: &DeviceSpec, instance: u32) -> Result<AnyDrive, String> {
    if spec.controller.is_some() && matches!(spec.model.as_str(), "fixed" | "linear") {
        return Err(format!(
            "{} stands for a recording's drive and has no controller",
            spec.model
        ));
    }
    match spec.model.as_str() {
        "fixed" => {
            known(spec, &["capacity_sectors", "service_ns", "depth"])?;
            let depth = number(spec, "depth", "commands", 1.0, 1.0, 65_536.0)? as u32;
            let service = number(spec, "service_ns", "ns", REFERENCE_SERVICE_NS, 0.0, 1e12)?;
            Ok(AnyDrive::Fixed(Fixed::new(
                capacity(spec)?,
                Depth(depth),
                Nanos(service as u64),
            )))
        }
        "linear" => {
            known(spec, &["capacity_sectors", "base_ns", "sectors_per_ns"])?;
            let base = number(spec, "base_ns", "ns", 1_000_000.0, 0.0, 1e12)?;
            let per_ns = number(spec, "sectors_per_ns", "sectors/ns", 100.0, 1.0, 1e12)?;
            Ok(AnyDrive::Linear(Linear::new(
                capacity(spec)?,
                Nanos(base as u64),
                per_ns as u64,
            )))
        }
        _ => modelled(spec, instance),
    }
}

fn modelled(spec: &DeviceSpec, instance: u32) -> Result<AnyDrive, String> {
    let mut model = match &spec.toml {
        Some(text) => Model::parse(text),
        None => Model::shipped(&spec.model),
    }
    .map_err(|e| e.to_string())?;
    for (key, value) in &spec.parameters {
        model.set(key, *value).map_err(|e| e.to_string())?;
    }
    let traits = Traits {
        rotational: model.kind.rotational(),
        budget: model.attachment == Attachment::Sata,
        light: matches!(model.attachment, Attachment::Nvme | Attachment::None),
        sata: model.attachment == Attachment::Sata,
    };
    if let Some(controller) = &spec.controller {
        let (unit, card) = controller::build(controller, &model, instance)?;
        let name = format!("{} over {} x {}", card.name, controller.drives, model.name);
        // A SCSI disk to the kernel; libata keeps none of its commands.
        let traits = Traits {
            budget: true,
            light: false,
            sata: false,
            ..traits
        };
        let kib = card.get("command_kib") as u32;
        return Ok(AnyDrive::Controller(Box::new(unit), traits, name, kib));
    }
    let drive = model.build(instance).map_err(|e| e.to_string())?;
    Ok(AnyDrive::Model(drive, traits, model.name))
}

fn number(
    spec: &DeviceSpec,
    name: &str,
    unit: &str,
    default: f64,
    min: f64,
    max: f64,
) -> Result<f64, String> {
    let value = spec.parameters.get(name).copied().unwrap_or(default);
    check(&format!("{} {name}", spec.model), value, unit, min, max)?;
    Ok(value)
}

fn capacity(spec: &DeviceSpec) -> Result<Sectors, String> {
    number(
        spec,
        "capacity_sectors",
        "sectors",
        REFERENCE_SECTORS,
        8.0,
        1e15,
    )
    .map(|n| Sectors(n as u64))
}

fn known(spec: &DeviceSpec, names: &[&str]) -> Result<(), String> {
    match spec
        .parameters
        .keys()
        .find(|name| !names.contains(&name.as_str()))
    {
        None => Ok(()),
        Some(name) => Err(format!(
            "drive {} has no parameter \"{name}\" (it has {})",
            spec.model,
            names.join(", ")
        )),
    }
}
