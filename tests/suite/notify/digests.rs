//! What is sent together, and what stands in a message.

use serde_json::{Value, json};
use sweep::cycle::CycleOptions;
use sweep::rules::{Id, Policy};
use sweep::sweep::Options;

use super::text;
use crate::support::receiver::{Answer, Receiver};
use crate::support::world::notifications::deliver;
use crate::support::world::{World, on_each_database};

/// Escalates at once whatever it finds.
fn impatient(options: CycleOptions) -> CycleOptions {
    let policy = Policy { attempts_max: 0, attempts_per_day_max: 0, ..Policy::default() };
    CycleOptions { sweep: Options { policy, ..options.sweep.clone() }, ..options }
}

fn escalate(world: &mut World, n: u32, options: &CycleOptions) {
    let agent = world.agent("idle");
    world.orphans(&agent, 0..n);
    assert_eq!(world.sweep_as(&options.sweep).count("issues", "escalated"), i64::from(n));
}

/// Queues so many escalations at once for a destination.
fn fill_outbox(world: &mut World, n: u32, destination: &str) {
    let id = world.new_id();
    world.run(&format!(
        "insert into notifications (id, destination, event, kind, sweep_id, details)
         with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < {n})
         select {id}, '{destination}', 'escalated', 'issue', {id}, '{{}}' from numbers"
    ));
}

on_each_database! {
    fn a_thousand_escalations_are_one_message(world) {
        let receiver = Receiver::new();
        let url = receiver.url();
        let settings = impatient(world.notifying(&[("SWEEP_SLACK_URL", &url), ("SWEEP_WEBHOOK_URL", &url)]));
        escalate(world, 1000, &settings);
        assert_eq!(deliver(&settings).delivered, 2);
        assert_eq!(world.pending(), 0);

        let mut reported = receiver.received();
        reported.sort_by_key(|reported| reported["schema"].is_null());
        let [webhook, slack] = reported.as_slice() else { panic!("{} messages", reported.len()) };
        assert_eq!((&webhook["type"], &webhook["total"]), (&"digest".into(), &1000.into()));
        assert_eq!(webhook["counts"], json!({"escalated": 1000}));
        assert_eq!(webhook["notifications"].as_array().map(Vec::len), Some(10));
        let lines: Vec<&str> = text(slack).lines().collect();
        assert_eq!(lines.len(), 12, "{lines:?}");
        assert_eq!(lines[0], "sweep: 1000 escalated");
        assert!(lines[1].starts_with("• issue N-") && lines[1].contains("needs a person: "), "{lines:?}");
        assert_eq!(lines[11], "… and 990 more: see `sweep status`");
    }

    /// A statement about 100,000 notifications would hold up the end of a sweep.
    fn more_than_a_thousand_are_several_messages_of_a_thousand_each(world) {
        let receiver = Receiver::new();
        fill_outbox(world, 2500, "slack");

        assert_eq!(deliver(&world.notifying_slack(&receiver)).delivered, 3);

        let received = receiver.received();
        let firsts: Vec<&str> = received.iter().filter_map(|sent| text(sent).lines().next()).collect();
        assert_eq!(firsts, ["sweep: 1000 escalated", "sweep: 1000 escalated", "sweep: 500 escalated"]);
        assert_eq!(world.pending(), 0);
    }

    fn what_is_given_up_is_given_up_a_thousand_at_a_time(world) {
        let receiver = Receiver::new();
        fill_outbox(world, 2500, "webhook");
        world.queued_earlier(25 * 60);
        let settings = world.notifying_slack(&receiver);
        assert_eq!([(); 4].map(|()| deliver(&settings).dead), [1000, 1000, 500, 0]);
    }

    fn up_to_five_escalations_are_notified_one_by_one_and_six_together(world) {
        let receiver = Receiver::new();
        let settings = impatient(world.notifying_slack(&receiver));
        escalate(world, 5, &settings);
        deliver(&settings);
        assert_eq!(receiver.received().len(), 5);

        let agent = world.agent("idle");
        world.orphans(&agent, 10..14);
        for _ in 0..2 {
            let session = world.session(None, None);
            world.ends(&session, "1");
        }
        world.sweep_as(&settings.sweep);
        deliver(&settings);
        let reported = receiver.received();
        assert_eq!(reported.len(), 1, "{reported:?}");
        assert!(text(&reported[0]).starts_with("sweep: 4 escalated, 2 session stuck\n• "), "{reported:?}");
    }

    /// A host without signs of life may have as many of these as it has runs.
    fn many_runs_without_a_sign_of_life_are_one_message(world) {
        let (agent, receiver) = (world.agent("running"), Receiver::new());
        let settings = world.notifying_the_webhook(&receiver);
        for issue in world.orphans(&agent, 0..7) {
            world.issue_run(&issue, &agent, "running", 90);
        }
        world.pass(20);
        world.sweep_as(&settings.sweep);
        deliver(&settings);

        let reported = receiver.received();
        let counts: Vec<&Value> = reported.iter().map(|message| &message["counts"]).collect();
        assert_eq!(counts, [&json!({"run_unheard": 7})]);
    }

    fn what_the_host_leaves_to_a_person_is_sent_with_what_sweeps_do(world) {
        let receiver = Receiver::new();
        let settings = world.notifying_the_webhook(&receiver);
        for event in ["escalated", "session_stuck", "host_blocked", "host_blocked", "unstarted", "unstarted"] {
            let (id, at) = (Id::generate(), world.ago(0));
            world.run(&format!(
                "insert into notifications (id, destination, event, kind, subject_id, sweep_id, details, created_at)
                 values ('{id}', 'webhook', '{event}', 'issue', '{id}', '{id}', '{{}}', {at})"
            ));
        }
        deliver(&settings);

        let reported = receiver.received();
        assert_eq!(reported.len(), 1, "{reported:?}");
        assert_eq!(reported[0]["total"], 6);
    }

    /// What was sent together once stays together, whatever was queued meanwhile.
    fn a_digest_is_the_same_at_each_attempt(world) {
        let receiver = Receiver::answering(Answer::Status(500));
        let settings = impatient(world.notifying_the_webhook(&receiver));
        escalate(world, 7, &settings);
        deliver(&settings);
        let agent = world.agent("idle");
        world.orphans(&agent, 10..12);
        world.sweep_as(&settings.sweep);
        receiver.answer(Answer::Status(200));
        world.retry();
        deliver(&settings);

        let requests = receiver.requests();
        assert_eq!(requests.len(), 4);
        let again = requests[1..].iter().find(|request| request.json()["type"] == "digest").expect("a digest");
        assert_eq!((again.header("webhook-id"), &again.body), (requests[0].header("webhook-id"), &requests[0].body));
    }

    fn what_agents_wrote_is_escaped(world) {
        let (agent, receiver) = (world.agent("idle"), Receiver::new());
        let settings = impatient(world.notifying_slack(&receiver));
        world.set("agents", &agent, "name = '<@U1>'");
        let issue = world.orphan(&agent);
        world.set("issues", &issue, "identifier = 'A&B', title = '<!channel> <https://evil.example|click>\nsweep: all \
            is well password=hunter2'");
        world.sweep_as(&settings.sweep);
        deliver(&settings);

        let reported = receiver.received();
        let text = text(&reported[0]);
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.starts_with("sweep: issue A&amp;B needs a person: automatic continuation is \
            off\n“&lt;!channel&gt; &lt;https"), "{text}");
        assert!(text.contains("sweep: all is well password=***") && text.contains("agent &lt;@U1&gt;"), "{text}");
        assert!(!text.contains(['<', '>']), "{text}");
    }

    fn a_title_without_end_is_cut_before_it_is_kept_or_sent(world) {
        let (agent, receiver) = (world.agent("idle"), Receiver::new());
        let settings = impatient(world.notifying_the_webhook(&receiver));
        let issue = world.orphan(&agent);
        world.set("issues", &issue, &format!("title = '{}'", "é".repeat(4_000)));
        world.sweep_as(&settings.sweep);
        deliver(&settings);

        let reported = receiver.received();
        let title = reported[0]["notifications"][0]["title"].as_str().expect("a title");
        assert_eq!((title.chars().count(), title.ends_with("é...")), (503, true));
    }

    fn a_webhook_says_all_that_is_known(world) {
        let (agent, receiver) = (world.agent("idle"), Receiver::new());
        let settings = impatient(world.notifying_the_webhook(&receiver));
        let issue = world.orphan(&agent);
        world.set("issues", &issue, "identifier = 'ACM-1', tenant = 'acme'");
        world.sweep_as(&settings.sweep);
        deliver(&settings);

        let request = receiver.requests().remove(0);
        let mut reported = request.json();
        let (id, sweep) = (world.text("id", "notifications"), world.text("id", "sweeps"));
        assert!(reported["notifications"][0]["created_at"].take().is_string());
        let expected = json!({
            "schema": 1, "type": "notification", "id": id, "total": 1, "counts": {"escalated": 1},
            "notifications": [{
                "id": id, "event": "escalated", "created_at": Value::Null, "sweep_id": sweep, "kind": "issue",
                "subject_id": issue,
                "identifier": "ACM-1", "title": "Mend the fence", "tenant": "acme", "agent": "Ada",
                "finding": "orphaned",
                "reason": "automatic continuation is off", "attempts": 0, "url": null,
            }],
        });
        assert_eq!(reported, expected);
        assert_eq!((request.method.as_str(), request.header("content-type")), ("POST", "application/json"));
        assert!(request.header("webhook-signature").starts_with("v1,"));
        assert!(request.header("webhook-timestamp").parse::<i64>().expect("seconds") > 1_700_000_000);
    }
}
