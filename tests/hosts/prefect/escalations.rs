//! An escalated run is where Prefect's users look: in its timeline and among its artifacts.

use serde_json::{Value, json};

use super::server::Server;
use crate::{seconds, wait_for};

pub fn an_escalation_is_read_back_frees_the_slot_and_can_be_retried(server: &Server) {
    let deployment = server.make_deployment("escalated");
    server.api.patch("/work_pools/escalated", &json!({"concurrency_limit": 1}));
    let (dead, next) = (server.api.make_running_run(&deployment), server.api.make_run(&deployment, 0));
    server.make_older(&dead, 70.0);
    let due = || server.api.post("/work_pools/escalated/get_scheduled_flow_runs", &json!({})).as_array().map(Vec::len);
    assert_eq!(due(), Some(0), "the dead run has the only slot");
    assert_eq!(server.sweep(&dead, &["--set", "attempts_max=0"])["outcome"], "escalated");

    let states = server.api.states(&dead);
    let last = states.last().expect("a state");
    assert_eq!((&last["type"], server.api.state(&dead).as_str()), (&"CRASHED".into(), "CRASHED"), "{states:#?}");
    assert!(last["message"].as_str().is_some_and(|said| said.contains("press Retry")), "{last}");
    let artifacts = server.api.artifacts(&dead);
    assert_eq!((artifacts.len(), &artifacts[0]["type"]), (1, &"markdown".into()), "{artifacts:#?}");
    assert!(artifacts[0]["data"].as_str().is_some_and(|text| text.contains("needs a person")), "{artifacts:#?}");
    let graph = server.api.get(&format!("/flow_runs/{dead}/graph-v2"));
    assert_eq!(graph["artifacts"].as_array().map(Vec::len), Some(1), "{graph}");
    let listed =
        server.api.post("/flow_runs/filter", &json!({"flow_runs": {"state": {"type": {"any_": ["CRASHED"]}}}}));
    assert!(listed.to_string().contains(&dead), "{listed}");
    assert_eq!(due(), Some(1), "the slot is free");

    // A person presses Retry.
    let retry = json!({"type": "SCHEDULED", "name": "AwaitingRetry", "message": "Retry from the Prefect UI"});
    assert_eq!(server.api.set_state(&dead, &retry, false), "ACCEPT");
    let worker = server.start_worker("escalated", "three");
    for run in [&next, &dead] {
        wait_for("it is completed", seconds(240), || (server.api.state(run) == "COMPLETED").then_some(()));
    }
    assert_eq!(server.sweep(&dead, &[])["outcome"], "recovered");
    super::runs::kill_worker(worker);
}

pub fn a_comment_alone_leaves_the_run_as_it_is(server: &Server) {
    let run = server.api.make_running_run(&server.make_deployment("commented"));
    server.make_older(&run, 70.0);
    let comment_only = ["--set", "attempts_max=0", "--set", "escalation=comment_only"];
    assert_eq!(server.sweep(&run, &comment_only)["outcome"], "escalated");
    assert_eq!(server.sweep(&run, &comment_only)["outcome"], "waiting", "once is enough");
    assert_eq!((server.api.state(&run).as_str(), server.api.artifacts(&run).len()), ("RUNNING", 1));
}

pub fn what_no_worker_can_take_up_goes_to_a_person_at_once(server: &Server) {
    let deployment = server.make_deployment("ad hoc");
    let made = json!({"flow_id": deployment.flow, "state": {"type": "RUNNING"}});
    let run: Value = server.api.post("/flow_runs/", &made);
    let run = run["id"].as_str().expect("an id");
    server.make_older(run, 70.0);
    let said = server.sweep(run, &[]);
    assert_eq!((&said["outcome"], server.api.state(run).as_str()), (&"escalated".into(), "CRASHED"), "{said}");
    assert!(server.api.artifacts(run)[0].to_string().contains("no deployment"), "{:?}", server.api.artifacts(run));
}
