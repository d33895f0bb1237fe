//! The real Prefect server and its workers: each is started in a home of the test's own, and ended by its pid, also
//! when a test fails.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use super::api::Api;
use super::store::Store;
use crate::processes::{free_port, kill_all_of};
use crate::program::{grant_roles, succeed, sweep};
use crate::{seconds, setting, wait_for};

/// The server makes its tables first, which takes ten seconds on a machine that does nothing else.
const START: Duration = seconds(180);

pub struct Server {
    pub store: Store,
    pub api: Api,
    home: TempDir,
}

impl Server {
    pub fn start(store: Store) -> Server {
        let home = tempfile::Builder::new().prefix("sweep-prefect.").tempdir_in("/tmp").expect("a directory");
        fs::write(home.path().join("journal"), "").expect("a journal");
        let flow = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts/prefect/flow.py");
        fs::copy(flow, home.path().join("flow.py")).expect("the flow");
        let port = free_port();
        let server = Server { store, api: Api::new(port), home };
        let arguments = ["server", "start", "--host", "127.0.0.1", "--no-ui", "--port", &port.to_string()];
        let mut child = server.prefect("server", &arguments);
        wait_for("the server answers", START, || {
            let ended = child.try_wait().expect("a process");
            assert!(ended.is_none(), "the server ended: {ended:?}");
            server.api.is_healthy().then_some(())
        });
        server
    }

    /// Starts a worker of this pool that polls often.
    pub fn start_worker(&self, pool: &str, name: &str) -> Child {
        self.prefect(name, &["worker", "start", "--pool", pool, "--type", "process", "--name", name])
    }

    fn prefect(&self, log: &str, arguments: &[&str]) -> Child {
        let log = File::create(self.home.path().join(format!("{log}.log"))).expect("a log");
        let programs = PathBuf::from(setting("TEST_PREFECT")).join("venv/bin");
        let mut command = Command::new(programs.join("prefect"));
        command.args(arguments).env_clear().current_dir(self.home.path());
        command.env("PATH", format!("{}:/usr/bin:/bin", programs.display())).env("HOME", self.home.path());
        command.env("PREFECT_HOME", self.home.path()).env("FLOWS_JOURNAL", self.home.path().join("journal"));
        command.env("PREFECT_API_URL", self.api.url()).env("PREFECT_SERVER_ANALYTICS_ENABLED", "false");
        command.env("PREFECT_API_DATABASE_CONNECTION_URL", self.store.url_of_prefect());
        command.env("PREFECT_WORKER_QUERY_SECONDS", "2").env("DO_NOT_TRACK", "1");
        command.stdin(Stdio::null()).stderr(log.try_clone().expect("a log")).stdout(log);
        command.spawn().expect("prefect starts")
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn migrate(&self) {
        let url = self.store.url();
        let migrate =
            |further: &[&str]| succeed(sweep(self.home()).args(["migrate", "--database", &url]).args(further));
        let said = migrate(&[]);
        assert!(said.starts_with("Migrated (host prefect)"), "{said}");
        if let Store::Postgres(database) = &self.store {
            assert!(migrate(&["--with-listen"]).ends_with("hosts/prefect/postgres_listen/2026-11-24-001302_listen\n"));
            grant_roles(&database.url());
        }
    }

    pub fn uninstall(&self) {
        succeed(sweep(self.home()).args(["migrate", "--uninstall", "--yes", "--database", &self.store.url()]));
    }

    /// Runs `sweep host verify` on the tables that the server has made.
    pub fn verify(&self) {
        let url = match &self.store {
            Store::Postgres(database) => database.hand_over(),
            Store::Sqlite(_) => self.store.url(),
        };
        let arguments = ["host", "verify", "prefect", "--rows", "2000", "--database", &url];
        println!("{}", succeed(sweep(self.home()).args(arguments)));
    }

    /// Starts a client that has the server write all the time.
    pub fn keep_writing(&self) -> Writer {
        let (api, is_over) = (self.api.clone(), Arc::new(AtomicBool::new(false)));
        let over = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            let mut written = 0;
            while !over.load(Ordering::Relaxed) {
                let message = written.to_string();
                let line =
                    json!({"name": "writer", "level": 20, "message": message, "timestamp": "2026-01-01T00:00:00Z"});
                api.post("/logs/", &json!([line]));
                written += 1;
                thread::sleep(Duration::from_millis(100));
            }
            written
        });
        Writer { is_over, thread }
    }

    /// Kills the server, its workers and their flows at once, like a power cut.
    pub fn kill(&self) {
        kill_all_of(self.home());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        if thread::panicking() {
            for entry in fs::read_dir(self.home()).into_iter().flatten().flatten() {
                let said = fs::read_to_string(entry.path()).unwrap_or_default();
                let last: Vec<&str> = said.lines().rev().take(30).collect();
                let last = last.into_iter().rev().collect::<Vec<_>>().join("\n");
                eprintln!("{}:\n{last}\n", entry.path().display());
            }
        }
    }
}

pub struct Writer {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<usize>,
}

impl Writer {
    /// Ends the client, and returns how many lines the server has written for it.
    pub fn end(self) -> usize {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().expect("a thread")
    }
}
