//! The processes of a terminal, as Linux shows them: which program has the screen, what its children do, and which
//! programs could read the keys that are meant for an agent: what has started it, what it has started, and all else
//! that has one of its terminals open.
//!
//! A *launcher* starts another program in its place and draws nothing, so that the screen is that program's. A shell
//! that runs a script, and another *runner*, is looked through only where it has started an agent that is known.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{canonicalize, metadata, read, read_dir, read_link, read_to_string, symlink_metadata};
use std::io::{Error, ErrorKind};
use std::iter::successors;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{major, makedev, minor};

use crate::screen::{Agents, is_runner};

const LAUNCHERS: [&str; 25] = [
    "bwrap", "chroot", "chrt", "dbus-run-session", "doas", "dumb-init", "env", "gosu", "ionice", "nice", "nohup",
    "numactl", "prlimit", "runuser", "script", "setpriv", "setsid", "stdbuf", "su", "sudo", "systemd-run", "taskset",
    "time", "timeout", "unbuffer",
];

const RUNNERS: [&str; 13] =
    ["bun", "bunx", "expect", "make", "mise", "npm", "npx", "pipx", "pnpm", "pnpx", "uv", "uvx", "yarn"];

const SHELLS: [&str; 15] = [
    "sh", "bash", "zsh", "fish", "dash", "ash", "ksh", "mksh", "tcsh", "csh", "nu", "xonsh", "rbash", "elvish", "pwsh",
];

/// Programs that show what runs on another machine, in a container or in terminals of a server's, where its processes
/// are not seen.
const REMOTES: [&str; 20] = [
    "abduco", "byobu", "docker", "dtach", "et", "incus", "kubectl", "limactl", "lxc", "machinectl", "mosh",
    "mosh-client", "nerdctl", "podman", "screen", "shpool", "ssh", "tmate", "tmux", "zellij",
];

/// How many launchers are looked through.
const LAUNCHERS_MAX: u32 = 16;

/// How many children's processor times are added up: reading more would cost too much.
const CHILDREN_MAX: usize = 200;

/// One process, as Linux shows it at one moment.
#[derive(Clone, Debug)]
pub struct Process {
    id: i32,
    parent: i32,
    group: i32,
    /// The number of its terminal; 0: it has none.
    terminal: u64,
    has_ended: bool,
    /// The process group in the foreground of its terminal.
    foreground: i32,
    /// Its own processor time, and that of the children that it has waited for, in hundredths of a second.
    own_time: u64,
    childrens_time: u64,
    pub words: Vec<OsString>,
}

impl Process {
    fn find(id: i32) -> Option<Process> {
        Some(Process { words: words(id), ..Process::without_words(id)? })
    }

    fn without_words(id: i32) -> Option<Process> {
        let text = String::from_utf8_lossy(&read(format!("/proc/{id}/stat")).ok()?).into_owned();
        // The second field, the name, may contain anything.
        let fields = text.rsplit_once(") ")?.1;
        let is_zombie = fields.starts_with('Z');
        let fields: Vec<i64> = fields.split(' ').map(|field| field.parse().unwrap_or(0)).collect();
        let (at, time) = (|at: usize| fields.get(at).copied().unwrap_or(0), |at: i64| u64::try_from(at).unwrap_or(0));
        Some(Process {
            id,
            parent: i32::try_from(at(1)).ok()?,
            group: i32::try_from(at(2)).ok()?,
            terminal: time(at(4)),
            // Other threads may go on when the first one has ended.
            has_ended: is_zombie && at(17) <= 1,
            foreground: i32::try_from(at(5)).ok()?,
            own_time: time(at(11)) + time(at(12)),
            childrens_time: time(at(13)) + time(at(14)),
            words: Vec::new(),
        })
    }

    /// The program whose screen the terminal of this process shows.
    pub fn on_screen(id: i32) -> Option<Process> {
        let process = Process::find(id)?;
        let leader = Process::find(process.foreground).filter(|leader| !leader.words.is_empty());
        Some(leader.unwrap_or(process).looked_through(LAUNCHERS_MAX))
    }

    fn looked_through(self, depth: u32) -> Process {
        let is_launcher = is_one_of(&self.words, &LAUNCHERS);
        if depth == 0 || self.is_agent_itself() || !(is_launcher || self.is_runner()) {
            return self;
        }
        // What a child of a launcher has on the screen: itself, if it is in the foreground; if it has a terminal of its
        // own, what is in the foreground there.
        let shown = self.children().into_iter().filter_map(|child| match child.terminal == self.terminal {
            true => Some(child).filter(|child| child.group == child.foreground),
            false => Process::find(child.foreground),
        });
        let mut shown: Vec<Process> = shown.map(|process| process.looked_through(depth - 1)).collect();
        match shown.iter().position(Process::is_agent) {
            Some(agent) => shown.swap_remove(agent),
            None if is_launcher && !shown.is_empty() => shown.swap_remove(0),
            None => self,
        }
    }

    /// Whether only shells and other programs that start one stand between the process that was started and this one.
    pub fn is_what_runs_in(&self, started: i32) -> bool {
        let mut process = self.clone();
        while process.id != started {
            match Process::find(process.parent).filter(Process::starts_another) {
                Some(parent) => process = parent,
                None => return false,
            }
        }
        true
    }

    /// Whether it is a shell, a launcher or another runner, and no agent that is known.
    fn starts_another(&self) -> bool {
        let is_one = is_shell_name(&program(&self.words)) || is_one_of(&self.words, &LAUNCHERS) || self.is_runner();
        is_one && !self.is_agent()
    }

    /// Whether it may be a shell at its prompt, whatever it calls itself.
    pub fn is_shell(&self) -> bool {
        let named =
            self.executable().map(PathBuf::into_os_string).into_iter().chain(self.words.iter().skip(1).cloned());
        is_shell(&self.words) || is_shell(&named.collect::<Vec<_>>())
    }

    fn is_runner(&self) -> bool {
        is_one_of(&self.words, &RUNNERS) || is_shell_name(&program(&self.words)) && 1 < self.words.len()
    }

    fn is_agent(&self) -> bool {
        Agents::get().find_by_command(&self.words).is_some()
    }

    /// Whether it is an agent that is known, and not what starts one from a package.
    fn is_agent_itself(&self) -> bool {
        self.is_agent() && !is_one_of(&self.words, &RUNNERS)
    }

    /// The processor time of all that it has started so far. Its own is left out, and so is that of the further
    /// processes of an agent, which it starts itself by the same program: one that hangs may turn a spinner.
    pub fn children_worked_for(&self) -> Duration {
        let (servers, program) = (self.servers(), self.executable().filter(|_| self.is_agent()));
        let of_servers = servers.iter().flat_map(Process::children).filter(|child| child.works_where(self));
        let of_itself = self.children().into_iter().filter(|child| servers.iter().all(|server| server.id != child.id));
        let mut own = vec![self.id];
        let mut found: Vec<(i32, Process)> =
            of_itself.map(|child| (self.id, child)).chain(of_servers.map(|child| (0, child))).collect();
        let mut ticks = self.childrens_time;
        let mut at = 0;
        while let Some((parent, child)) = found.get(at).filter(|_| at < CHILDREN_MAX) {
            let id = child.id;
            let is_same_program = || program.is_some() && child.executable() == program;
            if child.is_agent() || own.contains(parent) && is_same_program() {
                own.push(id);
            } else {
                ticks += child.own_time;
            }
            ticks += child.childrens_time;
            let children = child.children();
            found.extend(children.into_iter().map(|grandchild| (id, grandchild)));
            at += 1;
        }
        // Linux reports hundredths of a second on every platform.
        Duration::from_millis(10 * ticks)
    }

    /// What Linux shows of the process in a file or directory of this name.
    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.id))
    }

    fn executable(&self) -> Option<PathBuf> {
        read_link(self.path("exe")).ok()
    }

    /// The processes that run an agent's commands for it, where it does not run them itself.
    fn servers(&self) -> Vec<Process> {
        let agent = Agents::get().find_by_command(&self.words);
        let Some((agent, server)) = agent.and_then(|agent| Some((agent, agent.server.as_ref()?))) else {
            return Vec::new();
        };
        let is_server = |process: &Process| {
            let its_agent = Agents::get().find_by_command(&process.words).filter(|its| its.name == agent.name);
            its_agent.is_some() && process.id != self.id && process.words.iter().any(|word| word == server.as_str())
        };
        Process::all().map(|process| Process { words: words(process.id), ..process }).filter(is_server).collect()
    }

    /// All processes, without their command lines: reading them would cost as much again.
    fn all() -> impl Iterator<Item = Process> {
        entries("/proc").filter_map(|entry| Process::without_words(entry.file_name()?.to_str()?.parse().ok()?))
    }

    /// Whether it works in the directory of another process, or below.
    fn works_where(&self, other: &Process) -> bool {
        let directory = |process: &Process| read_link(process.path("cwd")).ok();
        directory(self).zip(directory(other)).is_some_and(|(its, others)| its.starts_with(others))
    }

    fn children(&self) -> Vec<Process> {
        let lists = entries(self.path("task")).filter_map(|task| read_to_string(task.join("children")).ok());
        let ids = lists.flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>());
        ids.filter_map(Process::find).collect()
    }
}

/// Whether a command line may be a shell at its prompt: after an option, the words may be the option's values.
pub fn is_shell(words: &[OsString]) -> bool {
    let is_one = words.first().is_some_and(|word| is_shell_name(&word.to_string_lossy()));
    is_one && words.get(1).is_none_or(|word| matches!(word.as_bytes().first(), Some(b'-' | b'+')) && word != "-c")
}

pub fn is_shell_name(command: &str) -> bool {
    // A login shell has a hyphen before its name.
    let name = Path::new(command).file_name().unwrap_or_default().to_string_lossy();
    SHELLS.contains(&name.trim_start_matches('-'))
}

/// The program, if what it shows runs elsewhere, where its processes are not seen.
pub fn remote(words: &[OsString]) -> Option<String> {
    is_one_of(words, &REMOTES).then(|| program(words))
}

fn is_one_of(words: &[OsString], programs: &[&str]) -> bool {
    programs.contains(&program(words).as_str())
}

/// The name of a command line's program; npm writes all of its words into the first.
fn program(words: &[OsString]) -> String {
    let first = words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
    if first.starts_with("npm ") {
        return "npm".to_owned();
    }
    Path::new(&*first).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What stands in a directory; nothing if it cannot be read.
fn entries(directory: impl AsRef<Path>) -> impl Iterator<Item = PathBuf> {
    read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// The command line of a process.
fn words(process: i32) -> Vec<OsString> {
    let line = read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| OsStr::from_bytes(word).to_owned()).collect()
}

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
    let name = program.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy());
    let needs_script = name.is_none_or(|name| is_runner(&name) || is_shell_name(&name));
    let is_installed_with = |program: &Path| {
        let of_agent = agents_script.as_deref().and_then(installed_in);
        of_agent.is_some() && installed_in(program) == of_agent
    };
    let is_same = program == agent.executable()
        && match (script(process, &its_words), &agents_script) {
            (Some(its), Some(agents)) => {
                its == *agents || package(&its).is_some_and(|its| Some(its) == package(agents))
            }
            (None, None) => !needs_script,
            _ => false,
        };
    names_it(&its_words) && (is_same || program.is_some_and(|it| is_installed_with(&it) && names_it(&[it.into()])))
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
