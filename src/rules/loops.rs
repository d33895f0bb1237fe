//! Is an agent going round in circles? Its output tells.
//!
//! A session loops if and only if the last lines of its output say, over and over, one thing (six times), two things in
//! turn (four times) or three things in turn (four times), and no counter in them gets anywhere.
//!
//! *Lines* are those that say something (`line`): what is empty, spins or draws a bar is none, and what only moves a
//! counter in the line before it is the same line, drawn again. *Say* leaves out what changes by itself (`scan`): when
//! it was said, how long it took, how fast it went, which attempt it was. *Last* means up to the very end: who looped
//! and went on to something else is not looping. *Get anywhere* means: a counter (`12/300`, `45%`, `3.4 MB`) is further
//! than ever before in the window, or falls every time. What starts again and again and never gets further has got nowhere.
//!
//! It is not responsible for judging whether a session is at work: `watch -n 1 date` loops, too.

mod essence;
mod line;
mod scan;
mod terminal;

pub use essence::Essence;
use line::Line;

/// So many lines that say something are looked at.
pub const WINDOW: usize = 20;

/// So many lines are searched for them, that a screen full of spinners costs little.
const SEARCHED_MAX: usize = 100;

/// So many lines in turn, and how often they must have been said.
const REPETITIONS: [(usize, usize); 3] = [(1, 6), (2, 4), (3, 4)];

/// Lines that a session repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// One to three lines, as they were last seen: without colours, and cut when they are long.
    pub lines: Vec<String>,
    /// How often, within the window.
    pub times: usize,
}

impl Loop {
    /// So many lines in turn: 1, 2 or 3.
    pub fn period(&self) -> usize {
        self.lines.len()
    }
}

/// The loop in which this output ends. It needs the last `WINDOW` lines, and more where they may be spinners.
pub fn detect_loop(lines: &[impl AsRef<str>]) -> Option<Loop> {
    let window = window(lines);
    REPETITIONS.iter().find_map(|&(period, times_min)| repetition(&window, period, times_min))
}

/// The last lines that say something, and between them those that count something, oldest first.
fn window(lines: &[impl AsRef<str>]) -> Vec<Line> {
    let mut said = 0;
    // Twice as many, since some of them may turn out to be animations.
    let enough = |line: &Line| {
        said += usize::from(line.says_something);
        said <= 2 * WINDOW
    };
    let read = lines.iter().rev().take(SEARCHED_MAX).filter_map(|line| Line::read(line.as_ref()));
    let mut window: Vec<Line> = read.take_while(enough).collect();
    window.reverse();
    line::still_animations(&mut window);
    line::keep_last_drawings(&mut window);
    let said: Vec<usize> = (0..window.len()).filter(|&at| window[at].says_something).collect();
    window.split_off(said.len().checked_sub(WINDOW).map_or(0, |began| said[began]))
}

fn repetition(window: &[Line], period: usize, times_min: usize) -> Option<Loop> {
    let said: Vec<usize> = (0..window.len()).filter(|&at| window[at].says_something).collect();
    let line = |at: usize| &window[said[at]];
    let repeated = (period..said.len()).rev().take_while(|&at| line(at).says_the_same_as(line(at - period))).count();
    let times = repeated / period + 1;
    if said.len() < period || times < times_min {
        return None;
    }
    let began = said[said.len() - period * times_min];
    if advances(window, began) {
        return None;
    }
    let lines = said[said.len() - period..].iter().map(|&at| window[at].seen.clone()).collect();
    Some(Loop { lines, times })
}

/// Does a counter get somewhere, from this line on?
fn advances(window: &[Line], began: usize) -> bool {
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

#[cfg(test)]
mod tests;
