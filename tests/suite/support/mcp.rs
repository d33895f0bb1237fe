//! A client of `sweep mcp`: it writes JSON-RPC on a pipe, reads the answers, and holds each to the schema that the
//! server gave for it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use jsonschema::Validator;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::json;
use crate::support::program::{Program, command_at};
use crate::support::wait::{PATIENCE, wait_for};

/// The most bytes of an answer.
pub const ANSWER_MAX: usize = 25_000;

/// The schemas of the tools' answers, alike for every server. Each is built once, when its tool is first called.
static SCHEMAS: Mutex<BTreeMap<String, Arc<Validator>>> = Mutex::new(BTreeMap::new());

pub struct Client {
    child: Child,
    to: Option<ChildStdin>,
    from: Receiver<String>,
    asked: u64,
    _program: Program,
}

/// `sweep mcp`, not yet started.
pub fn mcp<'a>(url: &'a str, arguments: impl IntoIterator<Item = &'a str>) -> Program {
    command_at(url, ["mcp"].into_iter().chain(arguments))
}

impl Client {
    /// A client of a server that only reads.
    pub fn start_read_only(url: &str) -> Client {
        Client::start(mcp(url, []))
    }

    /// Starts a server, and begins as the protocol demands.
    pub fn start(program: Program) -> Client {
        let mut client = Client::connect(program);
        let who = json!({ "name": "test", "version": "1.0" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who });
        let begun = client.ask("initialize", params);
        assert_eq!(begun["result"]["serverInfo"]["name"], "sweep", "{begun}");
        client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    /// Starts a server, and sends nothing yet.
    pub fn connect(program: Program) -> Client {
        let mut program = program.with_a_pipe_for_stdin();
        let mut child = program.start();
        let (sender, from) = channel();
        let out = child.stdout.take().expect("a pipe");
        thread::spawn(move || BufReader::new(out).lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let to = child.stdin.take();
        Client { child, to, from, asked: 0, _program: program }
    }

    pub fn tools(&mut self) -> Vec<Value> {
        self.ask("tools/list", json!({}))["result"]["tools"].as_array().expect("tools").clone()
    }

    /// The schema that the server gives for the answers of a tool.
    fn schema_of(&mut self, tool: &str) -> Arc<Validator> {
        if let Some(built) = SCHEMAS.lock().expect("schemas").get(tool) {
            return Arc::clone(built);
        }
        let tools = self.tools();
        let listed = tools.iter().find(|listed| listed["name"] == tool).expect("a tool of this server");
        let built = Arc::new(jsonschema::validator_for(&listed["outputSchema"]).expect("a schema"));
        SCHEMAS.lock().expect("schemas").insert(tool.to_owned(), Arc::clone(&built));
        built
    }

    pub fn write(&mut self, bytes: &[u8]) {
        let to = self.to.as_mut().expect("a pipe");
        to.write_all(bytes).and_then(|()| to.flush()).expect("a reader");
    }

    pub fn say(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// The next message, which must be alone on its line.
    #[track_caller]
    pub fn hear(&mut self) -> Value {
        let line = self.from.recv_timeout(PATIENCE).expect("an answer");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message
    }

    /// Sends a request, and returns the whole answer.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let answer = self.hear();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool. Its answer must be small, equal to its own text, and valid by its schemas.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let schema = self.schema_of(tool);
        let answered = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        let result = &answered["result"];
        assert_eq!(result["isError"], false, "{answered}");
        let answer = result["structuredContent"].clone();
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), answer);
        assert!(text.len() <= ANSWER_MAX, "{} bytes: {answer}", text.len());
        let wrong: Vec<String> = schema.iter_errors(&answer).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{wrong:?}: {answer:#}");
        json::parse_valid(text)
    }

    /// Calls a tool, and returns the reason for which it refused.
    #[track_caller]
    pub fn refusal(&mut self, tool: &str, arguments: Value) -> String {
        let answered = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_eq!(answered["result"]["isError"], true, "{answered}");
        answered["result"]["content"][0]["text"].as_str().expect("a text").to_owned()
    }

    /// All pages of a list, one after the other.
    #[track_caller]
    pub fn pages(&mut self, tool: &str, list: &str, arguments: Value) -> Vec<Vec<Value>> {
        self.first_pages(usize::MAX, tool, list, arguments)
    }

    /// The first pages of a list, at most `most`.
    #[track_caller]
    pub fn first_pages(&mut self, most: usize, tool: &str, list: &str, arguments: Value) -> Vec<Vec<Value>> {
        let (mut pages, mut arguments) = (Vec::new(), arguments);
        loop {
            let answer = self.call(tool, arguments.clone());
            pages.push(answer[list].as_array().expect("a list").clone());
            match &answer["next_page"] {
                Value::Null => return pages,
                _ if pages.len() == most => return pages,
                next => arguments["after"] = next.clone(),
            }
        }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a process");
    }

    pub fn hang_up(&mut self) {
        self.to = None;
    }

    /// Waits until the server ends by itself, and returns its exit code and log.
    #[track_caller]
    pub fn ended(mut self) -> (i32, String) {
        let status = wait_for("its end", || self.child.try_wait().expect("a process"));
        let mut log = String::new();
        self.child.stderr.take().expect("a pipe").read_to_string(&mut log).expect("UTF-8");
        (status.code().unwrap_or_else(|| panic!("{status}: {log}")), log)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}
