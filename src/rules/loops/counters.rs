//! Do counters get anywhere?

use super::line::Line;

/// Does a counter get somewhere, from this line on?
pub fn advance(window: &[Line], began: usize) -> bool {
    (began..window.len()).any(|at| {
        let line = &window[at];
        let same: Vec<&Line> = window[..=at].iter().filter(|earlier| earlier.words == line.words).collect();
        let is_last = window[at + 1..].iter().all(|later| later.words != line.words);
        (0..line.counters.len()).any(|which| {
            let counts: Vec<f64> = same.iter().map(|line| line.counters[which]).collect();
            is_further_than_ever(&counts) || (is_last && falls_every_time(&counts))
        })
    })
}

fn is_further_than_ever(counts: &[f64]) -> bool {
    counts.split_last().is_some_and(|(last, earlier)| !earlier.is_empty() && earlier.iter().all(|before| before < last))
}

/// Twice could be chance: of two downloads that break off, one does so sooner.
fn falls_every_time(counts: &[f64]) -> bool {
    counts.len() > 2 && counts.windows(2).all(|pair| pair[1] < pair[0])
}
