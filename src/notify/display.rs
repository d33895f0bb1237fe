//! Renders a message as text, for people.

use crate::rules::display::humanize;
use crate::store::work::outbox::Event;
use crate::store::work::outbox::delivery::{Message, Notification};
use crate::text::cut;

/// The length of a title and of a reason in characters, so that a message stays short, whatever agents wrote.
const TITLE_MAX: usize = 150;
const REASON_MAX: usize = 300;

/// A line of a message, of which a part may lead to a page.
pub struct Line {
    pub before: String,
    /// What a subject is called, and its page.
    pub name: Option<(String, Option<String>)>,
    pub after: String,
}

impl From<String> for Line {
    fn from(text: String) -> Line {
        Line { before: text, name: None, after: String::new() }
    }
}

/// The lines of a message: a headline, and below it the details of one notification, or the oldest of many.
pub fn lines(message: &Message) -> Vec<Line> {
    match (message.named.as_slice(), message.total()) {
        ([one], 1) => single(one),
        (named, total) => {
            let more = total - named.len() as i64;
            let headline = format!("sweep: {}", counts(message));
            let rest = (0 < more).then(|| format!("… and {more} more: see `sweep status`"));
            [headline.into()].into_iter().chain(named.iter().map(item)).chain(rest.map(Line::from)).collect()
        }
    }
}

fn single(one: &Notification) -> Vec<Line> {
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
    let headline = sentence("sweep: ", one);
    if about.is_empty() { vec![headline] } else { vec![headline, about.join(", ").into()] }
}

/// A notification as one item of a digest.
fn item(one: &Notification) -> Line {
    let title = one.details.title.as_deref().filter(|title| !title.is_empty());
    let title = title.map(|title| format!(" (“{}”)", cut(title, TITLE_MAX))).unwrap_or_default();
    let mut line = sentence("• ", one);
    line.after.push_str(&title);
    line
}

/// What happened, as a sentence that begins so.
fn sentence(beginning: &str, one: &Notification) -> Line {
    let reason = cut(&one.details.reason, REASON_MAX);
    let happened = match Event::parse(&one.event) {
        // The reason is a sentence by itself.
        Some(Event::GuardStopped | Event::WakesStuck) => return format!("{beginning}{reason}").into(),
        Some(Event::Escalated | Event::SessionStuck | Event::HostBlocked | Event::Unstarted) => "needs a person",
        Some(Event::Abandoned) => "is abandoned, nobody goes on with it",
        Some(Event::Quarantined) => "is examined no more, it failed again and again",
        Some(Event::Recovered) => "recovered",
        None => &humanize(&one.event),
    };
    let name = one.details.identifier.as_deref().or(one.subject_id.as_ref().map(|id| id.0.as_str()));
    Line {
        before: format!("{beginning}{} ", one.kind),
        name: Some((cut(name.unwrap_or_default(), TITLE_MAX), one.details.url.clone())),
        after: format!(" {happened}: {reason}"),
    }
}

/// How many notifications there are of each event: `990 escalated, 10 session stuck`.
fn counts(message: &Message) -> String {
    let counts = message.counts.iter().map(|(event, n)| format!("{n} {}", humanize(event.name())));
    counts.collect::<Vec<_>>().join(", ")
}
