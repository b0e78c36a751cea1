//! This test will simulate the recorded whole-machine rates: kernels 2.6.24, 2.6.32 and 4.4 over the exact disk.

use crate::recorded;
use seekwise_validate::rates;

/// Rows and pairs are those of `docs/figures.json`: a change up or down fails until `make figures` has printed it.
#[track_caller]
fn the_printed_score_holds(table: &str) {
    let outcome = recorded::rows(table, "");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/figures.json");
    let text = std::fs::read_to_string(path).expect("the stored figures");
    let stored: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let files = stored["machine"]["files"].as_array().expect("files");
    let printed = files
        .iter()
        .find(|file| file["file"] == table)
        .expect("the table's figures");
    let count = |value: &serde_json::Value| (value["passed"].as_u64(), value["total"].as_u64());
    assert_eq!(
        (Some(outcome.passed), Some(outcome.total)),
        count(printed),
        "{:#?}",
        outcome.misses
    );
    assert_eq!(
        (Some(outcome.pairs_passed), Some(outcome.pairs_total)),
        count(&printed["pairs"]),
        "{:#?}",
        outcome.misses
    );
}

#[test]
fn machines_at_1000_hz_have_their_recorded_rates() {
    the_printed_score_holds("legacy.csv");
}

#[test]
fn machines_at_250_hz_have_their_recorded_rates() {
    the_printed_score_holds("legacy-hz250.csv");
}

#[test]
fn a_row_that_is_not_modelled_is_missed_and_named() {
    let header =
        "kernel,target,array,queue_depth,drive,phase,scheduler,processes,mb_per_s,ms_per_op";
    let outcome = rates::verify(
        &format!("{header}\n4.4.178,moon,single,1,satf,seqread,noop,1,100.0,\nnonsense"),
        1,
    )
    .unwrap();
    assert_eq!((outcome.passed, outcome.total), (0, 2));
    assert!(outcome.misses[0].contains("moon is not modelled"));
    assert!(rates::verify("something else", 1).is_err());
}
