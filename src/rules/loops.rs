//! Detects from an agent's output that it goes round in circles.
//!
//! A session loops if and only if no counter advances in the last lines of its output, and these are
//! - one to eight lines in turn, and nothing else: one line six times, two or three four times, more three times; or
//! - the same once more often, with an *odd line* in some turns or in each (`turns`).
//!
//! *Lines* are those with words (`line`): empty lines, spinners and bars are ignored, and a line that differs from the
//! one before only by a higher counter is the same line, drawn again. Lines *repeat* when they are equal without what
//! changes by itself (`scan`): times, durations, rates, the numbers of attempts. The *last* lines reach to the very
//! end: a session that looped and went on to something else is not looping. A counter (`12/300`, `45%`, `3.4 MB`)
//! *advances* when it is higher than ever before in the window, or falls every time. One that starts again and again
//! and never gets further does not.
//!
//! Whether a session is at work is not judged here: `watch -n 1 date` loops as well.

mod line;
mod scan;
mod turns;

pub use line::{Essence, without_middle};
pub use turns::Loop;
use turns::{Window, kinds};

/// The loop in which this output ends. It needs the last 40 lines, and more if spinners are among them.
pub fn detect_loop(lines: &[impl AsRef<str>]) -> Option<Loop> {
    let window = Window::parse(lines);
    kinds().find_map(|kind| kind.find_in(&window))
}

#[cfg(test)]
mod tests;
