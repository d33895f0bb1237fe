//! Notifications: delivers what waits in the outbox, at least once, each message with a key that stays the same.
//!
//! A sweep only queues (`store::work::outbox`), in the transaction of the change that it reports, so that only what was
//! committed is delivered. What fails is tried again by the next run, for a day. Nothing here makes a sweep fail.
//!
//! The dead-man's switch is a URL that is pinged by each sweep, and raises the alarm when no ping comes. It follows
//! healthchecks.io: URL/start at the beginning, URL at a good end, URL/fail at a bad one.

mod addresses;
mod client;
mod deliver;
mod email;
mod lines;
mod pagerduty;
mod route;
mod slack;
mod teams;
pub mod trial;
mod webhook;

use std::fmt::{Debug, Formatter};
use std::time::Duration;

use tracing::warn;

use crate::store::work::outbox::{Destination, Event, Subscriptions};

pub use client::{HttpClient, HttpMessage, SendError, Target, http_config};
pub use deliver::{Delivered, deliver};
pub use route::NotifyRoute;
pub use webhook::Secret;

/// The destinations, and the events of which they are notified. By default there are none.
#[derive(Clone, Default)]
pub struct Notify {
    pub routes: Vec<NotifyRoute>,
    /// The dead-man's switch.
    pub ping: Option<Target>,
    pub events: Vec<Event>,
}

impl Notify {
    /// The events of which people are notified unless the operator says otherwise: a recovery needs nobody.
    pub const USUAL_EVENTS: [Event; 8] = [
        Event::Escalated,
        Event::SessionStuck,
        Event::GuardStopped,
        Event::Quarantined,
        Event::WakesStuck,
        Event::Abandoned,
        Event::Unstarted,
        Event::RunUnheard,
    ];

    /// What is queued for which destination.
    pub fn subscriptions(&self) -> Subscriptions {
        Subscriptions { destinations: self.destinations(), events: self.events.clone() }
    }

    pub fn destinations(&self) -> Vec<Destination> {
        self.routes.iter().map(NotifyRoute::destination).collect()
    }

    /// Pings the URL, if one is configured. A ping that fails is only a warning, since its absence raises the alarm.
    pub fn send_ping(&self, ping: Ping) {
        if let Some(Err(SendError { why, .. })) = self.try_ping(ping) {
            warn!("the ping URL was not notified that the sweep {}: {why}", <&str>::from(ping));
        }
    }

    /// Pings the URL; None if none is configured.
    fn try_ping(&self, ping: Ping) -> Option<Result<(), SendError>> {
        let target = self.ping.as_ref()?;
        let target = match ping {
            Ping::Started => &target.below("start"),
            Ping::Succeeded => target,
            Ping::Failed => &target.below("fail"),
        };
        Some(HttpClient::new(PING_TIMEOUT).get(target))
    }
}

/// Hides the URLs, which are secrets.
impl Debug for Notify {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        f.debug_struct("Notify")
            .field("routes", &self.destinations())
            .field("ping", &if self.ping.is_some() { "***" } else { "unset" })
            .field("events", &self.events)
            .finish()
    }
}

/// How long a sweep waits for a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// The state of a sweep that is reported to the dead-man's switch, and what the sweep did: a phrase that follows “the
/// sweep”.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
pub enum Ping {
    #[strum(serialize = "began")]
    Started,
    #[strum(serialize = "did all it had to")]
    Succeeded,
    #[strum(serialize = "failed")]
    Failed,
}
