//! The dead-man's switch: a URL that hears of each sweep, and raises the alarm when it hears nothing.
//!
//! As healthchecks.io has it: URL/start at the beginning, URL at a good end, URL/fail at another. A ping that fails is a
//! warning: the silence is what raises the alarm.

use std::time::Duration;

use tracing::warn;

use super::client::Failure;
use super::{Client, Notify};

/// A sweep does not wait for longer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ping {
    Started,
    Succeeded,
    Failed,
}

/// Tells it, if there is anybody to tell it to.
pub fn ping(notify: &Notify, ping: Ping) {
    if let Some(Err(Failure { why, .. })) = send(notify, ping) {
        warn!("the ping URL was not told that the sweep {}: {why}", ping.words());
    }
}

/// None: there is no such URL.
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
    fn words(self) -> &'static str {
        match self {
            Ping::Started => "began",
            Ping::Succeeded => "did all it had to",
            Ping::Failed => "failed",
        }
    }
}
