//! Medians, and how they are printed.

use std::time::Duration;

/// The middle one; of an even number the upper of the two.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The median of the quotients of two sides that took turns: what slows the machine for a while slows both.
pub fn median_ratio(ours: &[f64], theirs: &[f64]) -> f64 {
    median(ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect())
}

pub fn milliseconds(took: Duration) -> f64 {
    took.as_secs_f64() * 1e3
}

/// Whether a required bound holds, in words. `.ci/night` looks for MISSED in what the benchmarks print.
pub fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "MISSED" }
}
