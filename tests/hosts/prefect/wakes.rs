//! A flow run whose process died is scheduled once more, and a live worker completes it.

use std::process::Stdio;

use super::runs::{kill, kill_worker};
use super::server::Server;
use crate::program::sweep;
use crate::{seconds, wait_for};

const STARTS: std::time::Duration = seconds(180);

pub fn a_run_whose_worker_and_process_were_killed_is_completed_once_by_a_live_worker(server: &Server) {
    let deployment = server.make_deployment("killed");
    let worker = server.start_worker("killed", "one");
    let run = server.api.make_run(&deployment, 1);
    let begun = wait_for("it is at work", STARTS, || server.journal(&run).pop());
    wait_for("its process has sent a heartbeat", seconds(60), || (server.heartbeats(&run) == "1").then_some(()));
    kill_worker(worker);
    kill(&begun);
    let live = server.start_worker("killed", "two");

    // With the default of 180 s, two heartbeats may be missing for other reasons.
    assert_eq!(server.would_be(&run), "healthy");
    server.make_older(&run, 8.5);
    assert_eq!(server.would_be(&run), "healthy");
    server.make_older(&run, 2.0);
    assert_eq!(server.would_be(&run), "continued");
    assert_eq!(server.api.state(&run), "RUNNING", "and its server and the other worker do nothing");

    // Several sweeps at once make one state.
    let url = server.store.url_of_sweep();
    let mut programs = [(); 3].map(|()| sweep(server.home()));
    let sweeps = programs.each_mut().map(|program| {
        program.args(["--no-guard", "--issue", &run, "--database", &url]).stdout(Stdio::null()).stderr(Stdio::null());
        program.spawn().expect("sweep starts")
    });
    for mut sweep in sweeps {
        sweep.wait().expect("an end");
    }
    server.sweep(&run, &[]);
    wait_for("a live worker completes it", STARTS, || (server.api.state(&run) == "COMPLETED").then_some(()));

    let states = server.api.states(&run);
    let ours = states.iter().filter(|state| state["message"].as_str().is_some_and(|said| said.starts_with("sweep: ")));
    let names: Vec<&str> = ours.filter_map(|state| state["name"].as_str()).collect();
    assert_eq!(names, ["AwaitingRetry"], "{states:#?}");
    assert_eq!(server.api.run(&run)["run_count"], 2);
    assert_eq!(server.played(&run), ["begins 1", "begins 2", "ends 2"]);
    assert_eq!(server.sweep(&run, &[])["outcome"], "recovered");
    kill_worker(live);
}
