//! Messages for an incoming webhook of Slack, in plain text.
//!
//! Titles are written by agents, and are not trusted: &, < and > are escaped, so that nothing of theirs is a mention, a
//! link or a command; and Slack is asked not to format the rest either. A link is there only to a subject's page.

use serde_json::json;

use super::client::HttpMessage;
use super::display::{self, Line};
use crate::rules::display::is_invisible;
use crate::store::work::outbox::delivery::Message;

pub fn message(message: &Message) -> HttpMessage {
    http_message(&display::lines(message))
}

pub fn test_message() -> HttpMessage {
    http_message(&["sweep: a test, nothing happened. What needs a person is reported here.".to_owned().into()])
}

/// The length of a text in bytes. Slack cuts it at 40,000 characters; people stop reading long before.
const TEXT_MAX: usize = 4000;

fn http_message(lines: &[Line]) -> HttpMessage {
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
        "text": text,
        "mrkdwn": false,
        "parse": "none",
        "link_names": false,
        "unfurl_links": false,
        "unfurl_media": false,
    });
    HttpMessage { headers: Vec::new(), body: body.to_string() }
}

/// `issue <https://board.example/ACM/issues/ACM-12|ACM-12> needs a person`
fn written(Line { before, name, after }: &Line) -> String {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::Value;

    use super::{Line, TEXT_MAX, escaped, http_message, written};

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
        let line = |url| Line {
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
        let lines: Vec<Line> = vec!["&".repeat(300); 50].into_iter().map(Line::from).collect();
        let message: Value = serde_json::from_str(&http_message(&lines).body).expect("JSON");
        let text = message["text"].as_str().expect("a text");
        assert!(text.len() < TEXT_MAX + 10 && text.ends_with("\n…"), "{}", text.len());
    }
}
