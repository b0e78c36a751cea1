//! Numbers that a spec may have.

/// Refuses a value outside `min` to `max`, and NaN. The error is a sentence with `name` and `unit`.
pub fn check(name: &str, value: f64, unit: &str, min: f64, max: f64) -> Result<(), String> {
    // Written so that NaN fails too.
    if value >= min && value <= max {
        Ok(())
    } else {
        Err(format!(
            "{name} is {value} {unit}, outside {min} to {max} {unit}"
        ))
    }
}

/// [`check`] for each row.
pub fn check_each(rows: &[(&str, f64, &str, f64, f64)]) -> Result<(), String> {
    rows.iter()
        .try_for_each(|&(name, value, unit, min, max)| check(name, value, unit, min, max))
}
