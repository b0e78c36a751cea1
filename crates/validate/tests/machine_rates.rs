//! This test will simulate the recorded whole-machine rates of raw devices: kernels 2.6.24, 2.6.32 and 4.4 over the exact disk.

use crate::recorded;
use seekwise_validate::rates::{self, TableOutcome};

fn hold(outcome: &TableOutcome) {
    println!(
        "{} of {} rows, {} of {} pairs, median {:?}",
        outcome.passed,
        outcome.total,
        outcome.pairs_passed,
        outcome.pairs_total,
        outcome.median_error
    );
    assert!(outcome.total >= 250);
    assert!(
        outcome.passed * 10 >= outcome.total * 9,
        "{:#?}",
        outcome.misses
    );
    assert!(
        outcome.pairs_passed * 20 >= outcome.pairs_total * 19,
        "{:#?}",
        outcome.misses
    );
    assert!(outcome.median_error.expect("rows") <= 0.05);
}

#[test]
fn raw_devices_at_1000_hz_have_their_recorded_rates() {
    hold(&recorded::rows("legacy.csv", ",raw device,"));
}

#[test]
fn raw_devices_at_250_hz_have_their_recorded_rates() {
    hold(&recorded::rows("legacy-hz250.csv", ",raw device,"));
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
