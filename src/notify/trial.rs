//! Sends a test message to each destination, and a ping; or finds out whether each can be reached, and sends nothing.

use chrono::{DateTime, Utc};

use super::client::{HttpClient, REQUEST_TIMEOUT, SendError};
use super::{Notify, Ping};
use crate::rules::Id;
use crate::store::work::outbox::Message;

/// Sends the tests, and returns the result of each destination that is configured, and of the ping.
pub fn send_tests(notify: &Notify) -> Vec<TrialResult> {
    let (client, test) = (HttpClient::new(REQUEST_TIMEOUT), Message::test(Id::generate(), now()));
    let sent = notify.routes.iter().map(|route| (route.destination().name(), route.send(&client, &test)));
    results(sent.chain(notify.try_ping(Ping::Succeeded).map(|result| (PING, result))))
}

/// Connects to each destination that is configured, and to the dead-man's switch, and sends nothing.
pub fn reach_all(notify: &Notify) -> Vec<TrialResult> {
    let client = HttpClient::new(REQUEST_TIMEOUT);
    let reached = notify.routes.iter().map(|route| (route.destination().name(), route.reach(&client)));
    results(reached.chain(notify.ping.as_ref().map(|ping| (PING, client.reach(ping)))))
}

/// What the dead-man's switch is called among the destinations.
const PING: &str = "ping";

/// The name of a destination, and why it failed if it did.
pub type TrialResult = (&'static str, Result<(), String>);

fn results(tried: impl Iterator<Item = (&'static str, Result<(), SendError>)>) -> Vec<TrialResult> {
    tried.map(|(name, result)| (name, result.map_err(|SendError { why, .. }| why))).collect()
}

/// The time in the signature, which receivers compare with their own clock.
#[expect(clippy::disallowed_methods, reason = "no database is asked here whose clock would count")]
fn now() -> DateTime<Utc> {
    Utc::now()
}
