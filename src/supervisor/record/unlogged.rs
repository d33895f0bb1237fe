//! Lines that wait to be written into the log: the last mebibyte of them.

use std::collections::VecDeque;

/// Bytes of memory.
const UNLOGGED_MAX: usize = 1 << 20;

#[derive(Default)]
pub struct Unlogged {
    lines: VecDeque<String>,
    bytes: usize,
}

impl Unlogged {
    pub fn push(&mut self, line: String) {
        self.bytes += size(&line);
        self.lines.push_back(line);
        while UNLOGGED_MAX < self.bytes {
            self.bytes -= self.lines.pop_front().map_or(self.bytes, |line| size(&line));
        }
    }

    pub fn take(&mut self) -> VecDeque<String> {
        std::mem::take(self).lines
    }
}

fn size(line: &str) -> usize {
    line.len() + size_of::<String>()
}
