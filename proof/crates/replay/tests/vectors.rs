//! Every recorded decision of the kernels with a single queue, held against the models.
//!
//! Prints `N of M` per scheduler and kernel (`cargo test -p seekwise-replay -- --nocapture`).

use seekwise_replay::{verify_vectors, Options, Outcome};
use std::path::PathBuf;

fn vectors(folder: &str) -> Outcome {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../tests/vectors")
        .join(folder);
    verify_vectors(&[root], &Options::default())
}

/// Holds every recorded kernel to the required share of its points and again of the contested ones.
fn hold(scheduler: &str, per_mille: u64, kernels: usize) {
    let outcome = vectors(scheduler);
    assert_eq!(
        outcome.groups.len(),
        kernels,
        "recorded kernels of {scheduler}"
    );
    for group in &outcome.groups {
        println!(
            "{scheduler} of {}: {} of {}, contested {} of {}",
            group.kernel, group.passed, group.total, group.contested.passed, group.contested.total
        );
        assert!(group.total > 1000 && group.contested.total > 1000);
        assert!(
            group.passed * 1000 >= group.total * per_mille,
            "{scheduler} of {}",
            group.kernel
        );
        let contested = group.contested;
        assert!(
            contested.passed * 1000 >= contested.total * per_mille,
            "contested: {scheduler} of {}",
            group.kernel
        );
    }
    for file in &outcome.files {
        assert_eq!(file.error, None, "{}", file.file);
    }
}

#[test]
fn noop_decides_as_the_recorded_kernels() {
    hold("noop", 1000, 4);
}

#[test]
fn deadline_decides_as_the_recorded_kernels() {
    hold("deadline", 1000, 4);
}

#[test]
fn anticipatory_decides_as_the_recorded_kernels() {
    hold("anticipatory", 998, 3);
}

#[test]
fn cfq_decides_as_the_recorded_kernels() {
    hold("cfq", 999, 4);
}

#[test]
fn a_torn_recording_counts_all_its_points_as_missed() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../tests/vectors");
    let whole =
        std::fs::read_to_string(root.join("noop/4.4.178__rand4_a__fixed1.csv")).expect("vector");
    let folder = std::env::temp_dir().join(format!("seekwise-torn-{}", std::process::id()));
    let noop = folder.join("noop");
    std::fs::create_dir_all(&noop).expect("folder");
    std::fs::create_dir_all(folder.join("requests")).expect("folder");
    for kind in ["processes", "requests"] {
        let name = format!("requests/rand4_a.{kind}.csv");
        std::fs::copy(root.join(&name), folder.join(&name)).expect("copy");
    }
    let issues = |text: &str| text.lines().filter(|line| line.contains(",issue,")).count() as u64;
    let cut = &whole[..whole.len() / 2];
    let at_row = &cut[..=cut.rfind('\n').expect("rows")];
    for (name, text) in [
        ("4.4.178__rand4_a__fixed1", at_row),
        ("4.4.178__rand4_a__fixed32", cut),
        ("unknown", &whole),
    ] {
        std::fs::write(noop.join(format!("{name}.csv")), text).expect("write");
        let outcome = verify_vectors(&[noop.join(format!("{name}.csv"))], &Options::default());
        assert_eq!(outcome.passed, 0, "{name}");
        assert_eq!(outcome.contested.passed, 0, "{name}");
        assert!(outcome.total >= issues(text), "{name}");
        assert!(outcome.files[0].error.is_some(), "{name}");
    }
    // The whole file, beside its requests/, passes anywhere.
    std::fs::write(noop.join("4.4.178__rand4_a__fixed1.csv"), &whole).expect("write");
    let outcome = verify_vectors(
        &[noop.join("4.4.178__rand4_a__fixed1.csv")],
        &Options::default(),
    );
    assert_eq!(
        (outcome.passed, outcome.total),
        (issues(&whole), issues(&whole))
    );
    assert_eq!(
        verify_vectors(&[folder.join("absent.csv")], &Options::default()).files[0].total,
        1
    );
    std::fs::remove_dir_all(&folder).expect("remove");
}
