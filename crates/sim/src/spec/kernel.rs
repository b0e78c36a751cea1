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
pub(crate) fn is_modelled(version: Version) -> Result<(), String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_kernels_are_taken_and_others_named() {
        for known in [
            "2.6.18", "2.6.39", "3.10.0", "4.20.17", "5.19", "6.1.192", "6.17.8",
        ] {
            assert_eq!(
                is_modelled(Version::parse(known).unwrap()),
                Ok(()),
                "{known}"
            );
        }
        for (wrong, says) in [
            (
                "9.9",
                "Linux 9.9 is not modelled: what is known ends with 6.17",
            ),
            ("6.18", "are like 6.17"),
            ("2.4.20", "begins with 2.6.0"),
            (
                "2.6.40",
                "there was no Linux 2.6.40: that series ended with 2.6.39",
            ),
            ("2.7", "ended with 2.6.39"),
            ("3.50", "ended with 3.19"),
            ("4.21", "ended with 4.20"),
        ] {
            let said = is_modelled(Version::parse(wrong).unwrap()).unwrap_err();
            assert!(said.contains(says), "{wrong}: {said}");
        }
    }
}
