//! Recordings that no kernel made: rows lost, doubled, exchanged and changed. Each is replayed or refused with a sentence; none
//! breaks a model.

use seekwise_replay::{verify_vectors, Options};
use std::path::{Path, PathBuf};

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

fn mangle(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..1 + random.below(4) {
        let at = 1 + random.below(lines.len() - 2);
        match random.below(6) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => lines.swap(at, at + 1),
            3 => lines.truncate(at + 2),
            // Another event, another size: all of it reads well and makes no sense.
            4 => {
                let events = [
                    "insert",
                    "issue",
                    "start",
                    "complete",
                    "backmerge",
                    "frontmerge",
                ];
                let mut fields: Vec<_> = lines[at].split(',').collect();
                fields[1] = events[random.below(events.len())];
                lines[at] = fields.join(",");
            }
            _ => {
                let mut fields: Vec<_> = lines[at].split(',').map(str::to_owned).collect();
                fields[3 + random.below(2)] =
                    ["0", "8", "16", "1024", "18446744073709551615", "-1"][random.below(6)]
                        .to_owned();
                lines[at] = fields.join(",");
            }
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn a_mangled_recording_breaks_no_model() {
    let vectors = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../tests/vectors");
    let folder = std::env::temp_dir().join(format!("seekwise-mangled-{}", std::process::id()));
    let requests = folder.join("requests");
    std::fs::create_dir_all(&requests).expect("folder");
    let files = [
        "noop/4.4.178__merge_a__fixed1",
        "deadline/2.6.32.69__merge_a__fixed32",
        "deadline/4.4.178__wstarve_a__nullblk32rot0",
        "anticipatory/2.6.24-hz250__shortlived_a__fixed1",
        "anticipatory/2.6.32.69__burst_rw_a__fixed32",
        "cfq/2.6.24-hz250__prio_idle_a__fixed1",
        "cfq/2.6.32.69__coop_a__fixed32",
        "cfq/2.6.32.69__merge_a__fixed1",
        "cfq/4.4.178__coop_a__fixed1",
        "cfq/4.4.178__syncw_a__fixed32",
        "cfq/4.4.178__burst_rw_a__nullblk1rot0",
    ];
    let mut random = Random(1);
    let (mut refused, mut replayed) = (0, 0);
    for file in files {
        let text = std::fs::read_to_string(vectors.join(format!("{file}.csv"))).expect("vector");
        let (scheduler, name) = file.split_once('/').expect("a folder");
        let workload = name.split("__").nth(1).expect("a workload");
        for kind in ["processes", "requests"] {
            let table = format!("{workload}.{kind}.csv");
            std::fs::copy(vectors.join("requests").join(&table), requests.join(&table))
                .expect("copy");
        }
        let path: &Path = &folder.join(scheduler).join(format!("{name}.csv"));
        std::fs::create_dir_all(path.parent().expect("folder")).expect("folder");
        for round in 0..40 {
            let mangled = mangle(&text, &mut random);
            std::fs::write(path, &mangled).expect("write");
            let outcome = verify_vectors(&[path.to_owned()], &Options::default());
            match &outcome.files[0].error {
                Some(error) => {
                    refused += 1;
                    assert!(
                        !error.contains("broke down"),
                        "{file}, round {round}: {error}"
                    );
                    assert_eq!(outcome.passed, 0);
                }
                None => replayed += 1,
            }
            assert!(outcome.passed <= outcome.total && outcome.total > 0);
        }
    }
    std::fs::remove_dir_all(&folder).expect("remove");
    println!("{refused} refused, {replayed} replayed");
    assert!(refused > 100 && replayed > 10);
}
