//! Lists the files of `models/`: a model is added by adding its file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The constant that holds a file of this name.
fn list_of(stem: &str) -> &'static str {
    match stem {
        _ if stem.starts_with("controller-") => "CONTROLLERS",
        _ if stem.starts_with("host-") => "HOSTS",
        _ => "DRIVES",
    }
}

fn main() {
    let own = std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the crate's folder");
    let folder = Path::new(&own).join("../../models");
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder models/")
        .map(|entry| entry.expect("a file of models/").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .collect();
    files.sort();
    let mut code = String::new();
    for (list, what) in [
        ("DRIVES", "Drives"),
        ("CONTROLLERS", "Controllers (`controller-*.toml`)"),
        ("HOSTS", "Hosts (`host-*.toml`)"),
    ] {
        let _ = writeln!(
            code,
            "/// {what}, as (name of the file, text), in order of the names."
        );
        let _ = writeln!(code, "pub const {list}: &[(&str, &str)] = &[");
        for path in &files {
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            let stem = stem.expect("a file name of plain letters");
            if list_of(stem) == list {
                println!("cargo:rerun-if-changed={}", path.display());
                let _ = writeln!(code, "    ({stem:?}, include_str!({path:?})),");
            }
        }
        code.push_str("];\n");
    }
    let out = std::env::var("OUT_DIR").expect("cargo names a folder for generated code");
    std::fs::write(Path::new(&out).join("models.rs"), code).expect("a writable folder");
}
