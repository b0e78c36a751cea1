//! Which kernels can be simulated: those that were released, up to the newest whose block layer was read.

use seekwise_sched::Kernel;
use seekwise_units::Version;

/// Before it there was no block layer of this shape.
const OLDEST: Version = Version(2, 6, 0);
/// The newest kernel of which something was read that changes results (`queue/read_ahead_kb` of disks that rotate).
const NEWEST: Version = Version(6, 17, 0);
/// The last release of each series that has ended.
const LAST: [Version; 4] = [
    Version(2, 6, 39),
    Version(3, 19, 0),
    Version(4, 20, 0),
    Version(5, 19, 0),
];

/// Whether direct reads and writes of a block device that pass a scheduler are dispatched by kblockd's worker: while they are submitted one by
/// one and no plug holds them. Linux block/blk-mq.c: blk_mq_submit_bio; block/fops.c: reads from 5.16 on (__blkdev_direct_IO_async), writes
/// from 6.5 on (blkdev_write_iter); 6.10 gives each bio a plug (block/blk-core.c: __submit_bio). File systems' requests have one (iomap).
pub fn by_worker(kernel: &Kernel, scheduler: &str) -> [bool; 2] {
    let passes = scheduler != "none" && !kernel.at_least(6, 10, 0);
    [(5, 16), (6, 5)].map(|(major, minor)| passes && kernel.at_least(major, minor, 0))
}

/// The error is one sentence, with what to write instead.
pub fn is_modelled(version: Version) -> Result<(), String> {
    let Version(major, minor, _) = version;
    // A stable release of the newest has a patch number of its own.
    if version < OLDEST || (major, minor) > (NEWEST.0, NEWEST.1) {
        return Err(format!(
            "Linux {version} is not modelled: what is known ends with {NEWEST} (and begins with {OLDEST}); \
             as far as is known newer kernels are like {NEWEST}"
        ));
    }
    let last = LAST.iter().find(|last| last.0 == major);
    match last {
        Some(last) if (minor, if major == 2 { version.2 } else { 0 }) > (last.1, last.2) => Err(
            format!("there was no Linux {version}: that series ended with {last}"),
        ),
        _ => Ok(()),
    }
}
