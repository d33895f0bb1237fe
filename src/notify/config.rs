//! The operator's configuration of notifications.

use std::fmt::{Debug, Formatter, Result};

use super::client::Target;
use super::webhook::Secret;
use crate::store::work::outbox::{Destination, Event, Subscriptions};

/// Who is notified of which events. By default nobody is.
#[derive(Clone, Default)]
pub struct Notify {
    pub slack: Option<Target>,
    /// The URL, and the key of the signatures.
    pub webhook: Option<(Target, Secret)>,
    /// The dead-man's switch.
    pub ping: Option<Target>,
    pub events: Vec<Event>,
}

impl Notify {
    /// Of which people are notified unless the operator says otherwise: a recovery needs nobody.
    pub const USUAL_EVENTS: [Event; 7] = [
        Event::Escalated,
        Event::SessionStuck,
        Event::GuardStopped,
        Event::Quarantined,
        Event::WakesStuck,
        Event::Abandoned,
        Event::Unstarted,
    ];

    /// What is queued for which destination.
    pub fn subscriptions(&self) -> Subscriptions {
        Subscriptions { destinations: self.destinations(), events: self.events.clone() }
    }

    pub fn destinations(&self) -> Vec<Destination> {
        let is_configured = |destination: &Destination| match destination {
            Destination::Slack => self.slack.is_some(),
            Destination::Webhook => self.webhook.is_some(),
        };
        Destination::ALL.iter().copied().filter(is_configured).collect()
    }
}

/// Hides the URLs, which are secrets.
impl Debug for Notify {
    fn fmt(&self, f: &mut Formatter) -> Result {
        let hidden = |is_set: bool| if is_set { "***" } else { "unset" };
        f.debug_struct("Notify")
            .field("slack", &hidden(self.slack.is_some()))
            .field("webhook", &hidden(self.webhook.is_some()))
            .field("ping", &hidden(self.ping.is_some()))
            .field("events", &self.events)
            .finish()
    }
}
