//! Messages for an incoming webhook of Slack, in plain text.
//!
//! Titles are written by agents, and are not trusted: &, < and > are escaped, so that nothing of theirs is a mention, a
//! link or a command; and Slack is asked not to format the rest either. A link is there only to a subject's page.

use serde_json::json;

use super::client::HttpMessage;
use crate::rules::display::{counted, humanize, is_invisible};
use crate::store::work::outbox::{Event, Message, Notification};
use crate::text::cut;

pub fn message(message: &Message) -> HttpMessage {
    http_message(&lines(message))
}

pub fn test_message() -> HttpMessage {
    http_message(&["sweep: a test, nothing happened. What needs a person is reported here.".to_owned().into()])
}

/// The length of a text in bytes. Slack cuts it at 40,000 characters; people stop reading long before.
const TEXT_MAX: usize = 4000;

fn http_message(lines: &[MessageLine]) -> HttpMessage {
    let mut text = String::new();
    for line in lines {
        let line = written(line);
        if TEXT_MAX < text.len() + line.len() {
            text.push_str("\n…");
            break;
        }
        text.push_str(if text.is_empty() { "" } else { "\n" });
        text.push_str(&line);
    }
    let body = json!({
        "text": text, "mrkdwn": false, "parse": "none", "link_names": false,
        "unfurl_links": false, "unfurl_media": false,
    });
    HttpMessage { headers: Vec::new(), body: body.to_string() }
}

/// `issue <https://board.example/ACM/issues/ACM-12|ACM-12> needs a person`
fn written(MessageLine { before, name, after }: &MessageLine) -> String {
    let name = match name {
        Some((name, Some(url))) if !name.is_empty() => format!("<{}|{}>", escaped(url), escaped(name)),
        Some((name, _)) => escaped(name),
        None => String::new(),
    };
    format!("{}{name}{}", escaped(before), escaped(after))
}

/// Text without invisible characters and markup.
fn escaped(line: &str) -> String {
    let mut escaped = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            c if c.is_whitespace() || c.is_control() => escaped.push(' '),
            c if is_invisible(c) => {}
            c => escaped.push(c),
        }
    }
    escaped
}

/// The length of a title and of a reason in characters, so that a message stays short, whatever agents wrote.
const TITLE_MAX: usize = 150;
const REASON_MAX: usize = 300;

/// A line of a message, of which a part may lead to a page.
struct MessageLine {
    before: String,
    /// What a subject is called, and its page.
    name: Option<(String, Option<String>)>,
    after: String,
}

impl From<String> for MessageLine {
    fn from(text: String) -> MessageLine {
        MessageLine { before: text, name: None, after: String::new() }
    }
}

/// The lines of a message: a headline, and below it the details of one notification, or the oldest of many.
fn lines(message: &Message) -> Vec<MessageLine> {
    match (message.named.as_slice(), message.total()) {
        ([one], 1) => single(one),
        (named, total) => {
            let more = total - named.len() as i64;
            let headline = format!("sweep: {}", counts(message));
            let rest = (0 < more).then(|| format!("… and {more} more: see `sweep status`"));
            [headline.into()].into_iter().chain(named.iter().map(item)).chain(rest.map(MessageLine::from)).collect()
        }
    }
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
    line.after.push_str(&title);
    line
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
    let name = one.details.identifier.as_deref().or(one.subject_id.as_ref().map(|id| id.0.as_str()));
    MessageLine {
        before: format!("{beginning}{} ", one.kind),
        name: Some((cut(name.unwrap_or_default(), TITLE_MAX), one.details.url.clone())),
        after: format!(" {happened}: {reason}"),
    }
}

/// How many notifications there are of each event: `990 escalated, 10 session stuck`.
fn counts(message: &Message) -> String {
    let counts = message.counts.iter().map(|(event, n)| format!("{n} {}", Event::in_words(event.name())));
    counts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::Value;

    use super::{MessageLine, TEXT_MAX, escaped, http_message, written};

    #[rstest]
    #[case("<!channel> help", "&lt;!channel&gt; help")]
    #[case("<@U123> <#C1|general>", "&lt;@U123&gt; &lt;#C1|general&gt;")]
    #[case("<https://evil.example|https://bank.example>", "&lt;https://evil.example|https://bank.example&gt;")]
    #[case("a & b &lt; c", "a &amp; b &amp;lt; c")]
    #[case("one\nsweep: issue X needs a person", "one sweep: issue X needs a person")]
    #[case("one\u{2028}two\r\u{7}", "one two  ")]
    #[case("gpj.\u{202E}exe", "gpj.exe")]
    #[case("*bold* _it_ `code` Ünïcode 🦀", "*bold* _it_ `code` Ünïcode 🦀")]
    fn what_agents_wrote_is_text_and_nothing_else(#[case] line: &str, #[case] expected: &str) {
        assert_eq!(escaped(line), expected);
    }

    proptest! {
        #[test]
        fn no_text_is_a_mention_a_link_or_a_second_line(line in any::<String>(), tag in "<[!@#]?[a-z|:/.]{1,12}>") {
            let escaped = escaped(&format!("{line}{tag}{line}"));
            prop_assert!(!escaped.contains(['<', '>', '\n', '\r']), "{escaped}");
        }
    }

    #[test]
    fn a_name_leads_to_its_page_and_nothing_in_it_ends_the_link() {
        let url = Some("https://board.example/a%3Eb?x=1&y=2".to_owned());
        let line = |url| MessageLine {
            before: "issue ".to_owned(),
            name: Some(("A|>-1".to_owned(), url)),
            after: ": <!here>".to_owned(),
        };
        let linked = "issue <https://board.example/a%3Eb?x=1&amp;y=2|A|&gt;-1>: &lt;!here&gt;";
        assert_eq!(written(&line(url)), linked);
        assert_eq!(written(&line(None)), "issue A|&gt;-1: &lt;!here&gt;");
    }

    #[test]
    fn slack_is_asked_not_to_format_the_text() {
        let message: Value = serde_json::from_str(&http_message(&["@here".to_owned().into()]).body).expect("JSON");
        for (switch, value) in
            [("mrkdwn", false), ("link_names", false), ("unfurl_links", false), ("unfurl_media", false)]
        {
            assert_eq!(message[switch], value, "{switch}");
        }
        assert_eq!(message["parse"], "none");
    }

    #[test]
    fn a_message_stays_short() {
        let lines: Vec<MessageLine> = vec!["&".repeat(300); 50].into_iter().map(MessageLine::from).collect();
        let message: Value = serde_json::from_str(&http_message(&lines).body).expect("JSON");
        let text = message["text"].as_str().expect("a text");
        assert!(text.len() < TEXT_MAX + 10 && text.ends_with("\n…"), "{}", text.len());
    }
}
