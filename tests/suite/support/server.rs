//! PostgreSQL servers for tests that need one of their own.

use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::support::databases::{connect, run};
use crate::support::program::migrate_at;
use crate::support::scratch::psql;
use crate::support::starts::{self, Started};

/// A PostgreSQL server, stopped with its test.
pub struct Server {
    pub url: String,
    pub directory: TempDir,
}

impl Server {
    pub fn start() -> Server {
        Server::start_with(&[])
    }

    /// Starts a server with these settings: `["-c", "max_connections=9"]`.
    pub fn start_with(settings: &[&str]) -> Server {
        let directory = Server::directory();
        starts::record(Started::Server);
        let url = script(&[&["start", path(&directory)], settings].concat());
        Server { url, directory }
    }

    /// Replaces the rules by which the server lets clients in (pg_hba.conf).
    pub fn lets_in(&self, rules: &str) {
        std::fs::write(self.directory.path().join("data/pg_hba.conf"), format!("{rules}\n")).expect("a file");
        psql(&self.url, "select pg_reload_conf()").expect("a reload");
    }

    /// Starts a hot standby of this server.
    pub fn standby(&self) -> Server {
        self.standby_with(&[])
    }

    /// Starts a hot standby with these settings.
    pub fn standby_with(&self, settings: &[&str]) -> Server {
        let directory = Server::directory();
        starts::record(Started::Server);
        let url = script(&[&["standby", path(&directory), path(&self.directory)], settings].concat());
        Server { url, directory }
    }

    /// Stops the server at once, like a crash.
    pub fn crash(&self) {
        script(&["stop", path(&self.directory), "immediate"]);
    }

    /// Stops all its processes where they are (SIGSTOP): to the network all is well, and nothing is answered.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// The postmaster first: it starts no other process then.
    fn signal(&self, signal: Signal) {
        let postmaster = self.read_file("data/postmaster.pid");
        let postmaster = postmaster.lines().next().expect("a number").to_owned();
        kill(&postmaster, signal);
        for process in std::fs::read_dir("/proc").expect("processes").filter_map(Result::ok) {
            let stat = std::fs::read_to_string(process.path().join("stat")).unwrap_or_default();
            let parent = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1));
            if parent == Some(postmaster.as_str()) {
                kill(process.file_name().to_str().expect("a number"), signal);
            }
        }
    }

    pub fn restart(&self) {
        self.restart_with(&[]);
    }

    pub fn restart_with(&self, settings: &[&str]) {
        script(&[&["start", path(&self.directory)], settings].concat());
    }

    /// Promotes a standby to a primary.
    pub fn promote(&self) {
        script(&["promote", path(&self.directory)]);
    }

    /// Migrates the server's database, and makes so many orphans of 40 agents.
    pub fn with_orphans(self, orphans: usize) -> Server {
        migrate_at(&self.url, []).run().done();
        self.add_orphans(orphans);
        self
    }

    pub fn add_orphans(&self, orphans: usize) {
        let orphans = format!(
            "with agents as (insert into sweep.agents (name) select 'Ada ' || n from generate_series(1, 40) n \
                returning id),
                 agent as (select id, row_number() over () as place from agents)
             insert into sweep.issues (id, identifier, title, status, assignee_agent_id, started_at, created_at, \
             updated_at)
             select gen_random_uuid(), 'T-' || n, 'Mend the fence', 'in_progress', id, since, since, since
             from generate_series(1, {orphans}) n
                 join agent on place = n % 40 + 1, (select now() - interval '1 hour') as t (since)"
        );
        run(&mut connect(&self.url), &orphans);
    }

    pub fn port(&self) -> String {
        self.read_file("port")
    }

    fn read_file(&self, file: &str) -> String {
        let text = std::fs::read_to_string(self.directory.path().join(file)).expect("a server's file");
        text.trim().to_owned()
    }

    /// The URL over TCP, where the server has a certificate and asks for the password.
    pub fn tcp(&self, further: &str) -> String {
        format!(
            "host=localhost hostaddr=127.0.0.1 user=postgres dbname=postgres port={} password={} {further}",
            self.port(),
            self.read_file("password")
        )
    }

    /// A directory in /tmp, since a socket's path has room for 100 bytes. The server's user must reach it.
    fn directory() -> TempDir {
        use std::os::unix::fs::PermissionsExt;
        tempfile::Builder::new()
            .prefix("sweep-server.")
            .permissions(std::fs::Permissions::from_mode(0o755))
            .tempdir_in("/tmp")
            .expect("a directory in /tmp")
    }
}

fn kill(process: &str, signal: Signal) {
    // One that has ended meanwhile needs none.
    let _ = kill_process(process.parse().ok().and_then(Pid::from_raw).expect("a process"), signal);
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() && self.directory.path().join("data/postmaster.pid").exists() {
            self.thaw();
        }
        let _ = Command::new(SCRIPT).args(["stop", path(&self.directory), "immediate"]).output();
    }
}

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/postgres");

fn path(directory: &TempDir) -> &str {
    directory.path().to_str().expect("a plain path")
}

/// Runs `tests/postgres`. Its output goes through a file: a server that it leaves behind would keep a pipe open.
fn script(arguments: &[&str]) -> String {
    let out = tempfile::NamedTempFile::new().expect("a file");
    let to = || out.reopen().expect("a file");
    let status = Command::new(SCRIPT).args(arguments).stdout(to()).stderr(to()).status();
    let text = std::fs::read_to_string(out.path()).expect("its output");
    assert!(status.expect("tests/postgres").success(), "{arguments:?}: {text}");
    text.trim().to_owned()
}
