//! P15 for destinations: no URL and no secret in any output, at any log level.

use crate::support::program::{command_at, sweep, sweep_at};
use crate::support::receiver::{Answer, Receiver};
use crate::support::world::notifications::SECRET;
use crate::support::world::{World, on_each_database};

fn assert_hidden(text: &str) {
    for secret in ["hunter2", "aHVudGVy", "services/"] {
        let found: Vec<&str> = text.lines().filter(|line| line.contains(secret)).collect();
        assert!(found.is_empty(), "{found:#?}");
    }
}

fn stored(world: &mut World) -> String {
    let errors = world.text("coalesce(max(last_error) || min(last_error), '')", "notifications").expect("a text");
    errors
        + &world
            .text("coalesce(max(details), '')", "(select cast(details as text) as details from notifications) d")
            .expect("a text")
}

on_each_database! {
    fn no_output_at_any_log_level_has_a_url_or_a_secret_in_it(world) {
        let answers = [
            Answer::Status(200),
            Answer::Status(500),
            Answer::Garbage,
            Answer::Reset,
            Answer::Redirect("https://hooks.example/hooks/hunter2".to_owned()),
        ];
        for answer in answers {
            let receiver = Receiver::answering(answer);
            world.escalation();
            for format in ["text", "json"] {
                let settings = [
                    ("SWEEP_SLACK_URL", receiver.url()),
                    ("SWEEP_TEAMS_URL", receiver.url()),
                    ("SWEEP_PAGERDUTY_URL", receiver.with_key()),
                    ("SWEEP_EMAIL_URL", "smtp://u:hunter2@localhost:1/?from=a@b.example&to=a@b.example".to_owned()),
                    ("SWEEP_WEBHOOK_URL", receiver.url()),
                    ("SWEEP_PING_URL", receiver.url()),
                    ("SWEEP_WEBHOOK_SECRET", SECRET.to_owned()),
                    ("SWEEP_LOG", "trace".to_owned()),
                    ("SWEEP_LOG_FORMAT", format.to_owned()),
                ];
                let programs =
                    [sweep_at(&world.url, []), sweep(["notify", "test"]), command_at(&world.url, ["status"])];
                for program in programs {
                    let ran = settings.iter().fold(program, |program, (name, value)| program.env(name, value)).run();
                    assert!([0, 69].contains(&ran.code), "{ran}");
                    assert_hidden(&(ran.out + &ran.err));
                }
                world.retry();
            }
            assert!(receiver.requests().len() > 3 || stored(world).contains("reset"), "nothing was looked at");
            assert_hidden(&stored(world));
        }
        let settings = world.notifying_the_webhook(&Receiver::new());
        assert_hidden(&format!("{settings:?}"));
        assert!(format!("{settings:?}").contains("routes: [Webhook]"));
    }
}
