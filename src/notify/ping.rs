//! The dead-man's switch: a URL that is pinged by each sweep, and raises the alarm when no ping comes.
//!
//! It follows healthchecks.io: URL/start at the beginning, URL at a good end, URL/fail at a bad one. A ping that fails
//! is only logged as a warning, since its absence raises the alarm.

use std::time::Duration;

use tracing::warn;

use super::client::{Client, Failure};
use super::config::Notify;

/// How long a sweep waits for a ping.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The state of a sweep that is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ping {
    Started,
    Succeeded,
    Failed,
}

/// Pings the URL, if one is configured.
pub fn ping(notify: &Notify, ping: Ping) {
    if let Some(Err(Failure { why, .. })) = send(notify, ping) {
        warn!("the ping URL was not notified that the sweep {}: {why}", ping.phrase());
    }
}

/// Pings the URL; None if none is configured.
pub(super) fn send(notify: &Notify, ping: Ping) -> Option<Result<(), Failure>> {
    let target = notify.ping.as_ref()?;
    let target = match ping {
        Ping::Started => &target.below("start"),
        Ping::Succeeded => target,
        Ping::Failed => &target.below("fail"),
    };
    Some(Client::new(TIMEOUT).get(target))
}

impl Ping {
    /// What the sweep did, as a phrase that follows “the sweep”.
    fn phrase(self) -> &'static str {
        match self {
            Ping::Started => "began",
            Ping::Succeeded => "did all it had to",
            Ping::Failed => "failed",
        }
    }
}
