//! What the benchmarks' cases measure.

use seekwise_validate::bench::{alone, run, ARTICLE};

#[test]
fn a_case_over_an_array_counts_its_drives_commands_and_measures_one_of_them_alone() {
    let row = run("raid5-write", 2_000, 1).unwrap();
    let members = row.members.unwrap();
    // A small write is two reads and two writes of members; some find what they need in the stripe cache.
    assert!(members.commands > 3 * row.ios, "{members:?}");
    // As many for each of its threads.
    assert!(
        (row.ios..row.ios + 64).contains(&members.alone_ios),
        "{members:?}"
    );
    assert!(members.ratio(row.cpu_seconds) > 0.0);
    assert!(run("hdd-noop", 100, 1).unwrap().members.is_none());
}

#[test]
fn a_drive_alone_has_the_load_of_a_member() {
    let job = |name| {
        let trial = alone(name, 100_000, 1).unwrap();
        let job = &trial["phases"][0]["jobs"][0];
        let number = |key: &str| job[key].as_f64().unwrap();
        (number("threads"), number("read_percent"))
    };
    assert_eq!(job("raid5-read"), (8.0, 100.0));
    // Each of a drive's eight threads has two requests under way, reads and then writes, until the first of the two is done.
    let (threads, read) = job("raid5-write");
    assert!(
        (9.0..=15.0).contains(&threads) && (49.0..=51.0).contains(&read),
        "{threads} {read}"
    );
    // Seven reads, and three writes of two reads and two writes each.
    let (threads, read) = job("raid5-mixed");
    assert!(
        (8.0..=13.0).contains(&threads) && (67.0..=70.0).contains(&read),
        "{threads} {read}"
    );
}

#[test]
fn the_article_is_whole_runs_of_both_systems() {
    // Systems, threads, phases of each kind; pages of a quarter of three times 256 MiB, and tiotest's random calls.
    let calls = 2 * 4 * 2 * (3 * (256 << 20) / 4 / 4096 + 1000);
    assert_eq!(run(ARTICLE, 1, 7).map(|row| row.ios), Ok(calls));
}
