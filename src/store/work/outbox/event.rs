//! Events of which people are notified, and the destinations where they are.

use serde::Serialize;
use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::rules::Kind;
use crate::rules::display::humanize;

/// What people read of a run that has never shown a sign of life, and has been at work for long.
pub const UNHEARD_RUN: &str = "run without a sign of life";

/// What people can be notified of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Event {
    /// An issue or a plan step needs a person.
    Escalated,
    /// A session needs a person.
    SessionStuck,
    /// The guard left a kind as it was.
    GuardStopped,
    /// A subject is examined no more, since it failed again and again.
    Quarantined,
    /// A subject healed after sweep had done something about it.
    Recovered,
    /// The host blocked an issue itself, and notified nobody why.
    HostBlocked,
    /// An issue is to do, has an agent, and nothing will start it.
    Unstarted,
    /// A run has been at work for long and has never shown a sign of life.
    RunUnheard,
    /// Wakes wait for longer than `wake_stuck_after` and nobody takes them up; or it is over.
    WakesStuck,
    /// Work whose agent is gone or cannot be woken for long: nobody goes on with it.
    Abandoned,
}

impl Event {
    pub const ALL: &[Event] = <Event as VariantArray>::VARIANTS;

    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn parse(name: &str) -> Option<Event> {
        name.parse().ok()
    }

    /// The event of this name, as people read it.
    pub fn in_words(name: &str) -> String {
        if name == Event::RunUnheard.name() { UNHEARD_RUN.to_owned() } else { humanize(name) }
    }

    /// The event with which it may be sent together; none: it tells of many already.
    pub(super) fn group(self) -> Option<Event> {
        match self {
            Event::Escalated | Event::SessionStuck | Event::HostBlocked | Event::Unstarted => Some(Event::Escalated),
            Event::RunUnheard | Event::Quarantined | Event::Recovered | Event::Abandoned => Some(self),
            Event::GuardStopped | Event::WakesStuck => None,
        }
    }

    /// That a subject of this kind needs a person.
    pub fn escalation_of(kind: Kind) -> Event {
        match kind {
            Kind::Session => Event::SessionStuck,
            Kind::Issue | Kind::Step => Event::Escalated,
        }
    }
}

/// Where notifications are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Destination {
    /// An incoming webhook of Slack's, or of a chat that is like it.
    Slack,
    /// A workflow of Microsoft Teams.
    Teams,
    Email,
    /// Incidents, which are opened and resolved.
    #[serde(rename = "pagerduty")]
    #[strum(serialize = "pagerduty")]
    PagerDuty,
    /// Signed JSON.
    Webhook,
}

impl Destination {
    pub const ALL: &[Destination] = <Destination as VariantArray>::VARIANTS;

    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether it takes many notifications in one message. An incident is of one subject, by which it is resolved.
    pub(super) fn takes_many(self) -> bool {
        self != Destination::PagerDuty
    }

    /// Whether it is notified of an event to which nobody subscribed: an incident ends with what it is about.
    pub(super) fn always_wants(self, event: Event) -> bool {
        self == Destination::PagerDuty && event == Event::Recovered
    }
}
