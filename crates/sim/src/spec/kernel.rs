//! Which kernels can be simulated: those that were released, up to the newest whose block layer was read.

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
