//! `sweep status --only`: all work in progress of one kind, healthy or not, and what of it a list is asked for by.

use sweep::rules::board::BoardState;
use sweep::rules::{Id, Kind};
use sweep::store::Timeouts;
use sweep::store::connect::databases::Found;
use sweep::store::connect::open::Url;
use sweep::store::read::overview::{Cursor, PageRequest, Scope};
use sweep::store::read::work_list::{SEARCHED_MAX, WorkFilter, WorkList};

use crate::support::program::{command_at, sweep};
use crate::support::world::many::numbered;
use crate::support::world::{On, World, on_each_database, on_each_host};

fn list(world: &World, filter: &WorkFilter, after: Option<Cursor>, limit: usize) -> WorkList {
    let database = Found::alone(Url::parse(&world.url).expect("a URL"));
    let page = PageRequest { after, limit };
    let read = WorkList::read_from(&database, filter, &page, None, &Timeouts::default());
    read.unwrap_or_else(|error| panic!("{error:#}"))
}

fn ids(list: &WorkList) -> Vec<Id> {
    list.page.rows.iter().map(|row| row.subject.id.clone().expect("an id")).collect()
}

fn listed(world: &World, filter: &WorkFilter) -> Vec<Id> {
    ids(&list(world, filter, None, 50))
}

fn of_kind(kind: Kind) -> WorkFilter {
    WorkFilter { kind: Some(kind), ..WorkFilter::default() }
}

/// Reads page after page.
fn followed(world: &World, filter: &WorkFilter, limit: usize) -> Vec<Id> {
    let (mut all, mut after) = (Vec::new(), None);
    for _ in 0..1000 {
        let page = list(world, filter, after, limit);
        all.extend(ids(&page));
        after = page.page.next_page;
        if after.is_none() {
            return all;
        }
    }
    panic!("a list without an end: {} rows", all.len());
}

on_each_host! {
    fn a_list_has_healthy_work_too_and_each_state_alone(world) {
        let agent = world.agent("idle");
        let orphan = world.orphan(&agent);
        let (at_work, ..) = world.issue_at_work();
        let issues = of_kind(Kind::Issue);
        let all = list(world, &issues, None, 50);
        let mut expected = vec![orphan.clone(), at_work.clone()];
        expected.sort();
        let mut found = ids(&all);
        found.sort();
        assert_eq!((found, all.page.rows_total), (expected, 2));
        let states: Vec<_> = all.page.states.into_iter().collect();
        assert_eq!(states, [(BoardState::Orphaned, 1), (BoardState::Active, 1)]);
        let active = WorkFilter { states: vec![BoardState::Active], ..issues };
        let shown = list(world, &active, None, 50);
        assert_eq!((ids(&shown), shown.page.rows_total, shown.page.states.len()), (vec![at_work], 1, 2));
    }

    fn an_escalation_that_blocked_its_issue_is_in_the_list_of_escalations(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        for _ in 0..2 {
            world.sweep();
            world.end_continuations("failed");
            world.pass(90);
        }
        world.sweep();
        let escalated = WorkFilter { states: vec![BoardState::Escalated], ..WorkFilter::default() };
        assert_eq!(listed(world, &escalated), [issue]);
        let orphaned = WorkFilter { states: vec![BoardState::Orphaned], ..WorkFilter::default() };
        assert!(listed(world, &orphaned).is_empty());
    }

    fn a_list_is_of_an_agent_a_tenant_or_everybody(world) {
        let (ada, bob) = (world.agent("idle"), world.agent("idle"));
        let (hers, his) = (world.orphan(&ada), world.orphan(&bob));
        let of = |agent: &Id| WorkFilter {
            scope: Scope { agent: Some(agent.0.clone()), ..Scope::default() }, ..WorkFilter::default()
        };
        assert_eq!((listed(world, &of(&ada)), listed(world, &of(&bob))), (vec![hers], vec![his]));
        assert_eq!(list(world, &of(&ada), None, 50).agent_name.as_deref(), Some("Ada"));
        assert_eq!(list(world, &WorkFilter::default(), None, 50).page.rows_total, 2);
    }

    fn each_row_is_on_one_page_however_short_pages_are(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 700..720);
        let (at_work, ..) = world.issue_at_work();
        let mut expected: Vec<Id> = (700..720).rev().map(numbered).collect();
        expected.push(at_work);
        for limit in [1, 7, 50] {
            assert_eq!(followed(world, &of_kind(Kind::Issue), limit), expected, "{limit}");
        }
    }

    fn a_search_looks_at_a_bounded_number_and_says_where_it_can_go_on(world) {
        let agent = world.agent("idle");
        let last = world.orphan(&agent);
        world.set("issues", &last, "title = 'Übung: paint the GATE'");
        let behind = u32::try_from(SEARCHED_MAX).expect("a number") + 100;
        world.orphans(&agent, 1..behind);
        let named = |name: &str| WorkFilter { name: Some(name.to_owned()), ..WorkFilter::default() };
        let first = list(world, &named("übung"), None, 50);
        assert!(first.page.rows.is_empty() && first.page.next_page.is_some());
        let next = list(world, &named("übung"), first.page.next_page, 50);
        assert_eq!((ids(&next), next.page.next_page), (vec![last.clone()], None));
        assert_eq!(followed(world, &named("gate"), 50), [last]);
        assert_eq!(listed(world, &named("n-17")).first(), Some(&numbered(179)), "what people call it");
        assert_eq!(listed(world, &named("fence")).first(), Some(&numbered(behind - 1)));
    }
}

mod plans_and_sessions {
    use super::*;

    on_each_database! {
        fn steps_are_listed_by_their_plan_and_work_that_nobody_has_by_that(world) {
            let agent = world.agent("idle");
            let ((plan, step), (other, nobodys)) = (world.stalled_step(Some(&agent)), world.stalled_step(None));
            let by = |plan: &Id| WorkFilter { plan: Some(plan.0.clone()), ..WorkFilter::default() };
            let shown = list(world, &by(&plan), None, 50);
            assert_eq!((ids(&shown), shown.page.rows[0].plan_id.as_ref()), (vec![step], Some(&plan)));
            assert_eq!(listed(world, &by(&other)), std::slice::from_ref(&nobodys));
            let nobody = Scope { agent: Some(String::new()), ..Scope::default() };
            assert_eq!(listed(world, &WorkFilter { scope: nobody, ..WorkFilter::default() }), [nobodys]);
        }

        fn of_a_session_its_directory_and_its_last_line_or_question_are_shown(world) {
            let agent = world.agent("idle");
            let (talks, asks, hides) =
                (world.session(Some(&agent), None), world.session(Some(&agent), None), world.session(None, None));
            let now = world.ago(0);
            let lives = format!("last_activity_at = {now}, last_progress_at = {now}");
            let output = "recent_output = 'one\n  two  \n\n'";
            world.set("sessions", &talks, &format!("{output}, directory = '/srv/api', {lives}"));
            world.set("sessions", &asks, "agent_state = 'waiting', agent_question = 'May I?', recent_output = 'x'");
            world.set(
                "sessions", &hides,
                "agent_state = 'working', agent_question = 'Old?', recent_output = 'a\npassword=hunter2',
                 directory = ' '",
            );
            let shown = list(world, &of_kind(Kind::Session), None, 50);
            let of = |id: &Id| {
                let row = shown.page.rows.iter().find(|row| row.subject.id.as_ref() == Some(id)).expect("a row");
                let screen = row.screen.clone().expect("a screen");
                (row.state.name(), screen.directory, screen.last_line, screen.question)
            };
            let text = |text: &str| Some(text.to_owned());
            assert_eq!(of(&talks), ("active", text("/srv/api"), text("two"), None));
            assert_eq!((of(&asks).2, of(&asks).3), (text("x"), text("May I?")));
            assert_eq!((of(&hides).1, of(&hides).2, of(&hides).3), (None, text("password=***"), None));
            let json = command_at(&world.url, ["status", "--only", "sessions", "--output", "json"]).run().done();
            let json = json.json();
            let rows = json["rows"].as_array().expect("rows");
            assert_eq!((rows.len(), &json["rows_total"], &json["provided"]), (3, &3.into(), &true.into()));
            assert!(rows.iter().any(|row| row["question"] == "May I?" && row["directory"].is_null()), "{json:#}");
            let issues = command_at(&world.url, ["status", "--only", "issues", "--output", "json"]).run().done();
            assert_eq!(issues.json()["rows_total"], 0);
        }
    }
}

#[test]
fn a_session_is_a_line_with_its_directory_and_what_it_shows_or_asks() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    let (one, other) = (world.session(Some(&agent), None), world.session(None, None));
    let now = world.ago(0);
    world.set(
        "sessions",
        &one,
        &format!(
            "identifier = 'api', directory = '/srv/api', agent_state = 'waiting',
                  agent_question = 'May I \u{1b}[31mgo on?',
                  last_activity_at = {now}, last_progress_at = {now}"
        ),
    );
    world.set("sessions", &other, "identifier = 'web', directory = '/srv/web', recent_output = 'test ok'");
    let ran = sweep(["status", "--database", &world.url, "--only", "sessions"]).run().done();
    let lines: Vec<&str> = ran.out.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "1 silent, 1 active",
            "",
            "  state   session  for  agent  directory  question or last line",
            "  silent  web      10m         /srv/web   test ok",
            "  active  api       0s  Ada    /srv/api   asks: May I [31mgo on?",
        ]
    );
    assert!(ran.out.starts_with("2 sessions in progress (native) at "), "{}", ran.out);
}

#[test]
fn a_kind_that_a_database_does_not_have_is_said_to_be_missing() {
    let world = World::new(On::Paperclip);
    let ran = sweep(["status", "--database", &world.url, "--only", "steps"]).run().done();
    assert!(ran.out.ends_with("\nsteps: not provided by this database\n"), "{}", ran.out);
}
