//! A watcher in a terminal of the test's, and what can be seen of it from outside.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::support::program::BINARY;
use crate::support::terminal::Screen;
use crate::support::wait::wait_for;

/// Thresholds so short that a test need not wait for long.
pub const POLICY: [&str; 4] = ["--set", "session_silent_after=1s", "--set", "nudge_delay=1s"];

/// A delay that gives a recovering agent enough time on any machine.
pub const PATIENT: [&str; 2] = ["--set", "nudge_delay=10m"];

/// A prompt at which the agents of these stories read what is typed.
pub const READ: &str = "printf '> '; read x";

/// A flag that changes nothing, and marks a watcher that nudges by the defaults.
pub const AS_USUAL: &str = "--set=run_silent_after=1h";

/// What people read when a session needs one of them.
pub const STUCK: &str = "⚠ session needs a person: ";

/// `sweep watch` in a terminal.
pub struct Watcher {
    pub screen: Screen,
    child: Box<dyn Child + Send + Sync>,
    home: Arc<TempDir>,
}

/// How a watcher ended.
pub struct Ended {
    pub code: u32,
    pub text: String,
    pub home: Arc<TempDir>,
}

impl Watcher {
    /// Watches a shell's script as the session `agent`, with further flags.
    pub fn watch_script(url: &str, flags: &[&str], script: &str) -> Watcher {
        Watcher::with(&[&["--database", url, "--name", "agent"], flags, &["--", "sh", "-c", script]].concat())
    }

    pub fn with(arguments: &[&str]) -> Watcher {
        Watcher::at_home(Arc::new(tempfile::tempdir().expect("a home")), arguments)
    }

    /// Starts a watcher with a home that others know, and tmux's sockets in it.
    pub fn at_home(home: Arc<TempDir>, arguments: &[&str]) -> Watcher {
        Watcher::given(home, &[], arguments)
    }

    /// Starts a watcher with a home and further variables in its environment.
    pub fn given(home: Arc<TempDir>, variables: &[(&str, &str)], arguments: &[&str]) -> Watcher {
        Watcher::on(Screen::new(), home, variables, arguments)
    }

    /// Starts a watcher in a terminal of so many rows and columns.
    pub fn of_size(size: (u16, u16), home: Arc<TempDir>, arguments: &[&str]) -> Watcher {
        Watcher::on(Screen::of_size(size), home, &[], arguments)
    }

    fn on(screen: Screen, home: Arc<TempDir>, variables: &[(&str, &str)], arguments: &[&str]) -> Watcher {
        let mut command = CommandBuilder::new(BINARY);
        command.env_clear();
        command.env("HOME", home.path());
        command.env("PATH", path());
        command.env("TERM", "xterm-256color");
        command.env("TMUX_TMPDIR", home.path());
        variables.iter().for_each(|(name, value)| command.env(name, value));
        command.arg("watch");
        // The settings of `POLICY`, unless a flag says otherwise. As variables, which the command does not inherit,
        // they would be reported.
        for setting in [&POLICY[..2], &POLICY[2..]] {
            let name = setting[1].split_inclusive('=').next().unwrap_or_default();
            if !arguments.iter().any(|argument| argument.starts_with(name)) {
                command.args(setting);
            }
        }
        if !arguments.iter().any(|argument| [AS_USUAL, "--nudge", "--nudge=idle"].contains(argument)) {
            command.args(["--nudge", "idle"]);
        }
        command.args(arguments);
        command.cwd(home.path());
        let child = screen.start(command);
        Watcher { screen, child, home }
    }

    /// A file in the working directory of the agent.
    pub fn file(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    #[track_caller]
    pub fn until_it_prints(&self, text: &str) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.screen.text().contains(text) {
            assert!(Instant::now() < deadline, "never printed: {text}\nbut: {}", self.screen.text());
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn signal(&self, signal: Signal) {
        let process = self.child.process_id().and_then(|id| Pid::from_raw(id as i32)).expect("a process");
        kill_process(process, signal).expect("a process");
    }

    #[track_caller]
    pub fn end(mut self) -> Ended {
        let code = wait_for("an end of the watcher", || self.child.try_wait().expect("a process")).exit_code();
        let text = self.screen.text_to_the_end();
        Ended { code, text, home: Arc::clone(&self.home) }
    }

    /// Waits until the watcher ends, and returns its exit code; the screen stays.
    #[track_caller]
    pub fn end_on_screen(&mut self) -> u32 {
        wait_for("an end of the watcher", || self.child.try_wait().expect("a process")).exit_code()
    }

    pub fn stop(self) -> Ended {
        self.signal(Signal::TERM);
        self.end()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

impl Ended {
    /// The log that the watcher kept, if there is one.
    pub fn log(&self) -> Option<PathBuf> {
        let directory = std::fs::read_dir(self.home.path().join(".local/share/sweep/sessions")).ok()?;
        directory.map(|entry| entry.expect("an entry").path()).next()
    }
}

#[expect(clippy::disallowed_methods, reason = "where the shell and tmux are, no setting of sweep's")]
pub fn path() -> String {
    std::env::var("PATH").expect("PATH")
}
