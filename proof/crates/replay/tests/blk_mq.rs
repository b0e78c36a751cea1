//! Every recorded decision of the kernels with blk-mq, held against the models.
//!
//! Prints `N of M` per scheduler and kernel (`cargo test -p seekwise-replay --test it blk_mq -- --nocapture`).

use seekwise_replay::{verify_vectors, Options};
use std::path::PathBuf;

const KERNELS: [&str; 3] = ["5.10", "6.1", "6.12"];

/// Holds every recorded kernel to the required share of its points and again of the contested ones.
fn hold(folders: &[&str], scheduler: &str, per_mille: u64) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../tests/vectors");
    let places = [
        "",
        "other-kernels/5.10",
        "other-kernels/6.12",
        "6.1-second-sample",
    ];
    let mut paths = Vec::new();
    for place in places {
        let found = folders.iter().map(|folder| root.join(place).join(folder));
        paths.extend(found.filter(|path| path.is_dir()));
    }
    let outcome = verify_vectors(&paths, &Options::default());
    for file in &outcome.files {
        assert_eq!(file.error, None, "{}", file.file);
    }
    let kernels: Vec<_> = outcome
        .groups
        .iter()
        .map(|group| group.kernel.as_str())
        .collect();
    assert_eq!(kernels, KERNELS, "recorded kernels of {scheduler}");
    for group in &outcome.groups {
        let contested = group.contested;
        println!(
            "{scheduler} of {}: {} of {}, contested {} of {}",
            group.kernel, group.passed, group.total, contested.passed, contested.total
        );
        assert_eq!(group.scheduler, scheduler);
        assert!(group.total > 1000 && contested.total > 1000);
        assert!(
            group.passed * 1000 >= group.total * per_mille,
            "{scheduler} of {}",
            group.kernel
        );
        assert!(
            contested.passed * 1000 >= contested.total * per_mille,
            "contested: {scheduler} of {}",
            group.kernel
        );
    }
}

#[test]
fn mq_deadline_decides_as_the_recorded_kernels() {
    hold(&["mq-deadline", "mq-deadline-qd16"], "mq-deadline", 1000);
}

#[test]
fn kyber_decides_as_the_recorded_kernels() {
    hold(&["kyber", "kyber-qd16"], "kyber", 1000);
}

#[test]
fn bfq_decides_as_the_recorded_kernels() {
    hold(&["bfq", "bfq-lowlat0", "bfq-qd16"], "bfq", 995);
}

/// Kinds of loads that the published lists do not contain: many processes, bursts, merges, think times, priorities.
#[test]
fn bfq_decides_as_the_recorded_kernels_on_other_kinds_of_lists() {
    hold(&["bfq-kinds"], "bfq", 997);
}
