//! How near whole runs are to chance: each file on many images of its kernel, whose calls take up to 0.4 us more or less each.
//! `cargo run --release -p seekwise-validate --features examples --example whole_images -- IMAGES RECORDING…`

use seekwise_validate::whole::compare::images;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let count: u64 = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .expect("how many images");
    for path in arguments {
        let verdicts = images(path.as_ref(), count).expect("runs");
        let within = verdicts.iter().filter(|v| v.ends_within).count();
        let ordered = verdicts.iter().filter(|v| v.order_same).count();
        let mut worst: Vec<f64> = verdicts
            .iter()
            .filter_map(|v| {
                v.worst_end
                    .map(|(_, model, recorded)| 100.0 * (model as f64 / recorded as f64 - 1.0))
            })
            .collect();
        worst.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
        println!(
            "{path}: ends within 5 % in {within} of {count}, order as recorded in {ordered}; worst end {:+.1} % (median), {:+.1} % (largest)",
            worst[worst.len() / 2],
            worst[worst.len() - 1]
        );
    }
}
