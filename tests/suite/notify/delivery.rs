//! At least once, whatever the other end does, and whoever is killed.

use std::process::Output;
use std::time::{Duration, Instant};

use sweep::cycle::CycleOptions;
use sweep::notify::Delivered;
use sweep::store::connect::open::Url;
use sweep::sweep::Cancel;
use sweep::sweep::Options;

use super::text;
use crate::support::program::sweep_at;
use crate::support::proxy::{Direction, Proxy};
use crate::support::receiver::{Answer, Receiver};
use crate::support::scratch::Role;
use crate::support::world::notifications::{deliver, deliver_until};
use crate::support::world::{On, World, on_each_database};

fn failed(failed: u64) -> Delivered {
    Delivered { failed, ..Delivered::default() }
}

fn delivered(delivered: u64) -> Delivered {
    Delivered { delivered, ..Delivered::default() }
}

on_each_database! {
    fn what_failed_is_tried_again_later_with_the_same_key_and_body(world) {
        let receiver = Receiver::answering(Answer::Status(500));
        let settings = world.notifying_the_webhook(&receiver);
        world.escalation();
        world.sweep_as(&settings.sweep);

        assert_eq!(deliver(&settings), failed(1));
        assert_eq!(world.text("last_error", "notifications").as_deref(), Some("HTTP 500"));
        assert_eq!(deliver(&settings), Delivered::default(), "it is not due");
        world.retry();
        assert_eq!(deliver(&settings), failed(1));
        receiver.answer(Answer::Status(200));
        world.retry();
        assert_eq!(deliver(&settings), delivered(1));
        world.retry();
        assert_eq!(deliver(&settings), Delivered::default(), "it was delivered");

        let requests = receiver.requests();
        let (id, body) = (world.text("id", "notifications").expect("an id"), &requests[0].body);
        assert_eq!(requests.len(), 3);
        assert!(
            requests.iter().all(|request| request.header("webhook-id") == id && request.body == *body),
            "{requests:?}"
        );
        assert_eq!(world.text("last_error", "notifications"), None);
        assert_eq!(world.text("attempts", "notifications").as_deref(), Some("3"));
    }

    fn no_answer_of_the_other_end_makes_a_sweep_fail(world) {
        let receiver = Receiver::new();
        let answers = [
            (Answer::Status(404), "HTTP 404"),
            (Answer::Status(429), "HTTP 429"),
            (Answer::Reset, ""),
            (Answer::Garbage, ""),
            (Answer::Redirect("http://169.254.169.254/latest".to_owned()),
            "HTTP 302: it redirects, which is not followed"),
            (Answer::Redirect(Receiver::new().url()), "HTTP 302: it redirects, which is not followed"),
        ];
        for (answer, expected) in answers {
            world.escalation();
            receiver.answer(answer.clone());
            let ran = world.program_notifying("SWEEP_WEBHOOK_URL", &receiver).run().done();
            let error = world.text("max(last_error)", "notifications").expect("an error");
            assert!(!error.is_empty() && error.starts_with(expected), "{answer:?}: {error}");
            assert!(ran.err.contains("webhook was not notified of 1 notification, attempt"), "{answer:?}: {ran}");
            assert!(!ran.err.contains("hunter2") && !error.contains("hunter2"), "{answer:?}: {ran}");
            world.run("update notifications set delivered_at = created_at, last_error = null");
        }
    }

    fn a_receiver_that_hangs_keeps_nobody_else_waiting_for_long(world) {
        let (hanging, listening) = (Receiver::answering(Answer::Hang), Receiver::new());
        let settings = world.notifying(&[("SWEEP_SLACK_URL", &hanging.url()), ("SWEEP_WEBHOOK_URL", &listening.url())]);
        (0..4).for_each(|_| drop(world.escalation()));
        world.sweep_as(&settings.sweep);
        let began = Instant::now();

        assert_eq!(deliver(&settings), Delivered { delivered: 4, failed: 1, dead: 0 });

        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        assert_eq!((listening.received().len(), hanging.requests().len()), (4, 1));
        let why = world.text("last_error", "notifications where last_error is not null");
        assert_eq!(why.as_deref(), Some("no answer within 10 s"));
    }

    /// Two that hang would take all the time of each call.
    fn destinations_whose_attempts_have_failed_come_last(world) {
        let receiver = Receiver::new();
        let settings = world.notifying(&[
            ("SWEEP_SLACK_URL", &receiver.at("slack")), ("SWEEP_WEBHOOK_URL", &receiver.at("webhook")),
        ]);
        world.escalation();
        world.sweep_as(&settings.sweep);
        world.run("update notifications set attempts = 3, message_id = id where destination = 'slack'");
        assert_eq!(deliver(&settings).delivered, 2);
        let paths: Vec<String> = receiver.requests().iter().map(|request| request.path.clone()).collect();
        assert_eq!(paths, ["/webhook", "/slack"]);
    }

    /// A message that is refused is no reason to keep the others back.
    fn a_message_that_is_refused_does_not_hold_up_the_next(world) {
        let receiver = Receiver::answering(Answer::Status(400));
        let settings = world.notifying_slack(&receiver);
        world.escalation();
        world.escalation();
        world.sweep_as(&settings.sweep);
        assert_eq!(deliver(&settings), failed(2));
    }

    /// A URL that was revoked is not asked again and again.
    fn a_destination_that_is_gone_is_asked_once_in_a_run(world) {
        let receiver = Receiver::answering(Answer::Status(404));
        let settings = world.notifying_slack(&receiver);
        world.escalation();
        world.escalation();
        world.sweep_as(&settings.sweep);
        assert_eq!(deliver(&settings), failed(1));
    }

    fn after_a_day_it_is_given_up_and_the_status_says_so(world) {
        let receiver = Receiver::answering(Answer::Status(503));
        let settings = world.notifying_slack(&receiver);
        world.escalation();
        world.sweep_as(&settings.sweep);
        world.queued_earlier(23 * 60);
        assert_eq!(deliver(&settings), failed(1));
        let reported = &world.status_document()["notifications"];
        assert_eq!(
            (&reported["pending"], &reported["dead_total"], &reported["pending_error"]),
            (&1.into(), &0.into(), &"HTTP 503".into())
        );
        assert!(status_for_people(world).contains("1 notification waits, the oldest for 23h: HTTP 503"));

        world.queued_earlier(24 * 60);
        world.retry();
        assert_eq!(deliver(&settings), Delivered { failed: 1, dead: 1, delivered: 0 });
        world.retry();
        assert_eq!(deliver(&settings), Delivered::default());

        let reported = &world.status_document()["notifications"];
        assert_eq!((&reported["pending"], &reported["dead_total"]), (&0.into(), &1.into()));
        let dead = &reported["dead"][0];
        for (field, expected) in
            [("destination", "slack"), ("event", "escalated"), ("identifier", "Launch #1"), ("last_error", "HTTP 503")]
        {
            assert_eq!(dead[field], expected, "{dead}");
        }
        let printed = status_for_people(world);
        assert!(
            printed.contains("1 notification could not be delivered") && printed.contains("step Launch #1"),
            "{printed}"
        );
    }

    /// With one attempt in each sweep, what waits for a receiver that is gone would never be given up.
    fn a_receiver_that_was_down_for_a_day_has_all_given_up_that_is_as_old(world) {
        let receiver = Receiver::answering(Answer::Status(503));
        let settings = world.notifying_slack(&receiver);
        for _ in 0..3 {
            world.escalation();
            world.sweep_as(&settings.sweep);
            assert_eq!(deliver(&settings), failed(1));
        }
        world.queued_earlier(24 * 60 + 1);
        world.escalation();
        world.sweep_as(&settings.sweep);
        world.retry();

        assert_eq!(deliver(&settings), Delivered { failed: 1, dead: 3, delivered: 0 });

        assert_eq!((world.pending(), world.count("notifications where last_error = 'HTTP 503'")), (1, 3));
    }

    /// Nothing ran for a day; that is no reason not to try.
    fn what_was_never_tried_is_tried_however_old_it_is(world) {
        let receiver = Receiver::new();
        let settings = world.notifying_slack(&receiver);
        world.escalation();
        world.sweep_as(&settings.sweep);
        world.queued_earlier(3 * 24 * 60);
        assert_eq!(deliver(&settings), delivered(1));
    }

    fn what_has_no_destination_any_more_is_given_up_after_a_day(world) {
        let receiver = Receiver::new();
        let before = world.notifying_slack(&receiver);
        world.escalation();
        world.sweep_as(&before.sweep);
        let after = world.notifying(&[]);
        assert_eq!(deliver(&after), Delivered::default());
        world.queued_earlier(24 * 60 + 1);

        assert_eq!(deliver(&after), Delivered { dead: 1, ..Delivered::default() });

        assert_eq!(
            world.status_document()["notifications"]["dead"][0]["last_error"],
            "its destination is not configured any more"
        );
    }

    /// Between the commit and the delivery there is nothing that a kill could lose.
    fn what_a_killed_sweep_had_queued_is_delivered_by_the_next_one_with_the_same_key(world) {
        let receiver = Receiver::answering(Answer::Hang);
        world.escalation();
        let mut program = world.program_notifying("SWEEP_WEBHOOK_URL", &receiver);
        let mut child = program.start();
        receiver.wait_for(1);
        child.kill().expect("SIGKILL");
        let output: Output = child.wait_with_output().expect("an end");
        assert_eq!(output.status.code(), None);
        assert_eq!((world.count("recoveries"), world.pending()), (1, 1));

        receiver.answer(Answer::Status(200));
        world.retry();
        world.program_notifying("SWEEP_WEBHOOK_URL", &receiver).run().done();

        let requests = receiver.requests();
        assert_eq!((requests.len(), world.pending()), (2, 0));
        assert_eq!(requests[0].header("webhook-id"), requests[1].header("webhook-id"));
        assert_eq!(requests[0].body, requests[1].body);
    }
}

fn status_for_people(world: &World) -> String {
    crate::support::program::command_at(&world.url, ["status"]).run().done().out
}

/// The common case: who has nothing to tell pays for no connection.
#[test]
fn only_a_sweep_with_notifications_connects_to_deliver_them() {
    let (mut world, receiver) = (World::new(On::Postgres), Receiver::new());
    assert_eq!(connections(&world, &receiver), 1);
    world.escalation();
    // The scan's, a worker's, and the one that delivers.
    assert_eq!((connections(&world, &receiver), receiver.received().len()), (3, 1));
    // What was escalated is looked at again, by the scan alone.
    assert_eq!(connections(&world, &receiver), 1);
}

/// How many a sweep needs that may tell Slack.
fn connections(world: &World, receiver: &Receiver) -> usize {
    let proxy = Proxy::start(None);
    let program = sweep_at(&proxy.url(world.name(), "disable"), []);
    program.env("SWEEP_SLACK_URL", receiver.url()).run().done();
    let sent = proxy.passed(Direction::ToServer);
    sent.windows(STARTUP.len()).filter(|bytes| *bytes == STARTUP).count()
}

/// What each connection says first.
const STARTUP: &[u8] = b"application_name\0sweep\0";

/// A pod that is to end has other things to do.
#[test]
fn a_sweep_that_is_to_end_delivers_nothing_more() {
    let (mut world, receiver, stop) = (World::new(On::Sqlite), Receiver::new(), Cancel::default());
    let settings = world.notifying_slack(&receiver);
    world.escalation();
    world.sweep_as(&settings.sweep);
    stop.set();
    assert_eq!(deliver_until(&settings, &stop), Delivered::default());
    assert_eq!(world.pending(), 1);
}

#[test]
fn delivery_needs_three_rights_on_one_table() {
    let (mut world, receiver, role) = (World::new(On::Postgres), Receiver::new(), Role::new());
    let settings = world.notifying_slack(&receiver);
    (0..6).for_each(|_| drop(world.escalation()));
    world.sweep_as(&settings.sweep);
    let rights = "usage on schema sweep to {}; grant select, insert, update on sweep.notifications to {}";
    world.run(&format!("grant {}", rights.replace("{}", &role.name)));
    let database = Url::parse(&role.at(&world.url)).expect("a URL");
    assert_eq!(
        deliver(&CycleOptions { sweep: Options { database, ..settings.sweep.clone() }, ..settings }),
        delivered(1)
    );
    assert_eq!(world.pending(), 0);
}

/// Both are at it at the same moment: each message is one's.
#[test]
fn two_deliverers_send_nothing_twice() {
    let (mut world, receiver) = (World::new(On::Postgres), Receiver::answering(Answer::Slowly(50)));
    let settings = world.notifying_slack(&receiver);
    for _ in 0..5 {
        world.escalation();
    }
    world.sweep_as(&settings.sweep);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let settings = settings.clone();
            scope.spawn(move || deliver(&settings));
        }
    });
    let reported = receiver.received();
    assert_eq!((reported.len(), world.pending()), (5, 0), "{:?}", reported.iter().map(text).collect::<Vec<_>>());
}
