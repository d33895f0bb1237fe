//! One thing that needs a person, as the page shows it.

use super::route::{Link, Route};
use super::shown::{Minute, Shown, age};
use crate::rules::display::humanize;
use crate::rules::{Id, Kind};
use crate::store::read::overview::{Attention, Item, Overview, PlannedSubject};

pub struct ItemView {
    pub what: &'static str,
    /// The same in words.
    pub what_words: String,
    /// `issue`, or of several `issues`; empty: it is about no work.
    pub kind: &'static str,
    pub id: Option<Shown>,
    pub name: Option<Link>,
    /// Its page on the host's own board.
    pub board: Option<String>,
    pub title: Option<Shown>,
    pub agent: Option<Link>,
    pub tenant: Option<Link>,
    pub since: Option<Minute>,
    pub age: String,
    pub why: Shown,
    /// What its last run said of its failure.
    pub cause: Option<Shown>,
    /// That run's page on the host's own board.
    pub cause_url: Option<String>,
    /// How many have this cause, said before the first of them.
    pub heads: Option<usize>,
    pub tried: Option<Shown>,
    pub advice: Shown,
    pub commands: Vec<Shown>,
}

impl ItemView {
    /// `whose`: is it said whose each is? It is not where all are the same tenant's.
    pub fn of(item: &Item, route: &Route, whose: Whose) -> ItemView {
        let subject = &item.subject;
        let href = subject.page().and_then(|page| route.to_subject(page.kind, page.id));
        let agent = subject.agent.as_deref().or(subject.agent_id.as_ref().map(|id| id.0.as_str()));
        let kind = subject.kind.map(|kind| if subject.id.is_some() { kind.name() } else { kind.plural() });
        ItemView {
            what: item.what.name(),
            what_words: humanize(item.what.name()),
            kind: kind.unwrap_or_default(),
            id: subject.id.as_ref().map(Shown::id),
            name: subject.name().map(|name| Link { text: Shown::of(name), href }),
            board: subject.url.as_deref().and_then(external),
            title: subject.title.as_deref().map(Shown::of),
            agent: agent_link(route, subject.agent_id.as_ref(), agent),
            tenant: whose.link(route, subject.tenant.as_deref()),
            since: item.age.since.map(Minute),
            age: age(item.age.seconds),
            why: Shown::of(&item.why),
            cause: item.cause.as_deref().map(Shown::of),
            cause_url: item.cause_url.as_deref().and_then(external),
            heads: item.heads,
            tried: item.tried.as_deref().map(Shown::of),
            advice: Shown::of(&item.advice),
            commands: item.commands.iter().map(|command| Shown::of(command)).collect(),
        }
    }
}

/// Is the tenant of each thing named?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// There are several.
    Named,
    Known,
}

impl Whose {
    pub fn of(overview: &Overview<Attention>) -> Whose {
        if overview.tenant.is_none() && 1 < overview.part.tenants_total { Whose::Named } else { Whose::Known }
    }

    pub fn link(self, route: &Route, tenant: Option<&str>) -> Option<Link> {
        let tenant = tenant.filter(|tenant| self == Whose::Named && !tenant.is_empty())?;
        Some(Link { text: Shown::of(tenant), href: route.to_tenant(tenant) })
    }
}

/// One subject that the next sweep decides upon.
pub struct PlannedView {
    pub kind: &'static str,
    pub id: Shown,
    pub name: Link,
    pub board: Option<String>,
    pub title: Shown,
    pub agent: Option<Link>,
    pub tenant: Option<Link>,
    pub would: Shown,
    pub decision: &'static str,
}

impl PlannedView {
    pub fn of(planned: &PlannedSubject, route: &Route, whose: Whose) -> PlannedView {
        let subject = &planned.stranded.subject;
        let agent = subject.agent.as_deref().or(subject.agent_id.as_ref().map(|id| id.0.as_str()));
        PlannedView {
            kind: subject.kind.map(Kind::name).unwrap_or_default(),
            id: subject.id.as_ref().map_or_else(|| Shown::of(""), Shown::id),
            name: Link {
                text: Shown::of(subject.name().unwrap_or_default()),
                href: subject.page().and_then(|page| route.to_subject(page.kind, page.id)),
            },
            board: subject.url.as_deref().and_then(external),
            title: Shown::of(subject.title.as_deref().unwrap_or_default()),
            agent: agent_link(route, subject.agent_id.as_ref(), agent),
            tenant: whose.link(route, subject.tenant.as_deref()),
            would: Shown::of(&planned.would),
            decision: planned.decision.unwrap_or("unreadable"),
        }
    }
}

pub fn agent_link(route: &Route, id: Option<&Id>, name: Option<&str>) -> Option<Link> {
    let text = Shown::of(name.filter(|name| !name.is_empty())?);
    Some(Link { text, href: route.to_agent(id, name) })
}

/// A link that leads out leads to a web page, and nowhere else.
pub fn external(url: &str) -> Option<String> {
    ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme)).then(|| url.to_owned())
}
