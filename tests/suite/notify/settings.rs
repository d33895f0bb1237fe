//! Destinations come from the configuration alone, and a wrong one is refused by the name of its setting.

use std::path::Path;

use rstest::rstest;
use sweep::notify::Notify;
use sweep::settings::Environment;
use sweep::settings::resolve::notify;
use sweep::store::work::outbox::Event;

use crate::support::program::{sweep, sweep_at};
use crate::support::receiver::{Answer, Receiver};
use crate::support::world::notifications::SECRET;
use crate::support::world::{On, World};

const CONFIG: i32 = 78;
const UNAVAILABLE: i32 = 69;

#[rstest]
#[case("SWEEP_SLACK_URL", "http://hooks.example/secret", "http:// is for this machine only")]
#[case("SWEEP_SLACK_URL", "hooks.example/secret", "malformed: expected https://HOST/…")]
#[case("SWEEP_TEAMS_URL", "https://10.1.2.3/secret", "SWEEP_NOTIFY_PRIVATE=on allows that")]
#[case("SWEEP_EMAIL_URL", "smtps://u:secret@mail.example/?to=a@b.example", "not one address behind from: expected")]
#[case("SWEEP_PAGERDUTY_URL", "https://events.pagerduty.com/v2/secret", "with the routing key and @ before the host")]
#[case("SWEEP_PING_URL", "https://10.1.2.3/secret", "SWEEP_NOTIFY_PRIVATE=on allows that")]
#[case("SWEEP_WEBHOOK_URL", "https://hooks.example/secret", "SWEEP_WEBHOOK_URL needs SWEEP_WEBHOOK_SECRET as well")]
#[case("SWEEP_WEBHOOK_URL_FILE", "/nowhere/hooks", "SWEEP_WEBHOOK_URL_FILE: cannot read /nowhere/hooks")]
#[case("SWEEP_NOTIFY_ON", "escalated,calm", "SWEEP_NOTIFY_ON: “escalated,calm”: expected escalated, session_stuck")]
#[case("SWEEP_NOTIFY_ON", "+calm", "SWEEP_NOTIFY_ON: “+calm”: expected escalated, session_stuck")]
#[case("SWEEP_NOTIFY_ON", "escalated,-escalated", "SWEEP_NOTIFY_ON: nothing is left of it, expected one at least")]
#[case("SWEEP_NOTIFY_PRIVATE", "maybe", "SWEEP_NOTIFY_PRIVATE: “maybe”: expected on or off")]
fn a_wrong_setting_is_refused_by_its_name(#[case] name: &str, #[case] value: &str, #[case] says: &str) {
    let world = World::new(On::Sqlite);
    let name_told = if says.starts_with("SWEEP_W") { "" } else { name };
    sweep_at(&world.url, []).env(name, value).run().refused(CONFIG, &[says, name_told]);
}

#[test]
fn an_event_with_a_sign_changes_the_default() {
    let events = |list| notify(&Environment::of(&[("SWEEP_NOTIFY_ON", list)])).expect("settings").events;
    let usual = Notify::USUAL_EVENTS;
    assert_eq!(events("+recovered"), [&usual[..], &[Event::Recovered]].concat());
    assert_eq!(events("-escalated, -session_stuck"), usual[2..]);
    assert_eq!(events("recovered"), [Event::Recovered]);
}

/// An operator who takes the # away before an example loses nothing of the default.
#[rstest]
#[case("deploy/systemd/sweep.env", 1)]
#[case("deploy/kubernetes/base/settings.env", 0)]
fn an_example_of_a_list_that_is_shipped_has_all_of_the_default(#[case] shipped: &str, #[case] lists: usize) {
    let shipped = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(shipped)).expect("a file");
    let settings: Vec<(&str, &str)> =
        shipped.lines().filter_map(|line| line.trim_start_matches('#').trim().split_once('=')).collect();
    let is_list = |(name, _): &&(&str, &str)| *name == "SWEEP_NOTIFY_ON";
    let found: Vec<(&str, &str)> = settings.iter().filter(is_list).copied().collect();
    assert_eq!(found.len(), lists, "{found:?}");

    let events = notify(&Environment::of(&found)).expect("settings").events;
    assert!(Notify::USUAL_EVENTS.iter().all(|event| events.contains(event)), "{events:?}");
}

#[test]
fn a_secret_that_is_no_base64_is_refused_unseen() {
    let ran = sweep(["notify", "test"])
        .env("SWEEP_WEBHOOK_URL", "https://hooks.example/")
        .env("SWEEP_WEBHOOK_SECRET", "whsec_secret!");
    ran.run().refused(CONFIG, &["what SWEEP_WEBHOOK_SECRET holds is refused: expected base64 behind whsec_"]);
}

#[test]
fn a_test_message_reaches_each_destination_without_a_database() {
    let (slack, webhook, ping) = (Receiver::new(), Receiver::new(), Receiver::new());
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), format!("{}\n", slack.url())).expect("a URL in it");
    let test =
        || sweep(["notify", "test"]).env("SWEEP_SLACK_URL_FILE", file.path()).env("SWEEP_WEBHOOK_SECRET", SECRET);
    let ran = test().env("SWEEP_WEBHOOK_URL", webhook.url()).env("SWEEP_PING_URL", ping.url()).run().done();

    assert_eq!(ran.out, "slack: delivered\nwebhook: delivered\nping: delivered\n");
    assert_eq!((&webhook.requests()[0].json()["type"], slack.requests().len()), (&"test".into(), 1));
    assert!(slack.requests()[0].json()["text"].as_str().is_some_and(|text| text.contains("a test")));

    webhook.answer(Answer::Status(401));
    let ran = test().env("SWEEP_WEBHOOK_URL", webhook.url()).run();
    assert_eq!((ran.code, ran.out.as_str()), (UNAVAILABLE, "slack: delivered\nwebhook: failed: HTTP 401\n"));
}

#[test]
fn without_a_destination_there_is_nothing_to_test() {
    sweep(["notify", "test"]).run().refused(CONFIG, &["set SWEEP_SLACK_URL", "SWEEP_WEBHOOK_URL", "SWEEP_PING_URL"]);
}
