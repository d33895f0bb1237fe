//! Incidents of PagerDuty: one for each subject, opened once and resolved when it recovered.

use serde_json::{Value, json};
use sweep::notify::Delivered;

use crate::support::program::sweep;
use crate::support::receiver::{Answer, Receiver};
use crate::support::world::notifications::deliver;
use crate::support::world::{On, World, on_each_database};

fn notifying(world: &World, receiver: &Receiver) -> sweep::cycle::CycleOptions {
    world.notifying(&[("SWEEP_PAGERDUTY_URL", &receiver.with_key()), ("SWEEP_NOTIFY_ON", "escalated")])
}

/// What was done with which incident.
fn actions(received: &[Value]) -> Vec<(&str, &str)> {
    received.iter().map(|event| (field(event, "event_action"), field(event, "dedup_key"))).collect()
}

fn field<'a>(event: &'a Value, name: &str) -> &'a str {
    event[name].as_str().expect("a text")
}

on_each_database! {
    fn a_recovery_resolves_the_incident_even_where_nobody_subscribed_to_it(world) {
        let receiver = Receiver::answering(Answer::Status(202));
        let settings = notifying(world, &receiver);
        let step = world.escalation();
        world.sweep_as(&settings.sweep);
        assert_eq!(deliver(&settings).delivered, 1);
        world.set("plan_steps", &step, "status = 'completed'");
        world.sweep_as(&settings.sweep);
        assert_eq!(deliver(&settings).delivered, 1);

        let requests = receiver.requests();
        assert_eq!(requests[0].path, "/v2/enqueue");
        let received = receiver.received();
        let opened = actions(&received)[0].1;
        assert_eq!(actions(&received), [("trigger", opened), ("resolve", opened)]);
        assert!(received.iter().all(|event| event["routing_key"] == "hunter2"));
        let payload = &received[0]["payload"];
        assert_eq!(payload["custom_details"]["subject_id"], json!(step));
        let fields = ["severity", "source", "component", "class"].map(|name| field(payload, name));
        assert_eq!(fields, ["error", "sweep", "step", "escalated"]);
        assert!(field(payload, "summary").starts_with("sweep: step Launch #1 needs a person: "), "{payload}");
    }

    fn a_recovery_of_which_nobody_was_told_before_is_not_sent(world) {
        let receiver = Receiver::answering(Answer::Status(202));
        let settings = notifying(world, &receiver);
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.sweep_as(&settings.sweep);
        world.run("update wakes set status = 'completed'");
        world.set("issues", &issue, "status = 'done'");
        world.sweep_as(&settings.sweep);
        assert_eq!(world.texts("event", "notifications"), [Some("recovered".to_owned())]);

        assert_eq!(deliver(&settings), Delivered::default());

        assert_eq!((receiver.received().len(), world.pending()), (0, 0));
    }

    fn many_at_once_are_one_incident_each(world) {
        let receiver = Receiver::answering(Answer::Status(202));
        let settings = notifying(world, &receiver);
        (0..7).for_each(|_| drop(world.escalation()));
        world.sweep_as(&settings.sweep);

        assert_eq!(deliver(&settings).delivered, 7);

        let received = receiver.received();
        let mut keys: Vec<&str> = actions(&received).iter().map(|(_, key)| *key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 7);
        assert!(keys.iter().all(|key| key.len() < 255));
    }

    /// What looks like a credential is not shown, and is another subject's all the same.
    fn subjects_whose_ids_are_hidden_have_an_incident_each(world) {
        let receiver = Receiver::answering(Answer::Status(202));
        let settings = notifying(world, &receiver);
        (0..2).for_each(|_| drop(world.escalation()));
        world.sweep_as(&settings.sweep);
        if world.on == On::Sqlite {
            world.run("update notifications set subject_id = 'ghp_' || replace(subject_id, '-', '')");
        }
        assert_eq!(deliver(&settings).delivered, 2);
        let received = receiver.received();
        let [first, second] = actions(&received)[..] else { panic!("{received:?}") };
        assert_ne!(first.1, second.1);
        if world.on == On::Sqlite {
            assert_eq!(received[0]["payload"]["custom_details"]["subject_id"], "***");
        }
    }

    /// A recovery that came first would leave the incident open for ever.
    fn a_recovery_waits_for_what_it_resolves(world) {
        let receiver = Receiver::answering(Answer::Status(400));
        let settings = notifying(world, &receiver);
        let step = world.escalation();
        world.sweep_as(&settings.sweep);
        assert_eq!(deliver(&settings), Delivered { failed: 1, ..Delivered::default() });
        receiver.take();
        receiver.answer(Answer::Status(202));
        let other = world.escalation();
        world.set("plan_steps", &step, "status = 'completed'");
        world.sweep_as(&settings.sweep);
        let earlier = world.ago(30);
        world.run(&format!("update notifications set created_at = {earlier} where attempts = 1"));

        assert_eq!(deliver(&settings), Delivered { delivered: 1, ..Delivered::default() }, "the other subject's");
        assert_eq!(receiver.received()[0]["payload"]["custom_details"]["subject_id"], json!(other));
        world.retry();
        assert_eq!(deliver(&settings).delivered, 2);
        let received = receiver.received();
        let opened = actions(&received)[0].1;
        assert_eq!(actions(&received), [("trigger", opened), ("resolve", opened)]);
    }

    fn the_end_of_an_outage_resolves_its_incident(world) {
        let receiver = Receiver::answering(Answer::Status(202));
        let settings =
            world.notifying(&[("SWEEP_PAGERDUTY_URL", &receiver.with_key()), ("SWEEP_NOTIFY_ON", "wakes_stuck")]);
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let wake = world.issue_wake(&issue, &agent, "queued", 2880);
        world.sweep_as(&settings.sweep);
        assert_eq!(deliver(&settings).delivered, 1);
        world.set("wakes", &wake, "status = 'completed'");
        world.sweep_as(&settings.sweep);
        assert_eq!(deliver(&settings).delivered, 1);

        let received = receiver.received();
        let opened = actions(&received)[0].1;
        assert_eq!(actions(&received), [("trigger", opened), ("resolve", opened)]);
        let payload = received[0]["payload"].as_object().expect("a payload");
        assert_eq!(payload["severity"], "critical");
        assert!(payload.iter().all(|(name, value)| value.is_string() || name == "custom_details"), "{payload:?}");
    }

    /// What comes first of an incident is looked up: among all that waits it would take longer than a statement may.
    fn thousands_of_incidents_that_wait_keep_no_other_destination_waiting(world) {
        let (busy, listening) = (Receiver::answering(Answer::Status(429)), Receiver::new());
        let settings = world.notifying(&[
            ("SWEEP_PAGERDUTY_URL", &busy.with_key()), ("SWEEP_WEBHOOK_URL", &listening.url()),
        ]);
        world.escalation();
        world.sweep_as(&settings.sweep);
        let copied = "destination, event, kind, part, sweep_id, details, due_at";
        let (id, subject, at) = match world.on {
            On::Sqlite => (
                "printf('%08x-0000-4000-8000-000000000000', n)",
                "'s' || n",
                "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-' || n || ' seconds')",
            ),
            On::Postgres | On::Paperclip => {
                ("gen_random_uuid()", "gen_random_uuid()", "now() - n * interval '1 second'")
            }
        };
        world.run(&format!(
            "with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 12000) \
             insert into notifications (id, subject_id, created_at, {copied}) \
             select {id}, {subject}, {at}, {copied} from numbers, notifications where destination = 'pagerduty'"
        ));

        assert_eq!(deliver(&settings), Delivered { delivered: 1, failed: 1, dead: 0 });

        assert_eq!((busy.requests().len(), listening.requests().len()), (1, 1));
    }

    fn a_receiver_that_has_enough_is_asked_again_later(world) {
        let receiver = Receiver::answering(Answer::Status(429));
        let settings = notifying(world, &receiver);
        (0..2).for_each(|_| drop(world.escalation()));
        world.sweep_as(&settings.sweep);
        assert_eq!(deliver(&settings), Delivered { failed: 1, ..Delivered::default() });
        receiver.answer(Answer::Status(202));
        world.retry();
        assert_eq!(deliver(&settings).delivered, 2);
    }
}

#[test]
fn a_test_opens_an_incident_and_resolves_it() {
    let receiver = Receiver::answering(Answer::Status(202));
    let ran = sweep(["notify", "test"]).env("SWEEP_PAGERDUTY_URL", receiver.with_key()).run().done();
    assert_eq!(ran.out, "pagerduty: delivered\n");
    let received = receiver.received();
    let opened = actions(&received)[0].1;
    assert_eq!(actions(&received), [("trigger", opened), ("resolve", opened)]);
    assert_eq!(received[0]["payload"]["severity"], "info");
}
