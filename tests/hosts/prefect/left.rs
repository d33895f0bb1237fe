//! The runs that sweep leaves: those that live, that wait, and that somebody has paused or is cancelling.

use serde_json::{Value, json};

use super::server::Server;
use super::store::Store;
use crate::program::found_of;

pub fn a_healthy_run_that_says_nothing_between_two_heartbeats_is_left(server: &Server) {
    let run = server.api.make_running_run(&server.make_deployment("healthy"));
    server.receive_heartbeat(&run);
    server.make_older(&run, 2.5);
    assert_eq!(server.would_be(&run), "healthy");
    assert_eq!(found_of(&server.explain(&run), "no run is live"), "one is");
    // The negative control: three heartbeats are missing.
    server.make_older(&run, 8.0);
    assert_eq!(server.would_be(&run), "continued");
    assert!(found_of(&server.explain(&run), "no run is live").contains("its lease has run out"));
    // A task of the run is a sign of life as well, and so is a line of its log.
    let now = server.store.now();
    let line = json!({"name": "flow", "level": 20, "message": "so far", "timestamp": now, "flow_run_id": run});
    server.api.post("/logs/", &json!([line]));
    assert_eq!(server.would_be(&run), "healthy");
}

pub fn a_run_without_any_heartbeat_is_given_more_time(server: &Server) {
    let run = server.api.make_running_run(&server.make_deployment("silent"));
    server.make_older(&run, 55.0);
    assert_eq!(server.would_be(&run), "healthy");
    server.make_older(&run, 10.0);
    assert_eq!(server.would_be(&run), "continued");
    assert!(found_of(&server.explain(&run), "no run is live").contains("its lease has run out"));
}

/// Rows that only a writer of the tables can make, such as times that no calendar has and many tasks of other runs, do
/// not keep sweep from reading a run.
pub fn what_others_write_stops_no_look_at_a_run(server: &Server) {
    let Store::Postgres(_) = server.store else { return };
    let deployment = server.make_deployment("besieged");
    let run = server.api.make_running_run(&deployment);
    let others: Vec<String> = (0..5).map(|_| server.api.make_running_run(&deployment)).collect();
    let other = &others[0];
    for at in ["294276-12-31 23:59:59Z", "4714-11-24 00:00Z BC", "infinity", "-infinity"] {
        server.store.run(&format!(
            "insert into events (event, resource_id, occurred, received, recorded, resource, payload)
             select 'prefect.flow-run.heartbeat', 'prefect.flow-run.{other}', '{at}', now(), now(), '{{}}', '{{}}'"
        ));
        assert_eq!(server.would_be(&run), "healthy", "{at}");
    }
    server.store.run(&format!(
        "insert into task_run (name, task_key, dynamic_key, flow_run_id, state_type, state_name, updated)
         select 't', 't', n::text, ('{{{0}}}'::uuid[])[1 + n % 5], 'COMPLETED', 'Completed', now() - interval '2 hours'
         from generate_series(1, 20000) n;
         analyze task_run, flow_run",
        others.join(",")
    ));
    server.store.run(
        "create function plan_of_a_look() returns text language plpgsql as $$ declare plan json; begin
             execute 'explain (format json) select lease_seconds, last_at from sweep.signs_of_life' into plan;
             return plan::text; end $$",
    );
    let plan = server.store.text("select plan_of_a_look()").expect("a plan");
    assert!(plan.contains("ix_task_run__flow_run_id") && !plan.contains("ix_task_run__updated"), "{plan}");
    server.store.run("drop function plan_of_a_look()");
    server
        .store
        .run(&format!("delete from task_run where name = 't'; delete from events where resource_id like '%{other}'"));
}

pub fn a_pause_of_its_deployment_its_queue_or_its_pool_is_respected(server: &Server) {
    let deployment = server.make_deployment("paused");
    let run = server.api.make_running_run(&deployment);
    server.make_older(&run, 70.0);
    let paused = |path: &str, key: &str| {
        assert_eq!(server.would_be(&run), "continued", "{path}");
        server.api.patch(path, &json!({key: true}));
        let said = server.sweep(&run, &[]);
        assert_eq!(said["outcome"], "skipped", "{path}: {said}");
        assert!(said["reason"].as_str().is_some_and(|why| why.contains("paused")), "{said}");
        assert_eq!(server.api.state(&run), "RUNNING", "{path}");
        server.api.patch(path, &json!({key: false}));
    };
    paused(&format!("/deployments/{}", deployment.id), "paused");
    paused(&format!("/work_queues/{}", deployment.queue), "is_paused");
    paused(&format!("/work_pools/{}", deployment.pool), "is_paused");
}

pub fn a_run_that_waits_or_is_being_cancelled_is_left(server: &Server) {
    let deployment = server.make_deployment("waiting");
    let left_in = |state: Value, why: &str| {
        let run = server.api.make_running_run(&deployment);
        server.api.set_state(&run, &state, true);
        server.make_older(&run, 70.0);
        let said = server.sweep(&run, &[]);
        assert_eq!(
            (&said["decision"], &server.api.run(&run)["state_name"]),
            (&"leave".into(), &state["name"]),
            "{said}"
        );
        assert!(said["reason"].as_str().is_some_and(|reason| reason.contains(why)), "{said}");
        run
    };
    let far = json!({"pause_timeout": "2100-01-01T00:00:00Z"});
    let paused =
        left_in(json!({"type": "PAUSED", "name": "Suspended", "state_details": far}), "it waits: somebody resumes it");
    let input = json!({"key": "keyset", "value": "\"which city?\"", "sender": null});
    server.api.post(&format!("/flow_runs/{paused}/input"), &input);
    assert!(found_of(&server.explain(&paused), "no wait is declared").contains("input by a person"));
    left_in(json!({"type": "CANCELLING", "name": "Cancelling"}), "it is cancelling");
    let later = json!({"scheduled_time": "2100-01-01T00:00:00Z"});
    left_in(json!({"type": "SCHEDULED", "name": "AwaitingRetry", "state_details": later}), "it is AwaitingRetry, for ");
}
