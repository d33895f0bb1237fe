//! Negative controls of P14: deliverers that lose a notification, or send one under two names, are found out.

use crate::support::receiver::{Answer, Receiver};
use crate::support::world::notifications::deliver;
use crate::support::world::on_each_database;

on_each_database! {
    /// The deliverer is killed in between, and never sends what it has marked.
    fn a_deliverer_that_marks_before_it_sends_loses_what_it_marked(world) {
        let receiver = Receiver::new();
        let settings = world.notifying_the_webhook(&receiver);
        world.escalation();
        world.sweep_as(&settings.sweep);
        let now = world.ago(0);
        world.run(&format!("update notifications set delivered_at = {now}"));

        deliver(&settings);

        assert_eq!((world.pending(), receiver.requests().len()), (0, 0));
    }

    fn a_deliverer_that_makes_its_key_at_each_attempt_sends_two(world) {
        let receiver = Receiver::answering(Answer::Status(500));
        let settings = world.notifying_the_webhook(&receiver);
        world.escalation();
        world.sweep_as(&settings.sweep);
        deliver(&settings);
        world.retry();
        world.run("update notifications set id = '00000000-0000-4000-8000-000000000001', message_id = null");

        deliver(&settings);

        let requests = receiver.requests();
        assert_ne!(requests[0].header("webhook-id"), requests[1].header("webhook-id"));
    }
}
