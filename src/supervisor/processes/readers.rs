//! Who could read the keys that are meant for an agent.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{DirEntry, canonicalize, metadata, read_dir, read_link, read_to_string, symlink_metadata};
use std::io::{Error, ErrorKind};
use std::iter::successors;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use rustix::fs::{major, makedev, minor};

use super::{Process, is_one_of, is_shell_name, words};
use crate::screen::{Agents, is_runner};

/// A launcher that also starts a daemon, which does not read what the launcher lets it inherit.
const STARTS_A_DAEMON: [&str; 1] = ["dbus-run-session"];

/// The number of a terminal that is open to a process by the name of its own, which it has left since: it may be that
/// of an agent in whose directory it works.
const UNKNOWN: u64 = 0;

impl Process {
    /// Whether this process, or the one that it has started in its place, could read its keys, and no other one but
    /// parts of the same agent. What it has started could if it has a terminal to read: a terminal of its own may be
    /// one to which this program passes keys on. Any other process could which has such a terminal open, or this one,
    /// or that of a launcher above, unless that is its own and it is in the background, where it is stopped when it
    /// reads, or unless it is the daemon of what has started this program, or that itself, which only waits for it. An
    /// agent that has started this program does not: it may show what this program writes.
    pub fn reads_alone(&self, started: i32) -> bool {
        if let Some(child) = self.waits_for() {
            return child.reads_alone(started);
        }
        let starters = self.starters(started);
        let all: HashMap<i32, Process> =
            Process::all().filter(|process| !process.has_ended).map(|process| (process.id, process)).collect();
        let above = |process: &Process| successors(all.get(&process.parent), |parent| all.get(&parent.parent));
        let is_below = |process: &Process, id: i32| above(process).any(|parent| parent.id == id);
        let sweep = std::process::id().cast_signed();
        let of_starters = starters.iter().chain([self]).map(|it| it.terminal).filter(|it| *it != 0);
        let family = all.values().filter(|process| process.id == self.id || is_below(process, self.id));
        let terminals: HashSet<u64> = of_starters.chain(family.flat_map(Process::terminals_behind)).collect();
        let is_daemon =
            |process: &Process| is_below(self, process.parent) && is_one_of(&words(process.parent), &STARTS_A_DAEMON);
        let is_beside = |process: &Process| process.id != sweep && !is_below(self, process.id) && !is_daemon(process);
        let is_stopped = |process: &Process| process.group != process.foreground;
        let is_such = |process: &Process, it| {
            terminals.contains(&it) && !(it == process.terminal && is_stopped(process))
                || it == UNKNOWN && process.works_where(self)
        };
        let reads = |process: &&Process| match is_below(process, self.id) {
            true => ![self.terminal, 0].contains(&process.terminal) || process.reads(|_| true).unwrap_or(true),
            false => is_beside(process) && process.reads(|it| is_such(process, it)).unwrap_or(false),
        };
        let reads_before = |process: &Process| {
            let could_read = process.reads(|it| is_such(process, it));
            let waits = || process.only_waits(|it| is_such(process, it));
            process.is_agent_itself() || could_read.unwrap_or_else(|| is_such(process, process.terminal)) && !waits()
        };
        let others = all.values().filter(|process| process.id != self.id);
        self.reads(|_| true).unwrap_or(true)
            && !starters.iter().any(reads_before)
            && others.filter(reads).all(|process| process.is_part_of(self))
    }

    /// Whether such a terminal is open to it for reading, whatever it was opened for: pagers read keys from their
    /// stderr. `None`: nobody may see what is open to it.
    fn reads(&self, is_such: impl Fn(u64) -> bool) -> Option<bool> {
        let tasks = read_dir(format!("/proc/{}/task", self.id)).into_iter().flatten().flatten();
        let files = |task: DirEntry| match read_dir(task.path().join("fd")) {
            Ok(files) => Ok(files.flatten().any(|file| self.terminal_of(&file.path()).is_some_and(&is_such))),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(error),
            Err(_) => Ok(false),
        };
        tasks.map(files).try_fold(false, |reads, task| Ok::<_, Error>(reads || task?)).ok()
    }

    /// The number of the terminal that an open file reads.
    pub(super) fn terminal_of(&self, file: &Path) -> Option<u64> {
        // What is no path is no terminal, and looking at a link costs less than at a file.
        read_link(file).ok().filter(|link| link.is_absolute())?;
        let device = metadata(file).ok()?.rdev();
        let terminal = match major(device) {
            4 | 136..=143 => Some(device),
            // All but what leads to new terminals.
            5 if minor(device) != 2 => Some(self.terminal),
            _ => None,
        };
        terminal.filter(|_| symlink_metadata(file).is_ok_and(|link| link.mode() & 0o400 != 0))
    }

    /// The numbers of the terminals to which this process could pass keys on: it has their other ends open.
    fn terminals_behind(&self) -> Vec<u64> {
        let files = read_dir(format!("/proc/{}/fd", self.id)).into_iter().flatten().flatten();
        let ends = files.filter(|file| read_link(file.path()).is_ok_and(|link| link.ends_with("ptmx")));
        let number = |end: DirEntry| {
            let about = format!("/proc/{}/fdinfo/{}", self.id, end.file_name().to_string_lossy());
            let about = read_to_string(about).ok()?;
            about.lines().find_map(|line| line.strip_prefix("tty-index:")?.trim().parse().ok())
        };
        ends.filter_map(number).map(|number| makedev(136, number)).collect()
    }

    /// Whether it is a further process of this agent: of the same program, if that needs no script, of the same program
    /// and script or npm package, or of a program of the agent's name that was installed with the agent's script. Any
    /// other program or script of that name may be anything.
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
        let (program, agents_script) = (self.executable(), script(agent, &agent.words));
        let is_installed_with = |program: &Path| {
            let of_agent = agents_script.as_deref().and_then(installed_in);
            of_agent.is_some() && installed_in(program) == of_agent
        };
        let is_same = program == agent.executable()
            && match (script(self, &its_words), &agents_script) {
                (Some(its), Some(agents)) => {
                    its == *agents || package(&its).is_some_and(|its| Some(its) == package(agents))
                }
                (None, None) => program.as_deref().is_some_and(|program| !needs_script(program)),
                _ => false,
            };
        names_it(&its_words) && (is_same || program.is_some_and(|it| is_installed_with(&it) && names_it(&[it.into()])))
    }
}

fn needs_script(program: &Path) -> bool {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    is_runner(&name) || is_shell_name(&name)
}

/// The directory into which npm has installed this file, with other packages.
fn installed_in(file: &Path) -> Option<&Path> {
    file.ancestors().filter(|directory| directory.ends_with("node_modules")).last()
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
