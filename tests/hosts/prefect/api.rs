//! Prefect's REST API, as its UI and its users call it.

use serde_json::{Value, json};

use crate::{http, seconds, wait_for};

#[derive(Clone)]
pub struct Api {
    port: u16,
}

/// A deployment, and the queue and pool from which workers take its runs.
pub struct Deployment {
    pub id: String,
    pub flow: String,
    pub queue: String,
    pub pool: String,
}

impl Api {
    pub fn new(port: u16) -> Api {
        Api { port }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/api", self.port)
    }

    pub fn is_healthy(&self) -> bool {
        http::call("GET", &format!("{}/health", self.url()), None).is_ok_and(|(status, _)| status == 200)
    }

    pub fn get(&self, path: &str) -> Value {
        self.ask("GET", path, None)
    }

    pub fn post(&self, path: &str, body: &Value) -> Value {
        self.ask("POST", path, Some(body))
    }

    pub fn patch(&self, path: &str, body: &Value) {
        self.ask("PATCH", path, Some(body));
    }

    /// Sends a request. On SQLite a busy server says so, and expects its clients to try again.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        wait_for("the server has time", seconds(60), || {
            let answer = http::call(method, &format!("{}{path}", self.url()), body);
            let (status, answer) = answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
            assert!(status == 503 || (200..300).contains(&status), "{method} {path}: {status} {answer}");
            (status != 503).then_some(answer)
        })
    }

    /// Makes a deployment of the tests' flow in a pool of its own; both have this name.
    pub fn make_deployment(&self, name: &str, directory: &str) -> Deployment {
        self.post("/work_pools/", &json!({"name": name, "type": "process"}));
        let flow = id(&self.post("/flows/", &json!({"name": name})));
        let steps = json!([{"prefect.deployments.steps.set_working_directory": {"directory": directory}}]);
        let made = self.post(
            "/deployments/",
            &json!({"name": name, "flow_id": flow, "work_pool_name": name, "path": directory, "pull_steps": steps,
                    "entrypoint": "flow.py:work", "enforce_parameter_schema": false}),
        );
        let queue = made["work_queue_id"].as_str().expect("a queue").to_owned();
        Deployment { id: id(&made), flow, queue, pool: name.to_owned() }
    }

    /// Makes a run that waits for a worker. Its first `hangs` runs do not end.
    pub fn make_run(&self, deployment: &Deployment, hangs: u32) -> String {
        let run = json!({"parameters": {"hangs": hangs}});
        id(&self.post(&format!("/deployments/{}/create_flow_run", deployment.id), &run))
    }

    /// Sets the state of a run, whatever it was, and returns what the server made of it: `ACCEPT` or not.
    pub fn set_state(&self, run: &str, state: &Value, force: bool) -> String {
        let answer = self.post(&format!("/flow_runs/{run}/set_state"), &json!({"state": state, "force": force}));
        answer["status"].as_str().unwrap_or_default().to_owned()
    }

    /// Makes a run that is RUNNING, without a process.
    pub fn make_running_run(&self, deployment: &Deployment) -> String {
        let run = self.make_run(deployment, 0);
        self.set_state(&run, &json!({"type": "PENDING"}), true);
        self.set_state(&run, &json!({"type": "RUNNING"}), true);
        run
    }

    pub fn send_heartbeat(&self, run: &str, at: &str) {
        let event = json!({
            "occurred": at, "event": "prefect.flow-run.heartbeat", "payload": {},
            "id": uuid::Uuid::now_v7().to_string(),
            "resource": {"prefect.resource.id": format!("prefect.flow-run.{run}")},
        });
        self.post("/events", &json!([event]));
    }

    pub fn run(&self, run: &str) -> Value {
        self.get(&format!("/flow_runs/{run}"))
    }

    /// The type of a run's state.
    pub fn state(&self, run: &str) -> String {
        self.run(run)["state_type"].as_str().unwrap_or_default().to_owned()
    }

    /// The states of a run, oldest first.
    pub fn states(&self, run: &str) -> Vec<Value> {
        let mut states = self.get(&format!("/flow_run_states/?flow_run_id={run}")).as_array().expect("states").clone();
        states.sort_by_key(|state| state["timestamp"].as_str().unwrap_or_default().to_owned());
        states
    }

    /// The artifacts of a run, which people read.
    pub fn artifacts(&self, run: &str) -> Vec<Value> {
        let of_run = json!({"artifacts": {"flow_run_id": {"any_": [run]}}});
        self.post("/artifacts/filter", &of_run).as_array().expect("artifacts").clone()
    }
}

fn id(answer: &Value) -> String {
    answer["id"].as_str().unwrap_or_else(|| panic!("no id: {answer}")).to_owned()
}
