//! `sweep exempt`: work that is in progress on purpose is left, for as long as somebody says so.

use std::thread;

use chrono::TimeDelta;
use diesel::connection::SimpleConnection;
use rstest::rstest;
use sweep::parse;
use sweep::rules::Id;
use sweep::store::Timeouts;
use sweep::store::connect::open::Url;
use sweep::store::hosts::rights::Purpose;
use sweep::store::work::exemptions::{self, Exempts, Given, WantedExemption};

use crate::support::program::{Ran, command_at};
use crate::support::wait::wait_until;
use crate::support::world::{On, World, on_each_database, on_each_host};

const USAGE: i32 = 64;
const BUSY: i32 = 75;

fn add(world: &World, kind: &str, name: &str, further: &[&str]) -> Ran {
    let words = ["exempt", "add", kind, name, "--reason", "a customer's call"];
    command_at(&world.url, words.into_iter().chain(further.iter().copied())).run()
}

fn remove(world: &World, kind: &str, name: &str) -> Ran {
    command_at(&world.url, ["exempt", "remove", kind, name]).run()
}

fn list(world: &World) -> Vec<serde_json::Value> {
    let mut json = command_at(&world.url, ["exempt", "list", "--output", "json"]).run().done().json();
    json["exemptions"].as_array_mut().map(std::mem::take).expect("exemptions")
}

fn identifier(world: &mut World, issue: &Id) -> String {
    world.text("identifier", &format!("issues where id = '{issue}'")).expect("an identifier")
}

on_each_host! {
    fn exempt_work_is_left_by_a_sweep_and_by_a_dry_run_until_it_is_exempt_no_more(world) {
        let agent = world.agent("idle");
        let (exempt, other) = (world.orphan(&agent), world.orphan(&agent));
        let name = identifier(world, &exempt);
        let said = add(world, "issue", &name, &[]).done();
        assert_eq!(said.out, format!("Exempt: issue {name}, until removed: a customer's call\n"));

        for swept in [world.dry_run(), world.sweep()] {
            assert_eq!((swept.outcome(&exempt), swept.outcome(&other)), ("waiting", "continued"));
            assert_eq!(swept.subject(&exempt)["reason"], "exempt: a customer's call");
        }
        assert_eq!((world.wakes_for(&exempt), world.comments_on(&exempt)), (0, 0));

        assert_eq!(remove(world, "issue", &exempt.0).done().out, format!("No longer exempt: issue {name}\n"));
        assert_eq!(world.dry_run().outcome(&exempt), "continued");
    }

    fn an_exemption_that_has_expired_is_listed_and_holds_no_more(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        add(world, "issue", &issue.0, &["--until", "2d"]).done();
        assert_eq!(list(world)[0]["state"], "holds");
        let earlier = world.ago(1);
        world.run(&format!("update exemptions set until = {earlier}"));

        assert_eq!(world.dry_run().outcome(&issue), "continued");
        let listed = list(world);
        assert_eq!((listed.len(), &listed[0]["state"]), (1, &"expired".into()));
        let reported = command_at(&world.url, ["explain", "issue", &issue.0]).run().done();
        assert!(reported.out.contains("expired 1m ago: a customer's call"), "{reported}");
    }

    fn an_exempt_issue_that_healed_is_recovered(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.sweep();
        add(world, "issue", &issue.0, &[]).done();
        world.end_continuations("succeeded");
        world.set("issues", &issue, "status = 'done'");

        assert_eq!(world.sweep().outcome(&issue), "recovered");
    }

    fn to_exempt_again_replaces_the_reason_and_the_end(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let name = identifier(world, &issue);
        add(world, "issue", &name, &["--until", "2100-12-24"]).done();
        let again = ["exempt", "add", "issue", &issue.0, "--reason", " a  long\nweekend "];

        let said = command_at(&world.url, again).run().done();

        assert_eq!(said.out, format!("Exempt again, with this reason and end: issue {name}, until removed: a long \
            weekend\n"));
        let mut listed = list(world);
        assert_eq!(listed.len(), 1);
        for time in ["since", "age_seconds", "tenant"] {
            assert!(!listed[0][time].take().is_null(), "{time}");
        }
        let expected = serde_json::json!({
            "kind": "issue", "id": issue, "identifier": name, "tenant": null, "reason": "a long weekend",
            "until": null, "state": "holds", "since": null, "age_seconds": null,
        });
        assert_eq!(listed[0], expected);
    }

    fn what_is_not_there_cannot_be_exempt(world) {
        let agent = world.agent("idle");
        let (issue, nowhere) = (world.orphan(&agent), Id::generate());
        for name in ["ACM-99", &nowhere.0] {
            let refusal = format!("there is no issue {name} in this database");
            add(world, "issue", name, &[]).refused(USAGE, &[&refusal]);
        }
        remove(world, "issue", "ACM-99").refused(USAGE, &["there is no issue ACM-99 in this database"]);
        let name = identifier(world, &issue);
        remove(world, "issue", &issue.0).refused(USAGE, &[&format!("issue {name} is not exempt")]);
        assert_eq!(world.count("exemptions"), 0);
        assert_eq!(command_at(&world.url, ["exempt", "list"]).run().done().out, "Nothing is exempt.\n");
    }

    fn the_exemption_of_an_issue_that_is_gone_can_be_seen_and_removed(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        add(world, "issue", &issue.0, &[]).done();
        world.run(&format!("delete from issues where id = '{issue}'"));

        let listed = list(world);
        assert_eq!((&listed[0]["id"], listed[0]["identifier"].is_null()), (&issue.0.clone().into(), true));
        assert_eq!(remove(world, "issue", &issue.0).done().out, format!("No longer exempt: issue {issue}\n"));
    }

    fn a_list_is_a_table_in_which_text_cannot_change_a_readers_terminal(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.set("issues", &issue, "identifier = 'ACM-\u{1b}[2J12'");
        let reason = "call\u{1b}]0;me\u{7} \n back";
        command_at(
            &world.url,
            ["exempt", "add", "issue", &issue.0, "--reason", reason, "--until", "2100-01-01T12:00+01:00"],
        )
        .run()
        .done();

        let table = command_at(&world.url, ["exempt", "list"]).run().done();

        let lines: Vec<Vec<&str>> = table.out.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["kind", "subject", "tenant", "state", "until", "age", "reason"]);
        assert_eq!(lines[1][..2], ["issue", "ACM-[2J12"]);
        assert_eq!(lines[1][3..7], ["holds", "2100-01-01", "11:00:00", "UTC"]);
        assert_eq!(lines[1][8..], ["call]0;me", "back"]);
        assert!(!table.out.contains(['\u{1b}', '\u{7}']), "{table}");
    }
}

/// On the databases with sweep's own tables.
mod own_tables {
    use super::*;

    on_each_database! {
        fn a_step_can_be_exempt_by_its_plans_name_and_its_number(world) {
            let (_, step) = world.stalled_step(None);
            add(world, "step", "Launch #1", &["--until", "12h"]).done();
            assert_eq!(world.sweep().outcome(&step), "waiting");
            assert_eq!(list(world)[0]["identifier"], "Launch #1");
            remove(world, "step", "Launch #1").done();
            assert_eq!(world.sweep().outcome(&step), "escalated");
        }

        fn an_end_that_has_passed_by_the_databases_clock_is_refused(world) {
            let agent = world.agent("idle");
            let issue = world.orphan(&agent);
            let says = ["--until 2020-01-01 00:00:00 UTC has passed", "the database's clock says 20"];
            add(world, "issue", &issue.0, &["--until", "2020-01-01"]).refused(USAGE, &says);
            assert_eq!(world.count("exemptions"), 0);
        }
    }
}

#[rstest]
#[case("2100-12-24", "2100-12-24T00:00:00Z")]
#[case("2100-12-24T18:00:00Z", "2100-12-24T18:00:00Z")]
#[case("2100-12-24T18:00:00+02:00", "2100-12-24T16:00:00Z")]
#[case("2100-12-24T18:00", "2100-12-24T18:00:00Z")]
#[case("2100-12-24 18:00:30", "2100-12-24T18:00:30Z")]
fn a_time_is_taken_as_people_write_it_and_without_a_zone_it_is_utc(#[case] value: &str, #[case] expected: &str) {
    let at = chrono::DateTime::parse_from_rfc3339(expected).expect("a time").to_utc();
    assert_eq!(parse::until(value), Ok(parse::Until::At(at)));
}

#[rstest]
#[case::a_word("tomorrow", "expected a duration such as 2d or 12h, or a time such as 2026-12-24")]
#[case::negative("-5m", "expected a duration")]
#[case::no_time_at_all("0s", "at least 1ms")]
#[case::a_lifetime("80y", "at most ten years")]
#[case::no_such_day("2026-02-30", "expected a duration")]
#[case::another_century("2200-01-01", "before the year 2200")]
#[case::after_its_zone("2199-12-31T23:00:00-02:00", "before the year 2200")]
#[case::nothing("", "expected a duration")]
fn an_end_that_is_none_is_refused(#[case] value: &str, #[case] expected: &str) {
    let refusal = parse::until(value).expect_err("a refusal");
    assert!(refusal.contains(expected), "{refusal}");
}

#[rstest]
#[case::no_reason("add issue ACM-12", "--reason is missing")]
#[case::a_blank_reason("add issue ACM-12 --reason=", "expected a few words")]
#[case::no_kind("add ACM-12 --reason x", "expected session, issue, step, agent or tenant")]
#[case::no_name("remove issue", "ID is missing")]
#[case::no_command("", "expected add, list or remove")]
#[case::another_format("list --output ndjson", "expected table or json")]
fn an_argument_that_is_wrong_is_refused(#[case] line: &str, #[case] says: &str) {
    let words = ["exempt"].into_iter().chain(line.split_whitespace());
    crate::support::program::sweep(words).run().refused(USAGE, &[says]);
}

/// The other operator's row is not there yet when this one looks, and is when this one writes.
#[test]
fn of_two_that_exempt_at_once_the_second_replaces_the_first() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let insert = format!("begin; insert into exemptions (kind, subject_id, reason) values ('issue', '{issue}', 'x')");
    let add = ["exempt", "add", "issue", &issue.0, "--reason", "a call"];

    let mut rival = world.connect();
    rival.batch_execute(&insert).expect("an exemption");
    command_at(&world.url, add).run().refused(BUSY, &["somebody else is at it, try again"]);

    let url = Url::parse(&world.url).expect("a URL");
    let mut store = url.open_to(Purpose::Exempt).expect("a store");
    let timeouts = Timeouts { lock: TimeDelta::milliseconds(999), ..Timeouts::default() };
    let given = thread::scope(|scope| {
        let name = issue.0.as_str();
        let of = Exempts::Issue;
        let wanted =
            WantedExemption { of, name, reason: "a call", until: None, until_is_called: "--until", is_agents: false };
        let (url, store) = (&url, &mut store);
        let second = scope.spawn(move || exemptions::exempt(url, store, &timeouts, &wanted).map(|exempt| exempt.given));
        let waiting = "pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
        wait_until("the second", || 0 < world.count(waiting));
        rival.batch_execute("commit").expect("a commit");
        second.join().expect("an end")
    });
    assert!(matches!(given, Ok(Given::Again)));
    assert_eq!(world.text("reason", "exemptions").as_deref(), Some("a call"));
}
