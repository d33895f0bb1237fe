//! Computes medians and prints them.

use std::time::Duration;

/// The middle figure, or the upper of two.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The median of the quotients of two sides that took turns: a slow phase of the machine slows both.
pub fn median_ratio(ours: &[f64], theirs: &[f64]) -> f64 {
    median(ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect())
}

pub fn milliseconds(took: Duration) -> f64 {
    took.as_secs_f64() * 1e3
}

/// Says whether a required bound holds. `.ci/night` looks for MISSED in what the benchmarks print.
pub fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "MISSED" }
}
