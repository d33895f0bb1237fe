//! What stands in the outbox, on each host.

use crate::support::receiver::Receiver;
use crate::support::world::{World, on_each_host};

on_each_host! {
    fn an_escalation_is_queued_once_for_each_destination_with_what_people_need(world) {
        let (agent, receiver) = (world.agent("idle"), Receiver::new());
        let url = receiver.url();
        let settings = world.notifying(&[("SWEEP_SLACK_URL", &url), ("SWEEP_WEBHOOK_URL", &url)]);
        let issue = world.orphan(&agent);
        world.sweep_as(&settings.sweep);
        assert_eq!(world.count("notifications"), 0, "a continuation needs nobody");
        world.end_continuations("failed");
        world.pass(10);
        world.sweep_as(&settings.sweep);
        world.sweep_as(&settings.sweep);

        let queued = |world: &mut World, column: &str, destination: &str| {
            world.text(column, &format!("notifications where destination = '{destination}'")).expect("a value")
        };
        for destination in ["slack", "webhook"] {
            for (column, expected) in [("event", "escalated"), ("kind", "issue"), ("subject_id", &issue.0)] {
                assert_eq!(queued(world, column, destination), expected);
            }
            let details: serde_json::Value =
                serde_json::from_str(&queued(world, "details", destination)).expect("JSON");
            for (field, expected) in [
                ("title", "Mend the fence"),
                ("agent", "Ada"),
                ("finding", "orphaned"),
                ("reason", "no attempt is left"),
            ] {
                assert_eq!(details[field], expected, "{details}");
            }
            assert_eq!(details["attempts"], 1);
        }
    }
}
