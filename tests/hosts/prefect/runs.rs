//! What became of a flow run, what its processes wrote down, and what sweep does about it.

use std::fs;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::api::Deployment;
use super::server::Server;
use crate::program::{report_of, said_of, succeed, sweep};
use crate::{seconds, wait_for};

impl Server {
    pub fn make_deployment(&self, name: &str) -> Deployment {
        self.api.make_deployment(name, &self.home().display().to_string())
    }

    /// What a run's processes wrote down: a line for each beginning and each end.
    pub fn journal(&self, run: &str) -> Vec<Value> {
        let journal = fs::read_to_string(self.home().join("journal")).expect("a journal");
        let lines = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["run"] == run).collect()
    }

    /// The journal in words: `begins 1`.
    pub fn played(&self, run: &str) -> Vec<String> {
        let word = |line: &Value| format!("{} {}", line["event"].as_str().unwrap_or_default(), line["turn"]);
        self.journal(run).iter().map(word).collect()
    }

    pub fn heartbeats(&self, run: &str) -> String {
        let heartbeats = format!(
            "select count(*) from events where event = 'prefect.flow-run.heartbeat' \
             and resource_id = 'prefect.flow-run.{run}'"
        );
        self.store.text(&heartbeats).expect("a number")
    }

    /// Waits for a heartbeat that the server has written; the server keeps events for some seconds.
    pub fn receive_heartbeat(&self, run: &str) {
        let before = self.heartbeats(run);
        self.api.send_heartbeat(run, self.api.run(run)["start_time"].as_str().expect("a time"));
        wait_for("its heartbeat is written", seconds(60), || (self.heartbeats(run) != before).then_some(()));
    }

    /// Dates all that is known of a run back by so many minutes.
    pub fn make_older(&self, run: &str, minutes: f64) {
        let of_run = format!("flow_run_id = '{run}'");
        let columns = ["created", "start_time", "state_timestamp", "next_scheduled_start_time"];
        self.store.make_older(minutes, "flow_run", &columns, &format!("id = '{run}'"));
        self.store.make_older(minutes, "flow_run_state", &["timestamp"], &of_run);
        self.store.make_older(minutes, "log", &["timestamp"], &of_run);
        self.store.make_older(minutes, "task_run", &["updated"], &of_run);
        self.store.make_older(minutes, "events", &["occurred"], &format!("resource_id = 'prefect.flow-run.{run}'"));
    }

    /// Sweeps this run alone, and returns what the report says about it. The server writes to a deployment for each
    /// worker that polls, and a sweep leaves what is locked.
    pub fn sweep(&self, run: &str, arguments: &[&str]) -> Value {
        let url = self.store.url_of_sweep();
        wait_for("it is not busy", seconds(30), || {
            let mut program = sweep(self.home());
            program.args(["--no-guard", "--issue", run, "--database", &url]).args(arguments);
            let report = report_of(&mut program);
            let said = said_of(&report, run).unwrap_or_else(|| panic!("nothing of {run}: {report}"));
            assert_ne!(said["outcome"], "failed", "{said}");
            (said["outcome"] != "busy").then(|| said.clone())
        })
    }

    /// The outcome that a dry run reports for a run.
    pub fn would_be(&self, run: &str) -> String {
        self.sweep(run, &["--dry-run"])["outcome"].as_str().unwrap_or_default().to_owned()
    }

    pub fn explain(&self, run: &str) -> Value {
        let url = self.store.url_of_sweep();
        let text = succeed(sweep(self.home()).args(["explain", "issue", run, "--output", "json", "--database", &url]));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

/// Kills a process of the journal, for which nobody has waited.
pub fn kill(line: &Value) {
    let pid = line["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw).expect("a process");
    kill_process(pid, Signal::KILL).expect("it runs");
}

pub fn kill_worker(mut worker: Child) {
    worker.kill().expect("it runs");
    worker.wait().expect("it ends");
}
