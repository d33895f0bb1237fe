//! Lines that wait to be written into the log: the last mebibyte of them.

use std::collections::VecDeque;

/// The size of the buffer in bytes.
const BUFFER_MAX: usize = 1 << 20;

#[derive(Default)]
pub struct LogBuffer {
    lines: VecDeque<String>,
    bytes: usize,
}

impl LogBuffer {
    /// Adds a line; the oldest lines are dropped when the buffer is full.
    pub fn push(&mut self, line: String) {
        self.bytes += size(&line);
        self.lines.push_back(line);
        while BUFFER_MAX < self.bytes {
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
