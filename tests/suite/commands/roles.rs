//! Each command and each page, as each role of deploy/postgres/role.sql: the role may have it, or is told which right
//! it lacks and how the owner gives it.

use std::collections::BTreeSet;

use serde_json::json;

use crate::support::mcp::Client;
use crate::support::page::{ask, fields, html, served};
use crate::support::program::{command_at, sweep};
use crate::support::scratch::psql;
use crate::support::world::{On, World};

const USAGE: i32 = 64;
const CONFIG: i32 = 78;
const SWEEPER: &str = "sweeper";
const READER: &str = "sweep_reader";
const OPERATOR: &str = "sweep_operator";
const ALL: &[&str] = &[SWEEPER, READER, OPERATOR];

/// What is asked of a database that has the issue T-1, its agent Ada, and the issue T-2 in quarantine; who may ask it,
/// and with what exit code it ends then.
const COMMANDS: [(&str, &[&str], i32); 14] = [
    ("--dry-run", ALL, 0),
    ("status", ALL, 0),
    ("attention", ALL, 0),
    ("attention --agent Ada", ALL, 0),
    ("explain issue T-1", ALL, 0),
    ("exempt add agent Ada --reason holiday", &[OPERATOR], 0),
    ("exempt list", ALL, 0),
    // The issue in quarantine is a problem.
    ("doctor", ALL, 1),
    ("exempt remove agent Ada", &[OPERATOR], 0),
    ("quarantine list", ALL, 0),
    ("quarantine release issue T-2", &[SWEEPER], 0),
    ("quarantine release --all", &[SWEEPER], 0),
    ("wake T-1", &[SWEEPER, OPERATOR], 0),
    ("--output json", &[SWEEPER], 0),
];

/// On sweep's own tables alone. Which subject is asked for makes no difference to a role that may not.
const OF_PLANS_AND_SESSIONS: [(&str, &[&str], i32); 11] = [
    ("session nudge nobody", &[SWEEPER, OPERATOR], USAGE),
    ("session relaunch nobody", &[SWEEPER, OPERATOR], USAGE),
    ("session heartbeat nobody", &[OPERATOR], USAGE),
    ("session pause nobody", &[OPERATOR], USAGE),
    ("session resume nobody", &[OPERATOR], USAGE),
    ("step fail none", &[OPERATOR], USAGE),
    ("step skip none", &[OPERATOR], USAGE),
    ("status --plan none", ALL, USAGE),
    ("watch --name T-3 -- true", &[], 0),
    ("run start", &[], 0),
    ("run heartbeat none", &[], 0),
];

/// Commands of the owner's, and what a role is told that is not.
const OF_THE_OWNER: [(&str, &str); 2] =
    [("migrate", "this role, {}, is no member of that role"), ("host verify native", "ALTER ROLE … CREATEDB")];

/// Commands that need no role, or are played by the pages (`daemon` serves them too) and by the tools of agents.
const ELSEWHERE: [&str; 8] = ["completions", "config", "daemon", "demo", "init", "man", "mcp", "notify"];

fn planted(on: On) -> World {
    let mut world = World::new(on);
    let agent = world.agent("idle");
    world.set("agents", &agent, "name = 'Ada'");
    for name in ["T-1", "T-2"] {
        let issue = world.orphan(&agent);
        world.set("issues", &issue, &format!("identifier = '{name}'"));
    }
    world.run(
        "insert into failures (kind, subject_id, sweeps, reason, quarantined_at)
         select 'issue', id, 3, 'it failed', updated_at from issues where identifier = 'T-2'",
    );
    psql(&world.url, include_str!("../../../deploy/postgres/role.sql")).expect("the roles");
    world
}

fn each_role_may_or_is_told_which_right_it_lacks(on: On, commands: &[(&str, &[&str], i32)]) {
    for role in ALL {
        let world = planted(on);
        let url = format!("{}&user={role}", world.url);
        for (command, allowed, code) in commands {
            let ran = sweep(command.split(' ')).env("DATABASE_URL", &url).run();
            assert!(!ran.err.contains("permission denied"), "{role}: {command}: not asked before: {ran}");
            match allowed.contains(role) {
                true => assert!(ran.code == *code && !ran.err.contains("lacks"), "{role}: {command}: {ran}"),
                false => ran.refused(CONFIG, &[&format!("the role {role} lacks rights: "), " on sweep."]),
            }
        }
        for (command, says) in OF_THE_OWNER {
            command_at(&url, command.split(' ')).run().refused(CONFIG, &[&says.replace("{}", role)]);
        }
        let page = served(&url);
        for path in ["/", "/sweeps", "/agents/Ada", "/issues/T-1"] {
            html(&page, path);
        }
        let shown = Client::start_read_only(&url).call("list_attention", json!({ "agent": "Ada" }));
        assert!(shown.to_string().contains("items"), "{role}: {shown}");
    }
}

#[test]
fn each_role_may_or_is_told_which_right_it_lacks_on_sweeps_own_tables() {
    each_role_may_or_is_told_which_right_it_lacks(On::Postgres, &[&COMMANDS[..], &OF_PLANS_AND_SESSIONS].concat());
}

#[test]
fn each_role_may_or_is_told_which_right_it_lacks_on_paperclip() {
    each_role_may_or_is_told_which_right_it_lacks(On::Paperclip, &COMMANDS);
}

#[test]
fn a_role_that_lacks_one_right_is_told_how_the_owner_gives_it() {
    let mut world = planted(On::Postgres);
    let operator = format!("{}&user={OPERATOR}", world.url);
    let release = || command_at(&operator, ["quarantine", "release", "issue", "T-2"]).run();
    let grant = "GRANT UPDATE ON sweep.failures TO sweep_operator";
    release().refused(CONFIG, &["lacks rights: UPDATE on sweep.failures", &format!("As the owner: {grant}.")]);
    world.run(grant);
    release().done();

    let sweeper = format!("{}&user={SWEEPER}", world.url);
    let watch = || sweep(["watch", "--name", "T-3", "--", "true"]).env("DATABASE_URL", &sweeper).run();
    let grants = ["SELECT, INSERT, UPDATE ON sweep.sessions", "SELECT, UPDATE ON sweep.session_commands"];
    let grants = grants.map(|grant| format!("GRANT {grant} TO sweeper"));
    watch().refused(CONFIG, &[&format!("As the owner: {}; {}.", grants[0], grants[1])]);
    world.run(&grants.join(";"));
    assert_eq!(watch().code, 0);

    world.run("revoke select (name) on sweep.agents from sweep_reader");
    let reader = format!("{}&user={READER}", world.url);
    let answer = ask(&served(&reader), "GET /agents/Ada", &[]);
    let why = &fields(&answer.body, "why")[0];
    assert!(why.contains("GRANT SELECT (name) ON sweep.agents TO sweep_reader"), "{why}");
    assert!(answer.status == 503 && answer.body.contains("<h1>The database cannot be read</h1>"), "{}", answer.body);
}

#[test]
fn no_command_is_missing_here() {
    let played = COMMANDS.iter().chain(&OF_PLANS_AND_SESSIONS).map(|(command, ..)| *command);
    let played = played.chain(OF_THE_OWNER.map(|(command, _)| command)).chain(ELSEWHERE).chain(["page"]);
    let played: BTreeSet<&str> = played.filter_map(|command| command.split(' ').next()).collect();
    let help = sweep(["--help"]).run().done().out;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let listed: BTreeSet<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    let missing: Vec<&&str> = listed.difference(&played).filter(|name| **name != "help").collect();
    assert!(10 < listed.len() && missing.is_empty(), "{missing:?} of {listed:?}");
}
