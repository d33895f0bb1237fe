//! Renders a message as text, for people.

use crate::rules::display::humanize;
use crate::store::outbox::Event;
use crate::store::outbox::delivery::{Message, Notification};
use crate::text::cut;

/// The length of a title and of a reason in characters, so that a message stays short, whatever agents wrote.
const TITLE_MAX: usize = 150;
const REASON_MAX: usize = 300;

/// The lines of a message: a headline, and below it the details of one notification, or the oldest of many.
pub fn lines(message: &Message) -> Vec<String> {
    match (message.named.as_slice(), message.total()) {
        ([one], 1) => single(one),
        (named, total) => {
            let more = total - named.len() as i64;
            let headline = format!("sweep: {}", counts(message));
            let rows = named.iter().map(|one| format!("• {}", item(one)));
            let rest = (0 < more).then(|| format!("… and {more} more: see `sweep status`"));
            [headline].into_iter().chain(rows).chain(rest).collect()
        }
    }
}

fn single(one: &Notification) -> Vec<String> {
    let details = &one.details;
    let about = [
        details.title.as_deref().filter(|title| !title.is_empty()).map(|title| format!("“{}”", cut(title, TITLE_MAX))),
        details.finding.map(|finding| finding.to_string()),
        details.agent.as_deref().map(|agent| format!("agent {}", cut(agent, TITLE_MAX))),
        details.tenant.as_deref().map(|tenant| format!("tenant {}", cut(tenant, TITLE_MAX))),
        details
            .attempts
            .filter(|attempts| 0 < *attempts)
            .map(|n| format!("{n} {}", if n == 1 { "attempt" } else { "attempts" })),
    ];
    let about: Vec<String> = about.into_iter().flatten().collect();
    let headline = format!("sweep: {}", sentence(one));
    if about.is_empty() { vec![headline] } else { vec![headline, about.join(", ")] }
}

/// A notification as one item of a digest.
fn item(one: &Notification) -> String {
    let title = one.details.title.as_deref().filter(|title| !title.is_empty());
    let title = title.map(|title| format!(" (“{}”)", cut(title, TITLE_MAX))).unwrap_or_default();
    format!("{}{title}", sentence(one))
}

/// What happened, as a sentence.
fn sentence(one: &Notification) -> String {
    let reason = cut(&one.details.reason, REASON_MAX);
    let name = one.details.identifier.as_deref().or(one.subject_id.as_ref().map(|id| id.0.as_str()));
    let subject = format!("{} {}", one.kind, cut(name.unwrap_or_default(), TITLE_MAX));
    match Event::parse(&one.event) {
        Some(Event::Escalated | Event::SessionStuck | Event::HostBlocked) => {
            format!("{subject} needs a person: {reason}")
        }
        // The reason is a sentence by itself.
        Some(Event::GuardStopped | Event::WakesStuck) => reason,
        Some(Event::Abandoned) => format!("{subject} is abandoned, nobody goes on with it: {reason}"),
        Some(Event::Quarantined) => format!("{subject} is examined no more, it failed again and again: {reason}"),
        Some(Event::Recovered) => format!("{subject} recovered: {reason}"),
        None => format!("{subject} {}: {reason}", humanize(&one.event)),
    }
}

/// How many notifications there are of each event: `990 escalated, 10 session stuck`.
fn counts(message: &Message) -> String {
    let counts = message.counts.iter().map(|(event, n)| format!("{n} {}", humanize(event.name())));
    counts.collect::<Vec<_>>().join(", ")
}
