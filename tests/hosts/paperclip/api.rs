//! Paperclip's HTTP API, as a person uses it: without a login everybody is its `local-board`.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::http;
use crate::paperclip::server::Server;

/// How an agent's runs are played. The server retries only a conversation, and only that has a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adapter {
    Process,
    ClaudeLocal,
}

impl Server {
    pub fn health(&self) -> Option<String> {
        let answer = self.call("GET", "/health", None).ok()?;
        answer.1["status"].as_str().map(str::to_owned)
    }

    pub fn make_company(&self, name: &str) -> String {
        id(&self.post("/companies", &json!({"name": name})))
    }

    pub fn make_agent(&self, name: &str, adapter: Adapter) -> String {
        let adapter = match adapter {
            Adapter::Process => "process",
            Adapter::ClaudeLocal => "claude_local",
        };
        let config = json!({
            "engine": "cli",
            "command": self.agent_program(),
            "cwd": self.home.path().join("work"),
            "env": {"AGENTS_JOURNAL": self.journal()},
        });
        let agent = json!({
            "name": name, "role": "engineer", "adapterType": adapter, "adapterConfig": config,
            "runtimeConfig": {"heartbeat": {"enabled": false, "wakeOnDemand": true}},
        });
        id(&self.post(&format!("/companies/{}/agents", self.company), &agent))
    }

    /// Makes an issue that its agent starts at once. `plays` says what its runs do, as agent.mjs explains.
    pub fn make_issue(&self, agent: &str, plays: &str) -> String {
        static MADE: AtomicUsize = AtomicUsize::new(1);
        // The server takes two issues of one title for one.
        let title = format!("{plays} #{}", MADE.fetch_add(1, Ordering::Relaxed));
        let issue = json!({"title": title, "status": "todo", "assigneeAgentId": agent});
        id(&self.post(&format!("/companies/{}/issues", self.company), &issue))
    }

    pub fn comment(&self, issue: &str, body: &str) {
        self.post(&format!("/issues/{issue}/comments"), &json!({"body": body}));
    }

    /// Changes an issue, as a person.
    pub fn change(&self, issue: &str, field: &str, value: &str) {
        self.patch(&format!("/issues/{issue}"), &json!({field: value}));
    }

    /// Opens an issue and archives it from the inbox, as a person.
    pub fn look_at(&self, issue: &str) {
        self.post(&format!("/issues/{issue}/read"), &json!({}));
        self.post(&format!("/issues/{issue}/inbox-archive"), &json!({}));
    }

    /// Sets how an agent is woken; `heartbeat` is JSON.
    pub fn set_heartbeat(&self, agent: &str, heartbeat: &str) {
        let heartbeat: Value = serde_json::from_str(heartbeat).expect("JSON");
        self.patch(&format!("/agents/{agent}"), &json!({"runtimeConfig": {"heartbeat": heartbeat}}));
    }

    /// Gives an agent a manager and terminates the manager, as a person.
    pub fn terminate_the_manager_of(&self, agent: &str) {
        let manager = self.make_agent("Max", Adapter::Process);
        self.patch(&format!("/agents/{agent}"), &json!({"reportsTo": manager}));
        self.post(&format!("/agents/{manager}/terminate"), &json!({}));
    }

    pub fn make_project(&self, name: &str) -> String {
        id(&self.post(&format!("/companies/{}/projects", self.company), &json!({"name": name})))
    }

    /// Cancels a run, as a person.
    pub fn cancel_run(&self, run: &str) {
        self.post(&format!("/heartbeat-runs/{run}/cancel"), &json!({}));
    }

    /// The list of the board's inbox.
    pub fn attention(&self) -> Vec<Value> {
        let answer = self.call("GET", &format!("/companies/{}/attention", self.company), None).expect("an answer");
        assert_eq!(answer.0, 200, "{}", answer.1);
        answer.1["items"].as_array().unwrap_or_else(|| panic!("no items: {}", answer.1)).clone()
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.send("POST", path, body)
    }

    fn patch(&self, path: &str, body: &Value) -> Value {
        self.send("PATCH", path, body)
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) =
            self.call(method, path, Some(body)).unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
        answer
    }

    /// The address of the board.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<(u16, Value), ureq::Error> {
        http::call(method, &format!("{}/api{path}", self.url()), body)
    }
}

fn id(answer: &Value) -> String {
    answer["id"].as_str().unwrap_or_else(|| panic!("no id: {answer}")).to_owned()
}
