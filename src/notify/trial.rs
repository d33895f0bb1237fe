//! Sends a test message to each destination, and a ping; or finds out whether each can be reached, and sends nothing.

use chrono::{DateTime, Utc};

use super::client::{HttpClient, REQUEST_TIMEOUT, SendError};
use super::{Notify, Ping};
use crate::rules::Id;
use crate::store::work::outbox::Message;

/// Sends the tests, and returns the result of each destination that is configured, and of the ping.
pub fn send_tests(notify: &Notify) -> Vec<(&'static str, Result<(), String>)> {
    let (client, test) = (HttpClient::new(REQUEST_TIMEOUT), Message::test(Id::generate(), now()));
    let sent = notify.routes.iter().map(|route| (route.destination().name(), route.send(&client, &test)));
    let results = sent.chain(notify.try_ping(Ping::Succeeded).map(|result| ("ping", result)));
    results.map(|(name, result)| (name, result.map_err(|SendError { why, .. }| why))).collect()
}

/// Connects to each destination that is configured, and sends nothing.
pub fn reach_all(notify: &Notify) -> Vec<(&'static str, Result<(), String>)> {
    let client = HttpClient::new(REQUEST_TIMEOUT);
    let targets = [
        (Destination::Slack.name(), notify.slack.as_ref()),
        (Destination::Webhook.name(), notify.webhook.as_ref().map(|(target, _)| target)),
        ("ping", notify.ping.as_ref()),
    ];
    let configured = targets.into_iter().filter_map(|(name, target)| Some((name, target?)));
    configured.map(|(name, target)| (name, client.reach(target).map_err(|SendError { why, .. }| why))).collect()
}

/// The time in the signature, which receivers compare with their own clock.
#[expect(clippy::disallowed_methods, reason = "no database is asked here whose clock would count")]
fn now() -> DateTime<Utc> {
    Utc::now()
}
