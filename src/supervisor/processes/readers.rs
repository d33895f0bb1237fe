//! Who could read the keys that are meant for an agent.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{canonicalize, metadata, read, read_dir, symlink_metadata};
use std::iter::successors;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use rustix::fs::{major, minor};

use super::{Process, is_one_of, words};
use crate::screen::Agents;

/// A launcher that also starts a daemon, which does not read what the launcher lets it inherit.
const STARTS_A_DAEMON: [&str; 1] = ["dbus-run-session"];

impl Process {
    /// Whether no process but this one, and the parts of the same agent, could read its keys. What it has started could
    /// if it has a terminal to read, or one of its own, to which this program passes keys on. Any other process in the
    /// foreground of its terminal may have been started by what has ended since, unless it is the daemon of what has
    /// started this program; in the background it is stopped when it reads.
    pub fn reads_alone(&self) -> bool {
        let all: HashMap<i32, Process> = Process::all().map(|process| (process.id, process)).collect();
        let is_below = |process: &Process, above: i32| {
            successors(all.get(&process.parent), |parent| all.get(&parent.parent)).any(|parent| parent.id == above)
        };
        let has_own = |process: &Process| ![self.terminal, 0].contains(&process.terminal) && process.is_alive();
        let is_daemon =
            |process: &Process| is_below(self, process.parent) && is_one_of(&words(process.parent), &STARTS_A_DAEMON);
        let is_beside = |process: &Process| {
            let is_in_foreground = process.terminal == self.terminal && process.group == process.foreground;
            is_in_foreground && process.id != self.id && !is_below(self, process.id) && !is_daemon(process)
        };
        let reads = |process: &&Process| match is_below(process, self.id) {
            true => has_own(process) || process.has_terminal_to_read(),
            false => is_beside(process) && process.has_terminal_to_read(),
        };
        all.values().filter(reads).all(|process| process.is_part_of(self))
    }

    /// A process that has ended, but was not waited for yet, has no command line.
    fn is_alive(&self) -> bool {
        read(format!("/proc/{}/cmdline", self.id)).is_ok_and(|line| !line.is_empty())
    }

    /// Whether a terminal is open to it for reading, whatever it was opened for: pagers read keys from their stderr.
    fn has_terminal_to_read(&self) -> bool {
        read_dir(format!("/proc/{}/fd", self.id)).into_iter().flatten().flatten().any(|file| {
            let is_terminal = metadata(file.path()).is_ok_and(|file| match major(file.rdev()) {
                4 | 136..=143 => true,
                // All but what leads to new terminals.
                5 => minor(file.rdev()) != 2,
                _ => false,
            });
            is_terminal && symlink_metadata(file.path()).is_ok_and(|link| link.mode() & 0o400 != 0)
        })
    }

    /// Whether it is a further process of this agent: of the same program and script, of the same program and npm
    /// package, or of a program of the agent's name. A script of that name may be anything.
    fn is_part_of(&self, agent: &Process) -> bool {
        let (its_words, known) = (words(self.id), Agents::get());
        let names_it = |words: &[OsString]| {
            let names = [words, &agent.words].map(|words| known.of_command(words).map(|found| &found.name));
            names[0].is_some() && names[0] == names[1]
        };
        let script = |process: &Process, words: &[OsString]| -> Option<PathBuf> {
            let at = words.iter().position(|word| known.of_command(from_ref(word)).is_some()).filter(|at| 0 < *at)?;
            let path = PathBuf::from(format!("/proc/{}/cwd", process.id)).join(&words[at]);
            Some(canonicalize(&path).unwrap_or(path))
        };
        let program = self.executable();
        let scripts = script(self, &its_words).zip(script(agent, &agent.words));
        let is_same = program == agent.executable()
            && scripts.is_none_or(|(its, agents)| {
                its == agents || package(&its).is_some_and(|its| Some(its) == package(&agents))
            });
        names_it(&its_words) && (is_same || program.is_some_and(|program| names_it(&[program.into()])))
    }
}

/// The directory of the npm package that has this file.
fn package(file: &Path) -> Option<PathBuf> {
    let is_scope = |directory: &Path| directory.file_name().is_some_and(|name| name.to_string_lossy().starts_with('@'));
    let is_below_modules = |directory: &Path| directory.parent().is_some_and(|above| above.ends_with("node_modules"));
    let is_package = |directory: &&Path| {
        let is_scoped = directory.parent().is_some_and(|above| is_scope(above) && is_below_modules(above));
        is_scoped || is_below_modules(directory) && !is_scope(directory)
    };
    file.ancestors().find(is_package).map(Path::to_owned)
}

#[cfg(test)]
mod tests;
