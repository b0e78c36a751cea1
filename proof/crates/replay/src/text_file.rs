//! Texts of recordings.

use std::path::Path;

/// A file's text. Spreadsheets and editors of other systems put a byte order mark first: it is left out.
///
/// # Errors
/// What the system says, and `InvalidData` for what is no UTF-8.
pub fn read(path: &Path) -> std::io::Result<String> {
    let mut text = std::fs::read_to_string(path)?;
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(text)
}
