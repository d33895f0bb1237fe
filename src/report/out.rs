//! The writer of a report, which may go away.

use std::io::{ErrorKind, Write};

/// Where the report goes. When its reader has gone (`| head -1`), or it cannot be written, the sweep goes on and
/// nothing more is printed.
pub struct Out<'a> {
    writer: &'a mut (dyn Write + Send),
    closed: bool,
    pub failure: Option<std::io::Error>,
}

impl<'a> Out<'a> {
    pub fn to(writer: &'a mut (dyn Write + Send)) -> Out<'a> {
        Out { writer, closed: false, failure: None }
    }

    pub fn print(&mut self, text: &str) {
        if self.closed {
            return;
        }
        if let Err(error) = self.writer.write_all(text.as_bytes()).and_then(|()| self.writer.flush()) {
            self.closed = true;
            self.failure = Some(error).filter(|error| error.kind() != ErrorKind::BrokenPipe);
        }
    }
}
