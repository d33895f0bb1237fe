//! `--tenant`: one tenant's work, and nothing of the others.

use chrono::TimeDelta;
use sweep::rules::{Id, Kind};
use sweep::sweep::{Options, Selection};

use crate::support::program::sweep_at;
use crate::support::world::{On, World, on_each_database, on_each_host};

/// Ten orphans of one tenant and, younger and older, eight of another; the one's name.
fn two_tenants(world: &mut World) -> (String, Vec<Id>) {
    let agent = world.agent("idle");
    world.orphans(&agent, 0..4);
    let ours = world.orphans(&agent, 10..20);
    world.orphans(&agent, 30..34);
    let of_ours = "identifier between 'N-10' and 'N-19'";
    match world.on {
        On::Paperclip => {
            let company = Id::generate();
            world.run(&format!(
                "insert into companies (id, name, issue_prefix, default_responsible_user_id)
                 values ('{company}', 'Bolt', 'BOLT', 'user-1')"
            ));
            let theirs = Id::generate();
            world.run(&format!("insert into agents (id, company_id, name) values ('{theirs}', '{company}', 'Bob')"));
            world.run(&format!(
                "update issues set company_id = '{company}', assignee_agent_id = '{theirs}' where {of_ours}"
            ));
            (company.0, ours)
        }
        On::Postgres | On::Sqlite => {
            world.run(&format!("update issues set tenant = 'bolt' where {of_ours}"));
            ("bolt".to_owned(), ours)
        }
    }
}

fn of_tenant(world: &World, tenant: &str) -> Options {
    Options { tenant: Some(tenant.to_owned()), ..world.options() }
}

on_each_host! {
    fn only_its_work_is_swept(world) {
        let (tenant, ours) = two_tenants(world);

        let swept = world.sweep_as(&of_tenant(world, &tenant));

        assert_eq!((swept.count("issues", "scanned"), swept.count("issues", "continued")), (10, 10));
        for issue in &ours {
            assert_eq!((swept.outcome(issue), swept.subject(issue)["tenant"].as_str()), ("continued", Some(&*tenant)));
        }
        assert_eq!(world.count("recoveries"), 10);
    }

    fn the_limit_takes_its_oldest_and_counts_its_rest(world) {
        let (tenant, ours) = two_tenants(world);

        let swept = world.sweep_as(&Options { limit: Some(2), ..of_tenant(world, &tenant) });

        assert_eq!((swept.count("issues", "continued"), swept.count("issues", "deferred")), (2, 8));
        assert_eq!(world.wakes_for(&ours[9]) + world.wakes_for(&ours[8]), 2);
        let tiny = Options { deadline: TimeDelta::milliseconds(1), ..of_tenant(world, &tenant) };
        assert_eq!(world.sweep_as(&tiny).count("issues", "deferred"), 10);
    }

    fn a_tenant_that_is_not_there_is_refused(world) {
        two_tenants(world);
        for arguments in [&["--tenant", "nobody"][..], &["--tenant", "nobody", "--dry-run"]] {
            let ran = sweep_at(&world.url, arguments.iter().copied()).run();
            ran.refused(64, &["there is no tenant nobody in this database"]);
        }
        sweep_at(&world.url, ["--tenant", "nobody"]).run().refused(64, &["there is no tenant nobody"]);
        assert_eq!((world.written(), world.count("sweeps")), (0, 0));
    }

    fn a_tenant_with_nothing_in_progress_has_nothing_to_do(world) {
        let (tenant, ours) = two_tenants(world);
        for issue in &ours {
            world.set("issues", issue, "status = 'done'");
        }
        assert_eq!(world.sweep_as(&of_tenant(world, &tenant)).count("issues", "scanned"), 0);
    }

    fn what_is_named_must_be_its_own(world) {
        let (tenant, ours) = two_tenants(world);
        sweep_at(&world.url, ["--tenant", &tenant, "--issue", "N-1"])
            .run()
            .refused(64, &["N-1 belongs to the tenant", &tenant]);
        let selection = Selection::Subjects(vec![(Kind::Issue, "N-12".to_owned())]);
        let swept = world.sweep_as(&Options { selection, ..of_tenant(world, &tenant) });
        assert_eq!((swept.outcome(&ours[2]), world.count("recoveries")), ("continued", 1));
    }
}

mod steps {
    use super::*;

    on_each_database! {
        fn a_step_is_its_plans_tenants(world) {
            let agent = world.agent("idle");
            let steps = world.stalled_steps(&agent, 0..4);
            world.set("plans", &steps[1], "tenant = 'bolt'");

            let swept = world.sweep_as(&of_tenant(world, "bolt"));

            assert_eq!((swept.count("steps", "scanned"), swept.outcome(&steps[1])), (1, "continued"));
        }
    }
}

mod quarantined_work {
    use super::*;

    on_each_database! {
        fn of_another_tenant_is_not_named_in_a_tenants_status(world) {
            let agent = world.agent("idle");
            for tenant in ["acme", "evil"] {
                let issue = world.orphan(&agent);
                world.set("issues", &issue, &format!("tenant = '{tenant}', identifier = 'of {tenant}'"));
                let at = world.ago(60);
                world.run(&format!("insert into failures (kind, subject_id, sweeps, reason, quarantined_at)
                    values ('issue', '{issue}', 3, 'x', {at})"));
            }
            let status = crate::support::program::command_at(&world.url, ["status", "--tenant", "acme"]);
            let shown = status.run().done().out;
            assert!(shown.contains("of acme") && !shown.contains("of evil"), "{shown}");
        }
    }
}
