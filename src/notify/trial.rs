//! A test message to each destination, and a ping: is the way open?

use chrono::{DateTime, Utc};

use super::client::Failure;
use super::deliver::REQUEST_TIMEOUT;
use super::ping::{Ping, send};
use super::{Client, Notify, slack, webhook};
use crate::rules::Id;
use crate::store::outbox::Destination;

/// What became of it, by destination: `slack`, `webhook`, `ping`; none if nothing is configured.
pub fn send_tests(notify: &Notify) -> Vec<(&'static str, Result<(), String>)> {
    let client = Client::new(REQUEST_TIMEOUT);
    let mut results = Vec::new();
    if let Some(target) = &notify.slack {
        results.push((Destination::Slack.name(), client.post(target, &slack::test_letter())));
    }
    if let Some((target, secret)) = &notify.webhook {
        let letter = webhook::test_letter(&Id::generate(), now(), secret);
        results.push((Destination::Webhook.name(), client.post(target, &letter)));
    }
    results.extend(send(notify, Ping::Succeeded).map(|result| ("ping", result)));
    results.into_iter().map(|(name, result)| (name, result.map_err(|Failure { why, .. }| why))).collect()
}

/// Of the signature, which receivers compare with their own clock.
#[expect(clippy::disallowed_methods, reason = "no database is asked here whose clock would count")]
fn now() -> DateTime<Utc> {
    Utc::now()
}
