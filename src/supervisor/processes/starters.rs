//! What has started an agent: the terminals that its keys pass on their way, and whether one of these programs reads
//! them itself.

use std::fs::{metadata, read_dir, read_to_string};
use std::iter::successors;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use super::{LAUNCHERS, Process, is_one_of};

/// Parts of the names of what Linux does for a thread that waits for a child, a signal, a time, another thread or
/// another program's output.
const WAITS: [&str; 6] = ["do_wait", "sigsuspend", "nanosleep", "futex", "pipe_read", "pipe_wait"];

/// Parts of such names for a thread that waits for files of a list, which Linux shows.
const WAITS_FOR_LISTED: [&str; 2] = ["epoll", "ep_poll"];

/// How often a thread that computes is looked at again, and after which time.
const LOOKS: usize = 5;
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

impl Process {
    /// What has started it, the nearest first, up to what the watcher has started, or what a pane was opened for.
    pub(super) fn starters(&self, started: i32) -> Vec<Process> {
        let sweep = std::process::id().cast_signed();
        let parent = |process: &Process| Process::find(process.parent).filter(|parent| parent.id != sweep);
        let next = |process: &Process| (process.id != started).then(|| parent(process)).flatten();
        successors(next(self), next).collect()
    }

    /// The terminals that keys pass from this one to the one that it reads; launchers such as `script` opened them.
    /// By these paths they are found in every container. An empty one cannot be opened: then nothing is typed.
    pub fn terminals_from(&self, first: &Path, started: i32) -> Vec<PathBuf> {
        let number = |path: &Path| metadata(path).ok().map(|file| file.rdev());
        let stdin = |process: &Process| PathBuf::from(format!("/proc/{}/fd/0", process.id));
        let reads_it = |process: &&Process| process.terminal != 0 && number(&stdin(process)) == Some(process.terminal);
        let starters = self.starters(started);
        let (mut numbers, mut paths) = (vec![number(first), Some(self.terminal), Some(0)], vec![first.to_owned()]);
        for starter in starters.iter().rev() {
            if !numbers.contains(&Some(starter.terminal)) {
                let mut of_it = starters.iter().filter(|other| other.terminal == starter.terminal);
                paths.push(of_it.find(reads_it).map(stdin).unwrap_or_default());
                numbers.push(Some(starter.terminal));
            }
        }
        if number(first) != Some(self.terminal) {
            paths.push(Some(self).filter(reads_it).map(stdin).unwrap_or_default());
        }
        paths
    }

    /// Whether it waits, and for no key of such a terminal. Launchers ask nothing while what they have started runs. Of
    /// another program that waits for files nobody knows for which, unless it has a list of them.
    pub(super) fn only_waits(&self, is_such: impl Fn(u64) -> bool) -> bool {
        let tasks = read_dir(format!("/proc/{}/task", self.id)).into_iter().flatten().flatten();
        let waits = |task: &Path| {
            let place = place_of(task);
            let is_in = |names: &[&str]| names.iter().any(|name| place.contains(name));
            is_in(&WAITS) || is_in(&WAITS_FOR_LISTED) && !self.lists(&is_such)
        };
        is_one_of(&self.words, &LAUNCHERS)
            || tasks.map(|task| waits(&task.path())).reduce(|all, it| all && it) == Some(true)
    }

    /// Whether such a terminal is among the files for which it waits by a list.
    fn lists(&self, is_such: impl Fn(u64) -> bool) -> bool {
        let abouts = read_dir(format!("/proc/{}/fdinfo", self.id)).into_iter().flatten().flatten();
        let lists = abouts.filter_map(|about| read_to_string(about.path()).ok());
        let is_one = |line: &str| {
            let file = line.strip_prefix("tfd:").and_then(|rest| rest.split_whitespace().next());
            let path = file.map(|file| PathBuf::from(format!("/proc/{}/fd/{file}", self.id)));
            path.and_then(|path| self.terminal_of(&path)).is_some_and(&is_such)
        };
        lists.flat_map(|list| list.lines().map(is_one).collect::<Vec<_>>()).any(|is_one| is_one)
    }
}

/// Where in Linux a thread sleeps; `0` if it does not, or nobody may know.
fn place_of(task: &Path) -> String {
    let look = || read_to_string(task.join("wchan")).unwrap_or_default();
    (1..LOOKS).fold(look(), |place, _| match place.as_str() {
        "0" => {
            sleep(BETWEEN_LOOKS);
            look()
        }
        _ => place,
    })
}

#[cfg(test)]
mod tests;
