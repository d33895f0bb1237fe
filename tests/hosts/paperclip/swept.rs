//! sweep beside a server, as docs/hosts.md recommends: the owner makes the schema and the trigger, and the role
//! `sweeper` does everything else.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::paperclip::server::Server;
use crate::program::{grant_roles, report_of, succeed, sweep};

impl Server {
    /// Runs `sweep migrate --with-listen`, and deploy/postgres/role.sql.
    pub fn migrate(&self) {
        let url = self.database.url();
        succeed(sweep(self.home.path()).args(["migrate", "--with-listen", "--database", &url]));
        grant_roles(&url);
    }

    fn sweeper(&self) -> String {
        format!("{}&user=sweeper", self.database.url())
    }

    /// Runs one sweep, and returns its report.
    pub fn sweep(&self, arguments: &[&str]) -> Value {
        report_of(sweep(self.home.path()).args(["--database", &self.sweeper()]).args(arguments))
    }

    /// Runs one sweep that continues issues often, and without a delay once they are idle for `grace`. Returns its
    /// report.
    pub fn sweep_at_once(&self, grace: &str) -> Value {
        self.sweep(&[
            "--set",
            &format!("orphan_grace={grace}"),
            "--set",
            "retry_delay=0s",
            "--set",
            "attempts_max=9",
            "--no-guard",
        ])
    }

    /// Explains what a sweep would do about an issue that has been idle for a moment.
    pub fn explain(&self, issue: &str) -> Value {
        let arguments =
            ["explain", "issue", issue, "--output", "json", "--set", "orphan_grace=1s", "--database", &self.sweeper()];
        let text = succeed(sweep(self.home.path()).args(arguments));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// The item of an issue in `sweep attention`, if it needs a person.
    pub fn needs_a_person(&self, issue: &str) -> Option<Value> {
        let url = self.url();
        let arguments = ["attention", "--set", &format!("host_url={url}"), "--database", &self.sweeper()];
        let attention = report_of(sweep(self.home.path()).args(arguments));
        attention["items"].as_array().expect("a list").iter().find(|item| item["id"] == issue).cloned()
    }

    /// Starts `sweep daemon --listen on` with further arguments, and defaults for the rest.
    pub fn daemon(&self, arguments: &[&str]) -> Daemon {
        let url = self.sweeper();
        let mut command = sweep(self.home.path());
        command.args(["daemon", "--listen", "on", "--http", "off", "--database", &url]).args(arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("sweep starts");
        let log = Arc::new(Mutex::new(Vec::new()));
        let (ours, err) = (Arc::clone(&log), child.stderr.take().expect("a pipe"));
        thread::spawn(move || {
            for line in BufReader::new(err).lines().map_while(Result::ok) {
                ours.lock().expect("a log").push(line);
            }
        });
        Daemon { child, log }
    }
}

pub struct Daemon {
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
}

impl Daemon {
    pub fn log(&self) -> Vec<String> {
        self.log.lock().expect("a log").clone()
    }

    /// The daemon's processor time in seconds, and its peak memory in kilobytes.
    pub fn cost(&self) -> (f64, u64) {
        let read =
            |file: &str| std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap_or_default();
        let stat = read("stat");
        let after_name = stat.rsplit_once(") ").map(|(_, rest)| rest).unwrap_or_default();
        let ticks: u64 = after_name.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
        let status = read("status");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
        // Linux counts in hundredths of a second.
        (ticks as f64 / 100.0, peak.trim().trim_end_matches(" kB").parse().unwrap_or(0))
    }

    /// Asks the daemon to end, and waits until it has.
    pub fn end(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
        if thread::panicking() {
            eprintln!("The daemon said:\n{}", self.log().join("\n"));
        }
    }
}
