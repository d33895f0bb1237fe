//! The part of a tenant or an agent that is held back is held back again, and costs nobody else anything.

use serde_json::json;
use sweep::conclusion::Conclusion;

use crate::support::world::on_each_host;

on_each_host! {
    fn a_tenant_is_held_back_again_while_all_others_are_swept(world) {
        let (hostile, other) = (world.tenant("evil"), world.tenant("acme"));
        let stale = world.orphans_of(&hostile, 0..30);
        world.at_work_of(&other, 200..210);
        let first = world.sweep_guarded();
        assert_eq!((first.exit, first.issues("deferred")), (Conclusion::Guarded, 30));
        world.orphans_of(&other, 100..103);

        let second = world.sweep_guarded();

        assert_eq!(second.held(), first.held());
        assert_eq!((second.exit, second.issues("continued"), second.issues("scanned")), (Conclusion::Guarded, 3, 3));
        world.declare_waits(&stale);
        let third = world.sweep_guarded();
        assert_eq!((third.exit, third.held().1, third.issues("waiting")), (Conclusion::Done, &json!([]), 30));
    }

    fn an_agent_is_held_back_again_with_its_name(world) {
        let (tenant, other) = (world.tenant("acme"), world.tenant("other"));
        let stale = world.orphans_of(&tenant, 0..30);
        let colleague = world.colleague(&tenant);
        for issue in world.orphans_of(&tenant, 100..102) {
            world.set("issues", &issue, &format!("assignee_agent_id = '{colleague}'"));
        }
        world.at_work_of(&other, 200..205);
        let first = world.sweep_guarded();
        assert_eq!((first.held().1[0]["agent_id"].as_str(), first.issues("continued")), (Some(&*tenant.agent.0), 2));

        let second = world.sweep_guarded();

        assert!(second.held().1[0]["agent"].is_string(), "{}", second.held().1);
        assert_eq!((second.exit, second.held(), second.issues("deferred")), (Conclusion::Guarded, first.held(), 30));
        world.declare_waits(&stale);
        assert_eq!(world.sweep_guarded().held().1, &json!([]));
    }

    /// If all work belongs to tenants that are held back, each is released by itself.
    fn a_tenant_that_heals_is_swept_though_the_other_is_still_held_back(world) {
        let (hostile, other) = (world.tenant("evil"), world.tenant("acme"));
        world.orphans_of(&hostile, 0..30);
        let healing = world.orphans_of(&other, 100..130);
        assert_eq!(world.sweep_guarded().held().0["stranded"], 60);
        healing[..15].iter().for_each(|issue| world.set("issues", issue, "status = 'done'"));

        let swept = world.sweep_guarded();

        assert_eq!(
            (&swept.held().1[0]["tenant"], swept.held().1.as_array().map(Vec::len)),
            (&json!(hostile.name), Some(1))
        );
        assert_eq!((swept.exit, swept.issues("continued"), swept.issues("deferred")), (Conclusion::Guarded, 15, 30));
    }
}
