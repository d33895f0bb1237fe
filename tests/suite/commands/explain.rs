//! `sweep explain`: the facts, the rules and the decision of a sweep, shown before it comes.

mod printed;

use diesel::connection::SimpleConnection;
use sweep::conclusion::{Conclusion, conclusion_of};
use sweep::rules::{Id, Kind};
use sweep::store::connect::open::Url;
use sweep::store::work::find;
use sweep::store::{Access, Timeouts};
use sweep::sweep::{KindMode, Options, Selection};

use crate::support::program::{command_at, explain};
use crate::support::world::{On, World, on_each_database, on_each_host};

const SOME_FAILED: i32 = 1;
const USAGE: i32 = 64;
const CONFIG: i32 = 78;

/// What is explained is what a sweep of this subject then says.
#[track_caller]
fn foretold(world: &World, kind: Kind, id: &Id, decision: &str) {
    let shown = world.explained(kind, &id.0);
    let mut settings = world.options();
    settings.selection = Selection::Subjects(vec![(kind, id.0.clone())]);
    let swept = world.sweep_as(&settings);
    for field in ["kind", "id", "identifier", "tenant", "finding", "decision", "reason", "attempt", "attempts_max"] {
        assert_eq!(shown[field], swept.subject(id)[field], "{field}: {shown:#} {:#}", swept.json);
    }
    assert_eq!(shown["decision"], decision, "{shown:#}");
    let clauses = shown["clauses"].as_array().expect("clauses");
    assert_eq!(clauses.iter().all(|clause| clause["holds"] == true), !shown["finding"].is_null(), "{shown:#}");
}

on_each_host! {
    fn what_is_explained_is_what_a_sweep_does_with_an_issue(world) {
        let (idle, paused) = (world.agent("idle"), world.agent("paused"));
        let issues: Vec<Id> = (0..8).map(|_| world.orphan(&idle)).collect();
        let now = world.ago(0);
        world.set("issues", &issues[0], &format!("assignee_agent_id = '{paused}'"));
        world.issue_run(&issues[1], &idle, "running", 30);
        world.issue_wake(&issues[2], &idle, "queued", 5);
        world.issue_wake(&issues[3], &idle, "queued", 185);
        world.set("issues", &issues[4], "status = 'done'");
        world.set("issues", &issues[5], "assignee_user_id = 'grace'");
        world.set("issues", &issues[6], &format!("updated_at = {now}"));
        foretold(world, Kind::Issue, &issues[0], "skip");
        for issue in &issues[1..7] {
            foretold(world, Kind::Issue, issue, "leave");
        }
        foretold(world, Kind::Issue, &issues[7], "continue");

        let [helped, early, lost, taken] = [0, 1, 2, 3].map(|_| world.orphan(&idle));
        world.sweep();
        world.end_continuations("failed");
        world.set("issues", &helped, "status = 'in_review'");
        world.pass(4);
        world.issue_run(&early, &idle, "failed", 3);
        foretold(world, Kind::Issue, &helped, "recovered");
        world.set("issues", &taken, "assignee_user_id = 'grace'");
        foretold(world, Kind::Issue, &taken, "handed_over");
        foretold(world, Kind::Issue, &early, "wait");
        world.pass(2);
        foretold(world, Kind::Issue, &lost, "escalate");
        foretold(world, Kind::Issue, &lost, "leave");
        let shown = explain(&world.url, Kind::Issue, &lost.0);
        assert_eq!((&shown["recoveries_total"], &shown["recoveries"][1]["action"]), (&2.into(), &"escalate".into()));
        let settled = [0, 1].map(|n| !shown["recoveries"][n]["settled_at"].is_null());
        assert_eq!(settled, [true, false], "a new entry settles the one before it: {shown:#}");
    }

    fn what_sweeps_leave_is_named_beside_what_they_would_decide(world) {
        let agent = world.agent("idle");
        let orphans = world.orphans(&agent, 0..31);
        let (issue, another) = (&orphans[0], &orphans[1]);
        let explained = |world: &World| world.explained(Kind::Issue, &issue.0);
        assert!(explained(world)["left_alone"].is_null(), "nobody has swept");
        let shadow = "issues are in shadow, where nothing is written";
        for (mode, why) in [(KindMode::Off, "issues are off"), (KindMode::Shadow, shadow)] {
            world.sweep_as(&Options { modes: [(Kind::Issue, mode)].into(), ..world.options() });
            let shown = explained(world);
            assert_eq!((&shown["decision"], &shown["left_alone"]), (&"continue".into(), &why.into()));
            let text = command_at(&world.url, ["explain", "issue", &issue.0]).run().done().out;
            let but = format!("But sweeps leave it, by the latest one: {why}.");
            let would = format!("continue it with one wake (attempt 1 of 1).\n{but}\n");
            assert!(text.contains(&would), "{text}");
            assert!(world.attention().to_string().contains(&format!("leave it: {why}")), "{mode:?}");
        }
        let selection = Selection::Subjects(vec![(Kind::Issue, another.0.clone())]);
        let of_another = Options { selection, ..world.options() };
        (0..11).for_each(|_| drop(world.sweep_as(&of_another)));
        assert_eq!(explained(world)["left_alone"], shadow, "whatever people have done with a single subject since");
        world.sweep_as(&world.guarded());
        assert_eq!(explained(world)["left_alone"], "the guard of the latest sweep held it back");
        world.sweep();
        assert!(explained(world)["left_alone"].is_null(), "it was swept");
    }

    fn an_issue_is_found_by_what_people_call_it(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let identifier = world.text("identifier", &format!("issues where id = '{issue}'")).expect("one");
        let shown = explain(&world.url, Kind::Issue, &identifier);
        assert_eq!((&shown["id"], &shown["schema"]), (&issue.0.clone().into(), &1.into()));
        assert_eq!(shown["title"], "Mend the fence");
        assert_eq!(explain(&world.url, Kind::Issue, &issue.0.to_uppercase())["identifier"], identifier);
        let unknown = command_at(&world.url, ["explain", "issue", "ACM-99"]).run();
        unknown.refused(USAGE, &["there is no issue ACM-99 in this database"]);
        let hostile = command_at(&world.url, ["explain", "issue", "\u{1b}[2J'; drop table issues; --"]).run();
        hostile.refused(USAGE, &["there is no issue [2J'; drop table issues; -- in this database"]);
        assert_eq!(world.count("sweeps"), 0, "explaining is no sweep");

        let mut store = Url::parse(&world.url).expect("a URL").open(Access::ReadOnly).expect("a store");
        let mut find = |name: &str| find::subject(&mut store, &Timeouts::default(), Kind::Issue, name);
        assert_eq!(find(&identifier).expect("an id").id, issue);
        assert_eq!(conclusion_of(&find("ACM-99").expect_err("a refusal")), Conclusion::Usage);
    }

    fn the_policy_is_the_one_that_a_sweep_would_go_by(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let ask = |flags: &[&str]| {
            let words = ["explain", "issue", &issue.0, "--output", "json"];
            command_at(&world.url, words.into_iter().chain(flags.iter().copied()))
        };
        assert_eq!(ask(&["--set", "orphan_grace=2h"]).run().done().json()["decision"], "leave");
        assert_eq!(ask(&["--set", "attempts_max=0"]).run().done().json()["reason"], "automatic continuation is off");
        let by_variable = ask(&[]).env("SWEEP_ATTEMPTS_MAX", "3").run().done().json();
        assert_eq!((&by_variable["decision"], &by_variable["attempts_max"]), (&"continue".into(), &3.into()));
        ask(&[]).env("SWEEP_ORFAN_GRACE", "1m").run().refused(CONFIG, &["SWEEP_ORFAN_GRACE: no such setting"]);
    }
}

/// On the databases with sweep's own tables.
mod own_tables {
    use super::*;

    on_each_database! {
        fn what_is_explained_is_what_a_sweep_does_with_a_step(world) {
            let agent = world.agent("idle");
            let (_, lost) = world.stalled_step(Some(&agent));
            let (_, nobodys) = world.stalled_step(None);
            let (closed, of_closed) = world.stalled_step(Some(&agent));
            world.set("plans", &closed, "status = 'completed'");
            foretold(world, Kind::Step, &of_closed, "leave");
            foretold(world, Kind::Step, &nobodys, "escalate");
            foretold(world, Kind::Step, &nobodys, "leave");
            foretold(world, Kind::Step, &lost, "continue");
            foretold(world, Kind::Step, &lost, "leave");
            world.end_continuations("succeeded");
            world.set("plan_steps", &lost, "status = 'completed'");
            foretold(world, Kind::Step, &lost, "recovered");
        }

        fn a_name_that_two_steps_have_is_refused_with_both_ids(world) {
            let (_, one) = world.stalled_step(None);
            assert_eq!(explain(&world.url, Kind::Step, "Launch #1")["id"], one.0);
            let (_, other) = world.stalled_step(None);
            let ran = command_at(&world.url, ["explain", "step", "Launch #1"]).run();
            ran.refused(
                USAGE,
                &["more than one step is called Launch #1", "give the id", &one.0, &other.0, "tenant default"],
            );
        }

        fn a_name_alone_finds_its_kind_and_one_that_two_kinds_have_names_both(world) {
            let agent = world.agent("idle");
            let (issue, session) = (world.orphan(&agent), world.session(None, None));
            let (_, step) = world.stalled_step(Some(&agent));
            world.set("issues", &issue, "identifier = 'ACM-12'");
            let url = world.url.clone();
            let ask = |line: &[&str]| command_at(&url, [&["explain"], line].concat()).run();
            for (name, id) in [("ACM-12", &issue), ("Launch #1", &step), (session.0.as_str(), &session)] {
                assert_eq!(ask(&[name, "--output", "json"]).done().json()["id"], id.0, "{name}");
            }
            ask(&["ACM-99"]).refused(USAGE, &["there is no session, issue or step ACM-99 in this database"]);

            world.set("issues", &issue, "identifier = 'Launch #1'");
            let says = ["both an issue and a step are called Launch #1", &issue.0, &step.0];
            ask(&["Launch #1"]).refused(USAGE, &says);
            ask(&["issue", "Launch #1"]).done();
        }

        fn each_tenant_has_names_of_its_own_and_one_that_two_have_is_refused_with_both(world) {
            let agent = world.agent("idle");
            let [one, other, nameless] = [world.orphan(&agent), world.orphan(&agent), world.orphan(&agent)];
            world.set("issues", &one, "tenant = 'acme', identifier = 'ACM-12'");
            world.set("issues", &other, "tenant = 'beta', identifier = 'ACM-12'");
            world.set("issues", &nameless, "identifier = null");

            let ran = command_at(&world.url, ["explain", "issue", "ACM-12"]).run();
            let says = ["more than one issue is called ACM-12; give the id: ", "(tenant acme)", "(tenant beta)"];
            ran.refused(USAGE, &[&says[..], &[&one.0, &other.0]].concat());
            assert_eq!(world.sweep().outcome(&nameless), "continued");
            let twice = format!("update issues set tenant = 'acme' where id = '{other}'");
            assert!(world.connect().batch_execute(&twice).is_err(), "twice in a tenant");
        }

        fn a_row_that_cannot_be_read_is_named_with_what_is_wrong(world) {
            let agent = world.agent("idle");
            let issue = world.orphan(&agent);
            let absurd = if world.on == On::Sqlite { "0001-01-01T00:00:00.000Z" } else { "infinity" };
            world.set("issues", &issue, &format!("updated_at = '{absurd}'"));
            let identifier = world.text("identifier", &format!("issues where id = '{issue}'")).expect("one");
            let ask = || command_at(&world.url, ["explain", "issue", &identifier]).run();
            let read = ["cannot be read", "idle_since", &identifier, &issue.0];
            ask().refused(SOME_FAILED, &[&read[..], &["each sweep reports it as unreadable"]].concat());
            let now = world.ago(0);
            world.run(&format!(
                "insert into failures (kind, subject_id, sweeps, reason, quarantined_at) values ('issue', '{issue}', \
                    3, 'x', {now})"
            ));
            let command = format!("sweep quarantine release issue {issue}");
            let ask = || command_at(&world.url, ["explain", "issue", &identifier]).run();
            ask().refused(SOME_FAILED, &[&read[..], &["it is in quarantine since", &command]].concat());
        }
    }
}

#[test]
fn a_kind_that_the_host_does_not_have_is_refused() {
    let world = World::new(On::Paperclip);
    for line in ["explain step x", "exempt add step x --reason y", "exempt remove step x", "quarantine release step x"]
    {
        command_at(&world.url, line.split(' ')).run().refused(USAGE, &["steps: not provided by this database"]);
    }
}
