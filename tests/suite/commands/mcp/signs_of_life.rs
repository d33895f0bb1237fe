//! With `--session` each call of a tool is a sign of life of that session, whatever the tool answers.

use serde_json::json;
use sweep::rules::Kind;

use crate::support::mcp::{Client, mcp};
use crate::support::program::explain;
use crate::support::proxy::Proxy;
use crate::support::scratch::Role;
use crate::support::world::{On, World, on_each_database};

const USAGE: i32 = 64;
const CONFIG: i32 = 78;

/// Has the session been silent for too long?
fn is_silent(world: &World, session: &str) -> bool {
    explain(&world.url, Kind::Session, session)["finding"] == "silent"
}

on_each_database! {
    fn each_call_of_a_tool_is_a_sign_of_life(world) {
        let session = world.session(None, None);
        for (flags, tool, arguments) in [
            (&[][..], "status", json!({})),
            (&["--allow-changes"], "pause", json!({ "session": "S-none" })),
            (&[], "pause", json!({ "session": session.0 })),
            (&[], "explain", json!({ "kind": "isue" })),
        ] {
            world.set("sessions", &session, &format!("last_activity_at = {}", world.ago(10)));
            assert!(is_silent(world, &session.0));
            let mut client = Client::start(mcp(&world.url, [&["--session", &session.0], flags].concat()));
            client.tools();
            assert!(is_silent(world, &session.0), "a list of tools is no call");

            client.ask("tools/call", json!({ "name": tool, "arguments": arguments }));

            assert!(!is_silent(world, &session.0), "{tool}");
        }
        assert_eq!(world.status("sessions", &session), "active");
        assert_eq!(world.count("sessions where stall_paused"), 0);
    }

    fn without_a_session_no_call_is_a_sign_of_life(world) {
        let session = world.session(None, None);
        Client::start_read_only(&world.url).call("status", json!({}));
        assert!(is_silent(world, &session.0));
    }

    fn what_recovers_by_a_call_says_whose_it_was(world) {
        let session = world.session(None, None);
        world.set("sessions", &session, "last_progress_at = null");
        world.sweep();
        world.deliver_commands();
        world.pass(1);
        Client::start(mcp(&world.url, ["--session", &session.0, "--as", "ada"])).call("status", json!({}));
        let reason = world.text("reason", "recoveries where action = 'recover'");
        assert_eq!(reason.as_deref(), Some("a sign of life was noted, asked for by ada by test 1.0"));
    }

    fn a_session_that_is_unknown_is_refused_at_the_start(world) {
        let says = ["--session: there is no session S-none in this database"];
        mcp(&world.url, ["--session", "S-none"]).run().refused(USAGE, &says);
    }

    fn a_sign_of_life_that_cannot_be_noted_fails_no_tool_and_is_logged(world) {
        let session = world.session(None, None);
        let mut client = Client::start(mcp(&world.url, ["--session", &session.0]));
        world.set("sessions", &session, "status = 'terminated'");
        client.call("status", json!({}));
        world.run(&format!("delete from sessions where id = '{session}'"));
        client.call("status", json!({}));
        client.hang_up();
        let (code, log) = client.ended();
        assert_eq!((code, log.matches("this call is no sign of life: ").count()), (0, 2), "{log}");
        assert!(log.contains("it is terminated") && log.contains("there is no session"), "{log}");
    }
}

#[test]
fn a_host_whose_sessions_take_no_signs_of_life_is_refused() {
    let world = World::new(On::Paperclip);
    mcp(&world.url, ["--session", "x"]).run().refused(USAGE, &["--session: heartbeat: not provided by this database"]);
}

#[test]
fn a_role_that_only_reads_is_refused_at_the_start() {
    let role = Role::new();
    let mut world = World::new(On::Postgres);
    let session = world.session(None, None);
    let (name, url) = (&role.name, role.at(&world.url));
    world.run(&format!(
        "grant usage on schema sweep to {name}; grant select on all tables in schema sweep to {name};
         grant execute on all functions in schema sweep to {name}"
    ));
    let says = ["--session: ", "lacks rights: ", "UPDATE (last_activity_at) on sweep.sessions"];
    mcp(&url, ["--session", &session.0]).run().refused(CONFIG, &says);
    Client::start_read_only(&url).call("status", json!({}));
}

#[test]
fn a_session_in_a_database_that_is_away_is_looked_for_when_it_is_back() {
    let mut world = World::new(On::Postgres);
    let session = world.session(None, None);
    let proxy = Proxy::start(None);
    let url = proxy.url(world.name(), "disable");
    drop(proxy);
    let mut client = Client::start(mcp(&url, ["--session", &session.0]));
    assert!(client.refusal("status", json!({})).starts_with("the database is unavailable"));
    client.hang_up();
    let (code, log) = client.ended();
    assert!(code == 0 && log.contains("--session: the database is unavailable"), "{log}");
}
