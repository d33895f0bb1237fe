//! The programs that could read the keys that are meant for an agent: what has started it, what it has started, and all
//! else that has one of its terminals open.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{canonicalize, metadata, read_dir, read_link, read_to_string, symlink_metadata};
use std::io::{Error, ErrorKind};
use std::iter::successors;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{major, makedev, minor};

use super::{LAUNCHERS, Process, entries, is_one_of, is_shell_name, words};
use crate::screen::{Agents, is_runner};

/// Parts of the names of what Linux does for a thread that waits for a child, a signal, a time, another thread or
/// another program's output.
const WAITS: [&str; 6] = ["do_wait", "sigsuspend", "nanosleep", "futex", "pipe_read", "pipe_wait"];

/// Parts of such names for a thread that waits for files of a list, which Linux shows.
const WAITS_FOR_LISTED: [&str; 2] = ["epoll", "ep_poll"];

/// How often a thread that computes is looked at again, and after which time.
const LOOKS: usize = 5;
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// A launcher that also starts a daemon, which does not read what the launcher lets it inherit.
const STARTS_A_DAEMON: [&str; 1] = ["dbus-run-session"];

/// The number of a terminal that is open to a process by the name of its own, which it has left since: it may be that
/// of an agent in whose directory it works.
const UNKNOWN: u64 = 0;

/// Whether the agent, or what it has started in its place, could read its keys, and no other process but parts of the
/// same agent. What it has started could if it has a terminal to read: a terminal of its own may be one to which this
/// program passes keys on. Any other process could which has such a terminal open, or this one, or that of a launcher
/// above, unless that is its own and it is in the background, where it is stopped when it reads, or unless it is the
/// daemon of what has started this program, or that itself, which only waits for it. An agent that has started this
/// program does not: it may show what this program writes.
pub fn reads_alone(agent: &Process, started: i32) -> bool {
    if let Some(child) = waited_for(agent) {
        return reads_alone(&child, started);
    }
    let starters = starters(agent, started);
    let all: HashMap<i32, Process> =
        Process::all().filter(|process| !process.has_ended).map(|process| (process.id, process)).collect();
    let above = |process: &Process| successors(all.get(&process.parent), |parent| all.get(&parent.parent));
    let is_below = |process: &Process, id: i32| above(process).any(|parent| parent.id == id);
    let sweep = std::process::id().cast_signed();
    let of_starters = starters.iter().chain([agent]).map(|it| it.terminal).filter(|it| *it != 0);
    let family = all.values().filter(|process| process.id == agent.id || is_below(process, agent.id));
    let terminals: HashSet<u64> = of_starters.chain(family.flat_map(terminals_behind)).collect();
    let is_daemon =
        |process: &Process| is_below(agent, process.parent) && is_one_of(&words(process.parent), &STARTS_A_DAEMON);
    let is_beside = |process: &Process| process.id != sweep && !is_below(agent, process.id) && !is_daemon(process);
    let is_stopped = |process: &Process| process.group != process.foreground;
    let is_such = |process: &Process, it| {
        terminals.contains(&it) && !(it == process.terminal && is_stopped(process))
            || it == UNKNOWN && process.works_where(agent)
    };
    let reads = |process: &&Process| match is_below(process, agent.id) {
        true => ![agent.terminal, 0].contains(&process.terminal) || has_open(process, |_| true).unwrap_or(true),
        false => is_beside(process) && has_open(process, |it| is_such(process, it)).unwrap_or(false),
    };
    let reads_before = |process: &Process| {
        let could_read = has_open(process, |it| is_such(process, it));
        let waits = || only_waits(process, |it| is_such(process, it));
        process.is_agent_itself() || could_read.unwrap_or_else(|| is_such(process, process.terminal)) && !waits()
    };
    let others = all.values().filter(|process| process.id != agent.id);
    has_open(agent, |_| true).unwrap_or(true)
        && !starters.iter().any(reads_before)
        && others.filter(reads).all(|process| is_part_of(process, agent))
}

/// What a shell or a launcher has started and waits for, if that is one process, in the foreground with it.
fn waited_for(program: &Process) -> Option<Process> {
    let is_beside = |child: &Process| child.terminal == program.terminal && child.group == child.foreground;
    let mut children = program.children().into_iter().filter(is_beside);
    let waits = || program.starts_another() && only_waits(program, |_| true);
    children.next().filter(|_| children.next().is_none() && waits())
}

/// What has started an agent, the nearest first, up to what the watcher has started, or what a pane was opened for.
fn starters(agent: &Process, started: i32) -> Vec<Process> {
    let sweep = std::process::id().cast_signed();
    let parent = |process: &Process| Process::find(process.parent).filter(|parent| parent.id != sweep);
    let next = |process: &Process| (process.id != started).then(|| parent(process)).flatten();
    successors(next(agent), next).collect()
}

/// The terminals that keys pass from the first one to the one that an agent reads; launchers such as `script` opened
/// them. These paths are found in every container. An empty one cannot be opened: then nothing is typed.
pub fn terminals_from(first: &Path, agent: &Process, started: i32) -> Vec<PathBuf> {
    let number = |path: &Path| metadata(path).ok().map(|file| file.rdev());
    let stdin = |process: &Process| process.path("fd/0");
    let reads_it = |process: &&Process| process.terminal != 0 && number(&stdin(process)) == Some(process.terminal);
    let starters = starters(agent, started);
    let (mut numbers, mut paths) = (vec![number(first), Some(agent.terminal), Some(0)], vec![first.to_owned()]);
    for starter in starters.iter().rev() {
        if !numbers.contains(&Some(starter.terminal)) {
            let mut of_it = starters.iter().filter(|other| other.terminal == starter.terminal);
            paths.push(of_it.find(reads_it).map(stdin).unwrap_or_default());
            numbers.push(Some(starter.terminal));
        }
    }
    if number(first) != Some(agent.terminal) {
        paths.push(Some(agent).filter(reads_it).map(stdin).unwrap_or_default());
    }
    paths
}

/// Whether a program waits, and for no key of such a terminal. Launchers ask nothing while what they have started runs.
/// Another program that waits for files may wait for any, unless it has a list of them.
fn only_waits(program: &Process, is_such: impl Fn(u64) -> bool) -> bool {
    let waits = |task: PathBuf| {
        let place = place_of(&task);
        let is_in = |names: &[&str]| names.iter().any(|name| place.contains(name));
        is_in(&WAITS) || is_in(&WAITS_FOR_LISTED) && !lists(program, &is_such)
    };
    let tasks = entries(program.path("task"));
    is_one_of(&program.words, &LAUNCHERS) || tasks.map(waits).reduce(|all, it| all && it) == Some(true)
}

/// Whether such a terminal is among the files for which a program waits by a list.
fn lists(program: &Process, is_such: impl Fn(u64) -> bool) -> bool {
    let lists = entries(program.path("fdinfo")).filter_map(|about| read_to_string(about).ok());
    let is_one = |line: &str| {
        let file = line.strip_prefix("tfd:").and_then(|rest| rest.split_whitespace().next());
        let path = file.map(|file| program.path(&format!("fd/{file}")));
        path.and_then(|path| terminal_of(program, &path)).is_some_and(&is_such)
    };
    lists.into_iter().any(|list| list.lines().any(is_one))
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

/// Whether such a terminal is open to a process for reading, whatever it was opened for: pagers read keys from their
/// stderr. `None`: nobody may see what is open to it.
fn has_open(process: &Process, is_such: impl Fn(u64) -> bool) -> Option<bool> {
    let files = |task: PathBuf| match read_dir(task.join("fd")) {
        Ok(files) => Ok(files.flatten().any(|file| terminal_of(process, &file.path()).is_some_and(&is_such))),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(error),
        Err(_) => Ok(false),
    };
    let tasks = entries(process.path("task"));
    tasks.map(files).try_fold(false, |reads, task| Ok::<_, Error>(reads || task?)).ok()
}

/// The number of the terminal that an open file of a process reads.
fn terminal_of(process: &Process, file: &Path) -> Option<u64> {
    // What is no path is no terminal, and looking at a link costs less than at a file.
    read_link(file).ok().filter(|link| link.is_absolute())?;
    let device = metadata(file).ok()?.rdev();
    let terminal = match major(device) {
        4 | 136..=143 => Some(device),
        // All but what leads to new terminals.
        5 if minor(device) != 2 => Some(process.terminal),
        _ => None,
    };
    terminal.filter(|_| symlink_metadata(file).is_ok_and(|link| link.mode() & 0o400 != 0))
}

/// The numbers of the terminals to which a process could pass keys on: it has their other ends open.
fn terminals_behind(process: &Process) -> Vec<u64> {
    let ends = entries(process.path("fd")).filter(|file| read_link(file).is_ok_and(|link| link.ends_with("ptmx")));
    let number = |end: PathBuf| {
        let about = read_to_string(process.path("fdinfo").join(end.file_name()?)).ok()?;
        about.lines().find_map(|line| line.strip_prefix("tty-index:")?.trim().parse().ok())
    };
    ends.filter_map(number).map(|number| makedev(136, number)).collect()
}

/// Whether a process is a further one of this agent: of the same program, if that needs no script, of the same program
/// and script or npm package, or of a program of the agent's name that was installed with the agent's script. Any other
/// program or script of that name may be anything.
fn is_part_of(process: &Process, agent: &Process) -> bool {
    let (its_words, known) = (words(process.id), Agents::get());
    let names_it = |words: &[OsString]| {
        let names = [words, &agent.words].map(|words| known.find_by_command(words).map(|found| &found.name));
        names[0].is_some() && names[0] == names[1]
    };
    let script = |process: &Process, words: &[OsString]| -> Option<PathBuf> {
        let at = words.iter().position(|word| known.find_by_command(from_ref(word)).is_some()).filter(|at| 0 < *at)?;
        let path = process.path("cwd").join(&words[at]);
        Some(canonicalize(&path).unwrap_or(path))
    };
    let (program, agents_script) = (process.executable(), script(agent, &agent.words));
    let is_installed_with = |program: &Path| {
        let of_agent = agents_script.as_deref().and_then(installed_in);
        of_agent.is_some() && installed_in(program) == of_agent
    };
    let is_same = program == agent.executable()
        && match (script(process, &its_words), &agents_script) {
            (Some(its), Some(agents)) => {
                its == *agents || package(&its).is_some_and(|its| Some(its) == package(agents))
            }
            (None, None) => program.as_deref().is_some_and(|program| !needs_script(program)),
            _ => false,
        };
    names_it(&its_words) && (is_same || program.is_some_and(|it| is_installed_with(&it) && names_it(&[it.into()])))
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
