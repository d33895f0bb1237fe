//! What an operator types and reads.

use sweep::conclusion::Conclusion;
use sweep::rules::{Guard, Id, Kind};
use sweep::sweep::Options;

use super::fixture::with_a_silent_run;
use crate::support::program::{Ran, command_at, sweep_at};
use crate::support::scratch::Role;
use crate::support::world::{On, World};

const USAGE: i32 = 64;

fn agent_of(world: &mut World) -> Id {
    Id(world.text("id", "agents").expect("an agent"))
}

/// What people call it: the issue, and which of its runs.
fn name(world: &mut World, run: &Id) -> String {
    world.text("identifier", &format!("sweep.session_facts where subject_id = '{run}'")).expect("a name")
}

fn outcome(ran: &Ran, run: &Id) -> String {
    let json = ran.json();
    let subjects = json["subjects"].as_array().expect("subjects");
    let found = subjects.iter().find(|subject| subject["id"] == run.0);
    found.map_or("not examined".to_owned(), |subject| subject["outcome"].as_str().expect("an outcome").to_owned())
}

#[test]
fn the_setting_decides_how_long_a_run_may_be_silent() {
    for (value, expected) in [("3h", "healthy"), ("90m", "escalated")] {
        let (world, _, run) = with_a_silent_run();
        let ran = sweep_at(&world.url, ["--only", "sessions", "--output", "json"]).env("SWEEP_RUN_SILENT_AFTER", value);
        let ran = ran.run().done();
        assert_eq!(outcome(&ran, &run), expected, "{value}");
        assert_eq!(ran.json()["kinds"]["issues"]["scanned"].as_i64().unwrap_or(0), 0, "only sessions");
    }
    let (world, _, run) = with_a_silent_run();
    let ran = sweep_at(&world.url, ["--set", "run_silent_after=3h", "--output", "json"]).run().done();
    assert_eq!(outcome(&ran, &run), "healthy");
}

/// What takes commands has a threshold of its own.
#[test]
fn the_threshold_of_sessions_that_take_commands_is_another() {
    let (world, _, run) = with_a_silent_run();
    let flags = ["--set", "session_silent_after=10h", "--output", "json"];
    assert_eq!(outcome(&sweep_at(&world.url, flags).run().done(), &run), "escalated");
}

#[test]
fn a_run_is_named_by_its_issue_and_the_beginning_of_its_id() {
    let (mut world, issue, run) = with_a_silent_run();
    let agent = agent_of(&mut world);
    let other = world.silent_run(&agent, Some(&issue));
    let identifier = world.text("identifier", &format!("issues where id = '{issue}'")).expect("an identifier");
    let name = name(&mut world, &run);
    assert_eq!(name, format!("{identifier}/{}", &run.0[..8]));

    let ran = sweep_at(&world.url, ["--session", &name, "--output", "json"]).run().done();

    assert_eq!((outcome(&ran, &run), outcome(&ran, &other)), ("escalated".to_owned(), "not examined".to_owned()));
    sweep_at(&world.url, ["--session", &identifier]).run().refused(USAGE, &["there is no session", &identifier]);
}

#[test]
fn a_run_without_an_issue_has_a_name_and_says_what_it_is_for() {
    let mut world = World::new(On::Paperclip);
    let agent = world.agent("idle");
    let run = world.silent_run(&agent, None);
    let row = format!("sweep.session_facts where subject_id = '{run}'");
    assert_eq!(name(&mut world, &run), format!("run/{}", &run.0[..8]));
    assert_eq!(world.text("title", &row).as_deref(), Some("heartbeat (timer)"));
    world.set("heartbeat_runs", &run, "context_snapshot = '{\"wakeReason\": \"approval_approved\"}'");
    assert_eq!(world.text("title", &row).as_deref(), Some("heartbeat (approval_approved)"));
}

#[test]
fn what_is_explained_and_what_stands_in_the_status_is_what_a_sweep_does() {
    let (mut world, issue, run) = with_a_silent_run();
    let name = name(&mut world, &run);
    let explain = |what: &str, world: &World| {
        let table = command_at(&world.url, ["explain", "session", what]).run().done();
        (table, command_at(&world.url, ["explain", "session", what, "--output", "json"]).run().done().json())
    };
    for what in [&name, &run.0] {
        let (table, json) = explain(what, &world);
        assert_eq!(
            (&json["decision"], &json["finding"], &json["id"]),
            (&"escalate".into(), &"silent".into(), &run.0.clone().into())
        );
        assert!(table.out.contains("it showed no sign of life for longer than 1h"), "{table}");
        assert!(table.out.contains("Mend the fence"), "{table}");
    }
    let status = |world: &World| world.status_document()["kinds"]["sessions"].clone();
    assert_eq!((&status(&world)["provided"], &status(&world)["silent"]), (&true.into(), &1.into()));

    world.sweep();

    assert_eq!((&status(&world)["silent"], &status(&world)["escalated"]), (&0.into(), &1.into()));
    assert_eq!(explain(&name, &world).1["decision"], "leave");
    let listed = &world.status_document()["escalations"][0];
    assert_eq!((&listed["id"], &listed["identifier"]), (&run.0.clone().into(), &name.clone().into()));
    world.set("heartbeat_runs", &run, "status = 'queued'");
    assert!(explain(&run.0, &world).0.out.contains("queued"));
    assert_eq!(world.comments_on(&issue), 1);
}

/// What the refusal names is all that is needed, and nothing of the host's own.
#[test]
fn the_rights_that_are_named_are_enough() {
    let (mut world, issue, run) = with_a_silent_run();
    let role = Role::new();
    let url = role.at(&world.url);
    world.run(&format!("grant usage on schema sweep to {}", role.name));
    let refusal = sweep_at(&url, []).run().err;
    let rights = refusal.trim().rsplit_once("lacks rights: ").expect("a list of rights").1.to_owned();
    let rights = rights.split_once(". ").expect("its end").0;
    assert!(rights.contains("UPDATE on sweep.sessions") && !rights.contains("session_commands"), "{rights}");
    for right in rights.split(", ") {
        world.run(&format!("grant {right} to {}", role.name));
    }
    let sweep = || sweep_at(&url, ["--output", "json"]).run().done();

    assert_eq!(outcome(&sweep(), &run), "escalated");
    world.prints(&run);
    assert_eq!(outcome(&sweep(), &run), "recovered");

    assert_eq!((world.comments_on(&issue), world.count("activity_log")), (1, 2));
}

#[test]
fn one_companys_runs_are_swept_alone() {
    let (mut world, _, run) = with_a_silent_run();
    let company = Id::generate();
    world.run(&format!(
        "insert into companies (id, name, issue_prefix) values ('{company}', 'Bolt', 'BOLT');
         insert into agents (id, company_id, name) values ('{company}', '{company}', 'Bob')"
    ));
    let theirs = world.silent_run(&company, None);

    let settings = Options { tenant: Some(company.0.clone()), ..world.options() };
    let swept = world.sweep_as(&settings);

    assert_eq!((swept.outcome(&theirs), swept.outcome(&run)), ("escalated", "not examined"));
    assert_eq!(swept.subject(&theirs)["tenant"], company.0);
    assert_eq!(swept.subject(&theirs)["kind"], Kind::Session.name());
}

#[test]
fn the_guard_counts_silent_runs_and_not_those_that_run() {
    let (mut world, _, _) = with_a_silent_run();
    let agent = agent_of(&mut world);
    let runs: Vec<Id> = (0..41).map(|_| world.silent_run(&agent, None)).collect();
    let some = world.ago(1);
    for run in &runs[..22] {
        world.set("heartbeat_runs", run, &format!("last_output_at = {some}"));
    }
    let guarded = Options { guard: Some(Guard::default()), ..world.options() };
    let swept = world.sweep_as(&guarded);
    assert_eq!(swept.count("sessions", "escalated"), 20, "{}", swept.json);

    let (mut world, _, run) = with_a_silent_run();
    let agent = agent_of(&mut world);
    (0..20).for_each(|_| drop(world.silent_run(&agent, None)));
    let guarded = Options { guard: Some(Guard::default()), ..world.options() };
    let swept = world.sweep_as(&guarded);
    assert_eq!((swept.exit, world.session_escalations(&run)), (Conclusion::Guarded, 0), "{}", swept.json);
}
