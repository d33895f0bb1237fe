//! A message in words, for people.

use crate::rules::words::spaced;
use crate::store::outbox::Event;
use crate::store::outbox::delivery::{Message, Notification};
use crate::text::cut;

/// Characters of a title, and of a reason: whatever agents wrote, a message stays short.
const TITLE_MAX: usize = 150;
const REASON_MAX: usize = 300;

/// What happened in one line, and below it what it is about; of many, how many and the oldest.
pub fn lines(message: &Message) -> Vec<String> {
    match (message.named.as_slice(), message.total()) {
        ([one], 1) => alone(one),
        (named, total) => {
            let more = total - named.len() as i64;
            let headline = format!("sweep: {}", counts(message));
            let rows = named.iter().map(|one| format!("• {}", line(one)));
            let rest = (0 < more).then(|| format!("… and {more} more: see `sweep status`"));
            [headline].into_iter().chain(rows).chain(rest).collect()
        }
    }
}

fn alone(one: &Notification) -> Vec<String> {
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
    let headline = format!("sweep: {}", what(one));
    if about.is_empty() { vec![headline] } else { vec![headline, about.join(", ")] }
}

/// One of many.
fn line(one: &Notification) -> String {
    let title = one.details.title.as_deref().filter(|title| !title.is_empty());
    let title = title.map(|title| format!(" (“{}”)", cut(title, TITLE_MAX))).unwrap_or_default();
    format!("{}{title}", what(one))
}

fn what(one: &Notification) -> String {
    let reason = cut(&one.details.reason, REASON_MAX);
    let name = one.details.identifier.as_deref().or(one.subject_id.as_ref().map(|id| id.0.as_str()));
    let subject = format!("{} {}", one.kind, cut(name.unwrap_or_default(), TITLE_MAX));
    match Event::parse(&one.event) {
        Some(Event::Escalated | Event::SessionStuck | Event::HostBlocked) => {
            format!("{subject} needs a person: {reason}")
        }
        // It is a sentence by itself.
        Some(Event::GuardStopped | Event::WakesStuck) => reason,
        Some(Event::Abandoned) => format!("{subject} is abandoned, nobody goes on with it: {reason}"),
        Some(Event::Quarantined) => format!("{subject} is examined no more, it failed again and again: {reason}"),
        Some(Event::Recovered) => format!("{subject} recovered: {reason}"),
        None => format!("{subject} {}: {reason}", spaced(&one.event)),
    }
}

/// `990 escalated, 10 session stuck`.
fn counts(message: &Message) -> String {
    let told = message.counts.iter().map(|(event, n)| format!("{n} {}", spaced(event.name())));
    told.collect::<Vec<_>>().join(", ")
}
