//! A real tmux, on a server of the test's own.

use std::process::Command;
use std::sync::Arc;

use portable_pty::CommandBuilder;
use tempfile::TempDir;

use crate::support::starts::{self, Started};
use crate::support::terminal::Screen;
use crate::support::wait::wait_for;
use crate::support::watcher::{Watcher, path};
use crate::support::world::World;

/// A server of tmux with one pane, `%1`, that stays when its process ends.
pub struct Tmux {
    pub home: Arc<TempDir>,
}

impl Tmux {
    pub fn running(script: &str) -> Tmux {
        let tmux = Tmux { home: Arc::new(tempfile::tempdir().expect("a directory")) };
        starts::record(Started::Terminal);
        std::fs::write(tmux.home.path().join("agent.sh"), script).expect("a file");
        tmux.ask(&["new-session", "-d", "-s", "main", "-x", "100", "-y", "30", "sleep 1000"]);
        tmux.ask(&["set-option", "-g", "remain-on-exit", "on"]);
        tmux.ask(&["new-window", "-t", "main:", "sh agent.sh"]);
        tmux
    }

    /// Starts a server whose pane is as large as most people's.
    pub fn of_the_usual_size() -> Tmux {
        starts::record(Started::Terminal);
        let tmux = Tmux { home: Arc::new(tempfile::tempdir().expect("a directory")) };
        tmux.ask(&["new-session", "-d", "-s", "main", "-x", "80", "-y", "24", "sleep 1000"]);
        tmux.ask(&["set-option", "-g", "status", "off"]);
        tmux
    }

    pub fn ask(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.env_clear().env("PATH", path()).env("TMUX_TMPDIR", self.home.path()).env("SHELL", "/bin/sh");
        let asked = command.args(["-u", "-f", "/dev/null"]).args(arguments).current_dir(self.home.path()).output();
        let asked = asked.expect("tmux");
        assert!(asked.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&asked.stderr));
        String::from_utf8_lossy(&asked.stdout).into_owned()
    }

    pub fn pane(&self) -> String {
        self.ask(&["capture-pane", "-p", "-J", "-S", "-1000", "-t", "%1"])
    }

    #[track_caller]
    pub fn until_it_shows(&self, text: &str) {
        wait_for(text, || self.pane().contains(text).then_some(()));
    }

    /// Attaches a person's terminal.
    pub fn attach(&self) -> Screen {
        let screen = Screen::new();
        let mut command = CommandBuilder::new("tmux");
        command.env_clear();
        let tmpdir = self.home.path().display().to_string();
        [("PATH", path()), ("TERM", "xterm-256color".to_owned()), ("TMUX_TMPDIR", tmpdir)]
            .into_iter()
            .for_each(|(name, value)| command.env(name, value));
        command.args(["-u", "attach", "-t", "main"]);
        drop(screen.start(command));
        wait_for("a client", || (!self.ask(&["list-clients"]).is_empty()).then_some(()));
        screen
    }

    pub fn watch(&self, world: &World, flags: &[&str]) -> Watcher {
        self.watch_pane(world, "%1", "agent", flags)
    }

    /// Watches a pane as the session of this name.
    pub fn watch_pane(&self, world: &World, pane: &str, name: &str, flags: &[&str]) -> Watcher {
        let words = ["--database", &world.url, "--name", name, "--tmux", pane];
        Watcher::at_home(Arc::clone(&self.home), &[&words[..], flags].concat())
    }

    /// What the status line shows of the window of this pane.
    pub fn status_line(&self, pane: &str) -> String {
        let shown = self.ask(&["display-message", "-p", "-t", pane, "#{T:window-status-current-format}"]);
        shown.trim_end_matches('\n').to_owned()
    }

    /// The formats with which the status line shows the window of this pane, as far as that has its own.
    pub fn window_formats(&self, pane: &str) -> [String; 2] {
        ["window-status-format", "window-status-current-format"]
            .map(|format| self.ask(&["show-options", "-w", "-v", "-t", pane, format]))
    }

    pub fn has_no_trace_of_a_shell(&self) -> bool {
        !self.home.path().join("ran").exists()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.ask(&["kill-server"]);
    }
}
