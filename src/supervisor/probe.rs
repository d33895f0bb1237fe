//! What can be seen of a process from outside: its terminal's mode, the program in the foreground, its children.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::io::ioctl_fionread;
use rustix::termios::{LocalModes, QueueSelector, tcflush, tcgetattr};

use super::{Process, is_shell, reads_alone, terminals_from};
use crate::screen::LineMode;

/// A process and its terminal.
#[derive(Clone, Debug, Default)]
pub struct TerminalProbe {
    /// `/dev/pts/3`, while it belongs to this process.
    pub terminal: Option<PathBuf>,
    pub process: Option<i32>,
    /// The command that was started, for systems that do not report what is in the foreground.
    pub command: Vec<OsString>,
}

impl TerminalProbe {
    /// The mode of the terminal that the program on the screen reads; None if it cannot be read.
    pub fn mode(&self) -> Option<LineMode> {
        mode_of(self.terminals().last()?)
    }

    /// Whether something was typed that was not read yet.
    pub fn has_unread(&self) -> bool {
        self.terminals().iter().filter_map(open).any(|terminal| ioctl_fionread(terminal).is_ok_and(|bytes| 0 < bytes))
    }

    /// Discards what was typed and not read yet.
    pub fn discard_unread(&self) {
        for terminal in self.terminals().iter().filter_map(open) {
            let _ = tcflush(terminal, QueueSelector::IFlush);
        }
    }

    /// The terminal, and behind it those that launchers such as `script` have opened for the program on the screen.
    fn terminals(&self) -> Vec<PathBuf> {
        let Some(terminal) = &self.terminal else { return Vec::new() };
        let behind = self.process.zip(self.on_screen());
        behind.map_or_else(|| vec![terminal.clone()], |(started, it)| terminals_from(terminal, &it, started))
    }

    /// The command line of the program that has the screen.
    pub fn foreground(&self) -> Vec<OsString> {
        let found = self.on_screen().map(|process| process.words);
        found.filter(|words| !words.is_empty()).unwrap_or_else(|| self.command.clone())
    }

    /// Whether the program that has the screen may be a shell at its prompt.
    pub fn is_shell(&self) -> bool {
        self.on_screen().map_or_else(|| is_shell(&self.command), |process| process.is_shell())
    }

    /// Whether the program that has the screen is the one that the operator started, not what that has started itself.
    pub fn shows_what_was_started(&self) -> bool {
        self.process.zip(self.on_screen()).is_none_or(|(started, process)| process.is_what_runs_in(started))
    }

    /// The processor time of all that this program has started so far.
    pub fn children_worked_for(&self) -> Duration {
        self.on_screen().map(|process| process.children_worked_for()).unwrap_or_default()
    }

    /// Whether no process but this program could read its keys.
    pub fn reads_alone(&self) -> bool {
        let shown = self.process.zip(self.on_screen());
        // A terminal that edits or shows lines is read by what asks there itself; the others pass keys on as they are.
        let passes_on = |terminal: &PathBuf| mode_of(terminal).is_some_and(|mode| !mode.canonical && !mode.echo);
        let passes_keys_on = || self.terminals().split_last().is_none_or(|(_, before)| before.iter().all(passes_on));
        shown.is_none_or(|(started, process)| reads_alone(&process, started)) && passes_keys_on()
    }

    fn on_screen(&self) -> Option<Process> {
        self.process.and_then(Process::on_screen)
    }
}

fn mode_of(terminal: &PathBuf) -> Option<LineMode> {
    let modes = tcgetattr(open(terminal)?).ok()?.local_modes;
    Some(LineMode { echo: modes.contains(LocalModes::ECHO), canonical: modes.contains(LocalModes::ICANON) })
}

/// Opens a terminal, for a moment only: while it is open, its end cannot be seen.
fn open(terminal: &PathBuf) -> Option<File> {
    let flags = (OFlags::NOCTTY | OFlags::NONBLOCK).bits();
    OpenOptions::new().read(true).write(true).custom_flags(flags as i32).open(terminal).ok()
}

#[cfg(test)]
pub mod tests;
