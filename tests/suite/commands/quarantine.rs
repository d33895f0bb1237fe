//! `sweep quarantine`: what sweeps no longer examine is listed, and released by a person.

use rstest::rstest;
use serde_json::{Value, json};
use sweep::rules::Id;

use crate::support::program::{Ran, command_at, sweep};
use crate::support::world::{On, World, on_each_database, on_each_host};

const USAGE: i32 = 64;

/// As sweeps record it; not yet in quarantine after less than three.
fn failed(world: &mut World, kind: &str, id: &Id, sweeps: u32) {
    let at = world.ago(60);
    let held = if 3 <= sweeps { &at } else { "null" };
    world.run(&format!(
        "insert into failures (kind, subject_id, sweeps, reason, last_at, quarantined_at)
         values ('{kind}', '{id}', {sweeps}, 'no wakes\u{1b}[2J for this one', {at}, {held})"
    ));
}

fn release(world: &World, arguments: &[&str]) -> Ran {
    command_at(&world.url, ["quarantine", "release"].into_iter().chain(arguments.iter().copied())).run()
}

fn list(world: &World) -> Vec<Value> {
    let mut json = command_at(&world.url, ["quarantine", "list", "--output", "json"]).run().done().json();
    json["quarantine"].as_array_mut().map(std::mem::take).expect("subjects")
}

on_each_host! {
    fn what_is_in_quarantine_is_listed_and_released_one_by_one(world) {
        let agent = world.agent("idle");
        let [held, other, failing] = [0, 1, 2].map(|_| world.orphan(&agent));
        let name = world.text("identifier", &format!("issues where id = '{held}'")).expect("one");
        failed(world, "issue", &held, 3);
        failed(world, "issue", &other, 4);
        failed(world, "issue", &failing, 2);

        let mut listed = list(world);
        assert_eq!(listed.len(), 2, "{listed:?}");
        let first = listed.iter_mut().find(|row| row["id"] == held.0).expect("the first");
        for time in ["last_failure_at", "quarantined_at", "tenant"] {
            assert!(!first[time].take().is_null(), "{time}");
        }
        let expected = json!({
            "kind": "issue", "id": held, "identifier": name, "tenant": null, "failed_sweeps": 3,
            "reason": "no wakes[2J for this one", "last_failure_at": null, "quarantined_at": null,
        });
        assert_eq!(*first, expected);
        let reported = command_at(&world.url, ["explain", "issue", &name]).run().done();
        assert!(reported.out.contains(&format!("quarantine release issue {held}")), "{reported}");

        let said = release(world, &["issue", &name]).done();
        assert_eq!(said.out, format!("Released: issue {name}; the next sweep examines it again\n"));
        assert_eq!(list(world).len(), 1);
        release(world, &["issue", &name]).refused(USAGE, &[&format!("issue {name} is not in quarantine")]);
        release(world, &["issue", &failing.0]).refused(USAGE, &["is not in quarantine"]);
        release(world, &["issue", "ACM-99"]).refused(USAGE, &["there is no issue ACM-99 in this database"]);
        assert_eq!(
            world.count(&format!("failures where subject_id = '{held}' and sweeps = 0 and quarantined_at is null")),
            1
        );
        let released = command_at(&world.url, ["explain", "issue", &name, "--output", "json"]).run().done().json();
        assert_eq!((&released["quarantined"], &released["failed_sweeps"]), (&false.into(), &0.into()));
    }

    fn a_name_alone_releases_its_subject_also_one_that_is_gone(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.set("issues", &issue, "identifier = 'ACM-12'");
        let gone = Id::generate();
        for id in [&issue, &gone] {
            failed(world, "issue", id, 3);
        }
        assert!(release(world, &["ACM-12"]).done().out.starts_with("Released: issue ACM-12;"));
        assert!(release(world, &[&gone.0]).done().out.starts_with(&format!("Released: issue {gone};")));
        release(world, &["ACM-12"]).refused(USAGE, &["issue ACM-12 is not in quarantine"]);
        release(world, &["ACM-99"]).refused(USAGE, &["there is no ", " ACM-99 in this database"]);
    }

    fn all_are_released_at_once_and_those_that_only_failed_are_not_touched(world) {
        let agent = world.agent("idle");
        for sweeps in [2, 3, 5] {
            let issue = world.orphan(&agent);
            failed(world, "issue", &issue, sweeps);
        }
        assert_eq!(release(world, &["--all"]).done().out, "Released 2 subjects; the next sweep examines them again\n");
        assert_eq!(release(world, &["--all"]).done().out, "Nothing is in quarantine.\n");
        assert_eq!(command_at(&world.url, ["quarantine", "list"]).run().done().out, "Nothing is in quarantine.\n");
        assert_eq!((world.count("failures"), world.count("failures where sweeps = 2")), (3, 1));
    }

    fn a_subject_that_is_gone_is_listed_by_its_id_and_released(world) {
        let (gone, odd) = (Id::generate(), Id::generate());
        failed(world, "issue", &gone, 3);
        failed(world, "session", &odd, 3);

        let table = command_at(&world.url, ["quarantine", "list"]).run().done();
        assert!(table.out.contains(&gone.0) && table.out.contains(&format!("session  {odd}")), "{table}");
        assert!(!table.out.contains('\u{1b}'), "{table}");
        assert_eq!(
            release(world, &["issue", &gone.0]).done().out,
            format!("Released: issue {gone}; the next sweep examines it again\n")
        );
        release(world, &["--all"]).done();
        assert_eq!(list(world), [] as [Value; 0]);
    }
}

/// On the databases with sweep's own tables.
mod own_tables {
    use super::*;

    on_each_database! {
        fn a_row_that_cannot_be_read_is_listed_by_name_and_released(world) {
            let agent = world.agent("idle");
            let issue = world.orphan(&agent);
            let absurd = if world.on == On::Sqlite { "0001-01-01T00:00:00.000Z" } else { "infinity" };
            world.set("issues", &issue, &format!("updated_at = '{absurd}'"));
            failed(world, "issue", &issue, 3);
            let name = world.text("identifier", &format!("issues where id = '{issue}'")).expect("one");
            assert_eq!(list(world)[0]["identifier"], name);
            release(world, &["issue", &name]).done();
        }

        fn a_list_is_a_table(world) {
            let (_, step) = world.stalled_step(None);
            failed(world, "step", &step, 3);
            let table = command_at(&world.url, ["quarantine", "list"]).run().done();
            let expected = [
                "  kind  subject    tenant   for  failed sweeps  last failure",
                "  step  Launch #1  default  1h   3              no wakes[2J for this one",
            ];
            assert_eq!(table.out.lines().collect::<Vec<_>>(), expected);
        }
    }
}

#[test]
fn text_of_sqlite_that_is_no_utf8_hides_a_name_and_not_the_subject() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    world.set("issues", &issue, "identifier = cast(x'ff' as text)");
    failed(&mut world, "issue", &issue, 3);
    assert!(list(&world)[0]["identifier"].is_null());
    release(&world, &["issue", &issue.0]).done();
}

#[rstest]
#[case::nothing("", "ID is missing")]
#[case::no_name("issue", "ID is missing")]
#[case::all_and_one("--all issue ACM-12", "cannot be used together")]
fn an_argument_that_is_wrong_is_refused(#[case] line: &str, #[case] says: &str) {
    let words = ["quarantine", "release"].into_iter().chain(line.split_whitespace());
    sweep(words).run().refused(USAGE, &[says]);
}
