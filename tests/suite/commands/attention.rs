//! `sweep attention`: everything that needs a person is listed, once, with what can be done about it; and it is the
//! same as what a sweep, an explanation and the status say.

use serde_json::{Value, json};
use sweep::rules::{Escalation, Id, Policy};
use sweep::store::read::overview::{PageRequest, Scope};
use sweep::sweep::Options;

use crate::support::program::sweep;
use crate::support::world::{On, World, on_each_database, on_each_host};

mod owners;
mod pages;
mod program;
mod sweeper;

fn items(document: &Value) -> Vec<(&str, &str)> {
    let items = document["items"].as_array().expect("items");
    items.iter().map(|item| (item["what"].as_str().expect("what"), item["id"].as_str().unwrap_or_default())).collect()
}

fn explain(world: &World, kind: &str, id: &Id) -> Value {
    sweep(["explain", kind, &id.0, "--output", "json", "--database", &world.url]).run().done().json()
}

on_each_host! {
    fn nothing_needs_a_person_in_an_empty_database(world) {
        let shown = world.attention();

        assert_eq!((items(&shown), &shown["items_total"], &shown["next_page"]), (vec![], &0.into(), &Value::Null));
        assert_eq!(shown["sweeper"]["state"], "never");
        assert_eq!((&shown["next_sweep"]["stranded_total"], &shown["agents_total"]), (&0.into(), &0.into()));
        assert_eq!(shown["days"].as_array().map(Vec::len), Some(28));
    }

    fn an_escalation_says_why_and_what_was_tried_as_its_explanation_does_until_a_person_answers(world) {
        let agent = world.agent("idle");
        let issue = world.escalated_issue(&agent);

        let shown = world.attention();

        assert_eq!(items(&shown), [("escalated", issue.0.as_str())]);
        let (item, explained) = (&shown["items"][0], explain(world, "issue", &issue));
        let recoveries = explained["recoveries"].as_array().expect("recoveries");
        assert_eq!((&item["why"], &item["since"]), (&recoveries[1]["reason"], &recoveries[1]["at"]));
        assert_eq!((&item["identifier"], &item["title"]), (&explained["identifier"], &explained["title"]));
        let tried = item["tried"].as_str().expect("what was tried");
        let at = recoveries[0]["at"].as_str().expect("a time");
        assert!(tried.starts_with("one automatic continuation, at ") && tried.contains(&at[11..16]), "{tried} {at}");
        assert!(item["advice"].as_str().is_some_and(|advice| advice.contains("close it")), "{item}");
        assert_eq!((&shown["kinds"]["issues"]["escalated"], &item["agent"]), (&1.into(), &"Ada".into()));
        world.set("issues", &issue, "status = 'done'");
        assert_eq!(items(&world.attention()), []);
    }

    fn an_escalated_issue_that_stays_in_progress_is_listed_as_well_and_may_be_woken(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let policy = Policy { escalation: Escalation::CommentOnly, ..Policy::default() };
        let options = Options { policy, ..world.options() };
        world.sweep_as(&options);
        world.end_continuations("failed");
        world.pass(10);
        world.sweep_as(&options);
        world.pass(10);

        let shown = world.attention();

        assert_eq!(items(&shown), [("escalated", issue.0.as_str())]);
        let commands = shown["items"][0]["commands"].as_array().expect("commands");
        let name = shown["items"][0]["identifier"].as_str().expect("a name");
        assert_eq!(commands[..], [json!(format!("sweep explain issue {name}")), json!(format!("sweep wake {name}"))]);
    }

    fn what_is_escalated_no_more_today_is_listed_although_nothing_of_it_is_open(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        for minutes in [300, 250, 200, 150] {
            let (id, sweep_id, at) = (Id::generate(), Id::generate(), world.ago(minutes));
            world.run(&format!("insert into recoveries (id, sweep_id, kind, subject_id, action, reason, \
                episode_began_at, attempt, created_at, settled_at) values ('{id}', '{sweep_id}', 'issue', '{issue}', \
                'escalate', 'no attempt is left', {at}, 1, {at}, {at})"));
            let (id, sweep_id) = (Id::generate(), Id::generate());
            world.run(&format!("insert into recoveries (id, sweep_id, kind, subject_id, action, reason, \
                episode_began_at, attempt, created_at, settled_at) values ('{id}', '{sweep_id}', 'issue', '{issue}', \
                'continue', 'nobody is working on it', {at}, 1, {at}, {at})"));
        }

        let shown = world.attention();

        assert_eq!(items(&shown), [("escalated", issue.0.as_str())]);
        assert_eq!(shown["items"][0]["why"], "no attempt is left");
    }

    fn abandoned_work_stuck_wakes_and_quarantined_rows_are_listed_the_oldest_first(world) {
        let (agent, gone) = (world.agent("idle"), world.agent("terminated"));
        let (abandoned, stuck, bad) = (world.orphan(&gone), world.orphan(&agent), world.orphan(&agent));
        let long_ago = world.ago(600);
        world.set("issues", &abandoned, &format!("updated_at = {long_ago}"));
        world.issue_wake(&stuck, &agent, "queued", 300);
        let hour = world.ago(90);
        world.run(&format!("insert into failures (kind, subject_id, sweeps, reason, quarantined_at)
            values ('issue', '{bad}', 3, 'no plausible time', {hour})"));
        world.sweep();

        let shown = world.attention();

        let expected = [("abandoned", abandoned), ("stuck_wake", stuck), ("quarantined", bad)];
        assert_eq!(items(&shown), expected.each_ref().map(|(what, id)| (*what, id.0.as_str())));
        assert_eq!(shown["items_total"], 3);
        assert_eq!(shown["items"][1]["why"], "stuck wake: queued for 5h");
        let release = format!("sweep quarantine release issue {}", expected[2].1);
        assert_eq!(shown["items"][2]["commands"][1], release);
    }

    fn a_notification_that_was_given_up_needs_a_person(world) {
        let agent = world.agent("idle");
        let issue = world.escalated_issue(&agent);
        let (id, at) = (Id::generate(), world.ago(30));
        world.run(&format!("insert into notifications (id, destination, event, kind, subject_id, sweep_id, details, \
            created_at, dead_at, last_error) values ('{id}', 'slack', 'session_stuck', 'issue', '{issue}', '{id}', \
            '{{\"identifier\": \"T-1\"}}', {at}, {at}, 'it answers 404')"));

        let shown = world.attention();

        assert_eq!(items(&shown)[0], ("undelivered", issue.0.as_str()));
        let why = "the notification “session stuck” could not be delivered to slack: it answers 404";
        assert_eq!((&shown["items"][0]["why"], &shown["items_total"]), (&why.into(), &2.into()));
        world.run("update notifications set dead_at = null, attempts = 3");
        let late = world.attention();
        let why = "the notification “session stuck” has not been delivered to slack: it answers 404";
        assert_eq!(late["items"][0]["why"], why);
        let now = world.ago(1);
        world.run(&format!("update notifications set created_at = {now}"));
        assert_eq!(world.attention()["items_total"], 1, "it is not late yet");
    }

    fn what_the_next_sweep_would_do_is_what_a_dry_run_says(world) {
        let (agent, paused) = (world.agent("idle"), world.agent("paused"));
        let issues: Vec<Id> = (0..4).map(|_| world.orphan(&agent)).collect();
        world.orphan(&paused);
        world.sweep();
        world.end_continuations("failed");
        let fresh = world.orphan(&agent);
        world.pass(10);

        let shown = world.attention();

        let dry = world.dry_run();
        let planned = shown["next_sweep"]["subjects"].as_array().expect("subjects");
        assert_eq!((planned.len(), &shown["next_sweep"]["stranded_total"]), (5, &5.into()));
        for subject in planned {
            let id = Id(subject["id"].as_str().expect("an id").to_owned());
            let expected = if id == fresh { ("continue", "continued") } else { ("escalate", "escalated") };
            assert_eq!((subject["decision"].as_str(), dry.outcome(&id)), (Some(expected.0), expected.1));
            assert!(issues.contains(&id) || id == fresh);
        }
        assert_eq!(shown["next_sweep"]["decisions"], json!({"continue": 1, "escalate": 4}));
    }

    fn each_day_has_what_sweeps_did_on_it(world) {
        let agent = world.agent("idle");
        let issue = world.escalated_issue(&agent);
        // Ten minutes ago it was yesterday, if it is just after midnight.
        let now = world.ago(0);
        world.run(&format!("update recoveries set created_at = {now}"));
        let today = &world.attention()["days"][27];
        assert_eq!((&today["continued"], &today["escalated"], &today["recovered"]), (&1.into(), &1.into(), &0.into()));
        let days_ago = world.ago(60 * 24 * 3);
        world.run(&format!("update recoveries set created_at = {days_ago} where action = 'continue'"));
        world.set("issues", &issue, "status = 'done'");
        world.sweep();

        let shown = world.attention();

        let (then, now) = (&shown["days"][24], &shown["days"][27]);
        assert_eq!((&then["continued"], &then["escalated"]), (&1.into(), &0.into()));
        assert_eq!((&now["continued"], &now["escalated"], &now["recovered"]), (&0.into(), &1.into(), &1.into()));
    }

    fn work_is_counted_by_tenant_and_agent_those_that_need_a_person_first(world) {
        let busy = world.agent("idle");
        for _ in 0..3 {
            let issue = world.orphan(&busy);
            world.issue_run(&issue, &busy, "running", 5);
        }
        let needy = world.tenant("beta");
        let name = if world.on == On::Paperclip { "Mallory" } else { "Ada" };
        let issues = world.orphans_of(&needy, 1..2);
        world.sweep();
        world.end_continuations("failed");
        world.pass(10);
        world.sweep();

        let shown = world.attention();

        let first = &shown["agents"][0];
        assert_eq!((&first["id"], &first["name"], &first["tenant"]),
            (&needy.agent.0.as_str().into(), &name.into(), &needy.name.as_str().into()));
        // On Paperclip each run is a session as well.
        let active = if world.on == On::Paperclip { 6 } else { 3 };
        let states = (&first["states"], &shown["agents"][1]["states"]);
        assert_eq!(states, (&json!({"escalated": 1}), &json!({"active": active})));
        assert_eq!((&shown["tenants"][0]["name"], &shown["tenants_total"]), (&needy.name.as_str().into(), &2.into()));
        for scope in [
            Scope { tenant: Some(needy.name.clone()), agent: None },
            Scope { tenant: None, agent: Some(needy.agent.0.clone()) },
        ] {
            let theirs = world.attention_of(&scope, &PageRequest::default());
            assert_eq!(items(&theirs), [("escalated", issues[0].0.as_str())], "{scope:?}");
            let counts = [&theirs["kinds"]["issues"]["active"], &theirs["kinds"]["issues"]["escalated"]];
            assert_eq!(counts, [&json!(0), &json!(1)], "{scope:?}");
        }
        let idle = Scope { tenant: None, agent: Some(world.agent("idle").0) };
        assert_eq!(world.attention_of(&idle, &PageRequest::default())["items_total"], 0);
    }
}

mod steps_and_sessions {
    use super::*;

    on_each_database! {
        fn steps_and_sessions_that_wait_for_a_person_are_listed_with_the_rest(world) {
            let agent = world.agent("idle");
            let (_, step) = world.stalled_step(None);
            let session = world.session(Some(&agent), None);
            world.ends(&session, "1");
            world.sweep();

            let shown = world.attention();

            let mut listed = items(&shown);
            listed.sort();
            let mut expected = vec![("escalated", step.0.as_str()), ("escalated", session.0.as_str())];
            expected.sort();
            assert_eq!(listed, expected);
            let listed = shown["items"].as_array().expect("items");
            let of = |kind: &str| listed.iter().find(|item| item["kind"] == kind);
            assert_eq!(of("step").expect("the step")["why"], "the plan has no agent to wake");
            let commands = of("step").expect("the step")["commands"].to_string();
            assert!(commands.contains("sweep step skip") && !commands.contains("sweep wake"), "{commands}");
        }
    }
}
