//! Versions of Linux.

use core::fmt;

/// A kernel's version as far as it decides what it does: 2.6.32, 4.4, 6.1 (the patch of a stable series does not).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u16, pub u16, pub u16);

impl Version {
    /// Reads `2.6.32`, `2.6.32.69`, `4.4.178`, `6.1`, and any of them with a suffix (`-hz250`, `+deb13`). The error is one sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("\"{text}\" is not a kernel version such as 2.6.32, 4.4.178 or 2.6.24-hz250")
        };
        let number = text.split(['-', '+']).next().unwrap_or_default();
        let mut parts = [0u16; 3];
        let mut count = 0;
        for part in number.split('.') {
            // The fourth number of 2.6.32.69 is the stable release: no generation depends on it.
            let value: u16 = part.parse().map_err(|_| wrong())?;
            if count < 3 {
                parts[count] = value;
            }
            count += 1;
        }
        if !(2..=4).contains(&count) {
            return Err(wrong());
        }
        Ok(Self(parts[0], parts[1], parts[2]))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.2) {
            (2, patch) => write!(f, "2.{}.{patch}", self.1),
            _ => write!(f, "{}.{}", self.0, self.1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_and_without_a_suffix_are_read() {
        for (text, version) in [
            ("2.6.24-hz250", Version(2, 6, 24)),
            ("2.6.32.69", Version(2, 6, 32)),
            ("6.1", Version(6, 1, 0)),
            ("6.12.107+deb13", Version(6, 12, 107)),
        ] {
            assert_eq!(Version::parse(text), Ok(version));
        }
        for wrong in ["", "x", "6", "6.x", "unknown", "1.2.3.4.5", "6.1.70000"] {
            assert!(Version::parse(wrong).is_err(), "{wrong}");
        }
    }
}
