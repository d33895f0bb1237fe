//! What can be seen of a process from outside: its terminal's mode, the program in the foreground, its children's work.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions, read, read_to_string};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::termios::{LocalModes, QueueSelector, tcflush, tcgetattr};

use crate::screen::LineMode;

/// How many children's processor times are added up: reading more would cost too much.
const CHILDREN_MAX: usize = 200;

const SHELLS: [&str; 12] = ["sh", "bash", "zsh", "fish", "dash", "ash", "ksh", "mksh", "tcsh", "csh", "nu", "xonsh"];

/// A process and its terminal.
#[derive(Clone, Debug, Default)]
pub struct Probe {
    /// `/dev/pts/3`, while it belongs to this process.
    pub terminal: Option<PathBuf>,
    pub process: Option<i32>,
    /// The command that was started, for systems that do not report what is in the foreground.
    pub command: Vec<OsString>,
}

impl Probe {
    /// The mode of the terminal; None if it cannot be read.
    pub fn mode(&self) -> Option<LineMode> {
        let modes = tcgetattr(self.open()?).ok()?.local_modes;
        Some(LineMode { echo: modes.contains(LocalModes::ECHO), canonical: modes.contains(LocalModes::ICANON) })
    }

    /// Discards what was typed and not read yet.
    pub fn discard_typed(&self) {
        if let Some(terminal) = self.open() {
            let _ = tcflush(terminal, QueueSelector::IFlush);
        }
    }

    /// Opens the terminal, for a moment only: while it is open, its end cannot be seen.
    fn open(&self) -> Option<File> {
        let flags = (OFlags::NOCTTY | OFlags::NONBLOCK).bits();
        OpenOptions::new().read(true).write(true).custom_flags(flags as i32).open(self.terminal.as_ref()?).ok()
    }

    /// The command line of the program in the foreground of the terminal.
    pub fn foreground(&self) -> Vec<OsString> {
        let found = self.process.and_then(|process| {
            let group: i32 = stat(process)?.get(5)?.parse().ok()?;
            let line = read(format!("/proc/{group}/cmdline")).ok()?;
            let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
            Some(words.map(|word| OsStr::from_bytes(word).to_owned()).collect::<Vec<_>>())
        });
        found.filter(|words| !words.is_empty()).unwrap_or_else(|| self.command.clone())
    }

    /// The processor time of all descendants so far. Its own is left out: an agent that hangs may turn a spinner.
    pub fn children_worked_for(&self) -> Duration {
        let mut ticks = 0;
        let mut found: Vec<i32> = self.process.into_iter().flat_map(children).collect();
        let mut at = 0;
        while let Some(child) = found.get(at).copied().filter(|_| at < CHILDREN_MAX) {
            ticks += stat(child).map_or(0, |fields| {
                // utime, stime, and the same of the children that it has waited for.
                fields.get(11..15).into_iter().flatten().filter_map(|field| field.parse::<u64>().ok()).sum()
            });
            found.extend(children(child));
            at += 1;
        }
        // Linux reports hundredths of a second on every platform.
        Duration::from_millis(10 * ticks)
    }
}

/// Whether a command line is a shell at its prompt, and not one that runs a script.
pub fn is_shell(words: &[OsString]) -> bool {
    let is_one = words.first().is_some_and(|word| is_shell_name(&word.to_string_lossy()));
    is_one && words.iter().skip(1).all(|word| word.as_bytes().starts_with(b"-") && word != "-c")
}

pub fn is_shell_name(command: &str) -> bool {
    // A login shell has a hyphen before its name.
    let name = Path::new(command).file_name().unwrap_or_default().to_string_lossy();
    SHELLS.contains(&name.trim_start_matches('-'))
}

/// The fields of `/proc/…/stat` from the third on; the second one, the name, may contain anything.
fn stat(process: i32) -> Option<Vec<String>> {
    let text = String::from_utf8_lossy(&read(format!("/proc/{process}/stat")).ok()?).into_owned();
    Some(text.rsplit_once(") ")?.1.split_whitespace().map(str::to_owned).collect())
}

fn children(process: i32) -> Vec<i32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<i32>>()).collect()
}
