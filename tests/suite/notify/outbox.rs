//! What is queued, and when nothing is.

use sweep::rules::{Guard, Kind};
use sweep::sweep::KindMode;
use sweep::sweep::Options;

use super::text;
use crate::support::receiver::Receiver;
use crate::support::world::notifications::deliver;
use crate::support::world::{On, World, on_each_database};

on_each_database! {
    /// The escalation and its notification are one transaction: at no moment is one there without the other.
    fn what_is_rolled_back_is_not_notified(world) {
        let receiver = Receiver::new();
        world.escalation();
        let refuse = match world.on {
            On::Sqlite => "create trigger refuse before insert on notifications begin select raise(abort, 'no'); end",
            On::Postgres | On::Paperclip => {
                "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
                 create trigger refuse before insert on notifications for each row execute function refuse()"
            }
        };
        world.run(refuse);

        let swept = world.sweep_as(&world.notifying_slack(&receiver).sweep);

        assert_eq!(
            (swept.count("steps", "failed"), world.count("recoveries"), world.count("notifications")),
            (1, 0, 0)
        );
    }

    fn nothing_is_queued_without_a_destination_in_a_dry_run_or_in_shadow(world) {
        let receiver = Receiver::new();
        world.escalation();
        world.sweep_as(&Options { dry_run: true, ..world.notifying_slack(&receiver).sweep });
        let modes = [(Kind::Step, KindMode::Shadow)].into();
        world.sweep_as(&Options { modes, ..world.notifying_slack(&receiver).sweep });
        world.sweep_as(&world.notifying(&[]).sweep);

        assert_eq!(world.count("notifications"), 0);
        assert_eq!(world.count("recoveries where action = 'escalate'"), 1);
    }

    fn only_the_events_that_are_wanted_are_queued(world) {
        let receiver = Receiver::new();
        let settings =
            world.notifying(&[("SWEEP_SLACK_URL", &receiver.url()), ("SWEEP_NOTIFY_ON", "session_stuck, recovered")]);
        let step = world.escalation();
        world.sweep_as(&settings.sweep);
        assert_eq!(world.count("notifications"), 0);

        world.set("plan_steps", &step, "status = 'completed'");
        world.sweep_as(&settings.sweep);

        assert_eq!(world.text("event", "notifications").as_deref(), Some("recovered"));
        deliver(&settings);
        assert_eq!(
            text(&receiver.received()[0]).lines().next(),
            Some("sweep: step Launch #1 recovered: it is completed")
        );
    }

    fn nobody_is_notified_that_an_escalated_step_was_handed_over(world) {
        let receiver = Receiver::new();
        let settings = world.notifying_slack(&receiver);
        let step = world.escalation();
        world.sweep_as(&settings.sweep);
        world.run("update plans set status = 'cancelled'");

        let swept = world.sweep_as(&settings.sweep);

        assert_eq!((swept.outcome(&step), world.count("notifications")), ("handed_over", 1));
    }

    /// The database's clock was ahead when it was queued.
    fn what_is_dated_tomorrow_is_sent_today_and_once(world) {
        let receiver = Receiver::new();
        world.escalation();
        let settings = world.notifying_slack(&receiver);
        world.sweep_as(&settings.sweep);
        world.date_the_last_sweep_ahead();

        deliver(&settings);
        deliver(&settings);

        assert_eq!(receiver.received().len(), 1);
    }

    fn a_stuck_session_is_reported_as_such(world) {
        let (agent, receiver) = (world.agent("idle"), Receiver::new());
        let session = world.session(Some(&agent), None);
        world.ends(&session, "1");
        let settings = world.notifying_slack(&receiver);
        world.sweep_as(&settings.sweep);
        deliver(&settings);

        assert_eq!(world.text("event", "notifications").as_deref(), Some("session_stuck"));
        let sent = receiver.received();
        assert!(text(&sent[0]).contains("needs a person: "), "{sent:?}");
    }

    fn the_guard_is_reported_once_a_day_and_not_in_every_sweep(world) {
        let (agent, receiver) = (world.agent("idle"), Receiver::new());
        world.orphans(&agent, 0..25);
        let slack = world.notifying_slack(&receiver);
        let settings = Options { guard: Some(Guard::default()), ..slack.sweep.clone() };
        for _ in 0..3 {
            world.sweep_as(&settings);
            deliver(&slack);
        }
        let sent = receiver.received();
        assert_eq!(sent.len(), 1, "{sent:?}");
        assert!(text(&sent[0]).starts_with("sweep: Guard: 25 of the 25 issues in progress look stranded"), "{sent:?}");
        assert_eq!(world.text("subject_id", "notifications"), None);

        world.queued_earlier(24 * 60 + 1);
        world.sweep_as(&settings);
        world.sweep_as(&Options { dry_run: true, ..settings });
        assert_eq!(world.count("notifications"), 2);
    }

    fn what_goes_into_quarantine_is_reported_once(world) {
        let (agent, receiver) = (world.agent("idle"), Receiver::new());
        let issue = world.orphan(&agent);
        let id = format!("'{issue}'");
        world.run(&match world.on {
            On::Sqlite => format!(
                "create trigger refuse before insert on wakes when new.issue_id = {id} begin select raise(abort, 'no \
                    wakes'); end"
            ),
            On::Postgres | On::Paperclip => format!(
                "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no wakes'; end \
                    $$;
                 create trigger refuse before insert on wakes for each row when (new.issue_id = {id}) execute function \
                 refuse()"
            ),
        });
        let settings = world.notifying_slack(&receiver);
        for sweep in 1..=4 {
            world.sweep_as(&settings.sweep);
            assert_eq!(world.count("notifications"), i64::from(2 < sweep), "sweep {sweep}");
        }
        deliver(&settings);

        let sent = receiver.received();
        assert!(text(&sent[0]).contains("is examined no more, it failed again and again: no wakes"), "{sent:?}");
        assert!(text(&sent[0]).starts_with("sweep: issue T-"), "{sent:?}");
    }
}

/// Each takes its turn at the same moment, as the shards of one sweep do.
#[test]
fn shards_that_are_all_stopped_by_the_guard_report_it_once() {
    let (mut world, receiver) = (World::new(On::Postgres), Receiver::new());
    let agent = world.agent("idle");
    world.orphans(&agent, 0..30);
    let settings = Options { guard: Some(Guard::default()), ..world.notifying_slack(&receiver).sweep };
    std::thread::scope(|scope| {
        for _ in 0..6 {
            let settings = settings.clone();
            scope.spawn(move || crate::support::in_process::sweep_once(&settings));
        }
    });
    assert_eq!(world.count("notifications"), 1);
}
