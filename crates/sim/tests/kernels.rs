//! Which kernels a trial may name.

use seekwise_sim::spec::kernel::is_modelled;
use seekwise_units::Version;

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
