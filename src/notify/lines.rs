//! What people read of a message: a headline and details of one notification, or a line for each of the oldest of many.
//!
//! Titles are written by agents, and are not trusted: a line is one line of visible characters, which each format shows
//! as they are. A link is there only to a subject's page.

use crate::rules::display::{counted, humanize, is_invisible};
use crate::store::work::outbox::{Event, Message, Notification};
use crate::text::{cut, redact};

/// A line of a message, of which a part may lead to a page.
#[derive(Clone)]
pub struct MessageLine {
    pub before: String,
    /// What a subject is called; empty if the line is about none.
    pub name: String,
    /// Its page.
    pub url: Option<String>,
    pub after: String,
}

impl MessageLine {
    /// The line without its link.
    pub fn text(&self) -> String {
        format!("{}{}{}", self.before, self.name, self.after)
    }
}

impl From<String> for MessageLine {
    fn from(text: String) -> MessageLine {
        MessageLine { before: shown(&text), name: String::new(), url: None, after: String::new() }
    }
}

/// The length of a title and of a reason in characters, so that a message stays short, whatever agents wrote.
const TITLE_MAX: usize = 150;
const REASON_MAX: usize = 300;

/// The length of a link in bytes. A longer one leaves no place for the text.
const URL_MAX: usize = 500;

/// The lines of a message: a headline, and below it the details of one notification, or the oldest of many.
pub fn lines(message: &Message) -> Vec<MessageLine> {
    match (message.named.as_slice(), message.total()) {
        ([], 0) => vec!["sweep: a test, nothing happened. What needs a person is reported here.".to_owned().into()],
        ([one], 1) => single(one),
        (named, total) => {
            let more = total - named.len() as i64;
            let headline = format!("sweep: {}", counts(message));
            let rest = (0 < more).then(|| format!("… and {more} more: see `sweep status`"));
            [headline.into()].into_iter().chain(named.iter().map(item)).chain(rest.map(MessageLine::from)).collect()
        }
    }
}

/// The first lines that together are at most so large, and an ellipsis if others are left out.
pub fn fitting(lines: Vec<MessageLine>, size_max: usize, size: impl Fn(&MessageLine) -> usize) -> Vec<MessageLine> {
    let (mut total, all) = (0, lines.len());
    let fits = |line: &MessageLine| {
        total += size(line);
        total <= size_max
    };
    let mut fitting: Vec<MessageLine> = lines.into_iter().take_while(fits).collect();
    if fitting.len() < all {
        fitting.push("…".to_owned().into());
    }
    fitting
}

fn single(one: &Notification) -> Vec<MessageLine> {
    let details = &one.details;
    let about = [
        details.title.as_deref().filter(|title| !title.is_empty()).map(|title| format!("“{}”", cut(title, TITLE_MAX))),
        details.finding.map(|finding| finding.to_string()),
        details.agent.as_deref().map(|agent| format!("agent {}", cut(agent, TITLE_MAX))),
        details.tenant.as_deref().map(|tenant| format!("tenant {}", cut(tenant, TITLE_MAX))),
        details.attempts.filter(|n| 0 < *n).map(|n| counted(n.into(), "attempt", "attempts")),
    ];
    let about: Vec<String> = about.into_iter().flatten().collect();
    let headline = sentence("sweep: ", one);
    if about.is_empty() { vec![headline] } else { vec![headline, about.join(", ").into()] }
}

/// A notification as one item of a digest.
fn item(one: &Notification) -> MessageLine {
    let title = one.details.title.as_deref().filter(|title| !title.is_empty());
    let title = title.map(|title| format!(" (“{}”)", cut(title, TITLE_MAX))).unwrap_or_default();
    let mut line = sentence("• ", one);
    line.after.push_str(&shown(&title));
    line
}

/// A notification as a sentence.
pub fn headline(one: &Notification) -> MessageLine {
    sentence("sweep: ", one)
}

/// What happened, as a sentence that begins so.
fn sentence(beginning: &str, one: &Notification) -> MessageLine {
    let reason = cut(&one.details.reason, REASON_MAX);
    let happened = match Event::parse(&one.event) {
        // The reason is a sentence by itself.
        Some(Event::GuardStopped | Event::WakesStuck) => return format!("{beginning}{reason}").into(),
        Some(Event::Escalated | Event::SessionStuck | Event::HostBlocked | Event::Unstarted) => "needs a person",
        Some(Event::RunUnheard) => "may need a person",
        Some(Event::Abandoned) => "is abandoned, nobody goes on with it",
        Some(Event::Quarantined) => "is examined no more, it failed again and again",
        Some(Event::Recovered) => "recovered",
        None => &humanize(&one.event),
    };
    let name = one.details.identifier.clone().or(one.subject_id.as_ref().map(|id| redact(&id.0)));
    let name = shown(&cut(&name.unwrap_or_default(), TITLE_MAX));
    let url = one.details.url.clone().filter(|url| !name.is_empty() && is_link(url));
    MessageLine {
        before: shown(&format!("{beginning}{} ", one.kind)),
        name,
        url,
        after: shown(&format!(" {happened}: {reason}")),
    }
}

/// A text on one line, without invisible characters.
fn shown(text: &str) -> String {
    let visible = text.chars().filter(|c| c.is_whitespace() || c.is_control() || !is_invisible(*c));
    visible.map(|c| if c.is_whitespace() || c.is_control() { ' ' } else { c }).collect()
}

/// Whether it is a link to a page, and nothing in it ends a link in any format.
fn is_link(url: &str) -> bool {
    let is_part = |c: char| c.is_ascii_graphic() && !"<>()\"`\\|".contains(c);
    url.len() <= URL_MAX
        && ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme))
        && url.chars().all(is_part)
}

/// How many notifications there are of each event: `990 escalated, 10 session stuck`.
fn counts(message: &Message) -> String {
    let counts = message.counts.iter().map(|(event, n)| format!("{n} {}", Event::in_words(event.name())));
    counts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{MessageLine, fitting, is_link, shown};

    #[rstest]
    #[case("one\nsweep: issue X needs a person", "one sweep: issue X needs a person")]
    #[case("one\u{2028}two\r\u{7}", "one two  ")]
    #[case("gpj.\u{202E}exe", "gpj.exe")]
    #[case("*bold* _it_ `code` <!here> Ünïcode 🦀", "*bold* _it_ `code` <!here> Ünïcode 🦀")]
    fn a_line_is_one_line_of_what_can_be_seen(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(shown(text), expected);
    }

    #[rstest]
    #[case("https://board.example/a%3Eb?x=1&y=2", true)]
    #[case("http://[::1]:3100/ACM/issues/ACM-12", true)]
    #[case("https://board.example/) [x](https://evil.example", false)]
    #[case("https://board.example/|x> <!here", false)]
    #[case("https://board.example/\nx", false)]
    #[case("javascript:alert", false)]
    fn a_link_leads_to_a_page_and_ends_nowhere_else(#[case] url: &str, #[case] expected: bool) {
        assert_eq!(is_link(url), expected);
    }

    #[test]
    fn what_is_too_much_is_left_out_and_an_ellipsis_says_so() {
        let texts = |size_max| -> Vec<String> {
            let lines = ["one", "two", "three"].map(|text| MessageLine::from(text.to_owned()));
            fitting(lines.to_vec(), size_max, |line| line.text().len()).iter().map(MessageLine::text).collect()
        };
        assert_eq!(texts(11), ["one", "two", "three"]);
        assert_eq!(texts(10), ["one", "two", "…"]);
    }
}
