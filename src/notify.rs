//! Notifications: what waits in the outbox is delivered, at least once, each with a key that stays the same.
//!
//! A sweep only queues (`store::outbox`), in the transaction of what it tells. What is delivered here was committed; what
//! fails is tried again by the next run, for a day. Nothing here makes a sweep fail.

mod addresses;
mod client;
mod deliver;
pub mod ping;
mod slack;
pub mod trial;
mod webhook;
mod words;

use std::fmt::{Debug, Formatter};

use crate::store::outbox::{Destination, Event, Queueing};
pub use client::{Client, Target};
pub use deliver::{Delivered, deliver};
pub use webhook::Secret;

/// Who is told of what, as the operator wants it. By default nobody is.
#[derive(Clone, Default)]
pub struct Notify {
    pub slack: Option<Target>,
    /// Where, and what it is signed with.
    pub webhook: Option<(Target, Secret)>,
    /// The dead-man's switch.
    pub ping: Option<Target>,
    pub events: Vec<Event>,
}

impl Notify {
    /// What a sweep must know of it.
    pub fn queueing(&self) -> Queueing {
        Queueing { destinations: self.destinations(), events: self.events.clone() }
    }

    pub fn destinations(&self) -> Vec<Destination> {
        let is_configured = |destination: &Destination| match destination {
            Destination::Slack => self.slack.is_some(),
            Destination::Webhook => self.webhook.is_some(),
        };
        Destination::ALL.into_iter().filter(is_configured).collect()
    }
}

/// The URLs are secrets.
impl Debug for Notify {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        let told = |is_set: bool| if is_set { "***" } else { "unset" };
        f.debug_struct("Notify")
            .field("slack", &told(self.slack.is_some()))
            .field("webhook", &told(self.webhook.is_some()))
            .field("ping", &told(self.ping.is_some()))
            .field("events", &self.events)
            .finish()
    }
}

/// What is sent: the body, and the headers that belong to it.
struct Letter {
    headers: Vec<(&'static str, String)>,
    body: String,
}
