//! md over members that are ready, in the state that an array's spec says.

use crate::cost::MdCosts;
use crate::spec::array::ArraySpec;
use crate::storage::attached::AttachedDrive;
use crate::storage::md::Md;
use seekwise_device::Device;
use seekwise_host::block::BlockQueue;
use seekwise_raid::md::raid5::{Raid5, Raid5Config, RmwLevel};
use seekwise_raid::md::volume::Volume;
use seekwise_raid::md::MdGeneration;
use seekwise_raid::{Geometry, Level};
use seekwise_sched::Kernel;
use seekwise_units::{Lba, Sectors};

/// md over members that are ready.
pub fn md<Q: BlockQueue, D: Device>(
    spec: &ArraySpec,
    geometry: &Geometry,
    kernel: Kernel,
    rotational: bool,
    member_sectors_max: Sectors,
    members: Vec<(Q, AttachedDrive<D>)>,
    costs: MdCosts,
) -> Result<Md<Q, D>, String> {
    let generation = MdGeneration::of(kernel.version);
    let volume = Volume::md(*geometry, generation, rotational);
    let parity = stripe_cache(spec, &volume, generation, member_sectors_max);
    // mdadm makes a RAID 5 without its last drive and rebuilds that from the others (man mdadm: --force), so a first build is a degraded array.
    let builds = spec.resync.as_ref().is_some_and(|resync| !resync.check);
    let first_build = builds && matches!(geometry.level, Level::Raid5(_));
    let missing = match spec.missing.as_slice() {
        [] if first_build => vec![geometry.members - 1],
        missing => missing.to_vec(),
    };
    let mut md = Md::new(
        members,
        volume,
        parity,
        (kernel.version, kernel.hz),
        &missing,
        costs,
    );
    if let Some(chunk) = spec.bitmap_chunk(geometry, kernel.version)? {
        // Format 0.90 has it behind the data, 1.2 before them: the first sectors, since where data begin is not modelled.
        let at = if generation < MdGeneration::Linux4_4 {
            Lba(geometry.member.0.saturating_sub(128))
        } else {
            Lba(0)
        };
        md.set_bitmap(chunk, at, spec.is_lockless());
    }
    if let Some(resync) = &spec.resync {
        md.start_resync(resync.speed(), resync.check, spec.stripe_cache_size());
    }
    Ok(md)
}

/// The stripe cache of RAID 5 and 6.
fn stripe_cache(
    spec: &ArraySpec,
    volume: &Volume,
    generation: MdGeneration,
    member_sectors_max: Sectors,
) -> Option<Box<Raid5>> {
    let config = Raid5Config {
        generation,
        parity: volume.parity()?,
        stripe_cache_size: spec.stripe_cache_size(),
        rmw_level: match spec.rmw_level {
            Some(0) => RmwLevel::Disabled,
            Some(2) => RmwLevel::Preferred,
            _ => RmwLevel::Enabled,
        },
        member_sectors_max,
        in_sync_until: Lba(u64::MAX),
    };
    Some(Box::new(Raid5::new(config)))
}
