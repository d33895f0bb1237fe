//! The protocol: what is no message is answered and passed over, and the end of stdin, or a signal, is the end.

use std::io::{BufRead, BufReader, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::mcp::{Client, mcp};
use crate::support::wait::wait_for;
use crate::support::world::{On, World};

fn client() -> (World, Client) {
    let world = World::new(On::Sqlite);
    let client = Client::start_read_only(&world.url);
    (world, client)
}

#[test]
fn garbage_is_answered_as_the_protocol_has_it_and_the_server_goes_on() {
    let (_world, mut client) = client();
    let deep = "[".repeat(100_000);
    for (line, code, id) in [
        ("garbage", -32700, Value::Null),
        ("\u{0}\u{1}", -32700, Value::Null),
        (deep.as_str(), -32700, Value::Null),
        ("{}", -32600, Value::Null),
        ("[]", -32600, Value::Null),
        ("null", -32600, Value::Null),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, Value::Null),
        (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, -32600, json!(7)),
        (r#"{"jsonrpc":"2.0","id":"seven"}"#, -32600, json!("seven")),
        (r#"{"jsonrpc":"2.0","id":8,"method":"no/such"}"#, -32601, json!(8)),
        (r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"nme":"status"}}"#, -32602, json!(9)),
        (r#"{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"no_such"}}"#, -32602, json!(10)),
    ] {
        client.write(format!("{line}\n").as_bytes());
        let answer = client.hear();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{line:.100}: {answer}");
    }
    client.write(b"\xff\xfe\n\n\r\n");
    assert_eq!(client.hear()["error"]["code"], -32700);
    // None of these is answered.
    client.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    client.call("status", json!({}));
}

#[test]
fn a_message_that_is_too_long_is_refused_and_passed_over() {
    let (_world, mut client) = client();
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#, "x".repeat(8 << 20));
    client.write(format!("{long}\n").as_bytes());
    let answer = client.hear();
    assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &Value::Null), "{answer}");
    client.call("status", json!({}));
}

#[test]
fn what_comes_before_initialize_is_no_end() {
    let world = World::new(On::Sqlite);
    let mut client = Client::connect(mcp(&world.url, []));
    client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    client.write(b"garbage\n");
    assert_eq!(client.hear()["error"]["code"], -32700);
    assert_eq!(client.ask("tools/list", json!({}))["error"]["code"], -32602);
    assert!(client.ask("ping", json!({}))["result"].is_object());
    let who = json!({ "name": "test", "version": "1.0" });
    let begun =
        client.ask("initialize", json!({ "protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": who }));
    let version = begun["result"]["protocolVersion"].as_str().expect("a version");
    assert!(version.starts_with("202"), "one that the server knows: {begun}");
    assert!(client.ask("tools/list", json!({}))["result"]["tools"].is_array());
}

#[test]
fn many_calls_at_once_are_answered_one_after_the_other_or_refused() {
    let (_world, mut client) = client();
    for id in 100..160 {
        let params = json!({ "name": "status", "arguments": {} });
        client.say(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
    }
    let answers: Vec<Value> = (100..160).map(|_| client.hear()).collect();
    let (refused, done): (Vec<&Value>, Vec<&Value>) =
        answers.iter().partition(|answer| answer["result"]["isError"] == true);
    assert!(16 <= done.len(), "{}", done.len());
    let is_said =
        |answer: &&Value| answer["result"]["content"][0]["text"].as_str().expect("a text").contains("16 calls");
    assert!(refused.iter().all(is_said), "{refused:?}");
    client.call("status", json!({}));
}

#[test]
fn the_end_of_stdin_is_the_end() {
    let (_world, mut client) = client();
    client.hang_up();
    let (code, log) = client.ended();
    assert_eq!((code, log.as_str()), (0, ""));
    let world = World::new(On::Sqlite);
    let mut silent = Client::connect(mcp(&world.url, []));
    silent.hang_up();
    assert_eq!(silent.ended().0, 0);
}

#[test]
fn what_was_asked_before_the_end_is_answered() {
    let (_world, mut client) = client();
    let params = json!({ "name": "status", "arguments": {} });
    client.say(&json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params }));
    client.hang_up();
    assert_eq!(client.hear()["id"], 9);
    assert_eq!(client.ended().0, 0);
}

#[test]
fn a_signal_is_the_end() {
    for signal in [Signal::TERM, Signal::INT] {
        let (_world, client) = client();
        client.signal(signal);
        assert_eq!(client.ended().0, 0);
    }
}

/// Otherwise a client that writes and never reads fills the server's memory with answers.
#[test]
fn nothing_more_is_read_from_a_client_that_reads_no_answers_and_all_are_answered_when_it_does() {
    const ASKED: usize = 50_000;
    let world = World::new(On::Sqlite);
    let mut program = mcp(&world.url, []).with_a_pipe_for_stdin();
    let mut child = program.start();
    let mut to = child.stdin.take().expect("a pipe");
    let written = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&written);
    let writer = thread::spawn(move || {
        for id in 0..ASKED {
            writeln!(to, r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).expect("a reader");
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let mut before = 0;
    let stopped = wait_for("a writer that waits", || {
        let now = written.load(Ordering::SeqCst);
        thread::sleep(Duration::from_millis(100));
        (0 < now && std::mem::replace(&mut before, now) == now).then_some(now)
    });
    assert!(stopped < ASKED / 2, "{stopped}");
    let answers = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    assert_eq!(answers.count(), ASKED);
    writer.join().expect("a writer");
    assert!(child.wait().expect("a process").success());
}
