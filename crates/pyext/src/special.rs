//! Distribution functions that the judge needs, and their quantiles. The functions are those of `statrs`; a quantile is the root of one, found
//! by Newton's method within a bracket, on the logarithm of the smaller tail: its relative error is that of the function.

use pyo3::prelude::*;
use statrs::function::{beta, gamma};

/// Share below the value, share above it, and by how much the share grows per unit of the value's logarithm (or log odds).
struct Tails {
    below: f64,
    above: f64,
    density: f64,
}

const LOG_MOST: f64 = 700.0;
const STEPS_MOST: usize = 200;

/// The logarithm (or log odds) of the value that has these shares below and above it, both more than 0 and 1 together.
fn quantile(below: f64, above: f64, start: f64, tails: impl Fn(f64) -> Tails) -> f64 {
    let (mut low, mut high, mut at) = (-LOG_MOST, LOG_MOST, start);
    for _ in 0..STEPS_MOST {
        let found = tails(at);
        let (excess, slope) = if below < above {
            ((found.below / below).ln(), found.density / found.below)
        } else {
            ((above / found.above).ln(), found.density / found.above)
        };
        if excess > 0.0 {
            high = at;
        } else {
            low = at;
        }
        let newton = at - excess / slope;
        let next = if newton > low && newton < high {
            newton
        } else {
            f64::midpoint(low, high)
        };
        let is_found = (next - at).abs() <= 2.0 * f64::EPSILON * (1.0 + at.abs());
        at = next;
        if is_found {
            break;
        }
    }
    at
}

/// Share of a Poisson distribution of this mean at or below `count`.
#[pyfunction]
pub fn poisson_at_most(count: f64, mean: f64) -> f64 {
    if mean <= 0.0 {
        1.0
    } else {
        gamma::gamma_ur(count.floor() + 1.0, mean)
    }
}

/// Share of a binomial distribution at or below `count` of `trials`.
#[pyfunction]
pub fn binomial_at_most(count: f64, trials: f64, chance: f64) -> f64 {
    let count = count.floor();
    if count >= trials || chance <= 0.0 {
        1.0
    } else if chance >= 1.0 {
        0.0
    } else {
        beta::beta_reg(trials - count, count + 1.0, 1.0 - chance)
    }
}

/// The value below which lies `share` of Student's t distribution.
#[pyfunction]
pub fn t_quantile(degrees: f64, share: f64) -> f64 {
    if !(degrees > 0.0 && (0.0..=1.0).contains(&share)) {
        return f64::NAN;
    }
    let (tail, sign) = if share < 0.5 {
        (share, -1.0)
    } else {
        (1.0 - share, 1.0)
    };
    if tail == 0.0 {
        return sign * f64::INFINITY;
    }
    if tail == 0.5 {
        return 0.0;
    }
    let half = degrees / 2.0;
    let log_scale = -beta::ln_beta(half, 0.5) - 0.5 * degrees.ln();
    let log = quantile(1.0 - 2.0 * tail, 2.0 * tail, 0.0, |log| {
        let ratio = (2.0 * log - degrees.ln()).exp();
        let (near, far) = (ratio / (1.0 + ratio), 1.0 / (1.0 + ratio));
        Tails {
            below: beta::beta_reg(0.5, half, near),
            above: beta::beta_reg(half, 0.5, far),
            density: 2.0 * (log_scale - f64::midpoint(degrees, 1.0) * ratio.ln_1p() + log).exp(),
        }
    });
    sign * log.exp()
}

/// For each shape the values below which lie these shares of a gamma distribution of scale 1; `statrs` takes values below 1e-15 for 0.
#[pyfunction]
pub fn gamma_quantiles(shapes: Vec<f64>, shares: Vec<f64>) -> Vec<Vec<f64>> {
    let one = |shape: f64, share: f64| {
        if share <= 0.0 || share >= 1.0 {
            return if share <= 0.0 { 0.0 } else { f64::INFINITY };
        }
        let log_gamma = gamma::ln_gamma(shape);
        quantile(share, 1.0 - share, shape.ln(), |log| {
            let value = log.exp();
            Tails {
                below: gamma::gamma_lr(shape, value),
                above: gamma::gamma_ur(shape, value),
                density: (shape * log - value - log_gamma).exp(),
            }
        })
        .exp()
    };
    shapes
        .iter()
        .map(|&shape| shares.iter().map(|&share| one(shape, share)).collect())
        .collect()
}

/// The values below which lie these shares of a beta distribution.
#[pyfunction]
pub fn beta_quantiles(a: f64, b: f64, shares: Vec<f64>) -> Vec<f64> {
    let log_beta = beta::ln_beta(a, b);
    let one = |share: f64| {
        if share <= 0.0 || share >= 1.0 {
            return if share <= 0.0 { 0.0 } else { 1.0 };
        }
        let odds = quantile(share, 1.0 - share, (a / b).ln(), |odds| {
            let (value, rest) = (1.0 / (1.0 + (-odds).exp()), 1.0 / (1.0 + odds.exp()));
            Tails {
                below: beta::beta_reg(a, b, value),
                above: beta::beta_reg(b, a, rest),
                density: (a * value.ln() + b * rest.ln() - log_beta).exp(),
            }
        });
        1.0 / (1.0 + (-odds).exp())
    };
    shares.into_iter().map(one).collect()
}

/// Derivative of the logarithm of the gamma function.
#[pyfunction]
pub fn digamma(values: Vec<f64>) -> Vec<f64> {
    values.into_iter().map(gamma::digamma).collect()
}

/// Derivative of `digamma`, by recurrence up to 20 and the asymptotic series from there (Abramowitz and Stegun, Handbook of Mathematical
/// Functions, 1964, 6.4.6 and 6.4.12).
#[pyfunction]
pub fn trigamma(values: Vec<f64>) -> Vec<f64> {
    let one = |mut value: f64| {
        let mut sum = 0.0;
        while value < 20.0 {
            sum += 1.0 / (value * value);
            value += 1.0;
        }
        let square = 1.0 / (value * value);
        let series = 1.0 / 6.0
            - square
                * (1.0 / 30.0
                    - square * (1.0 / 42.0 - square * (1.0 / 30.0 - square * (5.0 / 66.0))));
        sum + 1.0 / value + square / 2.0 + square / value * series
    };
    values.into_iter().map(one).collect()
}
