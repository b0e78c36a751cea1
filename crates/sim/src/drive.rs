//! Which drive a cell has: a model by name, or one of the reference drives.

use crate::build::check;
use crate::reference::{Fixed, Linear};
use crate::spec::DeviceSpec;
use seekwise_device::Device;
use seekwise_units::{Depth, Nanos, Sectors};

/// Any drive that a cell can have.
pub enum AnyDrive {
    Fixed(Fixed),
    Linear(Linear),
}

/// Capacity of the recordings' model disk (README of the recordings, "Devices").
const REFERENCE_SECTORS: f64 = 1_953_525_168.0;
/// 5 ms (ibid.).
const REFERENCE_SERVICE_NS: f64 = 5_000_000.0;

impl AnyDrive {
    pub fn capacity(&self) -> Sectors {
        match self {
            Self::Fixed(d) => d.capacity(),
            Self::Linear(d) => d.capacity(),
        }
    }

    pub fn depth(&self) -> u32 {
        match self {
            Self::Fixed(d) => d.depth().0,
            Self::Linear(d) => d.depth().0,
        }
    }

    pub fn rotational(&self) -> bool {
        true
    }

    /// Does its driver take a budget before it asks the scheduler?
    pub fn budget(&self) -> bool {
        false
    }

    /// Is its driver's path a short one (NVMe, null)?
    pub fn light(&self) -> bool {
        false
    }
}

pub fn build(spec: &DeviceSpec, _seed: u64) -> Result<AnyDrive, String> {
    let number =
        |name: &str, unit: &str, default: f64, min: f64, max: f64| -> Result<f64, String> {
            let value = spec.parameters.get(name).copied().unwrap_or(default);
            check(&format!("{} {name}", spec.model), value, unit, min, max)?;
            Ok(value)
        };
    let known: &[&str] = match spec.model.as_str() {
        "fixed" => &["capacity_sectors", "service_ns", "depth"],
        "linear" => &["capacity_sectors", "base_ns", "sectors_per_ns"],
        other => return Err(format!("there is no drive model \"{other}\"")),
    };
    if let Some(name) = spec
        .parameters
        .keys()
        .find(|name| !known.contains(&name.as_str()))
    {
        return Err(format!(
            "drive {} has no parameter \"{name}\" (it has {})",
            spec.model,
            known.join(", ")
        ));
    }
    let capacity =
        Sectors(number("capacity_sectors", "sectors", REFERENCE_SECTORS, 8.0, 1e15)? as u64);
    Ok(match spec.model.as_str() {
        "fixed" => {
            let depth = number("depth", "commands", 1.0, 1.0, 65_536.0)? as u32;
            let service = number("service_ns", "ns", REFERENCE_SERVICE_NS, 0.0, 1e12)?;
            AnyDrive::Fixed(Fixed::new(capacity, Depth(depth), Nanos(service as u64)))
        }
        _ => {
            let base = number("base_ns", "ns", 1_000_000.0, 0.0, 1e12)?;
            let sectors_per_ns = number("sectors_per_ns", "sectors/ns", 100.0, 1.0, 1e12)?;
            AnyDrive::Linear(Linear::new(
                capacity,
                Nanos(base as u64),
                sectors_per_ns as u64,
            ))
        }
    })
}
