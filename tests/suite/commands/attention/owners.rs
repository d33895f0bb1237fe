//! Whose work is shown: a tenant's or an agent's alone, and nobody else's is left out of it by mistake.

use serde_json::Value;
use sweep::rules::Id;
use sweep::store::read::overview::{PageRequest, Scope};

use super::items;
use crate::support::program::sweep;
use crate::support::world::{On, World, on_each_host};

const USAGE: i32 = 64;

fn of_agent(world: &World, agent: &Id) -> Value {
    let scope = Scope { agent: Some(agent.0.clone()), ..Scope::default() };
    world.attention_of(&scope, &PageRequest::default())
}

fn quarantine(world: &mut World, issue: &Id) {
    let now = world.ago(0);
    world.run(&format!(
        "insert into failures (kind, subject_id, sweeps, reason, quarantined_at) \
         values ('issue', '{issue}', 3, 'x', {now})"
    ));
}

on_each_host! {
    fn of_an_agent_everything_that_needs_a_person_is_shown_and_of_others_nothing(world) {
        let (ada, bob) = (world.agent("idle"), world.agent("idle"));
        let (stuck, bad, others) = (world.orphan(&ada), world.orphan(&ada), world.orphan(&bob));
        world.issue_wake(&stuck, &ada, "queued", 300);
        quarantine(world, &bad);
        world.issue_wake(&others, &bob, "queued", 300);

        let shown = of_agent(world, &ada);

        let expected = [("stuck_wake", stuck.0.as_str()), ("quarantined", bad.0.as_str())];
        assert_eq!((items(&shown), &shown["items_total"]), (expected.to_vec(), &2.into()));
        assert_eq!(shown["items"][0]["agent_id"], ada.0.as_str());
        assert_eq!(items(&of_agent(world, &bob)), [("stuck_wake", others.0.as_str())]);
    }

    fn what_the_guard_holds_back_of_an_agent_is_shown_with_his_work(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..30);
        world.sweep_guarded();
        assert_eq!(of_agent(world, &agent)["items"][0]["what"], "held_back");
    }

    fn an_agent_is_one_and_known_or_refused(world) {
        let (ada, other) = (world.agent("idle"), world.agent("idle"));
        world.orphan(&ada);
        let of = |name: &str| sweep(["attention", "--database", &world.url, "--agent", name]).run();
        of("Adam").refused(USAGE, &["there is no agent Adam in this database"]);
        of("0198c2a4-5b1e-7cc3-9d0a-3f2b8e6a7d10").refused(USAGE, &["there is no agent"]);
        of("Ada").refused(USAGE, &["more than one agent is called Ada; give the id", &ada.0, &other.0]);
        of(&other.0).done();
    }

    fn what_sweeps_leave_alone_is_not_said_to_be_done_next(world) {
        let agent = world.agent("idle");
        let (bad, issue) = (world.orphan(&agent), world.orphan(&agent));
        for (issues, left) in [
            (r#"{"provided": true}"#, None),
            (r#"{"provided": true, "mode": "shadow"}"#, Some("leave it: issues are in shadow")),
            (r#"{"provided": true, "mode": "off"}"#, Some("leave it: issues are off")),
        ] {
            let counts = format!(r#"{{"sessions": {{}}, "issues": {issues}, "steps": {{}}}}"#);
            quarantine(world, &bad);
            world.run("delete from sweeps");
            world.swept(1, (0, 1), "exit_code, succeeded, counts", &format!("0, true, '{counts}'"));

            let shown = world.attention();

            let of = |id: &Id| {
                let all = shown["next_sweep"]["subjects"].as_array().expect("subjects");
                all.iter().find(|subject| subject["id"] == id.0.as_str()).cloned().expect("the subject")
            };
            assert!(of(&bad)["would"].as_str().is_some_and(|would| would.starts_with("leave it: it is in quarantine")));
            assert_eq!((&of(&bad)["decision"], of(&issue)["decision"].is_null()), (&Value::Null, left.is_some()));
            let would = of(&issue)["would"].as_str().expect("what").to_owned();
            assert!(would.starts_with(left.unwrap_or("continue it")), "{would}");
            let summary = shown["sweeper"]["summary"].as_str().expect("a summary").to_owned();
            assert_eq!(summary.contains("Nothing is done about issues"), left.is_some(), "{summary}");
            world.run("update issues set status = 'done'");
            world.run("delete from failures");
            let printed = sweep(["attention", "--database", &world.url]).run().done();
            let is_doubted = printed.out.contains("Nothing needs a person, but sweeps do not do all that they should");
            assert_eq!(is_doubted, left.is_some(), "{printed}");
            world.run("update issues set status = 'in_progress'");
        }
    }

    fn days_count_what_sweeps_did_and_not_what_persons_asked_for(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        sweep(["wake", &issue.0, "--as", "ada", "--database", &world.url]).run().done();
        assert_eq!(world.attention()["days"][27]["continued"], 0);
        let swept = world.orphan(&agent);
        assert_eq!(world.sweep().outcome(&swept), "continued");
        assert_eq!(world.attention()["days"][27]["continued"], 1);
    }
}

#[test]
fn a_name_that_is_another_subjects_id_makes_no_command_that_leads_there() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    let (issue, other) = (world.escalated_issue(&agent), world.orphan(&agent));
    world.set("issues", &issue, &format!("identifier = '{other}'"));
    assert_eq!(world.attention()["items"][0]["commands"][0], format!("sweep explain issue {issue}"));
}
