//! `sweep exempt add agent` and `tenant`: all work of an agent or a tenant is in progress on purpose.

use sweep::rules::{Id, Kind};

use crate::support::program::{Ran, command_at, explain};
use crate::support::views_and_rules::old_ledger_row;
use crate::support::world::{World, on_each_host};

const USAGE: i32 = 64;

fn exempt(world: &World, words: &[&str]) -> Ran {
    command_at(&world.url, ["exempt"].into_iter().chain(words.iter().copied())).run()
}

fn listed(world: &World) -> Vec<serde_json::Value> {
    let mut json = exempt(world, &["list", "--output", "json"]).done().json();
    json["exemptions"].as_array_mut().map(std::mem::take).expect("exemptions")
}

fn state(world: &mut World, issue: &Id) -> String {
    world.text("state || ': ' || detail", &format!("issue_work_state where subject_id = '{issue}'")).expect("a state")
}

fn tenant_of(world: &mut World, issue: &Id) -> String {
    world.text("tenant", &format!("issue_facts where subject_id = '{issue}'")).expect("a tenant")
}

on_each_host! {
    fn all_that_an_exempt_agent_has_is_left(world) {
        let ada = world.agent("idle");
        let bob = world.agent("idle");
        world.set("agents", &bob, "name = 'Bob'");
        let (hers, his) = (world.orphan(&ada), world.orphan(&bob));

        let said = exempt(world, &["add", "agent", "Ada", "--reason", "on holiday", "--until", "2100-01-01"]).done();

        assert_eq!(said.out, "Exempt: agent Ada, until 2100-01-01 00:00:00 UTC: on holiday\n");
        let dry = world.dry_run();
        assert_eq!((dry.outcome(&hers), dry.outcome(&his)), ("waiting", "continued"));
        assert_eq!(dry.subject(&hers)["reason"], "its agent is exempt: on holiday");
        assert_eq!((state(world, &hers), state(world, &his)),
            ("exempt: on holiday".to_owned(), "orphaned: nobody is working on it".to_owned()));
        let table = command_at(&world.url, ["explain", "issue", &hers.0]).run().done().out;
        assert!(table.contains("its agent Ada is exempt until 2100-01-01 00:00:00 UTC: on holiday"), "{table}");
        assert!(table.contains("or is removed (sweep exempt remove agent)"), "{table}");
        assert_eq!(explain(&world.url, Kind::Issue, &hers.0)["history"]["exemption"]["whose"], "agent");
        let row = &listed(world)[0];
        assert_eq!((&row["kind"], &row["id"], &row["identifier"]), (&"agent".into(), &ada.0.into(), &"Ada".into()));

        assert_eq!(exempt(world, &["remove", "agent", "Ada"]).done().out, "No longer exempt: agent Ada\n");
        assert_eq!(world.dry_run().outcome(&hers), "continued");
    }

    fn all_that_is_an_exempt_tenants_is_left(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let tenant = tenant_of(world, &issue);

        let said = exempt(world, &["add", "tenant", &tenant, "--reason", "moving house"]).done();

        assert_eq!(said.out, format!("Exempt: tenant {tenant}, until removed: moving house\n"));
        assert_eq!(world.sweep().subject(&issue)["reason"], "its tenant is exempt: moving house");
        assert_eq!(state(world, &issue), "exempt: moving house");
        let table = command_at(&world.url, ["explain", "issue", &issue.0]).run().done().out;
        assert!(table.contains("its tenant is exempt until it is removed: moving house"), "{table}");
        let row = &listed(world)[0];
        assert_eq!((&row["kind"], &row["id"], &row["tenant"]),
            (&"tenant".into(), &tenant.clone().into(), &tenant.clone().into()));
        let again = exempt(world, &["add", "tenant", &tenant, "--reason", "moved"]).done();
        assert!(again.out.starts_with("Exempt again"), "{again}");
        assert_eq!(world.status_document()["exemptions"], serde_json::json!({"holding": 1, "expired": 0}));

        exempt(world, &["remove", "tenant", &tenant]).done();
        assert_eq!(world.sweep().outcome(&issue), "continued");
        let not = format!("tenant {tenant} is not exempt");
        exempt(world, &["remove", "tenant", &tenant]).refused(USAGE, &[&not]);
    }

    fn the_first_that_holds_counts_and_one_that_has_expired_hides_none(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let tenant = tenant_of(world, &issue);
        exempt(world, &["add", "tenant", &tenant, "--reason", "the tenant's"]).done();
        exempt(world, &["add", "agent", "Ada", "--reason", "the agent's"]).done();
        exempt(world, &["add", "issue", &issue.0, "--reason", "its own"]).done();
        let earlier = world.ago(1);
        let mut said = Vec::new();
        for expired in ["issue", "agent", ""] {
            said.push(world.dry_run().subject(&issue)["reason"].as_str().expect("a reason").to_owned());
            said.push(state(world, &issue));
            world.run(&format!("update exemptions set until = {earlier} where kind = '{expired}'"));
        }
        let expected = [
            "exempt: its own", "exempt: its own", "its agent is exempt: the agent's", "exempt: the agent's",
            "its tenant is exempt: the tenant's", "exempt: the tenant's",
        ];
        assert_eq!(said, expected);
    }

    /// The open rows about such work call for nobody.
    fn what_an_exempt_agent_or_tenant_has_is_not_measured_as_waiting_for_people(world) {
        let agent = world.agent("idle");
        let issue = world.escalated_issue(&agent);
        let tenant = tenant_of(world, &issue);
        let waiting = |world: &World| {
            let path = tempfile::NamedTempFile::new().expect("a file");
            let file = path.path().to_str().expect("a path");
            command_at(&world.url, ["--set", &format!("metrics_file={file}"), "--only", "sessions"]).run();
            let text = std::fs::read_to_string(file).expect("metrics");
            text.lines().any(|line| line.starts_with("sweep_waiting_for_person_subjects{") && line.ends_with(" 1"))
        };
        assert!(waiting(world), "the control");
        for (of, name) in [("agent", "Ada"), ("tenant", tenant.as_str())] {
            exempt(world, &["add", of, name, "--reason", "x"]).done();
            assert!(!waiting(world), "{of}");
            exempt(world, &["remove", of, name]).done();
        }
        assert!(waiting(world));
    }

    fn who_is_not_there_or_not_one_cannot_be_exempt(world) {
        let (first, second) = (world.agent("idle"), world.agent("idle"));
        let add = |world: &World, of: &str, name: &str| exempt(world, &["add", of, name, "--reason", "x"]);
        add(world, "agent", "Eve").refused(USAGE, &["there is no agent Eve in this database"]);
        add(world, "tenant", "nowhere").refused(USAGE, &["there is no tenant nowhere in this database"]);
        let says = ["more than one agent is called Ada; give the id: ", &first.0, &second.0];
        add(world, "agent", "Ada").refused(USAGE, &says);
        add(world, "agent", &first.0).done();
        exempt(world, &["remove", "agent", &second.0]).refused(USAGE, &["agent Ada is not exempt"]);
        world.run(&format!("delete from agents where id = '{first}'"));
        assert!(listed(world)[0]["identifier"].is_null());
        let said = exempt(world, &["remove", "agent", &first.0]).done();
        assert_eq!(said.out, format!("No longer exempt: agent {first}\n"));
    }

    /// P5: an open row stays open, and no sweep closes it as recovered.
    fn an_exemption_of_its_agent_closes_nothing(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        old_ledger_row(world, "issue", &issue, "continue", false, false, 30);
        exempt(world, &["add", "agent", "Ada", "--reason", "x"]).done();
        assert_eq!(world.sweep().outcome(&issue), "waiting");
        assert_eq!(world.count("recoveries where settled_at is null"), 1);
    }
}
