//! Is an agent going round in circles? Its output tells.
//!
//! A session loops if and only if the last lines of its output say the same things in turn, over and over, and no counter
//! in them gets anywhere. That is
//! - one to eight lines in turn, and nothing else: one line six times, two or three lines four times, more three times; or
//! - the same once more often, with an *odd line* in some turns or in each (`turns`).
//!
//! *Lines* are those that say something (`line`): what is empty, spins or draws a bar is none, and what only moves a
//! counter in the line before it is the same line, drawn again. *Say* leaves out what changes by itself (`scan`): when
//! it was said, how long it took, how fast it went, which attempt it was. *Last* means up to the very end: who looped
//! and went on to something else is not looping. *Get anywhere* means: a counter (`12/300`, `45%`, `3.4 MB`) is further
//! than ever before in the window, or falls every time. What starts again and again and never gets further has got nowhere.
//!
//! It is not responsible for judging whether a session is at work: `watch -n 1 date` loops, too.

mod counters;
mod essence;
mod line;
mod scan;
mod terminal;
mod turns;
mod window;

pub use essence::Essence;
use turns::kinds;
use window::Window;

/// Lines that a session repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// One to eight lines, as they were last seen: without colours, and cut when they are long. Odd lines are none of them.
    pub lines: Vec<String>,
    /// How often, within the window.
    pub times: usize,
}

impl Loop {
    /// So many lines in turn.
    pub fn period(&self) -> usize {
        self.lines.len()
    }
}

/// The loop in which this output ends. It needs the last 40 lines, and more where they may be spinners.
pub fn detect_loop(lines: &[impl AsRef<str>]) -> Option<Loop> {
    let window = Window::read(lines);
    kinds().find_map(|kind| kind.find_in(&window))
}

#[cfg(test)]
mod tests;
