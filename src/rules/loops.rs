//! Stub, replaced at merge.
use std::fmt::{Display, Formatter, Result};
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    pub period: usize,
    pub times: usize,
    pub lines: Vec<String>,
}
impl Display for Loop {
    fn fmt(&self, f: &mut Formatter) -> Result {
        write!(f, "{} lines, {} times", self.period, self.times)
    }
}
pub fn detect_loop(lines: &[impl AsRef<str>]) -> Option<Loop> {
    let last = lines.last()?.as_ref();
    (6 <= lines.len() && lines.iter().rev().take(6).all(|line| line.as_ref() == last)).then(|| Loop {
        period: 1,
        times: 6,
        lines: vec![last.to_owned()],
    })
}
