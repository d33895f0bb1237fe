//! The processes of a terminal, as Linux shows them: which program has the screen, and what its children do.
//!
//! A *launcher* starts another program in its place and draws nothing, so that the screen is that program's. A shell
//! that runs a script, and another *runner*, is looked through only where it has started an agent that is known.

mod readers;

use std::ffi::{OsStr, OsString};
use std::fs::{read, read_dir, read_link, read_to_string};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::screen::Agents;
pub use readers::{reads_alone, terminals_from};

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
        let shown = self.children().into_iter().filter_map(|child| self.shows(child));
        let mut shown: Vec<Process> = shown.map(|process| process.looked_through(depth - 1)).collect();
        match shown.iter().position(Process::is_agent) {
            Some(agent) => shown.swap_remove(agent),
            None if is_launcher && !shown.is_empty() => shown.swap_remove(0),
            None => self,
        }
    }

    /// What a child of a launcher has on the screen: itself, if it is in the foreground; if it has a terminal of its
    /// own, what is in the foreground there.
    fn shows(&self, child: Process) -> Option<Process> {
        match child.terminal == self.terminal {
            true => Some(child).filter(|child| child.group == child.foreground),
            false => Process::find(child.foreground),
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
