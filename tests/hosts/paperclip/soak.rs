//! The soak: hundreds of issues of agents that close, quit, crash, hang and are killed, a crash of the server in the
//! middle, and `sweep daemon --listen on` beside them. At its end it prints one table, and checks what must be true of
//! it.
//!
//! SOAK_ISSUES is the number of issues (210). SOAK_CONTROL=1 plays without sweep, and only prints.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::paperclip::api::Adapter;
use crate::paperclip::sampler::Sampler;
use crate::paperclip::server::Server;
use crate::paperclip::soak_table::Table;
use crate::seconds;

/// The plays of the issues, over and over again. By default sweep examines an issue fifteen seconds after its run has
/// ended.
const PLAYS: [(Adapter, &str); 20] = [
    (Adapter::Process, "close"),
    (Adapter::ClaudeLocal, "close"),
    (Adapter::Process, "quit, quit, close"),
    (Adapter::ClaudeLocal, "slow"),
    (Adapter::Process, "slow"),
    (Adapter::ClaudeLocal, "quit, close"),
    (Adapter::Process, "quit"),
    (Adapter::ClaudeLocal, "crash, close"),
    (Adapter::Process, "comment, close"),
    (Adapter::ClaudeLocal, "crash, crash, crash, close"),
    (Adapter::Process, "crash"),
    (Adapter::ClaudeLocal, "crash"),
    (Adapter::Process, "killed, close"),
    (Adapter::ClaudeLocal, "killed, close"),
    (Adapter::Process, "quit, close"),
    (Adapter::ClaudeLocal, "hang, close"),
    (Adapter::Process, "hang, close"),
    (Adapter::ClaudeLocal, "hang, comment"),
    (Adapter::Process, "close"),
    (Adapter::ClaudeLocal, "comment"),
];
/// A person cancels the hanging runs of this play; those of the others are killed.
const CANCELLED: &str = "hang, comment";

const BETWEEN_ISSUES: Duration = Duration::from_millis(1200);
const HANGS: Duration = seconds(20);
/// The server tries a crashed conversation again after 30 s, twice, and finds runs that died with it after a minute.
/// sweep examines every half minute what is idle for two minutes, and tells a person five minutes after the last
/// attempt.
const SETTLES: Duration = seconds(480);
const SETTLES_ALONE: Duration = seconds(300);

#[test]
#[ignore = "a quarter of an hour: make test-hosts"]
fn soak() {
    let (issues, is_control) = (number("SOAK_ISSUES", 210), number("SOAK_CONTROL", 0) == 1);
    let mut server = Server::start();
    server.migrate();
    let sampler = Sampler::start(&server);
    let mut daemon = (!is_control).then(|| server.daemon(&["--schedule", "*/30 * * * * *"]));
    let began = Instant::now();

    let mut played = Played::new(&server);
    for number in 0..issues {
        played.begin(&server, number);
        if number == issues / 2 {
            server.crash();
            server.restart();
        }
        played.end_what_hangs(&server);
        // Begins issues by the clock, so that a slow machine is given no less to do.
        thread::sleep((BETWEEN_ISSUES * (number as u32 + 1)).saturating_sub(began.elapsed()));
    }
    let settled = Instant::now() + if is_control { SETTLES_ALONE } else { SETTLES };
    while Instant::now() < settled {
        played.end_what_hangs(&server);
        thread::sleep(seconds(2));
    }

    let cost = daemon.as_ref().map(|daemon| daemon.cost());
    let took = began.elapsed();
    let table = Table::count(&server, sampler.end(), &played.cancelled, cost, took);
    println!("{table}");
    if let Some(daemon) = &mut daemon {
        daemon.end();
        table.must_be_well();
    }
}

/// The issues so far, and what was done to those that hang.
struct Played {
    agents: Vec<(Adapter, String)>,
    /// The issues that hang, until their run is cancelled or killed.
    hanging: BTreeMap<String, (&'static str, Instant)>,
    cancelled: Vec<String>,
}

impl Played {
    fn new(server: &Server) -> Played {
        let agent = |number: usize| {
            let adapter = if number.is_multiple_of(2) { Adapter::Process } else { Adapter::ClaudeLocal };
            (adapter, server.make_agent(&format!("Agent {number}"), adapter))
        };
        Played { agents: (0..6).map(agent).collect(), hanging: BTreeMap::new(), cancelled: Vec::new() }
    }

    fn begin(&mut self, server: &Server, number: usize) {
        let (adapter, plays) = PLAYS[number % PLAYS.len()];
        let fitting: Vec<&String> =
            self.agents.iter().filter(|(of, _)| *of == adapter).map(|(_, agent)| agent).collect();
        let issue = server.make_issue(fitting[number / 2 % fitting.len()], plays);
        if plays.starts_with("hang") {
            self.hanging.insert(issue, (plays, Instant::now()));
        }
    }

    /// Cancels, as a person, or kills each run that has hung for long enough.
    fn end_what_hangs(&mut self, server: &Server) {
        let due: Vec<String> = self
            .hanging
            .iter()
            .filter(|(_, (_, since))| since.elapsed() > HANGS)
            .map(|(issue, _)| issue.clone())
            .collect();
        for issue in due {
            let running = server.runs(&issue).into_iter().find(|run| run["status"] == "running");
            let Some(run) = running.and_then(|run| run["id"].as_str().map(str::to_owned)) else { continue };
            let Some((plays, _)) = self.hanging.get(&issue) else { continue };
            let Some(play) = server.played(&issue).into_iter().find(|play| play["run"] == *run) else { continue };
            if play["play"] == "hang" {
                if *plays == CANCELLED {
                    server.cancel_run(&run);
                    self.cancelled.push(issue.clone());
                } else {
                    kill(&play["pid"]);
                }
            }
            self.hanging.remove(&issue);
        }
    }
}

/// Kills a process that an agent wrote down; it runs, since the server says so, or has just ended.
fn kill(pid: &serde_json::Value) {
    let pid = pid.as_i64().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw).expect("a process");
    let _ = kill_process(pid, Signal::KILL);
}

#[expect(clippy::disallowed_methods, reason = "a test's own variable, no setting of sweep's")]
fn number(name: &str, default: usize) -> usize {
    std::env::var(name)
        .ok()
        .map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}
