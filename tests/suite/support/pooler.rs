//! A PgBouncer in transaction mode before the tests' server, with PgBouncer's defaults for everything else.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::support::databases::server_socket;

/// A running PgBouncer, ended with its test.
pub struct Pooler {
    directory: TempDir,
    process: Child,
}

impl Pooler {
    /// Starts a pooler with this many connections to each database.
    pub fn start(pool: u32) -> Pooler {
        Pooler::start_with(&format!("default_pool_size = {pool}"))
    }

    /// Starts a pooler with these lines of configuration.
    pub fn start_with(configuration: &str) -> Pooler {
        // Directly in /tmp, since a socket's path has room for 100 bytes.
        let mut directory = tempfile::Builder::new();
        let directory = directory.prefix("sweep-pooler.").permissions(PermissionsExt::from_mode(0o755));
        let directory = directory.tempdir_in("/tmp").expect("a directory in /tmp");
        let (at, (host, port)) = (directory.path().display(), server_socket());
        let text = format!(
            "[databases]\n* = host={host} port={port} user=postgres\n\
             [pgbouncer]\npool_mode = transaction\nauth_type = any\nlisten_addr =\nunix_socket_dir = {at}\n\
             listen_port = 6432\nlogfile = {at}/log\n{configuration}\n"
        );
        let file = directory.path().join("pgbouncer.ini");
        std::fs::write(&file, text).expect("a file");
        let mut command = Command::new("pgbouncer");
        command.env("PATH", "/usr/bin:/bin:/usr/sbin").arg("--quiet").arg(&file);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // PgBouncer refuses to run as root, so root runs it as the user postgres, like the server.
        if id(&["-u"]) == 0 {
            let postgres = id(&["-u", "postgres"]);
            chown(directory.path(), Some(postgres), None).expect("a directory for postgres");
            command.uid(postgres);
        }
        let process = command.spawn().expect("pgbouncer, which `tests/prerequisites test` installs");
        let mut pooler = Pooler { directory, process };
        pooler.wait();
        pooler
    }

    pub fn url(&self, database: &str) -> String {
        let host = self.directory.path().display().to_string().replace('/', "%2F");
        format!("postgres://postgres@/{database}?host={host}&port=6432")
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    fn wait(&mut self) {
        let began = Instant::now();
        while std::os::unix::net::UnixStream::connect(self.directory().join(".s.PGSQL.6432")).is_err() {
            let log = || std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
            assert!(self.process.try_wait().expect("a process").is_none(), "pgbouncer ended: {}", log());
            assert!(began.elapsed() < Duration::from_secs(30), "pgbouncer does not listen: {}", log());
            sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn id(arguments: &[&str]) -> u32 {
    let output = Command::new("id").args(arguments).output().expect("id");
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number")
}
