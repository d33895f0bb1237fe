//! Marks for what is taken out of a line. Visible text has none, so that a `#` in it is not taken for a counter.

pub const COUNTER: char = '\u{1}';
pub const CHANGING: char = '\u{2}';
