//! The texts of the models that come with the program: every `*.toml` of the folder `models/`, by what it describes.
//!
//! What is in them is the business of the crates that read them: `device` (drives), `controller`, `sim` (hosts).

include!(concat!(env!("OUT_DIR"), "/models.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_in_one_list_and_says_who_it_is() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models");
        let there = std::fs::read_dir(folder)
            .unwrap()
            .filter(|entry| {
                entry
                    .as_ref()
                    .unwrap()
                    .path()
                    .extension()
                    .is_some_and(|of| of == "toml")
            })
            .count();
        let all: Vec<_> = [DRIVES, CONTROLLERS, HOSTS].concat();
        assert_eq!(all.len(), there);
        for (file, text) in all {
            assert!(
                text.contains("\nid = \"") || text.starts_with("id = \""),
                "{file}"
            );
        }
    }
}
